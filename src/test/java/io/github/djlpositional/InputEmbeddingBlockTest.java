package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.ids;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;

class InputEmbeddingBlockTest {

    private static final SinusoidalEncoding ENCODING = SinusoidalEncoding.vaswani(4);

    private static InputEmbeddingBlock initialized23(NDManager manager, InputEmbeddingBlock.Builder builder) {
        return initialized(manager, builder.build(), 2, 3);
    }

    private static float[] table(InputEmbeddingBlock block) {
        return block.getTokenTable().getArray().toFloatArray();
    }

    private static float[] infer(NDManager manager, Block block) {
        return Forward.infer(manager, block, ids(manager)).toFloatArray();
    }

    /** Expects the rows of the token table, times a factor, plus the positions. */
    private static void assertOutput(NDManager manager, InputEmbeddingBlock block, float factor) {
        float[] tokens = table(block);
        float[] positions = ENCODING.table(0, 3);
        long[] ids = ids(manager).toLongArray();
        float[] expected = new float[24];
        for (int i = 0; i < expected.length; i++) {
            expected[i] = tokens[(int) ids[i / 4] * 4 + i % 4] * factor + positions[i % 12];
        }
        assertThat(infer(manager, block)).isEqualTo(expected);
    }

    @EngineTest
    void looksUpTokensOfEveryIntegerTypeAndAddsPositions(NDManager manager) {
        InputEmbeddingBlock block = initialized23(manager, embedding());
        assertThat(block.getOutputShapes(new Shape[] {new Shape(2, 3)})).containsExactly(new Shape(2, 3, 4));
        assertOutput(manager, block, 1);
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT8, DataType.UINT8}) {
            NDArray y = Forward.infer(manager, block, ids(manager).toType(type, true));
            assertThat(y.getShape()).isEqualTo(new Shape(2, 3, 4));
            assertThat(y.toFloatArray()).isEqualTo(infer(manager, block));
        }
    }

    @EngineTest
    void scalesTokensWithoutWritingToTheTable(NDManager manager) {
        InputEmbeddingBlock block =
                initialized23(manager, embedding().optScaleEmbedding(true).optPaddingIndex(0));
        float[] table = table(block);
        assertOutput(manager, block, 2);
        assertThat(table(block)).isEqualTo(table);
    }

    @EngineTest
    void computesInHalfPrecision(NDManager manager) {
        InputEmbeddingBlock block = embedding()
                .optPaddingIndex(0)
                .optScaleEmbedding(true)
                .optTokenEmbedding(
                        LambdaBlock.singleton(x -> x.expandDims(2).repeat(2, 4).toType(DataType.FLOAT16, false)))
                .build();
        NDArray y = Forward.infer(manager, block, ids(manager));
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        float[] exact = ENCODING.table(0, 3);
        float[] values = y.toType(DataType.FLOAT32, false).toFloatArray();
        for (int i = 0; i < values.length; i++) {
            float token = 2 * ids(manager).toLongArray()[i / 4];
            // two roundings to half: of the position and of the sum, each to half an ulp of at most 16
            assertThat(Math.abs(values[i] - token - exact[i % 12])).isLessThanOrEqualTo(0.0045f);
        }
    }

    @EngineTest
    void usesAGivenTokenEmbeddingAndNeverWritesToItsOutput(NDManager manager, boolean scale) {
        NDArray held = manager.ones(new Shape(2, 3, 4));
        Block token = LambdaBlock.singleton(ids -> held);
        InputEmbeddingBlock block =
                initialized23(manager, embedding().optScaleEmbedding(scale).optTokenEmbedding(token));
        assertThat(block.getChildren().values()).contains(token);
        float[] y = infer(manager, block);
        float[] positions = ENCODING.table(0, 3);
        for (int i = 0; i < y.length; i++) {
            assertThat(y[i]).isEqualTo((scale ? 2 : 1) + positions[i % 12]);
        }
        assertThat(held.toFloatArray()).containsOnly(1f);
    }

    @EngineTest
    void sharesAPositionalEncodingWithAnother(NDManager manager) {
        PositionalEncodingBlock shared = positions().build();
        infer(manager, initialized23(manager, embedding().optPositionalEncoding(shared)));
        NDArray table = shared.getEncodings();
        infer(manager, initialized23(manager, embedding().setVocabularySize(8).optPositionalEncoding(shared)));
        assertThat(shared.getEncodings()).isSameAs(table);
    }

    /** Expects the gradients of the sum of a forward's output: how often each id occurs, times a factor. */
    private static void assertGradients(NDManager manager, InputEmbeddingBlock block, int... expected) {
        SmallBlocks.train(manager, block, manager.ones(new Shape(2, 3, 4)), ids(manager));
        NDArray gradient = block.getTokenTable().getArray().getGradient();
        float[] values = gradient.toFloatArray();
        for (int i = 0; i < values.length; i++) {
            assertThat(values[i]).isEqualTo(expected[i / 4]);
        }
    }

    @EngineTest
    void paddingIsZeroAndStaysZeroInTraining(NDManager manager) {
        NDArray weights = manager.arange(24f).reshape(2, 3, 4);
        for (Optimizer optimizer : new Optimizer[] {
            Optimizer.adam().optLearningRateTracker(Tracker.fixed(0.1f)).build(),
            Optimizer.sgd()
                    .setLearningRateTracker(Tracker.fixed(0.1f))
                    .optMomentum(0.9f)
                    .optWeightDecays(0.1f)
                    .build()
        }) {
            InputEmbeddingBlock block = embedding().optPaddingIndex(0).build();
            block.setInitializer(new NormalInitializer(1), Parameter.Type.WEIGHT);
            initialized(manager, block, 2, 3);
            float[] before = table(block);
            assertThat(Arrays.copyOf(before, 4)).containsOnly(0);
            NDArray weight = block.getTokenTable().getArray();
            for (int i = 0; i < 5; i++) {
                SmallBlocks.train(manager, block, weights, ids(manager));
                optimizer.update(block.getTokenTable().getId(), weight, weight.getGradient());
            }
            assertThat(Arrays.copyOf(table(block), 4)).containsOnly(0);
            // token 1 was trained
            assertThat(Arrays.copyOfRange(table(block), 4, 8)).isNotEqualTo(Arrays.copyOfRange(before, 4, 8));
        }
    }

    @EngineTest
    void paddingIsZeroForAnyValuesOfItsRow(NDManager manager) {
        InputEmbeddingBlock block = initialized23(manager, embedding().optPaddingIndex(0));
        block.getTokenTable().getArray().set(new NDIndex("0"), 5);
        // the second id is padding
        assertThat(Arrays.copyOfRange(infer(manager, block), 4, 8)).isEqualTo(ENCODING.table(1, 1));
        assertGradients(manager, block, 0, 1, 0, 2, 0, 0, 1);
    }

    @EngineTest
    void paddingRowIsZeroIfInitializedWhileGradientsAreRecorded(NDManager manager) {
        InputEmbeddingBlock block = embedding().optPaddingIndex(2).build();
        SmallBlocks.train(manager, block, manager.ones(new Shape(2, 3, 4)), ids(manager));
        assertThat(Arrays.copyOfRange(table(block), 8, 12)).containsOnly(0);
    }

    @EngineTest
    void comparesPaddingInAWideType(NDManager manager) {
        // 256 does not fit in a byte: there it would be 0
        InputEmbeddingBlock block =
                initialized23(manager, embedding().setVocabularySize(257).optPaddingIndex(256));
        NDArray longs = manager.create(new long[] {0, 1}, new Shape(1, 2));
        assertThat(Forward.infer(manager, block, longs.toType(DataType.UINT8, true)))
                .isEqualTo(Forward.infer(manager, block, longs));
        assertThat(block.mask(longs.toType(DataType.UINT8, true)).toBooleanArray())
                .containsExactly(true, true);
    }

    @EngineTest
    void positionsFromPaddingCountTokensOnly(NDManager manager) {
        // fairseq: with padding index 1 the first token is at position 2, and padding is zero
        InputEmbeddingBlock block =
                initialized23(manager, embedding().optPaddingIndex(1).optPositionsFromPadding(2));
        float[] table = table(block);
        int[][] sentences = {{5, 6, 0, 1, 1}, {1, 1, 5, 6, 0}, {1, 5, 1, 6, 0}, {1, 1, 1, 1, 1}};
        for (DataType type : new DataType[] {DataType.INT64, DataType.INT32, DataType.UINT8}) {
            float[] y = Forward.infer(manager, block, manager.create(sentences).toType(type, false))
                    .toFloatArray();
            for (int row = 0; row < 4; row++) {
                int position = 2;
                for (int step = 0; step < 5; step++) {
                    int id = sentences[row][step];
                    for (int d = 0; d < 4; d++) {
                        float expected = id == 1 ? 0 : table[id * 4 + d] + (float) ENCODING.value(position, d);
                        assertThat(y[(row * 5 + step) * 4 + d]).isEqualTo(expected);
                    }
                    position += id == 1 ? 0 : 1;
                }
            }
        }
    }

    @EngineTest
    void positionsFromPaddingZeroVectorsAndGradientsOfPadding(NDManager manager) {
        for (int factor : new int[] {1, 2}) {
            LearnedPositionalEncodingBlock positions = learned().build();
            InputEmbeddingBlock block = initialized23(
                    manager,
                    embedding()
                            .optPaddingIndex(0)
                            .optPositionsFromPadding(1)
                            .optScaleEmbedding(factor == 2)
                            .optPositionalEncoding(positions));
            block.getTokenTable().getArray().set(new NDIndex("0"), 5);
            float[] y = infer(manager, block);
            // the second and the last id are padding
            assertThat(Arrays.copyOfRange(y, 4, 8)).containsOnly(0);
            assertThat(Arrays.copyOfRange(y, 20, 24)).containsOnly(0);
            assertGradients(manager, block, 0, factor, 0, 2 * factor, 0, 0, factor);
            // both sequences have tokens at positions 1 and 2
            float[] gradient = positions.getTable().getArray().getGradient().toFloatArray();
            for (int i = 0; i < gradient.length; i++) {
                assertThat(gradient[i]).isEqualTo(i / 4 == 1 || i / 4 == 2 ? 2 : 0);
            }
        }
    }

    @EngineTest
    void countsPositionsOfTimeMajorIdsAlongTheFirstAxis(NDManager manager) {
        InputEmbeddingBlock.Builder builder = embedding().optPaddingIndex(0).optPositionsFromPadding(1);
        InputEmbeddingBlock batchMajor = initialized23(manager, builder);
        Block first = positions().optSequenceAxis(0).build();
        InputEmbeddingBlock timeMajor = initialized23(manager, builder.optPositionalEncoding(first));
        batchMajor.getTokenTable().getArray().set(table(timeMajor));
        NDArray ids = manager.create(new int[][] {{5, 0}, {6, 3}, {0, 4}});
        NDArray expected = Forward.infer(manager, batchMajor, ids.transpose()).transpose(1, 0, 2);
        assertThat(Forward.infer(manager, timeMajor, ids)).isEqualTo(expected);
    }
}
