package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.math.MathContext;
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
    void givenOnesMayHaveAnySize() {
        assertThat(Frequencies.of(0, 1e-310, 1e300).get(1)).isEqualTo(1e-310);
    }

    @Test
    void canBeScaledSixteenTimes() {
        Frequencies scaled = Frequencies.geometric(2, 10, 2);
        for (int i = 0; i < 16; i++) {
            scaled = scaled.scaledBy(2);
        }
        assertThat(Frequencies.fromArguments(scaled.getArguments())).isEqualTo(scaled);
    }

    @Test
    void equalOthersOfTheSameValues() {
        assertThat(Frequencies.geometric(4, 10_000, 4))
                .isEqualTo(Frequencies.geometric(4, 10_000, 4))
                .hasSameHashCodeAs(Frequencies.geometric(4, 10_000, 4))
                .isNotEqualTo(Frequencies.geometric(4, 10_000, 5))
                .isNotEqualTo(Frequencies.of(1, 0.1, 0.01, 0.001));
    }
}
