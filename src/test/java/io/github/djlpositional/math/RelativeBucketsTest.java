package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import org.junit.jupiter.api.Test;

class RelativeBucketsTest {

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
}
