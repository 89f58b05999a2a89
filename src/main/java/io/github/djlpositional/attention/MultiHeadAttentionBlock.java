package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.arguments.Options;
import io.github.djlpositional.arguments.Records;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ModelFile.Compared;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Multi-head attention after Vaswani et al., <em>Attention Is All You Need</em> (2017), section 3.2, with any relative
 * positional encoding, and a cache for decoding step by step.
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(RotaryEmbeddingBlock.builder().setHeadSize(64).build())  // or ALiBi, T5, Shaw, …
 *         .optCausal(true)
 *         .build();
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * B batch, T queries, F keys, D embedding size, N heads, H = D / N head size. The inputs have the order of DJL's
 * {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}, keys first; with the same weights and no relative
 * encoding both blocks have the same output.
 *
 * <ul>
 *   <li>{@code [x]}: self-attention; x is (B, T, D) and F = T.
 *   <li>{@code [keys, queries, values]}: (B, F, D), (B, T, D) and (B, F, D).
 *   <li>Either of these followed by a mask, which defines what each query sees:
 *       <ul>
 *         <li>(B, F): true or 1 for a token, false or 0 for padding; any integer, boolean or real type.
 *         <li>(B, T, F): the same for each query.
 *         <li>(B, N, T, F), any size of which may be 1: booleans have the same meaning; numbers, of the data type of x,
 *             are added to the scores. Negative infinity, and the least finite number in FLOAT16, hide the key.
 *       </ul>
 *       PyTorch's masks have the opposite meaning: true hides a key. On a CPU, a mask of tokens with other numbers than
 *       0 and 1, such as token ids, is refused, and so are numbers to be added that are only 0 and 1. For a single
 *       query and on a GPU this is not checked; every number but 0 is a token.
 * </ul>
 *
 * A hidden key has weight 0 for any scores. The result for a query that sees no key is that of zeros: the bias of the
 * result's projection. No gradient flows through it. In FLOAT16, scores and their softmax are computed in FLOAT32.
 *
 * <p>x is FLOAT16, FLOAT32 or FLOAT64, like the block's weights. The output is (B, T, D), on the device and in the data
 * type of the queries, attached to their manager, and the caller's to close.
 *
 * <p>Query i and key j have the positions i and j. With other arrays as keys and the forward parameter
 * {@code startPosition}, query i has the position startPosition + i. With a {@link KeyValueCache} among the forward
 * parameters, a self-attention adds its keys and values to those of the previous steps, and i continues from there; F,
 * and the mask's F, is then the length of both together.
 *
 * <p>Scores are computed for as many queries at a time as fit the caches of the machine, so a long sequence does not
 * need memory for all T · F scores. This does not hold in training, nor while gradients are recorded for the weights,
 * which PyTorch does for a block that was initialized, not loaded, until {@code freezeParameters(true)}.
 *
 * <p>A forward throws {@link IllegalArgumentException} for inputs of another number, shape or data type, or on several
 * devices; for keys of length 0; for masks that do not fit; for a {@link KeyValueCache} in training, or one that holds
 * another batch size, data type or device than the step has, or another number of positions than the step begins at;
 * and for whatever the relative encoding refuses.
 */
public final class MultiHeadAttentionBlock extends ConfiguredBlock {

    record Settings(
            int embeddingSize,
            int headCount,
            Boolean causal,
            Double scale,
            Boolean bias,
            @Compared(Compared.Rule.NOT) Float dropoutRate) {

        Settings {
            Check.positive("embeddingSize", embeddingSize);
            requireDivides(headCount, embeddingSize);
            causal = Objects.requireNonNullElse(causal, false);
            scale = scale == null ? 1 / Math.sqrt((double) embeddingSize / headCount) : scale;
            bias = Objects.requireNonNullElse(bias, true);
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            Check.positive("scale", scale, "usually 1 / √H");
            Check.rate("dropoutRate", dropoutRate);
        }

        /** H. */
        int headSize() {
            return embeddingSize / headCount;
        }
    }

    /** Checks that the heads divide the embedding. */
    static void requireDivides(int headCount, int embeddingSize) {
        Check.positive("headCount", headCount);
        Check.that(
                embeddingSize % headCount == 0,
                () -> "embeddingSize " + embeddingSize + " with headCount " + headCount
                        + ": expected a head count that divides the embedding size; change one of them");
    }

    private final Settings settings;

    /** Null for none. */
    private final RelativeEncoding relative;

    private final Linear keyProjection;
    private final Linear queryProjection;
    private final Linear valueProjection;
    private final Linear resultProjection;

    private MultiHeadAttentionBlock(Settings settings, RelativeEncoding relative) {
        super(settings);
        this.settings = settings;
        this.relative = relative;
        if (relative != null) {
            relative.requireFits(settings.headCount, settings.headSize());
            addConfiguredChild("relativeEncoding", relative);
        }
        keyProjection = addProjection("keyProjection");
        queryProjection = addProjection("queryProjection");
        valueProjection = addProjection("valueProjection");
        resultProjection = addProjection("resultProjection");
    }

    private Linear addProjection(String name) {
        Linear projection = Linear.builder()
                .setUnits(settings.embeddingSize)
                .optBias(settings.bias)
                .build();
        projection.prepare(new Shape[] {projectedShape()});
        return addPart(name, projection);
    }

