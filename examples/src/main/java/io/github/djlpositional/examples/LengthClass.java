package io.github.djlpositional.examples;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** How long the sentences are that an encoder is measured on, beside those it has learned from. */
enum LengthClass {
    TRAINED(5, 16),
    LONGER(17, 24),
    MUCH_LONGER(25, 40);

    private final int least;
    private final int most;

    LengthClass(int least, int most) {
        this.least = least;
        this.most = most;
    }

    /** The greatest number of words. */
    int most() {
        return most;
    }

    /** Sentences of this length that are not learned from. */
    List<List<String>> heldOut(List<List<String>> sentences, List<List<String>> training, int count) {
        Set<List<String>> learned = new HashSet<>(training);
        return sentences.stream()
                .filter(words -> words.size() >= least && words.size() <= most && !learned.contains(words))
                .limit(count)
                .toList();
    }

    @Override
    public String toString() {
        return least + "-" + most;
    }
}
