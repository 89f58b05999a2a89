package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.MultiHeadAttentionBlock.MEMORY_POSITIONS;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.Positions;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** Cross-attentions whose keys have positions of their own; KeyValueCacheTest has those of a cache. */
@Sampled(oneIn = 2)
class MemoryPositionsTest extends OnEachEngine {

    private static final int[][] OF_QUERIES = {{3, 4, 9}, {1, 5, 2}};

    private static final int[][] OF_KEYS = {{0, 7, 2, 12, 5, 3}, {20, 1, 1, 8, 6, 4}};

    /** Positions of queries and of the memory; null for those that are left out. */
    private static PairList<String, Object> at(Object ofQueries, Object ofKeys) {
        PairList<String, Object> params = new PairList<>();
        if (ofQueries != null) {
            params.add(PositionalEncodingBlock.POSITIONS, ofQueries);
        }
        if (ofKeys != null) {
            params.add(MEMORY_POSITIONS, ofKeys);
        }
        return params;
    }

    private MultiHeadAttentionBlock attention(EncodingType type) {
        return filled(manager, type.attention(HEADS).build(), DataType.FLOAT64);
    }

    private NDArray queries(NDManager own) {
        return numbers(own, 1, DataType.FLOAT64, 2, 3, SIZE);
    }

    private NDArray keys(NDManager own) {
        return numbers(own, 2, DataType.FLOAT64, 2, 6, SIZE);
    }

    /** The formula, for two sequences; null for positions that are indices. */
    private double[] naive(EncodingType type, MultiHeadAttentionBlock block, int[][] ofQueries, int[][] ofKeys) {
        return IntStream.range(0, 2)
                .mapToObj(row -> {
                    String part = row + ":" + (row + 1);
                    NDArray k = keys(manager).get(part);
                    return new NaiveAttention(type, block)
                            .at(
                                    ofQueries == null ? null : ofQueries[row % ofQueries.length],
                                    ofKeys == null ? null : ofKeys[row % ofKeys.length])
                            .forward(0, queries(manager).get(part), k, k);
                })
                .flatMapToDouble(Arrays::stream)
                .toArray();
    }

    /** Queries and keys may be in one sequence or in each, or have indices. */
    @CartesianTest
    void areThoseOfTheFormula(
            @CartesianTest.Enum EncodingType type, @Values(booleans = {true, false}) boolean isFused) {
        MultiHeadAttentionBlock block =
                filled(manager, type.attention(HEADS).optFusedKernel(isFused).build(), DataType.FLOAT64);
        int[][] firstOfQueries = {OF_QUERIES[0]};
        int[][] firstOfKeys = {OF_KEYS[0]};
        for (int[][][] positions : new int[][][][] {
            {OF_QUERIES, OF_KEYS},
            {firstOfQueries, OF_KEYS},
            {OF_QUERIES, firstOfKeys},
            {null, OF_KEYS},
            {null, firstOfKeys}
        }) {
            double[] expected = naive(type, block, positions[0], positions[1]);
            try (NDManager own = manager.newSubManager()) {
                NDArray memory = keys(own);
                NDArray x = queries(own);
                NDArray ofQueries = positions[0] == null ? null : own.create(positions[0]);
                NDArray ofKeys = own.create(positions[1]).toType(DataType.INT64, false);
                int before = own.getManagedArrays().size();
                NDArray y = infer(own, block, at(ofQueries, ofKeys), memory, x, memory);
                assertThat(own.getManagedArrays()).as("only the result").hasSize(before + 1);
                requireClose(y, expected, 1e-12);
            }
        }
    }

