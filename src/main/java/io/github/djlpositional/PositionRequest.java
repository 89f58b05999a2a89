package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.StartPosition;
import java.util.Arrays;
import java.util.function.UnaryOperator;

/**
 * What one forward asks of a positional encoding: an input, and which position each of its steps has. Checked when made,
 * but for the values in {@code positions}.
 *
 * @param input (…, T, D), or with T on another axis; FLOAT16, FLOAT32 or FLOAT64; the caller's
 * @param axis the axis of T, counted from 0
 * @param positions (T), or one for each sequence of the batch; integer or real; the caller's; null where the positions are
 *     consecutive
 * @param start the first of the consecutive positions
 */
record PositionRequest(NDArray input, int axis, NDArray positions, int start) {

    /** The axis of T where none is set: before the last, D. */
    static final int DEFAULT_AXIS = -2;

    /**
     * Reads a forward's inputs.
     *
     * @param inputs {@code [input]} or {@code [input, positions]}
     * @param params the forward's parameters, of which {@link StartPosition#KEY} is read; may be null
     * @param embeddingSize D
     * @param sequenceAxis the axis of T, negative from the end
     * @param limit one more than the greatest position
     * @return the request
     * @throws IllegalArgumentException if anything of it is not as the block's documentation says
     */
    static PositionRequest of(
            NDList inputs, PairList<String, Object> params, int embeddingSize, int sequenceAxis, int limit) {
        if (inputs.isEmpty() || inputs.size() > 2) {
            throw new IllegalArgumentException(
                    inputs.size() + " inputs were given: allowed are [x] or [x, positions]; pass one or two arrays");
        }
        NDArray input = inputs.get(0);
        DataTypes.requireEmbedding(input, "input");
        int axis = requireShape(input.getShape(), embeddingSize, sequenceAxis);
        if (inputs.size() == 1) {
            return new PositionRequest(
                    input, axis, null, StartPosition.of(params, input.getShape().get(axis), limit));
        }
        StartPosition.requireNone(params);
        PositionRequest request = new PositionRequest(input, axis, inputs.get(1), 0);
        request.requirePositionsShape();
        return request;
    }

    /**
     * Refuses the shape of an input that cannot be encoded. Sizes that are not known yet (-1) pass.
     *
     * @param shape the input's shape
     * @param embeddingSize D
     * @param sequenceAxis the axis of T, negative from the end
     * @return the axis of T, counted from 0
     */
    static int requireShape(Shape shape, int embeddingSize, int sequenceAxis) {
        int rank = shape.dimension();
        if (rank < 2) {
            throw new IllegalArgumentException("input of shape " + shape + " has rank " + rank
                    + ": allowed is (…, T, D), rank 2 or more; add the missing dimensions with expandDims");
        }
        int axis = sequenceAxis < 0 ? rank + sequenceAxis : sequenceAxis;
        if (axis < 0 || axis >= rank - 1) {
            throw new IllegalArgumentException("input of shape " + shape + " has no sequence axis " + sequenceAxis
                    + ": allowed is 0 to " + (rank - 2) + ", or -2 to " + -rank
                    + "; give an input of higher rank, or build the block with another optSequenceAxis(int)");
        }
        long width = shape.get(rank - 1);
        if (width != -1 && width != embeddingSize) {
            throw new IllegalArgumentException("input of shape " + shape + " has width " + width + ": allowed is "
                    + embeddingSize + "; give (…, T, " + embeddingSize + "), or build the block with setEmbeddingSize("
                    + width + ")");
        }
        return axis;
    }

    /**
     * Refuses shapes of which no forward can come.
     *
     * @param shapes those that a block is initialized with
     * @param embeddingSize D
     * @param sequenceAxis the axis of T, negative from the end
     * @param limit one more than the greatest position
     */
    static void requireInitial(Shape[] shapes, int embeddingSize, int sequenceAxis, int limit) {
        if (shapes.length < 1 || shapes.length > 2) {
            throw new IllegalArgumentException(
                    shapes.length
                            + " input shapes were given: allowed are one for x, or two for x and positions; give the shape of x");
        }
        int axis = requireShape(shapes[0], embeddingSize, sequenceAxis);
        StartPosition.requireLength(Math.max(0, shapes[0].get(axis)), 0, limit);
    }

    private void requirePositionsShape() {
        Shape given = positions.getShape();
        Shape each = eachShape();
        if (!given.equals(new Shape(length())) && !given.equals(each)) {
            throw new IllegalArgumentException("positions of shape " + given + " do not fit input " + input.getShape()
                    + ": allowed is (" + length() + ")" + (each == null ? "" : " or " + each)
                    + "; give one position for each step of the sequence");
        }
    }

    /** The shape of positions that differ within the batch: (B, T), time-major (T, B), or null where there is no batch. */
    private Shape eachShape() {
        Shape shape = input.getShape();
        int rank = shape.dimension();
        if (rank >= 3 && axis == rank - 2) {
            return new Shape(shape.get(0), shape.get(axis));
        }
        return rank == 3 && axis == 0 ? new Shape(shape.get(0), shape.get(1)) : null;
    }

