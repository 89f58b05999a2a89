package io.github.djlpositional;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantArray;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.GrowingTable;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.InPlace;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.RangeChecks;
import io.github.djlpositional.internal.RealPositions;
import io.github.djlpositional.internal.StartPosition;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Objects;

/**
 * Adds a fixed sinusoidal positional encoding to its input, after Vaswani et al., <em>Attention Is All You Need</em>
 * (2017), section 3.5, or any other {@link SinusoidalEncoding}.
 *
 * <p>The block holds a precomputed table, on each device and in each data type that it is used with. The table is no
 * parameter: it is never trained, never saved, and every value in it is the nearest one that the data type has (FLOAT64:
 * within two ulps).
 *
 * <pre>{@code
 * Block encoder = new SequentialBlock()
 *         .add(tokenEmbedding)                                                   // (B, T) -> (B, T, 512)
 *         .add(PositionalEncodingBlock.builder().setEmbeddingSize(512).build())  // adds the positions
 *         .add(layers);
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * B batch, T sequence length, D embedding size.
 *
 * <ul>
 *   <li>{@code [x]}: x is (…, T, D) with any leading dimensions, FLOAT16, FLOAT32 or FLOAT64. Its steps have the positions
 *       s, s + 1, … s + T - 1, where s is the forward parameter {@link #START_POSITION}, an Integer or Long, 0 without it:
 *       <pre>{@code
 * PairList<String, Object> params = new PairList<>();
 * params.add(PositionalEncodingBlock.START_POSITION, 7);
 * block.forward(parameterStore, new NDList(x), false, params);
 * }</pre>
 *   <li>{@code [x, positions]}: positions is (T), or (B, T) where x is (B, …, T, D); INT8, UINT8, INT32 or INT64,
 *       or FLOAT16, FLOAT32 or FLOAT64. Real ones are encoded on the host, exactly.
 * </ul>
 *
 * The output has the shape, device and data type of x, is attached to the manager of x and is the caller's to close;
 * with {@code optAddToInput(false)} it is the encodings alone, (1, T, D) or (B, T, D). x is never written to. An empty
 * sequence comes back empty.
 *
 * <p>A forward without explicit positions waits for a GPU only while the table is made or extended. Explicit integer positions
 * are checked against the table on a CPU, and elsewhere as {@link Builder#optRangeChecks} says; real positions, and all
 * positions of a block that extends itself, are read, and so waited for, on every device.
 *
 * <p>A forward throws {@link IllegalArgumentException} for another number of inputs than one or two, an x of another width, of
 * rank below 2, without the sequence axis or of another data type than these (with a learned scale: than the scale's), a
 * sequence that is longer than the table at its start position, a start that is negative or no Integer or Long, both positions
 * and a start, positions out of range or of another shape, real positions whose encodings are more than 2 GiB, and a table
 * that the machine has no memory for, which is refused before it is tried. It throws {@link ai.djl.engine.EngineException} where a
 * GPU has no memory for the table, and {@link ai.djl.nn.UninitializedParameterException} in inference where a learned scale was neither
 * initialized nor loaded.
 *
 * <h2>Life</h2>
 *
 * The table is made when the block is initialized, or at the first forward on a further device or in a further data type.
 * It lives with the manager that the block was initialized or loaded with, usually the model's, and is freed with it or by
 * {@link #clear}. Where there is no such manager, or it is closed, the table lives until {@link #clear}, or until the block is
 * garbage. Forwards may run in several threads at once; initializing, loading and clearing may not run beside them.
 */
public final class PositionalEncodingBlock extends ConfiguredBlock implements SequenceEncoding {

    /**
     * The key of the forward parameter that gives the position of the first step, an Integer or Long from 0. DJL's
     * {@link ai.djl.nn.SequentialBlock} does not hand forward parameters on to its blocks.
     */
    public static final String START_POSITION = StartPosition.KEY;

    /** The maximum sequence length where none is set. */
    static final int DEFAULT_MAX_SEQUENCE_LENGTH = 5000;

    private final SinusoidalEncoding encoding;
    private final int sequenceAxis;
    private final boolean addToInput;
    private final float dropoutRate;
    private final RangeChecks checks;

    /** The factor of the encodings, (1); null where they have none. */
    private final Parameter scale;

