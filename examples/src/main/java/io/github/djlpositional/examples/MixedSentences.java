package io.github.djlpositional.examples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Sentences of all lengths, as users send them: WordNet's definitions, cut and joined, in order and shuffled. */
final class MixedSentences {

    private MixedSentences() {}

    /**
     * Makes sentences.
     *
     * @param count how many
     * @param maxWords the greatest number of words in one; every number from 1 is as frequent
     * @param seed decides lengths and shuffles
     * @return the sentences, every other one shuffled
     */
    static List<String> of(int count, int maxWords, int seed) throws IOException {
        List<List<String>> glosses = Glosses.read(Integer.MAX_VALUE);
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