    /**
     * Returns the shape of the answer.
     *
     * @param inputs the shape of the input, and where positions are given theirs
     * @param embeddingSize D
     * @param sequenceAxis the axis of T, negative from the end
     * @param addToInput whether the encodings are added to the input
     * @return the input's shape, or that of the encodings alone
     * @throws IllegalArgumentException if the input cannot be encoded
     */
    static Shape outputShape(Shape[] inputs, int embeddingSize, int sequenceAxis, boolean addToInput) {
        Shape input = inputs[0];
        int axis = requireShape(input, embeddingSize, sequenceAxis);
        if (addToInput) {
            return input;
        }
        if (inputs.length == 2 && inputs[1].dimension() == 2) {
            return inputs[1].add(embeddingSize);
        }
        long length = input.get(axis);
        return axis == input.dimension() - 2
                ? new Shape(1, length, embeddingSize)
                : new Shape(length, 1, embeddingSize);
    }

    /** T, the length of the sequence. */
    long length() {
        return input.getShape().get(axis);
    }

    /** One more than the greatest of the consecutive positions. */
    int end() {
        return Math.toIntExact(start + length());
    }

    DataType dataType() {
        return input.getDataType();
    }

    private boolean isTimeMajor() {
        return axis != input.getShape().dimension() - 2;
    }

    /**
     * Returns the answer where there is nothing to encode.
     *
     * @param addToInput whether the encodings are added to the input
     * @return a new array, or null where there is something
     */
    NDArray emptyAnswer(boolean addToInput) {
        Shape shape = input.getShape();
        if (addToInput && shape.size() == 0) {
            return input.duplicate();
        }
        if (length() > 0) {
            return null;
        }
        Shape[] shapes = positions == null ? new Shape[] {shape} : new Shape[] {shape, positions.getShape()};
        int width = Math.toIntExact(shape.get(shape.dimension() - 1));
        return input.getManager().create(outputShape(shapes, width, axis, addToInput), dataType(), input.getDevice());
    }

    /**
     * Computes what was asked for.
     *
     * @param addToInput whether the encodings are added to the input
     * @param rows the encodings of the positions, (T, D) or with an axis for the batch, in the input's data type on its
     *     device; not closed here
     * @return the sum, of the input's shape; or the encodings alone, (1, T, D) or (B, T, D), time-major (T, 1, D) or
     *     (T, B, D); a new array on the input's manager
     */
    NDArray answer(boolean addToInput, NDArray rows) {
        return addToInput ? addTo(rows) : alone(rows);
    }

    /** Whether consecutive positions may have the shape (1, T, D): where it is that of the input, but for the batch. */
    boolean takesBatched() {
        return input.getShape().dimension() == 3 && !isTimeMajor();
    }

    /**
     * Adds encodings to the input.
     *
     * @param rows (T, D), or with an axis for the batch as {@link #answer} gives them alone; not closed here
     * @return a new array of the input's shape
     */
    NDArray addTo(NDArray rows) {
        return with(rows, input::add);
    }

    /**
     * Adds encodings to the input itself, of which the caller knows that nobody else holds it.
     *
     * @param rows as for {@link #addTo}
     */
    void addInPlace(NDArray rows) {
        with(rows, input::addi);
    }

    private NDArray with(NDArray rows, UnaryOperator<NDArray> addition) {
        NDArray broadcastable = broadcastable(rows);
        try {
            return addition.apply(broadcastable);
        } finally {
            if (broadcastable != rows) {
                broadcastable.close();
            }
        }
    }

    /** The rows of the consecutive positions in a table of all positions, (n, D): a new array on the input's manager. */
    NDArray consecutive(NDArray table) {
        return table.get(input.getManager(), NDIndex.sliceAxis(0, start, end()));
    }

    /** The rows in memory of their own, with an axis for the batch. */
    private NDArray alone(NDArray rows) {
        if (rows.getShape().dimension() == 3) {
            return copied(rows);
        }
        try (NDArray batched = rows.expandDims(isTimeMajor() ? 1 : 0)) {
            return copied(batched);
        }
    }

    private NDArray copied(NDArray rows) {
        NDArray copy = rows.duplicate();
        copy.attach(input.getManager());
        return copy;
    }

    /** The rows in a shape that broadcasts over the input: the rows themselves where nothing needs to change. */
    private NDArray broadcastable(NDArray rows) {
        int rank = input.getShape().dimension();
        Shape shape = rows.getShape();
        if ((shape.dimension() == 2 && !isTimeMajor()) || (shape.dimension() == 3 && rank == 3)) {
            return rows;
        }
        long[] wide = new long[rank];
        Arrays.fill(wide, 1);
        if (shape.dimension() == 3 && !isTimeMajor()) {
            wide[0] = shape.get(0);
        }
        wide[axis] = length();
        wide[rank - 1] = shape.get(shape.dimension() - 1);
        return rows.reshape(wide);
    }
}
