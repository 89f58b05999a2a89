package io.github.djlpositional.transformer;

import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import java.util.Arrays;
import java.util.Random;

/**
 * How the next token is chosen from the scores of all tokens, in the order of Hugging Face's {@code generate}:
 *
 * <ol>
 *   <li>The scores of tokens that have occurred are divided by the repetition penalty if they are positive, and
 *       otherwise multiplied by it. After Keskar et al., <em>CTRL</em> (2019), section 4.1.
 *   <li>The scores are divided by the temperature.
 *   <li>Only the {@code topK} best tokens remain, and those as good as the last of them.
 *   <li>Of these, only the most probable ones remain: as few as possible with a total probability of at least
 *       {@code topP}. After Holtzman et al., <em>The Curious Case of Neural Text Degeneration</em> (2020), section 3.1.
 *   <li>A token is drawn. Its probability is the softmax of the remaining scores.
 * </ol>
 *
 * @param temperature 0 for the best token, or the first of several equal ones
 * @param topK null for all tokens
 * @param topP 1 for all tokens
 * @param repetitionPenalty 1 for none
 * @param seed null for different choices each time; the same seed gives the same tokens for the same scores
 */
public record Sampling(
        @Default("1") @Range(min = 0) double temperature,
        @Range(min = 1) Integer topK,
        @Default("1") @Range(above = 0, max = 1) double topP,
        @Default("1") @Range(above = 0) double repetitionPenalty,
        Long seed) {

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the choice of the best token} */
    public static Sampling greedy() {
        return builder().optTemperature(0).build();
    }

    /** The numbers that a sequence of choices draws. */
    Random random() {
        return seed == null ? new Random() : new Random(seed);
    }

    /**
     * Chooses the token that follows others.
     *
     * @param scores a score for each token
     * @param tokens the tokens so far
     * @param random the numbers to draw
     * @throws IllegalArgumentException if the largest score is not finite
     */
    int choose(double[] scores, long[] tokens, Random random) {
        if (temperature == 0) {
            return best(penalized(scores, tokens));
        }
        double[] weights = weights(scores, tokens);
        double left = random.nextDouble() * Arrays.stream(weights).sum();
        for (int token = 0; token < weights.length; token++) {
            left -= weights[token];
            if (left < 0) {
                return token;
            }
        }
        return best(weights); // the sum was rounded
    }

    /** The probability of each token relative to the best one; 0 for tokens that do not take part. */
    double[] weights(double[] scores, long... tokens) {
        double[] penalized = penalized(scores, tokens);
        double largest = penalized[best(penalized)];
        double[] weights = Arrays.stream(penalized)
                .map(score -> Math.exp((score - largest) / temperature))
                .toArray();
        keepFrom(smallestOfTopK(weights), weights);
        keepNucleus(weights);
        return weights;
    }

    private double[] penalized(double[] scores, long[] tokens) {
        if (repetitionPenalty == 1) {
            return scores;
        }
        double[] penalized = scores.clone();
        Arrays.stream(tokens)
                .distinct()
                .mapToInt(Math::toIntExact)
                .forEach(token -> penalized[token] = penalized[token] > 0
                        ? penalized[token] / repetitionPenalty
                        : penalized[token] * repetitionPenalty);
        return penalized;
    }

    private static int best(double... scores) {
        int best = 0;
        for (int i = 0; i < scores.length; i++) {
            if (scores[i] > scores[best] || Double.isNaN(scores[i])) {
                best = i;
            }
        }
        double largest = scores[best];
        Check.that(
                Double.isFinite(largest),
                () -> "the largest score of the next token is " + largest
                        + ": expected a finite number; check the decoder's weights, or compute with FLOAT32");
        return best;
    }

    private double smallestOfTopK(double... weights) {
        if (topK == null || topK >= weights.length) {
            return 0;
        }
        double[] sorted = Arrays.stream(weights).sorted().toArray();
        return sorted[sorted.length - topK];
    }

    private static void keepFrom(double smallest, double... weights) {
        Arrays.setAll(weights, i -> weights[i] >= smallest ? weights[i] : 0);
    }

    /** Keeps the most probable tokens, and of equal ones the first. */
    private void keepNucleus(double... weights) {
        if (topP == 1) {
            return;
        }
        double[] sorted =
                Arrays.stream(weights).filter(weight -> weight > 0).sorted().toArray();
        double needed = topP * Arrays.stream(sorted).sum();
        double sum = 0;
        int smallest = sorted.length;
        while (smallest > 0 && sum < needed) {
            sum += sorted[--smallest];
        }
        double last = sorted[smallest];
        long better = Arrays.stream(sorted).filter(weight -> weight > last).count();
        long equal = sorted.length - smallest - better; // as many of those as good as the last one
        for (int token = 0; token < weights.length; token++) {
            if (weights[token] < last || (weights[token] == last && equal-- <= 0)) {
                weights[token] = 0;
            }
        }
    }

    /** Builds a {@link Sampling}. */
    public static final class Builder extends BlockBuilder<Sampling, Builder> {

        private Builder() {
            super(Sampling.class, sampling -> sampling);
        }

        /** Sets the temperature, at least 0: below 1, good tokens are chosen more often (default: 1). */
        public Builder optTemperature(double temperature) {
            return set("temperature", temperature);
        }

        /** Sets the number of the best tokens that take part, at least 1 (default: all). */
        public Builder optTopK(int topK) {
            return set("topK", topK);
        }

        /** Sets the probability of the tokens that take part, above 0 and at most 1 (default: 1). */
        public Builder optTopP(double topP) {
            return set("topP", topP);
        }

        /** Sets the penalty of tokens that have occurred, above 0; above 1, they become less probable (default: 1). */
        public Builder optRepetitionPenalty(double repetitionPenalty) {
            return set("repetitionPenalty", repetitionPenalty);
        }

        /** Sets the seed, for the same tokens each time (default: none). */
        public Builder optSeed(long seed) {
            return set("seed", seed);
        }
    }
}
