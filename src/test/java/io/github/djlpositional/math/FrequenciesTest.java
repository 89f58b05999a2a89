package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.reals;
import static io.github.djlpositional.support.Goldens.requireUlps;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.support.Goldens;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Frequencies of every rule, and sines and cosines of their angles. RotaryScalingTest has scaled frequencies. */
class FrequenciesTest implements ArgumentsContract<Frequencies> {

    private static final int MAX_COUNT = 1 << 20;

    @Override
    public List<Frequencies> distinctValues() {
        return List.of(
                Frequencies.of(1, 2),
                Frequencies.of(1, 3),
                Frequencies.of(1),
                Frequencies.of(1, 2).scaledBy(3),
                Frequencies.of(1, 0.1, 0.01, 0.001),
                Frequencies.of(1, 0.1, -3e-7, 0, 1 / 3.0, 2, 3, 4, 5, 6),
                Frequencies.geometric(4, 10_000, 4),
                Frequencies.geometric(4, 10_000, 5),
                Frequencies.geometric(4, 0.001, 0.1).scaledBy(3).scaledBy(0.1),
                Frequencies.timescales(5, 1, 10_000),
                Frequencies.proportional(8, 0.5, 100, 1),
                Frequencies.proportional(8, 0.5, 100, 2),
                Frequencies.joined(Frequencies.of(1), Frequencies.of(3, 4)),
                Frequencies.joined(Frequencies.geometric(3, 10_000, 3), Frequencies.of(0.5, 2))
                        .scaledBy(2),
                RotaryScaling.dynamicNtk(2, 16, 40).frequencies(8, 10_000));
    }

    @Override
    public Frequencies fromArguments(Map<?, ?> arguments) {
        return Frequencies.fromArguments(arguments);
    }

