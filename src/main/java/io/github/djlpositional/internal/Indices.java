package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.core.Embedding;

/**
 * Integer arrays that select rows of a table: token ids and positions. An index out of range is an exception on a CPU.
 * On a GPU, where reading the indices would wait and using them would end CUDA for the process, its row is NaN, as with
 * JAX's {@code take}.
 */
public final class Indices {

    /** Reading so many values costs less than two reductions by the engine. */
    private static final int FEW = 64;

    /** A float is exact for all integers up to this one. */
    private static final int FLOATS = 1 << 24;

    private Indices() {}

    /**
     * Returns whether indices have to be checked before they are used: on a CPU, and on a GPU of an engine that cannot
     * give rows of NaN, which waits for it.
     */
    public static boolean areChecked(NDArray indices) {
        return HostData.isHost(indices.getDevice()) || TorchFunctions.of(indices) == null;
    }

    /**
     * Checks that all indices are from 0 to limit - 1, and returns the largest; -1 if there are none. The engines do
     * not check them: MXNet silently reads another row, and PyTorch fails with a message that does not name the index.
     * This waits for the device.
     */
    public static int requireBelow(NDArray indices, int limit, String what, String remedy) {
        Bounds bounds = bounds(indices);
        requireWithin(indices, bounds, 0, limit, what, remedy);
        return (int) bounds.largest;
    }

    /** Checks that indices, whose bounds are known, are from a first number to limit - 1. */
    public static void requireWithin(NDArray indices, Bounds bounds, int first, int limit, String what, String remedy) {
        if (bounds.smallest >= first && bounds.largest < limit) {
            return;
        }
        long[] values = longs(indices);
        for (int i = 0; i < values.length; i++) {
            if (values[i] < first || values[i] >= limit) {
                throw new IllegalArgumentException(what + " " + values[i] + " at index " + i + " of "
                        + indices.getShape() + ": expected " + first + " to " + (limit - 1) + "; " + remedy);
            }
        }
    }

    /**
     * The smallest and the largest of some numbers.
     *
     * @param smallest 0 if there are no numbers
     * @param largest -1 if there are no numbers
     */
    public record Bounds(double smallest, double largest) {}

    /** Returns the bounds of integers. This waits for the device. */
    public static Bounds bounds(NDArray integers) {
        DataType type = integers.getDataType();
        if (integers.size() > FEW && (type == DataType.INT32 || type == DataType.INT64)) {
            return new Bounds(scalar(integers.min()), scalar(integers.max()));
        }
        long[] values = longs(integers);
        long smallest = values.length == 0 ? 0 : values[0];
        long largest = values.length == 0 ? -1 : values[0];
        for (long value : values) {
            smallest = Math.min(smallest, value);
            largest = Math.max(largest, value);
        }
        return new Bounds(smallest, largest);
    }

    private static long[] longs(NDArray integers) {
        return HostData.read(integers, DataType.INT64, NDArray::toLongArray);
    }

    /** Reads an integer, and closes its array. This waits for the device. */
    public static long scalar(NDArray array) {
        try (array) {
            return HostData.read(array, DataType.INT64, NDArray::toLongArray)[0];
        }
    }

    /**
     * Returns consecutive integers, (count), on the device of an array: exact, where {@code arange} of DJL passes its
     * bounds as floats.
     */
    public static NDArray range(NDArray like, int first, int count, DataType type) {
        NDManager manager = like.getManager();
        boolean isExact = first >= -FLOATS && first + count <= FLOATS;
        int from = isExact ? first : 0;
        NDArray integers = manager.arange(from, from + count, 1, type, like.getDevice());
        if (isExact) {
            return integers;
        }
        try (integers;
                NDArray added = Arithmetic.number(integers, first)) {
            return integers.add(added);
        }
    }

    /**
     * Returns how many of some ascending numbers, (n), are below each number of an array, INT32. On MXNet it takes n
     * numbers for each.
     */
    public static NDArray countBelow(NDArray array, NDArray ascending) {
        TorchFunctions functions = TorchFunctions.of(array);
        return functions != null
                ? functions.countBelow(array, ascending)
                : Arithmetic.toType(array.expandDims(-1).gt(ascending), DataType.INT32)
                        .sum(new int[] {-1});
    }

    /** Converts indices to INT64, unless they are INT32, which both engines can look up with too. */
    public static NDArray forLookUp(NDArray indices) {
        return indices.getDataType() == DataType.INT32 ? indices : Arithmetic.toType(indices, DataType.INT64);
    }

    /**
     * Looks up rows of a table (n, D), on its device, by indices that are known to be in range. The result is a new
     * array, the shape of the indices + (D).
     */
    public static NDArray lookUp(NDArray indices, NDArray table, NDManager manager) {
        return lookUp(indices, table, manager, false);
    }

    /**
     * Looks up rows by indices from the caller of a forward. Where they {@linkplain #areChecked are not checked}, the
     * row of an index out of range is NaN.
     */
    public static NDArray lookUpOrNaN(NDArray indices, NDArray table, NDManager manager) {
        return lookUp(indices, table, manager, !areChecked(indices));
    }

    /**
     * Looks up rows like {@link #lookUpOrNaN}, also by negative indices: the row of -i is the row of i times signs, (1,
     * D).
     */
    public static NDArray lookUpSigned(NDArray indices, NDArray table, NDArray signs, NDManager manager) {
        TorchFunctions functions = TorchFunctions.of(table);
        return Temporaries.result(() -> {
            NDArray wide = forLookUp(indices.toDevice(table.getDevice(), false));
            NDArray result;
            if (functions == null) {
                NDArray rows = lookUp(wide.abs(), table, manager);
                NDArray isNegative = Arithmetic.toType(wide.lt(wide.neg()), table.getDataType());
                result = rows.add(rows.mul(signs).sub(rows).mul(isNegative.expandDims(-1)));
            } else {
                result = functions.lookUpSigned(table, signs, wide);
            }
            result.attach(manager);
            return result;
        });
    }

    /**
     * Looks up columns of a table (N, n) by indices that are known to be in range: a new array, (N, size of the
     * indices).
     */
    public static NDArray lookUpColumns(NDArray indices, NDArray table) {
        long count = table.getShape().get(0);
        if (Arithmetic.isPyTorch(table) && HostData.isHost(table.getDevice())) {
            // half the time of rows, which are transposed later, and a fifth with gradients
            NDArray row = Arithmetic.toType(indices, DataType.INT64).reshape(1, -1);
            return table.gather(row.broadcast(count, row.size()), 1);
        }
        // contiguous rows are looked up faster
        NDArray rows = table.transpose(1, 0).reshape(-1).reshape(-1, count);
        return lookUp(indices.reshape(-1), rows, table.getManager()).transpose(1, 0);
    }

    private static NDArray lookUp(NDArray indices, NDArray table, NDManager manager, boolean mayBeOutside) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray moved = temporaries.addUnless(indices, indices.toDevice(table.getDevice(), false));
            NDArray wide = temporaries.addUnless(moved, forLookUp(moved));
            NDArray rows = mayBeOutside
                    ? TorchFunctions.of(table).lookUp(table, wide)
                    : Embedding.embedding(wide, table, SparseFormat.DENSE).singletonOrThrow();
            rows.attach(manager);
            return rows;
        }
    }
}
