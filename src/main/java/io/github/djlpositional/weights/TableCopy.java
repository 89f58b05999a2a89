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
import java.util.stream.LongStream;

/**
 * Copies a tensor from a file to a parameter. The tensor is read completely before any of it is written. It is read in
 * pieces, which are in the engine's memory, so that the size of Java's heap and the 2 GB of a buffer do not limit it.
 */
record TableCopy(StoredTensor tensor, Parameter parameter, int skippedRows) {

    private static final int PIECE_BYTES = 8 << 20;

    /** The size of a buffer that every engine accepts. */
    private static final long LARGEST_BUFFER = 1 << 30;

    /** Some lines of a tensor. A line is a part along the axis that varies slowest in the file. */
    private record Piece(long first, NDArray lines) {}

    /**
     * Checks that the parameter has an array of the tensor's shape without its first rows, and of a type as wide or
     * wider.
     */
    void requireFits() {
        String target = "parameter " + InvalidFileException.quoted(parameter.getName()) + " for " + tensor;
        boolean hasArray = parameter.isInitialized() && !parameter.getArray().isReleased();
        Check.that(
                hasArray,
                () -> target + " has no array: expected an initialized parameter; initialize its block first");
        NDArray array = parameter.getArray();
        DataTypes.requireEmbedding(array, target);
        DataType type = array.getDataType();
        Shape shape = array.getShape();
        boolean isScalar = shape.dimension() == 0;
        Shape expected = isScalar ? shape : new Shape(shape.get(0) + skippedRows).addAll(shape.slice(1));
        boolean hasType = tensor.type() != null && tensor.type().fitsInto(DataTypes.formatOf(type));
        Check.that(
                hasType && !isScalar && tensor.shape().equals(expected),
                () -> target + " of shape " + shape + " and type " + type + " has type "
                        + InvalidFileException.quoted(tensor.typeName()) + " and shape " + tensor.shape()
                        + ": expected the parameter's type or a narrower float and shape " + expected + ", with "
                        + skippedRows
                        + " skipped rows and at least one axis; convert the tensor where the file is created, build the"
                        + " block with the tensor's sizes and a wider type, or give another name");
    }

    /** Returns whether lines are columns and have to be transposed. */
    private boolean isTransposed() {
        return tensor.isColumnMajor() && tensor.shape().dimension() > 1;
    }

    /** Reads the tensor into arrays of a manager on the CPU, and returns the action that writes the parameter. */
    Runnable read(NDManager staging) throws IOException, MalformedModelException {
        List<Piece> pieces = new ArrayList<>();
        if (parameter.getArray().size() == 0) {
            return () -> write(pieces);
        }
        Shape shape = tensor.shape();
        int last = shape.dimension() - 1;
        Shape stored = !isTransposed()
                ? shape
                : new Shape(LongStream.rangeClosed(0, last)
                        .map(axis -> shape.get((int) (last - axis)))
                        .toArray());
        Shape line = stored.slice(1);
        DataType type = parameter.getArray().getDataType();
        FloatFormat format = DataTypes.formatOf(type);
        long lineBytes = line.size() * Math.max(format.bytes(), tensor.type().bytes());
        Check.that(
                lineBytes <= LARGEST_BUFFER,
                () -> tensor + " has rows of " + lineBytes + " bytes: expected at most " + LARGEST_BUFFER
                        + "; split it into tensors of more and shorter rows");
        long firstLine = isTransposed() ? 0 : skippedRows;
        int lineValues = Math.toIntExact(line.size());
        int linesAtOnce = (int) Math.max(1, Math.min(stored.get(0) - firstLine, PIECE_BYTES / lineBytes));
        ByteBuffer converted = staging.allocateDirect(linesAtOnce * lineValues * format.bytes());
        tensor.read(firstLine * lineValues, linesAtOnce * lineValues, (first, count, raw) -> {
            convert(raw, count, format, converted.clear());
            converted.limit(count * format.bytes());
            Shape lineShape = new Shape(count / lineValues).addAll(line);
            NDArray lines = HostData.toArray(staging, Device.cpu(), converted, lineShape, type);
            pieces.add(new Piece(first / lineValues - firstLine, lines));
        });
        return () -> write(pieces);
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
     * Writes pieces into the parameter's array, which stays the same array. PyTorch rejects writing in place to an
     * array that gradients are recorded for; so recording is switched off in the meantime.
     */
    private void write(List<Piece> pieces) {
        NDArray target = parameter.getArray();
        boolean hadGradient = target.hasGradient();
        if (hadGradient) {
            target.setRequiresGradient(false);
        }
        try {
            int axis = isTransposed() ? target.getShape().dimension() - 1 : 0;
            for (Piece piece : pieces) {
                NDArray lines = piece.lines();
                long count = lines.getShape().get(0);
                if (isTransposed()) {
                    NDIndex rows = NDIndex.sliceAxis(
                            axis, skippedRows, lines.getShape().get(axis));
                    lines = lines.get(rows).transpose();
                }
                target.set(NDIndex.sliceAxis(axis, piece.first(), piece.first() + count), lines);
            }
        } finally {
            if (hadGradient) {
                target.setRequiresGradient(true);
            }
        }
    }
}