    private static Frequencies frequencies(String kind, int count, double... parameters) {
        return switch (kind) {
            case "vaswani" -> Frequencies.geometric(count, parameters[0], parameters[1] / 2);
            case "timescales" -> Frequencies.timescales((int) parameters[0], parameters[1], parameters[2]);
            case "proportional" ->
                Frequencies.proportional((int) parameters[0], parameters[1], parameters[2], parameters[3]);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /** The formulas of Vaswani et al. (2017), of tensor2tensor's code and of Gemma 4's in 50-digit arithmetic. */
    @Test
    void frequenciesAreExactToAlmostTwoDoubles() {
        for (String[] row : Goldens.rows("frequencies.csv")) {
            int pair = Integer.parseInt(row[2]);
            requireClose(frequencies(row[0], pair + 1, reals(row[1])), pair, row[3], 0x1p-96, row);
        }
    }

    /** Checks the relative error of the sum of two doubles that a frequency is. */
    static void requireClose(Frequencies frequencies, int pair, String expected, double tolerance, String... row) {
        BigDecimal real = new BigDecimal(expected);
        BigDecimal sum = new BigDecimal(frequencies.get(pair))
                .add(new BigDecimal(frequencies.exactly(pair).low()));
        assertThat(sum.subtract(real).divide(real, MathContext.DECIMAL64).abs().doubleValue())
                .as(String.join(",", row))
                .isLessThan(tolerance);
    }

    /** mpmath, 60 digits, of (2^53 - 1) · 10000^(-1/8), an angle whose double is wrong by more than 0.1. */
    @Test
    void sineAndCosineAreWithinTwoUlpsAtTheLargestIntegerOfADouble() {
        Frequencies frequencies = Frequencies.geometric(2, 10_000, 8);
        double position = 0x1p53 - 1;
        requireUlps(frequencies.sine(position, 1), "-0.660191788168797785652748770242", 2);
        requireUlps(frequencies.cosine(position, 1), "0.751097066186844609572432069619", 2);
    }

    /**
     * mpmath, 60 digits, of 2624.3688406067654 · 10000^(-187/256), whose position is the double nearest to π divided by
     * the frequency. The relative error is thousands of ulps there.
     */
    @Test
    void sineIsNearTheTrueOneWhereThatIsAlmostZero() {
        Frequencies frequencies = Frequencies.geometric(188, 10_000, 256);
        double position = 2624.3688406067654;
        assertThat(frequencies.sine(position, 187)).isCloseTo(9.218727486302689e-20, within(0x1p-76));
        assertThat(frequencies.cosine(position, 187)).isEqualTo(-1);
    }

    @Test
    void customFrequenciesAreThoseThatAreGiven() {
        Frequencies frequencies = Frequencies.of(0, 1e-310, 1e300, -2);
        assertThat(frequencies.size()).isEqualTo(4);
        assertThat(frequencies.get(1)).isEqualTo(1e-310);
        assertThat(frequencies.get(2)).isEqualTo(1e300);
        assertThat(frequencies.get(3)).isEqualTo(-2);
    }

    /** ⌊0.3 · 16⌋ = 4 of 16 pairs rotate. */
    @Test
    void proportionalFrequenciesAfterTheShareAreZero() {
        Frequencies frequencies = Frequencies.proportional(32, 0.3, 10_000, 1);
        assertThat(frequencies.size()).isEqualTo(16);
        assertThat(frequencies.get(3)).isCloseTo(Math.pow(10_000, -6 / 32.0), within(1e-15));
        assertThat(frequencies.get(4)).isZero();
        assertThat(frequencies.get(15)).isZero();
    }

    @Test
    void joinedFrequenciesFollowEachOtherWithAllDigits() {
        Frequencies three = Frequencies.geometric(3, 10_000, 3);
        Frequencies two = Frequencies.of(0.5, 2).scaledBy(0.1);
        Frequencies joined = Frequencies.joined(three, Frequencies.joined(two, three));
        assertThat(joined.size()).isEqualTo(8);
        List<DoubleDouble> parts = List.of(
                three.exactly(0),
                three.exactly(1),
                three.exactly(2),
                two.exactly(0),
                two.exactly(1),
                three.exactly(0),
                three.exactly(1),
                three.exactly(2));
        for (int pair = 0; pair < 8; pair++) {
            assertThat(joined.exactly(pair)).as("pair %s", pair).isEqualTo(parts.get(pair));
        }
    }

    @Test
    void aFactorScalesEachPartOfJoinedFrequencies() {
        Frequencies three = Frequencies.geometric(3, 10_000, 3);
        Frequencies two = Frequencies.of(0.5, 2);
        assertThat(Frequencies.joined(three, two).scaledBy(0.1))
                .isEqualTo(Frequencies.joined(three.scaledBy(0.1), two.scaledBy(0.1)));
    }

    @Test
    void aFrequencyOfZeroRemainsZero() {
        assertThat(Frequencies.of(0).scaledBy(1e300).get(0)).isZero();
    }

    @Test
    void describesEachSettingAndShortensLongLists() {
        assertThat(Frequencies.of(1, 0.5).scaledBy(3).scaledBy(0.25))
                .hasToString("Scaled(frequencies="
                        + "Scaled(frequencies=Custom(values=[1.0, 0.5]), factor=3.0), factor=0.25)");
        assertThat(Frequencies.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))
                .hasToString("Custom(values=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, … 10 values])");
    }

    @Test
    @Tag("slow")
    void hasUpToAMillionPairs() {
        assertThat(Frequencies.geometric(MAX_COUNT, 10, MAX_COUNT).size()).isEqualTo(MAX_COUNT);
        assertThat(Frequencies.proportional(2 * MAX_COUNT, 1, 10, 1).size()).isEqualTo(MAX_COUNT);
        assertThat(sixteenTimes(Frequencies.of(new double[MAX_COUNT / 16])).size())
                .isEqualTo(MAX_COUNT);
    }

    private static Frequencies sixteenTimes(Frequencies frequencies) {
        return Frequencies.joined(Collections.nCopies(16, frequencies).toArray(Frequencies[]::new));
    }

    @Test
    void rejectsNumbersOfPairsOutOfRange() {
        Frequencies part = Frequencies.of(new double[65_537]);
        assertAll(
                rejected(() -> Frequencies.timescales(-1, 1, 10), "frequency count", -1, MAX_COUNT),
                rejected(() -> Frequencies.timescales(MAX_COUNT + 1, 1, 10), "frequency count", MAX_COUNT + 1),
                rejected(() -> Frequencies.geometric(-1, 10, 1), "frequency count", -1, MAX_COUNT),
                rejected(() -> sixteenTimes(part), "frequency count", MAX_COUNT + 1, MAX_COUNT));
    }

    /** A file cannot make the library allocate memory. */
    @ParameterizedTest
    @ValueSource(ints = {1 << 22, Integer.MAX_VALUE})
    void rejectsALargeNumberOfPairsInAMap(int count) {
        Map<String, Object> arguments = Map.of("type", "Geometric", "count", count, "base", 10_000, "period", 3);
        assertAll(rejected(() -> Frequencies.fromArguments(arguments), count, MAX_COUNT));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void rejectsSettingsThatAreNotPositiveAndFinite(double value) {
        assertAll(
                rejected(() -> Frequencies.geometric(2, value, 4), "base", value),
                rejected(() -> Frequencies.geometric(2, 10_000, value), "period", value),
                rejected(() -> Frequencies.timescales(2, value, 10_000), "minTimescale", value),
                rejected(() -> Frequencies.timescales(2, 1, value), "maxTimescale", value),
                rejected(() -> Frequencies.proportional(8, 0.5, value, 1), "base", value),
                rejected(() -> Frequencies.proportional(8, 0.5, 10, value), "factor", value));
    }

    @Test
    void rejectsHeadSizesAndSharesOfProportionalFrequenciesOutOfRange() {
        assertAll(
                rejected(() -> Frequencies.proportional(0, 0.5, 10, 1), "headSize 0", 2, 2 * MAX_COUNT),
                rejected(() -> Frequencies.proportional(2 * MAX_COUNT + 2, 0.5, 10, 1), "headSize", 2 * MAX_COUNT + 2),
                rejected(() -> Frequencies.proportional(7, 0.5, 10, 1), "headSize 7"),
                rejected(() -> Frequencies.proportional(8, 1.5, 10, 1), "share", 1.5),
                rejected(() -> Frequencies.proportional(8, -0.1, 10, 1), "share", -0.1),
                rejected(() -> Frequencies.proportional(8, Double.NaN, 10, 1), "share", Double.NaN));
    }

    @Test
    void rejectsCustomFrequenciesThatAreNotFinite() {
        assertAll(
                rejected(() -> Frequencies.of(1, Double.NaN), "pair 1", Double.NaN),
                rejected(() -> Frequencies.of(Double.NEGATIVE_INFINITY), "pair 0", "-Infinity"));
    }

    @Test
    void rejectsFactorsThatAreZeroOrNotFinite() {
        Frequencies one = Frequencies.of(1);
        assertAll(
                rejected(() -> one.scaledBy(0), "factor", 0.0),
                rejected(() -> one.scaledBy(Double.NaN), "factor", Double.NaN),
                rejected(() -> one.scaledBy(Double.POSITIVE_INFINITY), "factor", "Infinity"));
    }

    /** The low part of such a frequency would not be a normal double. */
    @Test
    void rejectsFrequenciesOutOfRange() {
        assertAll(
                rejected(() -> Frequencies.of(1).scaledBy(1e270), "pair 0", 1e270),
                rejected(() -> Frequencies.of(1).scaledBy(1e-270), "pair 0", 1e-270),
                rejected(() -> Frequencies.geometric(1000, 1e300, 4), "pair 4", "1.0E300", 1e-270),
                rejected(() -> Frequencies.timescales(1, 1e-320, 1e-320), "pair 0", 1e-320));
    }

    /** The ratio of two timescales, and the reciprocal of a subnormal base. */
    @Test
    void rejectsSettingsThatOverflow() {
        assertAll(
                rejected(() -> Frequencies.timescales(2, 1e-200, 1e200), "pair 0", Double.NaN),
                rejected(() -> Frequencies.timescales(2, 1e200, 1e-50), "pair", 1e200),
                rejected(() -> Frequencies.geometric(2, 1e-310, 1), "pair", 1e-310));
    }

    @Test
    void rejectsAnUnknownType() {
        assertAll(rejected(() -> Frequencies.fromArguments(Map.of("type", "cubic")), "type", "cubic", "Geometric"));
    }
}
