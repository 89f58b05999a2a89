package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import io.github.djlpositional.internal.BuilderChecks;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Product;
import io.github.djlpositional.internal.StartPosition;
import io.github.djlpositional.internal.Temporaries;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Multi-head attention after Vaswani et al., <em>Attention Is All You Need</em> (2017), section 3.2, which takes any relative
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
 * B batch, T queries, F keys, D embedding size, N heads, H = D / N head size. They come in the order of DJL's
 * {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}, keys first; with the same weights and no relative encoding
 * both blocks give the same.
 *
 * <ul>
 *   <li>{@code [x]}: self-attention, x is (B, T, D) and F = T.
 *   <li>{@code [keys, queries, values]}: (B, F, D), (B, T, D) and (B, F, D).
 *   <li>Either with a mask behind, which says what each query sees:
 *       <ul>
 *         <li>(B, F): 1 for a token, 0 for padding; any integer, boolean or real type.
 *         <li>(B, T, F): the same for each query.
 *         <li>(B, N, T, F), any size of which may be 1: added to the scores as it is, of the data type of x.
 *       </ul>
 * </ul>
 *
 * x is FLOAT16, FLOAT32 or FLOAT64, as the block's weights are. The output is (B, T, D), on the device and in the data type
 * of the queries, attached to their manager and the caller's to close.
 *
 * <p>Query i and key j have the positions i and j; with other arrays as keys, and the forward parameter
 * {@code startPosition}, query i has the position startPosition + i. With a {@link KeyValueCache} among the forward parameters
 * a self-attention adds its keys and values to those of the steps before, and i counts on from there; F, and the mask's, is
 * then the length of both together.
 *
 * <p>Scores are computed for as many queries at a time as fit the caches of the machine: a long sequence needs no memory for
 * all of its T · F scores at once, unless it is trained or gradients are recorded for its weights, as PyTorch does for a
 * block that was initialized, not loaded, until {@code freezeParameters(true)}.
 *
 * <p>A forward throws {@link IllegalArgumentException} for inputs of another number, shape or data type or on several devices,
 * for keys of length 0, for masks that do not fit, and for a {@link KeyValueCache} that is given in training, that holds another
 * batch size, data type or device than the step has, or another number of positions than the step begins at; and whatever the
 * relative encoding refuses. A query that sees no key at all gets some finite mixture of the values.
 */
public final class MultiHeadAttentionBlock extends ConfiguredBlock {

    /**
     * About so many scores are computed at a time. On a CPU 16 MB of floats: a block that the allocator keeps for the next
     * part, where a larger one comes with new pages each time.
     */
    private static final long SCORES_ON_CPU = 1 << 22;

    private static final long SCORES_ON_GPU = 1 << 26;

    private static final int FEWEST_ROWS = 16;

    private final int embeddingSize;
    private final int headCount;
    private final boolean causal;
    private final double scale;
    private final float dropoutRate;
    private final Linear keyProjection;
    private final Linear queryProjection;
    private final Linear valueProjection;
    private final Linear resultProjection;

    /** Null for none. */
    private final RelativeEncoding relative;

    private MultiHeadAttentionBlock(Builder builder, double scale) {
        super(new BlockSettings(MultiHeadAttentionBlock.class)
                .with("embeddingSize", builder.embeddingSize)
                .with("headCount", builder.headCount)
                .with("causal", builder.causal)
                .with("scale", scale)
                .with("bias", builder.bias)
                .withChild("relativeEncoding", builder.relative)
                .withUnsaved("dropoutRate", builder.dropoutRate));
        embeddingSize = builder.embeddingSize;
        headCount = builder.headCount;
        causal = builder.causal;
        this.scale = scale;
        dropoutRate = builder.dropoutRate;
        relative = builder.relative;
        // the encoding first: a model file of other settings is then refused before the projections are read
        if (relative != null) {
            addChildBlock("relativeEncoding", relative);
        }
        keyProjection = addChildBlock("keyProjection", projection(builder.bias));
        queryProjection = addChildBlock("queryProjection", projection(builder.bias));
        valueProjection = addChildBlock("valueProjection", projection(builder.bias));
        resultProjection = addChildBlock("resultProjection", projection(builder.bias));
    }

