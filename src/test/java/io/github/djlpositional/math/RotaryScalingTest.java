package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RotaryScalingTest {

    private static final double[] SHORT =
            IntStream.range(0, 8).mapToDouble(k -> 1 + k / 4.0).toArray();
    private static final double[] LONG =
            IntStream.range(0, 8).mapToDouble(k -> 1 + 3 * k / 4.0).toArray();

    @Test
    void frequenciesAreThePublishedFormulas() {
        // reference: goldens/rotary_frequencies.csv, with 50-digit arithmetic straight from the papers
        for (String[] row : Goldens.rows("rotary_frequencies.csv")) {
            double[] p = numbers(row[1]);
            RotaryScaling scaling = switch (row[0]) {
                case "default" -> RotaryScaling.none();
                case "linear" -> RotaryScaling.linear(p[2]);
                case "dynamic" -> RotaryScaling.dynamicNtk(p[2], (int) p[3]);
                case "yarn" -> RotaryScaling.yarn(p[2], (int) p[3]);
                case "llama3" -> RotaryScaling.llama3(p[2], p[3], p[4], (int) p[5]);
                default -> throw new AssertionError(row[0]);
            };
            long length = row[0].equals("dynamic") ? (long) p[4] : 1;
            // the file has 20 digits
            requireSame(scaling.frequencies((int) p[0], p[1], length), scaling, row, 1e-19);
        }
    }

    @Test
    void frequenciesOfOtherSettingsAreThePublishedFormulas() {
        // reference: goldens/rotary_scalings.csv, written by src/test/python/reference_values.py with mpmath
        for (String[] row : Goldens.rows("rotary_scalings.csv")) {
            double[] p = numbers(row[1]);
            RotaryScaling scaling = switch (row[0]) {
                case "yarn_untruncated" ->
                    RotaryScaling.yarn(p[2], (int) p[3], p[4], p[5], false, 0.1 * StrictMath.log(p[2]) + 1);
                case "llama3" -> RotaryScaling.llama3(p[2], p[3], p[4], (int) p[5]);
                case "longrope" -> RotaryScaling.longRope(SHORT, LONG, (int) p[2], (int) p[3]);
                default -> throw new AssertionError(row[0]);
            };
            long length = row[0].equals("longrope") ? (long) p[4] : 1;
            requireSame(scaling.frequencies((int) p[0], p[1], length), scaling, row, 0x1p-90);
        }
    }

    private static double[] numbers(String parameters) {
        return Arrays.stream(parameters.split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }

    private static void requireSame(Frequencies frequencies, RotaryScaling scaling, String[] row, double tolerance) {
        int pair = Integer.parseInt(row[2]);
        BigDecimal expected = new BigDecimal(row[3]);
        BigDecimal actual = new BigDecimal(frequencies.get(pair))
                .add(new BigDecimal(frequencies.exactly(pair).low()));
        double relativeError = actual.subtract(expected)
                .divide(expected, MathContext.DECIMAL64)
                .doubleValue();
        assertThat(Math.abs(relativeError))
                .as("%s %s %s", row[0], row[1], row[2])
                .isLessThan(tolerance);
        assertThat(scaling.attentionFactor()).isCloseTo(Double.parseDouble(row[4]), within(1e-15));
    }

    @Test
    void onlyDynamicOnesDependOnTheLength() {
        RotaryScaling dynamic = RotaryScaling.dynamicNtk(2, 100);
        assertThat(dynamic.dependsOnLength()).isTrue();
        assertThat(dynamic.lengthThreshold()).isEqualTo(100);
        assertThat(dynamic.frequencies(16, 10_000, 100)).isEqualTo(dynamic.frequencies(16, 10_000, 1));
        assertThat(dynamic.frequencies(16, 10_000, 101)).isNotEqualTo(dynamic.frequencies(16, 10_000, 100));
        assertThat(RotaryScaling.longRope(SHORT, LONG, 100, 200).dependsOnLength())
                .isTrue();
        RotaryScaling yarn = RotaryScaling.yarn(4, 100);
        assertThat(yarn.dependsOnLength()).isFalse();
        assertThat(yarn.lengthThreshold()).isEqualTo(Integer.MAX_VALUE);
        assertThat(yarn.frequencies(16, 10_000, 1)).isEqualTo(yarn.frequencies(16, 10_000, 1_000_000));
    }

    @Test
    void aFactorOfOneChangesNothing() {
        Frequencies plain = RotaryScaling.none().frequencies(64, 10_000, 0);
        assertThat(RotaryScaling.linear(1).frequencies(64, 10_000, 0)).isEqualTo(plain);
        assertThat(RotaryScaling.llama3(1, 1, 4, 100).frequencies(64, 10_000, 0).get(20))
                .isCloseTo(plain.get(20), within(1e-17));
        assertThat(RotaryScaling.yarn(1, 100).attentionFactor()).isEqualTo(1);
    }

    @Test
    void isEqualToAnotherWithTheSameArguments() {
        assertThat(RotaryScaling.longRope(SHORT, LONG, 100, 200))
                .isEqualTo(RotaryScaling.longRope(SHORT.clone(), LONG.clone(), 100, 200))
                .hasSameHashCodeAs(RotaryScaling.longRope(SHORT.clone(), LONG.clone(), 100, 200));
        double[] others = SHORT.clone();
        others[7] = Math.nextUp(others[7]);
        assertThat(RotaryScaling.longRope(others, LONG, 100, 200))
                .isNotEqualTo(RotaryScaling.longRope(SHORT, LONG, 100, 200));
    }

    @Test
    void optionalArgumentsOfYarnDefaultToThePaper() {
        Map<String, Object> arguments = new LinkedHashMap<>(Map.of("kind", "yarn", "factor", 4, "originalLength", 100));
        assertThat(RotaryScaling.fromArguments(arguments)).isEqualTo(RotaryScaling.yarn(4, 100));
        double factorOfThePaper = RotaryScaling.yarn(4, 100).attentionFactor();
        arguments.put("betaSlow", 2);
        assertThat(RotaryScaling.fromArguments(arguments))
                .isEqualTo(RotaryScaling.yarn(4, 100, 32, 2, true, factorOfThePaper));
        arguments.put("betaFast", 16);
        arguments.put("truncate", false);
        arguments.put("attentionScale", 1);
        assertThat(RotaryScaling.fromArguments(arguments)).isEqualTo(RotaryScaling.yarn(4, 100, 16, 2, false, 1));
    }

    @Test
    void frequenciesDescribeTheirScaling() {
        assertThat(RotaryScaling.dynamicNtk(2, 2048).frequencies(64, 10_000, 4096))
                .hasToString("rotary(rotarySize=64, base=10000.0, length=4096,"
                        + " scaling=dynamicNtk(factor=2.0, originalLength=2048))");
    }
}
