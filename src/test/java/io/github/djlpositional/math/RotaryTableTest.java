package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
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
