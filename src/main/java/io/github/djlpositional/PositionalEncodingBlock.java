package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.ModelFile.NotCompared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Map;
import java.util.Objects;

/**
 * Adds a fixed sinusoidal positional encoding to its input, after Vaswani et al., <em>Attention Is All You Need</em>
 * (2017), section 3.5, or any other {@link SinusoidalEncoding}.
 *
 * <p>The block holds a precomputed table on each device and in each data type that it is used with. The table is not a
 * parameter: it is never trained and never saved, and each value in it is the nearest one that the data type has
 * (FLOAT64: within two ulps).
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
 *   <li>{@code [x]}: x is (…, T, D) with any leading dimensions, FLOAT16, FLOAT32 or FLOAT64. Its steps have the
 *       positions s, s + 1, … s + T - 1, where s is the forward parameter {@link #START_POSITION}, an Integer or a Long
 *       (default: 0):
 *       <pre>{@code
 * PairList<String, Object> params = new PairList<>();
 * params.add(PositionalEncodingBlock.START_POSITION, 7);
 * block.forward(parameterStore, new NDList(x), false, params);
 * }</pre>
 *   <li>{@code [x, positions]}: positions is (T), or (B, T) for an x of shape (B, …, T, D); INT8, UINT8, INT32 or
 *       INT64, from 0 to below the maximum sequence length; or FLOAT16, FLOAT32 or FLOAT64, any finite numbers, which
 *       are encoded exactly, on the host.
 * </ul>
 *
 * The output has the shape, device and data type of x, is attached to the manager of x, and is the caller's to close.
 * With {@code optAddToInput(false)} it is the encodings without x: (1, T, D) or (B, T, D). The input is never written
 * to. An empty sequence gives an empty output.
 *
 * <p>A forward without explicit positions waits for a GPU only while the table is created or extended. An explicit
 * integer position out of range is an error on a CPU; on a GPU, where it is not read, its encoding is NaN. Real
 * positions, and all explicit positions of a block that extends itself, are read, which waits for a GPU.
 *
 * <p>A forward throws {@link IllegalArgumentException} for more than two inputs; for an x of another width, of rank
 * below 2, without the sequence axis, or of another data type (with a learned scale: than the scale's); for a sequence
 * that is longer than the table at its start position; for a start position that is negative or not an Integer or a
 * Long; for both positions and a start position; for positions of another shape, integers out of range that are read,
 * and real ones that are not finite; and for a table that the machine has no memory for. It throws
 * {@link ai.djl.engine.EngineException} if a GPU has no memory for the table, and
 * {@link ai.djl.nn.UninitializedParameterException} in inference if a learned scale was neither initialized nor loaded.
 *
 * <h2>Lifetime</h2>
 *
 * The table is created when the block is initialized, on the manager's device, and for further devices and data types
 * at the first forward. It lives with the manager that the block was initialized or loaded with last, usually the
 * model's: it is freed when that manager is closed, by {@link #clear}, and when the block is initialized or loaded with
 * another manager. Garbage collection of the block does not free it. If there is no such manager, or it is closed or of
 * another engine, the table lives until {@link #clear}, or until the block is garbage collected.
 *
 * <p>Forwards may run in several threads at once. Initializing, loading or clearing a block during a forward throws
 * {@link IllegalStateException} and changes nothing; so does a forward that begins meanwhile. Closing the manager
 * during a forward is not detected, and may abort the JVM.
 *
 * @see <a href="https://arxiv.org/abs/1706.03762">Attention Is All You Need</a>
 */
public final class PositionalEncodingBlock extends SequenceEncodingBlock<PositionalEncodingBlock.Settings> {

    /**
     * The key of the forward parameter that gives the position of the first step, an Integer or a Long of 0 or more.
     * DJL's {@link ai.djl.nn.SequentialBlock} does not pass forward parameters to its blocks.
     */
    public static final String START_POSITION = Positions.START;

    /**
     * The key of the forward parameter that gives the position of every step, for all blocks of a model: an NDArray (T)
     * or (B, T), of any integer or real type. For rotary embeddings on several axes it is (axes, B, T). It is not given
     * together with positions as an input.
     */
    public static final String POSITIONS = Positions.POSITIONS;

    record Settings(
            int embeddingSize,
            SinusoidalEncoding encoding,
            @NotCompared Integer maxSequenceLength,
            @NotCompared Integer autoExtend,
            Boolean addToInput,
            Integer sequenceAxis,
            Float learnedScale,
            @NotCompared Float dropoutRate)
            implements Common {

        Settings {
            maxSequenceLength = Objects.requireNonNullElse(maxSequenceLength, 5000);
            addToInput = Objects.requireNonNullElse(addToInput, true);
            sequenceAxis = Objects.requireNonNullElse(sequenceAxis, DEFAULT_AXIS);
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            check(embeddingSize, sequenceAxis, dropoutRate);
            encoding = encoding == null ? SinusoidalEncoding.vaswani(embeddingSize) : encoding;
            requireSize(encoding, embeddingSize);
            Check.positive("maxSequenceLength", maxSequenceLength);
            if (autoExtend != null) {
                Check.between("autoExtend", autoExtend, maxSequenceLength, Positions.UNLIMITED);
            }
            Check.that(
                    learnedScale == null || Float.isFinite(learnedScale),
                    () -> "learnedScale " + learnedScale
                            + ": expected a finite number; give the initial scale, usually D^-0.5");
        }
    }

