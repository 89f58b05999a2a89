package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.function.Function;

/**
 * The encoding of a sequence's positions: one forward for fixed and for learned tables.
 *
 * @param <R> the record of settings
 */
abstract class SequenceEncodingBlock<R extends Record & SequenceEncodingBlock.Common> extends ConfiguredBlock {

    /** The default axis of the sequence: before the last, D. */
    static final int DEFAULT_AXIS = -2;

    /** What becomes of the rows of the positions. */
    private enum Mode {
        ADD,
        ADD_IN_PLACE,
        RETURN
    }

    /** The settings that all encodings of sequences have. */
    interface Common {
        int embeddingSize();

        Integer sequenceAxis();

        Boolean addToInput();

        Float dropoutRate();
    }

    final R settings;

    SequenceEncodingBlock(R settings) {
        super(settings);
        this.settings = settings;
    }

    /** Checks the settings that all encodings of sequences have. */
    static void check(int embeddingSize, int sequenceAxis, float dropoutRate) {
        Check.positive("embeddingSize", embeddingSize);
        Check.that(
                sequenceAxis != -1,
                "sequenceAxis -1 is the axis of the embedding: expected 0 or more, or -2 or less; give the axis of T");
        Check.rate("dropoutRate", dropoutRate);
    }

    /** Checks that an encoding has the size of the block. */
    static void requireSize(SinusoidalEncoding encoding, int embeddingSize) {
        Check.that(
                encoding.getEmbeddingSize() == embeddingSize,
                () -> encoding + " has size " + encoding.getEmbeddingSize() + ": expected the block's embeddingSize "
                        + embeddingSize + "; give both the same size");
    }

    /** One more than the greatest position of a sequence in a forward. */
    abstract int limit(long length, PairList<String, Object> params);

    /**
     * Returns the encodings of the tokens of x: (1, T, D) of indices, or else the shape of the positions + (D).
     * Temporaries closes those that the block does not keep.
     */
    abstract NDArray encodings(
            Temporaries temporaries,
            NDArray x,
            Positions positions,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params);

    /** Whether the greatest of explicit positions must be known: false, unless a table extends itself. */
    boolean readsPositions() {
        return false;
    }

    /** {@return the number of dimensions of an encoded position, D} */
    public int getEmbeddingSize() {
        return settings.embeddingSize();
    }

    /**
     * {@return the maximum sequence length, one more than the greatest position in the table} It grows with a table
     * that extends itself.
     */
    public abstract int getMaxSequenceLength();

    /** {@return whether a forward adds the encodings to its input, rather than returning them} */
    public boolean isAddedToInput() {
        return settings.addToInput();
    }

    /**
     * {@return the axis of the sequence in an input: 0 or more, counted from the front, or -2 or less, counted from the
     * end}
     */
    public int getSequenceAxis() {
        return settings.sequenceAxis();
    }

