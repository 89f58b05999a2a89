package io.github.djlpositional.attention;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.RangeChecks;
import io.github.djlpositional.internal.RealPositions;
import io.github.djlpositional.internal.StartPosition;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;

/**
 * Rotary position embedding: turns each pair of dimensions of queries and keys by an angle that grows with the position, so
 * that their products depend on the distance alone. After Su et al., <em>RoFormer: Enhanced Transformer with Rotary Position
 * Embedding</em> (2021), with the context extensions of {@link RotaryScaling}.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(RotaryEmbeddingBlock.builder().setHeadSize(64).build())
 *         .build();
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * B batch, N heads, T sequence length, H head size.
 *
 * <ul>
 *   <li>{@code [x]}, or queries and keys together, {@code [queries, keys]}: each (B, N, T, H), FLOAT16, FLOAT32 or FLOAT64; B,
 *       T and the data type are the same for both, N need not be. The steps have the positions s … s + T - 1, where s is the
 *       forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#START_POSITION}, 0 without it.
 *   <li>{@code [x, positions]} or {@code [queries, keys, positions]}: positions is (T) or (B, T), of any integer or real type.
 * </ul>
 *
 * The output is one array for each of x, or of queries and keys, of its shape, device and data type, attached to its manager
 * and the caller's to close. The input is never written to.
 *
 * <p>The first r of the H dimensions are rotated and the rest kept: all of them unless {@code optRotarySize} says otherwise.
 * Cosines and sines are computed in double and rounded once to the data type. They are in tables like that of
 * {@link io.github.djlpositional.PositionalEncodingBlock}: no parameters, never saved, made once for each device and data
 * type, and freed with the block's manager or by {@link #clear}. With a scaling that depends on the length (dynamic NTK,
 * LongRoPE), the length is one more than the greatest position, of a real one, one more than its whole part, and one further
 * table is kept, for the latest length.
 *
 * <p>Explicit positions of an integer type are checked against the table on a CPU alone, unless {@link Builder#optRangeChecks}
 * says otherwise. Real ones are read wherever they are, and so are those of a block that extends itself or whose scaling
 * depends on the length: on a GPU that waits for the device.
 *
 * <p>A forward throws {@link IllegalArgumentException} for an input of another shape or data type, a sequence that is longer
 * than the table at its start position, a negative start, and positions out of range or of another shape.
 */
public final class RotaryEmbeddingBlock extends ConfiguredBlock implements RelativeEncoding {

    private static final double DEFAULT_BASE = 10_000;
    private static final int DEFAULT_MAX_SEQUENCE_LENGTH = 5000;

    private final int headSize;
    private final int rotarySize;
    private final RotaryScaling scaling;
    private final Rotation rotation;
    private final RotaryTables tables;
    private final RangeChecks checks;

    private RotaryEmbeddingBlock(Builder builder, int rotarySize) {
        super(new BlockSettings(RotaryEmbeddingBlock.class)
                .with("headSize", builder.headSize)
                .with("rotarySize", rotarySize)
                .with("base", builder.base)
                .with("layout", builder.layout)
                .withBeyond("scaling", RotaryScaling.none(), builder.scaling)
                .withUnsaved("maxSequenceLength", builder.maxSequenceLength)
                .withUnsaved("autoExtend", builder.autoExtend)
                .withUnsaved("rangeChecks", builder.rangeChecks));
        headSize = builder.headSize;
        this.rotarySize = rotarySize;
        rotation = new Rotation(headSize, rotarySize, builder.layout);
        scaling = builder.scaling;
        boolean mustKnowPositions = builder.autoExtend || scaling.dependsOnLength();
        checks = RangeChecks.of(mustKnowPositions ? Boolean.TRUE : builder.rangeChecks);
        tables = new RotaryTables(
                scaling,
                rotarySize,
                builder.base,
                builder.layout,
                builder.maxSequenceLength,
                builder.autoExtend ? Integer.MAX_VALUE - 1 : builder.maxSequenceLength);
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
    public static RotaryEmbeddingBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(RotaryEmbeddingBlock.class, arguments);
        Builder builder = builder();
        builder.setHeadSize(given.getInt("headSize"));
        given.optInt("rotarySize").ifPresent(builder::optRotarySize);
        given.optDouble("base").ifPresent(builder::optBase);
        given.optChoice("layout", PairLayout.class).ifPresent(builder::optLayout);
        given.optMap("scaling").map(RotaryScaling::fromArguments).ifPresent(builder::optScaling);
        given.optInt("maxSequenceLength").ifPresent(builder::optMaxSequenceLength);
        given.optFlag("autoExtend").ifPresent(builder::optAutoExtend);
        given.optFlag("rangeChecks").ifPresent(builder::optRangeChecks);
        given.requireNoOthers();
        return builder.build();
    }

