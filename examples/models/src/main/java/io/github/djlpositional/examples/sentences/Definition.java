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

    /** Reads all definitions, one for each set of synonyms, in the order of the files. */
    static List<Definition> readAll() throws IOException {
        List<Definition> definitions = new ArrayList<>();
        for (PartOfSpeech partOfSpeech : PartOfSpeech.values()) {
            partOfSpeech.lines().forEach(line -> definitions.add(of(partOfSpeech, line)));
        }
        return definitions;
    }

    /** Reads a number of definitions, spread evenly over all; null for all. */
    public static List<Definition> read(Integer count) throws IOException {
        List<Definition> all = readAll();
        return count == null || count >= all.size()
                ? all
                : IntStream.range(0, count)
                        .mapToObj(i -> all.get(Math.toIntExact((long) i * all.size() / count)))
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
