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
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.Arrays;
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
    void severalTokensFollowOnlyInOrder(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, false);
        NDArray x = x(manager, 2, 5);
        NDArray tokens = manager.ones(new Shape(2, 5));
        NDArray ofKeys = manager.ones(new Shape(2, 1, 1, 5)).neq(0);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :3"));
            NDArray next = x.get(":, 3:");
            for (NDArray[] inputs : new NDArray[][] {{next}, {next, tokens}, {next, ofKeys}}) {
                refused(
                        () -> infer(manager, block, cache.nextStep(), inputs),
                        "2 tokens at position 3",
                        "not causal",
                        "optCausal(true)",
                        "(B, 2, 5)");
            }
            assertThat(cache.getLength()).isEqualTo(3);
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

    /** The prompt sees itself in both directions, and each later token what is before it. */
    @EngineTest
    void aPrefixLanguageModelTakesStepsOfOneToken(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, false);
        NDArray x = x(manager, 1, 5);
        double[] whole = new NaiveAttention(type, block).forward(0, x, x, x, (i, j) -> j <= Math.max(i, 2));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int[] step : new int[][] {{0, 3}, {3, 4}, {4, 5}}) {
                NDArray y = infer(manager, block, cache.nextStep(), x.get(":, {}:{}", step[0], step[1]));
                double[] expected = Arrays.copyOfRange(whole, step[0] * SIZE, step[1] * SIZE);
                requireClose(y, expected, 1e-12);
            }
        }
    }

    @EngineTest
    void causalityMayBeAMask(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock block = attention(manager, type, false);
        MultiHeadAttentionBlock causal = attention(manager, type, true);
        NDArray x = x(manager, 1, 5);
        NDArray earlier =
                manager.arange(5f).expandDims(0).lte(manager.arange(5f).expandDims(1));
        try (KeyValueCache cache = new KeyValueCache(manager);
                KeyValueCache ofCausal = new KeyValueCache(manager)) {
            for (int[] step : new int[][] {{0, 2}, {2, 4}, {4, 5}}) {
                NDArray tokens = x.get(":, {}:{}", step[0], step[1]);
                NDArray mask =
                        earlier.get("{}:{}, :{}", step[0], step[1], step[1]).expandDims(0);
                NDArray expected = infer(manager, causal, ofCausal.nextStep(), tokens);
                requireClose(infer(manager, block, cache.nextStep(), tokens, mask), doubles(expected), 1e-12);
            }
        }
    }

    @EngineTest
    void stepsOverAnEncodersOutputNeedNoOrder(NDManager manager, EncodingType type) {
        MultiHeadAttentionBlock self = attention(manager, type, true);
        MultiHeadAttentionBlock cross = attention(manager, EncodingType.NONE, false);
        NDArray memory = numbers(manager, 7, DataType.FLOAT64, 1, 4, SIZE);
        NDArray x = x(manager, 1, 5);
        NDArray whole = infer(manager, cross, memory, infer(manager, self, x), memory);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int[] step : new int[][] {{0, 2}, {2, 5}}) {
                PairList<String, Object> params = cache.nextStep();
                NDArray y = infer(manager, self, params, x.get(":, {}:{}", step[0], step[1]));
                NDArray z = infer(manager, cross, params, memory, y, memory);
                requireClose(z, doubles(whole.get(":, {}:{}", step[0], step[1])), 1e-12);
            }
        }
    }

    /** A step that leaves the stack early is dropped, and taken again through all layers. */
    @EngineTest
    void aStepMayLeaveAStackEarly(NDManager manager) {
        TransformerStackBlock stack = TransformerStackBlock.builder()
                .setLayers(
                        2,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(EncodingType.ROTARY
                                        .attention(HEADS)
                                        .optCausal(true)
                                        .build())
                                .setHiddenSize(8))
                .build();
        filled(manager, stack, DataType.FLOAT64);
        NDArray x = x(manager, 1, 4);
        NDArray whole = infer(manager, stack, x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, stack, cache.nextStep(), x.get(":, :2"));
            infer(manager, stack.getLayers().get(0), cache.nextStep(), x.get(":, 2:3"));
            assertThat(cache.getLength()).isEqualTo(2);
            for (int at = 2; at < 4; at++) {
                NDArray y = infer(manager, stack, cache.nextStep(), x.get(":, {}:{}", at, at + 1));
                requireClose(y, doubles(whole.get(":, {}:{}", at, at + 1)), 1e-12);
            }
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
