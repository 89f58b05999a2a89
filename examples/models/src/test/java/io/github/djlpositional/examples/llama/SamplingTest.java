package io.github.djlpositional.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.util.List;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class SamplingTest {

    private static final int DRAWS = 100_000;

    /** Logits with the probabilities of each choice, from {@code make_llama.py}. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Stored(float[] logits, List<Case> cases) {}

    private record Case(double temperature, double topP, List<Double> probabilities) {}

    private static Stored stored() throws IOException {
        return StoredModel.json("sampling.json", Stored.class);
    }

    static List<Case> cases() throws IOException {
        return stored().cases();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void frequenciesAreTheProbabilities(Case expected) throws IOException {
        float[] logits = stored().logits();
        ToIntFunction<float[]> choice = Sampling.of(expected.temperature(), expected.topP(), 7);
        int[] counts = new int[logits.length];
        for (int i = 0; i < DRAWS; i++) {
            counts[choice.applyAsInt(logits)]++;
        }
        for (int token = 0; token < logits.length; token++) {
            double frequency = counts[token] / (double) DRAWS;
            double probability = expected.probabilities().get(token);
            // five standard deviations of a binomial frequency; 0 for a token outside of the nucleus
            double tolerance = 5 * Math.sqrt(probability * (1 - probability) / DRAWS);
            assertThat(frequency).as("token %d of %s", token, expected).isCloseTo(probability, within(tolerance));
        }
    }

    @Test
    void greedyChoosesTheFirstOfTheBest() {
        assertThat(Sampling.greedy().applyAsInt(new float[] {-3, 2, 5, 1, 5})).isEqualTo(2);
        assertThat(Sampling.greedy().applyAsInt(new float[] {-3})).isZero();
    }
}
