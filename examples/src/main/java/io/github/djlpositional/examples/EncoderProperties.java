package io.github.djlpositional.examples;

import ai.djl.MalformedModelException;
import io.github.djlpositional.arguments.Arguments;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** What {@value #FILE} says of a saved encoder: its sizes, and the checksums of its files. */
final class EncoderProperties {

    static final String FILE = "encoder.properties";

    private final Properties entries;
    private final EncoderSpec spec;

    private EncoderProperties(Properties entries, EncoderSpec spec) {
        this.entries = entries;
        this.spec = spec;
    }

    /** Writes those of an encoder, once its files are written. */
    static void write(Path folder, EncoderSpec spec, Path parameters, Path vocabulary) throws IOException {
        Properties entries = new Properties();
        entries.setProperty("encoding", spec.encoding().name());
        entries.setProperty("vocabularySize", Integer.toString(spec.vocabularySize()));
        entries.setProperty("maxWords", Integer.toString(spec.maxWords()));
        entries.setProperty("embeddingSize", Integer.toString(spec.embeddingSize()));
        entries.setProperty("layers", Integer.toString(spec.layers()));
        entries.setProperty("heads", Integer.toString(spec.heads()));
        entries.setProperty("feedForwardSize", Integer.toString(spec.feedForwardSize()));
        entries.setProperty("dropoutRate", Float.toString(spec.dropoutRate()));
        EncoderChecksums.addTo(entries, parameters, vocabulary);
        try (Writer out = Files.newBufferedWriter(folder.resolve(FILE))) {
            entries.store(out, null);
        }
    }

    /** Reads those of a saved encoder, and refuses sizes that are none, or not those that were saved. */
    static EncoderProperties read(Path folder) throws IOException, MalformedModelException {
        Properties entries = new Properties();
        try (Reader in = Files.newBufferedReader(folder.resolve(FILE))) {
            entries.load(in);
        } catch (CharacterCodingException e) {
            throw new MalformedModelException(FILE + " is no text in UTF-8: " + e.getMessage(), e);
        } catch (IllegalArgumentException e) {
            throw new MalformedModelException(FILE + " is no file of properties: " + e.getMessage(), e);
        }
        EncoderSpec spec = spec(entries);
        // after the entries, of which the message is more exact
        EncoderChecksums.requireSizes(entries, FILE);
        return new EncoderProperties(entries, spec);
    }

    private static EncoderSpec spec(Properties entries) throws MalformedModelException {
        Arguments given = Arguments.of(FILE, entries);
        try {
            return new EncoderSpec(
                    given.getChoice("encoding", Encoding.class),
                    number(given, "vocabularySize", EncoderSpec.MOST_TOKENS),
                    number(given, "maxWords", EncoderSpec.MOST_WORDS),
                    number(given, "embeddingSize", EncoderSpec.WIDEST),
                    number(given, "layers", EncoderSpec.MOST_LAYERS),
                    number(given, "heads", EncoderSpec.MOST_HEADS),
                    number(given, "feedForwardSize", EncoderSpec.WIDEST),
                    rate(given));
        } catch (IllegalArgumentException e) {
            throw new MalformedModelException(e.getMessage(), e);
        }
    }

    private static int number(Arguments given, String key, int greatest) {
        int number = given.getInt(key);
        if (number < 1 || number > greatest) {
            throw given.refused(key, "a whole number from 1 to " + greatest);
        }
        return number;
    }

    private static float rate(Arguments given) {
        String key = "dropoutRate";
        float rate = (float) given.getDouble(key);
        // not "rate < 0 || rate >= 1": what is no number is outside too
        if (!(rate >= 0 && rate < 1)) {
            throw given.refused(key, "a number from 0 to below 1");
        }
        return rate;
    }

    /** The encoder's sizes. */
    EncoderSpec spec() {
        return spec;
    }

    /** Refuses parameters that are not those that were saved. */
    void requireParameters(Path parameters) throws IOException, MalformedModelException {
        EncoderChecksums.requireParameters(entries, parameters);
    }

    /** Refuses a vocabulary that is not the one that was saved. */
    void requireVocabulary(Path vocabulary) throws IOException, MalformedModelException {
        EncoderChecksums.requireVocabulary(entries, vocabulary);
    }
}
