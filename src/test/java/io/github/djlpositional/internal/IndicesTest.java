package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Ranges of positions as arrays. */
class IndicesTest extends OnEachEngine {

    /** DJL passes the bounds of {@code arange} as floats, of which 2^24 + 1 is none. */
    @Test
    void rangesAreExact() {
        NDArray like = manager.zeros(new Shape(1));
        for (int first :
                new int[] {-3, 0, 5, (1 << 24) - 2, (1 << 24) + 1, (1 << 27) + 3, ForwardParameters.UNLIMITED - 9}) {
            double[] expected =
                    IntStream.range(first, first + 9).asDoubleStream().toArray();
            for (DataType type : new DataType[] {DataType.INT32, DataType.FLOAT64}) {
                NDArray range = Indices.range(like, first, 9, type);
                assertThat(range.getDataType()).isEqualTo(type);
                assertThat(HostData.doubles(range)).isEqualTo(expected);
            }
        }
    }

    /** The second of two columns changes its sign. */
    @Test
    void rowsOfNegativeIndicesHaveSigns() {
        NDArray table = manager.create(new float[][] {{1, 0}, {2, 3}, {4, -5}});
        NDArray signs = manager.create(new float[][] {{1, -1}});
        NDArray indices = manager.create(new int[][] {{0, -1, 2}, {-2, 1, -1}});
        for (DataType type : new DataType[] {DataType.INT8, DataType.INT32, DataType.INT64}) {
            NDArray rows = Indices.lookUpSigned(indices.toType(type, true), table, signs, manager);
            assertThat(rows.getShape()).isEqualTo(new Shape(2, 3, 2));
            assertThat(rows.toFloatArray())
                    .usingComparatorWithPrecision(0f)
                    .containsExactly(1, 0, 2, -3, 4, -5, 4, 5, 2, 3, 2, -3);
        }
    }

    /** Numbers of either sign, also the one whose absolute value is no INT32. */
    @Test
    void rowsOfIndicesOutOfRangeAreNaN() {
        assumeEngine(TestEngine.PYTORCH);
        NDArray table = manager.create(new float[][] {{1, 0}, {2, 3}});
        NDArray signs = manager.create(new float[][] {{1, -1}});
        NDArray indices = manager.create(new int[] {2, -2, Integer.MIN_VALUE, -1});
        assertThat(Indices.lookUpSigned(indices, table, signs, manager).toFloatArray())
                .containsExactly(Float.NaN, Float.NaN, Float.NaN, Float.NaN, Float.NaN, Float.NaN, 2, -3);
    }
}
