package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tables of grids and of rotations. */
class TablesTest {

    @Test
    void cellsOfAGridAreCountedWithTheLastAxisFastest() {
        GridEncoding encoding = GridEncoding.multidim(3, 10);
        Rows.Value cells = encoding.cells(2, 3, 4);
        for (int i = 0; i < 2 * 3 * 4 * 10; i++) {
            int cell = i / 10;
            double[] place = IntStream.of(cell / 12, cell / 4 % 3, cell % 4)
                    .asDoubleStream()
                    .toArray();
            double expected = encoding.value(i % 10, place);
            assertThat(cells.at(cell, i % 10)).isEqualTo(expected);
        }
    }

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
