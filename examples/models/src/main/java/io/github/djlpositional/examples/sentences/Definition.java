package io.github.djlpositional.examples.sentences;

import io.github.djlpositional.examples.PartOfSpeech;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A definition in WordNet 3.1.
 *
 * @param partOfSpeech the part of speech of the defined word
 * @param word the defined word, the first if there are several
 * @param text the definition, without the examples that follow it
 */
public record Definition(PartOfSpeech partOfSpeech, String word, String text) {

    /** Adjectives may have a marker of their place, such as {@code galore(ip)}. */
    private static final Pattern MARKER = Pattern.compile("\\((?:a|p|ip)\\)$");

    /** What separates a definition from its examples. */
    private static final Pattern SEPARATORS = Pattern.compile("[;:, ]+$");

    /** The number of definitions, one for each set of synonyms. */
    static final int COUNT = 117_791;

    /** Reads a number of definitions, at most all, spread evenly over the files. */
    public static List<Definition> read(int count) throws IOException {
        List<Definition> all = new ArrayList<>(COUNT);
        for (PartOfSpeech partOfSpeech : PartOfSpeech.values()) {
            partOfSpeech.lines().forEach(line -> all.add(of(partOfSpeech, line)));
        }
        return IntStream.range(0, count)
                .mapToObj(i -> all.get((int) ((long) i * all.size() / count)))
                .toList();
    }

    /** Returns a checksum of all definitions. */
    static String checksum() throws IOException {
        StringBuilder checksum = new StringBuilder();
        for (PartOfSpeech partOfSpeech : PartOfSpeech.values()) {
            checksum.append(Long.toHexString(partOfSpeech.data().checksum())).append('-');
        }
        return checksum.toString();
    }

    /**
     * Parses a line: offset, number of a lexicographer file, type, number of words, the first word, other data, and
     * after the bar the definition, with examples in quotes.
     */
    private static Definition of(PartOfSpeech partOfSpeech, String line) {
        String word = line.split(" ", 6)[4];
        String text = line.substring(line.indexOf("| ") + 2).split("\"", 2)[0];
        return new Definition(
                partOfSpeech,
                MARKER.matcher(word).replaceFirst("").replace('_', ' '),
                SEPARATORS.matcher(text).replaceFirst(""));
    }
}
