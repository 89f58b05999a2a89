package io.github.djlpositional.examples;

import java.io.IOException;
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
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
     * Reads the glosses, without duplicates.
     *
     * @param maxWords longer glosses are cut to this number of words
     * @return the glosses that have at least two different words, in the order of the files
     * @throws IOException if WordNet is not on the class path or cannot be read
     */
    public static List<List<String>> read(int maxWords) throws IOException {
        Set<List<String>> glosses = new LinkedHashSet<>();
        whole().stream()
                .map(words -> List.copyOf(words.subList(0, Math.min(maxWords, words.size()))))
                .filter(words -> Set.copyOf(words).size() >= 2)
                .forEach(glosses::add);
        return new ArrayList<>(glosses);
    }

    /**
     * Splits a text into words.
     *
     * @param text any text
     * @return its words in order, in lower case, without punctuation
     */
    public static List<String> words(String text) {
        return WORD.matcher(text.toLowerCase(Locale.ROOT))
                .results()
                .map(MatchResult::group)
                .toList();
    }

    /**
     * Creates sentences of all lengths up to a maximum, as users send them: joined and cut glosses, every second one
     * shuffled.
     */
    static List<String> mixed(int count, int maxWords, int seed) throws IOException {
        List<List<String>> glosses = read(Integer.MAX_VALUE);
        Random random = new Random(seed);
        List<String> sentences = new ArrayList<>(count);
        while (sentences.size() < count) {
            int length = 1 + random.nextInt(maxWords);
            List<String> words = new ArrayList<>();
            while (words.size() < length) {
                words.addAll(glosses.get(random.nextInt(glosses.size())));
            }
            List<String> taken = words.subList(0, length);
            if (sentences.size() % 2 == 1) {
                Collections.shuffle(taken, random);
            }
            sentences.add(String.join(" ", taken));
        }
        return sentences;
    }
}
