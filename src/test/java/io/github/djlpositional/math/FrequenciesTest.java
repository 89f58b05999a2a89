package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Frequencies of sinusoids, and of rotations by the ways to scale them. */
class FrequenciesTest {

    @Test
    void givenOnesAreTakenAsTheyAre() {
        Frequencies frequencies = Frequencies.of(0.1, 3);
        assertThat(frequencies.size()).isEqualTo(2);
        assertThat(frequencies.get(0)).isEqualTo(0.1);
        assertThat(Frequencies.of(0, 1e-310, 1e300).get(1)).isEqualTo(1e-310);
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
        // mpmath, 60 digits: sin and cos of 2624.3688406067654 · 10000^(-187/256), whose position is the double nearest
        // to π divided by it; the relative error is thousands of ulps there
        Frequencies frequencies = Frequencies.geometric(188, 10_000, 256);
        double position = 2624.3688406067654;
        assertThat(frequencies.sine(position, 187)).isCloseTo(9.218727486302689e-20, within(0x1p-76));
        assertThat(frequencies.cosine(position, 187)).isEqualTo(-1);
    }

    @Test
    void aFactorOfOneChangesNothing() {
        Frequencies plain = RotaryScaling.none().frequencies(64, 10_000);
        assertThat(RotaryScaling.linear(1).frequencies(64, 10_000)).isEqualTo(plain);
        assertThat(RotaryScaling.llama3(1, 1, 4, 100).frequencies(64, 10_000).get(20))
                .isCloseTo(plain.get(20), within(1e-17));
        assertThat(RotaryScaling.yarn(1, 100).attentionFactor()).isEqualTo(1);
    }

    @Test
    void optionalArgumentsOfYarnDefaultToThePaper() {
        Map<String, Object> arguments = new LinkedHashMap<>(Map.of("type", "Yarn", "factor", 4, "originalLength", 100));
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
    void dynamicNtkIsUnscaledUpToTheOriginalLength() {
        Frequencies plain = RotaryScaling.none().frequencies(8, 10_000);
        for (int length : new int[] {1, 15, 16}) {
            assertThat(RotaryScaling.dynamicNtk(2, 16, length).frequencies(8, 10_000))
                    .isEqualTo(plain);
        }
        // the base becomes base · (s · l / L - (s - 1))^(r / (r - 2)) = 10000 · (2 · 24 / 16 - 1)^(8 / 6)
        double expected = Math.pow(10_000 * Math.pow(2, 8 / 6.0), -6 / 8.0);
        Frequencies scaled = RotaryScaling.dynamicNtk(2, 16, 24).frequencies(8, 10_000);
        assertThat(scaled.size()).isEqualTo(4);
        // a few roundings of double
        assertThat(scaled.get(3)).isCloseTo(expected, within(1e-14 * expected));
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

    @Test
    void pairsBeyondTheShareOfAProportionalOneAreZero() {
        Frequencies frequencies = Frequencies.proportional(32, 0.3, 10_000, 1);
        assertThat(frequencies.size()).isEqualTo(16);
        // ⌊0.3 · 32 / 2⌋ = 4
        for (int pair = 0; pair < 16; pair++) {
            assertThat(frequencies.get(pair) == 0).as("pair %d", pair).isEqualTo(pair >= 4);
        }
    }

    @Test
    void joinedOnesFollowEachOther() {
        Frequencies a = Frequencies.geometric(3, 10_000, 3);
        Frequencies b = Frequencies.of(0.5, 2).scaledBy(3);
        Frequencies joined = Frequencies.joined(a, Frequencies.joined(b, a));
        assertThat(joined.size()).isEqualTo(8);
        for (int pair = 0; pair < 8; pair++) {
            Frequencies part = pair == 3 || pair == 4 ? b : a;
            assertThat(joined.exactly(pair)).isEqualTo(part.exactly(pair < 5 ? pair % 3 : pair - 5));
        }
        assertThat(joined.scaledBy(2)).isEqualTo(Frequencies.joined(a.scaledBy(2), b.scaledBy(2), a.scaledBy(2)));
        for (Frequencies each : new Frequencies[] {joined, joined.scaledBy(2)}) {
            assertThat(Frequencies.fromArguments(each.getArguments())).isEqualTo(each);
        }
    }

    @Test
    void deepSeeksSoftmaxScaleIsTheSquareOfTheMagnitude() {
        // the scale of DeepSeek V2's attention, 192 dimensions, factor 40, mscale_all_dim 1: 0.13523378
        double magnitude = RotaryScaling.yarnMagnitude(40, 1);
        assertThat(magnitude * magnitude / Math.sqrt(192)).isCloseTo(0.13523378, within(5e-9));
        assertThat(RotaryScaling.yarnMagnitude(1, 0.7)).isEqualTo(1);
        assertThat(RotaryScaling.yarnMagnitude(0.5, 1)).isEqualTo(1);
        assertThat(RotaryScaling.yarnMagnitude(40, 0)).isEqualTo(1);
    }
}
