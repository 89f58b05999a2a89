package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.FloatFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Copies a tensor from a file to a parameter. The tensor is read completely before any of it is written. It is read in pieces, which
 * are in the engine's memory, so that the size of Java's heap and the 2 GB of a buffer do not limit it.
 */
final class TableCopy {

    private static final int PIECE_BYTES = 8 << 20;

    /** The size of a buffer that every engine accepts. */
    private static final long LARGEST_BUFFER = 1 << 30;

    /** Some lines of a tensor. A line is a part along the axis that varies slowest in the file. */
    private record Piece(long first, long count, NDArray lines) {}

    private final StoredTensor tensor;
    private final Parameter parameter;
    private final int skippedRows;
    private final List<Piece> pieces = new ArrayList<>();

    TableCopy(StoredTensor tensor, Parameter parameter, int skippedRows) {
        this.tensor = tensor;
        this.parameter = parameter;
        this.skippedRows = skippedRows;
    }

    /** Checks that the parameter has an array of the tensor's shape without its first rows, and of a type as wide or wider. */
    void requireFits() {
        String target = "parameter " + InvalidFileException.quoted(parameter.getName()) + " for " + tensor;
        Check.that(
                parameter.isInitialized() && !parameter.getArray().isReleased(),
                "%s has no array: expected an initialized or loaded parameter; initialize its block first",
                target);
        NDArray array = parameter.getArray();
        DataTypes.requireEmbedding(array, target);
        DataType type = array.getDataType();
        Check.that(
                tensor.type() != null && tensor.type().fitsInto(DataTypes.formatOf(type)),
                "%s has data type %s, the tensor has type %s: expected this type or a narrower float; convert the tensor where"
                        + " the file is created, or initialize the block with a wider type",
                target,
                type,
                InvalidFileException.quoted(tensor.typeName()));
        Shape shape = array.getShape();
        boolean isScalar = shape.dimension() == 0;
        Shape expected = isScalar ? shape : new Shape(shape.get(0) + skippedRows).addAll(shape.slice(1));
        Check.that(
                !isScalar && tensor.shape().equals(expected),
                "%s has shape %s with %d rows skipped, the tensor has shape %s: expected %s, one axis or more; build the block"
                        + " with the tensor's sizes, or give another name",
                target,
                shape,
                skippedRows,
                tensor.shape(),
                expected);
    }

    /** Returns a manager on the CPU for {@link #read}, to be closed by the caller. */
    NDManager newStaging() {
        return parameter.getArray().getManager().newSubManager(Device.cpu());
    }

    /** Returns whether lines are columns and have to be transposed. */
    private boolean isTransposed() {
        return tensor.isColumnMajor() && tensor.shape().dimension() > 1;
    }

    /**
     * Reads the tensor.
     *
     * @param staging the manager of the pieces, on the CPU
     * @throws IllegalArgumentException if a line is larger than a buffer
     */
    void read(NDManager staging) throws IOException, MalformedModelException {
        pieces.clear(); // of an earlier call that failed
        if (parameter.getArray().size() == 0) {
            return;
        }
        Shape stored = isTransposed() ? reversed(tensor.shape()) : tensor.shape();
        Shape line = stored.slice(1);
        DataType type = parameter.getArray().getDataType();
        FloatFormat format = DataTypes.formatOf(type);
        long lineBytes = line.size() * Math.max(format.bytes(), tensor.type().bytes());
        Check.that(
                lineBytes <= LARGEST_BUFFER,
                "%s has %d bytes in one row: expected at most %d; split it into tensors of more and shorter rows",
                tensor,
                lineBytes,
                LARGEST_BUFFER);
        long firstLine = isTransposed() ? 0 : skippedRows;
        int lineValues = Math.toIntExact(line.size());
        int linesAtOnce = (int) Math.max(1, Math.min(stored.get(0) - firstLine, PIECE_BYTES / lineBytes));
        ByteBuffer converted = staging.allocateDirect(linesAtOnce * lineValues * format.bytes());
        tensor.read(firstLine * lineValues, linesAtOnce * lineValues, (first, count, raw) -> {
            convert(raw, count, format, converted.clear());
            converted.limit(count * format.bytes());
            Shape shape = new Shape(count / lineValues).addAll(line);
            NDArray lines = HostData.toArray(staging, Device.cpu(), converted, shape, type);
            pieces.add(new Piece(first / lineValues - firstLine, count / lineValues, lines));
        });
    }

    private static Shape reversed(Shape shape) {
        int last = shape.dimension() - 1;
        return new Shape(IntStream.rangeClosed(0, last)
                .mapToLong(axis -> shape.get(last - axis))
                .toArray());
    }

    private void convert(ByteBuffer raw, int count, FloatFormat format, ByteBuffer out) {
        StoredType type = tensor.type();
        if (type.isStoredAs(format) && raw.order() == out.order()) {
            out.put(0, raw, 0, count * type.bytes());
            return;
        }
        for (int i = 0; i < count; i++) {
            format.put(out, i, type.get(raw, i));
        }
    }

    /**
     * Writes what was read into the parameter's array, which stays the same array. PyTorch rejects writing in place to an array that
     * gradients are recorded for; so recording is switched off in the meantime.
     */
    void write() {
        NDArray target = parameter.getArray();
        boolean hadGradient = target.hasGradient();
        if (hadGradient) {
            target.setRequiresGradient(false);
        }
        try {
            int axis = isTransposed() ? target.getShape().dimension() - 1 : 0;
            for (Piece piece : pieces) {
                NDIndex place = NDIndex.sliceAxis(axis, piece.first(), piece.first() + piece.count());
                target.set(place, isTransposed() ? transposed(piece.lines()) : piece.lines());
            }
        } finally {
            if (hadGradient) {
                target.setRequiresGradient(true);
            }
        }
    }

    /** Transposes lines that are columns, without the skipped rows. */
    private NDArray transposed(NDArray lines) {
        int rowAxis = lines.getShape().dimension() - 1;
        long rows = lines.getShape().get(rowAxis);
        return lines.get(NDIndex.sliceAxis(rowAxis, skippedRows, rows)).transpose();
    }
}
