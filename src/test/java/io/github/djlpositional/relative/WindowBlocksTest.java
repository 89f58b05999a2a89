package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import java.util.stream.Stream;

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
    void rowsOfTheTableAreThoseOfSwinAndBeit(NDManager manager) {
        // relative_position_index of Swin's WindowAttention with window_size (2, 2), from its published listing
        WindowBiasBlock swin = initialized(manager, biases(2, 2).build());
        assertThat(rows(manager, swin, 4)).containsExactly(4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4);
        // the same with BEiT's three ids: 9 for the class token as the query, 10 as the key, 11 as both
        WindowBiasBlock beit =
                initialized(manager, biases(2, 2).optClassToken(true).build());
        assertThat(rows(manager, beit, 5))
                .containsExactly(11, 9, 9, 9, 9, 10, 4, 3, 1, 0, 10, 5, 4, 2, 1, 10, 7, 6, 4, 3, 10, 8, 7, 5, 4);
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
        // torch 1.13: interpolate((3, 5), size=(5, 3), mode="bicubic", align_corners=False)
        String expected = "0.18018518 1.906 1.1153704 0.38846296 1.0925 1.4223148 0.712963 0.125 1.6481482 0.97746295"
                + " 0.2375 1.0739815 1.123963 0.536 0.55722225";
        NDArray biases = block.getBiases().getArray();
        // numbers up to 2, rounded once
        double[] numbers = Stream.of(expected.split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
        requireClose(biases.get(":15").flatten(), numbers, 2.5e-7);
        // the class token's rows
        assertThat(biases.toFloatArray()).endsWith(before[15], before[16], before[17]);
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
}
