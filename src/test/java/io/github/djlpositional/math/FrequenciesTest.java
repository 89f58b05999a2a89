package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.math.MathContext;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class FrequenciesTest {

    @Test
    void areRightToAlmostTwoDoubles() {
        // reference: goldens/frequencies.csv, written by src/test/python/reference_values.py with mpmath
        for (String[] row : Goldens.rows("frequencies.csv")) {
            String[] parameters = row[1].split(" ", -1);
            int pair = Integer.parseInt(row[2]);
            Frequencies frequencies = row[0].equals("vaswani")
                    ? Frequencies.geometric(
                            pair + 1, Double.parseDouble(parameters[0]), Double.parseDouble(parameters[1]) / 2)
                    : Frequencies.timescales(
                            Integer.parseInt(parameters[0]),
                            Double.parseDouble(parameters[1]),
                            Double.parseDouble(parameters[2]));
            BigDecimal expected = new BigDecimal(row[3]);
            BigDecimal actual = new BigDecimal(frequencies.get(pair))
                    .add(new BigDecimal(frequencies.exactly(pair).low()));
            double relativeError = actual.subtract(expected)
                    .divide(expected, MathContext.DECIMAL64)
                    .doubleValue();
            assertThat(Math.abs(relativeError)).as("%s %s %s", (Object[]) row).isLessThan(0x1p-96);
        }
    }

    @Test
    void givenOnesAreTakenAsTheyAre() {
        Frequencies frequencies = Frequencies.of(0.1, 3);
        assertThat(frequencies.size()).isEqualTo(2);
        assertThat(frequencies.get(0)).isEqualTo(0.1);
        assertThat(frequencies.sine(2, 1)).isEqualTo(StrictMath.sin(6));
        assertThat(frequencies.cosine(2, 1)).isEqualTo(StrictMath.cos(6));
    }

    @Test
    void sineIsRightAtTheGreatestIntegerOfADouble() {
        // mpmath, 60 digits: sin and cos of (2^53 - 1) · 10000^(-1/8), an angle whose double is off by more than 0.1
        Frequencies frequencies = Frequencies.geometric(2, 10_000, 8);
        double position = 0x1p53 - 1;
        assertThat(Goldens.doubleUlps(
                        frequencies.sine(position, 1), new BigDecimal("-0.660191788168797785652748770242")))
                .isLessThan(2);
        assertThat(Goldens.doubleUlps(
                        frequencies.cosine(position, 1), new BigDecimal("0.751097066186844609572432069619")))
                .isLessThan(2);
    }

    @Test
    void sineIsNearTheTrueOneWhereThatIsAlmostZero() {
        // mpmath, 60 digits: sin and cos of 2624.3688406067654 · 10000^(-187/256), the double that is nearest to π /
        // it; the
        // relative error is thousands of ulps there
        Frequencies frequencies = Frequencies.geometric(188, 10_000, 256);
        double position = 2624.3688406067654;
        assertThat(frequencies.sine(position, 187)).isCloseTo(9.218727486302689e-20, within(0x1p-76));
        assertThat(frequencies.cosine(position, 187)).isEqualTo(-1);
    }

    @Test
    void refuseWhatIsNoFrequency() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Frequencies.of(1, Double.NaN))
                .withMessageContaining("frequency NaN of pair 1");
        assertThatIllegalArgumentException().isThrownBy(() -> Frequencies.geometric(-1, 10_000, 4));
        assertThatIllegalArgumentException().isThrownBy(() -> Frequencies.geometric(4, 10_000, 0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Frequencies.geometric(1000, 1e300, 4))
                .withMessageContaining("choose a base or timescales nearer to 1, or fewer pairs");
    }

    @Test
    void refuseWhatDoublesCannotCompute() {
        for (ThrowingCallable call : new ThrowingCallable[] {
            // what overflows: the ratio, the reciprocal of a base that is no normal number, the growth of the base
            () -> SinusoidalEncoding.tensor2tensor(4, 1e-200, 1e200),
            () -> Frequencies.geometric(2, 1e-310, 1),
            () -> RotaryScaling.dynamicNtk(1e308, 1).frequencies(4, 10, 1_000_000_000)
        }) {
            assertThatIllegalArgumentException()
                    .isThrownBy(call)
                    .withMessageContaining("only e^-600 to e^600 can be computed");
        }
        for (ThrowingCallable call : new ThrowingCallable[] {
            () -> Frequencies.timescales(2, 1e200, 1e-50),
            () -> Frequencies.timescales(1, 1e-320, 1e-320),
            () -> RotaryScaling.linear(1e308).frequencies(4, 10_000, 0),
            () -> RotaryScaling.linear(Double.MAX_VALUE).frequencies(64, 1e250, 0),
            () -> RotaryScaling.longRope(new double[] {1e-320}, new double[] {1}, 2, 4)
                    .frequencies(2, 10, 1)
        }) {
            assertThatIllegalArgumentException()
                    .isThrownBy(call)
                    .withMessageContaining("cannot be kept exactly: allowed are 1.0E-270 to 1.0E270")
                    .withMessageEndingWith("; choose a base, timescales or factors nearer to 1");
        }
    }

    @Test
    void givenOnesMayBeOfAnySize() {
        assertThat(Frequencies.of(0, 1e-310, 1e300).get(1)).isEqualTo(1e-310);
    }

    @Test
    void areScaledAsOftenAsTheirArgumentsAllow() {
        Frequencies scaled = Frequencies.geometric(2, 10, 2);
        for (int i = 0; i < 16; i++) {
            scaled = scaled.scaledBy(2);
        }
        assertThat(Frequencies.fromArguments(scaled.getArguments())).isEqualTo(scaled);
        Frequencies often = scaled;
        assertThatIllegalArgumentException()
                .isThrownBy(() -> often.scaledBy(3))
                .withMessage("scale 3.0 comes after 16 others: allowed is to scale 16 times; multiply the factors and"
                        + " scale by their product");
    }

    @Test
    void refuseAScaleThatLeavesNoFrequency() {
        for (double factor : new double[] {0, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Frequencies.of(1).scaledBy(factor))
                    .withMessageContaining("is no factor of a frequency");
        }
        for (double factor : new double[] {1e-300, 1e300}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Frequencies.of(1).scaledBy(factor))
                    .withMessageContaining("give a factor nearer to 1");
        }
    }

    @Test
    void equalOthersOfTheSameValues() {
        assertThat(Frequencies.geometric(4, 10_000, 4))
                .isEqualTo(Frequencies.geometric(4, 10_000, 4))
                .hasSameHashCodeAs(Frequencies.geometric(4, 10_000, 4))
                .isNotEqualTo(Frequencies.geometric(4, 10_000, 5))
                .isNotEqualTo(Frequencies.of(1, 0.1, 0.01, 0.001));
    }

    @Test
    void printHowTheyWereMade() {
        assertThat(Frequencies.of(1, 0.5)).hasToString("of(1, 0.5)");
        assertThat(Frequencies.of(new double[9])).asString().startsWith("of(9 values from 0 to 0, hash ");
    }
}
