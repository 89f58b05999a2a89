package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tables of grids and of rotations. */
class TablesTest {

    @Test
    void writesChannelsLastAndFirst() {
        GridEncoding encoding = GridEncoding.multidim(3, 10);
        int[] sizes = {2, 3, 4};
        ByteBuffer last = ByteBuffer.allocate(240 * 4).order(ByteOrder.nativeOrder());
        encoding.write(sizes, false, 0, 2, FloatFormat.FLOAT32, last);
        ByteBuffer first = ByteBuffer.allocate(240 * 4).order(ByteOrder.nativeOrder());
        encoding.write(sizes, true, 0, 10, FloatFormat.FLOAT32, first);
        for (int d = 0; d < 2; d++) {
            for (int h = 0; h < 3; h++) {
                for (int w = 0; w < 4; w++) {
                    for (int c = 0; c < 10; c++) {
                        float expected = (float) encoding.value(c, d, h, w);
                        int cell = (d * 3 + h) * 4 + w;
                        assertThat(last.getFloat((cell * 10 + c) * 4)).isEqualTo(expected);
                        assertThat(first.getFloat((c * 24 + cell) * 4)).isEqualTo(expected);
                    }
                }
            }
        }
    }

    @Test
    void writesPartsOfTheFirstAxis() {
        GridEncoding encoding = GridEncoding.visionTransformer(8);
        ByteBuffer whole = ByteBuffer.allocate(5 * 3 * 8 * 8);
        encoding.write(new int[] {5, 3}, false, 0, 5, FloatFormat.FLOAT64, whole);
        ByteBuffer part = ByteBuffer.allocate(2 * 3 * 8 * 8);
        encoding.write(new int[] {5, 3}, false, 2, 2, FloatFormat.FLOAT64, part);
        assertThat(part).isEqualTo(whole.slice(2 * 3 * 8 * 8, 2 * 3 * 8 * 8));
    }

    @ParameterizedTest
    @EnumSource
    void consecutiveRowsAreThoseOfTheirPositions(FloatFormat format) {
        RotaryTable table = new RotaryTable(
                RotaryScaling.none().frequencies(32, 10_000, 0), PairLayout.CONCATENATED, 1.2772588722239782);
        double[] positions = IntStream.range(1000, 1500).asDoubleStream().toArray();
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
