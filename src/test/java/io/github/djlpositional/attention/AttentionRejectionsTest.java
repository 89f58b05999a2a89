package io.github.djlpositional.attention;

import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.LambdaBlock;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.OnEachDevice;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * Forwards of an attention that the structure of a call shows to be wrong: shapes, data types and forward parameters.
 * They are rejected on a GPU too, and leave no array open. Exceptions for values, which only a CPU checks, are in
 * {@link MultiHeadAttentionBlockTest}.
 */
class AttentionRejectionsTest extends OnEachDevice {

    /** D = 8, N = 2. */
    private static MultiHeadAttentionBlock.Builder builder() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    private MultiHeadAttentionBlock initialized(MultiHeadAttentionBlock.Builder builder) {
        MultiHeadAttentionBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 8));
        return block;
    }

    private MultiHeadAttentionBlock attention() {
        return initialized(builder());
    }

    private MultiHeadAttentionBlock causalWithAlibi() {
        return initialized(builder()
                .optCausal(true)
                .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(2).build()));
    }

    /** B = 2, T = 3. */
    private NDArray x() {
        return zeros(manager, 2, 3, 8);
    }

    /** Rejects the inputs {@code [x]} or {@code [keys, queries, values]}, optionally followed by a mask. */
    private Executable rejectedInputs(NDList inputs, Object... values) {
        return rejectedInputs(attention(), inputs, values);
    }

    /** Rejects a forward parameter of x. */
    private Executable rejectedParams(
            MultiHeadAttentionBlock block, PairList<String, Object> params, NDArray x, Object... values) {
        return rejectedWithoutLeak(manager, () -> infer(manager, block, params, x), values);
    }

    private static PairList<String, Object> positions(Object positions) {
        return params(PositionalEncodingBlock.POSITIONS, positions);
    }

    @Test
    void rejectsInputsOfOtherShapes() {
        assertAll(
                rejectedInputs(new NDList(), 0, "[x, mask]", "[keys, queries, values, mask]"),
                rejectedInputs(new NDList(x(), x(), x(), x(), x()), 5, "[x, mask]"),
                rejectedInputs(new NDList(zeros(manager, 2, 3, 6)), "(2, 3, 6)", "(B, T, 8)"),
                rejectedInputs(new NDList(zeros(manager, 3, 8)), "(3, 8)", "(B, T, 8)", "expandDims(0)"),
                rejectedInputs(new NDList(x(), x(), zeros(manager, 2, 3, 6)), "values", "(2, 3, 6)", "(B, F, 8)"),
                rejectedInputs(new NDList(x(), x(), zeros(manager, 2, 4, 8)), "(2, 3, 8)", "(2, 4, 8)"),
                rejectedInputs(new NDList(x(), zeros(manager, 1, 3, 8), x()), "(2, 3, 8)", "(1, 3, 8)"));
    }

    @Test
    void rejectsKeysOfLengthZero() {
        NDArray none = zeros(manager, 2, 0, 8);
        assertAll(rejectedInputs(new NDList(none, x(), none), "keys", "(2, 0, 8)", 1));
    }

    @Test
    void rejectsInputsOfOtherDataTypes() {
        NDArray ints = zeros(manager, DataType.INT32, 2, 3, 8);
        NDArray doubles = zeros(manager, DataType.FLOAT64, 2, 3, 8);
        assertAll(
                rejectedInputs(new NDList(ints), "input", "(2, 3, 8)", "int32"),
                rejectedInputs(new NDList(x(), ints, x()), "queries", "(2, 3, 8)", "int32"),
                rejectedInputs(new NDList(doubles), "(2, 3, 8)", "float64", "float32"),
                rejectedInputs(new NDList(doubles, x(), x()), "keys", "float64", "queries", "float32"),
                rejectedInputs(new NDList(x(), x(), doubles), "values", "float64", "queries", "float32"));
    }

    /** Keys and values are one array in most programs; then a query in its place would be taken for the keys. */
    @Test
    void rejectsTheOrderOfPyTorch() {
        NDArray query = x();
        NDArray sameLength = x();
        NDArray longer = zeros(manager, 2, 4, 8);
        assertAll(
                rejectedInputs(new NDList(query, sameLength, sameLength), "[queries, keys, values]", "keys first"),
                rejectedInputs(new NDList(query, longer, longer), "(2, 3, 8)", "(2, 4, 8)", "keys first"),
                rejectedInputs(new NDList(query, longer, zeros(manager, 2, 4, 8)), "(2, 3, 8)", "(2, 4, 8)", "first"));
    }

    @Test
    void rejectsMasksOfOtherShapes() {
        assertAll(Stream.of(
                        new Shape(3),
                        new Shape(2, 4),
                        new Shape(1, 3),
                        new Shape(2, 3, 4),
                        new Shape(2, 3, 3, 3),
                        new Shape(1, 1, 1, 1, 1))
                .map(shape -> rejectedInputs(
                        new NDList(x(), zeros(manager, shape.getShape())),
                        "mask",
                        shape,
                        "(2, 3)",
                        "(2, 3, 3)",
                        "(2, 2, 3, 3)")));
    }

    /** With four axes, they would be added to the scores. */
    @Test
    void rejectsIntegersToAddToTheScores() {
        assertAll(Stream.of(DataType.INT32, DataType.INT64)
                .map(type -> rejectedInputs(
                        new NDList(x(), zeros(manager, type, 1, 1, 3, 3)),
                        "(1, 1, 3, 3)",
                        type,
                        "float32",
                        "mask.neq(0)")));
    }

    @Test
    void rejectsPositionsThatAreNotBySequenceAndToken() {
        NDArray x = x();
        MultiHeadAttentionBlock block = causalWithAlibi();
        assertAll(Stream.of(
                        new Shape(),
                        new Shape(2),
                        new Shape(2, 2),
                        new Shape(3, 3),
                        new Shape(2, 3, 3),
                        new Shape(1, 2, 2, 3),
                        new Shape(3, 2))
                .map(shape -> rejectedParams(
                        block, positions(zeros(manager, DataType.INT32, shape.getShape())), x, shape, "(2, 3)")));
    }

    @Test
    void rejectsPositionsOnSeveralAxesWhereTheAttentionHasOne() {
        NDArray ofThreeAxes = zeros(manager, DataType.INT32, 3, 2, 3);
        assertAll(
                rejectedParams(causalWithAlibi(), positions(ofThreeAxes), x(), "(3, 2, 3)", "(B, T)"),
                rejectedParams(
                        initialized(builder().optChunkSize(3)),
                        positions(ofThreeAxes),
                        x(),
                        "(3, 2, 3)",
                        "chunkSize 3",
                        "(B, T)"));
    }

    @Test
    void rejectsForwardParametersOfOtherTypes() {
        assertAll(
                rejectedParams(attention(), positions(new int[] {0, 1, 2}), x(), "positions", "int[]", "NDArray"),
                rejectedParams(
                        attention(), params(ForwardParameters.CACHE, "cache"), x(), ForwardParameters.CACHE, "String"));
    }

    @Test
    void rejectsSequencesBeyondTheMaximumOfTheirEncoding() {
        RotaryEmbeddingBlock.Builder rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(4).optMaxSequenceLength(10);
        MultiHeadAttentionBlock block = initialized(builder().optRelativeEncoding(rotary.build()));
        NDArray longer = zeros(manager, 1, 11, 8);
        assertAll(rejectedWithoutLeak(
                manager, () -> infer(manager, block, longer), "length 11", "position 0", 10, "(11)"));
    }

    /** Heads have size 4, or 8 together. */
    @Test
    void rejectsNormsOfAnotherSizeAndRemainsUninitialized() {
        RmsNormBlock four = RmsNormBlock.builder().setEmbeddingSize(4).build();
        RmsNormBlock eight = RmsNormBlock.builder().setEmbeddingSize(8).build();
        assertAll(Stream.of(
                        builder().optQueryNorm(eight),
                        builder().optKeyNorm(eight),
                        builder().optNormOfAllHeads(true).optQueryNorm(four))
                .map(norm -> () -> {
                    MultiHeadAttentionBlock block = norm.build();
                    Shape shape = new Shape(-1, -1, 8);
                    rejected(() -> block.initialize(manager, DataType.FLOAT32, shape), 8, 4)
                            .execute();
                    assertThat(block.isInitialized()).isFalse();
                }));
    }

    @Test
    void rejectsANormThatChangesTheShape() {
        LambdaBlock sum = new LambdaBlock(x -> new NDList(x.singletonOrThrow().sum(new int[] {3})), "Sum");
        MultiHeadAttentionBlock block = initialized(builder().optQueryNorm(sum));
        assertAll(rejected(() -> infer(manager, block, x()), "LambdaBlock", "(2, 3, 2)", "(2, 3, 2, 4)"));
    }

    /** A user's encoding of a term. */
    private static final class Own extends RelativeEncoding.Base {

        private final Term term;

        Own(Term term) {
            this.term = term;
        }

        @Override
        public List<Term> terms() {
            return List.of(term);
        }

        @Override
        public Shape[] getOutputShapes(Shape[] inputShapes) {
            return inputShapes;
        }
    }

    private static NDArray ones(NDArray like, long... shape) {
        return zeros(like.getManager(), like.getDataType(), shape).add(1);
    }

    /** Biases of a wrong number of heads, with every kernel. */
    @Test
    void rejectsBiasesOfAnotherNumberOfHeads() {
        NDArray x = zeros(manager, 2, 3, 8);
        NDArray padding = zeros(manager, DataType.INT32, 2, 3).add(1);
        Term bias = Term.bias((call, distances) -> ones(distances.like(), 2, distances.size()));
        Term ofCoordinates = Term.bias(
                (call, distances) -> ones(distances.like(), 2, distances.size()),
                (tokens, like) -> tokens.toArray(like, DataType.INT32),
                (tokens, like) -> tokens.toArray(like, DataType.INT32));
        assertAll(Stream.of(bias, ofCoordinates)
                .flatMap(term -> Stream.of(true, false).flatMap(isFused -> {
                    MultiHeadAttentionBlock block = initialized(MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(8)
                            .setHeadCount(4)
                            .optCausal(true)
                            .optFusedKernel(isFused)
                            .optRelativeEncoding(new Own(term)));
                    return Stream.<ThrowingCallable>of(
                                    () -> infer(manager, block, x),
                                    () -> infer(manager, block, x, padding),
                                    () -> infer(manager, block, x, x, x),
                                    () -> infer(manager, block, positions(manager.arange(3)), x),
                                    () -> step(block, zeros(manager, 2, 1, 8)))
                            .map(call -> rejected(call, "Own", "(2, ", 4));
                })));
    }

    private void step(MultiHeadAttentionBlock block, NDArray x) {
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x);
        }
    }

    /** Other results of functions with 2 heads instead of 4, or another number of tokens. */
    @Test
    void rejectsResultsOfOtherShapes() {
        assertAll(Stream.of(
                        Term.scores((call, queries, keys) -> ones(queries, 1, 2, 3, 3)),
                        Term.scores((call, queries, keys) -> ones(queries, 3, 1, 1, 3, 3)),
                        Term.scoresOfTokens((call, input) -> ones(input, 2, 2, 1), null, (call, q, k) -> null),
                        Term.scoresOfTokens(null, (call, input) -> ones(input, 2, 3), (call, q, k) -> null),
                        Term.values((call, probabilities) -> ones(probabilities, 2, 2, 3, 2)),
                        Term.heads((call, queries) -> ones(queries, 2, 2, 3, 2), null),
                        Term.heads(null, (call, keys) -> ones(keys, 2, 4, 3, 4)),
                        new Rotation(0, 2, PairLayout.INTERLEAVED, (call, like, areKeys) -> ones(like, 1, 3, 3, 2)))
                .map(term -> rejected(
                        () -> infer(
                                manager,
                                initialized(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHeadCount(4)
                                        .optRelativeEncoding(new Own(term))),
                                x()),
                        "Own",
                        "shape")));
    }

    @Test
    void rejectsPositionsToPackThatAreNotBySequenceAndToken() {
        assertAll(Stream.of(new Shape(3), new Shape(2, 3, 4), new Shape(2, 0)).map(shape -> {
            NDArray positions = zeros(manager, shape.getShape());
            return rejectedWithoutLeak(manager, () -> MultiHeadAttentionBlock.packedMask(positions), shape, "(B, T)");
        }));
    }

    @Test
    void rejectsCachesWithoutCapacity() {
        assertAll(Stream.of(0, -3)
                .map(capacity -> rejected(() -> new KeyValueCache(manager, capacity).close(), "capacity", capacity)));
    }
}
