package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RotaryTableTest {

    @Test
    void everyFloatIsTheNearest() {
        // reference: goldens/rotary_rows.csv, written by src/test/python/reference_values.py with mpmath
        for (String[] row : Goldens.rows("rotary_rows.csv")) {
            int size = Integer.parseInt(row[0]);
            Frequencies frequencies = RotaryScaling.none().frequencies(size, Double.parseDouble(row[1]), 0);
            int position = Integer.parseInt(row[3]);
            int pair = Integer.parseInt(row[4]);
            BigDecimal cosine = new BigDecimal(row[5]);
            BigDecimal sine = new BigDecimal(row[6]);
            RotaryTable table = new RotaryTable(frequencies, PairLayout.INTERLEAVED, Double.parseDouble(row[2]));
            for (boolean explicit : new boolean[] {false, true}) {
                ByteBuffer out = ByteBuffer.allocate(2 * size * Float.BYTES);
                if (explicit) {
                    table.write(new double[] {position}, FloatFormat.FLOAT32, out);
                } else {
                    table.write(position, 1, FloatFormat.FLOAT32, out);
                }
                for (int half = 0; half < 2; half++) {
                    int index = 2 * pair + half;
                    assertThat(Goldens.floatUlps(out.getFloat(index * 4), cosine))
                            .isLessThanOrEqualTo(0.5);
                    float signed = out.getFloat((size + index) * 4);
                    assertThat(Goldens.floatUlps(half == 0 ? -signed : signed, sine))
                            .isLessThanOrEqualTo(0.5);
                }
            }
        }
    }

    @Test
    void refusesWhatItCannotWrite() {
        Frequencies frequencies = Frequencies.of(1, 0.5);
        RotaryTable table = new RotaryTable(frequencies, PairLayout.INTERLEAVED, 1);
        ByteBuffer room = ByteBuffer.allocate(3 * 8 * 4);
        refused("length -1 is negative", () -> table.write(0, -1, FloatFormat.FLOAT32, room));
        refused(
                "buffer of 96 bytes is too small for 4 positions with 8 values each in FLOAT32: allowed are 128"
                        + " bytes or more; give a larger one, or write fewer rows",
                () -> table.write(0, 4, FloatFormat.FLOAT32, room),
                () -> table.write(new double[4], FloatFormat.FLOAT32, room));
        refused(
                "buffer of 95 bytes is too small for 3 positions with 8 values",
                () -> table.write(0, 3, FloatFormat.FLOAT32, room.duplicate().limit(95)));
        refused(
                "length 300000000 with 8 values for each position exceeds what one Java array or buffer can hold: ask"
                        + " for at most 67108863 positions at a time",
                () -> table.write(0, 300_000_000, FloatFormat.FLOAT32, room));
        refused(
                "position NaN is not finite",
                () -> table.write(new double[] {0, Double.NaN}, FloatFormat.FLOAT32, room));
        for (double factor : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
            refused(
                    "attention factor " + factor + " is outside its range",
                    () -> new RotaryTable(frequencies, PairLayout.INTERLEAVED, factor));
        }
        table.write(0, 3, FloatFormat.FLOAT32, room);
        assertThat(room.position()).isZero();
    }

    private static void refused(String message, ThrowingCallable... calls) {
        for (ThrowingCallable call : calls) {
            assertThatIllegalArgumentException().isThrownBy(call).withMessageStartingWith(message);
        }
    }

    @ParameterizedTest
    @EnumSource
    void consecutiveRowsAreThoseOfTheirPositions(FloatFormat format) {
        RotaryTable table = new RotaryTable(
                RotaryScaling.none().frequencies(32, 10_000, 0), PairLayout.CONCATENATED, 1.2772588722239782);
        double[] positions = new double[500];
        for (int i = 0; i < positions.length; i++) {
            positions[i] = 1000 + i;
        }
        int bytes = positions.length * 2 * 32 * format.bytes();
        ByteBuffer consecutive = ByteBuffer.allocate(bytes);
        ByteBuffer explicit = ByteBuffer.allocate(bytes);
        table.write(1000, 500, format, consecutive);
        table.write(positions, format, explicit);
        if (format == FloatFormat.FLOAT64) {
            for (int i = 0; i < bytes; i += Double.BYTES) {
                assertThat(consecutive.getDouble(i)).isCloseTo(explicit.getDouble(i), within(0x1p-50));
            }
        } else {
            assertThat(consecutive).isEqualTo(explicit);
        }
    }
}
