package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.attention.RelativeEncoding.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.ModelFile.NotCompared;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.QueryScale;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

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
 * B batch, T queries, F keys, D embedding size, N heads, K key and value heads, H head size; by default, K = N and H =
 * D / N. The inputs have the order of DJL's {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}, keys first;
 * with the same weights and no relative encoding both blocks have the same output.
 *
 * <ul>
 *   <li>{@code [x]}: self-attention; x is (B, T, D) and F = T.
 *   <li>{@code [keys, queries, values]}: (B, F, D), (B, T, D) and (B, F, D).
 *   <li>Either of these followed by a mask, which defines what each query sees:
 *       <ul>
 *         <li>(B, F): false or 0 for padding, true or any other number for a token; any integer, boolean or real type.
 *         <li>(B, T, F): the same for each query.
 *         <li>(B, N, T, F), any size of which may be 1: booleans have the same meaning; numbers, of the data type of x,
 *             are added to the scores. Negative infinity and the least finite number (-65504 in FLOAT16, otherwise that
 *             of FLOAT32) hide the key.
 *       </ul>
 *       PyTorch's masks have the opposite meaning: true hides a key. No mask is rejected for its numbers; one that is
 *       probably a mistake is logged once, see docs/troubleshooting.md#warnings.
 * </ul>
 *
 * A hidden key has weight 0 for any scores. The result for a query that sees no key is the bias of the result's
 * projection. No gradient flows through it. In FLOAT16, scores and their softmax are computed in FLOAT32.
 *
 * <p>Vectors of hidden keys must be finite, since 0 · NaN is NaN: if the input or its projection has NaN or infinite
 * numbers at a hidden key, all results of its sequence may be NaN. Replace such padding with zeros before the forward.
 *
 * <p>x is FLOAT16, FLOAT32 or FLOAT64, like the block's weights. The output is (B, T, D), on the device and in the data
 * type of the queries, attached to their manager, and the caller's to close.
 *
 * <p>Query i and key j have the positions i and j. With other arrays as keys and the forward parameter
 * {@code startPosition}, query i has the position startPosition + i. With a {@link KeyValueCache} among the forward
 * parameters, a self-attention appends its keys and values to the cached ones, and i continues from there; F, and the
 * mask's F, is then the length of both together.
 *
 * <p>The forward parameter {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS} gives the positions of the
 * queries, and, in a self-attention, of the keys: (T) or (B, T), or (axes, B, T) for a rotary embedding on several
 * axes. The relative encoding and the chunks use them; causality and windows go by the order of the tokens. Masks are
 * as without them. With a relative encoding other than rotary, and with {@link Builder#optQueryScale}, given positions
 * are read, which waits for a GPU.
 *
 * <p>On PyTorch, a fused kernel computes the attention where it serves ({@link Builder#optFusedKernel}), without an
 * array of scores. Elsewhere, scores are computed for as many queries at a time as fit the caches of the machine, so a
 * long sequence does not need memory for all T · F scores. This does not hold in training, nor while gradients are
 * recorded for the weights, which PyTorch does for a block that was initialized, not loaded, until
 * {@code freezeParameters(true)}.
 *
 * <p>A forward throws {@link IllegalArgumentException} for inputs of another number, shape or data type, or on several
 * devices; for keys of length 0; for masks that do not fit; for a {@link KeyValueCache} in training, or one that holds
 * another batch size, data type or device than the step has, or another number of positions than the step begins at;
 * for a step of several tokens after the first step if the attention is not causal and has no mask (B, T, F) or (B, N,
 * T, F); for positions that do not fit the tokens; and for anything the relative encoding rejects.
 */
public final class MultiHeadAttentionBlock extends ConfiguredBlock {

    record Settings(
            int embeddingSize,
            int headCount,
            Integer keyValueHeadCount,
            Integer headSize,
            Boolean causal,
            Integer window,
            Integer chunkSize,
            Double scale,
            QueryScale queryScale,
            Double scoreCap,
            Boolean sinks,
            Boolean bias,
            Boolean resultBias,
            @NotCompared Boolean fusedKernel,
            @NotCompared DataType kernelType,
            @NotCompared Float dropoutRate) {

        Settings {
            Check.positive("embeddingSize", embeddingSize);
            if (headSize == null) {
                requireDivides(headCount, embeddingSize);
                headSize = embeddingSize / headCount;
            }
            Check.positive("headCount", headCount);
            Check.positive("headSize", headSize);
            Check.that(
                    (long) headCount * headSize <= Integer.MAX_VALUE,
                    "headCount " + headCount + " with headSize " + headSize + ": expected a product of at most "
                            + Integer.MAX_VALUE + "; set smaller ones");
            keyValueHeadCount = Objects.requireNonNullElse(keyValueHeadCount, headCount);
            Check.positive("keyValueHeadCount", keyValueHeadCount);
            Check.that(
                    headCount % keyValueHeadCount == 0,
                    "headCount " + headCount + " with keyValueHeadCount " + keyValueHeadCount
                            + ": expected a number of key heads that divides the number of heads; change one of them");
            causal = Objects.requireNonNullElse(causal, false);
            Check.that(
                    window == null || chunkSize == null,
                    "window " + window + " with chunkSize " + chunkSize + ": expected one of them; leave one out");
            if (window != null) {
                Check.between("window", window, 1, Positions.UNLIMITED);
            }
            if (chunkSize != null) {
                Check.between("chunkSize", chunkSize, 1, 1 << 24);
            }
            scale = scale == null ? 1 / Math.sqrt((double) headSize) : scale;
            Check.positive("scale", scale, "usually 1 / √H");
            if (scoreCap != null) {
                Check.positive("scoreCap", scoreCap, "50 in Gemma 2");
            }
            sinks = Objects.requireNonNullElse(sinks, false);
            bias = Objects.requireNonNullElse(bias, true);
            resultBias = Objects.requireNonNullElse(resultBias, bias);
            fusedKernel = Objects.requireNonNullElse(fusedKernel, true);
            Check.that(
                    kernelType == null || kernelType == DataType.FLOAT16 || kernelType == DataType.BFLOAT16,
                    "kernelType " + kernelType
                            + ": expected FLOAT16 or BFLOAT16; leave it out for the type of the input");
            Check.that(
                    kernelType == null || fusedKernel,
                    "kernelType " + kernelType
                            + " with fusedKernel false: expected a kernel to compute in this type; leave one of them out");
            dropoutRate = Objects.requireNonNullElse(dropoutRate, 0f);
            Check.rate("dropoutRate", dropoutRate);
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

    /** The table of the factors of the queries has so many positions at first. */
    private static final int FIRST_FACTORS = 512;

    private final Settings settings;

    /** Null for none. */
    private final RelativeEncoding relative;

    private final Visibility visibility;

    /** The factors of the queries by position; null for none. */
    private final ConstantTable queryFactors;

    private final Linear keyProjection;
    private final Linear queryProjection;
    private final Linear valueProjection;
    private final Linear resultProjection;

    /** Null for none, like the norm of the keys. */
    private final Block queryNorm;

    private final Block keyNorm;

    /** The logit of each head's sink; null for none. */
    private final Parameter sinks;

    private MultiHeadAttentionBlock(Settings settings, RelativeEncoding relative, Block queryNorm, Block keyNorm) {
        super(settings);
        this.settings = settings;
        this.relative = relative;
        this.queryNorm = queryNorm;
        this.keyNorm = keyNorm;
        visibility = new Visibility(settings.causal, settings.window, settings.chunkSize);
        if (relative != null) {
            relative.requireFits(settings.headCount, settings.headSize);
        }
        addUnlessNull("relativeEncoding", relative);
        addUnlessNull("queryNorm", queryNorm);
        addUnlessNull("keyNorm", keyNorm);
        int keySize = settings.keyValueHeadCount * settings.headSize;
        int querySize = settings.headCount * settings.headSize;
        keyProjection = addProjection("keyProjection", settings.embeddingSize, keySize, settings.bias);
        queryProjection = addProjection("queryProjection", settings.embeddingSize, querySize, settings.bias);
        valueProjection = addProjection("valueProjection", settings.embeddingSize, keySize, settings.bias);
        resultProjection = addProjection("resultProjection", querySize, settings.embeddingSize, settings.resultBias);
        sinks = settings.sinks ? addParameter("sinks", new Shape(settings.headCount), Initializer.ZEROS) : null;
        queryFactors = settings.queryScale == null
                ? null
                : addTable(ConstantTable.ofPositions(
                        FIRST_FACTORS, Positions.UNLIMITED, new Positions.Computed(settings.queryScale::write, 1)));
    }

    private void addUnlessNull(String name, Block child) {
        if (child != null) {
            addConfiguredChild(name, child);
        }
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments the names of the builder's methods without {@code set} or {@code opt}, and values; the value of
     *     {@code relativeEncoding} is a map for {@link RelativeEncoding#fromArguments}, and {@code queryNorm} and
     *     {@code keyNorm} are maps for {@link RmsNormBlock#fromArguments}; each may also be the block itself
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static MultiHeadAttentionBlock fromArguments(Map<?, ?> arguments) {
        return of(Records.options(Settings.class, arguments, "relativeEncoding", "queryNorm", "keyNorm"));
    }

    private static MultiHeadAttentionBlock of(Map<String, Object> options) {
        RelativeEncoding relative =
                child(options, "relativeEncoding", RelativeEncoding.class, RelativeEncoding::fromArguments);
        Map<String, Object> all = new HashMap<>(options);
        if (relative != null && relative.defaultScale() != null) {
            all.putIfAbsent("scale", relative.defaultScale());
        }
        return new MultiHeadAttentionBlock(
                Records.create(Settings.class, all),
                relative,
                child(options, "queryNorm", Block.class, MultiHeadAttentionBlock::norm),
                child(options, "keyNorm", Block.class, MultiHeadAttentionBlock::norm));
    }

    private static <B> B child(Map<?, ?> arguments, String name, Class<B> type, Function<Map<?, ?>, B> factory) {
        return Records.child(MultiHeadAttentionBlock.class, arguments, name, type, factory);
    }

    private static Block norm(Map<?, ?> arguments) {
        return Records.ofType("norm", arguments, Map.of("RmsNormBlock", RmsNormBlock::fromArguments));
    }

    /** The settings, for a forward. */
    Settings settings() {
        return settings;
    }

    /** Warns of the first inputs that are probably mistakes. */
    InputMistakes mistakes() {
        return mistakes;
    }

    /** What a query sees by its index. */
    Visibility visibility() {
        return visibility;
    }

    /** What the relative encoding adds to the attention. */
    Set<Term> terms() {
        return relative == null ? Set.of() : relative.terms();
    }

    /** The factors of the queries by position, rows of one number; null for none. */
    ConstantTable queryFactors() {
        return queryFactors;
    }

    /** {@return the embedding size, D} */
    public int getEmbeddingSize() {
        return settings.embeddingSize;
    }

    /** {@return the number of heads, N} */
    public int getHeadCount() {
        return settings.headCount;
    }

    /** {@return the size of a head, H} */
    public int getHeadSize() {
        return settings.headSize;
    }

    /** {@return the relative encoding, which belongs to this block, or null for none} */
    public RelativeEncoding getRelativeEncoding() {
        return relative;
    }

    /** {@return the projection of the keys, from D to K · H; it belongs to this block} */
    public Linear getKeyProjection() {
        return keyProjection;
    }

    /** {@return the projection of the queries, from D to N · H; it belongs to this block} */
    public Linear getQueryProjection() {
        return queryProjection;
    }

    /** {@return the projection of the values, from D to K · H; it belongs to this block} */
    public Linear getValueProjection() {
        return valueProjection;
    }

    /** {@return the projection of the heads' results, from N · H to D; it belongs to this block} */
    public Linear getResultProjection() {
        return resultProjection;
    }

    /** {@return the normalization of the queries, which belongs to this block; null for none} */
    public Block getQueryNorm() {
        return queryNorm;
    }

    /** {@return the normalization of the keys, which belongs to this block; null for none} */
    public Block getKeyNorm() {
        return keyNorm;
    }

    /**
     * {@return the logits of the heads' sinks: the parameter (N), in the model's data type; a parameter of this block;
     * null if it was built without sinks}
     */
    public Parameter getSinks() {
        return sinks;
    }

    /**
     * Returns a mask for sequences that are packed into one, such as several documents, so that none sees another. A
     * sequence begins wherever a position is not greater than the one before.
     *
     * <pre>{@code
     * params.add(PositionalEncodingBlock.POSITIONS, positions);               // 0 1 2 0 1 2 3
     * attention.forward(store, new NDList(x, MultiHeadAttentionBlock.packedMask(positions)), training, params);
     * }</pre>
     *
     * @param positions (B, T), any integer or real type; not closed here
     * @return booleans (B, T, T), true for keys of the query's sequence; on the device and the manager of the
     *     positions, the caller's to close
     * @throws IllegalArgumentException if the positions have another rank, or there are none
     */
    public static NDArray packedMask(NDArray positions) {
        Shape shape = positions.getShape();
        Check.that(
                shape.dimension() == 2 && shape.size() > 0,
                () -> "positions of shape " + shape
                        + ": expected (B, T) with T of 1 or more; add the batch with expandDims(0)");
        return Temporaries.result(() -> {
            NDArray first = positions.get(NDIndex.sliceAxis(1, 0, 1));
            NDArray longer = NDArrays.concat(new NDList(first, positions), 1);
            NDArray shifted = longer.get(NDIndex.sliceAxis(1, 0, shape.get(1)));
            NDArray number =
                    Arithmetic.toType(positions.lte(shifted), DataType.INT32).cumSum(1);
            return number.expandDims(2).eq(number.expandDims(1));
        });
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
     * @throws IllegalArgumentException for anything a forward rejects, and for empty inputs
     */
    public NDArray probabilities(ParameterStore parameterStore, NDList inputs) {
        AttentionInputs checked = AttentionInputs.of(inputs, settings.embeddingSize);
        Check.that(
                checked.queries().getShape().size() > 0,
                () -> "queries of shape " + checked.queries().getShape()
                        + " are empty: expected a length of 1 or more; skip the call for an empty batch");
        return reading(() -> {
            try (AttentionForward forward = new AttentionForward(this, checked, parameterStore, false)) {
                return forward.probabilities();
            }
        });
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        AttentionInputs checked = AttentionInputs.of(inputs, settings.embeddingSize);
        KeyValueCache cache = KeyValueCache.in(params, training);
        if (checked.queries().getShape().size() == 0) {
            return new NDList(checked.queries().duplicate());
        }
        try (AttentionForward forward = new AttentionForward(this, checked, parameterStore, training)) {
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
        Shape output = getOutputShapes(inputShapes)[0];
        long batch = output.get(0);
        long queries = output.get(1);
        long keys = inputShapes[0].get(1);
        long size = settings.headSize;
        initialize(relative, manager, dataType, new Shape(batch, settings.headCount, queries, size));
        initialize(queryNorm, manager, dataType, new Shape(batch, queries, settings.headCount, size));
        initialize(keyNorm, manager, dataType, new Shape(batch, keys, settings.keyValueHeadCount, size));
        for (Linear projection : List.of(keyProjection, queryProjection, valueProjection)) {
            projection.initialize(manager, dataType, new Shape(-1, settings.embeddingSize));
        }
        resultProjection.initialize(manager, dataType, new Shape(-1, (long) settings.headCount * settings.headSize));
    }

    private static void initialize(Block block, NDManager manager, DataType dataType, Shape shape) {
        if (block != null) {
            block.initialize(manager, dataType, shape);
        }
    }

    /** Builds a {@link MultiHeadAttentionBlock}. */
    public static final class Builder extends OptionsBuilder<MultiHeadAttentionBlock, Builder> {

        private Builder() {
            super(Settings.class, MultiHeadAttentionBlock::of, "relativeEncoding", "queryNorm", "keyNorm");
        }

        /**
         * Sets D, the embedding size.
         *
         * @param embeddingSize at least 1; a multiple of the head count unless {@link #optHeadSize} is set
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets N, the number of heads.
         *
         * @param headCount at least 1
         * @return this builder
         */
        public Builder setHeadCount(int headCount) {
            return set("headCount", headCount);
        }

        /**
         * Sets K, the number of heads of keys and values (default: N). Each is shared by N / K query heads: head h uses
         * ⌊h · K / N⌋. With fewer than N this is grouped-query attention (Ainslie et al., <em>GQA</em>, 2023; Llama 3,
         * Mistral, Qwen), with 1 multi-query attention (Shazeer, <em>Fast Transformer Decoding</em>, 2019). Keys and
         * values are never repeated, not even in a cache.
         *
         * @param keyValueHeadCount a divisor of the head count
         * @return this builder
         */
        public Builder optKeyValueHeadCount(int keyValueHeadCount) {
            return set("keyValueHeadCount", keyValueHeadCount);
        }

        /**
         * Sets H, the size of a head (default: D / N). In Gemma and Qwen 3, N · H is not D.
         *
         * @param headSize at least 1
         * @return this builder
         */
        public Builder optHeadSize(int headSize) {
            return set("headSize", headSize);
        }

        /**
         * Sets a normalization of the projected queries over H, before the relative encoding (default: none), as in
         * Qwen 3 and Gemma 3.
         *
         * @param norm a block from (B, T, N, H) to the same, such as an {@link RmsNormBlock} of H, which becomes a
         *     child of this block
         * @return this builder
         */
        public Builder optQueryNorm(Block norm) {
            return setChild("queryNorm", norm);
        }

        /**
         * Sets a normalization of the projected keys over H, before the relative encoding (default: none).
         *
         * @param norm a block from (B, F, K, H) to the same, which becomes a child of this block
         * @return this builder
         */
        public Builder optKeyNorm(Block norm) {
            return setChild("keyNorm", norm);
        }

        /**
         * Sets the relative encoding. By default there is none, and the attention has no positions but those in its
         * input.
         *
         * @param encoding an encoding for the same heads, which becomes a child of this block
         * @return this builder
         */
        public Builder optRelativeEncoding(RelativeEncoding encoding) {
            return set("relativeEncoding", encoding);
        }

        /**
         * Sets whether later keys are hidden from a query (default: false).
         *
         * @param causal true for a decoder
         * @return this builder
         */
        public Builder optCausal(boolean causal) {
            return set("causal", causal);
        }

        /**
         * Sets the window of a query by index (default: none). In a causal attention, query i sees the keys i - w + 1 …
         * i, as in Mistral; otherwise those with |i - j| ≤ w / 2, rounded down, as in Longformer and ModernBERT. Not
         * together with {@link #optChunkSize}.
         *
         * @param window w, at least 1
         * @return this builder
         */
        public Builder optWindow(int window) {
            return set("window", window);
        }

        /**
         * Divides the sequence into chunks, between which nothing is seen (default: one chunk), as in Llama 4. The
         * position of a token divided by the size, rounded down, is its chunk.
         *
         * @param chunkSize from 1 to 16,777,216
         * @return this builder
         */
        public Builder optChunkSize(int chunkSize) {
            return set("chunkSize", chunkSize);
        }

        /**
         * Sets a factor of each query that depends on its position (default: none). The terms that a relative encoding
         * adds to the scores are not multiplied.
         *
         * @param queryScale the factor
         * @return this builder
         */
        public Builder optQueryScale(QueryScale queryScale) {
            return set("queryScale", queryScale);
        }

        /**
         * Sets c, which limits each score s smoothly to c · tanh(s / c), before any mask (default: no limit), as in
         * Gemma 2.
         *
         * @param scoreCap positive and finite; 50 in Gemma 2
         * @return this builder
         */
        public Builder optScoreCap(double scoreCap) {
            return set("scoreCap", scoreCap);
        }

        /**
         * Sets whether each head has a sink: a learned logit that takes part in the softmax but has no value, so that
         * the probabilities of the keys may sum to less than 1 (default: false), as in GPT-OSS. The parameter
         * {@code sinks}, (N), is initialized with 0.
         *
         * @param sinks true for a sink in each head
         * @return this builder
         */
        public Builder optSinks(boolean sinks) {
            return set("sinks", sinks);
        }

        /**
         * Sets the factor of the products of queries and keys (default: 1 / √H, or
         * {@link RelativeEncoding#defaultScale}). T5 uses 1.
         *
         * @param scale positive and finite
         * @return this builder
         */
        public Builder optScale(double scale) {
            return set("scale", scale);
        }

        /**
         * Sets whether the projections have a bias (default: true). Those of T5 and Llama have none.
         *
         * @param bias false for none
         * @return this builder
         */
        public Builder optBias(boolean bias) {
            return set("bias", bias);
        }

        /**
         * Sets whether the projection of the result has a bias (default: as the others). Qwen 2 has a bias for queries,
         * keys and values only.
         *
         * @param resultBias false for none
         * @return this builder
         */
        public Builder optResultBias(boolean resultBias) {
            return set("resultBias", resultBias);
        }

        /**
         * Sets whether PyTorch's fused attention is used where it serves (default: true). It has the same results but
         * for rounding, takes less time, and needs no memory for the scores. It does not serve dropout in training,
         * score caps, sinks, Shaw's values, nor biases that are being trained.
         *
         * @param fusedKernel false to compute scores, their softmax and its product with the values one by one
         * @return this builder
         */
        public Builder optFusedKernel(boolean fusedKernel) {
            return set("fusedKernel", fusedKernel);
        }

        /**
         * Sets the data type that PyTorch's fused attention computes in (default: the data type of the input). Queries,
         * keys and values are converted for it, and its result is converted back; weights, projections and all other
         * operations keep their type, and gradients pass. On a GPU, the attention of FLOAT32 inputs takes a fraction of
         * the time; on a CPU, none of them saves time. Results differ by up to 3·10<sup>-3</sup> of the greatest one
         * with FLOAT16, and 2·10<sup>-2</sup> with BFLOAT16. Where the fused kernel is not used, there is no effect:
         * see {@link #optFusedKernel}, which must not be false.
         *
         * @param kernelType FLOAT16, for scores below 65504, or BFLOAT16, which has the range of FLOAT32
         * @return this builder
         */
        public Builder optKernelType(DataType kernelType) {
            return set("kernelType", kernelType);
        }

        /**
         * Sets the rate of the dropout of attention probabilities, in training only (default: 0).
         *
         * @param dropoutRate at least 0, below 1
         * @return this builder
         */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }
    }
}
