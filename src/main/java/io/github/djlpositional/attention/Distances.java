package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.internal.ConstantTable;

/** Relative positions, a key's less a query's, for which a term is computed. */
final class Distances {

    /** The least, if they are consecutive. */
    private final int first;

    private final int count;

    /** All of them, if they are not consecutive; otherwise null. */
    private final int[] each;

    private Distances(int first, int count, int... each) {
        this.first = first;
        this.count = count;
        this.each = each;
    }

    /** {@return consecutive relative positions} */
    static Distances consecutive(int first, int count) {
        return new Distances(first, count, (int[]) null);
    }

    /** {@return those of all queries and keys of a call, as {@link RelativeShift} orders them} */
    static Distances of(AttentionCall call) {
        return consecutive(RelativeShift.least(call), RelativeShift.columns(call));
    }

    /** {@return any relative positions} */
    static Distances of(int... each) {
        return new Distances(0, each.length, each);
    }

    /**
     * {@return the rows of a table: (1, count, …), on the device of an array; a view of the table if the relative
     * positions are consecutive} It is called in {@link io.github.djlpositional.internal.Temporaries#result}.
     */
    NDArray rows(ConstantTable table, NDArray like, DataType type) {
        return each == null ? table.rows(first, count, like, type) : table.computed(each, like, type);
    }

    /** {@return the same in the data type of the scores of queries} */
    NDArray rows(ConstantTable table, NDArray queries) {
        return rows(table, queries, PlainAttention.scoreType(queries));
    }
}
