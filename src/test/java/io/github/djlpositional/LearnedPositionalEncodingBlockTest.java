package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;

class LearnedPositionalEncodingBlockTest {

    private static final Shape X = new Shape(2, 3, 4);

    private static LearnedPositionalEncodingBlock block(NDManager manager) {
        return initialized(manager, learned().build(), 2, 3, 4);
    }

    private static float[] table(LearnedPositionalEncodingBlock block) {
        return block.getTable().getArray().toFloatArray();
    }

    /** Expects the rows of three positions, from a first one on. */
    private static void assertRows(NDArray rows, LearnedPositionalEncodingBlock block, int first) {
        assertThat(rows.toFloatArray()).isEqualTo(Arrays.copyOfRange(table(block), first * 4, (first + 3) * 4));
    }

    @EngineTest
    void addsTheRowsOfImpliedAndExplicitPositions(NDManager manager) {
        LearnedPositionalEncodingBlock block = block(manager);
        NDArray batch = Forward.infer(manager, block, manager.zeros(X));
        assertRows(batch.get(0), block, 0);
        assertRows(batch.get(1), block, 0);
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        assertRows(Forward.inferFrom(manager, 5, block, x), block, 5);
        assertRows(Forward.infer(manager, block, x, manager.create(new int[] {5, 6, 7})), block, 5);
        assertRows(Forward.infer(manager, block, x, manager.create(new long[][] {{5, 6, 7}})), block, 5);
        block = initialized(manager, learned().optSequenceAxis(0).build(), 3, 2, 4);
        NDArray timeMajor = Forward.infer(manager, block, manager.zeros(new Shape(3, 2, 4)));
        assertRows(timeMajor.get(":, 1"), block, 0);
    }

    @EngineTest
    void returnsACopyOfTheEncodings(NDManager manager) {
        LearnedPositionalEncodingBlock block =
                initialized(manager, learned().optAddToInput(false).build(), 2, 3, 4);
        NDArray y = Forward.infer(manager, block, manager.ones(X));
        assertThat(y.getShape()).isEqualTo(new Shape(1, 3, 4));
        assertRows(y, block, 0);
        y.addi(1).close();
        assertRows(Forward.infer(manager, block, manager.ones(X)), block, 0);
        assertThat(block.getOutputShapes(new Shape[] {X})).containsExactly(new Shape(1, 3, 4));
    }

    @EngineTest
    void gradientsReachOnlyTheRowsInUse(NDManager manager) {
        NDArray x = manager.zeros(X);
        for (NDArray[] inputs : new NDArray[][] {
            {x}, {x, manager.create(new long[] {0, 1, 2})}, {x, manager.create(new long[][] {{0, 1, 2}, {0, 1, 2}})}
        }) {
            LearnedPositionalEncodingBlock block = block(manager);
            SmallBlocks.train(manager, block, manager.ones(X), inputs);
            float[] gradient = block.getTable().getArray().getGradient().toFloatArray();
            for (int i = 0; i < 40; i++) {
                // both sequences use each of the first three rows
                assertThat(gradient[i]).isEqualTo(i < 12 ? 2 : 0);
            }
        }
    }

    @EngineTest
    void isInitializedFromANormalDistribution(Engine engine, NDManager manager) {
        engine.setRandomSeed(1);
        LearnedPositionalEncodingBlock block =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(256).build();
        NDArray table = initialized(manager, block, 1, 3, 256).getTable().getArray();
        assertThat(table.getShape()).isEqualTo(new Shape(512, 256));
        double[] values = table.toType(DataType.FLOAT64, false).toDoubleArray();
        double mean = Arrays.stream(values).average().orElseThrow();
        double square = Arrays.stream(values).map(x -> x * x).average().orElseThrow();
        // of 131,072 numbers, six standard deviations: of the mean 0.00033, of the deviation 1.2 %
        assertThat(mean).isCloseTo(0, within(0.00034));
        assertThat(Math.sqrt(square)).isCloseTo(0.02, within(0.00024));
    }

    @EngineTest
    void isInitializedFromASinusoidalTable(NDManager manager) {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        LearnedPositionalEncodingBlock block =
                initialized(manager, learned().optEncoding(encoding).build(), 2, 3, 4);
        assertThat(table(block)).isEqualTo(encoding.table(0, 10));
        assertThat(block.getTable().requiresGradient()).isTrue();
    }

    @EngineTest
    void isInitializedFromAnArrayThatIsResizedLinearly(NDManager manager) {
        // numpy.interp(numpy.linspace(0, 2, n), [0, 1, 2], column); n = 1 keeps the first
        float[][] expected = {
            {0, 10}, {0, 10, 4, 20}, {0, 10, 1, 30, 4, 20}, null, {0, 10, .5f, 20, 1, 30, 2.5f, 25, 4, 20}
        };
        NDArray three = manager.create(expected[2], new Shape(3, 2));
        for (int length : new int[] {1, 2, 3, 5}) {
            LearnedPositionalEncodingBlock block = learned()
                    .setEmbeddingSize(2)
                    .optInitialEncodings(three)
                    .optMaxSequenceLength(length)
                    .build();
            assertThat(table(initialized(manager, block, 1, 1, 2))).isEqualTo(expected[length - 1]);
        }
        LearnedPositionalEncodingBlock fromOne = learned()
                .setEmbeddingSize(2)
                .optMaxSequenceLength(2)
                .optInitialEncodings(manager.create(new double[] {0.1, 4}, new Shape(1, 1, 2)))
                .build();
        fromOne.initialize(manager, DataType.FLOAT64, new Shape(1, 1, 2));
        assertThat(fromOne.getTable().getArray().toDoubleArray()).containsExactly(0.1, 4, 0.1, 4);
    }

    @EngineTest
    void hasAsManyPositionsAsTheLastInitialEncodings(NDManager manager) {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(2);
        for (int length : new int[] {3, 5}) {
            builder.optInitialEncodings(manager.ones(new Shape(length, 2)));
            assertThat(builder.build().getMaxSequenceLength()).isEqualTo(length);
        }
    }

    @EngineTest
    void closesWhatItReadsAViewOfInitialEncodingsWith(NDManager manager) {
        NDArray wide = manager.arange(24f).reshape(6, 4).toType(DataType.FLOAT64, true);
        NDArray columns = wide.get(":, 1:3");
        int before = manager.getManagedArrays().size();
        learned().setEmbeddingSize(2).optInitialEncodings(columns).build();
        assertThat(manager.getManagedArrays()).hasSize(before);
    }
}
