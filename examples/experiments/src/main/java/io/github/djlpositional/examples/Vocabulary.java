package io.github.djlpositional.examples;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The ids of words: 0 for padding, 1 for every unknown word, then the known words in order. */
record Vocabulary(List<String> words, Map<String, Integer> ids) {

    static final int UNKNOWN = 1;

    /** The number of ids that do not belong to a word. */
    static final int RESERVED = 2;

    static Vocabulary of(List<String> words) {
        Map<String, Integer> ids = new HashMap<>();
        for (int i = 0; i < words.size(); i++) {
            ids.put(words.get(i), RESERVED + i);
        }
        return new Vocabulary(List.copyOf(words), ids);
    }

    /** Returns the vocabulary of the most frequent words of some sentences, with at most {@code size} ids. */
    static Vocabulary mostFrequent(Collection<List<String>> sentences, int size) {
        Map<String, Integer> counts = new HashMap<>();
        sentences.forEach(sentence -> sentence.forEach(word -> counts.merge(word, 1, Integer::sum)));
        Comparator<Map.Entry<String, Integer>> byCount = Map.Entry.comparingByValue(Comparator.reverseOrder());
        return of(counts.entrySet().stream()
                .sorted(byCount.thenComparing(Map.Entry.comparingByKey()))
                .limit(Math.max(0, size - RESERVED))
                .map(Map.Entry::getKey)
                .toList());
    }

    /** Returns the number of ids. */
    int size() {
        return RESERVED + words.size();
    }

    int[] idsOf(List<String> sentence) {
        return sentence.stream()
                .mapToInt(word -> ids.getOrDefault(word, UNKNOWN))
                .toArray();
    }
}
