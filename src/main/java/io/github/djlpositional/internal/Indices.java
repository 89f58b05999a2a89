package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.core.Embedding;
import io.github.djlpositional.arguments.Check;

/** Integer arrays that select rows of a table: token ids and positions. */
public final class Indices {

    /** Reading so many values costs less than asking the engine for the least and the greatest. */
    private static final int FEW = 64;

    private Indices() {}

    /**
     * Returns whether indices are checked before they are used. Reading them would wait for a GPU.
     *
     * @param rangeChecks true to check on every device, false on none; null to check on a CPU only
     * @param indices the indices
     */
    public static boolean areChecked(Boolean rangeChecks, NDArray indices) {
        return rangeChecks == null ? HostData.isHost(indices.getDevice()) : rangeChecks;
    }

    /**
     * Checks that all indices are from 0 to limit - 1. The engines do not: MXNet silently reads another row, and PyTorch fails
     * with a message that does not name the index. This reads the values, and so waits for the device.
     *
     * @param indices any shape, an integer type
     * @param limit the number of rows
     * @param what what an index is, for the message
     * @param remedy what to do, for the message
     * @return the greatest index, -1 if there is none
     * @throws IllegalArgumentException if an index is out of range
     */
    public static int requireBelow(NDArray indices, int limit, String what, String remedy) {
        if (indices.size() > FEW && isWide(indices.getDataType())) {
            long greatest = scalar(indices.max());
            if (greatest < limit && scalar(indices.min()) >= 0) {
                return (int) greatest;
            }
        }
        long[] values = HostData.read(indices, DataType.INT64, NDArray::toLongArray);
        long greatest = -1;
        for (int i = 0; i < values.length; i++) {
            if (values[i] < 0 || values[i] >= limit) {
                throw new IllegalArgumentException(what + " " + values[i] + " at index " + i + " of "
                        + indices.getShape() + ": expected 0 to " + (limit - 1) + "; " + remedy);
            }
            greatest = Math.max(greatest, values[i]);
        }
        return (int) greatest;
    }

    private static boolean isWide(DataType type) {
        return type == DataType.INT32 || type == DataType.INT64;
    }

    private static long scalar(NDArray scalar) {
        try (scalar) {
            return HostData.read(scalar, DataType.INT64, NDArray::toLongArray)[0];
        }
    }

    /**
     * Checks token ids.
     *
     * @param ids any shape
     * @throws IllegalArgumentException if they are not integers
     */
    public static void requireInteger(NDArray ids) {
        Check.that(
                ids.getDataType().isInteger(),
                "token ids %s have data type %s: expected an integer type; convert them with toType(DataType.INT64, false)",
                ids.getShape(),
                ids.getDataType());
    }

    /**
     * Converts indices to a type that both engines can look up with.
     *
     * @param indices any shape, an integer type
     * @return the array itself if it is INT32 or INT64, otherwise a new one, INT64, on the same manager
     */
    public static NDArray forLookUp(NDArray indices) {
        return indices.getDataType() == DataType.INT32 ? indices : indices.toType(DataType.INT64, false);
    }

    /**
     * Looks up rows.
     *
     * @param indices any shape, an integer type, in range; on any device
     * @param table (n, D), on the device where the rows are needed
     * @param manager the manager that the rows are attached to
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
}
