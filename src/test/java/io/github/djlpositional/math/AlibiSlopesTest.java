package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import org.junit.jupiter.api.Test;

class AlibiSlopesTest {

    @Test
    void areThePublishedOnes() {
        // reference: goldens/alibi_slopes.csv, with 50-digit arithmetic; head counts that are no power of two included
        for (String[] row : Goldens.rows("alibi_slopes.csv")) {
            double slope = AlibiSlopes.of(Integer.parseInt(row[0])).get(Integer.parseInt(row[1]));
            assertThat(Goldens.doubleUlps(slope, new BigDecimal(row[2])))
                    .as("%s heads, %s", row[0], row[1])
                    .isLessThanOrEqualTo(0.51);
        }
    }

    @Test
    void biasIsTheNearestDoubleAtAnyDistance() {
        // mpmath, 40 digits: -2^(-1/2) · 12345677, a distance at which the slope's own rounding shows
        AlibiSlopes slopes = AlibiSlopes.of(16);
        BigDecimal expected = new BigDecimal("-8729711.925038792481402443021817506");
        assertThat(Goldens.doubleUlps(slopes.bias(0, 12_345_677), expected)).isLessThanOrEqualTo(0.51);
        assertThat(slopes.bias(0, -12_345_677)).isEqualTo(slopes.bias(0, 12_345_677));
    }
}
