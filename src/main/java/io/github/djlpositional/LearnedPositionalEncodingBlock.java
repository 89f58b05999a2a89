package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.MachineMemory;
import io.github.djlpositional.internal.RangeChecks;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Objects;

/**
 * Adds a learned positional encoding to its input: a table of trained vectors, one for each position, as in BERT and GPT-2
 * and in Vaswani et al., <em>Attention Is All You Need</em> (2017), table 3 row (E).
 *
 * <pre>{@code
 * Block positions = LearnedPositionalEncodingBlock.builder()
 *         .setEmbeddingSize(768)
 *         .optMaxSequenceLength(512)
 *         .build();                       // (B, T, 768) -> the same, T up to 512
 * }</pre>
 *
 * <p>Inputs, output and errors are those of {@link PositionalEncodingBlock}, with two differences: positions are integers
 * alone, and x has the data type of the table. Gradients reach the rows that were used, and no others. A forward throws
 * {@link ai.djl.nn.UninitializedParameterException} in inference where the block was neither initialized nor loaded.
 *
 * <p>DJL cannot save a table of 2 GiB or more, maxSequenceLength · D times the bytes of a number.
 *
 * <p>B batch, T sequence length, D embedding size.
 */
public final class LearnedPositionalEncodingBlock extends ConfiguredBlock implements SequenceEncoding {

    /** The maximum sequence length where none is set: BERT's. */
    private static final int DEFAULT_MAX_SEQUENCE_LENGTH = 512;

    /** BERT's standard deviation, its {@code initializer_range}; GPT-2's code has 0.01 for positions. */
    private static final float STANDARD_DEVIATION = 0.02f;

    private final int embeddingSize;
    private final int maxSequenceLength;
    private final int sequenceAxis;
    private final boolean addToInput;
    private final float dropoutRate;
    private final RangeChecks checks;
    private final Parameter table;

    private LearnedPositionalEncodingBlock(Builder builder, int maxSequenceLength) {
        super(new BlockSettings(LearnedPositionalEncodingBlock.class)
                .with("embeddingSize", builder.embeddingSize)
                .with("maxSequenceLength", maxSequenceLength)
                .with("addToInput", builder.addToInput)
                .with("sequenceAxis", builder.sequenceAxis)
                .withStart("encoding", builder.encoding)
                .withUnsaved("rangeChecks", builder.rangeChecks)
                .withUnsaved("dropoutRate", builder.dropoutRate));
        embeddingSize = builder.embeddingSize;
        this.maxSequenceLength = maxSequenceLength;
        sequenceAxis = builder.sequenceAxis;
        addToInput = builder.addToInput;
        dropoutRate = builder.dropoutRate;
        checks = RangeChecks.of(builder.rangeChecks);
        // of type OTHER, so that an initializer which a trainer has for all weights does not replace the table's own
        table = addParameter(Parameter.builder()
                .setName("encodings")
                .setType(Parameter.Type.OTHER)
                .optShape(tableShape())
                .optInitializer(builder.initializer())
                .build());
    }

