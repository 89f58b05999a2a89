package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.reals;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.support.Goldens;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The frequencies and attention factors of each method of scaling. */
class RotaryScalingTest implements ArgumentsContract<RotaryScaling> {

    private static final double[] ONES = {1, 1};

    @Override
    public List<RotaryScaling> distinctValues() {
        List<Double> two = List.of(1.0, 2.0);
        List<Double> others = List.of(3.0, 4.0);
        return List.of(
                RotaryScaling.none(),
                RotaryScaling.linear(1.1),
                RotaryScaling.linear(2),
                RotaryScaling.linear(3),
                RotaryScaling.ntkAware(2),
                RotaryScaling.dynamicNtk(2, 16, 40),
                RotaryScaling.yarn(2, 10),
                new RotaryScaling.Yarn(2, 10, 32, 1, true, 3.0),
                RotaryScaling.yarn(4, 2048),
                new RotaryScaling.Yarn(4, 2048, 16, 0.3, false, 1.5),
                RotaryScaling.llama3(8, 1, 4, 8192),
                new RotaryScaling.LongRope(two, others, 100, 400, 1.0, 1.5, 400),
                new RotaryScaling.LongRope(two, others, 100, 400, 1.5, 1.0, 400),
                new RotaryScaling.LongRope(two, others, 100, 400, 1.5, 1.0, 100),
                RotaryScaling.longRope(
                        new double[] {1, 1.1}, new double[] {2, 3333333333.3333335}, 4096, 131_072, 8192),
                RotaryScaling.longRope(new double[] {1.5}, new double[] {1}, 2, 4, 1),
                RotaryScaling.longRope(new double[] {Math.nextUp(1.5)}, new double[] {1}, 2, 4, 1));
    }

    @Override
    public RotaryScaling fromArguments(Map<?, ?> arguments) {
        return RotaryScaling.fromArguments(arguments);
    }

    private static List<Double> boxed(double... factors) {
        return DoubleStream.of(factors).boxed().toList();
    }

