package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;

/** The numbers of the encodings of a window. */
class WindowBlocksTest {

    private static WindowBiasBlock initialized(NDManager manager, WindowBiasBlock.Builder builder) {
        WindowBiasBlock block = builder.setHeadCount(1).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        return block;
    }

    /** The row of the table that the bias of each query and key comes from. */
    private static float[] rows(NDManager manager, WindowBiasBlock block, int tokens) {
        NDArray biases = block.getBiases().getArray();
        NDArray numbers = manager.arange((float) biases.getShape().get(0)).toType(DataType.FLOAT32, false);
        numbers.reshape(biases.getShape()).copyTo(biases);
        return Forward.infer(manager, block, manager.zeros(new Shape(1, tokens, 4)))
                .toFloatArray();
    }

    @EngineTest
    void rowsOfTheTableAreThoseOfSwin(NDManager manager) {
        // relative_position_index of Swin's WindowAttention with window_size (2, 2), from its published listing
        WindowBiasBlock block = initialized(manager, WindowBiasBlock.builder().setWindow(2, 2));
        assertThat(rows(manager, block, 4)).containsExactly(4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4);
    }

    @EngineTest
    void aClassTokenHasThreeRowsAsInBeit(NDManager manager) {
        // the same with BEiT's three ids: 9 for the class token as the query, 10 as the key, 11 as both
        WindowBiasBlock block =
                initialized(manager, WindowBiasBlock.builder().setWindow(2, 2).optClassToken(true));
        assertThat(rows(manager, block, 5))
                .containsExactly(11, 9, 9, 9, 9, 10, 4, 3, 1, 0, 10, 5, 4, 2, 1, 10, 7, 6, 4, 3, 10, 8, 7, 5, 4);
    }

    @EngineTest
    void theNetworkGetsTheLogarithmOfTheShareOfTheWindow(NDManager manager) {
        // Swin V2's relative_coords_table with a window of 8: differences of 1, 3 and 7; of other windows too, trained
        // with 8
        double[][] expected = {{1, 0.36651188}, {3, 0.71561380}, {7, 1.05664167}};
        for (int width : new int[] {8, 12}) {
            WindowBiasBlock block = initialized(
                    manager,
                    WindowBiasBlock.builder()
                            .setWindow(1, width)
                            .optHiddenSize(1)
                            .optTrainedWindow(8, 8));
            // the hidden unit is the difference of columns, and the only logit its value
            manager.create(new float[] {0, 1}, new Shape(1, 2))
                    .copyTo(block.getParameters().get("weight1").getArray());
            manager.zeros(new Shape(1))
                    .copyTo(block.getParameters().get("bias1").getArray());
            manager.ones(new Shape(1, 1))
                    .copyTo(block.getParameters().get("weight2").getArray());
            NDArray biases = Forward.infer(manager, block, manager.zeros(new Shape(1, width, 4)));
            for (double[] pair : expected) {
                // a key before the query has a positive difference, one after it a negative one, which ReLU cuts
                double bias = 16 / (1 + Math.exp(-pair[1]));
                assertThat(biases.getFloat(0, 0, 7, 7 - (int) pair[0])).isCloseTo((float) bias, within(4e-6f));
                assertThat(biases.getFloat(0, 0, 0, (int) pair[0])).isEqualTo(8);
            }
        }
    }
}
