package io.github.djlpositional.conformance;

import static io.github.djlpositional.support.SmallBlocks.embedding;
import static io.github.djlpositional.support.SmallBlocks.ids;
import static io.github.djlpositional.support.SmallBlocks.initialized;
import static io.github.djlpositional.support.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.ResidentMemory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What happens to the arrays of blocks; EveryBlockTest and SoakTest have the lifetimes of all blocks. */
class BlockLifeTest extends OnEachEngine {

    private static final float[] TABLE = SinusoidalEncoding.vaswani(4).table(0, 10);

    /** EveryBlockTest has the test of forwards. */
    @Test
    void encodedPositionsBelongToTheCallerToWriteAndClose() {
        PositionalEncodingBlock block = initialized(manager, positions().build(), 1, 10, 4);
        for (NDArray positions : List.of(manager.arange(10), manager.arange(10).reshape(1, 10), manager.arange(10f))) {
            block.encode(positions).muli(0).close();
            assertThat(block.getEncodings().toFloatArray()).isEqualTo(TABLE);
        }
    }

    @Test
    void viewsOfEncodedPositionsRemainValidAfterThem() {
        NDArray view;
        try (NDArray encoded = positions().build().encode(manager.arange(10f))) {
            view = encoded.expandDims(0);
        }
        System.gc();
        assertThat(view.toFloatArray()).isEqualTo(TABLE);
    }

    /** Positions of other types are converted before their range is checked. */
    @Test
    void aRangeCheckLeavesNothing() {
        PositionalEncodingBlock block = positions().build();
        for (DataType type : List.of(DataType.INT32, DataType.INT8, DataType.FLOAT32, DataType.FLOAT16)) {
            NDArray few = manager.zeros(new Shape(3)).toType(type, true);
            NDArray many = manager.zeros(new Shape(100)).toType(type, true);
            block.encode(few).close();
            int before = manager.getManagedArrays().size();
            block.encode(few).close();
            block.encode(many).close();
            assertThat(manager.getManagedArrays()).as("%s", type).hasSize(before);
        }
    }

    @Test
    void aTableNeedsNoMoreThanItsOwnBytes() throws Exception {
        assumeTrue(ResidentMemory.bytes() > 0, "the system does not report resident memory");
        int length = 250_000;
        PositionalEncodingBlock block =
                positions().setEmbeddingSize(64).optMaxSequenceLength(length).build();
        long before = ResidentMemory.bytes();
        long peakFrom = ResidentMemory.resetPeak();
        initialized(manager, block, 1, 3, 64);
        long bytes = 4L * 64 * length;
        // waits for an engine that works asynchronously
        NDArray last = Forward.inferFrom(manager, length - 1, block, manager.zeros(new Shape(1, 1, 64)));
        assertThat(last.getFloat(0, 0, 0)).isEqualTo((float) StrictMath.sin(length - 1));
        // some MB more are used while the table is computed; a second copy would be as large again. Less if the
        // process has freed memory to reuse.
        assertThat(ResidentMemory.peak() - peakFrom).isLessThan(bytes * 3 / 2);
        assertThat(ResidentMemory.bytes() - before).isLessThan(bytes * 3 / 2);
        assertThat(block.getEncodings().size() * DataType.FLOAT32.getNumOfBytes())
                .isEqualTo(bytes);
        block.clear();
    }

    /** Collects garbage, and overwrites the memory that was freed. */
    private static List<ByteBuffer> collectAndOverwrite() throws InterruptedException {
        System.gc();
        Thread.sleep(50);
        List<ByteBuffer> others = new ArrayList<>();
        for (int i = 0; i < 8000; i++) {
            byte[] bytes = new byte[4 << i % 4];
            Arrays.fill(bytes, (byte) 0x41);
            others.add(ByteBuffer.allocateDirect(bytes.length).put(bytes));
        }
        return others;
    }

    /** The gradients, with garbage collected after the forwards or not; they are zero afterwards. */
    private static float[][] gradients(NDManager manager, Map<Block, NDArray> inputs, boolean withGarbage)
            throws InterruptedException {
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray loss = manager.create(0f);
            for (Map.Entry<Block, NDArray> each : inputs.entrySet()) {
                NDArray y = Forward.train(manager, each.getKey(), each.getValue());
                loss = loss.add(y.square().sum());
            }
            List<ByteBuffer> others = withGarbage ? collectAndOverwrite() : List.of();
            collector.backward(loss);
            assertThat(others).hasSize(withGarbage ? 8000 : 0);
        }
        return inputs.keySet().stream()
                .flatMap(block -> block.getParameters().values().stream())
                .map(parameter -> {
                    NDArray gradient = parameter.getArray().getGradient();
                    float[] values = gradient.toFloatArray();
                    gradient.subi(gradient);
                    return values;
                })
                .toArray(float[][]::new);
    }

    /** Java must not free memory that the engine reads for the gradient. */
    @Test
    void gradientsDoNotChangeIfGarbageIsCollected() throws InterruptedException {
        Map<Block, NDArray> inputs = new LinkedHashMap<>();
        NDArray x = manager.arange(2 * 3 * 8f).reshape(2, 3, 8).sin();
        for (EncodingType type : EncodingType.values()) {
            inputs.put(type.attention(2).build(), x);
        }
        inputs.put(embedding().optScaleEmbedding(true).optPaddingIndex(0).build(), ids(manager));
        inputs.put(positions().optLearnedScale(0.5f).build(), manager.ones(new Shape(2, 3, 4)));
        inputs.forEach((block, input) -> {
            block.setInitializer(
                    (own, shape, type) -> own.arange(1f, (float) (1 + shape.size()))
                            .sin()
                            .div(2)
                            .reshape(shape),
                    parameter -> true);
            block.initialize(manager, DataType.FLOAT32, input.getShape());
            block.getParameters()
                    .values()
                    .forEach(parameter -> parameter.getArray().setRequiresGradient(true));
        });
        float[][] expected = gradients(manager, inputs, false);
        float[][] withGarbage = gradients(manager, inputs, true);
        for (int i = 0; i < expected.length; i++) {
            float largest = 0;
            for (float value : expected[i]) {
                largest = Math.max(largest, Math.abs(value));
            }
            // sums of hundreds of FLOAT32, rounded otherwise; a wrong number is that of the bytes 0x41
            assertThat(withGarbage[i]).containsExactly(expected[i], within(0x1p-14f * largest));
        }
    }
}
