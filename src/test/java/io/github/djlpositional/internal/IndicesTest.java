package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
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
}
