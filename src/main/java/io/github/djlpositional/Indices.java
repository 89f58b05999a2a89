package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;

/** Integer arrays that pick rows of a table: token ids and positions. */
final class Indices {

    private Indices() {}

    /**
     * Refuses an index outside 0 … limit - 1. The engines do not: MXNet silently reads another row, PyTorch fails with a
     * message that names nothing. Reads the array's values, and so waits for its device.
     *
     * @param indices any shape, an integer type
     * @param limit the number of rows
     * @param what what one index is, for the message
     * @param remedy what to do, for the message
     * @return the greatest index, -1 where there is none
     */
    static int requireBelow(NDArray indices, int limit, String what, String remedy) {
        long[] values = toLongArray(indices);
        long greatest = -1;
        for (int i = 0; i < values.length; i++) {
            if (values[i] < 0 || values[i] >= limit) {
                throw new IllegalArgumentException(what + " " + values[i] + " at index " + i + " of "
                        + indices.getShape() + " is outside 0 to " + (limit - 1) + ": " + remedy);
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
    static NDArray forLookUp(NDArray indices) {
        return indices.getDataType() == DataType.INT32 ? indices : indices.toType(DataType.INT64, false);
    }

    private static long[] toLongArray(NDArray indices) {
        NDArray longs = indices.toType(DataType.INT64, false);
        try {
            return longs.toLongArray();
        } finally {
            if (longs != indices) {
                longs.close();
            }
        }
    }
}
