package io.github.djlpositional.examples.llama;

import io.github.djlpositional.examples.Check;
import java.util.Arrays;
import java.util.Random;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;

/**
 * Chooses the next token for its logits: always the best, or a random one.
 *
 * <p>The probabilities are softmax(logits / temperature). Of these tokens, only the most probable ones take part, as
 * few as have together at least the probability p, the nucleus. After Holtzman et al., <em>The Curious Case of Neural
 * Text Degeneration</em> (2020), sections 3.1 and 3.3. Tokens that are as probable as the last of the nucleus take part
 * too.
 */
public final class Sampling {

    private Sampling() {}

    /** {@return the choice of the token with the largest logit, the first one of several} */
    public static ToIntFunction<float[]> greedy() {
        return logits -> IntStream.range(1, logits.length).reduce(0, (best, i) -> logits[i] > logits[best] ? i : best);
    }

    /**
     * Returns a random choice, for one thread. The same seed gives the same choices.
     *
     * @param temperature above 0: below 1 the best tokens get more probable than in the model, above 1 less
     * @param nucleus p, the probability of the tokens that take part, above 0; 1 for all tokens
     */
    public static ToIntFunction<float[]> of(double temperature, double nucleus, long seed) {
        Check.that(
                temperature > 0 && Double.isFinite(temperature),
                () -> "temperature " + temperature + ": expected a positive finite number; use 0.7 to 1");
        Check.that(
                nucleus > 0 && nucleus <= 1,
                () -> "top-p " + nucleus + ": expected more than 0 and at most 1; use 1 for all tokens");
        Random random = new Random(seed);
        return logits -> {
            double largest = logits[greedy().applyAsInt(logits)];
            double[] weights = IntStream.range(0, logits.length)
                    .mapToDouble(i -> Math.exp((logits[i] - largest) / temperature))
                    .toArray();
            double smallest = smallestOfNucleus(nucleus, weights);
            int[] tokens = IntStream.range(0, weights.length)
                    .filter(i -> weights[i] >= smallest)
                    .toArray();
            double left = random.nextDouble()
                    * Arrays.stream(tokens).mapToDouble(i -> weights[i]).sum();
            for (int token : tokens) {
                left -= weights[token];
                if (left < 0) {
                    return token;
                }
            }
            return tokens[tokens.length - 1]; // the sum was rounded
        };
    }

    /** The weight of the least probable token of the nucleus. */
    private static double smallestOfNucleus(double nucleus, double... weights) {
        double needed = nucleus * Arrays.stream(weights).sum();
        double[] sorted = Arrays.stream(weights).sorted().toArray();
        double sum = 0;
        int i = sorted.length;
        while (i > 0 && sum < needed) {
            sum += sorted[--i];
        }
        return sorted[i];
    }
}
