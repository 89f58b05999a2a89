package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import java.util.Arrays;

/**
 * What one forward asks of a positional encoding: an input, and which position each of its steps has. Checked when made,
 * but for the values in {@code positions}.
 *
 * @param input (…, T, D), FLOAT16, FLOAT32 or FLOAT64; the caller's
 * @param positions (T) or (B, T), integer or real; the caller's; null where the positions are consecutive
 * @param start the first of the consecutive positions
 */
record PositionRequest(NDArray input, NDArray positions, int start) {

    /**
     * Reads a forward's inputs.
     *
     * @param inputs {@code [input]} or {@code [input, positions]}
     * @param params the forward's parameters, of which {@link PositionalEncodingBlock#START_POSITION} is read; may be null
     * @param embeddingSize D
     * @param maxSequenceLength one more than the greatest position
     * @return the request
     * @throws IllegalArgumentException if anything of it is not as the block's documentation says
     */
    static PositionRequest of(
            NDList inputs, PairList<String, Object> params, int embeddingSize, int maxSequenceLength) {
        if (inputs.isEmpty() || inputs.size() > 2) {
            throw new IllegalArgumentException(
                    inputs.size() + " inputs were given: allowed are [x] or [x, positions]; pass one or two arrays");
        }
        NDArray input = inputs.get(0);
        DataTypes.requireEmbedding(input.getDataType(), "input " + input.getShape());
        requireWidth(input.getShape(), embeddingSize);
        Object start = params == null ? null : params.get(PositionalEncodingBlock.START_POSITION);
        if (inputs.size() == 1) {
            long length = length(input.getShape());
            return new PositionRequest(input, null, requireStart(start, length, maxSequenceLength));
        }
        if (start != null) {
            throw new IllegalArgumentException("both positions and " + PositionalEncodingBlock.START_POSITION + "="
                    + start + " were given: give the positions of all steps, or where they start, not both");
        }
        NDArray positions = inputs.get(1);
        requirePositionsShape(positions.getShape(), input.getShape());
        return new PositionRequest(input, positions, 0);
    }

    /**
     * Refuses the shape of an input that cannot be encoded. Sizes that are not known yet (-1) pass.
     *
     * @param shape the input's shape
     * @param embeddingSize D
     */
    static void requireWidth(Shape shape, int embeddingSize) {
        int rank = shape.dimension();
        if (rank < 2) {
            throw new IllegalArgumentException("input of shape " + shape + " has rank " + rank
                    + ": allowed is (…, T, D), rank 2 or more; add the missing dimensions with expandDims");
        }
        long width = shape.get(rank - 1);
        if (width != -1 && width != embeddingSize) {
            throw new IllegalArgumentException("input of shape " + shape + " has width " + width + ": allowed is "
                    + embeddingSize + "; give (…, T, " + embeddingSize + "), or build the block with setEmbeddingSize("
                    + width + ")");
        }
    }

    /**
     * Refuses a sequence that is longer than the table.
     *
     * @param length T
     * @param start the first position
     * @param maxSequenceLength one more than the greatest position
     */
    static void requireLength(long length, long start, int maxSequenceLength) {
        if (start + length > maxSequenceLength) {
            throw new IllegalArgumentException("sequence length " + length + " at start position " + start
                    + " exceeds the maximum " + maxSequenceLength + ": build the block with optMaxSequenceLength("
                    + (start + length) + ") or more");
        }
    }

    private static int requireStart(Object start, long length, int maxSequenceLength) {
        long first = 0;
        if (start != null) {
            if (!(start instanceof Integer || start instanceof Long)) {
                throw new IllegalArgumentException(PositionalEncodingBlock.START_POSITION + " is the "
                        + start.getClass().getSimpleName() + " " + start
                        + ": allowed is an Integer or a Long; give the number of the first position");
            }
            first = ((Number) start).longValue();
        }
        if (first < 0 || first > maxSequenceLength) {
            throw new IllegalArgumentException(PositionalEncodingBlock.START_POSITION + " " + first
                    + " is outside 0 to " + maxSequenceLength
                    + ": count positions from 0, or build the block with a greater optMaxSequenceLength(int)");
        }
        requireLength(length, first, maxSequenceLength);
        return (int) first;
    }

    private static void requirePositionsShape(Shape positions, Shape input) {
        long length = length(input);
        boolean oneForAll = positions.dimension() == 1 && positions.get(0) == length;
        boolean oneEach = positions.dimension() == 2
                && input.dimension() >= 3
                && positions.get(0) == input.get(0)
                && positions.get(1) == length;
        if (!oneForAll && !oneEach) {
            String allowed =
                    "(" + length + ")" + (input.dimension() >= 3 ? " or (" + input.get(0) + ", " + length + ")" : "");
            throw new IllegalArgumentException("positions of shape " + positions + " do not fit input " + input
                    + ": allowed is " + allowed + "; give one position for each step of the sequence");
        }
    }

    /** T, the length of the sequence. */
    private static long length(Shape shape) {
        return shape.get(shape.dimension() - 2);
    }

    /** T, the length of the sequence. */
    int length() {
        return Math.toIntExact(length(input.getShape()));
    }

    boolean isEmpty() {
        return input.getShape().size() == 0;
    }

    DataType dataType() {
        return input.getDataType();
    }

    /**
     * Gives the positions' rows a shape that broadcasts over the input.
     *
     * @param rows (T, D) or (B, T, D)
     * @return (T, D) or (B, 1, …, 1, T, D) with the input's rank; the rows themselves where nothing needs to change
     */
    NDArray broadcastable(NDArray rows) {
        int rank = input.getShape().dimension();
        if (rows.getShape().dimension() == 2 || rank == 3) {
            return rows;
        }
        long[] shape = new long[rank];
        Arrays.fill(shape, 1);
        shape[0] = rows.getShape().get(0);
        shape[rank - 2] = rows.getShape().get(1);
        shape[rank - 1] = rows.getShape().get(2);
        return rows.reshape(shape);
    }
}
