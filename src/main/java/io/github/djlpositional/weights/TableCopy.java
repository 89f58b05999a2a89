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
import java.util.stream.IntStream;

/**
 * Copies a tensor from a file to a parameter. The tensor is read completely before any of it is written. It is read in
 * pieces to the engine's memory, so that the size of Java's heap and the 2 GB of a buffer do not limit it.
 */
record TableCopy(StoredTensor tensor, Parameter parameter, int skippedRows) {

    private static final int PIECE_BYTES = 8 << 20;

    /** The size of a buffer that every engine accepts. */
    private static final long LARGEST_BUFFER = 1 << 30;

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

    /**
     * Reads the tensor into an array of a manager on the CPU, and returns the action that writes the parameter. A line
     * is a part along the axis that varies slowest in the file; a column-major table has columns as lines.
     */
    Runnable read(NDManager staging) throws IOException, MalformedModelException {
        if (parameter.getArray().size() == 0) {
            return () -> {};
        }
        long[] sizes = tensor.shape().getShape();
        int rank = sizes.length;
        boolean isTransposed = tensor.isColumnMajor() && rank > 1;
        Shape stored = new Shape(IntStream.range(0, rank)
                .mapToLong(axis -> sizes[isTransposed ? rank - 1 - axis : axis])
                .toArray());
        Shape line = stored.slice(1);
        DataType type = parameter.getArray().getDataType();
        FloatFormat format = DataTypes.formatOf(type);
        long lineBytes = line.size() * Math.max(format.bytes(), tensor.type().bytes());
        Check.that(
                lineBytes <= LARGEST_BUFFER,
                () -> tensor + " has rows of " + lineBytes + " bytes: expected at most " + LARGEST_BUFFER
                        + "; split it into tensors of more and shorter rows");
        int firstLine = isTransposed ? 0 : skippedRows;
        int lineValues = Math.toIntExact(line.size());
        long lineCount = stored.get(0) - firstLine;
        int linesAtOnce = (int) Math.max(1, Math.min(lineCount, PIECE_BYTES / lineBytes));
        ByteBuffer converted = staging.allocateDirect(linesAtOnce * lineValues * format.bytes());
        NDArray lines = staging.create(new Shape(lineCount).addAll(line), type, Device.cpu());
        tensor.read((long) firstLine * lineValues, linesAtOnce * lineValues, (first, count, raw) -> {
            convert(raw, count, format, converted.clear());
            converted.limit(count * format.bytes());
            Shape pieceShape = new Shape(count / lineValues).addAll(line);
            long start = first / lineValues - firstLine;
            try (NDArray piece = HostData.toArray(staging, Device.cpu(), converted, pieceShape, type)) {
                lines.set(NDIndex.sliceAxis(0, start, start + pieceShape.get(0)), piece);
            }
        });
        return () -> write(isTransposed ? lines.transpose().get(NDIndex.sliceAxis(0, skippedRows, sizes[0])) : lines);
    }

    private void convert(ByteBuffer raw, int count, FloatFormat format, ByteBuffer out) {
        StoredType type = tensor.type();
        if (type.format() == format && raw.order() == out.order()) {
            out.put(0, raw, 0, count * type.bytes());
            return;
        }
        for (int i = 0; i < count; i++) {
            format.put(out, i, type.get(raw, i));
        }
    }

    /**
     * Writes rows into the parameter's array, which stays the same array. PyTorch rejects writing in place to an array
     * that gradients are recorded for; so recording is switched off in the meantime.
     */
    private void write(NDArray rows) {
        NDArray target = parameter.getArray();
        boolean hadGradient = target.hasGradient();
        if (hadGradient) {
            target.setRequiresGradient(false);
        }
        try {
            target.set(NDIndex.sliceAxis(0, 0, rows.getShape().get(0)), rows);
        } finally {
            if (hadGradient) {
                target.setRequiresGradient(true);
            }
        }
    }
}
