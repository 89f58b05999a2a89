package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.options.Check;
import java.util.List;

/**
 * The inputs of an attention. All are validated except the mask, whose shape depends on the cache.
 *
 * @param keys (B, F, D)
 * @param queries (B, T, D)
 * @param values (B, F, D)
 * @param mask null for none
 */
record AttentionInputs(NDArray keys, NDArray queries, NDArray values, NDArray mask) {

    private static final List<String> NAMES = List.of("keys", "queries", "values");

    static AttentionInputs of(NDList inputs, int embeddingSize, PairList<String, Object> params) {
        requireShapes(inputs.getShapes(), embeddingSize);
        Check.that(
                inputs.size() < 3 || inputs.get(1) != inputs.get(2) || inputs.get(0) == inputs.get(1),
                () -> "queries and values are the same array " + inputs.get(1).getShape() + ", but the keys "
                        + inputs.get(0).getShape() + " are another, as in PyTorch's order [queries, keys, values]:"
                        + " expected [keys, queries, values]; pass the keys first");
        boolean isSelf = inputs.size() <= 2;
        NDArray keys = inputs.get(0);
        NDArray queries = isSelf ? keys : inputs.get(1);
        NDArray values = isSelf ? keys : inputs.get(2);
        DataTypes.requireEmbedding(queries, isSelf ? "input" : "queries");
        requireSame(queries, keys, "keys");
        requireSame(queries, values, "values");
        if (keys == queries) {
            ForwardParameters.requireNoMemory(
                    params,
                    "a self-attention, whose keys and queries are the same array",
                    "pass the memory as [keys, queries, values], in a layer with optCrossAttention");
        }
        NDArray mask = inputs.size() % 2 == 0 ? inputs.get(inputs.size() - 1) : null;
        return new AttentionInputs(keys, queries, values, mask);
    }

    private static void requireSame(NDArray queries, NDArray other, String what) {
        DataTypes.requireSameEngine(other, queries, "queries");
        Check.that(
                other.getDataType() == queries.getDataType(),
                () -> "queries are " + queries.getDataType() + " and " + what + " " + other.getDataType()
                        + ": expected the same data type; convert them with toType");
        Check.that(
                other.getDevice().equals(queries.getDevice()),
                () -> "queries are on " + queries.getDevice() + " and " + what + " on " + other.getDevice()
                        + ": expected the same device; move them with toDevice");
    }

    /**
     * Checks the shapes of inputs.
     *
     * @param shapes the shapes of {@code [x]}, {@code [x, mask]}, {@code [keys, queries, values]}, or these followed by
     *     a mask; -1 stands for an unknown size
     * @param embeddingSize D
     * @return the shape of the queries
     * @throws IllegalArgumentException if an attention does not accept inputs of these shapes
     */
    static Shape requireShapes(Shape[] shapes, int embeddingSize) {
        Check.that(
                shapes.length >= 1 && shapes.length <= 4,
                () -> shapes.length
                        + " inputs were given: expected [x], [x, mask], [keys, queries, values] or [keys, queries,"
                        + " values, mask]; pass one of these");
        boolean isSelf = shapes.length <= 2;
        for (int i = 0; i < (isSelf ? 1 : 3); i++) {
            Shape shape = shapes[i];
            String name = isSelf ? "input" : NAMES.get(i);
            String length = isSelf || i == 1 ? "T" : "F";
            Check.that(
                    shape.dimension() == 3 && (shape.get(2) == embeddingSize || shape.get(2) == -1),
                    () -> name + " of shape " + shape + ": expected (B, " + length + ", " + embeddingSize + "); "
                            + remedy(shape));
        }
        Shape keys = shapes[0];
        Shape queries = shapes[isSelf ? 0 : 1];
        Shape values = shapes[isSelf ? 0 : 2];
        Check.that(
                Check.agree(keys.get(0), queries.get(0))
                        && Check.agree(keys.get(0), values.get(0))
                        && Check.agree(keys.get(1), values.get(1)),
                () -> "keys " + keys + ", queries " + queries + " and values " + values
                        + ": expected the same batch size for all and the same length for keys and values; pass (B, F,"
                        + " D), (B, T, D) and (B, F, D), the keys first");
        return queries;
    }

    private static String remedy(Shape shape) {
        return shape.dimension() == 2
                ? "add the batch with expandDims(0)"
                : "pass embeddings of this size, or build the block with another setEmbeddingSize(int)";
    }

    /** The mask if it is a mask of keys, (B, T) or (B, F), which a cache stores; otherwise null. */
    NDArray keyMask() {
        return mask != null && mask.getShape().dimension() == 2 ? mask : null;
    }

    /** The mask if it is for pairs of queries and keys, (B, T, F) or (B, N, T, F); otherwise null. */
    NDArray pairMask() {
        return keyMask() == null ? mask : null;
    }

    /** Whether the mask may differ between several queries. */
    boolean differsByQuery() {
        NDArray pairs = pairMask();
        return pairs != null && pairs.getShape().get(pairs.getShape().dimension() - 2) > 1;
    }

    /** Whether keys and queries are the same array, so that a cache appends them to the previous ones. */
    boolean isSelf() {
        return keys == queries;
    }
}
