package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.core.Embedding;
import java.util.function.LongFunction;

/** Integer arrays that pick rows of a table: token ids and positions. */
public final class Indices {

    /** Up to so many it costs less to read them all than to ask for the least and the greatest. */
    private static final int FEW = 64;

    private Indices() {}

    /** Whether a limit of positions is the greatest that there is, of a block that extends itself or that has no table. */
    static boolean isLongest(int limit) {
        return limit >= Integer.MAX_VALUE - 1 || limit == StartPosition.UNLIMITED;
    }

    /** What to do about a position that is out of range. */
    static String remedyFor(boolean isNegative, int limit) {
        return isNegative || isLongest(limit)
                ? "count positions from 0"
                : "count positions from 0, or build the block with a greater optMaxSequenceLength(int)";
    }

    /**
     * Refuses a position outside 0 … limit - 1, as {@link #requireBelow} does.
     *
     * @param positions any shape, an integer type
     * @param limit one more than the greatest
     * @return the greatest position, -1 where there is none
     * @throws IllegalArgumentException if one is out of range
     */
    public static int requirePositions(NDArray positions, int limit) {
        return requireBelow(positions, limit, "position", position -> remedyFor(position < 0, limit));
    }

    /**
     * Refuses an index outside 0 … limit - 1. The engines do not: MXNet silently reads another row, PyTorch fails with a
     * message that names nothing. Reads the array's values, and so waits for its device.
     *
     * @param indices any shape, an integer type
     * @param limit the number of rows
     * @param what what one index is, for the message
     * @param remedy what to do about an index, for the message
     * @return the greatest index, -1 where there is none
     * @throws IllegalArgumentException if one is out of range
     */
    public static int requireBelow(NDArray indices, int limit, String what, LongFunction<String> remedy) {
        if (indices.size() > FEW && isWide(indices.getDataType())) {
            long greatest = extreme(indices.max());
            if (greatest < limit && extreme(indices.min()) >= 0) {
                return (int) greatest;
            }
        }
        long[] values = toLongArray(indices);
        long greatest = -1;
        for (int i = 0; i < values.length; i++) {
            if (values[i] < 0 || values[i] >= limit) {
                throw new IllegalArgumentException(what + " " + values[i] + " at index " + i + " of "
                        + indices.getShape() + " is outside 0 to " + (limit - 1) + ": " + remedy.apply(values[i]));
            }
            greatest = Math.max(greatest, values[i]);
        }
        return (int) greatest;
    }

    /**
     * Returns the array in a type that both engines can look up with.
     *
     * @param indices any shape, an integer type
     * @return the array itself where it is INT32 or INT64, else a new one, INT64, on the same manager
     */
    public static NDArray forLookUp(NDArray indices) {
        return indices.getDataType() == DataType.INT32 ? indices : indices.toType(DataType.INT64, false);
    }

    /**
     * Looks rows up.
     *
     * @param indices any shape, an integer type, in range; any device
     * @param table (n, D), on the device where the rows are wanted
     * @param manager what the rows are attached to
     * @return the shape of the indices + (D); a new array
     */
    public static NDArray lookUp(NDArray indices, NDArray table, NDManager manager) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray here = temporaries.addUnless(indices, indices.toDevice(table.getDevice(), false));
            NDArray wide = temporaries.addUnless(here, forLookUp(here));
            NDArray rows = Embedding.embedding(wide, table, SparseFormat.DENSE).singletonOrThrow();
            rows.attach(manager);
            return rows;
        }
    }

    private static boolean isWide(DataType type) {
        return type == DataType.INT32 || type == DataType.INT64;
    }

    private static long extreme(NDArray scalar) {
        try (scalar) {
            return toLongArray(scalar)[0];
        }
    }

    private static long[] toLongArray(NDArray indices) {
        return HostData.read(indices, DataType.INT64, NDArray::toLongArray);
    }
}