    private Linear projection(boolean bias) {
        return new Projection(embeddingSize, bias);
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
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values; that of
     *     {@code relativeEncoding} is a map for {@link RelativeEncoding#fromArguments}
     * @return the block
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static MultiHeadAttentionBlock fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(MultiHeadAttentionBlock.class, arguments);
        Builder builder = builder();
        builder.setEmbeddingSize(given.getInt("embeddingSize"));
        builder.setHeadCount(given.getInt("headCount"));
        given.optFlag("causal").ifPresent(builder::optCausal);
        given.optDouble("scale").ifPresent(builder::optScale);
        given.optFlag("bias").ifPresent(builder::optBias);
        given.optMap("relativeEncoding").map(RelativeEncoding::fromArguments).ifPresent(builder::optRelativeEncoding);
        given.optFloat("dropoutRate").ifPresent(builder::optDropoutRate);
        given.requireNoOthers();
        return builder.build();
    }

    /**
     * Returns the embedding size.
     *
     * @return D
     */
    public int getEmbeddingSize() {
        return embeddingSize;
    }

    /**
     * Returns the number of heads.
     *
     * @return N
     */
    public int getHeadCount() {
        return headCount;
    }

    /**
     * Returns the relative encoding.
     *
     * @return the encoding, or null for none; this block's own
     */
    public RelativeEncoding getRelativeEncoding() {
        return relative;
    }

    /**
     * Returns the projection of the keys.
     *
     * @return a linear block from D to D; this block's own
     */
    public Linear getKeyProjection() {
        return keyProjection;
    }

    /**
     * Returns the projection of the queries.
     *
     * @return a linear block from D to D; this block's own
     */
    public Linear getQueryProjection() {
        return queryProjection;
    }

    /**
     * Returns the projection of the values.
     *
     * @return a linear block from D to D; this block's own
     */
    public Linear getValueProjection() {
        return valueProjection;
    }

    /**
     * Returns the projection of the heads' results.
     *
     * @return a linear block from D to D; this block's own
     */
    public Linear getResultProjection() {
        return resultProjection;
    }

    /**
     * Returns how much each query sees of each key: what a forward without forward parameters (so from position 0, and without
     * a cache) mixes the values with. For looking at a trained attention: all of them are made at once, without dropout. Masks
     * and {@code optCausal} apply; a query that sees no key at all gets some finite mixture.
     *
     * @param parameterStore where the weights come from, as for a forward
     * @param inputs those of a forward: {@code [x]} or {@code [keys, queries, values]}, and a mask or none; not empty
     * @return the softmax of the scores, (B, N, T, F), on the device and in the data type of the queries, attached to their
     *     manager: the caller's to close
     * @throws IllegalArgumentException for whatever a forward refuses, and for empty inputs
     */
    public NDArray probabilities(ParameterStore parameterStore, NDList inputs) {
        AttentionInputs given = AttentionInputs.of(inputs, embeddingSize);
        requireKeys(given);
        if (given.queries().getShape().size() == 0) {
            throw new IllegalArgumentException(
                    "queries of shape " + given.queries().getShape()
                            + " are empty: allowed is a length of 1 or more; skip the call for an empty batch");
        }
        try (Temporaries temporaries = new Temporaries()) {
            Projected projected = new Projected(temporaries, parameterStore, false);
            NDArray queries = projected.heads(queryProjection, given.queries());
            NDArray keys = projected.heads(keyProjection, given.keys());
            AttentionCall call = projected.call(0, queries, keys.getShape().get(2));
            NDArray across = temporaries.add(projected.encoded(call, keys, 0).transpose(0, 1, 3, 2));
            NDArray scaled = scaled(temporaries, call, queries);
            try (AttentionMask masks =
                    new AttentionMask(given.mask(), queries.getShape().get(0), headCount, call, queries)) {
                return probabilities(temporaries, call, queries, scaled, across, masks, 0);
            }
        }
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        AttentionInputs given = AttentionInputs.of(inputs, embeddingSize);
        KeyValueCache cache = KeyValueCache.in(params, training);
        if (given.queries().getShape().size() == 0) {
            return new NDList(given.queries().duplicate());
        }
        try (Temporaries temporaries = new Temporaries()) {
            Projected projected = new Projected(temporaries, parameterStore, training);
            NDArray queries = projected.heads(queryProjection, given.queries());
            NDArray attended = cache != null && given.isSelf()
                    ? attendSteps(projected, given, queries, cache, params)
                    : attendWhole(projected, given, queries, cache, params);
            Shape shape = given.queries().getShape();
            NDArray together = temporaries.add(temporaries.add(attended).transpose(0, 2, 1, 3));
            return new NDList(projected.linear(resultProjection, temporaries.add(together.reshape(shape))));
        }
    }

    /** The projections of one forward. */
    private final class Projected {
        private final Temporaries temporaries;
        private final ParameterStore parameterStore;
        private final boolean training;

        Projected(Temporaries temporaries, ParameterStore parameterStore, boolean training) {
            this.temporaries = temporaries;
            this.parameterStore = parameterStore;
            this.training = training;
        }

        NDArray linear(Linear projection, NDArray input) {
            NDArray weight =
                    parameterStore.getValue(projection.getParameters().valueAt(0), input.getDevice(), training);
            DataTypes.requireSame(input, weight, "projections");
            return projection
                    .forward(parameterStore, new NDList(input), training)
                    .singletonOrThrow();
        }

        /** (B, T, D) to (B, N, T, H). */
        NDArray heads(Linear projection, NDArray input) {
            Shape shape = input.getShape();
            NDArray flat = temporaries.add(linear(projection, input));
            NDArray split =
                    temporaries.add(flat.reshape(shape.get(0), shape.get(1), headCount, embeddingSize / headCount));
            return temporaries.add(split.transpose(0, 2, 1, 3));
        }

        AttentionCall call(int firstQuery, NDArray queries, long keyLength) {
            int length = Math.toIntExact(queries.getShape().get(2));
            return new AttentionCall(
                    parameterStore, training, firstQuery, length, Math.toIntExact(keyLength), causal, scale, null);
        }

        /** The keys as they are to meet the queries. */
        NDArray encoded(AttentionCall call, NDArray keys, int firstKey) {
            return relative == null ? keys : temporaries.addUnless(keys, relative.encodeKeys(call, keys, firstKey));
        }
    }

    /** Attention over the whole of the keys that are given. */
    private NDArray attendWhole(
            Projected projected,
            AttentionInputs given,
            NDArray queries,
            KeyValueCache cache,
            PairList<String, Object> params) {
        long keyLength = given.keys().getShape().get(1);
        requireKeys(given);
        int firstQuery =
                given.isSelf() ? 0 : StartPosition.of(params, queries.getShape().get(2), StartPosition.UNLIMITED);
        AttentionCall call = projected.call(firstQuery, queries, keyLength);
        KeyValueCache.Source kept = cache == null ? null : cache.sourceOf(this, given.keys(), given.values());
        NDArray keys = kept != null ? kept.keys() : projected.heads(keyProjection, given.keys());
        NDArray values = kept != null ? kept.values() : projected.heads(valueProjection, given.values());
        boolean keepsUnencoded = relative != null && relative.keysDependOnLength();
        NDArray encoded = kept != null && !keepsUnencoded ? keys : projected.encoded(call, keys, 0);
        NDArray attended = attend(projected.temporaries, call, queries, encoded, values, given.mask());
        if (cache != null && kept == null) {
            cache.put(this, given.keys(), given.values(), keepsUnencoded ? keys : encoded, values);
        }
        return attended;
    }

    private static void requireKeys(AttentionInputs given) {
        if (given.keys().getShape().get(1) == 0) {
            throw new IllegalArgumentException(
                    "keys of shape " + given.keys().getShape()
                            + " are empty: allowed is a length of 1 or more; skip the call where there is nothing to attend to");
        }
    }

    /** Attention over the positions of a cache and the ones that are given. */
    private NDArray attendSteps(
            Projected projected,
            AttentionInputs given,
            NDArray queries,
            KeyValueCache cache,
            PairList<String, Object> params) {
        KeyValueCache.Steps steps = cache.stepsOf(this, params);
        int length = Math.toIntExact(steps.length() + given.keys().getShape().get(1));
        AttentionCall call = projected.call(steps.length(), queries, length);
        NDArray newKeys = projected.heads(keyProjection, given.keys());
        boolean encodesAll = relative != null && relative.keysDependOnLength();
        if (!encodesAll) {
            newKeys = projected.encoded(call, newKeys, steps.length());
        }
        steps.write(newKeys, projected.heads(valueProjection, given.values()));
        NDManager manager = queries.getManager();
        NDArray keys = projected.temporaries.add(steps.keys(manager, length));
        NDArray values = projected.temporaries.add(steps.values(manager, length));
        if (encodesAll) {
            keys = projected.encoded(call, keys, 0);
        }
        NDArray attended = attend(projected.temporaries, call, queries, keys, values, given.mask());
        steps.done(length);
        return attended;
    }

    /** Returns the heads' results, (B, N, T, H), a new array. */
    private NDArray attend(
            Temporaries temporaries, AttentionCall call, NDArray queries, NDArray keys, NDArray values, NDArray mask) {
        long batch = queries.getShape().get(0);
        int length = call.queryLength();
        try (AttentionMask masks = new AttentionMask(mask, batch, headCount, call, queries)) {
            NDArray scaled = scaled(temporaries, call, queries);
            NDArray across = temporaries.add(keys.transpose(0, 1, 3, 2));
            long scores = queries.getDevice().isGpu() ? SCORES_ON_GPU : SCORES_ON_CPU;
            int rows = (int) Math.max(FEWEST_ROWS, Math.min(length, scores / (batch * headCount * call.keyLength())));
            if (rows >= length) {
                return attendRows(call, queries, scaled, across, values, masks, 0);
            }
            NDArray shared = relative == null ? null : relative.sharedTerm(call, queries);
            AttentionCall whole = shared == null ? call : call.with(temporaries.addUnless(queries, shared));
            NDList parts = new NDList();
            for (int from = 0; from < length; from += rows) {
                int count = Math.min(rows, length - from);
                NDIndex part = NDIndex.sliceAxis(2, from, (long) from + count);
                try (NDArray someQueries = queries.get(part);
                        NDArray someScaled = scaled.get(part)) {
                    parts.add(temporaries.add(
                            attendRows(whole.rows(from, count), someQueries, someScaled, across, values, masks, from)));
                }
            }
            return NDArrays.concat(parts, 2);
        }
    }

    /** The queries as they are to meet the keys. */
    private NDArray scaled(Temporaries temporaries, AttentionCall call, NDArray queries) {
        NDArray encoded =
                relative == null ? queries : temporaries.addUnless(queries, relative.encodeQueries(call, queries));
        return temporaries.add(Product.of(encoded, scale));
    }

    private NDArray attendRows(
            AttentionCall call,
            NDArray queries,
            NDArray scaled,
            NDArray keysAcross,
            NDArray values,
            AttentionMask masks,
            int from) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray probabilities = dropOut(
                            probabilities(temporaries, call, queries, scaled, keysAcross, masks, from),
                            dropoutRate,
                            call.training())
                    .singletonOrThrow();
            temporaries.add(probabilities);
            NDArray result = temporaries.add(probabilities.matMul(values));
            NDArray valueTerm = relative == null ? null : relative.valueTerm(call, probabilities);
            if (valueTerm != null) {
                result = temporaries.add(result.add(temporaries.add(valueTerm)));
            }
            return temporaries.keep(result);
        }
    }

    /** The softmax of some rows of scores, (B, N, rows, F): a new array. */
    private NDArray probabilities(
            Temporaries temporaries,
            AttentionCall call,
            NDArray queries,
            NDArray scaled,
            NDArray keysAcross,
            AttentionMask masks,
            int from) {
        NDArray scores = temporaries.add(scaled.matMul(keysAcross));
        NDArray term = relative == null ? null : relative.scoreTerm(call, queries);
        if (term != null) {
            scores = temporaries.add(scores.add(temporaries.addUnless(queries, term)));
        }
        scores = temporaries.addUnless(scores, masks.applyTo(scores, call, from));
        return scores.softmax(3);
    }

    /**
     * {@inheritDoc}
     *
     * @param inputShapes those of the inputs
     * @return (B, T, D)
     * @throws IllegalArgumentException if they are none of an attention
     */
    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {AttentionInputs.requireShapes(inputShapes, embeddingSize)};
    }

    /**
     * {@inheritDoc}
     *
     * @param dataType the data type of the weights: FLOAT16, FLOAT32 or FLOAT64
     * @param inputShapes those of the inputs; a size may be -1 for unknown
     * @throws IllegalArgumentException if the data type is another, or the shapes are none of an attention; the block is then
     *     left as it was
     * @throws UnsupportedOperationException if the engine cannot make the weights in the data type: MXNet in FLOAT16
     */
    @Override
    public void initialize(NDManager manager, DataType dataType, Shape... inputShapes) {
        DataTypes.requireEmbedding(dataType, toString());
        AttentionInputs.requireShapes(inputShapes, embeddingSize);
        DataTypes.initializing(
                "projections", manager, dataType, () -> super.initialize(manager, dataType, inputShapes));
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        if (relative != null) {
            Shape queries = AttentionInputs.requireShapes(inputShapes, embeddingSize);
            relative.initialize(
                    manager, dataType, new Shape(queries.get(0), headCount, queries.get(1), embeddingSize / headCount));
        }
        for (Block projection : projections()) {
            projection.initialize(manager, dataType, new Shape(-1, embeddingSize));
        }
    }

    private List<Linear> projections() {
        return List.of(keyProjection, queryProjection, valueProjection, resultProjection);
    }

    /** Returns the block's settings and those of the relative encoding. */
    @Override
    public String toString() {
        return relative == null ? super.toString() : super.toString() + " with " + relative;
    }

    /** Builds a {@link MultiHeadAttentionBlock}. */
    public static final class Builder {

        private int embeddingSize;
        private int headCount;
        private RelativeEncoding relative;
        private boolean causal;
        private Double scale;
        private boolean bias = true;
        private float dropoutRate;

        private Builder() {}

        /**
         * Sets D, the size of the embeddings.
         *
         * @param embeddingSize at least 1, a multiple of the head count
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            this.embeddingSize = embeddingSize;
            return this;
        }

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            this.headCount = headCount;
            return this;
        }

        /**
         * Sets the relative encoding; without it the attention knows no positions but what its input holds.
         *
         * @param encoding an encoding for the same heads; from now on a part of this block
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optRelativeEncoding(RelativeEncoding encoding) {
            relative = Objects.requireNonNull(encoding, "encoding");
            return this;
        }

        /**
         * Sets whether a query sees no key after it; false without it.
         *
         * @param causal true for a decoder
         * @return this builder
         */
        public Builder optCausal(boolean causal) {
            this.causal = causal;
            return this;
        }

        /**
         * Sets what the products of queries and keys are multiplied by; 1 / √H without it. T5 has 1.
         *
         * @param scale positive and finite
         * @return this builder
         */
        public Builder optScale(double scale) {
            this.scale = scale;
            return this;
        }

        /**
         * Sets whether the projections have a bias; true without it. Those of T5 and Llama have none.
         *
         * @param bias false for none
         * @return this builder
         */
        public Builder optBias(boolean bias) {
            this.bias = bias;
            return this;
        }

        /**
         * Sets the rate of the dropout of attention weights, in training alone; 0 without it.
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            this.dropoutRate = dropoutRate;
            return this;
        }

        /**
         * Builds the block.
         *
         * @return the block
         * @throws IllegalArgumentException if a setting is outside its range, the heads do not divide the embedding size, or
         *     the relative encoding is one for other heads
         */
        public MultiHeadAttentionBlock build() {
            BuilderChecks.requirePositive("embedding size", embeddingSize, "setEmbeddingSize(int)");
            AttentionSizes.requireDivides(headCount, embeddingSize);
            BuilderChecks.requireDropoutRate(dropoutRate);
            if (scale != null && !(scale > 0 && Double.isFinite(scale))) {
                throw new IllegalArgumentException("scale " + scale
                        + " is outside its range: allowed is a positive finite number; give it with optScale(double)");
            }
            int headSize = embeddingSize / headCount;
            if (relative != null) {
                relative.requireFits(headCount, headSize);
            }
            return new MultiHeadAttentionBlock(this, scale == null ? 1 / Math.sqrt(headSize) : scale);
        }
    }
}
