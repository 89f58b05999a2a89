package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.function.Function;

/**
 * Encodes the positions of a sequence. Fixed and learned tables share this forward.
 *
 * @param <R> the record of options
 */
abstract class SequenceEncodingBlock<R extends Record & SequenceEncodingBlock.Common> extends OptionsBlock {

    /** How encodings are combined with the input. */
    private enum Mode {
        ADD,
        ADD_IN_PLACE,
        RETURN
    }

    /** The options that all encodings of sequences have. */
    interface Common {
        int embeddingSize();

        int sequenceAxis();

        boolean addToInput();

        float dropoutRate();
    }

    final R options;

    SequenceEncodingBlock(R options) {
        super(options);
        this.options = options;
    }

    /** Checks that the axis of the sequence is not the axis of the embedding. */
    static void requireAxis(int sequenceAxis) {
        Check.that(
                sequenceAxis != -1,
                "sequenceAxis -1 is the axis of the embedding: expected 0 or more, or -2 or less; pass the axis of T");
    }

    /** Checks that an encoding has the size of the block. */
    static void requireSize(SinusoidalEncoding encoding, int embeddingSize) {
        Check.that(
                encoding.getEmbeddingSize() == embeddingSize,
                () -> "the encoding has size " + encoding.getEmbeddingSize() + ": expected the block's embeddingSize "
                        + embeddingSize + "; use the same size for both; encoding: " + encoding);
    }

    /** One more than the largest position of a sequence in a forward. */
    abstract int limit(long length, PairList<String, Object> params);

    /** The number of coordinates on each axis; empty for an encoding of positions on one axis. */
    int[] limitsOfAxes(PairList<String, Object> params) {
        return new int[0];
    }

    /** Whether the tokens are those of a grid, of which a forward may have another size. */
    boolean hasGrid() {
        return false;
    }

    /**
     * Returns the encodings of the tokens of x: (1, T, D) for consecutive positions, otherwise the shape of the
     * positions, without axes, + (D). It is called in {@link Temporaries#result}.
     */
    abstract NDArray encodings(
            NDArray x,
            Positions positions,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params);

    /** Whether the largest explicit position must be known, as for a table that grows. */
    boolean readsPositions() {
        return false;
    }

    /** The number of dimensions of an encoded position, D. */
    final int embeddingSize() {
        return options.embeddingSize();
    }

    /** One more than the largest position in the table, which may grow. */
    abstract int maxSequenceLength();

    /** Whether a forward adds the encodings to its input, rather than returning them. */
    final boolean isAddedToInput() {
        return options.addToInput();
    }

    /** The axis of the sequence in an input: 0 or more, counted from the front, or -2 or less, counted from the end. */
    final int sequenceAxis() {
        return options.sequenceAxis();
    }

