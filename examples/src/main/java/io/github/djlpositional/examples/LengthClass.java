package io.github.djlpositional.examples;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The ranges of sentence lengths on which an encoder is measured. */
public enum LengthClass {

    /** The lengths of the training sentences. */
    TRAINED(5, LengthClass.TRAINED_WORDS),

    /** Longer than the training sentences. */
    LONGER(LengthClass.TRAINED_WORDS + 1, 24),

    /** Up to two and a half times the length of the training sentences. */
    MUCH_LONGER(25, 40);

    /** The maximum number of words in a training sentence. */
    public static final int TRAINED_WORDS = 16;

    private final int least;
    private final int most;

    LengthClass(int least, int most) {
        this.least = least;
        this.most = most;
    }

    /** Returns the maximum number of words. */
    int most() {
        return most;
    }

    /**
     * Returns the position on an axis of lengths.
     *
     * @return the mean of the minimum and the maximum number of words
     */
    public double middle() {
        return (least + most) / 2.0;
    }

    /** Returns sentences of this length that are not training sentences. */
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
