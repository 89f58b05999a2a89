package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Map;

/**
 * Adds a fixed sinusoidal positional encoding to its input, after Vaswani et al., <em>Attention Is All You Need</em>
 * (2017), section 3.5, or any other {@link SinusoidalEncoding}.
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
 * <ul>
 *   <li>{@code [x]}: x is (…, T, D) with any leading dimensions. Its tokens have the positions s, s + 1, …, s + T - 1,
 *       where s is the forward parameter {@link #START_POSITION} (default: 0):
 *       <pre>{@code
 * PairList<String, Object> params = new PairList<>();
 * params.add(PositionalEncodingBlock.START_POSITION, 7);
 * block.forward(parameterStore, new NDList(x), false, params);
 * }</pre>
 *   <li>{@code [x, positions]}: positions is (T), or (B, T) for an x of shape (B, …, T, D); INT8, UINT8, INT32 or
 *       INT64, at least 0 and less than the maximum sequence length; or FLOAT16, FLOAT32 or FLOAT64, any finite
 *       non-negative numbers, which are encoded exactly, on the host.
 * </ul>
 *
 * The output has the shape of x. With {@code optAddToInput(false)} it is the encodings without x: (1, T, D) or (B, T,
 * D). Each value of the table is the nearest one of the data type (FLOAT64: within two ulps).
 *
 * <p>A start position together with explicit positions is an error. Floating-point positions, and all explicit
 * positions of a block with {@link Builder#optAutoExtend}, are read on the host, which waits for a GPU.
 *
 * <p>The {@linkplain io.github.djlpositional package description} has the rules for all blocks.
 *
 * @see <a href="https://arxiv.org/abs/1706.03762">Attention Is All You Need</a>
 */
public final class PositionalEncodingBlock extends SequenceEncodingBlock<PositionalEncodingBlock.Options> {

    /**
     * The key of the forward parameter that gives the position of the first token, an Integer or a Long of 0 or more.
     * DJL's {@link ai.djl.nn.SequentialBlock} does not pass forward parameters to its blocks.
     */
    public static final String START_POSITION = ForwardParameters.START;

    /**
     * The key of the forward parameter that gives the position of every token, for all blocks of a model: an NDArray
     * (T) or (B, T), of any integer or floating-point type, or {@link Positions}. For encodings on several axes it is
     * (axes, B, T). Do not combine it with positions as an input. Keys of a cross-attention have
     * {@link io.github.djlpositional.attention.MultiHeadAttentionBlock#MEMORY_POSITIONS}.
     */
    public static final String POSITIONS = ForwardParameters.POSITIONS;

    /**
     * The key of the forward parameter that gives the documents that are packed into each sequence, {@link Documents},
     * for all blocks of a model. Each token attends within its document. Positions start again at 0 in each document,
     * unless {@link #POSITIONS} are given too, on one axis or on several. It cannot be combined with a start position,
     * a {@link io.github.djlpositional.attention.KeyValueCache} or a cross-attention.
     */
    public static final String DOCUMENTS = ForwardParameters.DOCUMENTS;

    record Options(
            @Range(min = 1) int embeddingSize,
            SinusoidalEncoding encoding,

            @NotSaved @Default("5000") @Range(min = 1) int maxSequenceLength,

            @NotSaved Integer autoExtend,
            @Default("true") boolean addToInput,
            @Default("-2") int sequenceAxis,
            @Range Float learnedScale,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate)
            implements Common {

        Options {
            requireAxis(sequenceAxis);
            encoding = encoding == null ? SinusoidalEncoding.vaswani(embeddingSize) : encoding;
            requireSize(encoding, embeddingSize);
            if (autoExtend != null) {
                Check.between("autoExtend", autoExtend, maxSequenceLength, ForwardParameters.UNLIMITED);
            }
        }
    }

    /** The scale of the encodings, (1); null if they have none. */
    private final Parameter scale;

    private final ConstantTable table;

    private PositionalEncodingBlock(Options options) {
        super(options);
        scale = options.learnedScale == null
                ? null
                : addParameter("scale", new Shape(1), new ConstantInitializer(options.learnedScale));
        int length = options.maxSequenceLength;
        int limit = options.autoExtend == null ? length : options.autoExtend;
        table = addTable(ConstantTable.ofPositions(options.encoding, length, limit));
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static PositionalEncodingBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    int maxSequenceLength() {
        return table.length();
    }

    /**
     * {@return the table (1, maxSequenceLength, D) without the learned scale, on the device of the manager that the
     * block was last initialized or loaded with, in the data type that it was initialized with (if it was only loaded,
     * the type of the parameters of this block or of the one around it, otherwise FLOAT32)} The array is read-only:
     * writing to it would change what later forwards add. It is valid until the manager is closed, or the block is
     * cleared, initialized or loaded. It also stays valid when the table is extended; the getter then returns a longer
     * array. On MXNet it is a copy, which the block owns.
     *
     * @throws IllegalStateException if the block is neither initialized nor loaded, is being initialized, loaded or
     *     cleared, or its manager is closed
     */
    public NDArray getEncodings() {
        NDArray encodings = reading(() -> table.batched(dataType()));
        if (encodings == null) {
            throw new IllegalStateException(
                    "the block has no open manager to create its table with: expected an initialized"
                            + " or loaded block; call initialize(manager, dataType, shapes) first, or use encode(positions)");
        }
        return encodings;
    }

    /**
     * {@return the encodings of positions, without the learned scale: a new array of the shape of the positions + (D),
     * in the data type that the block was initialized with (FLOAT32 if it was not)} Integer positions are looked up in
     * the table, and floating-point positions are computed from the definition; the results are the same, bit for bit.
     *
     * @param positions any shape: integers of at least 0 and less than the maximum sequence length (or the limit of
     *     {@link Builder#optAutoExtend}), or any finite non-negative floating-point numbers
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
        return options.autoExtend != null;
    }

    @Override
    NDArray encodings(
            NDArray x,
            Positions positions,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params) {
        NDArray rows = table.rows(positions, x, x.getDataType());
        if (scale == null) {
            return rows;
        }
        NDArray factor = DataTypes.value(this, scale, parameterStore, x, training);
        DataTypes.requireSame(x, factor, "learned scale");
        return rows.mul(factor);
    }

    /** Builds a {@link PositionalEncodingBlock}. */
    public static final class Builder extends TableBuilder<PositionalEncodingBlock, Builder> {

        private Builder() {
            super(Options.class, PositionalEncodingBlock::new);
        }

        /**
         * Extends the table for a longer sequence or a larger position, to at least twice its length, up to a limit
         * (default: the table does not grow). The limit is between the maximum sequence length and 2<sup>29</sup>; a
         * table of this length must fit in memory. Existing rows do not change, and forwards in other threads continue.
         */
        public Builder optAutoExtend(int limit) {
            return set("autoExtend", limit);
        }

        /**
         * Multiplies the encodings by a learned scale, a parameter with the finite initial value {@code initialScale};
         * x-transformers' {@code ScaledSinusoidalEmbedding} begins with D<sup>-0.5</sup> (default: none).
         */
        public Builder optLearnedScale(float initialScale) {
            return set("learnedScale", initialScale);
        }
    }
}