    /**
     * Returns the size of a head.
     *
     * @return H
     */
    public int getHeadSize() {
        return headSize;
    }

    /**
     * Returns how many dimensions of a head are rotated.
     *
     * @return r
     */
    public int getRotarySize() {
        return rotarySize;
    }

    /**
     * Returns how the frequencies are changed for longer contexts.
     *
     * @return the scaling
     */
    public RotaryScaling getScaling() {
        return scaling;
    }

    @Override
    public void requireFits(int headCount, int attentionHeadSize) {
        AttentionSizes.requireSameHeadSize(headSize, attentionHeadSize, this, "setHeadSize(" + attentionHeadSize + ")");
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        boolean hasPositions =
                inputs.size() > 1 && inputs.get(inputs.size() - 1).getShape().dimension() != 4;
        NDList rotated = hasPositions ? inputs.subNDList(0, inputs.size() - 1) : inputs;
        requireInputs(rotated);
        NDArray x = rotated.get(0);
        int length = Math.toIntExact(x.getShape().get(2));
        if (!hasPositions) {
            int start = StartPosition.of(params, length, tables.limit());
            return rotateAll(rotated, start, (long) start + length);
        }
        StartPosition.requireNone(params);
        NDArray positions = inputs.get(inputs.size() - 1);
        requirePositions(positions.getShape(), x.getShape());
        if (positions.getShape().size() == 0) {
            return copies(rotated);
        }
        try (NDArray rows = rowsOf(positions, x)) {
            return rotateAll(rotated, rows);
        }
    }

    private NDList rotateAll(NDList inputs, int start, long sequenceLength) {
        NDArray x = inputs.get(0);
        if (x.getShape().get(2) == 0) {
            return copies(inputs);
        }
        try (NDArray rows = rows(x, start, Math.toIntExact(x.getShape().get(2)), sequenceLength)) {
            return rotateAll(inputs, rows);
        }
    }

    private static NDList copies(NDList inputs) {
        NDList copies = new NDList();
        inputs.forEach(input -> copies.add(input.duplicate()));
        return copies;
    }

    private NDList rotateAll(NDList inputs, NDArray rows) {
        NDList rotated = new NDList();
        for (NDArray input : inputs) {
            rotated.add(input.getShape().size() == 0 ? input.duplicate() : rotation.apply(input, rows));
        }
        return rotated;
    }

    private void requireInputs(NDList inputs) {
        if (inputs.isEmpty() || inputs.size() > 2) {
            throw new IllegalArgumentException(inputs.size()
                    + " arrays to rotate were given: allowed are [x] or [queries, keys], each with positions"
                    + " after it or without; pass one or two arrays (B, N, T, H)");
        }
        NDArray first = inputs.get(0);
        for (NDArray input : inputs) {
            DataTypes.requireEmbedding(input, "input");
            ScoreTermBlock.requireHeads(input.getShape(), "input", -1, headSize);
            if (input.getShape().get(0) != first.getShape().get(0)
                    || input.getShape().get(2) != first.getShape().get(2)
                    || input.getDataType() != first.getDataType()
                    || !input.getDevice().equals(first.getDevice())) {
                throw new IllegalArgumentException(
                        "queries " + first.getShape() + " " + first.getDataType() + " on " + first.getDevice()
                                + " and keys " + input.getShape() + " " + input.getDataType() + " on "
                                + input.getDevice()
                                + ": allowed is the same batch size, sequence"
                                + " length, data type and device for both; rotate them one by one where their positions differ");
            }
        }
    }

    private static void requirePositions(Shape given, Shape input) {
        Shape all = new Shape(input.get(2));
        Shape each = new Shape(input.get(0), input.get(2));
        if (!given.equals(all) && !given.equals(each)) {
            throw new IllegalArgumentException("positions of shape " + given + " do not fit input " + input
                    + ": allowed is " + all + " or " + each + "; give one position for each step of the sequence");
        }
    }

