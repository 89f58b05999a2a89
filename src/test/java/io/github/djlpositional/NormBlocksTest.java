package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.StoredLayer;

/** {@link TransformerLayerBlockTest} compares the norms with those of PyTorch, gradients included. */
class NormBlocksTest {

    @EngineTest
    void layerNormGivesTheNumbersOfThePapersFormula(NDManager manager) {
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

    private static RmsNormBlock block(NDManager manager, DataType type) {
        RmsNormBlock block =
                RmsNormBlock.builder().setEmbeddingSize(8).optEpsilon(1e-5).build();
        block.initialize(manager, type, new Shape(-1, 8));
        return block;
    }

    @EngineTest
    void rmsNormGivesTheNumbersOfThePapersFormula(NDManager manager) throws Exception {
        StoredLayer stored = new StoredLayer(manager, "llama");
        double[] expected = stored.get("normalized").toDoubleArray();
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            RmsNormBlock block = block(manager, type);
            stored.get("input_layernorm.weight", type).copyTo(block.getScale().getArray());
            NDArray x = stored.get("input", type);
            double tolerance = type == DataType.FLOAT64 ? 1e-14 : 1e-6;
            for (Shape shape : new Shape[] {new Shape(2, 5, 8), new Shape(10, 8), new Shape(1, 2, 5, 8)}) {
                NDArray y = Forward.infer(manager, block, x.reshape(shape));
                assertThat(y.getShape()).isEqualTo(shape);
                assertThat(y.getDataType()).isEqualTo(type);
                requireClose(y, expected, tolerance);
            }
        }
    }

    /** MXNet has no parameters in FLOAT16. */
    @EngineTest(engine = "PyTorch")
    void rmsNormComputesFloat16InFloat32(NDManager manager) {
        RmsNormBlock block = block(manager, DataType.FLOAT16);
        // 300² is more than the greatest number of FLOAT16, 0.0001² less than its least
        for (float size : new float[] {300, 1, 0.0001f}) {
            float[] values = {size, -size, size, -size, size, -size, size, -size};
            NDArray x = manager.create(values, new Shape(1, 8)).toType(DataType.FLOAT16, false);
            double given = x.toType(DataType.FLOAT64, false).max().getDouble();
            double expected = given / Math.sqrt(given * given + 1e-5);
            NDArray y = Forward.infer(manager, block, x);
            assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
            requireClose(
                    y,
                    new double[] {expected, -expected, expected, -expected, expected, -expected, expected, -expected},
                    expected * 0x1p-11);
        }
    }
}
