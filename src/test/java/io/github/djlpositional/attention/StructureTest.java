package io.github.djlpositional.attention;

import static io.github.djlpositional.Forward.infer;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.TestBlocks;
import io.github.djlpositional.relative.EncodingType;
import java.util.List;

/** Mistakes that the structure of a call shows, and the correct programs beside them. */
class StructureTest {

    private static MultiHeadAttentionBlock attention(NDManager manager, EncodingType type, boolean isCausal) {
        return filled(manager, type.attention(HEADS).optCausal(isCausal).build(), DataType.FLOAT64);
    }

    private static NDArray x(NDManager manager, long batch, long length) {
        return numbers(manager, 1, DataType.FLOAT64, batch, length, SIZE);
    }

    /** The first output. */
    private static NDArray forward(NDManager manager, Block block, PairList<String, Object> params, NDList inputs) {
        return block.forward(new ParameterStore(manager, false), inputs, false, params)
                .head();
    }

    @EngineTest(Selection.EACH)
    void aForwardParameterIsGivenOnce(NDManager manager, TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList input = kind.numbers(manager);
        for (String name : List.of(
                PositionalEncodingBlock.START_POSITION,
                PositionalEncodingBlock.POSITIONS,
                KeyValueCache.KEY,
                "gridSizes")) {
            PairList<String, Object> twice = Forward.params(name, 0);
            twice.add(name, 0);
            refused(() -> forward(manager, block, twice, input), name, "twice", "new list");
        }
        PairList<String, Object> own = Forward.params("temperature", 0);
        own.add("temperature", 1);
        assertThat(forward(manager, block, own, input)).isEqualTo(kind.infer(manager, block, input));
    }

    @EngineTest
    void aListOfParametersIsNewForEachCall(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, EncodingType.ROTARY, true);
        NDArray x = x(manager, 1, 3);
        NDArray positions = manager.create(new int[] {0, 4, 5});
        NDArray expected = infer(manager, block, Forward.params(PositionalEncodingBlock.POSITIONS, positions), x);
        PairList<String, Object> used = new PairList<>();
        for (int call = 0; call < 2; call++) {
            assertThat(infer(manager, block, Forward.params(PositionalEncodingBlock.POSITIONS, positions), x))
                    .isEqualTo(expected);
            used.add(PositionalEncodingBlock.POSITIONS, positions);
        }
        refused(() -> infer(manager, block, used, x), "positions", "twice");
        used.remove(PositionalEncodingBlock.POSITIONS);
        assertThat(infer(manager, block, used, x)).isEqualTo(expected);
    }

    @EngineTest(Selection.EACH)
    void theStartPositionIsAnIntegerOrALong(NDManager manager, TestBlocks kind) {
        Block block = kind.initialized(manager);
        NDList input = kind.numbers(manager);
        for (Object start : new Object[] {1.5, 1f, "3", (short) 1, new int[0], manager.create(1)}) {
            refused(
                    () -> forward(manager, block, Forward.params("startPosition", start), input),
                    "startPosition",
                    start.getClass().getSimpleName(),
                    "an Integer or a Long");
        }
        for (Object start : new Object[] {0, 0L}) {
            assertThat(forward(manager, block, Forward.params("startPosition", start), input))
                    .isEqualTo(kind.infer(manager, block, input));
        }
    }

    @EngineTest
    void stepsAreAllOfOneKind(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, EncodingType.NONE, true);
        NDArray x = x(manager, 1, 5);
        NDArray queries = x.duplicate();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x, queries.get(":, :2"), x);
            refused(() -> infer(manager, block, cache.nextStep(), x.get(":, 2:")), "[x]", "position 2", "other arrays");
            cache.clear();
            infer(manager, block, cache.nextStep(), x.get(":, :2"));
            NDArray last = x.get(":, 2:");
            refused(
                    () -> infer(manager, block, cache.nextStep(), last, queries.get(":, 2:"), last),
                    "3 tokens at position 2",
                    "expected [x]");
            assertThat(cache.getLength()).isEqualTo(2);
        }
    }

    /** Earlier chunks do not see a new one in any case. */
    @EngineTest
    void chunksInBothDirectionsFollowEachOther(NDManager manager) {
        MultiHeadAttentionBlock block = filled(
                manager, EncodingType.ALIBI.attention(HEADS).optChunkSize(2).build(), DataType.FLOAT64);
        NDArray x = x(manager, 1, 6);
        NDArray whole = infer(manager, block, x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int[] step : new int[][] {{0, 2}, {2, 5}}) {
                NDArray y = infer(manager, block, cache.nextStep(), x.get(":, {}:{}", step[0], step[1]));
                requireClose(y.get(":, :2"), doubles(whole.get(":, {}:{}", step[0], step[0] + 2)), 1e-12);
            }
            refused(() -> infer(manager, block, cache.nextStep(), x.get(":, 4:")), "2 tokens at position 5");
        }
    }

    @EngineTest
    void aTableMayBeTied(NDManager manager) {
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(SIZE)
                .optNoPositions()
                .build();
        input.initialize(manager, DataType.FLOAT64, new Shape(1, 3));
        InputEmbeddingBlock tied = InputEmbeddingBlock.builder()
                .setVocabularySize(7)
                .setEmbeddingSize(SIZE)
                .optTokenEmbedding(input)
                .optNoPositions()
                .build();
        NDArray ids = manager.create(new long[][] {{1, 1, 2}});
        NDArray vectors = infer(manager, input, ids);
        assertThat(infer(manager, tied, ids)).isEqualTo(vectors);
        NDArray logits = vectors.matMul(input.getTokenTable().getArray().transpose());
        assertThat(logits.getShape()).isEqualTo(new Shape(1, 3, 7));
    }
}
