package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class RelativeBucketsTest {

    @Test
    void farDistancesShareTheLast() {
        RelativeBuckets buckets = RelativeBuckets.of(true, 32, 128);
        assertThat(buckets.bucket(Long.MAX_VALUE)).isEqualTo(31);
        assertThat(buckets.bucket(-Integer.MAX_VALUE)).isEqualTo(15);
        assertThat(RelativeBuckets.of(false, 2, 2).bucket(-5)).isEqualTo(1);
    }

    @Test
    void beginWhereTheFormulaSays() {
        // without roots or logarithms: d is in bucket e + b or beyond where d^(n - e) >= maxDistance^b · e^(n - e - b)
        int[][] settings = {
            {32, 128}, {33, 200}, {4, 1 << 30}, {6, 27}, {10, 3125}, {64, Integer.MAX_VALUE}, {300, 151}, {300, 1 << 20}
        };
        for (int[] setting : settings) {
            RelativeBuckets buckets = RelativeBuckets.of(false, setting[0], setting[1]);
            int exact = setting[0] / 2;
            int steps = setting[0] - exact;
            for (int b = 1; b < steps; b++) {
                BigInteger bound = BigInteger.valueOf(setting[1])
                        .pow(b)
                        .multiply(BigInteger.valueOf(exact).pow(steps - b));
                long near = Math.round(exact * Math.pow((double) setting[1] / exact, (double) b / steps));
                for (long d = Math.max(exact, near - 2); d <= near + 2; d++) {
                    boolean isBeyond = BigInteger.valueOf(d).pow(steps).compareTo(bound) >= 0;
                    assertThat(buckets.bucket(-d) >= exact + b)
                            .as("%s, maximum %s, bucket %s, distance %s", setting[0], setting[1], b, d)
                            .isEqualTo(isBeyond);
                }
            }
        }
    }

    @Test
    @Timeout(5)
    void areMadeInNoTime() {
        assertThat(RelativeBuckets.of(false, 4096, 1 << 30).bucket(-(1 << 30))).isEqualTo(4095);
    }

    @Test
    void bucketsGrowByTheRatioOfTheDistances() {
        // 4 buckets of one direction up to 8: 0, 1, then those from 2 and from 2 · (8 / 2)^(1/2) = 4
        RelativeBuckets buckets = RelativeBuckets.of(false, 4, 8);
        assertThat(IntStream.rangeClosed(0, 8).map(distance -> buckets.bucket(-distance)))
                .containsExactly(0, 1, 2, 2, 3, 3, 3, 3, 3);
    }
}
