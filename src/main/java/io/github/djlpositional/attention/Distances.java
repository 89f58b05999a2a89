package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;

/**
 * The distances that an attention asks {@link RelativeEncoding#distanceBias} for: a key's position less a query's, so
 * that a key before the query has a negative one. They are whole numbers: consecutive ones, or, with explicit positions
 * that are far apart or on a GPU, those of each query and key.
 */
public final class Distances {

    private final int first;
    private final int count;

    /** All of them, (size), INT32, if they are not consecutive; otherwise null. */
    private final NDArray each;

    private final NDArray like;

    private Distances(NDArray like, int first, int count, NDArray each) {
        this.first = first;
        this.count = count;
        this.each = each;
        this.like = like;
    }

    static Distances consecutive(NDArray like, int first, int count) {
        return new Distances(like, first, count, null);
    }

    /** Distances in any order. The array is not closed here. */
    static Distances of(NDArray like, NDArray each) {
        return new Distances(like, 0, Math.toIntExact(each.size()), each);
    }

    /** {@return the number of distances, at least 1} */
    public int size() {
        return count;
    }

    /** {@return whether they are consecutive, from {@link #first} on} */
    public boolean areConsecutive() {
        return each == null;
    }

    /** {@return the first, if they are consecutive; otherwise 0} */
    public int first() {
        return first;
    }

    /**
     * {@return an array of the data type, and on the device, that biases are needed in; it belongs to the attention}
     */
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
     * @param type any integer or real type
     */
    public NDArray toArray(DataType type) {
        return Temporaries.result(() -> {
            NDArray whole = each == null
                    ? like.getManager().arange(first, first + count, 1, DataType.INT32, like.getDevice())
                    : each.reshape(count);
            return Arithmetic.toType(whole, type);
        });
    }
}
