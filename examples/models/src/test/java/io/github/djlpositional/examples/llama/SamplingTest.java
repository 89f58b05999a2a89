package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SamplingTest {

    private static final int DRAWS = 100_000;

    /** Logits with the probabilities of each choice, from {@code src/test/python/make_llama.py}. */
    private record Stored(List<Float> logits, List<Case> cases) {}

    private record Case(double temperature, double topP, List<Double> probabilities) {}

    static List<Case> cases() throws IOException {
        return StoredModel.json("sampling.json", Stored.class).cases();
    }

    private static float[] logits() throws IOException {
        List<Float> stored = StoredModel.json("sampling.json", Stored.class).logits();
        float[] logits = new float[stored.size()];
        IntStream.range(0, logits.length).forEach(i -> logits[i] = stored.get(i));
        return logits;
    }

    private static int[] draws(int count, ToIntFunction<float[]> choice, float... logits) {
        return IntStream.range(0, count).map(i -> choice.applyAsInt(logits)).toArray();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void frequenciesAreTheProbabilities(Case expected) throws IOException {
        float[] logits = logits();
        int[] draws = draws(DRAWS, Sampling.of(expected.temperature(), expected.topP(), 7), logits);
        for (int token = 0; token < logits.length; token++) {
            int wanted = token;
            double frequency =
                    IntStream.of(draws).filter(drawn -> drawn == wanted).count() / (double) DRAWS;
            double probability = expected.probabilities().get(token);
            // five standard deviations of a binomial frequency; 0 for a token outside of the nucleus
            double tolerance = 5 * Math.sqrt(probability * (1 - probability) / DRAWS);
            assertThat(frequency).as("token %d of %s", token, expected).isCloseTo(probability, within(tolerance));
        }
    }

    @Test
    void nucleusIsAsSmallAsPossible() {
        float[] logits = new float[1000];
        for (int i = 0; i < logits.length; i++) {
            logits[i] = -0.01f * i;
        }
        // the first n have the probability (1 - q^n) / (1 - q^1000), q = e^-0.01
        double needed = -100 * Math.log(1 - 0.9 * (1 - Math.exp(-10)));
        // the last of them has a probability of 0.001 or so: it is drawn some ten times
        assertThat(IntStream.of(draws(10_000, Sampling.of(1, 0.9, 7), logits)).max())
                .hasValue((int) Math.ceil(needed) - 1);
    }

    @Test
    void greedyChoosesTheFirstOfTheBest() {
        assertThat(Sampling.greedy().applyAsInt(new float[] {-3, 2, 5, 1, 5})).isEqualTo(2);
        assertThat(Sampling.greedy().applyAsInt(new float[] {-3})).isZero();
    }
}
