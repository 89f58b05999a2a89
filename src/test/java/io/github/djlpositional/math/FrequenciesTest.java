package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

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
            BigDecimal actual = new BigDecimal(frequencies.get(pair)).add(new BigDecimal(frequencies.rest(pair)));
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
    void refuseWhatIsNoFrequency() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Frequencies.of(1, Double.NaN))
                .withMessageContaining("frequency NaN of pair 1");
        assertThatIllegalArgumentException().isThrownBy(() -> Frequencies.geometric(-1, 10_000, 4));
        assertThatIllegalArgumentException().isThrownBy(() -> Frequencies.geometric(4, 10_000, 0));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Frequencies.geometric(1000, 1e300, 4))
                .withMessageContaining("choose a smaller base");
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
