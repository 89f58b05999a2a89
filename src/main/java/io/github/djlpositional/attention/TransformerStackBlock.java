package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.OptionsBuilder;
import io.github.djlpositional.arguments.internal.Records;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The layers of an encoder or a decoder, one after the other, with the input embedding before and the normalization
 * behind them if wanted. With the same weights it has the output of PyTorch's {@code nn.TransformerEncoder} and
 * {@code nn.TransformerDecoder}. Each layer gets the masks, the encoder's output and the forward parameters, which
 * DJL's {@link ai.djl.nn.SequentialBlock} gives to the first layer only, or to none.
 *
 * <pre>{@code
 * TransformerStackBlock decoder = TransformerStackBlock.builder()
 *         .optInput(InputEmbeddingBlock.builder()
 *                 .setVocabularySize(10_000)
 *                 .setEmbeddingSize(512)
 *                 .optPaddingIndex(0)
 *                 .build())
 *         .setLayers(6, () -> TransformerLayerBlock.builder()
 *                 .setAttention(MultiHeadAttentionBlock.builder()
 *                         .setEmbeddingSize(512)
 *                         .setHeadCount(8)
 *                         .optCausal(true)
 *                         .build())
 *                 .setHiddenSize(2048))
 *         .build();                       // (B, T) ids -> (B, T, 512)
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * The inputs are those of a {@link TransformerLayerBlock}. With an input embedding, token ids (B, T) take the place of
 * x. The output of the last layer, (B, T, D), is a new array on the device and the manager of the first input; the
 * caller's to close. A forward throws whatever the blocks throw.
 *
 * <h2>Padding</h2>
 *
 * If the input embedding has {@link InputEmbeddingBlock.Builder#optPaddingIndex}, padding is hidden from all tokens in
 * the self-attention of each layer. With a {@link KeyValueCache}, the padding of earlier steps stays hidden: a step is
 * given the ids of its own tokens only. A mask for the self-attention that is given takes the place of this one; with a
 * cache, it is then given at every step.
 *
 * <h2>Encodings</h2>
 *
 * Each layer has the relative encoding that it was built with. One that is built for each layer has parameters of its
 * own. All layers share one that is built before and given to each:
 *
 * <pre>{@code
 * RelativePositionBiasBlock bias = RelativePositionBiasBlock.builder().setHeadCount(8).build();       // T5's
 * builder.setLayers(6, () -> layer(bias));
 * }</pre>
 *
 * It is trained, saved and loaded once. {@link #getArguments} of such a stack throws
 * {@link UnsupportedOperationException}.
 *
 * <p>An input embedding for such layers is built with {@link InputEmbeddingBlock.Builder#optNoPositions}. Its default
 * would encode positions a second time and is rejected; an explicit positional encoding is not.
 */
public final class TransformerStackBlock extends ConfiguredBlock {

    record Settings(boolean finalNorm) {}

    private static final String INPUT = "input";
    private static final String LAYERS = "layers";
    private static final String FINAL_NORM = "finalNorm";

    /** Null for none, as the norm. */
    private final InputEmbeddingBlock input;

    private final List<TransformerLayerBlock> layers;
    private final Block finalNorm;

    private TransformerStackBlock(Settings settings, InputEmbeddingBlock input, List<TransformerLayerBlock> layers) {
        super(settings);
        this.layers = List.copyOf(layers);
        TransformerLayerBlock first = layers.get(0);
        int size = first.getAttention().getEmbeddingSize();
        Check.that(
                input == null || input.getEmbeddingSize() == size,
                () -> "the input has embeddingSize " + input.getEmbeddingSize() + ": expected that of the layers, "
                        + size + "; give both the same size");
        this.input = input == null ? null : addConfiguredChild(INPUT, input);
        Set<Block> attentions = Collections.newSetFromMap(new IdentityHashMap<>());
        for (int i = 0; i < layers.size(); i++) {
            TransformerLayerBlock layer = layers.get(i);
            requireFitting(i, layer, first);
            requirePositionsOnce(i, layer, input);
            Check.that(
                    attentions(layer).allMatch(attentions::add),
                    "layer " + i
                            + " has an attention of a layer before it: expected layers of their own; build each with"
                            + " builders and attentions of its own");
            addConfiguredChild("layer" + i, layer);
        }
        finalNorm = settings.finalNorm
                ? addChildBlock(FINAL_NORM, layers.get(layers.size() - 1).newNorm())
                : null;
    }

    private static void requireFitting(int number, TransformerLayerBlock layer, TransformerLayerBlock first) {
        int size = first.getAttention().getEmbeddingSize();
        Check.that(
                layer.getAttention().getEmbeddingSize() == size
                        && (layer.getCrossAttention() == null) == (first.getCrossAttention() == null),
                () -> "layer " + number + " is " + layer + ": expected embeddingSize " + size + " and "
                        + (first.getCrossAttention() == null ? "no" : "a")
                        + " cross-attention, as in layer 0; give all layers the same inputs");
    }

    private static void requirePositionsOnce(int number, TransformerLayerBlock layer, InputEmbeddingBlock input) {
        RelativeEncoding relative = layer.getAttention().getRelativeEncoding();
        Check.that(
                relative == null || input == null || !input.hasDefaultPositions(),
                () -> "layer " + number + " has the relative encoding " + relative
                        + ", and the input adds sinusoids by default: expected positions that are encoded once; build the"
                        + " input with optNoPositions(), or set optPositionalEncoding(Block) to combine both");
    }

    private static Stream<MultiHeadAttentionBlock> attentions(TransformerLayerBlock layer) {
        return Stream.of(layer.getAttention(), layer.getCrossAttention()).filter(attention -> attention != null);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return a block with the plain values that {@link #getArguments} returns}
     *
     * @param arguments {@code input}, a map for {@link InputEmbeddingBlock#fromArguments}; {@code layers}, a list of
     *     maps for {@link TransformerLayerBlock#fromArguments}, with {@code type} TransformerLayerBlock; and
     *     {@code finalNorm}
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static TransformerStackBlock fromArguments(Map<?, ?> arguments) {
        Map<String, Object> options = Records.options(Settings.class, arguments, INPUT, LAYERS);
        List<?> given = Records.value(TransformerStackBlock.class, options, LAYERS, List.class);
        List<TransformerLayerBlock> layers = new ArrayList<>();
        for (Object each : given == null ? List.of() : given) {
            Map<?, ?> layer = Records.value(
                    TransformerStackBlock.class, Collections.singletonMap(LAYERS, each), LAYERS, Map.class);
            layers.add(Records.ofType(
                    LAYERS, layer, Map.of("TransformerLayerBlock", TransformerLayerBlock::fromArguments)));
        }
        options.put(LAYERS, layers);
        return of(options);
    }

    @SuppressWarnings("unchecked") // as the builder and fromArguments set it
    private static TransformerStackBlock of(Map<String, Object> options) {
        Object given = options.get(LAYERS);
        List<TransformerLayerBlock> layers =
                (List<TransformerLayerBlock>) (given instanceof Supplier<?> supplier ? supplier.get() : given);
        Check.that(layers != null && !layers.isEmpty(), "layers are missing: expected at least one; set them");
        Map<String, Object> all = new LinkedHashMap<>(options);
        all.putIfAbsent(FINAL_NORM, layers.get(layers.size() - 1).isPreNorm());
        InputEmbeddingBlock input = Records.child(
                TransformerStackBlock.class,
                options,
                INPUT,
                InputEmbeddingBlock.class,
                values -> Records.ofType(
                        INPUT, values, Map.of("InputEmbeddingBlock", InputEmbeddingBlock::fromArguments)));
        return new TransformerStackBlock(Records.create(Settings.class, all), input, layers);
    }

    @Override
    public Map<String, Object> getArguments() {
        TransformerLayerBlock.requireOwnEncodings(layers);
        Map<String, Object> arguments = new LinkedHashMap<>();
        if (input != null) {
            arguments.put(INPUT, argumentsOf(input));
        }
        arguments.put(LAYERS, layers.stream().map(this::argumentsOf).toList());
        arguments.put(FINAL_NORM, finalNorm != null);
        return Collections.unmodifiableMap(arguments);
    }

    /** {@return the input embedding, a child of this block; null if there is none} */
    public InputEmbeddingBlock getInput() {
        return input;
    }

    /** {@return the layers, from the first to the last, children of this block; unmodifiable} */
    public List<TransformerLayerBlock> getLayers() {
        return layers;
    }

    /**
     * {@return the normalization of the last layer's output, with parameters of (D); it belongs to this block; null if
     * there is none}
     */
    public Block getFinalNorm() {
        return finalNorm;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        try (Temporaries own = new Temporaries()) {
            NDList given = new NDList(inputs);
            if (input != null) {
                NDList ids = new NDList(inputs.head());
                given.set(
                        0,
                        own.add(input.forward(parameterStore, ids, training, params)
                                .singletonOrThrow()));
                layers.get(0).addMask(own, given, () -> mask(own, inputs.head(), training, params));
            }
            for (TransformerLayerBlock layer : layers) {
                replace(own, given, inputs, layer.forward(parameterStore, given, training, params));
            }
            if (finalNorm != null && given.head().getShape().size() > 0) {
                NDList x = new NDList(given.head());
                replace(own, given, inputs, finalNorm.forward(parameterStore, x, training));
            }
            return new NDList(own.keep(given.head()));
        }
    }

    /** Replaces x by the output of a block, and frees it unless it was given. */
    private static void replace(Temporaries own, NDList given, NDList inputs, NDList output) {
        NDArray before = given.set(0, own.add(output.singletonOrThrow()));
        if (before != inputs.head()) {
            before.close();
        }
    }

    /** The mask of padding, (B, F); null for none. */
    private NDArray mask(Temporaries own, NDArray ids, boolean training, PairList<String, Object> params) {
        NDArray isToken = input.mask(ids);
        if (isToken == null) {
            return null;
        }
        NDArray mask = own.addUnless(own.add(isToken), Arithmetic.toType(isToken, DataType.INT32));
        // a forward without a mask takes less time
        boolean isWithoutPadding = HostData.areKnownOnes(mask);
        KeyValueCache cache = KeyValueCache.in(params, training);
        if (cache != null) {
            return cache.maskOf(this, mask, isWithoutPadding, Positions.start(params, Positions.UNLIMITED));
        }
        return isWithoutPadding ? null : mask;
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return new Shape[] {layerShapes(inputShapes)[0]};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        layers.get(0).requireShapes(layerShapes(inputShapes));
    }

    private Shape[] layerShapes(Shape... inputShapes) {
        if (input == null || inputShapes.length == 0) {
            return inputShapes;
        }
        Shape[] shapes = inputShapes.clone();
        shapes[0] = input.getOutputShapes(inputShapes)[0];
        return shapes;
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        if (input != null) {
            input.initialize(manager, dataType, inputShapes[0]);
        }
        Shape[] shapes = layerShapes(inputShapes);
        layers.forEach(layer -> layer.initialize(manager, dataType, shapes));
        if (finalNorm != null) {
            finalNorm.initialize(manager, dataType, shapes[0]);
        }
    }

    /** Builds a {@link TransformerStackBlock}. */
    public static final class Builder extends OptionsBuilder<TransformerStackBlock, Builder> {

        private Builder() {
            super(Settings.class, TransformerStackBlock::of, INPUT, LAYERS);
        }

        /**
         * Sets the input embedding. By default there is none, and the first input is x.
         *
         * @param input an input layer of the same embedding size, for ids (B, T), with positions that are not its
         *     default if a self-attention has a relative encoding; it becomes a child of this block
         * @return this builder
         */
        public Builder optInput(InputEmbeddingBlock input) {
            return setChild(INPUT, input);
        }

        /**
         * Sets equal layers, each from a builder of its own when the stack is built.
         *
         * @param count the number of layers, at least 1
         * @param layer returns a new builder each time
         * @return this builder
         */
        public Builder setLayers(int count, Supplier<TransformerLayerBlock.Builder> layer) {
            Check.positive("layerCount", count);
            Supplier<List<TransformerLayerBlock>> layers = () -> Stream.generate(layer)
                    .limit(count)
                    .map(TransformerLayerBlock.Builder::build)
                    .toList();
            return set(LAYERS, layers);
        }

        /**
         * Sets the layers, which may differ from each other.
         *
         * @param layers at least one, with the same inputs; they become children of this block
         * @return this builder
         */
        public Builder setLayers(List<TransformerLayerBlock> layers) {
            return setChild(LAYERS, List.copyOf(layers));
        }

        /**
         * Sets whether the output of the last layer is normalized, with a normalization such as those of that layer
         * (default: only with {@link TransformerLayerBlock.Builder#optPreNorm}).
         *
         * @param finalNorm true to normalize
         * @return this builder
         */
        public Builder optFinalNorm(boolean finalNorm) {
            return set(FINAL_NORM, finalNorm);
        }
    }
}