    @Override
    protected final NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        return forward(parameterStore, inputs, training, params, isAddedToInput() ? Mode.ADD : Mode.RETURN);
    }

    /** A forward that may write to its input, which only the caller holds. It returns the input, or a new array. */
    final NDArray forwardInPlace(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        Mode mode = Arithmetic.isInPlaceSafe(inputs.head()) ? Mode.ADD_IN_PLACE : Mode.ADD;
        return forward(parameterStore, inputs, training, params, mode).head();
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
        Positions positions = Positions.of(
                x,
                axis,
                inputs.size() == 2 ? inputs.get(1) : null,
                params,
                limit(x.getShape().get(axis), params),
                readsPositions(),
                false);
        NDArray explicit = positions.positions();
        mistakes.checkPositions(explicit, positions.length());
        Shape shape = mode == Mode.RETURN
                ? returnedShape(x.getShape(), explicit == null ? null : explicit.getShape())
                : x.getShape();
        if (shape.size() == 0) {
            return new NDList(
                    mode == Mode.RETURN ? x.getManager().create(shape, x.getDataType(), x.getDevice()) : x.duplicate());
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray encodings = encodings(temporaries, x, positions, parameterStore, training, params);
            NDArray rows = Positions.broadcast(temporaries, encodings, x, axis);
            NDArray encoded = switch (mode) {
                case ADD -> x.add(rows);
                case ADD_IN_PLACE -> x.addi(rows);
                case RETURN -> {
                    // the rows may be a view of a table
                    NDArray reshaped = rows.getShape().equals(shape) ? rows : temporaries.add(rows.reshape(shape));
                    NDArray copy = Arithmetic.copy(reshaped);
                    copy.attach(x.getManager());
                    yield copy;
                }
            };
            return dropOut(encoded, settings.dropoutRate(), training);
        }
    }

    /** The axis of T in an input, from 0. Sizes may be unknown (-1). */
    private int axisOf(Shape shape) {
        int rank = shape.dimension();
        if (rank < 2) {
            throw new IllegalArgumentException("input of shape " + shape + " has rank " + rank
                    + ": expected (…, T, D), rank 2 or more; add the missing dimensions with expandDims");
        }
        int sequenceAxis = settings.sequenceAxis();
        int axis = sequenceAxis < 0 ? rank + sequenceAxis : sequenceAxis;
        if (axis < 0 || axis >= rank - 1) {
            throw new IllegalArgumentException("input of shape " + shape + " has no sequence axis " + sequenceAxis
                    + ": expected an axis from 0 to " + (rank - 2) + ", or from -2 to " + -rank
                    + "; give an input of higher rank, or build the block with another optSequenceAxis(int)");
        }
        long width = shape.get(rank - 1);
        if (width != -1 && width != settings.embeddingSize()) {
            throw new IllegalArgumentException("input of shape " + shape + " has width " + width + ": expected "
                    + settings.embeddingSize() + "; give (…, T, " + settings.embeddingSize()
                    + "), or build the block with setEmbeddingSize(" + width + ")");
        }
        return axis;
    }

    /** The shape of the encodings if they are not added to the input. */
    private Shape returnedShape(Shape input, Shape positions) {
        int axis = axisOf(input);
        if (positions != null && positions.dimension() == 2) {
            return positions.add(settings.embeddingSize());
        }
        long length = input.get(axis);
        return axis == input.dimension() - 2
                ? new Shape(1, length, settings.embeddingSize())
                : new Shape(length, 1, settings.embeddingSize());
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes (…, T, D), and (T) or (B, T) if positions are given
     * @throws IllegalArgumentException if the first has a rank below 2 or another width
     */
    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape returned = returnedShape(inputShapes[0], inputShapes.length == 2 ? inputShapes[1] : null);
        return new Shape[] {isAddedToInput() ? inputShapes[0] : returned};
    }

    @Override
    protected final void requireShapes(Shape... inputShapes) {
        requireInputCount(inputShapes.length, 2, "[x] or [x, positions]");
        long length = Math.max(0, inputShapes[0].get(axisOf(inputShapes[0])));
        Positions.requireLength(length, 0, limit(length, null));
    }

    /**
     * The options that all encodings of sequences have.
     *
     * @param <B> the block
     * @param <T> the builder
     */
    abstract static class BaseBuilder<B, T extends BaseBuilder<B, T>> extends OptionsBuilder<B, T> {

        <R extends Record> BaseBuilder(Class<R> settings, Function<R, B> create) {
            super(settings, create);
        }

        /**
         * Sets D, the number of dimensions.
         *
         * @param embeddingSize at least 1
         * @return this builder
         */
        public T setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets the maximum sequence length, which is one more than the greatest position. The default is 5000; for a
         * learned table it is the number of its initial encodings, or 512.
         *
         * @param maxSequenceLength at least 1
         * @return this builder
         */
        public T optMaxSequenceLength(int maxSequenceLength) {
            return set("maxSequenceLength", maxSequenceLength);
        }

        /**
         * Sets the function from position to vector. The default is {@link SinusoidalEncoding#vaswani(int)}; a learned
         * table is initialized with N(0, 0.02²) by default.
         *
         * @param encoding an encoding of the same embedding size
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public T optEncoding(SinusoidalEncoding encoding) {
            return set("encoding", encoding);
        }

        /**
         * Sets the axis of the sequence (default: -2, for (…, T, D)). Time-major models, (T, B, D), use 0: explicit
         * positions are then (T) or (T, B), and encodings without x (T, 1, D) or (T, B, D).
         *
         * @param sequenceAxis 0 or more, counted from the front, or -2 or less, counted from the end; the last axis is
         *     D
         * @return this builder
         */
        public T optSequenceAxis(int sequenceAxis) {
            return set("sequenceAxis", sequenceAxis);
        }

        /**
         * Sets whether a forward adds the encodings to its input (default: true).
         *
         * @param addToInput false to return the encodings, (1, T, D) or (B, T, D)
         * @return this builder
         */
        public T optAddToInput(boolean addToInput) {
            return set("addToInput", addToInput);
        }

        /**
         * Sets the rate of the dropout that follows, in training only (default: 0). A model file may be loaded with
         * another rate.
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public T optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