    /** The scale of the encodings, (1); null if they have none. */
    private final Parameter scale;

    private final ConstantTable table;

    private PositionalEncodingBlock(Settings settings) {
        super(settings);
        scale = settings.learnedScale == null
                ? null
                : addParameter("scale", new Shape(1), new ConstantInitializer(settings.learnedScale));
        int length = settings.maxSequenceLength;
        table = addTable(ConstantTable.ofPositions(
                length,
                settings.autoExtend == null ? length : settings.autoExtend,
                new Positions.Computed(settings.encoding::write, settings.embeddingSize)));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static PositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return new PositionalEncodingBlock(Records.read(Settings.class, arguments));
    }

    @Override
    public int getMaxSequenceLength() {
        return table.length();
    }

    /** {@return the function from position to vector that fills the table} */
    public SinusoidalEncoding getEncoding() {
        return settings.encoding;
    }

    /**
     * Returns the table, without the learned scale if there is one, on the device of the manager that the block was
     * initialized or loaded with last, in the data type that it was initialized with (FLOAT32 if it was only loaded).
     * On MXNet it is a copy of the same size, which the block keeps.
     *
     * @return (1, maxSequenceLength, D); the block's own array, which must not be written to or closed. It is valid
     *     until the manager is closed, or the block is cleared, or is initialized or loaded with another manager, even
     *     if the block itself is no longer used. A block that extends itself keeps it too, but returns a longer array
     *     afterwards.
     * @throws IllegalStateException if the block is neither initialized nor loaded, or its manager is closed
     */
    public NDArray getEncodings() {
        NDArray encodings = table.batched(dataType());
        if (encodings == null) {
            throw new IllegalStateException(
                    "the block has no open manager to create its table with: expected an initialized"
                            + " or loaded block; call initialize(manager, dataType, shapes) first, or use encode(positions)");
        }
        return encodings;
    }

    /**
     * Returns T(k) as an array: the linear map that moves every position's encoding by k, T(k) · PE(t) = PE(t + k). See
     * {@link SinusoidalEncoding#shift}.
     *
     * @param manager the manager that the array is attached to; it is created on the manager's device
     * @param offset k, any finite number
     * @return a new array (D, D) in the data type that the block was initialized with (FLOAT32 before); the caller's to
     *     close
     * @throws IllegalArgumentException if the offset is not finite
     * @throws UnsupportedOperationException if the size is odd and the encoding ends with half a pair
     */
    public NDArray shift(NDManager manager, double offset) {
        double[][] shift = settings.encoding.shift(offset);
        int size = getEmbeddingSize();
        HostData.Rows rows = HostData.Rows.of(size, (row, column) -> shift[row][column]);
        return HostData.computed(manager, manager.getDevice(), new Shape(size, size), dataType(), rows);
    }

    /**
     * Returns the encodings of any positions, without the learned scale if there is one. Integer positions are looked
     * up in the table; real ones are computed from the definition. A position that is given as an integer and as a real
     * number has the same encoding, bit for bit.
     *
     * @param positions any shape: integers from 0 to below the maximum sequence length (or to below the limit of a
     *     block that extends itself), or any finite real numbers
     * @return a new array of the shape of the positions + (D), on their device and manager, in the data type that the
     *     block was initialized with (FLOAT32 before); the caller's to close
     * @throws IllegalArgumentException if an integer is out of range (on a GPU its encoding is NaN instead) or a real
     *     number not finite, the array is neither, or there is no memory for the table or the result
     * @throws IllegalStateException if the block is being initialized, loaded or cleared
     */
    public NDArray encode(NDArray positions) {
        return reading(() -> Positions.lookUp(positions, table.limit(), readsPositions(), table, dataType()));
    }

    @Override
    int limit(long length, PairList<String, Object> params) {
        return table.limit();
    }

    @Override
    boolean readsPositions() {
        return settings.autoExtend != null;
    }

    @Override
    NDArray encodings(
            Temporaries temporaries,
            NDArray x,
            Positions positions,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params) {
        if (scale == null) {
            return positions.rows(temporaries, x, table);
        }
        NDArray factor = DataTypes.value(this, scale, parameterStore, x, training);
        DataTypes.requireSame(x, factor, "learned scale");
        return temporaries.add(positions.rows(temporaries, x, table).mul(factor));
    }

    /** Builds a {@link PositionalEncodingBlock}. */
    public static final class Builder extends BaseBuilder<PositionalEncodingBlock, Builder> {

        private Builder() {
            super(Settings.class, PositionalEncodingBlock::new);
        }

        /**
         * Lets a longer sequence or a greater position extend the table, at least to twice its length, instead of being
         * refused. Rows keep their values, and forwards in other threads go on. By default a table does not grow.
         *
         * @param limit one more than the greatest position, at least the maximum sequence length and at most
         *     2<sup>29</sup>; choose it so that a table of this length fits into memory
         * @return this builder
         */
        public Builder optAutoExtend(int limit) {
            return set("autoExtend", limit);
        }

        /**
         * Multiplies the encodings by a learned scale, as x-transformers' {@code ScaledSinusoidalEmbedding} does with
         * an initial D<sup>-0.5</sup>. The scale is a parameter of the block and part of its model file. By default
         * there is none.
         *
         * @param initialScale the initial scale, finite
         * @return this builder
         */
        public Builder optLearnedScale(float initialScale) {
            return set("learnedScale", initialScale);
        }
    }
}