    /** Whole numbers as real ones: the others of each pair may be integers. */
    @ParameterizedTest
    @EnumSource
    void mayBeRealNumbers(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type);
        NDArray memory = keys(manager);
        NDArray x = queries(manager);
        NDArray ofQueries = manager.create(OF_QUERIES);
        NDArray ofKeys = manager.create(OF_KEYS);
        NDArray realQueries = ofQueries.toType(DataType.FLOAT64, false);
        NDArray realKeys = ofKeys.toType(DataType.FLOAT32, false);
        for (PairList<String, Object> params :
                List.of(at(realQueries, realKeys), at(ofQueries, realKeys), at(realQueries, ofKeys))) {
            if (type.takesRealPositions()) {
                double[] expected = naive(type, block, OF_QUERIES, OF_KEYS);
                requireClose(infer(manager, block, params, memory, x, memory), expected, 1e-12);
            } else {
                assertAll(rejected(() -> infer(manager, block, params, memory, x, memory), "(2, ", "floating-point"));
            }
        }
    }

    /** Those of distances depend on differences only; a rotary table of integers begins at 0. */
    @ParameterizedTest
    @EnumSource
    void mayBeNegativeAndMovedTogether(EncodingType type) {
        assumeTrue(type.isOfDistances() && type != EncodingType.ALIBI_ROUNDED_BY_KEY);
        boolean isReal = type.encoding(HEADS) instanceof RotaryEmbeddingBlock;
        DataType dataType = isReal ? DataType.FLOAT64 : DataType.INT32;
        MultiHeadAttentionBlock block = attention(type);
        NDArray memory = keys(manager);
        NDArray x = queries(manager);
        NDArray ofQueries = manager.create(OF_QUERIES).sub(11).toType(dataType, false);
        NDArray ofKeys = manager.create(OF_KEYS).sub(11).toType(dataType, false);
        NDArray y = infer(manager, block, at(ofQueries, ofKeys), memory, x, memory);
        requireClose(y, naive(type, block, OF_QUERIES, OF_KEYS), 1e-12);
    }

    @ParameterizedTest
    @EnumSource
    void sameNumbersAsIndicesChangeNothing(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type);
        NDArray memory = keys(manager);
        NDArray x = queries(manager);
        double[] expected = doubles(infer(manager, block, memory, x, memory));
        requireClose(infer(manager, block, at(null, manager.arange(6)), memory, x, memory), expected, 1e-12);
        Positions of = Positions.of(manager.arange(6));
        requireClose(infer(manager, block, at(null, of), memory, x, memory), expected, 1e-12);
    }

    @Test
    void maskedKeysStayHidden() {
        for (EncodingType type : new EncodingType[] {EncodingType.ROTARY, EncodingType.T5}) {
            MultiHeadAttentionBlock block = filled(
                    manager, type.attention(HEADS).optKeyValueHeadCount(1).build(), DataType.FLOAT64);
            NDArray memory = keys(manager);
            NDArray x = queries(manager);
            NDArray ofQueries = manager.create(OF_QUERIES);
            NDArray mask = manager.create(new int[][] {{1, 1, 1, 1, 0, 0}, {1, 1, 1, 1, 0, 0}});
            NDArray fewer = memory.get(":, :4");
            PairList<String, Object> ofFewer =
                    at(ofQueries, manager.create(OF_KEYS).get(":, :4"));
            double[] expected = doubles(infer(manager, block, ofFewer, fewer, x, fewer));
            PairList<String, Object> all = at(ofQueries, manager.create(OF_KEYS));
            requireClose(infer(manager, block, all, memory, x, memory, mask), expected, 1e-12);
        }
    }

    @Test
    void windowsAndChunksOfPositionsAreOfBoth() {
        for (MultiHeadAttentionBlock.Builder builder : new MultiHeadAttentionBlock.Builder[] {
            EncodingType.NONE.attention(HEADS).optWindow(4).optWindowByPosition(true),
            EncodingType.KERPLE.attention(HEADS).optWindow(4).optWindowByPosition(true),
            EncodingType.ROTARY.attention(HEADS).optWindow(4).optWindowByPosition(true),
            EncodingType.NONE.attention(HEADS).optChunkSize(3),
            EncodingType.KERPLE.attention(HEADS).optChunkSize(3)
        }) {
            MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64);
            EncodingType type = block.getRelativeEncodings().isEmpty()
                    ? EncodingType.NONE
                    : block.getRelativeEncodings().get(0) instanceof RotaryEmbeddingBlock
                            ? EncodingType.ROTARY
                            : EncodingType.KERPLE;
            NDArray memory = keys(manager);
            PairList<String, Object> params = at(manager.create(OF_QUERIES), manager.create(OF_KEYS));
            NDArray y = infer(manager, block, params, memory, queries(manager), memory);
            requireClose(y, naive(type, block, OF_QUERIES, OF_KEYS), 1e-12);
        }
    }

    /** 4 · 2 · 600 · 600 scores are more than one part. */
    @ParameterizedTest
    @EnumSource(names = {"NONE", "ROTARY", "ALIBI", "T5", "SHAW", "DISENTANGLED", "FIRE"})
    void longSequencesAreComputedInParts(EncodingType type) {
        MultiHeadAttentionBlock block = filled(manager, type.attention(HEADS).build(), DataType.FLOAT32);
        block.freezeParameters(true);
        NDArray memory = numbers(manager, 2, DataType.FLOAT32, 4, 600, SIZE);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 4, 600, SIZE);
        NDArray ofKeys = manager.randomInteger(0, 4000, new Shape(4, 600), DataType.INT32);
        NDArray y = infer(manager, block, at(null, ofKeys), memory, x, memory);
        // the last queries alone
        PairList<String, Object> params = at(manager.arange(590, 600), ofKeys);
        NDArray last = infer(manager, block, params, memory, x.get(":, 590:"), memory);
        requireClose(y.get(":, 590:"), doubles(last), 2e-5);
    }

    @ParameterizedTest
    @EnumSource
    void haveTheGradientsOfFiniteDifferences(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type);
        NDArray values = numbers(manager, 3, DataType.FLOAT64, 2, 6, SIZE);
        PairList<String, Object> params = at(manager.create(OF_QUERIES), manager.create(OF_KEYS));
        FiniteDifferences.requireGradients(manager, block, params, keys(manager), queries(manager), values);
    }

    /** A rotary encoding turns by the sum of the angles of the axes. */
    @Test
    void mayBeOnSeveralAxes() {
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optAxes(RotaryAxes.of(1, 0))
                .build();
        LearnedRotaryEmbeddingBlock learned = LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(HEADS)
                .setHeadSize(4)
                .optAxes(2)
                .build();
        for (RelativeEncoding encoding : new RelativeEncoding[] {rotary, learned}) {
            MultiHeadAttentionBlock block = filled(
                    manager,
                    EncodingType.NONE
                            .attention(HEADS)
                            .optRelativeEncoding(encoding)
                            .build(),
                    DataType.FLOAT64);
            NDArray all = numbers(manager, 5, DataType.FLOAT64, 2, 9, SIZE);
            NDArray places = numbers(manager, 6, DataType.FLOAT64, 2, 2, 9); // (axes, B, n)
            // queries of a self-attention that sees the last tokens only
            NDArray mask = manager.zeros(new Shape(2, 3)).concat(manager.ones(new Shape(2, 6)), 1);
            NDArray expected = inferAt(manager, places, block, all, mask).get(":, :3");
            NDArray memory = all.get(":, 3:");
            PairList<String, Object> params = at(places.get("..., :3"), places.get("..., 3:"));
            requireClose(infer(manager, block, params, memory, all.get(":, :3"), memory), doubles(expected), 1e-12);
        }
    }

    /** The term of an encoding outside an attention, whose keys do not depend on their order. */
    @ParameterizedTest
    @EnumSource
    void anEncodingByItselfTakesThem(EncodingType type) {
        RelativeEncoding encoding = type.encoding(HEADS);
        boolean isRotary = encoding instanceof RotaryEmbeddingBlock || encoding instanceof LearnedRotaryEmbeddingBlock;
        assumeTrue(encoding != null && !isRotary && type != EncodingType.FORGETTING);
        boolean isOfInput = type == EncodingType.PROJECTED_DISTANCE || type == EncodingType.T5_GATED;
        Shape shape = isOfInput ? new Shape(1, 9, SIZE) : new Shape(1, HEADS, 9, 4);
        filled(manager, (Block) encoding, DataType.FLOAT64, shape);
        NDArray all = numbers(manager, 4, DataType.FLOAT64, shape.getShape());
        NDArray queries = isOfInput ? all.get(":, :3") : all.get(":, :, :3");
        int[] order = {4, 8, 1, 0};
        NDArray rows = manager.create(order);
        NDArray keys =
                isOfInput ? all.get(":, 0:4") : all.swapAxes(0, 2).get(rows).swapAxes(0, 2);
        NDArray expected = infer(manager, encoding, queries, all);
        NDArray y = infer(manager, encoding, params(MEMORY_POSITIONS, rows), queries, keys);
        assertThat(y.getShape().get(3)).isEqualTo(4);
        for (int column = 0; column < 4; column++) {
            requireClose(
                    y.get("..., {}", column).broadcast(expected.get("..., 0").getShape()),
                    doubles(expected.get("..., {}", order[column])),
                    1e-12);
        }
    }

    private Executable rejectedForward(PairList<String, Object> params, NDList inputs, Object... values) {
        MultiHeadAttentionBlock block = attention(EncodingType.ROTARY);
        return rejectedWithoutLeak(
                manager, () -> block.forward(new ParameterStore(manager, false), inputs, false, params), values);
    }

    @Test
    void rejectsPositionsThatDoNotFitTheMemory() {
        NDArray x = queries(manager);
        NDArray memory = keys(manager);
        NDList cross = new NDList(memory, x, memory);
        NDArray six = manager.arange(6);
        assertAll(
                rejectedForward(at(null, manager.arange(5)), cross, MEMORY_POSITIONS, "(5)", "(2, 6, 8)", "(6)"),
                rejectedForward(at(null, manager.arange(18).reshape(3, 6)), cross, "(3, 6)", "(2, 6)"),
                rejectedForward(at(null, six.neq(3)), cross, MEMORY_POSITIONS, "(6)", "boolean"),
                rejectedForward(at(null, 3), cross, MEMORY_POSITIONS, "Integer", "NDArray"),
                rejectedForward(at(null, Positions.of(2, 5)), cross, MEMORY_POSITIONS, "5 indices", "6"),
                rejectedForward(at(null, manager.arange(24).reshape(2, 2, 6)), cross, "(2, 2, 6)", "axes"),
                rejectedForward(
                        at(null, six), new NDList(x), MEMORY_POSITIONS, "self-attention", "[keys, queries, values]"),
                rejectedForward(at(null, six), new NDList(x, x, x.duplicate()), MEMORY_POSITIONS, "(6)"),
                rejectedForward(at(null, six), new NDList(x, manager.ones(new Shape(2, 3))), "optCrossAttention"));
    }

    /** A memory may begin at another index. */
    @ParameterizedTest
    @EnumSource(names = {"ROTARY", "T5", "ALIBI", "SHAW"})
    void mayBeIndices(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type);
        NDArray x = queries(manager);
        NDArray memory = keys(manager);
        NDArray expected = infer(manager, block, at(null, manager.arange(3, 9)), memory, x, memory);
        NDArray y = infer(manager, block, at(null, Positions.of(3, 6)), memory, x, memory);
        requireClose(y, doubles(expected), 1e-12);
    }

    @Test
    void rejectsInvalidNumbers() {
        assumeCpu();
        NDArray x = queries(manager);
        NDArray memory = keys(manager);
        NDList cross = new NDList(memory, x, memory);
        NDArray infinite = manager.create(new double[] {0, 1, 2, Double.POSITIVE_INFINITY, 4, 5});
        assertAll(
                rejectedForward(at(null, infinite), cross, "Infinity", "index 3"),
                rejectedForward(at(null, manager.create(new int[] {0, 1, 2, 3, 4, 5000})), cross, "5000"));
    }

    @Test
    void rejectsSeveralAxesWhereOneNumberIsNeeded() {
        NDArray x = queries(manager);
        NDArray memory = keys(manager);
        PairList<String, Object> params = at(null, manager.arange(24).reshape(2, 2, 6));
        for (MultiHeadAttentionBlock.Builder builder : new MultiHeadAttentionBlock.Builder[] {
            EncodingType.ALIBI.attention(HEADS),
            EncodingType.NONE.attention(HEADS).optChunkSize(3),
            EncodingType.NONE.attention(HEADS).optWindow(3).optWindowByPosition(true)
        }) {
            MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64);
            assertAll(rejected(() -> infer(manager, block, params, memory, x, memory), "(2, 2, 6)", "(T) or (B, T)"));
        }
    }

    @Test
    void encodingsByThemselvesRejectThemWithoutKeys() {
        NDArray heads = numbers(manager, 4, DataType.FLOAT64, 1, HEADS, 3, 4);
        PairList<String, Object> params = params(MEMORY_POSITIONS, manager.arange(3));
        for (EncodingType type : new EncodingType[] {
            EncodingType.ALIBI, EncodingType.SHAW, EncodingType.ROTARY, EncodingType.LEARNED_ROTARY
        }) {
            Block encoding = filled(manager, type.encoding(HEADS), DataType.FLOAT64, heads.getShape());
            assertAll(rejected(() -> infer(manager, encoding, params, heads), MEMORY_POSITIONS, "memory"));
        }
    }
}