    private Shape projectedShape() {
        return new Shape(-1, settings.embeddingSize);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Creates a block from the plain values that {@link #getArguments} returns.
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values; the value of
     *     {@code relativeEncoding} is a map for {@link RelativeEncoding#fromArguments}
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static MultiHeadAttentionBlock fromArguments(Map<?, ?> arguments) {
        Settings settings = Records.read(Settings.class, arguments, "relativeEncoding");
        Map<?, ?> relative = Records.value(MultiHeadAttentionBlock.class, arguments, "relativeEncoding", Map.class);
        return new MultiHeadAttentionBlock(
                settings, relative == null ? null : RelativeEncoding.fromArguments(relative));
    }

    /** The settings, for a forward. */
    Settings settings() {
        return settings;
    }

    /** {@return the embedding size, D} */
    public int getEmbeddingSize() {
        return settings.embeddingSize;
    }

    /** {@return the number of heads, N} */
    public int getHeadCount() {
        return settings.headCount;
    }

    /** {@return the relative encoding, which belongs to this block, or null for none} */
    public RelativeEncoding getRelativeEncoding() {
        return relative;
    }

    /** {@return the projection of the keys, from D to D; it belongs to this block} */
    public Linear getKeyProjection() {
        return keyProjection;
    }

    /** {@return the projection of the queries, from D to D; it belongs to this block} */
    public Linear getQueryProjection() {
        return queryProjection;
    }

    /** {@return the projection of the values, from D to D; it belongs to this block} */
    public Linear getValueProjection() {
        return valueProjection;
    }

    /** {@return the projection of the heads' results, from D to D; it belongs to this block} */
    public Linear getResultProjection() {
        return resultProjection;
    }

    /**
     * Returns the attention probabilities: the weights that a forward without forward parameters (so from position 0,
     * and without a cache) multiplies the values by. This is for inspecting a trained attention: all of them are
     * computed at once, without dropout. Masks and {@code optCausal} apply. The probabilities of a query that sees no
     * key are 0.
     *
     * @param parameterStore provides the weights, as for a forward
     * @param inputs the inputs of a forward: {@code [x]} or {@code [keys, queries, values]}, and a mask or none; not
     *     empty
     * @return the softmax of the scores, (B, N, T, F), on the device and in the data type of the queries, attached to
     *     their manager; the caller's to close
     * @throws IllegalArgumentException for whatever a forward refuses, and for empty inputs
     */
    public NDArray probabilities(ParameterStore parameterStore, NDList inputs) {
        AttentionInputs given = AttentionInputs.of(inputs, settings.embeddingSize);
        Check.that(
                given.queries().getShape().size() > 0,
                () -> "queries of shape " + given.queries().getShape()
                        + " are empty: expected a length of 1 or more; skip the call for an empty batch");
        try (AttentionForward forward = new AttentionForward(this, given, parameterStore, false)) {
            return forward.probabilities();
        }
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        AttentionInputs given = AttentionInputs.of(inputs, settings.embeddingSize);
        KeyValueCache cache = KeyValueCache.in(params, training);
        if (given.queries().getShape().size() == 0) {
            return new NDList(given.queries().duplicate());
        }
        try (AttentionForward forward = new AttentionForward(this, given, parameterStore, training)) {
            return new NDList(forward.result(cache, params));
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {AttentionInputs.requireShapes(inputShapes, settings.embeddingSize)};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        AttentionInputs.requireShapes(inputShapes, settings.embeddingSize);
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        if (relative != null) {
            Shape queries = AttentionInputs.requireShapes(inputShapes, settings.embeddingSize);
            relative.initialize(
                    manager,
                    dataType,
                    new Shape(queries.get(0), settings.headCount, queries.get(1), settings.headSize()));
        }
        for (Linear projection : List.of(keyProjection, queryProjection, valueProjection, resultProjection)) {
            projection.initialize(manager, dataType, projectedShape());
        }
    }

    /** Builds a {@link MultiHeadAttentionBlock}. */
    public static final class Builder {

        private final Options<Settings, Builder> options = new Options<>(Settings.class, this);
        private RelativeEncoding relative;

        private Builder() {}

        /**
         * Sets D, the embedding size.
         *
         * @param embeddingSize at least 1, a multiple of the head count
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return options.set("embeddingSize", embeddingSize);
        }

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            return options.set("headCount", headCount);
        }

        /**
         * Sets the relative encoding. By default there is none, and the attention has no positions but those in its
         * input.
         *
         * @param encoding an encoding for the same heads, which becomes a child of this block
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optRelativeEncoding(RelativeEncoding encoding) {
            relative = Objects.requireNonNull(encoding, "encoding");
            return this;
        }

        /**
         * Sets whether later keys are hidden from a query (default: false).
         *
         * @param causal true for a decoder
         * @return this builder
         */
        public Builder optCausal(boolean causal) {
            return options.set("causal", causal);
        }

        /**
         * Sets the factor of the products of queries and keys (default: 1 / √H). T5 uses 1.
         *
         * @param scale positive and finite
         * @return this builder
         */
        public Builder optScale(double scale) {
            return options.set("scale", scale);
        }

        /**
         * Sets whether the projections have a bias (default: true). Those of T5 and Llama have none.
         *
         * @param bias false for none
         * @return this builder
         */
        public Builder optBias(boolean bias) {
            return options.set("bias", bias);
        }

        /**
         * Sets the rate of the dropout of attention probabilities, in training only (default: 0).
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            return options.set("dropoutRate", dropoutRate);
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is out of range, the head count does not divide the embedding
         *     size, or the relative encoding is for other heads
         */
        public MultiHeadAttentionBlock build() {
            return new MultiHeadAttentionBlock(options.build(), relative);
        }
    }
}
