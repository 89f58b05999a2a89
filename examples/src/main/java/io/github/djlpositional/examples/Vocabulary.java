package io.github.djlpositional.examples;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Which id each word has: 0 for padding, 1 for every word that is not known, then the most frequent words. */
final class Vocabulary {

    static final int UNKNOWN = 1;

    /** The number of ids that belong to no word. */
    private static final int RESERVED = 2;

    private final List<String> words;
    private final Map<String, Integer> ids = new HashMap<>();

    private Vocabulary(List<String> words) {
        this.words = List.copyOf(words);
        for (int i = 0; i < words.size(); i++) {
            ids.put(words.get(i), RESERVED + i);
        }
    }

    /** The vocabulary of the given words, in the order of their ids. */
    static Vocabulary of(List<String> words) {
        return new Vocabulary(words);
    }

    /** The vocabulary of the most frequent words of some sentences, of at most the given size. */
    static Vocabulary mostFrequent(Collection<List<String>> sentences, int size) {
        Map<String, Integer> counts = new HashMap<>();
        for (List<String> sentence : sentences) {
            for (String word : sentence) {
                counts.merge(word, 1, Integer::sum);
            }
        }
        Comparator<Map.Entry<String, Integer>> byCount = Map.Entry.comparingByValue(Comparator.reverseOrder());
        return new Vocabulary(counts.entrySet().stream()
                .sorted(byCount.thenComparing(Map.Entry.comparingByKey()))
                .limit(Math.max(0, size - RESERVED))
                .map(Map.Entry::getKey)
                .toList());
    }

    /** The words, in the order of their ids. */
    List<String> words() {
        return words;
    }

    /** The number of ids. */
    int size() {
        return RESERVED + words.size();
    }

    int[] idsOf(List<String> sentence) {
        return sentence.stream()
                .mapToInt(word -> ids.getOrDefault(word, UNKNOWN))
                .toArray();
    }
}