    private Shape tableShape() {
        return new Shape(maxSequenceLength, embeddingSize);
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
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values; initial encodings
     *     given as an array are no plain values, and not among them
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static LearnedPositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(LearnedPositionalEncodingBlock.class, arguments);
        Builder builder = builder();
        builder.setEmbeddingSize(given.getInt("embeddingSize"));
        given.optInt("maxSequenceLength").ifPresent(builder::optMaxSequenceLength);
        given.optFlag("addToInput").ifPresent(builder::optAddToInput);
        given.optInt("sequenceAxis").ifPresent(builder::optSequenceAxis);
        given.optMap("encoding").map(SinusoidalEncoding::fromArguments).ifPresent(builder::optEncoding);
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
        return embeddingSize;
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
     * Returns whether a forward adds the encodings to its input.
     *
     * @return false if it returns the encodings alone
     */
    @Override
    public boolean isAddedToInput() {
        return addToInput;
    }

    /**
     * Returns the trained table.
     *
     * @return the parameter (maxSequenceLength, D), in the model's data type; this block's
     */
    public Parameter getTable() {
        return table;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        PositionRequest request = PositionRequest.of(inputs, params, embeddingSize, sequenceAxis, maxSequenceLength);
        NDArray rows = parameterStore.getValue(table, request.input().getDevice(), training);
        DataTypes.requireSame(request.input(), rows, "learned table");
        NDArray empty = request.emptyAnswer(addToInput);
        if (empty != null) {
            return new NDList(empty);
        }
        NDArray encoded;
        try (NDArray used = request.positions() == null
                ? request.consecutive(rows)
                : lookUp(request.input(), request.positions(), rows)) {
            encoded = request.answer(addToInput, used);
        }
        return dropOut(encoded, dropoutRate, training);
    }

    private NDArray lookUp(NDArray input, NDArray positions, NDArray rows) {
        if (!positions.getDataType().isInteger()) {
            throw new IllegalArgumentException("positions have data type " + positions.getDataType()
                    + ": a learned table has integer positions alone; convert them with toType(DataType.INT64, false)");
        }
        if (checks.readValuesOf(positions)) {
            Indices.requirePositions(positions, maxSequenceLength);
        }
        return Indices.lookUp(positions, rows, input.getManager());
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes (…, T, D), and where positions are given (T) or (B, T)
     * @throws IllegalArgumentException if the first is of rank below 2 or of another width
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {PositionRequest.outputShape(inputShapes, embeddingSize, sequenceAxis, addToInput)};
    }

    /**
     * {@inheritDoc}
     *
     * @param dataType the data type of the table: FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes (…, T, D), and where positions are given (T) or (B, T); a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another, the first shape is of rank below 2, of another width or
     *     longer than the table, the machine has no memory for the table, or one of 2 GiB or more is to start from given
     *     vectors or sinusoids; the block is then left as it was
     * @throws UnsupportedOperationException if the engine cannot make the table in the data type: MXNet in FLOAT16
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, toString());
        PositionRequest.requireInitial(inputShapes, embeddingSize, sequenceAxis, maxSequenceLength);
        MachineMemory.requireRoomFor(table, tableShape(), dataType, manager.getDevice());
        DataTypes.initializing(
                "learned table", manager, dataType, () -> super.initialize(manager, dataType, inputShapes));
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

    /** Given rows, as the start of a table. */
    private static final class GivenRows implements Initializer {
        private final double[][] rows;

        GivenRows(double[][] rows) {
            this.rows = rows;
        }

        @Override
        public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
            int height = Math.toIntExact(shape.get(0));
            int width = Math.toIntExact(shape.get(1));
            var format = DataTypes.formatOf(dataType);
            ByteBuffer buffer = HostData.bufferFor(manager, shape, dataType);
            for (int row = 0; row < height; row++) {
                // the ends meet, and between them position and row number are proportional
                double at = height == 1 ? 0 : (double) row * (rows.length - 1) / (height - 1);
                int below = (int) at;
                int above = Math.min(below + 1, rows.length - 1);
                for (int column = 0; column < width; column++) {
                    double low = rows[below][column];
                    format.put(buffer, row * width + column, low + (at - below) * (rows[above][column] - low));
                }
            }
            return HostData.toArray(manager, manager.getDevice(), buffer, shape, dataType);
        }
    }

    /** The table of a sinusoidal encoding, as the start of a learned one. */
    private record SinusoidalRows(SinusoidalEncoding encoding) implements Initializer {
        @Override
        public NDArray initialize(NDManager manager, Shape shape, DataType dataType) {
            var format = DataTypes.formatOf(dataType);
            ByteBuffer buffer = HostData.bufferFor(manager, shape, dataType);
            encoding.write(0, Math.toIntExact(shape.get(0)), format, buffer);
            return HostData.toArray(manager, manager.getDevice(), buffer, shape, dataType);
        }
    }

    /** Builds a {@link LearnedPositionalEncodingBlock}. */
    public static final class Builder {

        private int embeddingSize;
        private Integer maxSequenceLength;
        private int sequenceAxis = PositionRequest.DEFAULT_AXIS;
        private SinusoidalEncoding encoding;
        private double[][] initialEncodings;
        private boolean addToInput = true;
        private Boolean rangeChecks;
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
         * Sets one more than the greatest position; without it as many as the initial encodings are, or 512.
         *
         * @param maxSequenceLength at least 1
         * @return this builder
         */
        public Builder optMaxSequenceLength(int maxSequenceLength) {
            this.maxSequenceLength = maxSequenceLength;
            return this;
        }

