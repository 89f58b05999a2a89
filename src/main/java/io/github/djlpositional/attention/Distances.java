package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;

/**
 * The distances that an attention passes to {@link Term#bias}: a key's position minus a query's, so that a key before
 * the query has a negative distance. They are consecutive integers, or, with explicit positions that are real numbers,
 * far apart or on a GPU, one for each query and key.
 */
public final class Distances {

    private final int first;
    private final int count;

    /** The distances, INT32 or FLOAT64; null if they are consecutive. */
    private final NDArray values;

    private final NDArray like;

    private Distances(NDArray like, int first, int count, NDArray values) {
        this.first = first;
        this.count = count;
        this.values = values;
        this.like = like;
    }

    static Distances consecutive(NDArray like, int first, int count) {
        return new Distances(like, first, count, null);
    }

    /** Distances in any order; the caller closes the array. */
    static Distances of(NDArray like, NDArray values) {
        return new Distances(like, 0, Math.toIntExact(values.size()), values);
    }

    /** {@return the number of distances, at least 1} */
    public int size() {
        return count;
    }

    /** {@return whether the distances are consecutive, from {@link #first} on} */
    public boolean areConsecutive() {
        return values == null;
    }

    /** {@return the first distance if the distances are consecutive; otherwise 0} */
    public int first() {
        return first;
    }

    /** {@return an array with the data type and the device of the biases; it belongs to the attention} */
    public NDArray like() {
        return like;
    }

    /**
     * {@return the distances as a new array (size), FLOAT32, or FLOAT64 in an attention of that type; on the device of
     * the attention}
     */
    public NDArray toArray() {
        return toArray(DataTypes.ofScores(like));
    }

    /**
     * {@return the distances as a new array (size) of a data type}
     *
     * @param type the type of the result; an integer type in an encoding that takes no real positions
     * @throws IllegalArgumentException for an integer type if positions are floating-point numbers
     */
    public NDArray toArray(DataType type) {
        if (values != null) {
            DataTypes.requireWhole(type, values);
        }
        NDArray whole = values == null ? Indices.range(like, first, count, DataType.INT32) : values.reshape(count);
        return Arithmetic.toType(whole, type);
    }
}
