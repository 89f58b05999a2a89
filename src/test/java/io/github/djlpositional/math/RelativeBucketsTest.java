package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.djlpositional.Goldens;
import org.junit.jupiter.api.Test;

class RelativeBucketsTest {

    @Test
    void areThePublishedOnes() {
        // reference: goldens/t5_buckets.csv, with 50-digit arithmetic
        for (String[] row : Goldens.rows("t5_buckets.csv")) {
            RelativeBuckets buckets = RelativeBuckets.of(
                    Boolean.parseBoolean(row[0]), Integer.parseInt(row[1]), Integer.parseInt(row[2]));
            assertThat(buckets.bucket(Long.parseLong(row[3])))
                    .as("%s %s", row[0], row[3])
                    .isEqualTo(Integer.parseInt(row[4]));
        }
    }

    @Test
    void farDistancesShareTheLast() {
        RelativeBuckets buckets = RelativeBuckets.of(true, 32, 128);
        assertThat(buckets.bucket(Long.MAX_VALUE)).isEqualTo(31);
        assertThat(buckets.bucket(-Integer.MAX_VALUE)).isEqualTo(15);
        assertThat(RelativeBuckets.of(false, 2, 2).bucket(-5)).isEqualTo(1);
    }

    @Test
    void refuseImpossibleNumbers() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RelativeBuckets.of(true, 31, 128))
                .withMessage(
                        "31 buckets for two directions: allowed is an even number from 4 to 4096; give another number, T5 has 32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RelativeBuckets.of(false, 1, 128))
                .withMessage("1 buckets for one direction: allowed is from 2 to 4096; give another number, T5 has 32");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RelativeBuckets.of(true, 32, 8))
                .withMessageStartingWith("maximum distance 8 is not above the 8 distances");
    }
}
