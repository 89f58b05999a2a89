package io.github.djlpositional.math;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** Rows of a function of position and column. */
class RowsTest {

    private static final Rows SUMS = Rows.of(2, (position, column) -> position + column / 4.0);

    @Test
    void writesTheRowsOfPositionsOneAfterTheOther() {
        ByteBuffer out = ByteBuffer.allocate(40);
        SUMS.write(new double[] {-1, 7.5}, FloatFormat.FLOAT64, out);
        assertThat(SUMS.width()).isEqualTo(2);
        assertThat(out.position()).isZero();
        double[] written = new double[5];
        out.asDoubleBuffer().get(written);
        assertThat(written).containsExactly(-1, -0.75, 7.5, 7.75, 0);
    }

    @Test
    void aTableHasARowForEachPosition() {
        ByteBuffer out = ByteBuffer.allocate(16);
        Rows.of(2, 1, 2, 3, 4).write(new double[] {1, 0}, FloatFormat.FLOAT32, out);
        float[] written = new float[4];
        out.asFloatBuffer().get(written);
        assertThat(written).containsExactly(3, 4, 1, 2);
    }

    @Test
    void roundsNumbersToTheFormat() {
        ByteBuffer out = ByteBuffer.allocate(8);
        Rows.of(2, (position, column) -> position / 3).write(new double[] {1}, FloatFormat.FLOAT32, out);
        assertThat(out.getFloat(4)).isEqualTo(1 / 3f);
    }

    /** Two rows of two floats take 16 bytes. */
    @Test
    void rejectsABufferThatIsTooSmall() {
        ByteBuffer out = ByteBuffer.allocate(16).limit(15);
        assertAll(rejected(() -> SUMS.write(new double[2], FloatFormat.FLOAT32, out), "buffer", 15, 16, "FLOAT32"));
    }
}
