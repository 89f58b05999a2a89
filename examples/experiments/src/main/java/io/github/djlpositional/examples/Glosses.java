package io.github.djlpositional.examples;

import java.io.IOException;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * The definitions in WordNet 3.1, as lists of words.
 *
 * <p>A line of its data files ends with {@code | definition; "an example"; …}: the gloss is the text between the bar
 * and the first semicolon.
 */
public final class Glosses {

    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}]+(?:['’-][\\p{L}\\p{N}]+)*");

    /** The words of all definitions in the order of the files: reading them takes half a second. */
    private static SoftReference<List<List<String>>> whole = new SoftReference<>(null);

    private Glosses() {}

    private static synchronized List<List<String>> whole() throws IOException {
        List<List<String>> all = whole.get();
        if (all == null) {
            all = new ArrayList<>();
            for (PartOfSpeech partOfSpeech : PartOfSpeech.values()) {
                for (String line : partOfSpeech.lines()) {
                    all.add(words(line.substring(line.indexOf("| ")).split(";", 2)[0]));
                }
            }
            whole = new SoftReference<>(all);
        }
        return all;
    }

    /**
     * Returns the different glosses with at least two different words, cut to a number of words, in the order of the
     * files.
     */
    public static List<List<String>> read(int maxWords) throws IOException {
        Set<List<String>> glosses = new LinkedHashSet<>();
        whole().stream()
                .map(words -> List.copyOf(words.subList(0, Math.min(maxWords, words.size()))))
                .filter(words -> Set.copyOf(words).size() >= 2)
                .forEach(glosses::add);
        return new ArrayList<>(glosses);
    }

    /** Returns the words of a text in order, in lower case, without punctuation. */
    public static List<String> words(String text) {
        return WORD.matcher(text.toLowerCase(Locale.ROOT))
                .results()
                .map(MatchResult::group)
                .toList();
    }
}