    @Override
    protected final NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        NDList outputs = forward(parameterStore, inputs, training, params, isAddedToInput() ? Mode.ADD : Mode.RETURN);
        InputMistakes.checkPositionsOnce(inputs.head());
        return outputs;
    }

    /** A forward that may write to its input, an intermediate array of the caller. Returns the input or a new array. */
    final NDArray forwardInPlace(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Mode mode = Arithmetic.isInPlaceSafe(inputs.head()) ? Mode.ADD_IN_PLACE : Mode.ADD;
        return reading(() -> forward(parameterStore, inputs, training, params, mode))
                .head();
    }

    private NDList forward(
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params,
            Mode mode) {
        requireInputCount(inputs.size(), 2, "[x] or [x, positions]");
        NDArray x = inputs.head();
        DataTypes.requireEmbedding(x, "input");
        int axis = axisOf(x.getShape());
        NDArray input = inputs.size() == 2 ? inputs.get(1) : null;
        Documents documents = Documents.of(params);
        if (documents != null && Positions.explicit(input, params) == null) {
            try (NDArray inDocuments = documents.positions(x, axis)) {
                return forward(parameterStore, x, axis, inDocuments, training, params, mode);
            }
        }
        return forward(parameterStore, x, axis, input, training, params, mode);
    }

    /** The forward with positions that were given as an input; null for none. */
    private NDList forward(
            ParameterStore parameterStore,
            NDArray x,
            int axis,
            NDArray input,
            boolean training,
            PairList<String, Object> params,
            Mode mode) {
        int limit = limit(x.getShape().get(axis), params);
        Positions positions =
                Positions.ofAbsolute(x, axis, input, params, limit, readsPositions(), limitsOfAxes(params));
        NDArray explicit = positions.array();
        if (Documents.of(params) == null) {
            mistakes.checkPositions(positions);
        }
        Shape shape = mode == Mode.RETURN
                ? returnedShape(x.getShape(), explicit == null ? null : explicit.getShape())
                : x.getShape();
        if (shape.size() == 0) {
            return new NDList(
                    mode == Mode.RETURN ? x.getManager().create(shape, x.getDataType(), x.getDevice()) : x.duplicate());
        }
        NDArray encoded = Temporaries.result(() -> {
            NDArray encodings = encodings(x, positions, parameterStore, training, params);
            NDArray rows = ConstantTable.broadcast(encodings, x, axis);
            return switch (mode) {
                case ADD -> x.add(rows);
                case ADD_IN_PLACE -> x.addi(rows);
                case RETURN -> {
                    // the rows may be a view of a table
                    NDArray copy = Arithmetic.copy(rows.reshape(shape));
                    copy.attach(x.getManager());
                    yield copy;
                }
            };
        });
        return dropOut(encoded, options.dropoutRate(), training);
    }

    /** The axis of T in an input, from 0. Sizes may be unknown (-1). */
    private int axisOf(Shape shape) {
        int rank = shape.dimension();
        if (rank < 2) {
            throw new IllegalArgumentException("input of shape " + shape + " has rank " + rank
                    + ": expected (…, T, D), rank 2 or more; add the missing dimensions with expandDims");
        }
        int sequenceAxis = options.sequenceAxis();
        int axis = sequenceAxis < 0 ? rank + sequenceAxis : sequenceAxis;
        if (axis < 0 || axis >= rank - 1) {
            throw new IllegalArgumentException("input of shape " + shape + " has no sequence axis " + sequenceAxis
                    + ": expected an axis from 0 to " + (rank - 2) + ", or from -2 to " + -rank
                    + "; pass an input of higher rank, or build the block with another optSequenceAxis(int)");
        }
        long width = shape.get(rank - 1);
        if (width != -1 && width != options.embeddingSize()) {
            throw new IllegalArgumentException("input of shape " + shape + " has width " + width + ": expected "
                    + options.embeddingSize() + "; pass (…, T, " + options.embeddingSize()
                    + "), or build the block with setEmbeddingSize(" + width + ")");
        }
        return axis;
    }

    /** The shape of the encodings if they are not added to the input. */
    private Shape returnedShape(Shape input, Shape positions) {
        int axis = axisOf(input);
        if (positions != null && positions.dimension() > 1) {
            return positions.slice(positions.dimension() - 2).add(options.embeddingSize());
        }
        long length = input.get(axis);
        return axis == input.dimension() - 2
                ? new Shape(1, length, options.embeddingSize())
                : new Shape(length, 1, options.embeddingSize());
    }

    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape returned = returnedShape(inputShapes[0], inputShapes.length == 2 ? inputShapes[1] : null);
        return new Shape[] {isAddedToInput() ? inputShapes[0] : returned};
    }

    @Override
    protected final void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 2, "[x] or [x, positions]");
        long length = Math.max(0, inputShapes[0].get(axisOf(inputShapes[0])));
        ForwardParameters.requireLength(length, 0, limit(length, null));
    }

    /**
     * The builder methods of all encodings of sequences.
     *
     * @param <T> the block
     * @param <B> the builder
     */
    abstract static class BaseBuilder<T, B extends BaseBuilder<T, B>> extends BlockBuilder<T, B> {

        <R extends Record> BaseBuilder(Class<R> options, Function<R, T> create) {
            super(options, create);
        }

        /** Sets D, the number of dimensions, at least 1. */
        public B setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets the axis of the sequence: 0 or more, counted from the front, or -2 or less, counted from the end
         * (default: -2, for (…, T, D)). With 0, for time-major (T, B, D), explicit positions are (T) or (T, B), and
         * encodings without x are (T, 1, D) or (T, B, D).
         */
        public B optSequenceAxis(int sequenceAxis) {
            return set("sequenceAxis", sequenceAxis);
        }

        /**
         * Sets whether a forward adds the encodings to its input (default: true) or returns them, (1, T, D) or (B, T,
         * D).
         */
        public B optAddToInput(boolean addToInput) {
            return set("addToInput", addToInput);
        }

        /** Sets the dropout rate of the output in training, at least 0 and below 1 (default: 0). */
        public B optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }

    /**
     * The builder methods of encodings with a row for each position.
     *
     * @param <T> the block
     * @param <B> the builder
     */
    abstract static class TableBuilder<T, B extends TableBuilder<T, B>> extends BaseBuilder<T, B> {

        <R extends Record> TableBuilder(Class<R> options, Function<R, T> create) {
            super(options, create);
        }

        /**
         * Sets the maximum sequence length, one more than the largest position, at least 1 (default: 5000; for a
         * learned table, the number of its initial encodings or of the tokens of its grid, otherwise 512).
         */
        public B optMaxSequenceLength(int maxSequenceLength) {
            return set("maxSequenceLength", maxSequenceLength);
        }

        /**
         * Sets the function from position to vector, of the same embedding size (default:
         * {@link SinusoidalEncoding#vaswani(int)}; a learned table is initialized with N(0, 0.02²)).
         */
        public B optEncoding(SinusoidalEncoding encoding) {
            return set("encoding", encoding);
        }
    }
}
