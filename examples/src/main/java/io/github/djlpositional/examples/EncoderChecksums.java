package io.github.djlpositional.examples;

import ai.djl.MalformedModelException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Properties;
import java.util.TreeSet;

/**
 * The checksums in {@code encoder.properties}: of the parameters, of the vocabulary, and of the sizes beside which they
 * stand. Another model's file in a folder often fits in shape, and then every answer is wrong without a word. A folder
 * without one of them was saved before there was that one, and is taken as it is.
 */
final class EncoderChecksums {

    private static final String OF_PARAMETERS = "parametersSha256";
    private static final String OF_VOCABULARY = "vocabularySha256";
    private static final String OF_SIZES = "sizesSha256";

    private EncoderChecksums() {}

    /** Adds them to the sizes, once the files are written. */
    static void addTo(Properties sizes, Path parameters, Path vocabulary) throws IOException {
        sizes.setProperty(OF_PARAMETERS, of(parameters));
        sizes.setProperty(OF_VOCABULARY, of(vocabulary));
        sizes.setProperty(OF_SIZES, of(sizes));
    }

    static void requireParameters(Properties sizes, Path parameters) throws IOException, MalformedModelException {
        String saved = sizes.getProperty(OF_PARAMETERS);
        if (saved != null) {
            require(parameters.getFileName().toString(), of(parameters), saved);
        }
    }

    static void requireVocabulary(Properties sizes, Path vocabulary) throws IOException, MalformedModelException {
        String saved = sizes.getProperty(OF_VOCABULARY);
        if (saved != null) {
            require(vocabulary.getFileName().toString(), of(vocabulary), saved);
        }
    }

    static void requireSizes(Properties sizes, String file) throws IOException, MalformedModelException {
        String saved = sizes.getProperty(OF_SIZES);
        if (saved != null) {
            require(file, of(sizes), saved);
        }
    }

    private static void require(String file, String found, String saved) throws MalformedModelException {
        if (!found.equals(saved)) {
            throw new MalformedModelException(file + " is damaged or of another model: its SHA-256 is " + found
                    + ", that of the saved one was " + saved);
        }
    }

    private static String of(Path file) throws IOException {
        MessageDigest digest = sha256();
        try (InputStream in = Files.newInputStream(file);
                OutputStream out = new DigestOutputStream(OutputStream.nullOutputStream(), digest)) {
            in.transferTo(out);
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    /** Of the entries, not of the file: that has a date in it, and these checksums. */
    private static String of(Properties sizes) {
        MessageDigest digest = sha256();
        for (String key : new TreeSet<>(sizes.stringPropertyNames())) {
            if (!key.endsWith("Sha256")) {
                digest.update((key + "=" + sizes.getProperty(key) + "\n").getBytes(StandardCharsets.UTF_8));
            }
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
