package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.Engines;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/** An encoder that is trained within seconds, once for each set of options, and has learned almost nothing. */
public final class SmallEncoder {

    private static final Map<List<String>, byte[]> TRAINED = new ConcurrentHashMap<>();

    private SmallEncoder() {}

    /**
     * Saves an encoder, trained on an engine; the test is skipped if the engine is not available. By default, the
     * positions are sinusoidal.
     */
    public static void saveTo(Path file, String engine, String... more) {
        Engines.assumeAvailable(engine);
        List<String> args = new ArrayList<>(List.of("--engine", engine, "--glosses", "300", "--held-out", "50"));
        args.addAll(List.of("--epochs", "1", "--batch", "60"));
        args.addAll(List.of(more));
        if (!args.contains("--encoding")) {
            args.addAll(List.of("--encoding", "sinusoidal"));
        }
        try {
            Files.write(file, TRAINED.computeIfAbsent(args, SmallEncoder::trained));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static byte[] trained(List<String> args) {
        List<String> withOut = new ArrayList<>(args);
        try {
            Path file = Files.createTempFile("small-encoder", ".zip");
            withOut.addAll(List.of("--out", file.toString()));
            assertThat(TrainEncoder.commandLine().execute(withOut.toArray(String[]::new)))
                    .isZero();
            byte[] content = Files.readAllBytes(file);
            Files.delete(file);
            return content;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Copies a saved encoder with one changed entry, or without it if the change returns null. */
    public static Path changed(Path saved, Path to, String name, UnaryOperator<byte[]> change) throws IOException {
        boolean isChanged = false;
        try (ZipFile from = new ZipFile(saved.toFile());
                OutputStream out = Files.newOutputStream(to);
                ZipOutputStream zip = new ZipOutputStream(out)) {
            for (ZipEntry entry : (Iterable<ZipEntry>) from.stream().map(ZipEntry.class::cast)::iterator) {
                byte[] content = from.getInputStream(entry).readAllBytes();
                if (entry.getName().equals(name)) {
                    content = change.apply(content);
                    isChanged = true;
                }
                if (content != null) {
                    zip.putNextEntry(new ZipEntry(entry.getName()));
                    zip.write(content);
                }
            }
        }
        assertThat(isChanged).as("has an entry %s", name).isTrue();
        return to;
    }

    /** Returns a change of an entry that replaces a part, which must occur in it. */
    public static UnaryOperator<byte[]> replacing(String from, String to) {
        return content -> {
            String text = new String(content, StandardCharsets.UTF_8);
            assertThat(text).contains(from);
            return text.replace(from, to).getBytes(StandardCharsets.UTF_8);
        };
    }
}