    private final GrowingTable table;

    /** The data type of {@link #getEncodings} and {@link #encode}. */
    private volatile DataType dataType = DataType.FLOAT32;

    private PositionalEncodingBlock(Builder builder, SinusoidalEncoding encoding) {
        super(settings(builder, encoding, builder.learnedScale));
        this.encoding = encoding;
        sequenceAxis = builder.sequenceAxis;
        addToInput = builder.addToInput;
        dropoutRate = builder.dropoutRate;
        checks = RangeChecks.of(builder.autoExtend ? Boolean.TRUE : builder.rangeChecks);
        scale = builder.learnedScale == null ? null : addParameter(scaleParameter(builder.learnedScale));
        table = new GrowingTable(
                builder.maxSequenceLength,
                builder.autoExtend ? Integer.MAX_VALUE - 1 : builder.maxSequenceLength,
                length -> new ConstantArray(new Shape(length, encoding.getEmbeddingSize()), encoding::write));
    }

    private static BlockSettings settings(Builder builder, SinusoidalEncoding encoding, Float initialScale) {
        return new BlockSettings(PositionalEncodingBlock.class)
                .withStart("embeddingSize", encoding.getEmbeddingSize())
                .with("encoding", encoding)
                .with("maxSequenceLength", builder.maxSequenceLength)
                .with("addToInput", builder.addToInput)
                .with("sequenceAxis", builder.sequenceAxis)
                .with("learnedScale", Boolean.toString(initialScale != null), () -> initialScale)
                .withUnsaved("autoExtend", builder.autoExtend)
                .withUnsaved("rangeChecks", builder.rangeChecks)
                .withUnsaved("dropoutRate", builder.dropoutRate);
    }

    private static Parameter scaleParameter(float initial) {
        return Parameter.builder()
                .setName("scale")
                .setType(Parameter.Type.OTHER)
                .optShape(new Shape(1))
                .optInitializer(new ConstantInitializer(initial))
                .build();
    }

    /**
     * Returns a builder.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Makes a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static PositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(PositionalEncodingBlock.class, arguments);
        Builder builder = builder();
        builder.setEmbeddingSize(given.getInt("embeddingSize"));
        given.optMap("encoding").map(SinusoidalEncoding::fromArguments).ifPresent(builder::optEncoding);
        given.optInt("maxSequenceLength").ifPresent(builder::optMaxSequenceLength);
        given.optFlag("addToInput").ifPresent(builder::optAddToInput);
        given.optInt("sequenceAxis").ifPresent(builder::optSequenceAxis);
        given.optFloat("learnedScale").ifPresent(builder::optLearnedScale);
        given.optFlag("autoExtend").ifPresent(builder::optAutoExtend);
        given.optFlag("rangeChecks").ifPresent(builder::optRangeChecks);
        given.optFloat("dropoutRate").ifPresent(builder::optDropoutRate);
        given.requireNoOthers();
        return builder.build();
    }

    /**
     * Returns the number of dimensions of an encoded position.
     *
     * @return D
     */
    @Override
    public int getEmbeddingSize() {
        return encoding.getEmbeddingSize();
    }

    /**
     * Returns one more than the greatest position; more than it was built with where the block has extended itself.
     *
     * @return the number of rows in the table
     */
    public int getMaxSequenceLength() {
        return table.length();
    }

    /**
     * Returns the function from position to vector that fills the table.
     *
     * @return the encoding
     */
    public SinusoidalEncoding getEncoding() {
        return encoding;
    }

    /**
     * Returns whether a forward adds the encodings to its input.
     *
     * @return false if it returns the encodings alone
     */
    @Override
    public boolean isAddedToInput() {
        return addToInput;
    }

    /**
     * Returns the table itself, without the learned scale where there is one, (1, maxSequenceLength, D), on the device of the manager
     * that the block was initialized or loaded with last, in the data type that it was initialized with, FLOAT32 where it was
     * only loaded. On MXNet it is a copy, as large again, which the block keeps from then on.
     *
     * @return the block's own array: neither write to it nor close it; where the block extends itself, it may be closed once
     *     there is a longer one
     * @throws IllegalStateException if the block is neither initialized nor loaded, or the manager that it was initialized
     *     or loaded with is closed
     */
    public NDArray getEncodings() {
        ConstantArray array = table.current();
        NDManager owner = array.owner();
        if (owner == null) {
            throw new IllegalStateException("the block has no open manager to make its table with: initialize it with"
                    + " initialize(manager, dataType, shapes), or use encode(positions), before getEncodings()");
        }
        return array.batchedOn(owner.getEngine(), owner.getDevice(), dataType);
    }

