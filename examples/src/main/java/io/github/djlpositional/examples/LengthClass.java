package io.github.djlpositional.examples;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** How long the sentences are that an encoder is measured on, beside those it has learned from. */
public enum LengthClass {
    /** As long as those that it has learned from. */
    TRAINED(5, LengthClass.TRAINED_WORDS),

    /** Longer than all of these. */
    LONGER(LengthClass.TRAINED_WORDS + 1, 24),

    /** Up to two and a half times as long. */
    MUCH_LONGER(25, 40);

    /** The sentences that are learned from have at most so many words. */
    public static final int TRAINED_WORDS = 16;

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

    /**
     * Returns where it stands on an axis of lengths.
     *
     * @return the middle of the smallest and the greatest number of words
     */
    public double middle() {
        return (least + most) / 2.0;
    }

    /** All of them, as a text has it: 5 to 16, 17 to 24 and so on. */
    static String all() {
        List<String> each = Arrays.stream(values())
                .map(length -> length.least + " to " + length.most)
                .toList();
        int last = each.size() - 1;
        return String.join(", ", each.subList(0, last)) + " and " + each.get(last);
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
