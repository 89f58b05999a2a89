package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SamplingTest {

    private static final double[] SCORES = {1.5, -0.5, 3, 2, 0.25, -2, 2.5, 0};

    /**
     * The probabilities of the processors of Hugging Face's transformers 5.23, in FLOAT64, after the tokens 2 5 2 1.
     */
    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                "1, -, 1, 1, .09502217054 .012859852364 .425859823147 .156665073757 .027224307668 .002869420917 .258297039478"
                        + " .02120231213",
                ".7, -, 1, 1, .062156645154 .003569818936 .529808105726 .126969061652 .010422255251 .000418808181"
                        + " .259363139324 .007292165777",
                "1, 3, 1, 1, 0 0 .506480391056 .186323723226 0 0 .307195885718 0",
                "1, -, .8, 1, 0 0 .506480391056 .186323723226 0 0 .307195885718 0",
                "1.3, 5, .9, 1.2, .147378281956 0 .318057885873 .216505946298 0 0 .318057885873 0",
                ".5, 4, .6, 1.4, 0 0 .328652546517 0 0 0 .671347453483 0"
            })
    void hasTheProbabilitiesOfTransformers(
            double temperature, Integer topK, double topP, double penalty, String expected) {
        Sampling sampling = new Sampling(temperature, topK, topP, penalty, null);
        double[] weights = sampling.weights(SCORES, 2, 5, 2, 1);
        double sum = Arrays.stream(weights).sum();
        double[] probabilities =
                Arrays.stream(weights).map(weight -> weight / sum).toArray();
        double[] wanted = Arrays.stream(expected.split(" "))
                .mapToDouble(Double::parseDouble)
                .toArray();
        assertThat(probabilities).containsExactly(wanted, within(1e-11));
    }

    @Test
    void drawsTokensByTheirProbabilities() {
        Sampling sampling = Sampling.builder().optTopK(3).optSeed(5).build();
        Random random = sampling.random();
        int[] counts = new int[SCORES.length];
        IntStream.range(0, 10_000).forEach(i -> counts[sampling.choose(SCORES, new long[0], random)]++);
        // four standard deviations of 10,000 draws are 0.02
        assertThat(Arrays.stream(counts).mapToDouble(count -> count / 1e4).toArray())
                .containsExactly(new double[] {0, 0, .5065, .1863, 0, 0, .3072, 0}, within(.02));
    }

    @Test
    void theSameSeedGivesTheSameTokens() {
        Sampling sampling = Sampling.builder().optSeed(5).build();
        int[] one = drawn(sampling);
        assertThat(drawn(sampling)).isEqualTo(one);
        assertThat(drawn(Sampling.builder().optSeed(6).build())).isNotEqualTo(one);
    }

    private static int[] drawn(Sampling sampling) {
        Random random = sampling.random();
        return IntStream.range(0, 30)
                .map(i -> sampling.choose(SCORES, new long[0], random))
                .toArray();
    }

    @Test
    void greedyChoosesTheBestToken() {
        assertThat(Sampling.greedy().choose(SCORES, new long[0], new Random())).isEqualTo(2);
        assertThat(new Sampling(0, null, 1, 1.5, null).choose(SCORES, new long[] {2}, new Random()))
                .isEqualTo(6);
    }

    @Test
    void theNucleusHasTheFirstOfEqualTokens() {
        assertThat(new Sampling(1, null, .5, 1, null).weights(new double[] {1, 2, 2, 2, 1}))
                .containsExactly(0, 1, 1, 0, 0);
    }

    @ParameterizedTest
    @CsvSource({"NaN, 0", "NaN, 1", "Infinity, 0", "Infinity, 1"})
    void rejectsScoresThatAreNotFinite(double score, double temperature) {
        Sampling sampling = new Sampling(temperature, null, .9, 1, null);
        refused(() -> sampling.choose(new double[] {1, score, 2}, new long[0], new Random()), "score", "" + score);
    }

    @Test
    void rejectsOptionsOutOfRange() {
        refused(() -> Sampling.builder().optTemperature(-1).build(), "temperature", "-1");
        refused(() -> Sampling.builder().optTopK(0).build(), "topK", "0");
        refused(() -> Sampling.builder().optTopP(0).build(), "topP", "0");
        refused(() -> Sampling.builder().optTopP(1.5).build(), "topP", "1.5");
        refused(() -> Sampling.builder().optRepetitionPenalty(0).build(), "repetitionPenalty", "0");
    }
}
