package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
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
    void tellsWhatItIs() {
        assertThat(RotaryScaling.linear(2.5)).hasToString("linear(2.5)").isEqualTo(RotaryScaling.linear(2.5));
        assertThat(RotaryScaling.linear(2.5)).isNotEqualTo(RotaryScaling.linear(2));
        assertThat(RotaryScaling.dynamicNtk(2, 2048)).hasToString("dynamicNtk(2, originalLength=2048)");
        assertThat(RotaryScaling.longRope(SHORT, LONG, 100, 200))
                .hasToString("longRope(short=[1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75],"
                        + " long=[1, 1.75, 2.5, 3.25, 4, 4.75, 5.5, 6.25], originalLength=100, maxLength=200)");
        assertThat(RotaryScaling.dynamicNtk(2, 2048).frequencies(64, 10_000, 4096))
                .hasToString("rotary(size=64, base=10000, dynamicNtk(2, originalLength=2048), length=4096)");
    }

    @Test
    void areToldApartWhereTheirTextIsTheSame() {
        // Java's hash of a list is 31 times that of what is before, and its next number: one more there is 31 more here
        double[] factors = new double[16];
        Arrays.fill(factors, 1.5);
        double[] others = factors.clone();
        factors[6] = ofBits(1.5, 31);
        others[5] = ofBits(1.5, 1);
        RotaryScaling one = RotaryScaling.longRope(factors, factors, 100, 200);
        RotaryScaling other = RotaryScaling.longRope(others, factors, 100, 200);
        assertThat(other).hasToString(one.toString()).isNotEqualTo(one);
        assertThat(RotaryScaling.longRope(factors.clone(), factors, 100, 200))
                .isEqualTo(one)
                .hasSameHashCodeAs(one);
    }

    private static double ofBits(double value, int more) {
        return Double.longBitsToDouble(Double.doubleToLongBits(value) + more);
    }

    @Test
    void ofYarnAllArgumentsAreGivenOrNone() {
        Map<String, Object> arguments = new LinkedHashMap<>(Map.of("kind", "yarn", "factor", 4, "originalLength", 100));
        assertThat(RotaryScaling.fromArguments(arguments)).isEqualTo(RotaryScaling.yarn(4, 100));
        arguments.put("betaSlow", 2);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RotaryScaling.fromArguments(arguments))
                .withMessageStartingWith("argument 'betaFast' of RotaryScaling is missing");
        arguments.put("betaFast", 16);
        arguments.put("truncate", false);
        arguments.put("attentionFactor", 1);
        assertThat(RotaryScaling.fromArguments(arguments)).isEqualTo(RotaryScaling.yarn(4, 100, 16, 2, false, 1));
    }

    @Test
    void refusesImpossibleParameters() {
        refuses(() -> RotaryScaling.linear(0.5), "scaling factor 0.5 is outside its range");
        refuses(() -> RotaryScaling.linear(Double.NaN), "scaling factor NaN");
        refuses(() -> RotaryScaling.dynamicNtk(2, 0), "original length 0 is not positive");
        refuses(() -> RotaryScaling.dynamicNtk(2, 10).frequencies(2, 10_000, 0), "rotary size 2 has one pair");
        refuses(() -> RotaryScaling.yarn(Double.POSITIVE_INFINITY, 10), "scaling factor Infinity");
        refuses(() -> RotaryScaling.yarn(2, 10, 1, 32, true, 1), "betas 1.0 and 32.0");
        refuses(() -> RotaryScaling.yarn(2, 10, 32, 1, true, 0), "attention factor 0.0");
        refuses(() -> RotaryScaling.llama3(8, 4, 1, 8192), "frequency factors 4.0 and 1.0");
        refuses(() -> RotaryScaling.longRope(SHORT, new double[3], 100, 200), "8 short and 3 long factors");
        refuses(() -> RotaryScaling.longRope(SHORT, new double[8], 100, 200), "LongRoPE factor 0.0");
        refuses(() -> RotaryScaling.longRope(SHORT, LONG, 200, 100), "original length 200 and maximum length 100");
        refuses(() -> RotaryScaling.longRope(SHORT, LONG, 100, 200).frequencies(64, 10_000, 1), "8 LongRoPE factors");
        refuses(() -> RotaryScaling.none().frequencies(7, 10_000, 0), "rotary size 7 has no whole pairs");
        refuses(() -> RotaryScaling.none().frequencies(8, 10_000, -1), "length -1 is negative");
        refuses(() -> RotaryScaling.none().frequencies(8, 1, 0), "base 1.0 is outside its range");
    }

    private static void refuses(ThrowingCallable call, String message) {
        assertThatIllegalArgumentException().isThrownBy(call).withMessageStartingWith(message);
    }
}
