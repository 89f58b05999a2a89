package io.github.djlpositional.examples;

import java.util.List;
import java.util.Locale;

/**
 * How far two judgements are apart.
 *
 * @param inOrder the difference of the probabilities
 * @param embedding the greatest difference between any two numbers of the embeddings
 */
record JudgementDifference(double inOrder, double embedding) {

    static final JudgementDifference NONE = new JudgementDifference(0, 0);

    static JudgementDifference between(Judgement one, Judgement other) {
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

    /** Whether neither is more than is allowed. What is no number is not. */
    boolean isWithin(JudgementDifference allowed) {
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