    /**
     * Returns T(k) as an array: the linear map that moves every position's encoding by k, T(k) · PE(t) = PE(t + k). See
     * {@link SinusoidalEncoding#shift}.
     *
     * @param manager what the array is made with, on its device
     * @param offset k, any finite number
     * @return a new array (D, D) in the data type that the block was initialized with (FLOAT32 before); the caller's to close
     * @throws IllegalArgumentException if the offset is not finite
     * @throws UnsupportedOperationException if the size is odd and the encoding ends with half a pair
     */
    public NDArray shift(NDManager manager, double offset) {
        double[][] shift = encoding.shift(offset);
        int size = getEmbeddingSize();
        FloatFormat format = DataTypes.formatOf(dataType);
        Shape square = new Shape(size, size);
        ByteBuffer buffer = HostData.bufferFor(manager, square, dataType);
        for (int row = 0; row < size; row++) {
            for (int column = 0; column < size; column++) {
                format.put(buffer, row * size + column, shift[row][column]);
            }
        }
        return HostData.toArray(manager, manager.getDevice(), buffer, square, dataType);
    }

    /**
     * Returns the encodings of any positions, without the learned scale where there is one. Integer positions are looked up
     * in the table, real ones computed from the definition; where both are the same number they give the same values, bit
     * for bit.
     *
     * @param positions any shape, integer (0 … maxSequenceLength - 1) or real (from 0 to below maxSequenceLength); where the
     *     block extends itself, any that are not negative
     * @return a new array of the shape of the positions + (D), on their device and manager, in the data type that the block
     *     was initialized with (FLOAT32 before); the caller's to close
     * @throws IllegalArgumentException if a position is out of range (integer ones where they are checked: see
     *     {@link Builder#optRangeChecks}) or not a number, the array is neither integer nor real, or there is no memory for
     *     the table or the result
     */
    public NDArray encode(NDArray positions) {
        return encode(positions, positions.getManager(), positions.getDevice(), dataType);
    }

    private NDArray encode(NDArray positions, NDManager manager, Device device, DataType type) {
        if (positions.getDataType().isInteger()) {
            return lookUp(positions, manager, device, type);
        }
        return compute(positions, manager, device, type);
    }

    private NDArray lookUp(NDArray positions, NDManager manager, Device device, DataType type) {
        Shape shape = positions.getShape().add(getEmbeddingSize());
        if (shape.size() == 0) {
            return manager.create(shape, type, device);
        }
        int length = checks.readValuesOf(positions)
                ? Indices.requirePositions(positions, table.limit()) + 1
                : table.length();
        try (GrowingTable.Use use = table.use(length, manager.getEngine(), device, type)) {
            return Indices.lookUp(positions, use.on(manager.getEngine(), device, type), manager);
        }
    }

    private NDArray compute(NDArray positions, NDManager manager, Device device, DataType type) {
        double[] values = RealPositions.values(positions, table.limit());
        Shape shape = positions.getShape().add(getEmbeddingSize());
        if (shape.size() == 0) {
            return manager.create(shape, type, device);
        }
        ByteBuffer buffer = HostData.bufferFor(manager, shape, type);
        encoding.write(values, DataTypes.formatOf(type), buffer);
        return HostData.toArray(manager, device, buffer, shape, type);
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        PositionRequest request = PositionRequest.of(inputs, params, getEmbeddingSize(), sequenceAxis, table.limit());
        NDArray encoded = scale == null ? answer(request, addToInput) : scaled(request, parameterStore, training);
        return dropOut(encoded, dropoutRate, training);
    }

    private NDArray scaled(PositionRequest request, ParameterStore parameterStore, boolean training) {
        NDArray empty = request.emptyAnswer(addToInput);
        if (empty != null) {
            return empty;
        }
        NDArray x = request.input();
        NDArray factor = parameterStore.getValue(scale, x.getDevice(), training);
        DataTypes.requireSame(x, factor, "learned scale");
        try (NDArray alone = answer(request, false)) {
            NDArray scaled = alone.mul(factor);
            if (!addToInput) {
                return scaled;
            }
            try (scaled) {
                return request.addTo(scaled);
            }
        }
    }

