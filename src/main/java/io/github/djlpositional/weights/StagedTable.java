package io.github.djlpositional.weights;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.FloatFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A tensor on its way from a file to a parameter: read whole, in pieces, before anything of it is written. The pieces are in the
 * engine's memory, so that neither Java's heap nor the 2 GB of its buffers limits them.
 */
final class StagedTable {

    private static final int PIECE_BYTES = 8 << 20;

    /** Some lines of a tensor: parts along the axis that varies slowest in the file. */
    private record Piece(long first, long count, NDArray lines) {}

    private final StoredTensor tensor;
    private final int skippedRows;
    private final NDArray target;
    private final List<Piece> pieces = new ArrayList<>();

    /**
     * Describes a way; nothing is read yet.
     *
     * @param tensor where the numbers are
     * @param skippedRows how many of its rows are left out in front
     * @param target where they go: of the tensor's shape, but for the rows that are left out; not empty and no scalar
     */
    StagedTable(StoredTensor tensor, int skippedRows, NDArray target) {
        this.tensor = tensor;
        this.skippedRows = skippedRows;
        this.target = target;
    }

    /** Whether lines are columns, which are turned on their way. */
    private boolean isTurned() {
        return tensor.isColumnMajor() && tensor.shape().dimension() > 1;
    }

    /**
     * Reads the tensor.
     *
     * @param staging what the pieces are attached to, on the CPU
     * @throws IllegalArgumentException if a line is longer than a buffer
     */
    void read(NDManager staging) throws IOException, MalformedModelException {
        Shape stored = isTurned() ? reversed(tensor.shape()) : tensor.shape();
        Shape line = stored.slice(1);
        DataType type = target.getDataType();
        FloatFormat format = DataTypes.formatOf(type);
        long lineBytes = line.size() * Math.max(format.bytes(), tensor.type().bytes());
        if (lineBytes > HostData.LARGEST_BUFFER) {
            throw new IllegalArgumentException(tensor + " has " + lineBytes + " bytes in one row: allowed are "
                    + HostData.LARGEST_BUFFER + "; split it into tensors of more and shorter rows");
        }
        long firstLine = isTurned() ? 0 : skippedRows;
        int linesAtOnce = (int) Math.max(1, Math.min(stored.get(0) - firstLine, PIECE_BYTES / lineBytes));
        int lineValues = Math.toIntExact(line.size());
        ByteBuffer raw =
                ByteBuffer.allocate(linesAtOnce * lineValues * tensor.type().bytes());
        ByteBuffer converted = staging.allocateDirect(linesAtOnce * lineValues * format.bytes());
        try (TensorReader reader = TensorReader.open(tensor)) {
            reader.skip(firstLine * lineValues);
            for (long first = firstLine; first < stored.get(0); first += linesAtOnce) {
                int count = (int) Math.min(linesAtOnce, stored.get(0) - first);
                reader.read(count * lineValues, raw);
                convert(raw, count * lineValues, format, converted.clear());
                converted.limit(count * lineValues * format.bytes());
                Shape shape = new Shape(count).addAll(line);
                NDArray lines = HostData.toArray(staging, Device.cpu(), converted, shape, type);
                pieces.add(new Piece(first - firstLine, count, lines));
            }
            reader.requireEnd();
        }
    }

    private static Shape reversed(Shape shape) {
        long[] sizes = shape.getShape();
        long[] reversed = new long[sizes.length];
        for (int axis = 0; axis < sizes.length; axis++) {
            reversed[axis] = sizes[sizes.length - 1 - axis];
        }
        return new Shape(reversed);
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
     * Writes what was read into the array, which stays the same array. PyTorch refuses to write in place to one that gradients are
     * recorded for, so that for the time of the writing they are not.
     */
    void write() {
        boolean hadGradient = target.hasGradient();
        if (hadGradient) {
            target.setRequiresGradient(false);
        }
        try {
            for (Piece piece : pieces) {
                int axis = isTurned() ? target.getShape().dimension() - 1 : 0;
                target.set(
                        NDIndex.sliceAxis(axis, piece.first(), piece.first() + piece.count()),
                        isTurned() ? turned(piece.lines()) : piece.lines());
            }
        } finally {
            if (hadGradient) {
                target.setRequiresGradient(true);
            }
        }
    }

    /** Lines that are columns, as columns, without the rows that are left out. */
    private NDArray turned(NDArray lines) {
        int rowAxis = lines.getShape().dimension() - 1;
        long rows = lines.getShape().get(rowAxis);
        return lines.get(NDIndex.sliceAxis(rowAxis, skippedRows, rows)).transpose();
    }
}
