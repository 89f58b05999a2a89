package io.github.djlpositional.math;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.support.Goldens;
import java.math.BigInteger;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The buckets of T5. */
class RelativeBucketsTest {

    private static final RelativeBuckets T5_ENCODER = RelativeBuckets.of(true, 32, 128);

    @Test
    void bucketsAreThoseOfThePublishedCode() {
        for (String[] row : Goldens.rows("t5_buckets.csv")) {
            RelativeBuckets buckets = RelativeBuckets.of(
                    Boolean.parseBoolean(row[0]), Integer.parseInt(row[1]), Integer.parseInt(row[2]));
            assertThat(buckets.bucket(Double.parseDouble(row[3])))
                    .as(String.join(",", row))
                    .isEqualTo(Integer.parseInt(row[4]));
        }
    }

    /** mpmath: 8 · 16^(1/8) = 11.3137…, 8 · 16^(3/8) = 22.6274…; 8 · 16^(2/8) is exactly 16. */
    @ParameterizedTest
    @CsvSource({
        "0.99, 0",
        "1, 1",
        "7.99, 7",
        "8, 8",
        "11.31, 8",
        "11.32, 9",
        "15.999999999999998, 9",
        "16, 10",
        "22.62, 10",
        "22.63, 11",
        "127.9, 15"
    })
    void bucketsOfRealDistancesAreRoundedDown(double distance, int bucket) {
        assertThat(T5_ENCODER.bucket(-distance)).isEqualTo(bucket);
        assertThat(T5_ENCODER.bucket(distance)).isEqualTo(16 + bucket);
    }

    @Test
    void allKeysAfterTheQueryOfADecoderAreInTheFirstBucket() {
        RelativeBuckets decoder = RelativeBuckets.of(false, 32, 128);
        assertThat(decoder.bucket(0.5)).isZero();
        assertThat(decoder.bucket(1000)).isZero();
    }

    /**
     * Without roots or logarithms: d is in bucket e + b or later if d^(n - e) ≥ maxDistance^b · e^(n - e - b). With 9
     * and 972, the double of a bound is above the exact 36. In the last row, bucket 5 begins above the integer
     * 2,399,326 by 10^-13 of it.
     */
    @ParameterizedTest
    @CsvSource({
        "32, 128",
        "33, 200",
        "4, 1073741824",
        "6, 27",
        "9, 972",
        "10, 3125",
        "64, 2147483647",
        "300, 151",
        "300, 1048576",
        "6, 2145721056"
    })
    void bucketsBeginWhereIntegersSatisfyTheFormula(int count, int maxDistance) {
        RelativeBuckets buckets = RelativeBuckets.of(false, count, maxDistance);
        int exact = count / 2;
        int steps = count - exact;
        for (int b = 1; b < steps; b++) {
            BigInteger bound = BigInteger.valueOf(maxDistance)
                    .pow(b)
                    .multiply(BigInteger.valueOf(exact).pow(steps - b));
            long near = Math.round(exact * Math.pow((double) maxDistance / exact, (double) b / steps));
            for (long d = Math.max(exact, near - 2); d <= near + 2; d++) {
                assertThat(buckets.bucket((double) -d) >= exact + b)
                        .as("distance %s is in bucket %s or later", d, exact + b)
                        .isEqualTo(BigInteger.valueOf(d).pow(steps).compareTo(bound) >= 0);
            }
        }
    }

    @Test
    void theLastBucketHasNoEnd() {
        assertThat(T5_ENCODER.bucket(Long.MAX_VALUE)).isEqualTo(31);
        assertThat(T5_ENCODER.bucket(-Integer.MAX_VALUE)).isEqualTo(15);
        assertThat(RelativeBuckets.of(false, 2, 2).bucket(-5)).isEqualTo(1);
        assertThat(RelativeBuckets.of(false, 4096, 1 << 30).bucket(-(1 << 30))).isEqualTo(4095);
    }

    /** With n = 4 and e = 2, a distance of 2 · (8 / 2)^(1/2) = 4 begins the last bucket. */
    @Test
    void boundariesAreTheLargestRelativePositionsOfBuckets() {
        assertThat(RelativeBuckets.of(false, 4, 8).boundaries()).containsExactly(-4, -2, -1);
        RelativeBuckets buckets = RelativeBuckets.of(true, 8, 8);
        assertThat(buckets.boundaries())
                .containsExactly(-4, -2, -1, 0, Math.nextDown(1.0), Math.nextDown(2.0), Math.nextDown(4.0));
        assertThat(DoubleStream.of(buckets.boundaries()).mapToInt(buckets::bucket))
                .containsExactly(3, 2, 1, 0, 4, 5, 6);
        assertThat(DoubleStream.of(buckets.boundaries()).map(Math::nextUp).mapToInt(buckets::bucket))
                .containsExactly(2, 1, 0, 4, 5, 6, 7);
        assertThat(buckets.bucket(Double.POSITIVE_INFINITY)).isEqualTo(7);
    }

    @Test
    void sizeIsTheNumberOfBucketsOfAllDirections() {
        assertThat(RelativeBuckets.of(true, 4, 2).size()).isEqualTo(4);
        assertThat(RelativeBuckets.of(false, 2, 2).size()).isEqualTo(2);
    }

    @Test
    @Tag("slow")
    void hasUpTo4096Buckets() {
        assertThat(RelativeBuckets.of(true, 4096, 1025).size()).isEqualTo(4096);
    }

    @Test
    void rejectsNumbersOfBucketsOutOfRange() {
        assertAll(
                rejected(() -> RelativeBuckets.of(true, 2, 128), "bucket count 2", 4, 4096),
                rejected(() -> RelativeBuckets.of(true, 4098, 5000), "bucket count", 4098, 4096),
                rejected(() -> RelativeBuckets.of(false, 1, 128), "bucket count 1", 2, 4096),
                rejected(() -> RelativeBuckets.of(false, 4097, 5000), "bucket count", 4097, 4096));
    }

    @Test
    void rejectsAnOddNumberOfBucketsForTwoDirections() {
        assertAll(rejected(() -> RelativeBuckets.of(true, 31, 128), "bucket count", 31, 32));
    }

    /** A direction has 8 buckets of one distance each in an encoder, and 16 in a decoder. */
    @Test
    void rejectsAMaximumDistanceWithinTheBucketsOfOneDistance() {
        assertAll(
                rejected(() -> RelativeBuckets.of(true, 32, 8), "maximum distance", 8, 32),
                rejected(() -> RelativeBuckets.of(false, 32, 16), "maximum distance", 16, 32));
    }
}