    /** The scaling of a row; the first two parameters are the rotary size and the base. */
    private static RotaryScaling scaling(String kind, double... p) {
        double[] shortFactors = {1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75};
        double[] longFactors = {1, 1.75, 2.5, 3.25, 4, 4.75, 5.5, 6.25};
        return switch (kind) {
            case "default" -> RotaryScaling.none();
            case "linear" -> RotaryScaling.linear(p[2]);
            case "ntk" -> RotaryScaling.ntkAware(p[2]);
            case "dynamic" -> RotaryScaling.dynamicNtk(p[2], (int) p[3], (int) p[4]);
            case "yarn" -> RotaryScaling.yarn(p[2], (int) p[3]);
            case "yarn_untruncated" ->
                new RotaryScaling.Yarn(p[2], (int) p[3], p[4], p[5], false, RotaryScaling.yarnMagnitude(p[2], 1));
            case "yarn_mscale" -> {
                double factor = RotaryScaling.yarnMagnitude(p[2], p[4]) / RotaryScaling.yarnMagnitude(p[2], p[5]);
                yield new RotaryScaling.Yarn(p[2], (int) p[3], 32, 1, false, factor);
            }
            case "llama3" -> RotaryScaling.llama3(p[2], p[3], p[4], (int) p[5]);
            case "longrope" -> RotaryScaling.longRope(shortFactors, longFactors, (int) p[2], (int) p[3], (int) p[4]);
            case "longrope_mscale" ->
                new RotaryScaling.LongRope(
                        boxed(shortFactors), boxed(longFactors), (int) p[2], (int) p[3], p[5], p[6], (int) p[4]);
            // vLLM uses the maximum length
            case "longrope_by_max" ->
                RotaryScaling.longRope(shortFactors, longFactors, (int) p[2], (int) p[3], (int) p[3]);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /**
     * The formulas of the papers and of Hugging Face's and vLLM's code in 50-digit arithmetic; the first file has 20
     * digits.
     */
    @ParameterizedTest
    @CsvSource({"rotary_frequencies.csv, 1e-19", "rotary_scalings.csv, 0x1p-90"})
    void frequenciesAndAttentionFactorsFollowTheFormulas(String file, double tolerance) {
        for (String[] row : Goldens.rows(file)) {
            double[] parameters = reals(row[1]);
            RotaryScaling scaling = scaling(row[0], parameters);
            Frequencies frequencies = scaling.frequencies((int) parameters[0], parameters[1]);
            FrequenciesTest.requireClose(frequencies, Integer.parseInt(row[2]), row[3], tolerance, row);
            assertThat(scaling.attentionFactor())
                    .as(String.join(",", row))
                    .isCloseTo(Double.parseDouble(row[4]), within(1e-15));
        }
    }

    /**
     * Over 10^6 positions, pair log(10^6 / 2π) / (2 log 10) · 8 = 20.8 makes one turn, beyond the last dimension, 7.
     * Pair 0.8, which is rounded down to 0, makes a hundred thousand.
     */
    @Test
    void yarnsRampEndsAtTheLastDimension() {
        Frequencies scaled = new RotaryScaling.Yarn(2, 1_000_000, 100_000, 1, true, 1.0).frequencies(8, 10);
        for (int pair = 0; pair < 4; pair++) {
            double ramp = pair / 7.0;
            double expected = Math.pow(10, -pair / 4.0) * (1 - ramp + ramp / 2);
            // a few roundings of double
            assertThat(scaled.get(pair)).isCloseTo(expected, within(1e-14));
        }
    }

    /** A factor of 1, and dynamic NTK up to the original length. */
    @Test
    void scalingsThatChangeNothingHaveTheUnscaledFrequencies() {
        Frequencies unscaled = RotaryScaling.none().frequencies(64, 10_000);
        assertThat(RotaryScaling.linear(1).frequencies(64, 10_000)).isEqualTo(unscaled);
        assertThat(RotaryScaling.dynamicNtk(2, 16, 1).frequencies(64, 10_000)).isEqualTo(unscaled);
        assertThat(RotaryScaling.dynamicNtk(2, 16, 16).frequencies(64, 10_000)).isEqualTo(unscaled);
    }

    @Test
    void acceptsTheLimitsOfEachArgument() {
        assertThat(RotaryScaling.dynamicNtk(4, 4, 4).frequencies(4, 10).size()).isEqualTo(2);
        assertThat(RotaryScaling.dynamicNtk(1, 1, Integer.MAX_VALUE)
                        .frequencies(4, 10)
                        .size())
                .isEqualTo(2);
        assertThat(RotaryScaling.yarn(4, 4).frequencies(2, 10).size()).isEqualTo(1);
        assertThat(RotaryScaling.llama3(4, 1, 4, 4).frequencies(2, 10).size()).isEqualTo(1);
        assertThat(RotaryScaling.none().frequencies(2, 1.5).size()).isEqualTo(1);
    }

    @Test
    void onlyYarnAndLongRopeHaveAnAttentionFactor() {
        assertThat(RotaryScaling.linear(4).attentionFactor()).isEqualTo(1);
        assertThat(RotaryScaling.yarn(1, 100).attentionFactor()).isEqualTo(1);
        assertThat(RotaryScaling.longRope(ONES, ONES, 2, 2, 1).attentionFactor())
                .isEqualTo(1);
        assertThat(new RotaryScaling.Yarn(2, 10, 32, 1, true, 3.0).attentionFactor())
                .isEqualTo(3);
    }

    @Test
    void theMagnitudeOfYarnIsOneUpToAFactorOfOne() {
        assertThat(RotaryScaling.yarnMagnitude(1, 0.7)).isEqualTo(1);
        assertThat(RotaryScaling.yarnMagnitude(0.5, 1)).isEqualTo(1);
        assertThat(RotaryScaling.yarnMagnitude(40, 0)).isEqualTo(1);
        // 0.1 ln 10 + 1
        assertThat(RotaryScaling.yarnMagnitude(10, 1)).isCloseTo(1.2302585092994045, within(1e-15));
    }

    @Test
    void optionalArgumentsOfYarnDefaultToThePaper() {
        Map<String, Object> required = Map.of("type", "Yarn", "factor", 4, "originalLength", 100);
        assertThat(RotaryScaling.fromArguments(required))
                .isEqualTo(RotaryScaling.yarn(4, 100))
                .isEqualTo(new RotaryScaling.Yarn(4, 100, 32, 1, true, RotaryScaling.yarnMagnitude(4, 1)));
        assertThat(RotaryScaling.fromArguments(
                        Map.of("type", "Yarn", "factor", 4, "originalLength", 100, "betaSlow", 2)))
                .isEqualTo(new RotaryScaling.Yarn(4, 100, 32, 2, true, RotaryScaling.yarnMagnitude(4, 1)));
    }

    @Test
    void aUserReadsTheArguments() {
        RotaryScaling.LongRope scaling =
                RotaryScaling.longRope(new double[] {1, 2}, new double[] {3, 4}, 100, 400, 200);
        assertThat(scaling.longFactors()).containsExactly(3.0, 4.0);
        assertThat(scaling.length()).isEqualTo(200);
        assertThat(RotaryScaling.yarn(2, 10).betaFast()).isEqualTo(32);
    }

    @Test
    void keepsItsFactorsWhenTheListChanges() {
        List<Double> factors = new ArrayList<>(List.of(1.0, 2.0));
        RotaryScaling.LongRope scaling = new RotaryScaling.LongRope(factors, factors, 100, 400, null, null, 200);
        factors.set(0, 5.0);
        assertThat(scaling.shortFactors()).containsExactly(1.0, 2.0);
    }

    @Test
    void describesTheFrequenciesWithTheirScaling() {
        assertThat(RotaryScaling.dynamicNtk(2, 2048, 4096).frequencies(64, 10_000))
                .hasToString("Rotary(rotarySize=64, base=10000.0, "
                        + "scaling=DynamicNtk(factor=2.0, originalLength=2048, length=4096))");
    }

    @Test
    void rejectsFactorsBelowOneAndNotFinite() {
        assertAll(
                rejected(() -> RotaryScaling.linear(0.5), "scaling factor", 0.5),
                rejected(() -> RotaryScaling.linear(Double.NaN), "scaling factor", Double.NaN),
                rejected(() -> RotaryScaling.linear(Double.POSITIVE_INFINITY), "scaling factor", "Infinity"),
                rejected(() -> RotaryScaling.ntkAware(0.5), "scaling factor", 0.5),
                rejected(() -> RotaryScaling.dynamicNtk(0.5, 10, 20), "scaling factor", 0.5),
                rejected(() -> RotaryScaling.yarn(0.5, 10), "scaling factor", 0.5),
                rejected(() -> RotaryScaling.llama3(0.5, 1, 4, 10), "scaling factor", 0.5));
    }

    /** The two were swapped, probably. */
    @Test
    void rejectsAFactorAboveAShortOriginalLength() {
        assertThat(new RotaryScaling.Yarn(2048, 512, 32, 1, true, 1.0).factor()).isEqualTo(2048); // Mistral Large 4
        assertAll(
                rejected(() -> RotaryScaling.dynamicNtk(4096, 4, 8), 4096.0, "originalLength 4"),
                rejected(() -> RotaryScaling.yarn(4096, 4), 4096.0, "originalLength 4"),
                rejected(() -> RotaryScaling.llama3(8192, 1, 4, 8), 8192.0, "originalLength 8"));
    }

    @Test
    void rejectsLengthsThatAreTooSmall() {
        assertAll(
                rejected(() -> RotaryScaling.dynamicNtk(2, 0, 1), "originalLength 0"),
                rejected(() -> RotaryScaling.dynamicNtk(2, 4, 0), "length 0"),
                rejected(() -> RotaryScaling.yarn(2, 0), "originalLength 0"),
                rejected(() -> RotaryScaling.llama3(2, 1, 4, 0), "originalLength 0"),
                rejected(() -> RotaryScaling.longRope(ONES, ONES, 1, 4, 1), "originalLength 1", 2),
                rejected(() -> RotaryScaling.longRope(ONES, ONES, 4, 3, 1), "maxLength 3", 4),
                rejected(() -> RotaryScaling.longRope(ONES, ONES, 2, 4, 0), "length 0"));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void rejectsAttentionFactorsThatAreNotPositiveAndFinite(double value) {
        assertAll(
                rejected(() -> new RotaryScaling.Yarn(2, 10, 32, 1, true, value), "attentionScale", value),
                rejected(
                        () -> new RotaryScaling.LongRope(List.of(1.0, 1.0), List.of(1.0, 1.0), 2, 4, value, 1.0, 1),
                        "shortAttentionScale",
                        value),
                rejected(
                        () -> new RotaryScaling.LongRope(List.of(1.0, 1.0), List.of(1.0, 1.0), 2, 4, 1.0, value, 1),
                        "longAttentionScale",
                        value));
    }

    @Test
    void rejectsTurnsOfYarnThatAreNoRange() {
        assertAll(
                rejected(() -> new RotaryScaling.Yarn(2, 10, 1, 0, true, 1.0), "betaSlow 0.0", "betaFast 1.0"),
                rejected(() -> new RotaryScaling.Yarn(2, 10, 1, 2, true, 1.0), "betaSlow 2.0", "betaFast 1.0"),
                rejected(
                        () -> new RotaryScaling.Yarn(2, 10, Double.POSITIVE_INFINITY, 1, true, 1.0),
                        "betaSlow 1.0",
                        "betaFast Infinity"),
                rejected(
                        () -> new RotaryScaling.Yarn(2, 10, 1, Double.NaN, true, 1.0), "betaSlow NaN", "betaFast 1.0"));
    }

    @Test
    void rejectsFactorsOfLlama3ThatAreNoRange() {
        assertAll(
                rejected(() -> RotaryScaling.llama3(2, 0, 1, 10), "lowFrequencyFactor 0.0", 1.0),
                rejected(() -> RotaryScaling.llama3(2, 2, 1, 10), "lowFrequencyFactor 2.0", 1.0),
                rejected(
                        () -> RotaryScaling.llama3(2, 1, Double.POSITIVE_INFINITY, 10),
                        "lowFrequencyFactor 1.0",
                        "Infinity"),
                rejected(() -> RotaryScaling.llama3(2, Double.NaN, 1, 10), "lowFrequencyFactor NaN", 1.0));
    }

    @Test
    void rejectsFactorsOfLongRopeThatAreNotPositiveOrDoNotFit() {
        assertAll(
                rejected(() -> RotaryScaling.longRope(ONES, new double[2], 2, 4, 1), "LongRoPE factor", 0.0),
                rejected(() -> RotaryScaling.longRope(new double[2], ONES, 2, 4, 1), "LongRoPE factor", 0.0),
                rejected(() -> RotaryScaling.longRope(ONES, new double[] {1, 1, 1}, 2, 4, 1), "2 short", "3 long"),
                rejected(
                        () -> RotaryScaling.longRope(ONES, ONES, 2, 4, 1).frequencies(64, 10),
                        "2 LongRoPE factors",
                        64,
                        32));
    }

    @Test
    void rejectsRotarySizesAndBasesOutOfRange() {
        RotaryScaling none = RotaryScaling.none();
        assertAll(
                rejected(() -> none.frequencies(2, 1), "base", 1.0),
                rejected(() -> none.frequencies(2, Double.POSITIVE_INFINITY), "base", "Infinity"),
                rejected(() -> none.frequencies(0, 10), "rotary size 0"),
                rejected(() -> none.frequencies(3, 10), "rotary size 3"));
    }

    /** The exponent r / (r - 2) has no value. */
    @Test
    void rejectsARotarySizeOfTwoWithNtk() {
        assertAll(
                rejected(() -> RotaryScaling.dynamicNtk(2, 4, 1).frequencies(2, 10), "rotary size 2", 4),
                rejected(() -> RotaryScaling.ntkAware(2).frequencies(2, 10), "rotary size 2", 4));
    }

    @Test
    void rejectsScaledFrequenciesOutOfRange() {
        double[] subnormal = {1e-320};
        assertAll(
                rejected(() -> RotaryScaling.linear(1e308).frequencies(4, 10_000), "pair 0", 1e-308),
                rejected(() -> RotaryScaling.linear(1.7e308).frequencies(64, 1e250), "pair", 1.7e308),
                rejected(() -> RotaryScaling.ntkAware(1e308).frequencies(4, 10), "pair", 1e308),
                rejected(
                        () -> RotaryScaling.longRope(subnormal, new double[] {1}, 2, 4, 1)
                                .frequencies(2, 10),
                        "pair 0"));
    }

    @Test
    void rejectsAnUnknownType() {
        assertAll(rejected(
                () -> RotaryScaling.fromArguments(Map.of("type", "cubic")),
                "type",
                "cubic",
                "None",
                "Linear",
                "NtkAware",
                "DynamicNtk",
                "Yarn",
                "Llama3",
                "LongRope"));
    }
}
