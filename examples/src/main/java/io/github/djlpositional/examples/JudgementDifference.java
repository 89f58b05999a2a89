package io.github.djlpositional.examples;

import java.util.List;
import java.util.Locale;

/**
 * How far two judgements are apart.
 *
 * @param inOrder the difference of the probabilities
 * @param embedding the greatest difference between any two numbers of the embeddings
 */
public record JudgementDifference(double inOrder, double embedding) {

    static final JudgementDifference NONE = new JudgementDifference(0, 0);

    /**
     * How far a judgement may be from that of the sentence alone, whose sums are added up in another order.
     *
     * <p>A float sum of n terms is off by at most n·2⁻²⁴ of the sum of their magnitudes. The longest sum here has as
     * many terms as the feed-forward network is wide, or a vector long, or a sentence. A score passes 6 sums in each
     * layer, one after the other, and those of the mean and of the head; layer normalization keeps the vectors between
     * them at the same size. A probability of two classes changes by a quarter of what the difference of their scores
     * does, and both scores are off.
     *
     * @param sizes those of the encoder
     * @return the greatest difference that rounding can make
     */
    public static JudgementDifference ofRounding(EncoderSpec sizes) {
        int longestSum = Math.max(sizes.feedForwardSize(), Math.max(sizes.embeddingSize(), sizes.maxWords()));
        int sums = 6 * sizes.layers() + 2;
        return upTo(longestSum * Math.pow(2, -24) * sums / 2);
    }

    /**
     * The embedding has neither the head nor that half, which leaves twice as much, of numbers of a size of about 1.
     */
    static JudgementDifference upTo(double inOrder) {
        return new JudgementDifference(inOrder, 2 * inOrder);
    }

    /**
     * Compares two judgements.
     *
     * @param one one
     * @param other another
     * @return how far they are apart; infinitely, where their embeddings have not the same size
     */
    public static JudgementDifference between(Judgement one, Judgement other) {
        return new JudgementDifference(
                Math.abs(one.inOrder() - other.inOrder()), greatest(one.embedding(), other.embedding()));
    }

    private static double greatest(List<Float> one, List<Float> other) {
        if (one.size() != other.size()) {
            return Double.POSITIVE_INFINITY;
        }
        double greatest = 0;
        for (int d = 0; d < one.size(); d++) {
            greatest = Math.max(greatest, Math.abs(one.get(d) - other.get(d)));
        }
        return greatest;
    }

    /**
     * Returns whether neither is more than is allowed.
     *
     * @param allowed how far they may be apart
     * @return false also for what is no number
     */
    public boolean isWithin(JudgementDifference allowed) {
        return inOrder <= allowed.inOrder && embedding <= allowed.embedding;
    }

    /** The greater of both, each for itself. */
    JudgementDifference max(JudgementDifference other) {
        return new JudgementDifference(Math.max(inOrder, other.inOrder), Math.max(embedding, other.embedding));
    }

    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%.1e (probability) and %.1e (embedding)", inOrder, embedding);
    }
}
