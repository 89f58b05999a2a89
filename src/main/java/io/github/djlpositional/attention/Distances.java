package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Temporaries;
import java.util.Arrays;

/**
 * The distances that an attention asks {@link RelativeEncoding#distanceBias} for: a key's position less a query's, so
 * that a key before the query has a negative one. They are distinct whole numbers in ascending order.
 */
public final class Distances {

    /** The least, if they are consecutive. */
    private final int first;

    private final int count;

    /** All of them, if they are not consecutive; otherwise null. */
    private final int[] each;

    /** An array of the data type and on the device that biases are needed for. */
    private final NDArray like;

    private Distances(NDArray like, int first, int count, int... each) {
        this.first = first;
        this.count = count;
        this.each = each;
        this.like = like;
    }

    /**
     * {@return consecutive distances}
     *
     * @hidden
     */
    public static Distances consecutive(NDArray like, int first, int count) {
        return new Distances(like, first, count, (int[]) null);
    }

    /**
     * The distances of all queries and keys of a call without given positions, as {@link RelativeShift} orders them.
     *
     * @hidden
     */
    public static Distances of(AttentionCall call, NDArray like) {
        return consecutive(like, RelativeShift.firstDistance(call), RelativeShift.columns(call));
    }

    static Distances of(NDArray like, int... each) {
        return new Distances(like, 0, each.length, each);
    }

    /** {@return the number of distances, at least 1} */
    public int size() {
        return count;
    }

    /**
     * {@return the distances as an array (size), FLOAT32, or FLOAT64 in an attention of that type} It is a new array on
     * the device of the attention, the caller's to close.
     */
    public NDArray toArray() {
        try (NDArray whole = each == null
                ? like.getManager().arange(first, first + count, 1, DataType.INT32, like.getDevice())
                : HostData.integers(like.getManager(), like.getDevice(), new Shape(count), i -> each[i])) {
            return Arithmetic.toType(whole, PlainAttention.scoreType(like));
        }
    }

    /** The data type that biases are needed in. */
    DataType type() {
        return like.getDataType();
    }

    /**
     * The rows of a table by distance, (1, size, …): a view of the table if the distances are consecutive. It is called
     * in {@link Temporaries#result}.
     *
     * @hidden
     */
    public NDArray rows(ConstantTable table, DataType type) {
        return each == null
                ? table.slice(first, count, like, type)
                : table.compute(Arrays.stream(each).asDoubleStream().toArray(), like, type)
                        .expandDims(0);
    }

    /**
     * The biases in a table by distance, (N, size), in the data type that they are needed in.
     *
     * @hidden
     */
    public NDArray biases(ConstantTable table) {
        return rows(table, type()).squeeze(0).transpose(1, 0);
    }

    /**
     * The numbers of a table by distance, (size), in the data type of the scores.
     *
     * @hidden
     */
    public NDArray numbers(ConstantTable table) {
        return rows(table, PlainAttention.scoreType(like)).reshape(-1);
    }
}
