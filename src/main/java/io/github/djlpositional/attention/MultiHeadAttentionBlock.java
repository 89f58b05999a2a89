package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConstantTable;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.QueryScale;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

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
 * By default, K = N, H = D / N and V = H. The inputs have the order of DJL's
 * {@link ai.djl.nn.transformer.ScaledDotProductAttentionBlock}, keys first; with the same weights and no relative
 * encoding both blocks have the same output.
 *
 * <ul>
 *   <li>{@code [x]}: self-attention; x is (B, T, D) and F = T.
 *   <li>{@code [keys, queries, values]}: (B, F, D), (B, T, D) and (B, F, D); a cross-attention, unless keys and queries
 *       are the same array. Its keys, the memory, may have {@linkplain #MEMORY_POSITIONS positions} of their own.
 *   <li>Either of these followed by a mask, which defines what each query sees:
 *       <ul>
 *         <li>(B, F): false or 0 for padding, true or any other number for a token; any integer, boolean or
 *             floating-point type. With a cache, it may also be (B, T), for the tokens of the step.
 *         <li>(B, T, F): the same for each query.
 *         <li>(B, N, T, F), any size of which may be 1: booleans have the same meaning; numbers, of the data type of x,
 *             are added to the scores. Negative infinity and the smallest finite number (-65504 in FLOAT16, otherwise
 *             {@code -Float.MAX_VALUE}) hide the key.
 *       </ul>
 *       PyTorch's masks have the opposite meaning: true hides a key. The values of a mask are not checked; a mask that
 *       is probably a mistake is logged once, see docs/troubleshooting.md#warnings.
 * </ul>
 *
 * The output is (B, T, D), like the queries. A hidden key has weight 0, regardless of its score. The result for a query
 * that sees no key is the bias of the result projection. No gradient flows through such a query. In FLOAT16, scores and
 * their softmax are computed in FLOAT32.
 *
 * <p>Vectors of hidden keys must be finite, since 0 · NaN is NaN: if the input or its projection has NaN or infinite
 * values at a hidden key, all results of its sequence may be NaN. Replace such padding with zeros before the forward.
 *
 * <p>With {@linkplain io.github.djlpositional.PositionalEncodingBlock#DOCUMENTS documents} among the forward
 * parameters, a self-attention computes the documents of each length as a batch, and never an array for all pairs of
 * tokens. Masks have the shapes above; each document uses its own block.
 *
 * <p>A forward also throws {@link IllegalArgumentException} for keys of length 0, a mask that does not fit, and
 * anything that a relative encoding or the {@link KeyValueCache} rejects. For positions and memory, see
 * {@link io.github.djlpositional.attention}.
 */
public final class MultiHeadAttentionBlock extends OptionsBlock {

    /**
     * The key of the forward parameter that gives the positions of the keys of a cross-attention: an NDArray (F) or (B,
     * F), of any integer or floating-point type, or {@link io.github.djlpositional.Positions}; for a rotary embedding
     * on several axes, (axes, B, F). The positions of the queries are
     * {@link io.github.djlpositional.PositionalEncodingBlock#POSITIONS}, or count from the start position. Without this
     * parameter, the keys have the positions 0 … F - 1. A {@link KeyValueCache} keeps the positions with the keys. A
     * self-attention throws {@link IllegalArgumentException} if it is given the parameter; a
     * {@link io.github.djlpositional.transformer.TransformerLayerBlock} passes it to the cross-attention only.
     */
    public static final String MEMORY_POSITIONS = ForwardParameters.MEMORY_POSITIONS;

    /** The function of an {@linkplain Builder#optOutputGate output gate}. */
    @SuppressWarnings("ImmutableEnumChecker") // the functions have no state
    public enum OutputGate {
        /** 1 / (1 + exp(-g)), as in Qwen3-Next, Qwen 3.5, Trinity and Step 3.5. */
        SIGMOID(Activation::sigmoid),
        /** ln(1 + exp(g)), as in Laguna. */
        SOFTPLUS(Activation::softPlus);

        private final UnaryOperator<NDArray> function;

        OutputGate(UnaryOperator<NDArray> function) {
            this.function = function;
        }

        /** Computes the factors of results, in the data type of the scores: a new array. */
        NDArray apply(NDArray gate) {
            return function.apply(gate);
        }
    }

    record Options(
            @Range(min = 1) int embeddingSize,
            @Range(min = 1) int headCount,
            @Range(min = 1) Integer keyValueHeadCount,
            @Range(min = 1) Integer headSize,
            @Range(min = 1) Integer valueHeadSize,
            @Range(above = 0) Double valueScale,
            @Default("false") boolean causal,

            @Range(min = 1, max = ForwardParameters.UNLIMITED)
            Integer window,

            Boolean windowByPosition,
            @Range(min = 1, max = 1 << 24) Integer chunkSize,
            Double scale,
            @Default("false") boolean cosine,
            QueryScale queryScale,
            @Range(above = 0) Double scoreCap,
            @Default("false") boolean sinks,
            @Default("true") boolean bias,
            Boolean keyBias,
            Boolean resultBias,
            @Range(above = 0) Double projectionLimit,
            OutputGate outputGate,
            Boolean outputGateByHead,
            Boolean outputGateBias,
            List<RelativeEncoding> relativeEncoding,
            Block queryNorm,
            Block keyNorm,
            @Default("false") boolean normOfAllHeads,
            @NotSaved @Default("true") boolean fusedKernel,
            @NotSaved DataType kernelType,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate) {

        Options {
            Check.that(
                    encodings(relativeEncoding).distinct().count()
                            == encodings(relativeEncoding).count(),
                    "relativeEncoding has the same block twice: expected different ones; leave one out");
            relativeEncoding = encodings(relativeEncoding).count() == 0 ? null : relativeEncoding;
            if (headSize == null) {
                Check.divides("headCount", headCount, "embeddingSize", embeddingSize);
                headSize = embeddingSize / headCount;
            }
            // files without it stay valid
            valueHeadSize = headSize.equals(valueHeadSize) ? null : valueHeadSize;
            requireProduct(headCount, "headSize", headSize);
            requireProduct(headCount, "valueHeadSize", Objects.requireNonNullElse(valueHeadSize, headSize));
            keyValueHeadCount = Objects.requireNonNullElse(keyValueHeadCount, headCount);
            Check.that(
                    headCount % keyValueHeadCount == 0,
                    "headCount " + headCount + " with keyValueHeadCount " + keyValueHeadCount
                            + ": expected a number of key heads that divides the number of heads; change one of them");
            Check.that(
                    window == null || chunkSize == null,
                    "window " + window + " with chunkSize " + chunkSize + ": expected one of them; leave one out");
            // files without it stay valid
            windowByPosition = Boolean.TRUE.equals(windowByPosition) ? true : null;
            Check.that(
                    windowByPosition == null || window != null,
                    "windowByPosition true without a window: expected both; set optWindow, or leave it out");
            Check.that(
                    !(cosine && queryScale instanceof QueryScale.LearnedLogN),
                    "cosine true with queryScale " + queryScale
                            + ": expected one learned temperature of each head; leave one out");
            if (scale == null && cosine) {
                scale = 1.0;
            } else if (scale == null) {
                scale = encodings(relativeEncoding)
                        .map(RelativeEncoding::defaultScale)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElse(1 / Math.sqrt((double) headSize));
            }
            // also checks the scale of a relative encoding
            Check.positive("scale", scale, "usually 1 / √H");
            resultBias = Objects.requireNonNullElse(resultBias, bias);
            // files without it stay valid
            keyBias = (keyBias == null || keyBias.equals(bias)) ? null : keyBias;
            Check.that(
                    outputGate != null || (outputGateByHead == null && outputGateBias == null),
                    "outputGateByHead " + outputGateByHead + " and outputGateBias " + outputGateBias
                            + " without an output gate: expected one; set optOutputGate, or leave them out");
            outputGateByHead = Boolean.TRUE.equals(outputGateByHead) ? true : null;
            outputGateBias = (outputGateBias == null || outputGateBias.equals(bias)) ? null : outputGateBias;
            Check.that(
                    kernelType == null || kernelType == DataType.FLOAT16 || kernelType == DataType.BFLOAT16,
                    "kernelType " + kernelType
                            + ": expected FLOAT16 or BFLOAT16; leave it out for the type of the input");
            Check.that(
                    kernelType == null || fusedKernel,
                    "kernelType " + kernelType
                            + " with fusedKernel false: expected a fused kernel with this type; leave one of them out");
        }

        private static void requireProduct(int headCount, String name, int size) {
            Check.that(
                    (long) headCount * size <= Integer.MAX_VALUE,
                    () -> "headCount " + headCount + " with " + name + " " + size + ": expected a product of at most "
                            + Integer.MAX_VALUE + "; set smaller values");
        }

        private static Stream<RelativeEncoding> encodings(List<RelativeEncoding> all) {
            return all == null ? Stream.empty() : all.stream();
        }

        /** The relative encodings; empty for none. */
        List<RelativeEncoding> encodings() {
            return relativeEncoding == null ? List.of() : relativeEncoding;
        }

        /** V, the size of a head of the values. */
        int sizeOfValues() {
            return valueHeadSize == null ? headSize : valueHeadSize;
        }

        /** The shape of values, (B, K, F, V), whose keys have the specified shape, (B, K, F, H). */
        Shape shapeOfValues(Shape keys) {
            return valueHeadSize == null ? keys : Shape.update(keys, 3, valueHeadSize);
        }

        boolean hasKeyBias() {
            return keyBias == null ? bias : keyBias;
        }

        boolean hasOutputGateBias() {
            return outputGateBias == null ? bias : outputGateBias;
        }

        /** Whether several query heads share a head of keys and values. */
        boolean isGrouped() {
            return headCount != keyValueHeadCount;
        }

        /** The initial value of the learned temperature; null for none. */
        Float initialTemperature() {
            return cosine
                    ? Float.valueOf((float) Math.log(10))
                    : queryScale instanceof QueryScale.LearnedLogN learned
                            ? (float) learned.initialTemperature()
                            : null;
        }

        /** The shape of the heads that a norm gets. */
        Shape normShape(long batch, long length, int heads) {
            return normOfAllHeads
                    ? new Shape(batch, length, (long) heads * headSize)
                    : new Shape(batch, length, heads, headSize);
        }

        /** Whether the scale is 1 / √H, which fused kernels use. */
        boolean hasStandardScale() {
            return scale == 1 / Math.sqrt(headSize);
        }

        /** The keys that the order of tokens lets a query see. */
        Visibility.Order order() {
            return Visibility.Order.of(causal, window, chunkSize, windowByPosition != null);
        }
    }

    private final Options options;

    private final Terms terms;

    private final Visibility.Order order;

    /** The factors of the queries by position; null for none. */
    private final ConstantTable queryFactors;

    private final Linear keyProjection;
    private final Linear queryProjection;
    private final Linear valueProjection;
    private final Linear resultProjection;

    /** The projection of the output gate; null for none. */
    private final Linear gateProjection;

    /** The norm of the queries; null for none. */
    private final Block queryNorm;

    private final Block keyNorm;

    /** The learned factor of each head's scores, or its logarithm; null for none. */
    private final Parameter temperature;

    /** The logit of each head's sink; null for none. */
    private final Parameter sinks;

    private MultiHeadAttentionBlock(Options options) {
        super(options);
        this.options = options;
        terms = new Terms(options.encodings(), options.headCount());
        order = options.order();
        for (RelativeEncoding encoding : terms.encodings()) {
            encoding.requireFits(
                    options.headCount(), options.keyValueHeadCount(), options.headSize(), options.embeddingSize());
        }
        Check.that(
                options.valueHeadSize() == null || !terms.haveValues(),
                () -> "valueHeadSize " + options.valueHeadSize() + " with " + terms.encodings()
                        + ", which adds vectors of headSize " + options.headSize()
                        + " to the values: expected the same size; leave optValueHeadSize or these vectors out");
        queryNorm = addUnlessNull("queryNorm", options.queryNorm());
        keyNorm = addUnlessNull("keyNorm", options.keyNorm());
        int size = options.embeddingSize();
        int keySize = options.keyValueHeadCount() * options.headSize();
        int querySize = options.headCount() * options.headSize();
        int valueSize = options.keyValueHeadCount() * options.sizeOfValues();
        int resultSize = options.headCount() * options.sizeOfValues();
        keyProjection = addProjection("keyProjection", size, keySize, options.hasKeyBias());
        queryProjection = addProjection("queryProjection", size, querySize, options.bias());
        valueProjection = addProjection("valueProjection", size, valueSize, options.bias());
        resultProjection = addProjection("resultProjection", resultSize, size, options.resultBias());
        gateProjection = options.outputGate() == null
                ? null
                : addProjection(
                        "gateProjection",
                        size,
                        options.outputGateByHead() == null ? resultSize : options.headCount(),
                        options.hasOutputGateBias());
        Shape heads = new Shape(options.headCount());
        Float initial = options.initialTemperature();
        temperature = initial == null ? null : addParameter("temperature", heads, new ConstantInitializer(initial));
        sinks = options.sinks() ? addParameter("sinks", heads, Initializer.ZEROS) : null;
        queryFactors = options.queryScale() == null
                ? null
                : addTable(ConstantTable.ofPositions(options.queryScale(), 512, ForwardParameters.UNLIMITED));
        // last, so that the names of the other parameters are the same with and without encodings
        terms.encodings().forEach(encoding -> addChild("relativeEncoding", encoding));
    }

    private <B extends Block> B addUnlessNull(String name, B child) {
        return child == null ? null : addChild(name, child);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static MultiHeadAttentionBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    Options options() {
        return options;
    }

    Terms terms() {
        return terms;
    }

    /** The keys that the order of tokens lets a query see. */
    Visibility.Order order() {
        return order;
    }

    /** Warns about the first inputs that are probably mistakes. */
    InputMistakes mistakes() {
        return mistakes;
    }

    /** The factors of the queries by position, rows of one number; null for none. */
    ConstantTable queryFactors() {
        return queryFactors;
    }

    /** {@return D, the embedding size} */
    public int getEmbeddingSize() {
        return options.embeddingSize();
    }

    /** {@return N, the number of heads} */
    public int getHeadCount() {
        return options.headCount();
    }

    /** {@return K, the number of heads of keys and values} */
    public int getKeyValueHeadCount() {
        return options.keyValueHeadCount();
    }

    /** {@return H, the size of a head of queries and keys} */
    public int getHeadSize() {
        return options.headSize();
    }

    /** {@return V, the size of a head of the values, H by default} */
    public int getValueHeadSize() {
        return options.sizeOfValues();
    }

    /**
     * {@return an unmodifiable list of the relative encodings, in the order in which they are applied; empty for none}
     */
    public List<RelativeEncoding> getRelativeEncodings() {
        return terms.encodings();
    }

    /** {@return the projection of the keys, from D to K · H} */
    public Linear getKeyProjection() {
        return keyProjection;
    }

    /** {@return the projection of the queries, from D to N · H} */
    public Linear getQueryProjection() {
        return queryProjection;
    }

    /** {@return the projection of the values, from D to K · V} */
    public Linear getValueProjection() {
        return valueProjection;
    }

    /** {@return the projection of the heads' results, from N · V to D} */
    public Linear getResultProjection() {
        return resultProjection;
    }

    /**
     * {@return the projection of the {@linkplain Builder#optOutputGate output gate}, from D to N · V, or to N if the
     * gate is by head; null for none}
     */
    public Linear getGateProjection() {
        return gateProjection;
    }

    /** {@return the normalization of the queries; null for none} */
    public Block getQueryNorm() {
        return queryNorm;
    }

    /** {@return the normalization of the keys; null for none} */
    public Block getKeyNorm() {
        return keyNorm;
    }

    /**
     * {@return the learned temperature of each head, the parameter (N): t of {@link Builder#optCosine}, or s of
     * {@link io.github.djlpositional.math.QueryScale.LearnedLogN}; null for none}
     */
    public Parameter getTemperature() {
        return temperature;
    }

    /** {@return the logits of the heads' sinks, the parameter (N); null if the block was built without sinks} */
    public Parameter getSinks() {
        return sinks;
    }

    /**
     * Returns a mask for sequences that are packed into one, such as several documents, so that none sees another. A
     * sequence begins wherever a position is not greater than the one before. The forward parameter
     * {@link io.github.djlpositional.PositionalEncodingBlock#DOCUMENTS} does without this mask of all pairs.
     *
     * <pre>{@code
     * params.add(PositionalEncodingBlock.POSITIONS, positions);               // 0 1 2 0 1 2 3
     * attention.forward(store, new NDList(x, MultiHeadAttentionBlock.packedMask(positions)), training, params);
     * }</pre>
     *
     * @param positions (B, T), any integer or floating-point type
     * @return booleans (B, T, T), true for keys of the query's sequence
     * @throws IllegalArgumentException if the positions are not (B, T) or are empty
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
     * Returns the {@linkplain #probabilities(ParameterStore, NDList, PairList) attention probabilities} without forward
     * parameters.
     */
    public NDArray probabilities(ParameterStore parameterStore, NDList inputs) {
        return probabilities(parameterStore, inputs, null);
    }

    /**
     * Returns the attention probabilities, for inspecting a trained attention: the weights by which a forward without
     * dropout multiplies the values. The probabilities of a query that sees no key are 0.
     *
     * <p>With a cache, they are those of the tokens of the step for all keys so far. The cache does not change: call it
     * before or after the forward of the step, with the same forward parameters.
     *
     * @param parameterStore provides the weights, as for a forward
     * @param inputs the inputs of a forward: {@code [x]} or {@code [keys, queries, values]}, optionally followed by a
     *     mask; not empty
     * @param params the forward parameters, such as positions or a cache; null for none
     * @return the softmax of the scores, (B, N, T, F), like the queries
     * @throws IllegalArgumentException for anything a forward rejects, and for empty inputs
     */
    public NDArray probabilities(ParameterStore parameterStore, NDList inputs, PairList<String, Object> params) {
        ForwardParameters.requireInputs(inputs);
        if (params != null) {
            ForwardParameters.require(params);
            InputMistakes.checkNames(params);
        }
        AttentionInputs checked = AttentionInputs.of(inputs, options.embeddingSize(), params);
        Check.that(
                checked.queries().getShape().size() > 0,
                () -> "queries of shape " + checked.queries().getShape()
                        + " are empty: expected a length of 1 or more; skip the call for an empty batch");
        return reading(() -> {
            if (Documents.of(params) != null) {
                try (PackedDocuments documents = new PackedDocuments(this, checked, parameterStore, false, params)) {
                    return documents.probabilities();
                }
            }
            try (KeyValueCache cache = KeyValueCache.copyFrom(params, this);
                    AttentionForward forward = new AttentionForward(this, checked, parameterStore, false, params)) {
                return forward.probabilities(cache);
            }
        });
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        AttentionInputs checked = AttentionInputs.of(inputs, options.embeddingSize(), params);
        KeyValueCache cache = KeyValueCache.from(params, training);
        if (checked.queries().getShape().size() == 0) {
            return new NDList(checked.queries().duplicate());
        }
        if (!terms.encodings().isEmpty()) {
            InputMistakes.checkPositionsOnce(checked.queries());
        }
        if (Documents.of(params) != null) {
            try (PackedDocuments documents = new PackedDocuments(this, checked, parameterStore, training, params)) {
                return new NDList(documents.result());
            }
        }
        try (AttentionForward forward = new AttentionForward(this, checked, parameterStore, training, params)) {
            return new NDList(forward.result(cache));
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {AttentionInputs.requireShapes(inputShapes, options.embeddingSize())};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        AttentionInputs.requireShapes(inputShapes, options.embeddingSize());
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape output = getOutputShapes(inputShapes)[0];
        long batch = output.get(0);
        long queries = output.get(1);
        long keys = inputShapes[0].get(1);
        long size = options.headSize();
        for (RelativeEncoding encoding : terms.encodings()) {
            initializeChild(encoding, manager, dataType, new Shape(batch, options.headCount(), queries, size));
        }
        initializeChild(queryNorm, manager, dataType, options.normShape(batch, queries, options.headCount()));
        initializeChild(keyNorm, manager, dataType, options.normShape(batch, keys, options.keyValueHeadCount()));
        Shape x = new Shape(-1, options.embeddingSize());
        for (Linear projection : List.of(keyProjection, queryProjection, valueProjection)) {
            initializeChild(projection, manager, dataType, x);
        }
        initializeChild(gateProjection, manager, dataType, x);
        Shape results = new Shape(-1, (long) options.headCount() * options.sizeOfValues());
        initializeChild(resultProjection, manager, dataType, results);
    }

    /** Builds a {@link MultiHeadAttentionBlock}. */
    public static final class Builder extends BlockBuilder<MultiHeadAttentionBlock, Builder> {

        private Builder() {
            super(Options.class, MultiHeadAttentionBlock::new);
        }

        /** Sets D, the embedding size, a multiple of the head count unless {@link #optHeadSize} is set. */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /** Sets N, the number of heads, at least 1. */
        public Builder setHeadCount(int headCount) {
            return set("headCount", headCount);
        }

        /**
         * Sets K, the number of heads of keys and values, a divisor of N (default: N). Each is shared by N / K query
         * heads: head h uses ⌊h · K / N⌋. With fewer than N this is grouped-query attention (Ainslie et al.,
         * <em>GQA</em>, 2023; Llama 3, Mistral, Qwen), with 1 multi-query attention (Shazeer, <em>Fast Transformer
         * Decoding</em>, 2019). Keys and values are never repeated, not even in a cache.
         */
        public Builder optKeyValueHeadCount(int keyValueHeadCount) {
            return set("keyValueHeadCount", keyValueHeadCount);
        }

        /** Sets H, the size of a head (default: D / N); in Gemma and Qwen 3, N · H is not D. */
        public Builder optHeadSize(int headSize) {
            return set("headSize", headSize);
        }

        /**
         * Sets V, the size of a head of the values and of their result (default: H); 128 beside H = 192 in
         * MiMo-V2-Flash and in DeepSeek-V3 without its latent form. Encodings that add to the values, such as
         * {@link io.github.djlpositional.relative.ShawRelativePositionBlock} with vectors of values, need V = H.
         */
        public Builder optValueHeadSize(int valueHeadSize) {
            return set("valueHeadSize", valueHeadSize);
        }

        /** Multiplies the projected values by a positive factor, 0.707 in MiMo-V2-Flash (default: none). */
        public Builder optValueScale(double valueScale) {
            return set("valueScale", valueScale);
        }

        /**
         * Sets a normalization of the projected queries (B, T, N, H) over H, such as an {@link RmsNormBlock}, before
         * the relative encoding, as in Qwen 3 and Gemma 3 (default: none).
         */
        public Builder optQueryNorm(Block norm) {
            return setChild("queryNorm", norm);
        }

        /**
         * Sets a normalization of the projected keys (B, F, K, H) over H, before the relative encoding (default: none).
         */
        public Builder optKeyNorm(Block norm) {
            return setChild("keyNorm", norm);
        }

        /**
         * Limits projected queries, keys and values to -limit … limit, after norms of all heads and before others and
         * rotations: {@code clip_qkv} of OLMo and MPT (default: no limit).
         */
        public Builder optProjectionLimit(double limit) {
            return set("projectionLimit", limit);
        }

        /**
         * Applies the norms to the heads of a token together, queries (B, T, N · H) and keys (B, F, K · H), as in OLMo
         * 2 (default: false, to each head).
         */
        public Builder optNormOfAllHeads(boolean normOfAllHeads) {
            return set("normOfAllHeads", normOfAllHeads);
        }

        /**
         * Sets one or more relative encodings, built for the number and the size of these heads (default: none). The
         * rotations of several encodings are applied one after another, and their terms are added.
         */
        public Builder optRelativeEncoding(RelativeEncoding... encodings) {
            for (RelativeEncoding encoding : Check.notNull("relativeEncoding", encodings, "one or more encodings")) {
                Check.notNull("relativeEncoding", encoding, "an encoding; to use none, leave the call out");
            }
            return set("relativeEncoding", List.of(encodings));
        }

        /** Hides later keys from a query, as in a decoder (default: false). */
        public Builder optCausal(boolean causal) {
            return set("causal", causal);
        }

        /** Adds a bias to each projection (default: true); T5 and Llama have none. */
        public Builder optBias(boolean bias) {
            return set("bias", bias);
        }

        /** Adds a bias to the projection of keys (default: as for the others); BEiT and DINOv3 have none. */
        public Builder optKeyBias(boolean keyBias) {
            return set("keyBias", keyBias);
        }

        /**
         * Adds a bias to the result projection (default: as for the others); Qwen 2 has a bias for queries, keys and
         * values only.
         */
        public Builder optResultBias(boolean resultBias) {
            return set("resultBias", resultBias);
        }

        /**
         * Multiplies the heads' results by a function of g = G x before the result projection, where x are the queries'
         * inputs (default: no gate): o ⊙ sigmoid(G x) in Qwen3-Next, Qwen 3.5 and Trinity. A gate lets a head return
         * little where no key has what it needs. After Qiu et al., <em>Gated Attention for Large Language Models</em>
         * (2025).
         */
        public Builder optOutputGate(OutputGate outputGate) {
            return set("outputGate", outputGate);
        }

        /**
         * Sets whether the gate is one number for each head, (B, T, N), as in Step 3.5 (default: false, one for each
         * number of the results, (B, T, N · V)).
         */
        public Builder optOutputGateByHead(boolean outputGateByHead) {
            return set("outputGateByHead", outputGateByHead);
        }

        /** Adds a bias to the projection of the gate (default: as for the others). */
        public Builder optOutputGateBias(boolean outputGateBias) {
            return set("outputGateBias", outputGateBias);
        }

        /**
         * Uses PyTorch's fused attention where it supports the options (default: true). Its results differ only in
         * rounding; it takes less time, and needs no memory for the scores. It does not support dropout in training,
         * score caps, sinks, Shaw's value vectors, or biases that are being trained.
         */
        public Builder optFusedKernel(boolean fusedKernel) {
            return set("fusedKernel", fusedKernel);
        }

        /**
         * Sets the data type that PyTorch's fused attention computes in (default: the type of the input): FLOAT16, for
         * scores below 65504, or BFLOAT16. Queries, keys and values are converted to this type, and the result is
         * converted back; all other operations keep their type, and gradients flow. On a GPU, FLOAT32 inputs take a
         * fraction of the time; on a CPU, neither type saves time. Results differ by up to 3·10<sup>-3</sup> of the
         * largest one with FLOAT16, and 2·10<sup>-2</sup> with BFLOAT16. Without {@link #optFusedKernel}, it has no
         * effect.
         */
        public Builder optKernelType(DataType kernelType) {
            return set("kernelType", kernelType);
        }

        /** Sets the dropout rate of the attention probabilities in training, at least 0 and below 1 (default: 0). */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }

        /**
         * Sets w, the size of the window of keys that a query sees, at least 1 (default: none). In a causal attention,
         * query i sees the keys i - w + 1 … i, as in Mistral; otherwise those with |i - j| ≤ w / 2, rounded down, as in
         * Longformer and ModernBERT. The window counts the tokens that the mask of keys does not hide. Not together
         * with {@link #optChunkSize}.
         */
        public Builder optWindow(int window) {
            return set("window", window);
        }

        /**
         * Sets whether the window counts positions, hidden tokens included, instead of tokens (default: false): for
         * tokens that share positions, such as the branches of a draft, with a mask (B, T, F) that separates them.
         */
        public Builder optWindowByPosition(boolean windowByPosition) {
            return set("windowByPosition", windowByPosition);
        }

        /**
         * Divides positions into chunks of a size from 1 to 2<sup>24</sup>, as in Llama 4 (default: one chunk). A query
         * sees only keys of its chunk, whose number is the position divided by the size, rounded down.
         */
        public Builder optChunkSize(int chunkSize) {
            return set("chunkSize", chunkSize);
        }

        /**
         * Multiplies each query by a factor that depends on its position (default: none); the terms that a relative
         * encoding adds to the scores are not multiplied. With {@link QueryScale.LearnedLogN}, each head also has a
         * learned factor, the parameter {@code temperature}, (N).
         */
        public Builder optQueryScale(QueryScale queryScale) {
            return set("queryScale", queryScale);
        }

        /**
         * Limits each score s smoothly to c · tanh(s / c), before any mask. The cap c is positive; Gemma 2 uses 50
         * (default: no limit).
         */
        public Builder optScoreCap(double scoreCap) {
            return set("scoreCap", scoreCap);
        }

        /**
         * Adds a sink to each head, as in GPT-OSS (default: false): a learned logit that takes part in the softmax but
         * has no value, so that the probabilities of the keys may sum to less than 1. The parameter {@code sinks}, (N),
         * is initialized with 0. The first tokens that StreamingLLM keeps, which are called sinks too, are another
         * thing: see docs/decoding.md#endless-text.
         */
        public Builder optSinks(boolean sinks) {
            return set("sinks", sinks);
        }

        /**
         * Sets the positive factor of the products of queries and keys (default: 1 / √H, or
         * {@link RelativeEncoding#defaultScale}); T5 uses 1.
         */
        public Builder optScale(double scale) {
            return set("scale", scale);
        }

        /**
         * Divides queries and keys by their lengths, so that their products are cosines, and multiplies these by
         * exp(min(t, ln 100)) instead of 1 / √H, as in Swin V2 (default: false). The parameter {@code temperature}, t,
         * (N), is initialized with ln 10. After Liu et al., <em>Swin Transformer V2</em> (2022), section 3.2.
         */
        public Builder optCosine(boolean cosine) {
            return set("cosine", cosine);
        }
    }
}
