package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class LearnedPositionalEncodingBlockTest {

    private static LearnedPositionalEncodingBlock.Builder builder() {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4).optMaxSequenceLength(10);
    }

    private static LearnedPositionalEncodingBlock initialized(
            NDManager manager, LearnedPositionalEncodingBlock.Builder builder) {
        LearnedPositionalEncodingBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3, 4));
        return block;
    }

    private static float[] table(LearnedPositionalEncodingBlock block) {
        return block.getTable().getArray().toFloatArray();
    }

    @EngineTest
    void addsTheRowsOfTheSequence(NDManager manager) {
        LearnedPositionalEncodingBlock block = initialized(manager, builder());
        float[] y =
                Forward.infer(manager, block, manager.zeros(new Shape(2, 3, 4))).toFloatArray();
        float[] rows = Arrays.copyOf(table(block), 12);
        assertThat(Arrays.copyOf(y, 12)).isEqualTo(rows);
        assertThat(Arrays.copyOfRange(y, 12, 24)).isEqualTo(rows);
    }

    @EngineTest
    void takesStartPositionsAndAxisAsTheSinusoidalBlockDoes(NDManager manager) {
        LearnedPositionalEncodingBlock block = initialized(manager, builder());
        float[] table = table(block);
        NDArray x = manager.zeros(new Shape(1, 3, 4));
        assertThat(Forward.inferFrom(manager, 5, block, x).toFloatArray()).isEqualTo(Arrays.copyOfRange(table, 20, 32));
        assertThat(Forward.infer(manager, block, x, manager.create(new int[] {5, 6, 7}))
                        .toFloatArray())
                .isEqualTo(Arrays.copyOfRange(table, 20, 32));
        assertThat(Forward.infer(manager, block, x, manager.create(new long[][] {{5, 6, 7}}))
                        .toFloatArray())
                .isEqualTo(Arrays.copyOfRange(table, 20, 32));
        LearnedPositionalEncodingBlock timeMajor = builder().optSequenceAxis(0).build();
        timeMajor.initialize(manager, DataType.FLOAT32, new Shape(3, 2, 4));
        NDArray y = Forward.infer(manager, timeMajor, manager.zeros(new Shape(3, 2, 4)));
        assertThat(y.get(":, 1").toFloatArray()).isEqualTo(Arrays.copyOf(table(timeMajor), 12));
    }

    @EngineTest
    void returnsTheEncodingsAlone(NDManager manager) {
        LearnedPositionalEncodingBlock block = initialized(manager, builder().optAddToInput(false));
        NDArray y = Forward.infer(manager, block, manager.ones(new Shape(2, 3, 4)));
        assertThat(y.getShape()).isEqualTo(new Shape(1, 3, 4));
        assertThat(y.toFloatArray()).isEqualTo(Arrays.copyOf(table(block), 12));
        y.addi(1).close();
        assertThat(Forward.infer(manager, block, manager.ones(new Shape(2, 3, 4)))
                        .toFloatArray())
                .isEqualTo(Arrays.copyOf(table(block), 12));
        assertThat(block.getOutputShapes(new Shape[] {new Shape(2, 3, 4)})).containsExactly(new Shape(1, 3, 4));
    }

    @EngineTest
    void emptySequenceComesBackEmpty(NDManager manager) {
        LearnedPositionalEncodingBlock block = initialized(manager, builder());
        assertThat(Forward.infer(manager, block, manager.create(new Shape(2, 0, 4), DataType.FLOAT32))
                        .getShape())
                .isEqualTo(new Shape(2, 0, 4));
    }

    @EngineTest
    void gradientsReachTheRowsInUseAlone(NDManager manager) {
        LearnedPositionalEncodingBlock block = initialized(manager, builder());
        ParameterStore store = new ParameterStore(manager, false);
        NDArray x = manager.zeros(new Shape(2, 3, 4));
        for (NDList inputs : new NDList[] {
            new NDList(x),
            new NDList(x, manager.create(new long[] {0, 1, 2})),
            new NDList(x, manager.create(new long[][] {{0, 1, 2}, {0, 1, 2}}))
        }) {
            block.getTable().getArray().setRequiresGradient(false);
            block.getTable().getArray().setRequiresGradient(true);
            NDArray before = block.getTable().getArray().getGradient().duplicate();
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                collector.backward(
                        block.forward(store, inputs, true).singletonOrThrow().sum());
            }
            float[] gradient = block.getTable().getArray().getGradient().toFloatArray();
            // PyTorch adds gradients up until a trainer clears them, MXNet does not
            float[] earlier =
                    manager.getEngine().getEngineName().equals("PyTorch") ? before.toFloatArray() : new float[40];
            for (int i = 0; i < 40; i++) {
                // each of the first three rows is used by both sequences
                assertThat(gradient[i] - earlier[i]).isEqualTo(i < 12 ? 2 : 0);
            }
        }
    }

    @EngineTest
    void startsFromANormalDistribution(Engine engine, NDManager manager) {
        engine.setRandomSeed(1);
        LearnedPositionalEncodingBlock block =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(256).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 256));
        float[] table = table(block);
        assertThat(table).hasSize(512 * 256);
        double sum = 0;
        double squares = 0;
        for (float value : table) {
            sum += value;
            squares += value * value;
        }
        // of 131,072 draws, six standard deviations: of the mean 0.00033, of the deviation 1.2 %
        assertThat(sum / table.length).isCloseTo(0, within(0.00034));
        assertThat(Math.sqrt(squares / table.length)).isCloseTo(0.02, within(0.00024));
    }

    @EngineTest
    void startsFromASinusoidalTable(NDManager manager) {
        LearnedPositionalEncodingBlock block =
                initialized(manager, builder().optEncoding(SinusoidalEncoding.vaswani(4)));
        assertThat(table(block)).isEqualTo(SinusoidalEncoding.vaswani(4).table(0, 10));
        assertThat(block.getTable().requiresGradient()).isTrue();
    }

    @EngineTest
    void startsFromAnArrayAndResizesItLinearly(NDManager manager) {
        NDArray three = manager.create(new float[][] {{0, 10}, {1, 30}, {4, 20}});
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(2).optInitialEncodings(three);
        // numpy.interp(numpy.linspace(0, 2, 5), [0, 1, 2], column)
        float[][] expected = {{0, 10}, {0.5f, 20}, {1, 30}, {2.5f, 25}, {4, 20}};
        LearnedPositionalEncodingBlock longer = builder.optMaxSequenceLength(5).build();
        longer.initialize(manager, DataType.FLOAT32, new Shape(1, 2, 2));
        for (int row = 0; row < 5; row++) {
            assertThat(Arrays.copyOfRange(table(longer), 2 * row, 2 * row + 2)).isEqualTo(expected[row]);
        }
        LearnedPositionalEncodingBlock same = builder.optMaxSequenceLength(3).build();
        same.initialize(manager, DataType.FLOAT32, new Shape(1, 2, 2));
        assertThat(table(same)).isEqualTo(three.toFloatArray());
        LearnedPositionalEncodingBlock shorter = builder.optMaxSequenceLength(2).build();
        shorter.initialize(manager, DataType.FLOAT32, new Shape(1, 2, 2));
        assertThat(table(shorter)).containsExactly(0, 10, 4, 20);
        LearnedPositionalEncodingBlock one = builder.optMaxSequenceLength(1).build();
        one.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 2));
        assertThat(table(one)).containsExactly(0, 10);
        LearnedPositionalEncodingBlock fromOne = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(2)
                .optMaxSequenceLength(2)
                .optInitialEncodings(manager.create(new double[] {0.1, 4}, new Shape(1, 1, 2)))
                .build();
        fromOne.initialize(manager, DataType.FLOAT64, new Shape(1, 1, 2));
        assertThat(fromOne.getTable().getArray().toDoubleArray()).containsExactly(0.1, 4, 0.1, 4);
    }

    @EngineTest
    void keepsTheDataTypeOfItsInputOrSaysWhatTheEngineCannot(Engine engine, NDManager manager) {
        LearnedPositionalEncodingBlock doubles = builder().build();
        doubles.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 4));
        assertThat(Forward.infer(manager, doubles, manager.zeros(new Shape(1, 3, 4), DataType.FLOAT64))
                        .getDataType())
                .isEqualTo(DataType.FLOAT64);
        LearnedPositionalEncodingBlock halves = builder().build();
        if (engine.getEngineName().equals("MXNet")) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> halves.initialize(manager, DataType.FLOAT16, new Shape(1, 3, 4)))
                    .withMessageContaining("MXNet cannot make the learned table in float16");
            return;
        }
        halves.initialize(manager, DataType.FLOAT16, new Shape(1, 3, 4));
        assertThat(Forward.infer(manager, halves, manager.zeros(new Shape(1, 3, 4), DataType.FLOAT16))
                        .getDataType())
                .isEqualTo(DataType.FLOAT16);
    }

    @Test
    void printsItsSettings() {
        assertThat(builder().build())
                .hasToString("LearnedPositionalEncodingBlock(embeddingSize=4, maxSequenceLength=10, addToInput=true,"
                        + " sequenceAxis=-2, dropoutRate=0.0)");
    }

    @EngineTest
    void leavesNoArrayOfAGivenView(NDManager manager) {
        NDArray wide = manager.arange(24f).reshape(6, 4).toType(DataType.FLOAT64, true);
        NDArray columns = wide.get(":, 1:3");
        int before = manager.getManagedArrays().size();
        LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(2)
                .optInitialEncodings(columns)
                .build();
        assertThat(manager.getManagedArrays()).hasSize(before);
    }

    @EngineTest
    void aBuilderBuildsWhatItWasGivenLast(NDManager manager) {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(2);
        for (int length : new int[] {3, 5}) {
            assertThat(builder.optInitialEncodings(manager.ones(new Shape(length, 2)))
                            .build()
                            .getMaxSequenceLength())
                    .isEqualTo(length);
        }
    }
}
