package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.FloatFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.stream.LongStream;

/**
 * Rows {@code from} to {@code to - 1} of a tensor, which are its parts along the first axis, or these columns of a
 * matrix, each of which becomes a row. A scalar is a row.
 */
record TensorPart(StoredTensor tensor, boolean isTransposed, long from, long to) {

    private static final int PIECE_BYTES = 8 << 20;

    /** Checks that the tensor has these rows or columns. */
    TensorPart {
        Shape sizes = sizes(tensor);
        Check.that(
                !isTransposed || sizes.dimension() == 2,
                () -> tensor + " has shape " + sizes + ": expected a matrix; give a tensor with two axes");
        long count = sizes.get(isTransposed ? 1 : 0);
        Check.that(
                0 <= from && from <= to && to <= count,
                () -> described(tensor, isTransposed, from, to) + " of shape " + sizes
                        + ": expected a range within [0, " + count
                        + "); give the first one and the number after the last one");
    }

    static TensorPart whole(StoredTensor tensor) {
        return new TensorPart(tensor, false, 0, sizes(tensor).get(0));
    }

    private static Shape sizes(StoredTensor tensor) {
        return tensor.shape().dimension() == 0 ? new Shape(1) : tensor.shape();
    }

    private static String described(StoredTensor tensor, boolean isTransposed, long from, long to) {
        return (isTransposed ? "columns [" : "rows [") + from + ", " + to + ") of " + tensor;
    }

    /** Returns this part as messages name it. */
    @Override
    public String toString() {
        return described(tensor, isTransposed, from, to);
    }

    Shape shape() {
        Shape sizes = sizes(tensor);
        return new Shape(to - from).addAll(isTransposed ? sizes.slice(0, 1) : sizes.slice(1));
    }

    /**
     * Reads these rows into a new array of a manager and its device. They are read in pieces to the engine's memory, so
     * that the size of Java's heap and the 2 GB of a buffer do not limit them.
     *
     * <p>A line is a part along the axis that varies slowest in the file; a column-major matrix has columns as lines.
     * Where rows are not lines, the same range is taken from each line, and the axes are reversed.
     */
    NDArray read(NDManager manager, DataType type) throws IOException, MalformedModelException {
        Shape shape = shape();
        if (shape.size() == 0) {
            return manager.create(shape, type);
        }
        boolean isByLine = isTransposed == (tensor.isColumnMajor() && shape.dimension() > 1);
        Shape lineOrder = isByLine ? shape : reversed(shape);
        Shape line = lineOrder.slice(1);
        long lineCount = lineOrder.get(0);
        long firstLine = isByLine ? from : 0;
        long rowCount = sizes(tensor).get(isTransposed ? 1 : 0);
        long lineValues = sizes(tensor).size() / (isByLine ? rowCount : lineCount);
        long lineBytes =
                lineValues * Math.max(type.getNumOfBytes(), tensor.type().bytes());
        Check.that(
                lineBytes <= HostData.LARGEST_BUFFER,
                () -> tensor + " has rows of " + lineBytes + " bytes: expected at most " + HostData.LARGEST_BUFFER
                        + "; split it into tensors of more and shorter rows");
        int linesAtOnce = (int) Math.max(1, Math.min(lineCount, PIECE_BYTES / lineBytes));
        int period = (int) (isByLine ? lineValues : rowCount);
        int skipped = isByLine ? 0 : (int) from;
        int taken = isByLine ? period : (int) (to - from);
        try (NDManager temporary = manager.newSubManager(Device.cpu())) {
            NDArray lines = temporary.create(lineOrder, type);
            ByteBuffer buffer = temporary.allocateDirect(linesAtOnce * (int) line.size() * type.getNumOfBytes());
            long start = firstLine * lineValues;
            tensor.read(start, start + lineCount * lineValues, linesAtOnce * (int) lineValues, (first, count, raw) -> {
                long at = first / lineValues - firstLine;
                Shape pieceShape = new Shape(count / lineValues).addAll(line);
                convert(raw, count, skipped, taken, period, type, buffer.clear());
                buffer.limit((int) pieceShape.size() * type.getNumOfBytes());
                try (NDArray piece = HostData.toArray(temporary, Device.cpu(), buffer, pieceShape, type)) {
                    lines.set(NDIndex.sliceAxis(0, at, at + pieceShape.get(0)), piece);
                }
            });
            NDArray rows = isByLine ? lines : lines.transpose().flatten().reshape(shape);
            NDArray result = rows.toDevice(manager.getDevice(), false);
            result.attach(manager);
            return result;
        }
    }

    private static Shape reversed(Shape shape) {
        int last = shape.dimension() - 1;
        return new Shape(LongStream.rangeClosed(0, last)
                .map(axis -> shape.get((int) (last - axis)))
                .toArray());
    }

    /** Converts some numbers of each period, of which it skips the first ones. */
    private void convert(
            ByteBuffer raw, int count, int skipped, int taken, int period, DataType target, ByteBuffer out) {
        StoredType type = tensor.type();
        if (type.isStoredAs(target) && raw.order() == out.order() && taken == period) {
            out.put(0, raw, 0, count * type.bytes());
            return;
        }
        FloatFormat format = type.isReal() ? DataTypes.formatOf(target) : null;
        int index = 0;
        for (int start = skipped; start < count; start += period) {
            for (int i = start; i < start + taken; i++) {
                if (format == null) {
                    putInteger(out, index++, target, type.getInteger(raw, i));
                } else {
                    format.put(out, index++, type.get(raw, i));
                }
            }
        }
    }

    private static void putInteger(ByteBuffer out, int index, DataType target, long value) {
        switch (target.getNumOfBytes()) {
            case Byte.BYTES -> out.put(index, (byte) value);
            case Integer.BYTES -> out.putInt(index * Integer.BYTES, (int) value);
            default -> out.putLong(index * Long.BYTES, value);
        }
    }
}