        /**
         * Sets the axis of the sequence; -2 without it. See {@link PositionalEncodingBlock.Builder#optSequenceAxis}.
         *
         * @param sequenceAxis from 0 at the front or from -2 at the end; the last axis is D
         * @return this builder
         */
        public Builder optSequenceAxis(int sequenceAxis) {
            this.sequenceAxis = sequenceAxis;
            return this;
        }

        /**
         * Makes the table start from a sinusoidal one; without it from N(0, 0.02²).
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
         * Makes the table start from given vectors, such as another model's. Where another maximum sequence length is set
         * than there are of them, they are resized to it by linear interpolation, the first and the last kept, as PyTorch's
         * {@code interpolate} does with the mode linear and {@code align_corners}.
         *
         * @param encodings (n, D) or (1, n, D), n at least 1, FLOAT16, FLOAT32 or FLOAT64; the caller's, copied here
         * @return this builder
         * @throws IllegalArgumentException if the array is of another rank or type, or empty
         */
        public Builder optInitialEncodings(NDArray encodings) {
            Shape shape = encodings.getShape();
            boolean batched = shape.dimension() == 3 && shape.get(0) == 1;
            if ((shape.dimension() != 2 && !batched)
                    || shape.size() == 0
                    || !DataTypes.isEmbedding(encodings.getDataType())) {
                throw new IllegalArgumentException(
                        "initial encodings of shape " + shape + " and data type "
                                + encodings.getDataType()
                                + ": allowed is (n, D) or (1, n, D) of float16, float32 or float64; give one vector for each position");
            }
            int width = Math.toIntExact(shape.get(shape.dimension() - 1));
            double[] values = HostData.doubles(encodings);
            initialEncodings = new double[values.length / width][width];
            for (int i = 0; i < values.length; i++) {
                initialEncodings[i / width][i % width] = values[i];
            }
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
         * Sets whether explicit positions are checked before they are looked up; without it on a CPU alone. See
         * {@link PositionalEncodingBlock.Builder#optRangeChecks}.
         *
         * @param rangeChecks true to check on every device, false on none
         * @return this builder
         */
        public Builder optRangeChecks(boolean rangeChecks) {
            this.rangeChecks = rangeChecks;
            return this;
        }

        /**
         * Sets the rate of the dropout that follows, in training alone; 0 without it.
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            this.dropoutRate = dropoutRate;
            return this;
        }

        private int length() {
            if (maxSequenceLength != null) {
                return maxSequenceLength;
            }
            return initialEncodings != null ? initialEncodings.length : DEFAULT_MAX_SEQUENCE_LENGTH;
        }

        private Initializer initializer() {
            if (encoding != null) {
                return new SinusoidalRows(encoding);
            }
            return initialEncodings != null
                    ? new GivenRows(initialEncodings)
                    : new NormalInitializer(STANDARD_DEVIATION);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is outside its range, or what the table starts from is of another
         *     size or given twice
         */
        public LearnedPositionalEncodingBlock build() {
            BuilderChecks.requirePositive("embedding size", embeddingSize, "setEmbeddingSize(int)");
            int length = length();
            BuilderChecks.requirePositive("maximum sequence length", length, "optMaxSequenceLength(int)");
            BuilderChecks.requireDropoutRate(dropoutRate);
            BuilderChecks.requireSequenceAxis(sequenceAxis);
            if (encoding != null && initialEncodings != null) {
                throw new IllegalArgumentException(
                        "both " + encoding + " and initial encodings were given: give what the table starts from once");
            }
            int startSize = encoding != null
                    ? encoding.getEmbeddingSize()
                    : initialEncodings != null ? initialEncodings[0].length : embeddingSize;
            if (startSize != embeddingSize) {
                throw new IllegalArgumentException(
                        "the table is to start from vectors of size " + startSize + ", the block's is " + embeddingSize
                                + ": give both the same, setEmbeddingSize(" + startSize + ")");
            }
            return new LearnedPositionalEncodingBlock(this, length);
        }
    }
}
