package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class FloatFormatTest {

    /** Every finite non-negative half by the definition of IEEE 754 binary16, with its bits. */
    private static final TreeMap<Double, Integer> HALVES = new TreeMap<>();

    static {
        for (int bits = 0; bits < 0x7c00; bits++) {
            int exponent = bits >> 10;
            int fraction = bits & 0x3ff;
            HALVES.put(exponent == 0 ? fraction * 0x1p-24 : (1024 + fraction) * Math.pow(2, exponent - 25), bits);
        }
    }

    /** The bits of the nearest half by search, ties to the even one. */
    private static int nearestBits(double value) {
        var below = HALVES.floorEntry(value);
        var above = HALVES.ceilingEntry(value);
        double toBelow = value - below.getKey();
        double toAbove = above.getKey() - value;
        boolean down = toBelow < toAbove || (toBelow == toAbove && below.getValue() % 2 == 0);
        return (down ? below : above).getValue();
    }

    private static int storedBits(double value) {
        ByteBuffer buffer = ByteBuffer.allocate(4);
        FloatFormat.FLOAT16.put(buffer, 1, value);
        return buffer.getShort(2) & 0xffff;
    }

    @Test
    void halvesAreTheNearestOnes() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 200_000; i++) {
            double value = random.nextDouble() * Math.pow(2, random.nextInt(-28, 15));
            assertThat(storedBits(value)).isEqualTo(nearestBits(value));
            assertThat(storedBits(-value)).isEqualTo(nearestBits(value) | 0x8000);
        }
    }

    @Test
    void halvesOnTiesAreTheEvenOnesAndRoundingGivesTheStoredNumber() {
        HALVES.forEach((half, bits) -> {
            Double next = HALVES.higherKey(half);
            double middle = next == null ? half : (half + next) / 2;
            assertThat(storedBits(middle)).isEqualTo(nearestBits(middle));
            assertThat(FloatFormat.FLOAT16.round(half)).isEqualTo(half);
            assertThat(storedBits(FloatFormat.FLOAT16.round(half * 1.0003))).isEqualTo(storedBits(half * 1.0003));
        });
    }

    @Test
    void halvesBeyondTheRangeAreInfinite() {
        assertThat(storedBits(65519.99)).isEqualTo(0x7bff);
        assertThat(storedBits(65520)).isEqualTo(0x7c00);
        assertThat(storedBits(-1e300)).isEqualTo(0xfc00);
        assertThat(FloatFormat.FLOAT16.round(-65520)).isEqualTo(Double.NEGATIVE_INFINITY);
        assertThat(storedBits(Double.NaN)).isEqualTo(0x7e00);
    }
}