    /** The rows of consecutive positions, (T, 2r): a new array on the manager of x. */
    private NDArray rows(NDArray x, int start, int length, long sequenceLength) {
        Engine engine = x.getManager().getEngine();
        int end = start + length;
        try (RotaryTables.Use use = tables.use(end, sequenceLength, engine, x.getDevice(), x.getDataType())) {
            return use.array().get(x.getManager(), NDIndex.sliceAxis(0, start, end));
        }
    }

    /** The rows of explicit positions, (B, T, 2r) or (T, 2r): a new array on the manager of x. */
    private NDArray rowsOf(NDArray positions, NDArray x) {
        NDManager manager = x.getManager();
        if (positions.getDataType().isInteger()) {
            int length = checks.readValuesOf(positions)
                    ? Indices.requirePositions(positions, tables.limit()) + 1
                    : tables.limit();
            try (RotaryTables.Use use =
                    tables.use(length, length, manager.getEngine(), x.getDevice(), x.getDataType())) {
                return Indices.lookUp(positions, use.array(), manager);
            }
        }
        double[] values = RealPositions.values(positions, tables.limit());
        double last = 0;
        for (double value : values) {
            last = Math.max(last, value);
        }
        DataType type = x.getDataType();
        Device device = x.getDevice();
        Shape shape = positions.getShape().add(2L * rotarySize);
        ByteBuffer buffer = HostData.bufferFor(manager, shape, type);
        tables.table((long) Math.floor(last) + 1).write(values, DataTypes.formatOf(type), buffer);
        return HostData.toArray(manager, device, buffer, shape, type);
    }

