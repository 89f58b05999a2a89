package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/** The layers of {@code TransformerLayerBlockTest} compare it with PyTorch's, gradients included. */
class LayerNormBlockTest {

    @EngineTest
    void givesTheNumbersOfThePapersFormula(NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            LayerNormBlock block = LayerNormBlock.builder().setEmbeddingSize(4).build();
            block.initialize(manager, type, new Shape(-1, 4));
            manager.create(new double[] {1, 2, 3, 4})
                    .toType(type, false)
                    .copyTo(block.getScale().getArray());
            manager.create(new double[] {0.5, 0, -0.5, 1})
                    .toType(type, false)
                    .copyTo(block.getOffset().getArray());
            NDArray x = manager.create(new double[] {1, 3, 5, 7}, new Shape(1, 1, 4))
                    .toType(type, false);
            // mean 4, variance 5
            double root = Math.sqrt(5 + 1e-5);
            double[] expected = {-3 / root + 0.5, -2 / root, 3 / root - 0.5, 12 / root + 1};
            NDArray y = Forward.infer(manager, block, x);
            assertThat(y.getShape()).isEqualTo(x.getShape());
            assertThat(y.getDataType()).isEqualTo(type);
            // the engines have ε in FLOAT32, relative 2^-24 of it
            requireClose(y, expected, type == DataType.FLOAT64 ? 1e-12 : 1e-6);
        }
    }
}
