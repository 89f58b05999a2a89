package io.github.djlpositional.attention;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.internal.GrowingTable;

/** Rows of a table by relative position, key less query, whose middle row belongs to 0. */
final class DistanceTable {

    private DistanceTable() {}

    /**
     * Returns the rows of all relative positions of a call, the least first.
     *
     * @param table of length L, with 2L - 1 rows
     * @param call the call
     * @param queries an array on the device and in the data type that the rows are wanted on and in
     * @return (W, …), a new array on the manager of the queries
     */
    static NDArray rows(GrowingTable table, AttentionCall call, NDArray queries) {
        return rows(table, call, queries, queries.getDataType());
    }

    /** The same in a given data type. */
    static NDArray rows(GrowingTable table, AttentionCall call, NDArray queries, DataType type) {
        int least = RelativeShift.least(call);
        int columns = RelativeShift.columns(call);
        int greatest = least + columns - 1;
        Engine engine = queries.getManager().getEngine();
        int length = Math.max(1 - least, greatest + 1);
        try (GrowingTable.Use use = table.use(length, engine, queries.getDevice(), type)) {
            NDArray all = use.on(engine, queries.getDevice(), type);
            long first = (long) use.length() - 1 + least;
            return all.get(queries.getManager(), NDIndex.sliceAxis(0, first, first + columns));
        }
    }
}