    private NDArray rotate(AttentionCall call, NDArray x, int start) {
        int length = Math.toIntExact(x.getShape().get(2));
        StartPosition.requireLength(length, start, tables.limit());
        long sequenceLength = Math.max(call.keyLength(), (long) call.firstQuery() + call.queryLength());
        try (NDArray rows = rows(x, start, length, sequenceLength)) {
            return rotation.apply(x, rows);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @return the rotated queries
     * @throws IllegalArgumentException if a position is beyond the table
     */
    @Override
    public NDArray encodeQueries(AttentionCall call, NDArray queries) {
        return rotate(call, queries, call.firstQuery());
    }

    /**
     * {@inheritDoc}
     *
     * @return the rotated keys
     * @throws IllegalArgumentException if a position is beyond the table
     */
    @Override
    public NDArray encodeKeys(AttentionCall call, NDArray keys, int firstKey) {
        return rotate(call, keys, firstKey);
    }

    /**
     * {@inheritDoc}
     *
     * @return true with a scaling that {@linkplain RotaryScaling#dependsOnLength depends on the length}
     */
    @Override
    public boolean keysDependOnLength() {
        return scaling.dependsOnLength();
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes one or two of (B, N, T, H), and where positions are given their shape
     * @throws IllegalArgumentException if a shape does not fit
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        int count = inputShapes.length;
        if (count > 1 && inputShapes[count - 1].dimension() != 4) {
            count--;
        }
        if (count < 1 || count > 2) {
            throw new IllegalArgumentException(inputShapes.length
                    + " input shapes were given: allowed are one or two of (B, N, T, H), and that of positions; give one for"
                    + " each input");
        }
        Shape[] shapes = Arrays.copyOf(inputShapes, count);
        for (Shape shape : shapes) {
            ScoreTermBlock.requireHeads(shape, "input", -1, headSize);
        }
        return shapes;
    }

    /**
     * {@inheritDoc}
     *
     * <p>Makes the table on the manager's device. Initializing again on another manager moves it there.
     *
     * @param manager what the table lives with from now on
     * @param dataType FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes one or two of (B, N, T, H), and where positions are given their shape; a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another or a shape does not fit; the block is then left as it was
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, toString());
        for (Shape shape : getOutputShapes(inputShapes)) {
            StartPosition.requireLength(Math.max(0, shape.get(2)), 0, tables.limit());
        }
        tables.ownedBy(manager);
        try (RotaryTables.Use use = tables.use(0, 0, manager.getEngine(), manager.getDevice(), dataType)) {
            use.array();
        }
        super.initialize(manager, dataType, inputShapes);
    }

    @Override
    protected void loaded(NDManager manager) {
        tables.ownedBy(manager);
    }

    /** {@inheritDoc} Frees the tables too; a later forward makes them anew. */
    @Override
    public void clear() {
        super.clear();
        tables.close();
    }

    /** Builds a {@link RotaryEmbeddingBlock}. */
    public static final class Builder {

        private int headSize;
        private Integer rotarySize;
        private double base = DEFAULT_BASE;
        private PairLayout layout = PairLayout.INTERLEAVED;
        private RotaryScaling scaling = RotaryScaling.none();
        private int maxSequenceLength = DEFAULT_MAX_SEQUENCE_LENGTH;
        private boolean autoExtend;
        private Boolean rangeChecks;

        private Builder() {}

        /**
         * Sets H, the size of a head: the attention's embedding size by its head count.
         *
         * @param headSize at least 2
         * @return this builder
         */
        public Builder setHeadSize(int headSize) {
            this.headSize = headSize;
            return this;
        }

        /**
         * Sets r, how many of a head's dimensions are rotated, counted from the first; all of them without it. The
         * frequencies are those of r: GPT-J rotates 64 of 256, GPT-NeoX and Pythia a quarter.
         *
         * @param rotarySize even, from 2 to H
         * @return this builder
         */
        public Builder optRotarySize(int rotarySize) {
            this.rotarySize = rotarySize;
            return this;
        }

        /**
         * Sets the base of the frequencies, base<sup>-2k/r</sup>; 10,000 without it, RoFormer's. Llama 3 has 500,000.
         *
         * @param base above 1 and finite
         * @return this builder
         */
        public Builder optBase(double base) {
            this.base = base;
            return this;
        }

        /**
         * Sets where a pair's halves sit; {@link PairLayout#INTERLEAVED} without it, as in RoFormer and GPT-J. Weights that
         * were trained with GPT-NeoX, or come from Hugging Face's Llama and most of its models, need
         * {@link PairLayout#CONCATENATED}; with the other layout they give wrong answers, not errors.
         *
         * @param layout the layout
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optLayout(PairLayout layout) {
            this.layout = Objects.requireNonNull(layout, "layout");
            return this;
        }

        /**
         * Sets how the frequencies are changed for longer contexts; {@link RotaryScaling#none} without it. A model file that
         * was saved without a scaling may be loaded with any, which is how a context is extended; one that was saved with a
         * scaling belongs to that one.
         *
         * @param scaling the scaling
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optScaling(RotaryScaling scaling) {
            this.scaling = Objects.requireNonNull(scaling, "scaling");
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
         * Sets whether a longer sequence extends the table instead of being refused; false without it. See
         * {@link io.github.djlpositional.PositionalEncodingBlock.Builder#optAutoExtend}.
         *
         * @param autoExtend true to extend
         * @return this builder
         */
        public Builder optAutoExtend(boolean autoExtend) {
            this.autoExtend = autoExtend;
            return this;
        }

        /**
         * Sets whether explicit positions of an integer type are checked before they are looked up, so that one out of range is refused by name. The
         * check reads them, and so waits for a GPU that holds them. Without it they are checked on a CPU, and not on a GPU,
         * where the engine does with one out of range what it does: PyTorch fails, MXNet reads another row.
         *
         * @param rangeChecks true to check on every device, false on none
         * @return this builder
         */
        public Builder optRangeChecks(boolean rangeChecks) {
            this.rangeChecks = rangeChecks;
            return this;
        }

        /**
         * Builds the block. Its table is made when it is initialized, or at its first forward.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is outside its range: a rotary size that is odd or greater than the
         *     head size, or a scaling that does not fit it
         */
        public RotaryEmbeddingBlock build() {
            BuilderChecks.requirePositive("head size", headSize, "setHeadSize(int)");
            BuilderChecks.requirePositive("maximum sequence length", maxSequenceLength, "optMaxSequenceLength(int)");
            int rotated = rotarySize == null ? headSize : rotarySize;
            if (rotated < 2 || rotated % 2 != 0 || rotated > headSize) {
                throw new IllegalArgumentException("rotary size " + rotated + " of head size " + headSize
                        + ": allowed is an even number from 2 to the head size; set it with optRotarySize(int), or give another head"
                        + " size");
            }
            return new RotaryEmbeddingBlock(this, rotated);
        }
    }
}
