package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;

/**
 * The distances that an attention passes to {@link Term#bias}: the position of the key minus the position of the query,
 * so that a key before the query has a negative distance. They are consecutive integers. With explicit positions that
 * are real numbers, far apart or on a GPU, they are the differences of the numbers of {@link #keys} and
 * {@link #queries}: of all tokens or, if differences repeat, of a few numbers that yield each difference once.
 */
public final class Distances {

    private final int first;
    private final int count;

    private final NDArray queries;
    private final NDArray keys;
    private final NDArray like;

    private Distances(NDArray like, int first, int count, NDArray queries, NDArray keys) {
        this.first = first;
        this.count = count;
        this.queries = queries;
        this.keys = keys;
        this.like = like;
    }

    static Distances consecutive(NDArray like, int first, int count) {
        return new Distances(like, first, count, null, null);
    }

    /** The differences of two arrays, (1 or B, T) and (1 or B, F), INT32 or FLOAT64, which the caller closes. */
    static Distances between(NDArray like, NDArray queries, NDArray keys) {
        long batch = Math.max(queries.getShape().get(0), keys.getShape().get(0));
        long pairs = batch * queries.getShape().get(1) * keys.getShape().get(1);
        return new Distances(like, 0, Math.toIntExact(pairs), queries, keys);
    }

    /** {@return the number of distances, at least 1} */
    public int size() {
        return count;
    }

    /** {@return whether the distances are consecutive, from {@link #first} on} */
    public boolean areConsecutive() {
        return keys == null;
    }

    /** {@return the first distance if the distances are consecutive; otherwise 0} */
    public int first() {
        return first;
    }

    /**
     * {@return the numbers that are subtracted from those of the {@link #keys}, (1 or B, T), INT32 or FLOAT64; null if
     * the distances are consecutive; the array belongs to the attention}
     */
    public NDArray queries() {
        return queries;
    }

    /**
     * {@return the numbers from which those of the {@link #queries} are subtracted, (1 or B, F), of the same data type;
     * null if the distances are consecutive; the array belongs to the attention} The distances are row-major, (B, T,
     * F), so that a sum of products of functions of both numbers is one product of matrices.
     */
    public NDArray keys() {
        return keys;
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
        if (areConsecutive()) {
            return Arithmetic.toType(Indices.range(like, first, count, DataType.INT32), type);
        }
        DataTypes.requireWhole(type, keys);
        return Arithmetic.toType(keys.expandDims(1).sub(queries.expandDims(2)), type)
                .reshape(count);
    }
}
