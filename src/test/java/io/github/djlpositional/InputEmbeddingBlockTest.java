package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class InputEmbeddingBlockTest {

    private static InputEmbeddingBlock.Builder builder() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10);
    }

    private static InputEmbeddingBlock initialized(NDManager manager, InputEmbeddingBlock block) {
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        return block;
    }

    private static NDArray ids(NDManager manager) {
        return manager.create(new long[] {1, 0, 6, 3, 3, 0}, new Shape(2, 3));
    }

    /** Row r of a token table (7, 4), with each value's factor, and the position's encoding added in float. */
    private static float[] expected(float[] table, long[] ids, float factor) {
        float[] expected = new float[ids.length * 4];
        float[] positions = SinusoidalEncoding.vaswani(4).table(0, 3);
        for (int i = 0; i < ids.length; i++) {
            for (int d = 0; d < 4; d++) {
                expected[i * 4 + d] = table[(int) ids[i] * 4 + d] * factor + positions[i % 3 * 4 + d];
            }
        }
        return expected;
    }

    @EngineTest
    void looksUpTokensAndAddsPositions(NDManager manager) {
        InputEmbeddingBlock block = initialized(manager, builder().build());
        NDArray y = Forward.infer(manager, block, ids(manager));
        assertThat(y.getShape()).isEqualTo(new Shape(2, 3, 4));
        float[] table = block.getTokenTable().getArray().toFloatArray();
        assertThat(y.toFloatArray()).isEqualTo(expected(table, ids(manager).toLongArray(), 1));
    }

    @EngineTest
    void scalesTokensByTheRootOfTheSize(NDManager manager) {
        InputEmbeddingBlock block =
                initialized(manager, builder().optScaleEmbedding(true).build());
        float[] table = block.getTokenTable().getArray().toFloatArray();
        assertThat(Forward.infer(manager, block, ids(manager)).toFloatArray())
                .isEqualTo(expected(table, ids(manager).toLongArray(), 2));
    }

    @EngineTest
    void takesIdsOfEveryIntegerType(NDManager manager) {
        InputEmbeddingBlock block = initialized(manager, builder().build());
        float[] expected = Forward.infer(manager, block, ids(manager)).toFloatArray();
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT8, DataType.UINT8}) {
            assertThat(Forward.infer(manager, block, ids(manager).toType(type, true))
                            .toFloatArray())
                    .isEqualTo(expected);
        }
    }

    @EngineTest
    void hasTheModelsDataType(NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            InputEmbeddingBlock block =
                    builder().optPaddingIndex(0).optScaleEmbedding(true).build();
            block.initialize(manager, type, new Shape(2, 3));
            assertThat(Forward.infer(manager, block, ids(manager)).getDataType())
                    .isEqualTo(type);
        }
    }

    @EngineTest
    void computesInHalfPrecision(NDManager manager) {
        InputEmbeddingBlock block = builder()
                .optPaddingIndex(0)
                .optScaleEmbedding(true)
                .optTokenEmbedding(
                        LambdaBlock.singleton(x -> x.expandDims(2).repeat(2, 4).toType(DataType.FLOAT16, false)))
                .build();
        NDArray y = Forward.infer(manager, block, ids(manager));
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        float[] exact = SinusoidalEncoding.vaswani(4).table(0, 3);
        float[] values = y.toType(DataType.FLOAT32, false).toFloatArray();
        for (int i = 0; i < values.length; i++) {
            float token = 2 * ids(manager).toLongArray()[i / 4];
            // two roundings to half: of the position and of the sum, each to half an ulp of at most 16
            assertThat(Math.abs(values[i] - token - exact[i % 12])).isLessThanOrEqualTo(0.0045f);
        }
    }

    @EngineTest
    void tokenTableInHalfPrecisionIsMadeOrRefused(Engine engine, NDManager manager) {
        InputEmbeddingBlock block =
                builder().optPaddingIndex(0).optScaleEmbedding(true).build();
        if (engine.getEngineName().equals("MXNet")) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> block.initialize(manager, DataType.FLOAT16, new Shape(2, 3)))
                    .withMessageContaining("MXNet cannot make the token table in float16")
                    .withMessageContaining("use float32 or float64");
            return;
        }
        block.initialize(manager, DataType.FLOAT16, new Shape(2, 3));
        assertThat(block.getTokenTable().getArray().getDataType()).isEqualTo(DataType.FLOAT16);
        assertThat(Forward.infer(manager, block, ids(manager)).getDataType()).isEqualTo(DataType.FLOAT16);
    }

    @EngineTest
    void handsPositionsOn(NDManager manager) {
        InputEmbeddingBlock block = initialized(manager, builder().build());
        NDArray whole = Forward.infer(manager, block, ids(manager));
        NDArray last = ids(manager).get(":, 2:3");
        assertThat(Forward.inferFrom(manager, 2, block, last).toFloatArray())
                .isEqualTo(whole.get(":, 2:3").toFloatArray());
        assertThat(Forward.infer(manager, block, last, manager.create(new int[] {2}))
                        .toFloatArray())
                .isEqualTo(whole.get(":, 2:3").toFloatArray());
    }

    @EngineTest
    void emptySequenceComesBackEmpty(NDManager manager) {
        InputEmbeddingBlock block = initialized(
                manager, builder().optPaddingIndex(0).optScaleEmbedding(true).build());
        for (Shape shape : new Shape[] {new Shape(2, 0), new Shape(0, 3)}) {
            NDArray y = Forward.infer(manager, block, manager.create(shape, DataType.INT64));
            assertThat(y.getShape()).isEqualTo(shape.add(4));
            assertThat(y.getDataType()).isEqualTo(DataType.FLOAT32);
        }
    }

    @EngineTest
    void takesAnyTokenEmbedding(NDManager manager) {
        Block token = new SequentialBlock()
                .add(LambdaBlock.singleton(
                        x -> x.toType(DataType.FLOAT32, false).expandDims(2)))
                .add(Linear.builder().setUnits(4).build());
        InputEmbeddingBlock block =
                initialized(manager, builder().optTokenEmbedding(token).build());
        assertThat(block.getTokenEmbedding()).isSameAs(token);
        NDArray y = Forward.infer(manager, block, ids(manager));
        NDArray tokens = Forward.infer(manager, token, ids(manager));
        float[] positions = SinusoidalEncoding.vaswani(4).table(0, 3);
        NDArray difference = y.sub(manager.create(positions, new Shape(1, 3, 4)));
        assertThat(difference.sub(tokens).abs().max().getFloat()).isLessThan(1e-6f);
    }

    @EngineTest
    void neverWritesToWhatAGivenEmbeddingReturns(NDManager manager) {
        NDArray held = manager.ones(new Shape(2, 3, 4));
        for (boolean scale : new boolean[] {false, true}) {
            InputEmbeddingBlock block = initialized(
                    manager,
                    builder()
                            .optScaleEmbedding(scale)
                            .optTokenEmbedding(LambdaBlock.singleton(ids -> held))
                            .build());
            Forward.infer(manager, block, ids(manager));
            assertThat(held.toFloatArray()).containsOnly(1f);
        }
    }

    @EngineTest
    void neverWritesToItsTable(NDManager manager) {
        InputEmbeddingBlock block =
                initialized(manager, builder().optScaleEmbedding(true).build());
        float[] table = block.getTokenTable().getArray().toFloatArray();
        float[] first = Forward.infer(manager, block, ids(manager)).toFloatArray();
        assertThat(Forward.infer(manager, block, ids(manager)).toFloatArray()).isEqualTo(first);
        assertThat(block.getTokenTable().getArray().toFloatArray()).isEqualTo(table);
    }

    @EngineTest
    void gradientsHaveTheScaleWhetherOrNotItIsAppliedInPlace(NDManager manager) {
        InputEmbeddingBlock block =
                initialized(manager, builder().optScaleEmbedding(true).build());
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(new ParameterStore(manager, false), new NDList(ids(manager)), true)
                    .singletonOrThrow();
            collector.backward(y.sum());
        }
        // ids 0 and 3 occur twice, 1 and 6 once; the scale is 2
        float[] gradient = block.getTokenTable().getArray().getGradient().toFloatArray();
        float[] expected = {4, 2, 0, 4, 0, 0, 2};
        for (int i = 0; i < gradient.length; i++) {
            assertThat(gradient[i]).isEqualTo(expected[Math.floorDiv(i, 4)]);
        }
    }

    @EngineTest
    void takesAnyPositionalEncoding(NDManager manager) {
        InputEmbeddingBlock none = initialized(
                manager,
                InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPositionalEncoding(Blocks.identityBlock())
                        .build());
        float[] table = none.getTokenTable().getArray().toFloatArray();
        assertThat(Arrays.copyOf(Forward.infer(manager, none, ids(manager)).toFloatArray(), 4))
                .isEqualTo(Arrays.copyOfRange(table, 4, 8));
    }

    @EngineTest
    void twoCanShareOnePositionalEncoding(NDManager manager) {
        PositionalEncodingBlock shared =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        InputEmbeddingBlock[] blocks = new InputEmbeddingBlock[2];
        for (int i = 0; i < 2; i++) {
            blocks[i] = initialized(
                    manager,
                    InputEmbeddingBlock.builder()
                            .setVocabularySize(7 + i)
                            .setEmbeddingSize(4)
                            .optPositionalEncoding(shared)
                            .build());
        }
        NDArray table = shared.getEncodings();
        for (InputEmbeddingBlock block : blocks) {
            Forward.infer(manager, block, ids(manager));
        }
        assertThat(shared.getEncodings()).isSameAs(table);
    }

    /** One step of training: the sum of the output, weighted so that every gradient differs. */
    private static void step(NDManager manager, InputEmbeddingBlock block, ParameterStore store, Optimizer optimizer) {
        Parameter table = block.getTokenTable();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(store, new NDList(ids(manager)), true).singletonOrThrow();
            NDArray loss = y.mul(manager.arange(24f).reshape(2, 3, 4)).sum();
            collector.backward(loss);
        }
        NDArray weight = table.getArray();
        optimizer.update(table.getId(), weight, weight.getGradient());
    }

    @EngineTest
    void paddingIsZeroAndStaysZeroThroughTraining(NDManager manager) {
        for (Optimizer optimizer : new Optimizer[] {
            Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.1f)).build(),
            Optimizer.sgd()
                    .setLearningRateTracker(Tracker.fixed(0.1f))
                    .optMomentum(0.9f)
                    .optWeightDecays(0.1f)
                    .build()
        }) {
            InputEmbeddingBlock block = builder().optPaddingIndex(0).build();
            block.setInitializer(new NormalInitializer(1), Parameter.Type.WEIGHT);
            initialized(manager, block);
            float[] before = block.getTokenTable().getArray().toFloatArray();
            assertThat(Arrays.copyOf(before, 4)).containsOnly(0);
            ParameterStore store = new ParameterStore(manager, false);
            for (int i = 0; i < 5; i++) {
                step(manager, block, store, optimizer);
            }
            float[] after = block.getTokenTable().getArray().toFloatArray();
            assertThat(Arrays.copyOf(after, 4)).containsOnly(0);
            // token 1 has learned
            assertThat(Arrays.copyOfRange(after, 4, 8)).isNotEqualTo(Arrays.copyOfRange(before, 4, 8));
        }
    }

    @EngineTest
    void paddingIsZeroWhateverItsRowHolds(NDManager manager) {
        InputEmbeddingBlock block =
                initialized(manager, builder().optPaddingIndex(0).build());
        block.getTokenTable().getArray().set(new NDIndex("0"), 5);
        float[] y = Forward.infer(manager, block, ids(manager)).toFloatArray();
        // ids[0][1] is padding, at position 1
        assertThat(Arrays.copyOfRange(y, 4, 8))
                .isEqualTo(SinusoidalEncoding.vaswani(4).table(1, 1));
    }

    @EngineTest
    void paddingIsComparedInAWideType(NDManager manager) {
        // 256 does not fit in a byte: there it would be 0
        InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                .setVocabularySize(257)
                .setEmbeddingSize(4)
                .optPaddingIndex(256)
                .build();
        initialized(manager, block);
        NDArray bytes = manager.create(new long[] {0, 1}, new Shape(1, 2)).toType(DataType.UINT8, true);
        float[] y = Forward.infer(manager, block, bytes).toFloatArray();
        float[] table = block.getTokenTable().getArray().toFloatArray();
        float[] positions = SinusoidalEncoding.vaswani(4).table(0, 2);
        for (int i = 0; i < 8; i++) {
            assertThat(y[i]).isEqualTo(table[i] + positions[i]);
        }
    }

    private static InputEmbeddingBlock fromPadding(NDManager manager, int padding, int first) {
        return initialized(
                manager,
                builder()
                        .optPaddingIndex(padding)
                        .optPositionsFromPadding(first)
                        .build());
    }

    @EngineTest
    void positionsFromPaddingCountTokensAlone(NDManager manager) {
        // fairseq: with padding index 1 the first token is at position 2, and padding is zero
        InputEmbeddingBlock block = fromPadding(manager, 1, 2);
        float[] table = block.getTokenTable().getArray().toFloatArray();
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        int[][] sentences = {{5, 6, 0, 1, 1}, {1, 1, 5, 6, 0}, {1, 5, 1, 6, 0}, {1, 1, 1, 1, 1}};
        for (DataType type : new DataType[] {DataType.INT64, DataType.INT32, DataType.UINT8}) {
            float[] y = Forward.infer(manager, block, manager.create(sentences).toType(type, false))
                    .toFloatArray();
            for (int row = 0; row < 4; row++) {
                int position = 2;
                for (int step = 0; step < 5; step++) {
                    int id = sentences[row][step];
                    for (int d = 0; d < 4; d++) {
                        float expected = id == 1 ? 0 : table[id * 4 + d] + (float) encoding.value(position, d);
                        assertThat(y[(row * 5 + step) * 4 + d]).isEqualTo(expected);
                    }
                    position += id == 1 ? 0 : 1;
                }
            }
        }
    }

    @EngineTest
    void positionsFromPaddingWorkWithALearnedTable(NDManager manager) {
        InputEmbeddingBlock block = initialized(
                manager,
                InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPaddingIndex(0)
                        .optPositionsFromPadding(0)
                        .optPositionalEncoding(LearnedPositionalEncodingBlock.builder()
                                .setEmbeddingSize(4)
                                .optMaxSequenceLength(5)
                                .build())
                        .build());
        NDArray left = Forward.infer(manager, block, manager.create(new int[][] {{0, 0, 3, 4}}));
        NDArray right = Forward.infer(manager, block, manager.create(new int[][] {{3, 4, 0, 0}}));
        assertThat(left.get(":, 2:").toFloatArray())
                .isEqualTo(right.get(":, :2").toFloatArray());
        assertThat(left.get(":, :2").abs().max().getFloat()).isZero();
    }

    @EngineTest
    void timeMajorIdsCountTheirPositionsDownTheFirstAxis(NDManager manager) {
        InputEmbeddingBlock timeMajor = initialized(
                manager,
                InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPaddingIndex(0)
                        .optPositionsFromPadding(1)
                        .optPositionalEncoding(PositionalEncodingBlock.builder()
                                .setEmbeddingSize(4)
                                .optSequenceAxis(0)
                                .build())
                        .build());
        InputEmbeddingBlock batchMajor = initialized(
                manager,
                InputEmbeddingBlock.builder()
                        .setVocabularySize(7)
                        .setEmbeddingSize(4)
                        .optPaddingIndex(0)
                        .optPositionsFromPadding(1)
                        .optPositionalEncoding(PositionalEncodingBlock.builder()
                                .setEmbeddingSize(4)
                                .build())
                        .build());
        float[] tokens = timeMajor.getTokenTable().getArray().toFloatArray();
        batchMajor.getTokenTable().getArray().set(tokens);
        NDArray ids = manager.create(new int[][] {{5, 0}, {6, 3}, {0, 4}});
        assertThat(Forward.infer(manager, timeMajor, ids).toFloatArray())
                .isEqualTo(Forward.infer(manager, batchMajor, ids.transpose())
                        .transpose(1, 0, 2)
                        .toFloatArray());
    }

    @EngineTest
    void emptySequenceWithPositionsFromPaddingComesBackEmpty(NDManager manager) {
        InputEmbeddingBlock block = fromPadding(manager, 0, 1);
        NDArray y = Forward.infer(manager, block, manager.create(new Shape(2, 0), DataType.INT64));
        assertThat(y.getShape()).isEqualTo(new Shape(2, 0, 4));
    }

    @EngineTest
    void paddingRowStartsAsZerosWhenInitializedWhileGradientsAreRecorded(NDManager manager) {
        InputEmbeddingBlock block = builder().optPaddingIndex(2).build();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            assertThat(collector).isNotNull();
            block.forward(new ParameterStore(manager, false), new NDList(ids(manager)), true);
        }
        assertThat(block.getTokenTable().getArray().get("2").toFloatArray()).containsOnly(0);
    }

    @EngineTest
    void gradientsReachTheRowsInUse(NDManager manager) {
        InputEmbeddingBlock block = initialized(manager, builder().build());
        Parameter table = block.getTokenTable();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(new ParameterStore(manager, false), new NDList(ids(manager)), true)
                    .singletonOrThrow();
            collector.backward(y.sum());
        }
        float[] gradient = table.getArray().getGradient().toFloatArray();
        // ids: 0 and 3 twice, 1 and 6 once
        float[] times = {2, 1, 0, 2, 0, 0, 1};
        for (int i = 0; i < gradient.length; i++) {
            assertThat(gradient[i]).isEqualTo(times[i / 4]);
        }
    }

    @EngineTest
    void sparseGradientsAreTheDenseOnesOrRefused(Engine engine, NDManager manager) {
        InputEmbeddingBlock block =
                initialized(manager, builder().optSparseGradients(true).build());
        ParameterStore store = new ParameterStore(manager, false);
        if (engine.getEngineName().equals("MXNet")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> block.forward(store, new NDList(ids(manager)), true))
                    .withMessageContaining("MXNet has dense ones alone")
                    .withMessageContaining("without optSparseGradients(true)");
            return;
        }
        Parameter table = block.getTokenTable();
        NDArray weight = table.getArray();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(block.forward(store, new NDList(ids(manager)), true)
                    .singletonOrThrow()
                    .sum());
        }
        NDArray gradient = weight.getGradient();
        assertThat(gradient.isSparse()).isTrue();
        float[] values = gradient.toDense().toFloatArray();
        float[] times = {2, 1, 0, 2, 0, 0, 1};
        for (int i = 0; i < values.length; i++) {
            assertThat(values[i]).isEqualTo(times[i / 4]);
        }
    }

    @EngineTest
    void tiedOutputLayerSharesTheTable(NDManager manager) {
        InputEmbeddingBlock block = initialized(manager, builder().build());
        ParameterStore store = new ParameterStore(manager, false);
        NDArray hidden = Forward.infer(manager, block, ids(manager));
        NDArray table = store.getValue(block.getTokenTable(), hidden.getDevice(), false);
        assertThat(hidden.matMul(table.transpose()).getShape()).isEqualTo(new Shape(2, 3, 7));
        assertThat(table).isSameAs(block.getTokenTable().getArray());
    }

    @EngineTest
    void dropsOutInTrainingAlone(NDManager manager) {
        InputEmbeddingBlock block = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(256)
                .optDropoutRate(0.9f)
                .build();
        initialized(manager, block);
        assertThat(Forward.infer(manager, block, ids(manager)).toFloatArray())
                .isEqualTo(Forward.infer(manager, block, ids(manager)).toFloatArray());
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            assertThat(collector).isNotNull();
            float[] y = block.forward(new ParameterStore(manager, false), new NDList(ids(manager)), true)
                    .singletonOrThrow()
                    .toFloatArray();
            int dropped = 0;
            for (float value : y) {
                dropped += value == 0 ? 1 : 0;
            }
            // 1536 draws at 0.9: seven standard deviations are 0.054
            assertThat((double) dropped / y.length).isBetween(0.846, 0.954);
        }
    }

    @Test
    void describesItsOutputShape() {
        InputEmbeddingBlock block = builder().build();
        assertThat(block.getOutputShapes(new Shape[] {new Shape(2, 3)})).containsExactly(new Shape(2, 3, 4));
    }

    @Test
    void printsItsSettings() {
        assertThat(builder().optPaddingIndex(0).build().toString())
                .startsWith("InputEmbeddingBlock(vocabularySize=7, embeddingSize=4, scaleEmbedding=false,"
                        + " paddingIndex=0, positionsFromPadding=none, positionalEncoding=PositionalEncodingBlock,"
                        + " tokenEmbedding=TokenEmbedding, sparseGradients=false, dropoutRate=0.0) with"
                        + " PositionalEncodingBlock(encoding=")
                .contains("maxSequenceLength=10");
    }
}
