package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.FloatFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.function.Supplier;

/**
 * Rows {@code from} to {@code to - 1} of each of some equal groups of rows of a tensor, along its first axis, or of the
 * columns of a matrix, each of which becomes a row. A scalar is a row. For columns, all axes but the first are one.
 */
record TensorSlice(StoredTensor tensor, boolean isTransposed, int groups, long from, long to) {

    private static final int PIECE_BYTES = 8 << 20;

    /** One group: rows or columns one after another. */
    TensorSlice(StoredTensor tensor, boolean isTransposed, long from, long to) {
        this(tensor, isTransposed, 1, from, to);
    }

    static TensorSlice whole(StoredTensor tensor) {
        return new TensorSlice(tensor, false, 0, sizes(tensor, false).get(0));
    }

    /** Returns the rows or columns of each group from one on. */
    static TensorSlice rest(StoredTensor tensor, boolean isTransposed, int groups, long from) {
        Shape shape = sizes(tensor, isTransposed);
        long count = shape.get(isTransposed && shape.dimension() > 1 ? 1 : 0);
        return new TensorSlice(tensor, isTransposed, groups, from, count / groups);
    }

    /** Returns the rows before one. */
    TensorSlice until(long end) {
        return new TensorSlice(tensor, isTransposed, groups, from, end);
    }

    private Shape sizes() {
        return sizes(tensor, isTransposed);
    }

    private static Shape sizes(StoredTensor tensor, boolean isTransposed) {
        Shape shape = tensor.shape();
        if (shape.dimension() == 0) {
            return new Shape(1);
        }
        return isTransposed && shape.dimension() > 2
                ? new Shape(shape.get(0), shape.slice(1).size())
                : shape;
    }

    /** Returns the number of rows or columns of a group. */
    private long available() {
        return sizes().get(isTransposed ? 1 : 0) / groups;
    }

    /** Checks that the tensor has these rows or columns; messages name the target. */
    void requireExists(Supplier<String> target) {
        Shape sizes = tensor.shape();
        Check.that(
                !isTransposed || sizes.dimension() >= 2,
                () -> tensor + " for " + target.get() + " has shape " + sizes
                        + ": expected a matrix; pass the name of a tensor with two axes or more");
        Check.that(
                groups == 1 || (groups > 0 && sizes.dimension() > 0 && sizes.get(0) % groups == 0),
                () -> tensor + " for " + target.get() + " has shape " + sizes + ": expected rows in " + groups
                        + " equal groups; pass a number of groups that divides the number of rows");
        Check.that(
                0 <= from && from <= to && to <= available(),
                () -> this + " of shape " + sizes + " for " + target.get() + ": expected a range within [0, "
                        + available() + "); pass such a range, or build the block with the tensor's sizes");
    }

    /** Returns the shape of the rows. */
    Shape shape() {
        Shape sizes = sizes();
        return new Shape(groups * (to - from)).addAll(isTransposed ? sizes.slice(0, 1) : sizes.slice(1));
    }

    /** Reads the rows into a new array of a manager, on its device. */
    NDArray read(NDManager manager, DataType type) throws IOException, MalformedModelException {
        if (groups == 1) {
            return readGroup(manager, type);
        }
        try (NDManager temporary = manager.newSubManager()) {
            NDList read = new NDList();
            for (int group = 0; group < groups; group++) {
                long first = group * available();
                read.add(new TensorSlice(tensor, false, first + from, first + to).readGroup(temporary, type));
            }
            NDArray result = NDArrays.concat(read);
            result.attach(manager);
            return result;
        }
    }

    /**
     * Reads the rows of one group. They are read in pieces into the engine's memory, so neither Java's heap nor the 2
     * GB of a buffer limits their size.
     *
     * <p>A line is an index of the first axis of the tensor. Columns are a range of each line, and are transposed in
     * the end.
     */
    private NDArray readGroup(NDManager manager, DataType type) throws IOException, MalformedModelException {
        Shape shape = shape();
        if (shape.size() == 0) {
            return manager.create(shape, type);
        }
        Shape sizes = isTransposed ? new Shape(shape.get(1), shape.get(0)) : shape;
        long firstLine = isTransposed ? 0 : from;
        long lineCount = sizes.get(0);
        Shape line = sizes().slice(1);
        long lineBytes =
                line.size() * Math.max(type.getNumOfBytes(), tensor.type().bytes());
        Check.that(
                lineBytes <= HostData.LARGEST_BUFFER,
                () -> tensor + " has rows of " + lineBytes + " bytes: expected at most " + HostData.LARGEST_BUFFER
                        + "; split it into tensors of more and shorter rows");
        int lineValues = (int) line.size();
        int linesAtOnce = (int) Math.max(1, Math.min(lineCount, PIECE_BYTES / lineBytes));
        try (NDManager temporary = manager.newSubManager(Device.cpu())) {
            NDArray lines = temporary.create(sizes, type);
            ByteBuffer buffer = temporary.allocateDirect(linesAtOnce * lineValues * type.getNumOfBytes());
            long start = firstLine * lineValues;
            tensor.values()
                    .read(start, start + lineCount * lineValues, linesAtOnce * lineValues, (first, count, raw) -> {
                        convert(raw.clear().limit(count * tensor.type().bytes()), type, buffer.clear());
                        buffer.rewind().limit(count * type.getNumOfBytes());
                        long at = first / lineValues - firstLine;
                        Shape pieceShape = new Shape(count / lineValues).addAll(line);
                        try (NDArray piece = HostData.toArray(temporary, Device.cpu(), buffer, pieceShape, type);
                                NDArray selected = isTransposed ? piece.get(NDIndex.sliceAxis(1, from, to)) : piece) {
                            lines.set(NDIndex.sliceAxis(0, at, at + pieceShape.get(0)), selected);
                        }
                    });
            NDArray rows = isTransposed ? lines.transpose().flatten().reshape(shape) : lines;
            NDArray result = rows.toDevice(manager.getDevice(), false);
            result.attach(manager);
            return result;
        }
    }

    /** Converts all values of a buffer; the type of integers does not change. */
    private void convert(ByteBuffer raw, DataType target, ByteBuffer out) {
        StoredType type = tensor.type();
        if (!type.isReal() && type.bytes() == Long.BYTES) {
            out.asLongBuffer().put(raw.asLongBuffer());
        } else if (!type.isReal() && type.bytes() == Integer.BYTES) {
            out.asIntBuffer().put(raw.asIntBuffer());
        } else if (type.isStoredAs(target) && (raw.order() == out.order() || type.bytes() == 1)) {
            out.put(raw);
        } else {
            FloatFormat format = DataTypes.formatOf(target);
            boolean isRounded = !type.fitsInto(target);
            for (int i = 0; i < raw.limit() / type.bytes(); i++) {
                double value = type.get(raw, i);
                if (isRounded) {
                    requireFinite(value, format.round(value), target);
                }
                format.put(out, i, value);
            }
        }
    }

    private void requireFinite(double value, double rounded, DataType target) {
        Check.that(
                Double.isFinite(rounded) || !Double.isFinite(value),
                () -> tensor + " has the value " + value + ": expected values that are finite in " + target
                        + "; use a wider type");
    }

    /** Describes this slice for messages. */
    @Override
    public String toString() {
        return (isTransposed ? "columns [" : "rows [") + from + ", " + to + ") of "
                + (groups == 1 ? "" : "each of " + groups + " groups of rows of ") + tensor;
    }
}