    private NDArray answer(PositionRequest request, boolean add) {
        NDArray empty = request.emptyAnswer(add);
        if (empty != null) {
            return empty;
        }
        if (request.positions() != null) {
            try (NDArray rows = encoded(request)) {
                return request.answer(add, rows);
            }
        }
        try (GrowingTable.Rows rows = consecutive(request)) {
            if (request.takesBatched()) {
                return request.answer(add, rows.array());
            }
            try (NDArray plain = rows.array().squeeze(0)) {
                return request.answer(add, plain);
            }
        }
    }

    private NDArray encoded(PositionRequest request) {
        NDArray x = request.input();
        return encode(request.positions(), x.getManager(), x.getDevice(), request.dataType());
    }

    private GrowingTable.Rows consecutive(PositionRequest request) {
        NDArray x = request.input();
        return table.rows(
                request.start(),
                Math.toIntExact(request.length()),
                x.getManager().getEngine(),
                x.getDevice(),
                request.dataType());
    }

    /**
     * Adds the encodings to an input that nobody but the caller holds, without a new array: a forward for
     * {@link InputEmbeddingBlock}, where there is neither a learned scale nor dropout.
     *
     * @return whether it is done; false where it needs a new array
     */
    boolean addInPlace(NDList inputs, boolean training, PairList<String, Object> params) {
        if (!addToInput || scale != null || (training && dropoutRate > 0) || !InPlace.isSafe(inputs.head())) {
            return false;
        }
        PositionRequest request = PositionRequest.of(inputs, params, getEmbeddingSize(), sequenceAxis, table.limit());
        if (request.input().getShape().size() == 0) {
            return true;
        }
        if (!request.takesBatched()) {
            return false;
        }
        if (request.positions() != null) {
            try (NDArray rows = encoded(request)) {
                request.addInPlace(rows);
            }
            return true;
        }
        try (GrowingTable.Rows rows = consecutive(request)) {
            request.addInPlace(rows.array());
        }
        return true;
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes (…, T, D), and where positions are given (T) or (B, T)
     * @throws IllegalArgumentException if the first is of rank below 2 or of another width
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {PositionRequest.outputShape(inputShapes, getEmbeddingSize(), sequenceAxis, addToInput)};
    }

    /**
     * {@inheritDoc}
     *
     * <p>Makes the table on the manager's device. Initializing again on another manager moves it there.
     *
     * @param manager what the table lives with from now on
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes (…, T, D), and where positions are given (T) or (B, T); a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another, the first shape is of rank below 2, of another width or
     *     longer than the table, or the machine has no memory for the table; the block is then left as it was
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, toString());
        PositionRequest.requireInitial(inputShapes, getEmbeddingSize(), sequenceAxis, table.limit());
        table.current().moveTo(manager, dataType);
        this.dataType = dataType;
        super.initialize(manager, dataType, inputShapes);
    }

    /** {@inheritDoc} Frees the table too; a later forward makes it anew. */
    @Override
    public void clear() {
        super.clear();
        table.current().close();
    }

    /**
     * Returns the axis of the sequence in an input.
     *
     * @return from 0 at the front or from -2 at the end
     */
    @Override
    public int getSequenceAxis() {
        return sequenceAxis;
    }

    @Override
    protected void loaded(NDManager manager) {
        table.current().ownedBy(manager);
    }

    /** Builds a {@link PositionalEncodingBlock}. */
    public static final class Builder {

        private int embeddingSize;
        private int maxSequenceLength = DEFAULT_MAX_SEQUENCE_LENGTH;
        private boolean autoExtend;
        private int sequenceAxis = PositionRequest.DEFAULT_AXIS;
        private SinusoidalEncoding encoding;
        private Float learnedScale;
        private Boolean rangeChecks;
        private boolean addToInput = true;
        private float dropoutRate;

        private Builder() {}

        /**
         * Sets D, the number of dimensions.
         *
         * @param embeddingSize at least 1
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            this.embeddingSize = embeddingSize;
            return this;
        }

        /**
         * Sets one more than the greatest position; 5000 without it.
         *
         * @param maxSequenceLength at least 1
         * @return this builder
         */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            this.maxSequenceLength = maxSequenceLength;
            return this;
        }

