package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.requireUlps;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.support.Goldens;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The slopes of ALiBi: of the paper, of MPT and of OLMo. */
class AlibiSlopesTest {

    /** The rule of the paper and of its code in 60-digit arithmetic, with head counts that are no power of two. */
    @Test
    void publishedSlopesAreTheNearestDoubles() {
        for (String[] row : Goldens.rows("alibi_slopes.csv")) {
            AlibiSlopes slopes = AlibiSlopes.of(Integer.parseInt(row[0]));
            requireUlps(slopes.get(Integer.parseInt(row[1])), row[2], 0.51, row);
        }
    }

    /** MPT's gen_slopes with alibi_bias_max 16: of 12 heads, 2^-m for m = 2, 4, …, 16, then m = 1, 3, 5, 7. */
    @ParameterizedTest
    @CsvSource({"0, 2", "1, 4", "7, 16", "8, 1", "9, 3", "11, 7"})
    void theMaximumIsTheLargestExponent(int head, int exponent) {
        assertThat(AlibiSlopes.of(12, 16).get(head)).isEqualTo(Math.scalb(1.0, -exponent));
    }

    /** OLMo's alibi_attention_bias: 2^(-8 h / 12) for h from 1, computed with 20 digits of bc. */
    @ParameterizedTest
    @CsvSource({"0, 0.6299605249474366", "1, 0.3968502629920499", "11, 0.00390625"})
    void geometricSlopesFollowOneFormulaForEveryNumberOfHeads(int head, double slope) {
        assertThat(AlibiSlopes.geometric(12, 8).get(head)).isEqualTo(slope);
    }

    @Test
    void aBiasIsTheSlopeTimesTheDistanceInEitherDirection() {
        AlibiSlopes slopes = AlibiSlopes.custom(0, 0.3);
        assertThat(slopes.bias(1, -5)).isEqualTo(-1.5);
        assertThat(slopes.bias(1, 5)).isEqualTo(-1.5);
        assertThat(slopes.bias(0, 5)).isZero();
    }

    /** mpmath, 40 digits: -2^(-1/2) · 12345677, a distance at which the rounding of the slope would show. */
    @Test
    void aBiasIsRoundedOnce() {
        requireUlps(AlibiSlopes.of(16).bias(0, 12_345_677), "-8729711.925038792481402443021817506", 0.51);
    }

    @Test
    void hasOneSlopeForEachHead() {
        assertThat(AlibiSlopes.of(1).heads()).isEqualTo(1);
        assertThat(AlibiSlopes.custom(0.5, 0, 2).heads()).isEqualTo(3);
    }

    @Test
    @Tag("slow")
    void hasUpTo65536Heads() {
        assertThat(AlibiSlopes.of(65_536).heads()).isEqualTo(65_536);
    }

    @Test
    void rejectsOtherNumbersOfHeads() {
        assertAll(
                rejected(() -> AlibiSlopes.of(0), "head count 0", 65_536),
                rejected(() -> AlibiSlopes.of(65_537), "head count", 65_537, 65_536),
                rejected(() -> AlibiSlopes.geometric(65_537, 8), "head count", 65_537, 65_536),
                rejected(AlibiSlopes::custom, "head count 0", 65_536));
    }

    @Test
    void rejectsSlopesAndMaximaOutOfRange() {
        assertAll(
                rejected(() -> AlibiSlopes.of(8, 0), "maximum", 0.0),
                rejected(() -> AlibiSlopes.geometric(8, Double.NaN), "maximum", Double.NaN),
                rejected(() -> AlibiSlopes.custom(1, Double.NaN), "head 1", Double.NaN),
                rejected(() -> AlibiSlopes.custom(-0.5, 1), "head 0", -0.5));
    }
}
