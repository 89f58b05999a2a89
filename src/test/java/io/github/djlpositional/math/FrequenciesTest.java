package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import org.junit.jupiter.api.Test;

/** Frequencies of sinusoids, and of rotations by the ways to scale them. */
class FrequenciesTest {

    @Test
    void sineIsRightAtTheLargestIntegerOfADouble() {
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
        // mpmath, 60 digits: sin and cos of 2624.3688406067654 · 10000^(-187/256), whose position is the double nearest
        // to π divided by it; the relative error is thousands of ulps there
        Frequencies frequencies = Frequencies.geometric(188, 10_000, 256);
        double position = 2624.3688406067654;
        assertThat(frequencies.sine(position, 187)).isCloseTo(9.218727486302689e-20, within(0x1p-76));
        assertThat(frequencies.cosine(position, 187)).isEqualTo(-1);
    }

    @Test
    void yarnsRampEndsAtTheLastDimension() {
        // over 1e6 positions, pair log(1e6 / 2π) / (2 log 10) · 8 = 20.8 makes one turn: beyond the last dimension, 7;
        // and pair 0.8, which is rounded down to 0, a hundred thousand
        Frequencies scaled =
                RotaryScaling.yarn(2, 1_000_000, 100_000, 1, true, 1).frequencies(8, 10);
        for (int pair = 0; pair < 4; pair++) {
            double ramp = pair / 7.0;
            double expected = Math.pow(10, -pair / 4.0) * (1 - ramp + ramp / 2);
            // a few roundings of double
            assertThat(scaled.get(pair)).isCloseTo(expected, within(1e-14));
        }
    }
}