        /**
         * Sets whether a longer sequence or a greater position extends the table, to at least twice its length where there is
         * room for that, else to what was asked for, instead of being refused; false without it. The rows that were there keep their values. Safe under threads. Any
         * position is believed: one of a billion makes a table of a billion rows, or fails where there is no room for it.
         *
         * @param autoExtend true to extend
         * @return this builder
         */
        public Builder optAutoExtend(boolean autoExtend) {
            this.autoExtend = autoExtend;
            return this;
        }

        /**
         * Sets the axis of the sequence; -2 without it, for (…, T, D). Time-major models, (T, B, D), have 0; explicit
         * positions are then (T) or (T, B), and the encodings alone (T, 1, D) or (T, B, D).
         *
         * @param sequenceAxis from 0 at the front or from -2 at the end; the last axis is D
         * @return this builder
         */
        public Builder optSequenceAxis(int sequenceAxis) {
            this.sequenceAxis = sequenceAxis;
            return this;
        }

        /**
         * Makes the encodings have a factor that is learned, as x-transformers' {@code ScaledSinusoidalEmbedding} has it
         * with an initial D<sup>-0.5</sup>; without it they have none. The factor is a parameter of the block, and part of
         * its model file.
         *
         * @param initialScale the factor's initial value, finite
         * @return this builder
         */
        public Builder optLearnedScale(float initialScale) {
            learnedScale = initialScale;
            return this;
        }

        /**
         * Sets the function from position to vector; {@link SinusoidalEncoding#vaswani(int)} without it.
         *
         * @param encoding an encoding of the same embedding size
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optEncoding(SinusoidalEncoding encoding) {
            this.encoding = Objects.requireNonNull(encoding, "encoding");
            return this;
        }

        /**
         * Sets whether a forward adds the encodings to its input; true without it.
         *
         * @param addToInput false for the encodings alone, (1, T, D) or (B, T, D)
         * @return this builder
         */
        public Builder optAddToInput(boolean addToInput) {
            this.addToInput = addToInput;
            return this;
        }

        /**
         * Sets whether explicit positions of an integer type are checked before they are looked up, so that one out of range
         * is refused by name. The check reads them, and so waits for a GPU that holds them. Without it they are checked on a
         * CPU, and not on a GPU, where the engine does with one out of range what it does: PyTorch fails, and on a CUDA GPU the
         * process can then do no more on that GPU; MXNet reads another row. A block that extends itself checks on every
         * device, whatever is set here.
         *
         * @param rangeChecks true to check on every device, false on none
         * @return this builder
         */
        public Builder optRangeChecks(boolean rangeChecks) {
            this.rangeChecks = rangeChecks;
            return this;
        }

        /**
         * Sets the rate of the dropout that follows, in training alone; 0 without it. It is not part of what a model file
         * is checked against, since it changes no answer.
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            this.dropoutRate = dropoutRate;
            return this;
        }

        /**
         * Builds the block. Its table is made when it is initialized, or at its first forward.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is outside its range, or the encoding is of another size
         */
        public PositionalEncodingBlock build() {
            BuilderChecks.requirePositive("embedding size", embeddingSize, "setEmbeddingSize(int)");
            BuilderChecks.requirePositive("maximum sequence length", maxSequenceLength, "optMaxSequenceLength(int)");
            BuilderChecks.requireDropoutRate(dropoutRate);
            BuilderChecks.requireSequenceAxis(sequenceAxis);
            if (learnedScale != null && !Float.isFinite(learnedScale)) {
                throw new IllegalArgumentException("learned scale " + learnedScale
                        + " is not finite: give its initial value, usually D^-0.5, with optLearnedScale(float)");
            }
            if (encoding != null && encoding.getEmbeddingSize() != embeddingSize) {
                throw new IllegalArgumentException(encoding + " has another size than the block's " + embeddingSize
                        + ": give both the same, setEmbeddingSize(" + encoding.getEmbeddingSize() + ")");
            }
            return new PositionalEncodingBlock(
                    this, encoding == null ? SinusoidalEncoding.vaswani(embeddingSize) : encoding);
        }
    }
}
