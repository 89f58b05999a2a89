package io.github.djlpositional.examples;

import java.util.List;
import java.util.Locale;

/**
 * An encoder's answer for a sentence.
 *
 * @param inOrder the probability that the words are in order, from 0 to 1
 * @param embedding the mean of the token vectors after the last layer; as many numbers as the encoder's embedding size
 */
public record Judgement(double inOrder, List<Float> embedding) {

    /** Copies the embedding. */
    public Judgement {
        embedding = List.copyOf(embedding);
    }

    /**
     * Compares this judgement with another.
     *
     * @param other the other judgement
     * @return the difference; infinite if the embeddings have different sizes
     */
    public Difference differenceTo(Judgement other) {
        double greatest = embedding.size() == other.embedding.size() ? 0 : Double.POSITIVE_INFINITY;
        for (int d = 0; d < Math.min(embedding.size(), other.embedding.size()); d++) {
            greatest = Math.max(greatest, Math.abs(embedding.get(d) - other.embedding.get(d)));
        }
        return new Difference(Math.abs(inOrder - other.inOrder), greatest);
    }

    /**
     * The difference between two judgements.
     *
     * @param inOrder the difference between the probabilities
     * @param embedding the greatest difference between two corresponding numbers of the embeddings
     */
    public record Difference(double inOrder, double embedding) {

        static final Difference NONE = new Difference(0, 0);

        /**
         * Returns the greatest difference that rounding can cause between a sentence in a batch and the same sentence
         * without others, whose sums are added in a different order.
         *
         * <p>A float sum of n terms is off by at most n·2⁻²⁴ of the sum of their magnitudes. The longest sum has as
         * many terms as the feed-forward network is wide, a vector is long, or a sentence has words. A score passes
         * through 6 sums in each layer, one after the other, and those of the mean and of the head; layer normalization
         * keeps the vectors between them at the same size. A probability of two classes changes by a quarter of the
         * difference of their scores, and both scores are off.
         *
         * @param sizes the sizes of the encoder
         * @return the greatest difference that rounding can cause
         */
        public static Difference ofRounding(EncoderSpec sizes) {
            int longestSum = Math.max(sizes.feedForwardSize(), Math.max(sizes.embeddingSize(), sizes.maxWords()));
            int sums = 6 * sizes.layers() + 2;
            return upTo(longestSum * Math.pow(2, -24) * sums / 2);
        }

        /**
         * Embeddings may differ by twice as much: they pass neither the head nor the softmax, and have values of about
         * 1.
         */
        static Difference upTo(double inOrder) {
            return new Difference(inOrder, 2 * inOrder);
        }

        /**
         * Returns whether neither difference exceeds a limit.
         *
         * @param limit the greatest differences expected
         * @return false also for NaN
         */
        public boolean isWithin(Difference limit) {
            return inOrder <= limit.inOrder && embedding <= limit.embedding;
        }

        /** Returns the greater of both probabilities' and of both embeddings' differences. */
        Difference max(Difference other) {
            return new Difference(Math.max(inOrder, other.inOrder), Math.max(embedding, other.embedding));
        }

        @Override
        public String toString() {
            return String.format(Locale.ROOT, "%.1e (probability) and %.1e (embedding)", inOrder, embedding);
        }
    }
}
