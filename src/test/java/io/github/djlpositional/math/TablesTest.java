package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tables of grids and of rotations. */
class TablesTest {

    @ParameterizedTest
    @EnumSource
    void consecutiveRowsAreThoseOfTheirPositions(FloatFormat format) {
        RotaryRows table = new RotaryRows(
                RotaryScaling.none().frequencies(32, 10_000), PairLayout.CONCATENATED, 1.2772588722239782);
        int rowBytes = 32 * format.bytes();
        ByteBuffer consecutive = ByteBuffer.allocate(500 * rowBytes);
        table.write(IntStream.range(1000, 1500).asDoubleStream().toArray(), format, consecutive);
        for (int i = 0; i < 500; i++) {
            ByteBuffer twice = ByteBuffer.allocate(2 * rowBytes);
            table.write(new double[] {1000 + i, 1000 + i}, format, twice);
            assertThat(consecutive.slice(i * rowBytes, rowBytes)).isEqualTo(twice.slice(0, rowBytes));
        }
    }
}
