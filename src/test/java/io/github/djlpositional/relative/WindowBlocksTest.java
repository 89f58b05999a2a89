package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import java.util.List;

/** The numbers of the encodings of a window. */
class WindowBlocksTest {

    private static <B extends Block> B initialized(NDManager manager, B block) {
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        return block;
    }

    private static WindowBiasBlock.Builder biases(int height, int width) {
        return WindowBiasBlock.builder().setHeadCount(1).setWindow(height, width);
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
        WindowBiasBlock block = initialized(manager, biases(2, 2).build());
        assertThat(rows(manager, block, 4)).containsExactly(4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4);
    }

    @EngineTest
    void aClassTokenHasThreeRowsAsInBeit(NDManager manager) {
        // the same with BEiT's three ids: 9 for the class token as the query, 10 as the key, 11 as both
        WindowBiasBlock block =
                initialized(manager, biases(2, 2).optClassToken(true).build());
        assertThat(rows(manager, block, 5))
                .containsExactly(11, 9, 9, 9, 9, 10, 4, 3, 1, 0, 10, 5, 4, 2, 1, 10, 7, 6, 4, 3, 10, 8, 7, 5, 4);
    }

    @EngineTest
    void theNetworkGetsTheLogarithmOfTheShareOfTheWindow(NDManager manager) {
        // Swin V2's relative_coords_table with a window of 8: differences of 1, 3 and 7; of other windows too, trained
        // with 8
        double[][] expected = {{1, 0.36651188}, {3, 0.71561380}, {7, 1.05664167}};
        for (int width : new int[] {8, 12}) {
            WindowNetworkBiasBlock block = initialized(
                    manager,
                    WindowNetworkBiasBlock.builder()
                            .setHeadCount(1)
                            .setWindow(1, width)
                            .optHiddenSize(1)
                            .optTrainedWindow(8, 8)
                            .build());
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

    private static MultiHeadAttentionBlock attention(NDManager manager, RelativeEncoding encoding) {
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(4)
                .setHeadCount(1)
                .optRelativeEncoding(encoding)
                .build();
        return initialized(manager, block);
    }

    @EngineTest
    void fewerTokensAreTheFirstOnesOfTheWindow(NDManager manager) {
        for (RelativeEncoding encoding : List.of(
                biases(7, 7).build(),
                biases(7, 7).optClassToken(true).build(),
                WindowNetworkBiasBlock.builder().setHeadCount(1).setWindow(7, 7).build(),
                WindowVectorsBlock.builder().setHeadSize(4).setWindow(7, 7).build())) {
            MultiHeadAttentionBlock block = attention(manager, encoding);
            NDArray x = manager.ones(new Shape(1, 36, 4));
            NDArray positions = manager.arange(36).toType(DataType.INT32, false);
            NDArray expected = Forward.infer(manager, block, Forward.params("positions", positions), x);
            assertThat(Forward.infer(manager, block, x)).isEqualTo(expected);
            // any of the window's tokens
            NDArray some = manager.create(new int[] {5, 0, 48});
            Forward.infer(manager, block, Forward.params("positions", some), manager.ones(new Shape(1, 3, 4)));
            refused(() -> Forward.infer(manager, block, manager.ones(new Shape(1, 51, 4))), "position 50");
        }
    }

    private static WindowVectorsBlock vectors(NDManager manager, int height, int width) {
        WindowVectorsBlock block = WindowVectorsBlock.builder()
                .setHeadSize(2)
                .setWindow(height, width)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, -1, 2));
        return block;
    }

    @EngineTest
    void biasesAreResampledAsThoseOfSwin(NDManager manager) {
        WindowBiasBlock trained =
                initialized(manager, biases(2, 3).optClassToken(true).build());
        float[] before = new float[18];
        for (int i = 0; i < before.length; i++) {
            before[i] = 7 * i % 16 / 8f;
        }
        manager.create(before, new Shape(18, 1)).copyTo(trained.getBiases().getArray());
        WindowBiasBlock block =
                initialized(manager, biases(3, 2).optClassToken(true).build());
        block.resample(trained);
        // torch 1.13: interpolate((3, 5), size=(5, 3), mode="bicubic", align_corners=False), then the class token's
        // rows
        float[] expected = {
            0.18018518f,
            1.906f,
            1.1153704f,
            0.38846296f,
            1.0925f,
            1.4223148f,
            0.712963f,
            0.125f,
            1.6481482f,
            0.97746295f,
            0.2375f,
            1.0739815f,
            1.123963f,
            0.536f,
            0.55722225f,
            before[15],
            before[16],
            before[17]
        };
        // numbers up to 2, rounded once
        assertThat(block.getBiases().getArray().toFloatArray()).containsExactly(expected, within(2.5e-7f));
        assertThat(trained.getBiases().getArray().toFloatArray()).containsExactly(before);
    }

    @EngineTest
    void vectorsAreResampledAsThoseOfSam(NDManager manager) {
        WindowVectorsBlock trained = vectors(manager, 2, 1);
        manager.create(new float[] {0, 2, 3, -1, 1, 0}, new Shape(3, 2))
                .copyTo(trained.getParameters().get("rows").getArray());
        manager.create(new float[] {4, 5}, new Shape(1, 2))
                .copyTo(trained.getParameters().get("columns").getArray());
        WindowVectorsBlock block = vectors(manager, 3, 2);
        block.resample(trained);
        // torch 1.13: interpolate of both columns from 3 to 5, mode="linear"
        assertThat(block.getParameters().get("rows").getArray().toFloatArray())
                .containsExactly(new float[] {0, 2, 1.2f, 0.8f, 3, -1, 1.8f, -0.4f, 1, 0}, within(2.5e-7f));
        assertThat(block.getParameters().get("columns").getArray().toFloatArray())
                .containsExactly(4, 5, 4, 5, 4, 5);
    }

    @EngineTest
    void refusesToResampleBlocksThatDoNotFit(NDManager manager) {
        WindowBiasBlock block = initialized(manager, biases(2, 3).build());
        WindowBiasBlock other = biases(2, 2).setHeadCount(2).build();
        refused(() -> block.resample(other), "headCount=2", "headCount=1");
        WindowBiasBlock classToken = biases(2, 2).optClassToken(true).build();
        refused(() -> block.resample(classToken), "classToken=true", "classToken=false");
        WindowBiasBlock empty = biases(2, 2).build();
        refused(() -> block.resample(empty), "biases", "initialize or load");
        WindowVectorsBlock wide =
                WindowVectorsBlock.builder().setHeadSize(4).setWindow(2, 2).build();
        refused(() -> vectors(manager, 3, 2).resample(wide), "headSize=4", "headSize=2");
    }
}
