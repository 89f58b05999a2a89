package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.DataTypes;

/**
 * What an attention is given: checked, but for the mask, whose shape depends on the cache.
 *
 * @param keys (B, F, D)
 * @param queries (B, T, D)
 * @param values (B, F, D)
 * @param mask null where there is none
 */
record AttentionInputs(NDArray keys, NDArray queries, NDArray values, NDArray mask) {

    private static final String[] NAMES = {"keys", "queries", "values"};

    static AttentionInputs of(NDList inputs, int embeddingSize) {
        requireShapes(inputs.getShapes(), embeddingSize);
        boolean isSelf = inputs.size() <= 2;
        NDArray keys = inputs.get(0);
        NDArray queries = isSelf ? keys : inputs.get(1);
        NDArray values = isSelf ? keys : inputs.get(2);
        DataTypes.requireEmbedding(queries, isSelf ? "input" : "queries");
        requireSame(queries, keys, "keys");
        requireSame(queries, values, "values");
        NDArray mask = inputs.size() % 2 == 0 ? inputs.get(inputs.size() - 1) : null;
        return new AttentionInputs(keys, queries, values, mask);
    }

    private static void requireSame(NDArray queries, NDArray other, String what) {
        DataType type = queries.getDataType();
        if (other.getDataType() != type) {
            throw new IllegalArgumentException("queries are " + type + " and " + what + " " + other.getDataType()
                    + ": allowed is one data type for all; convert them with toType");
        }
        if (!other.getDevice().equals(queries.getDevice())) {
            throw new IllegalArgumentException("queries are on " + queries.getDevice() + " and " + what + " on "
                    + other.getDevice() + ": allowed is one device for all; move them with toDevice");
        }
    }

    /**
     * Refuses shapes of inputs that are none of an attention.
     *
     * @param shapes those of {@code [x]}, {@code [x, mask]}, {@code [keys, queries, values]}, or these and a mask
     * @param embeddingSize D
     * @return the shape of the queries
     */
    static Shape requireShapes(Shape[] shapes, int embeddingSize) {
        if (shapes.length < 1 || shapes.length > 4) {
            throw new IllegalArgumentException(shapes.length
                    + " inputs were given: allowed are [x], [x, mask], [keys, queries, values] or"
                    + " [keys, queries, values, mask]; pass one of these");
        }
        int arrays = shapes.length <= 2 ? 1 : 3;
        for (int i = 0; i < arrays; i++) {
            Shape shape = shapes[i];
            if (shape.dimension() != 3 || (shape.get(2) != embeddingSize && shape.get(2) != -1)) {
                String what = arrays == 1 ? "input" : NAMES[i];
                throw new IllegalArgumentException(what + " of shape " + shape + ": allowed is (B, "
                        + (arrays == 1 || i == 1 ? "T, " : "F, ") + embeddingSize
                        + "); give embeddings of this size, or build the block with another setEmbeddingSize(int)");
            }
        }
        Shape keys = shapes[0];
        Shape queries = shapes[arrays == 1 ? 0 : 1];
        Shape values = shapes[arrays == 1 ? 0 : 2];
        if (differ(keys.get(0), queries.get(0))
                || differ(keys.get(0), values.get(0))
                || differ(keys.get(1), values.get(1))) {
            throw new IllegalArgumentException("keys " + keys + ", queries " + queries + " and values " + values
                    + ": allowed is one batch size for all and one length for keys and values; give (B, F, D), (B, T, D)"
                    + " and (B, F, D)");
        }
        return queries;
    }

    /** Whether two sizes are known and not the same. */
    private static boolean differ(long one, long other) {
        return one != -1 && other != -1 && one != other;
    }

    /** Whether the keys are the queries, so that a cache adds to those of the steps before. */
    boolean isSelf() {
        return keys == queries;
    }
}
