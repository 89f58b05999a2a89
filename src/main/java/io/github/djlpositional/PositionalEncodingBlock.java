package io.github.djlpositional;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.core.Embedding;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UTFDataFormatException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Adds a fixed sinusoidal positional encoding to its input, after Vaswani et al., <em>Attention Is All You Need</em>
 * (2017), section 3.5, or any other {@link SinusoidalEncoding}.
 *
 * <p>The block holds a precomputed table, on each device and in each data type that it is used with. The table is no
 * parameter: it is never trained, never saved, and every value in it is the nearest one that the data type has.
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
 *   <li>{@code [x, positions]}: positions is (T), or (B, T) where x is (B, …, T, D); of any integer or real type. Real ones
 *       are encoded on the host, exactly.
 * </ul>
 *
 * The output has the shape, device and data type of x, is attached to the manager of x and is the caller's to close;
 * with {@code optAddToInput(false)} it is the encodings alone, (1, T, D) or (B, T, D). x is never written to. An empty
 * sequence comes back empty.
 *
 * <p>Explicit positions are checked against the table, which reads their values: on a GPU that waits for the device.
 *
 * <p>A forward throws {@link IllegalArgumentException} for an x of another width, of rank below 2 or of another data type,
 * a sequence that is longer than the table at its start position, a negative start, and positions out of range or of
 * another shape.
 *
 * <h2>Life</h2>
 *
 * The table is made when the block is initialized, or at the first forward on a further device or in a further data type.
 * It lives with the manager that the block was initialized or loaded with, usually the model's, and is freed with it or by
 * {@link #clear}. Forward may be called by several threads at once.
 */
public final class PositionalEncodingBlock extends AbstractBlock {

    /**
     * The key of the forward parameter that gives the position of the first step, an Integer or Long from 0. DJL's
     * {@link ai.djl.nn.SequentialBlock} does not hand forward parameters on to its blocks.
     */
    public static final String START_POSITION = "startPosition";

    /** The maximum sequence length where none is set. */
    static final int DEFAULT_MAX_SEQUENCE_LENGTH = 5000;

    private static final byte VERSION = 1;

    private final SinusoidalEncoding encoding;
    private final int maxSequenceLength;
    private final boolean addToInput;
    private final float dropoutRate;
    private final BlockSettings settings;
    private final ConstantArray table;

    /** The data type of {@link #getEncodings} and {@link #encode}. */
    private volatile DataType dataType = DataType.FLOAT32;

    private PositionalEncodingBlock(Builder builder, SinusoidalEncoding encoding) {
        super(VERSION);
        this.encoding = encoding;
        maxSequenceLength = builder.maxSequenceLength;
        addToInput = builder.addToInput;
        dropoutRate = builder.dropoutRate;
        settings = new BlockSettings(PositionalEncodingBlock.class)
                .with("encoding", encoding)
                .with("maxSequenceLength", maxSequenceLength)
                .with("addToInput", addToInput)
                .withUnsaved("dropoutRate", dropoutRate);
        table = new ConstantArray(maxSequenceLength, encoding.getEmbeddingSize(), encoding::write);
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
     * Returns the number of dimensions of an encoded position.
     *
     * @return D
     */
    public int getEmbeddingSize() {
        return encoding.getEmbeddingSize();
    }

    /**
     * Returns one more than the greatest position.
     *
     * @return the number of rows in the table
     */
    public int getMaxSequenceLength() {
        return maxSequenceLength;
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
    public boolean isAddedToInput() {
        return addToInput;
    }

    /**
     * Returns the table itself, (1, maxSequenceLength, D), on the device and in the data type that the block was
     * initialized with; after loading from a file, on the device of the model and FLOAT32.
     *
     * @return the block's own array: neither write to it nor close it
     * @throws IllegalStateException if the block is neither initialized nor loaded, or the manager that it was initialized
     *     or loaded with is closed
     */
    public NDArray getEncodings() {
        NDManager owner = table.owner();
        if (owner == null) {
            throw new IllegalStateException("the block has no open manager to make its table with: initialize it with"
                    + " initialize(manager, dataType, shapes), or use encode(positions), before getEncodings()");
        }
        return table.batchedOn(owner.getEngine(), owner.getDevice(), dataType);
    }

    /**
     * Returns the encodings of any positions. Integer positions are looked up in the table, real ones computed from the
     * definition; where both are the same number they give the same values, bit for bit.
     *
     * @param positions any shape, integer (0 … maxSequenceLength - 1) or real (from 0 to below maxSequenceLength)
     * @return a new array of the shape of the positions + (D), on their device and manager, in the data type that the block
     *     was initialized with (FLOAT32 before); the caller's to close
     * @throws IllegalArgumentException if a position is out of range or not a number, or the array is neither integer nor
     *     real
     */
    public NDArray encode(NDArray positions) {
        return encode(positions, dataType);
    }

    private NDArray encode(NDArray positions, DataType type) {
        if (positions.getDataType().isInteger()) {
            return lookUp(positions, type);
        }
        if (DataTypes.isReal(positions.getDataType())) {
            return compute(positions, type);
        }
        throw new IllegalArgumentException("positions have data type " + positions.getDataType()
                + ": allowed is any integer type, float16, float32 or float64; convert them with toType");
    }

    private NDArray lookUp(NDArray positions, DataType type) {
        Shape shape = positions.getShape().add(getEmbeddingSize());
        NDManager manager = positions.getManager();
        if (shape.size() == 0) {
            return manager.create(shape, type);
        }
        Indices.requireBelow(positions, maxSequenceLength, "position", positionRemedy());
        NDArray indices = Indices.forLookUp(positions);
        try {
            NDArray matrix = table.on(manager.getEngine(), positions.getDevice(), type);
            return Embedding.embedding(indices, matrix, SparseFormat.DENSE).singletonOrThrow();
        } finally {
            if (indices != positions) {
                indices.close();
            }
            Reference.reachabilityFence(this);
        }
    }

    private NDArray compute(NDArray positions, DataType type) {
        NDManager manager = positions.getManager();
        double[] values;
        NDArray doubles = positions.toType(DataType.FLOAT64, false);
        try {
            values = doubles.toDoubleArray();
        } finally {
            if (doubles != positions) {
                doubles.close();
            }
        }
        for (int i = 0; i < values.length; i++) {
            if (!(values[i] >= 0 && values[i] < maxSequenceLength)) {
                throw new IllegalArgumentException("position " + values[i] + " at index " + i + " of "
                        + positions.getShape() + " is outside 0 to " + maxSequenceLength + " (exclusive): "
                        + positionRemedy());
            }
        }
        Shape shape = positions.getShape().add(getEmbeddingSize());
        if (shape.size() == 0) {
            return manager.create(shape, type);
        }
        ByteBuffer buffer = manager.allocateDirect(Math.toIntExact(shape.size() * type.getNumOfBytes()));
        encoding.write(values, DataTypes.formatOf(type), buffer);
        return manager.create(buffer, shape, type);
    }

    private static String positionRemedy() {
        return "count positions from 0, or build the block with a greater optMaxSequenceLength(int)";
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        PositionRequest request = PositionRequest.of(inputs, params, getEmbeddingSize(), maxSequenceLength);
        NDArray encoded = request.positions() == null ? fromConsecutive(request) : fromPositions(request);
        if (!training || dropoutRate == 0) {
            return new NDList(encoded);
        }
        try (encoded) {
            return Dropout.dropout(encoded, dropoutRate, true);
        }
    }

    private NDArray fromConsecutive(PositionRequest request) {
        NDArray x = request.input();
        if (request.isEmpty() && (addToInput || request.length() == 0)) {
            return empty(request);
        }
        NDIndex rowsAsked = NDIndex.sliceAxis(0, request.start(), (long) request.start() + request.length());
        NDManager manager = x.getManager();
        NDArray matrix = table.on(manager.getEngine(), x.getDevice(), request.dataType());
        try (NDArray rows = matrix.get(manager, rowsAsked)) {
            return addToInput ? x.add(rows) : alone(rows);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private NDArray fromPositions(PositionRequest request) {
        NDArray x = request.input();
        NDArray positions = request.positions().toDevice(x.getDevice(), false);
        try (NDArray rows = encode(positions, request.dataType())) {
            if (!addToInput) {
                return rows.getShape().dimension() == 2 ? alone(rows) : rows.duplicate();
            }
            if (request.isEmpty()) {
                return empty(request);
            }
            NDArray broadcastable = request.broadcastable(rows);
            NDArray sum = x.add(broadcastable);
            if (broadcastable != rows) {
                broadcastable.close();
            }
            return sum;
        } finally {
            if (positions != request.positions()) {
                positions.close();
            }
        }
    }

    /** (T, D) as (1, T, D), in memory of its own. */
    private static NDArray alone(NDArray rows) {
        try (NDArray batched = rows.expandDims(0)) {
            return batched.duplicate();
        }
    }

    private NDArray empty(PositionRequest request) {
        NDArray x = request.input();
        return addToInput
                ? x.duplicate()
                : x.getManager().create(new Shape(1, request.length(), getEmbeddingSize()), request.dataType());
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes (…, T, D), and where positions are given (T) or (B, T)
     * @throws IllegalArgumentException if the first is of rank below 2 or of another width
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        Shape input = inputShapes[0];
        PositionRequest.requireWidth(input, getEmbeddingSize());
        if (addToInput) {
            return new Shape[] {input};
        }
        boolean oneEach = inputShapes.length == 2 && inputShapes[1].dimension() == 2;
        return new Shape[] {
            new Shape(oneEach ? inputShapes[1].get(0) : 1, input.get(input.dimension() - 2), getEmbeddingSize())
        };
    }

    /**
     * {@inheritDoc}
     *
     * <p>Makes the table on the manager's device. Initializing again on another manager moves it there.
     *
     * @param manager what the table lives with from now on
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes (…, T, D), and where positions are given (T) or (B, T); a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another, or the first shape is of rank below 2, of another width
     *     or longer than the table; the block is then left as it was
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        requireInitializable(dataType, inputShapes);
        table.ownedBy(manager);
        table.on(manager.getEngine(), manager.getDevice(), dataType);
        this.dataType = dataType;
        super.initialize(manager, dataType, inputShapes);
    }

    private void requireInitializable(DataType type, Shape... shapes) {
        DataTypes.requireEmbedding(type, toString());
        if (shapes.length < 1 || shapes.length > 2) {
            throw new IllegalArgumentException(
                    shapes.length + " input shapes were given: allowed are one for x, or two for x and positions");
        }
        PositionRequest.requireWidth(shapes[0], getEmbeddingSize());
        long length = shapes[0].get(shapes[0].dimension() - 2);
        PositionRequest.requireLength(Math.max(0, length), 0, maxSequenceLength);
    }

    /** {@inheritDoc} Frees the table too; a later forward makes it anew. */
    @Override
    public void clear() {
        super.clear();
        table.close();
    }

    @Override
    protected void saveMetadata(DataOutputStream os) throws IOException {
        settings.write(os);
        settings.writeShapes(os, inputShapes);
    }

    /**
     * {@inheritDoc}
     *
     * @throws MalformedModelException if the file was saved with other settings, by another version, or is damaged; the
     *     block is then left as it was
     */
    @Override
    public void loadParameters(NDManager manager, DataInputStream is) throws IOException, MalformedModelException {
        try {
            super.loadParameters(manager, is);
        } catch (EOFException | UTFDataFormatException e) {
            throw settings.damaged(e);
        }
        table.ownedBy(manager);
    }

    @Override
    protected void loadMetadata(byte loadVersion, DataInputStream is) throws IOException, MalformedModelException {
        settings.requireVersion(loadVersion, VERSION);
        settings.requireSame(is);
        Shape[] shapes = settings.readShapes(is);
        if (inputShapes == null) {
            beforeInitialize(shapes);
        }
    }

    /** Returns the block's settings, for example {@code PositionalEncodingBlock(encoding=…, maxSequenceLength=5000, …)}. */
    @Override
    public String toString() {
        return settings.toString();
    }

    /** Builds a {@link PositionalEncodingBlock}. */
    public static final class Builder {

        private int embeddingSize;
        private int maxSequenceLength = DEFAULT_MAX_SEQUENCE_LENGTH;
        private SinusoidalEncoding encoding;
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
         * Sets the function from position to vector; {@link SinusoidalEncoding#vaswani(int)} without it.
         *
         * @param encoding an encoding of the same embedding size
         * @return this builder
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
            BlockSettings.requirePositive("embedding size", embeddingSize, "setEmbeddingSize(int)");
            BlockSettings.requirePositive("maximum sequence length", maxSequenceLength, "optMaxSequenceLength(int)");
            BlockSettings.requireDropoutRate(dropoutRate);
            if (encoding != null && encoding.getEmbeddingSize() != embeddingSize) {
                throw new IllegalArgumentException(encoding + " has another size than the block's " + embeddingSize
                        + ": give both the same, setEmbeddingSize(" + encoding.getEmbeddingSize() + ")");
            }
            return new PositionalEncodingBlock(
                    this, encoding == null ? SinusoidalEncoding.vaswani(embeddingSize) : encoding);
        }
    }
}
