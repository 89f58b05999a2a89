package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
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
import io.github.djlpositional.Documents;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.Use;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * The layers of an encoder or a decoder, one after the other, optionally with the input embedding before and a
 * normalization after them. With the same weights it has the output of PyTorch's {@code nn.TransformerEncoder} and
 * {@code nn.TransformerDecoder}. Each layer gets the masks, the encoder's output and the forward parameters, which
 * DJL's {@link ai.djl.nn.SequentialBlock} passes to the first layer only, or to none.
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
 *                 .optFeedForward(FeedForwardBlock.builder()
 *                         .setEmbeddingSize(512)
 *                         .setHiddenSize(2048)
 *                         .build()))
 *         .build();                       // (B, T) ids -> (B, T, 512)
 * }</pre>
 *
 * <p>The inputs are the same as for a {@link TransformerLayerBlock}. With an input embedding, token ids (B, T) take the
 * place of x; if it has {@link InputEmbeddingBlock.Builder#optTokenTypes types of tokens}, an input with the name of
 * {@link InputEmbeddingBlock#TOKEN_TYPES} may be among the inputs. The output is (B, T, D), or (B, D) with
 * {@link Builder#optPooling}. An output layer ({@link Builder#optOutputSize}, {@link Builder#optTiedOutput}) maps D to
 * classes or tokens: (B, T, V), or (B, classes). Exceptions of the blocks are propagated.
 *
 * <h2>Padding</h2>
 *
 * If the input embedding has {@link InputEmbeddingBlock.Builder#optPaddingIndex}, padding is hidden from all tokens in
 * the self-attention of each layer. With a {@link KeyValueCache}, the padding of earlier steps stays hidden: pass only
 * the ids of the step's own tokens. An explicit mask for the self-attention replaces this mask.
 *
 * <h2>Encodings</h2>
 *
 * Each layer has the relative encoding that it was built with. An encoding that is built for each layer has its own
 * parameters. To share one encoding, build it once and set it in each layer:
 *
 * <pre>{@code
 * RelativePositionBiasBlock bias = RelativePositionBiasBlock.builder().setHeadCount(8).build();       // T5's
 * builder.setLayers(6, () -> layer(bias));
 * }</pre>
 *
 * {@link #getArguments} of such a stack throws {@link UnsupportedOperationException}.
 *
 * <p>Build an input embedding for such layers with {@link InputEmbeddingBlock.Builder#optNoPositions}. Its default
 * would encode positions a second time and is rejected; an explicit positional encoding is not.
 */
public final class TransformerStackBlock extends OptionsBlock {

    record Options(
            InputEmbeddingBlock input,
            List<TransformerLayerBlock> layers,
            @Range(min = 1) Integer repetitions,
            Boolean finalNorm,
            Pooling pooling,
            Block outputTransform,
            @Range(min = 1) Integer outputSize,
            Boolean outputBias,
            Boolean tiedOutput,
            @Range Double scoreScale,
            @Range(above = 0) Double scoreCap) {

        Options {
            Check.that(
                    layers != null && !layers.isEmpty(),
                    "layers are missing: expected at least one; set them with setLayers");
            layers = List.copyOf(layers);
            // files without it stay valid
            repetitions = repetitions == null || repetitions == 1 ? null : repetitions;
            finalNorm = finalNorm == null ? !layers.get(layers.size() - 1).normalizesSum() : finalNorm;
            tiedOutput = Boolean.TRUE.equals(tiedOutput) ? true : null;
            boolean hasNone = outputSize == null && tiedOutput == null;
            Check.that(
                    outputBias == null || !hasNone,
                    "outputBias " + outputBias + " without an output layer: expected one; set optOutputSize or"
                            + " optTiedOutput, or leave it out");
            Check.that(
                    outputTransform == null || !hasNone,
                    "outputTransform without an output layer: expected one; set optOutputSize or optTiedOutput, or"
                            + " leave it out");
            Check.that(
                    (scoreScale == null && scoreCap == null) || !hasNone,
                    "scoreScale " + scoreScale + " and scoreCap " + scoreCap + " without an output layer: expected one;"
                            + " set optOutputSize or optTiedOutput, or leave them out");
            Check.that(
                    tiedOutput == null || outputSize == null,
                    "tiedOutput true with outputSize " + outputSize
                            + ": expected one of them, since a tied output has the size of the vocabulary; leave one out");
            Check.that(
                    tiedOutput == null || input != null,
                    "tiedOutput true without an input embedding: expected one, whose table the output shares; set it"
                            + " with optInput, or use optOutputSize");
        }
    }

    /** Null for none, as is the norm. */
    private final InputEmbeddingBlock input;

    private final List<TransformerLayerBlock> layers;
    private final Block finalNorm;
    private final Options options;

    /** Null for none. */
    private final Block outputTransform;

    /** The output layer with weights of its own; null for none. */
    private final Linear output;

    /** The bias of an output layer that shares the token table; null for none. */
    private final Parameter outputBias;

    private TransformerStackBlock(Options options) {
        super(options);
        this.options = options;
        layers = options.layers;
        TransformerLayerBlock first = layers.get(0);
        int size = first.getAttention().getEmbeddingSize();
        Check.that(
                options.input == null || options.input.getOutputSize() == size,
                () -> "the input has size " + options.input.getOutputSize()
                        + ": expected the size of the layers, " + size + "; use the same size for both, or set the"
                        + " input's optOutputSize(" + size + ")");
        input = options.input == null ? null : addChild("input", options.input);
        if (input != null) {
            takeMaskOf(input);
        }
        Set<Block> children = Collections.newSetFromMap(new IdentityHashMap<>());
        for (int i = 0; i < layers.size(); i++) {
            TransformerLayerBlock layer = layers.get(i);
            requireFitting(i, layer, first);
            requirePositionsOnce(i, layer, input);
            int earlier = layers.indexOf(layer);
            Check.that(
                    earlier == i,
                    "layer " + i + " is layer " + earlier
                            + " again: expected different layers, since an attention has one place in a cache;"
                            + " build a layer for each place, or repeat layers with optRepetitions, as ALBERT does");
            Check.that(
                    children(layer).allMatch(children::add),
                    "layer " + i
                            + " has an attention or a feed-forward network of an earlier layer: expected layers that"
                            + " share neither; build each layer with its own builders and blocks");
            addChild("layer" + i, layer);
        }
        finalNorm = options.finalNorm
                ? addChildBlock("finalNorm", layers.get(layers.size() - 1).newNorm())
                : null;
        outputTransform = options.outputTransform == null ? null : addChild("outputTransform", options.outputTransform);
        int outputInput = sizeAfterTransform(size);
        output = options.outputSize == null
                ? null
                : addProjection("output", outputInput, options.outputSize, !Boolean.FALSE.equals(options.outputBias));
        if (options.tiedOutput != null) {
            Shape table = input.getTokenTable().getShape(); // a token embedding of the user's has none
            Check.that(
                    table.get(1) == outputInput,
                    () -> "tiedOutput true with a token table of shape " + table + " and vectors of size " + outputInput
                            + ": expected the same size; set an outputTransform from " + size + " to " + table.get(1));
        }
        outputBias = options.tiedOutput != null && Boolean.TRUE.equals(options.outputBias)
                ? addParameter(
                        "outputBias", new Shape(input.getTokenTable().getShape().get(0)), Initializer.ZEROS)
                : null;
    }

    private int sizeAfterTransform(int size) {
        return outputTransform == null
                ? size
                : Math.toIntExact(
                        outputTransform.getOutputShapes(new Shape[] {new Shape(1, 1, size)})[0].getLastDimension());
    }

    private static void requireFitting(int number, TransformerLayerBlock layer, TransformerLayerBlock first) {
        int size = first.getAttention().getEmbeddingSize();
        Check.that(
                layer.getAttention().getEmbeddingSize() == size
                        && (layer.getCrossAttention() == null) == (first.getCrossAttention() == null),
                () -> "layer " + number + " has " + inputs(layer) + ": expected " + inputs(first)
                        + ", as in layer 0; build all layers for the same inputs; layer: " + layer);
    }

    private static String inputs(TransformerLayerBlock layer) {
        return "embeddingSize " + layer.getAttention().getEmbeddingSize() + " and "
                + (layer.getCrossAttention() == null ? "no" : "a") + " cross-attention";
    }

    private static void requirePositionsOnce(int number, TransformerLayerBlock layer, InputEmbeddingBlock input) {
        List<RelativeEncoding> relative = layer.getAttention().getRelativeEncodings();
        Check.that(
                relative.isEmpty() || input == null || !input.hasDefaultPositions(),
                () -> "layer " + number + " has a relative encoding, and the input adds sinusoids by default: expected"
                        + " positions that are encoded once; build the input with optNoPositions(), or set"
                        + " optPositionalEncoding(Block) to combine both; encoding: "
                        + relative.get(0));
    }

    private static Stream<Block> children(TransformerLayerBlock layer) {
        return Stream.<Block>of(layer.getAttention(), layer.getCrossAttention(), layer.getFeedForward())
                .filter(child -> child != null);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static TransformerStackBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public Map<String, Object> getArguments() {
        TransformerLayerBlock.requireOwnEncodings(layers);
        return super.getArguments();
    }

    /** {@return the input embedding; null for none} */
    public InputEmbeddingBlock getInput() {
        return input;
    }

    /** {@return the layers, from the first to the last; unmodifiable} */
    public List<TransformerLayerBlock> getLayers() {
        return layers;
    }

    /** {@return the normalization of the last layer's output, with parameters of (D); null for none} */
    public Block getFinalNorm() {
        return finalNorm;
    }

    /** {@return the output layer, from D to the output size; null for none, and for one that shares the token table} */
    public Linear getOutput() {
        return output;
    }

    /** {@return what is applied to the vectors before the output layer; null for none} */
    public Block getOutputTransform() {
        return outputTransform;
    }

    /** {@return the bias (V) of an output layer that shares the token table; null for none} */
    public Parameter getOutputBias() {
        return outputBias;
    }

    /** Whether the output has the shape of x. */
    boolean returnsSequences() {
        return options.pooling == null && !hasOutput();
    }

    /** Whether the output has a score for each token id. */
    boolean hasOutput() {
        return output != null || options.tiedOutput != null;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        return new NDList(output(parameterStore, inputs, training, params, false, null));
    }

    /** The output, a new array, with the calls of the self-attention of each layer, counted from 0. */
    NDArray forward(
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params,
            IntFunction<TransformerLayerBlock.Attend> attendTo) {
        return reading(() -> output(parameterStore, inputs, training, params, false, attendTo));
    }

    /**
     * Returns the scores of the tokens that may follow each sequence, in inference. A forward also computes those after
     * every other token, which for a long prompt and a large vocabulary is a large part of its time.
     *
     * @param parameterStore the parameters
     * @param inputs those of a forward; the last token of each row is not padding
     * @param params forward parameters, such as a {@link KeyValueCache#nextStep step of a cache}; null for none
     * @return (B, 1, V), a new array on the manager of the first input, which the caller closes
     * @throws IllegalArgumentException if the stack has no output layer, or pools its tokens
     */
    public NDArray scoresOfNext(ParameterStore parameterStore, NDList inputs, PairList<String, Object> params) {
        requireScoresOfNext();
        return reading(() -> output(parameterStore, inputs, false, params, true, null));
    }

    /** Refuses a stack whose output is not a score of each token that may follow. */
    void requireScoresOfNext() {
        Check.that(
                hasOutput() && options.pooling == null,
                () -> "a stack " + (hasOutput() ? "with pooling " + options.pooling : "without an output layer")
                        + " has no scores of next tokens: expected a decoder; build it with optTiedOutput(true) or"
                        + " optOutputSize, and without optPooling");
    }

    private NDArray output(
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params,
            boolean isOfLast,
            IntFunction<TransformerLayerBlock.Attend> attendTo) {
        Check.that(
                options.pooling == null || Documents.of(params) == null,
                () -> Documents.of(params) + " were given to a stack with pooling " + options.pooling
                        + ", whose output is one vector for each row: expected none; pass each document as a row, or"
                        + " build the stack without optPooling");
        NDArray types = input == null ? null : ForwardParameters.tokenTypes(inputs);
        NDList layerInputs = new NDList(inputs);
        layerInputs.removeIf(each -> each == types);
        requireShapes(layerInputs.getShapes());
        PairList<String, Object> shared = Positions.once(params);
        try (Temporaries temporaries = new Temporaries()) {
            if (input != null) {
                NDList ids = new NDList(inputs.head());
                if (types != null) {
                    ids.add(types);
                }
                addMask(temporaries, layerInputs, inputs.head());
                NDList embedded = input.forward(parameterStore, ids, training, shared);
                embedded.forEach(temporaries::add);
                layerInputs.set(0, embedded.head());
            }
            for (int index = 0; index < layers.size(); index++) {
                for (int i = 0; i < repetitions(shared); i++) {
                    TransformerLayerBlock layer = layers.get(index);
                    NDList outputs = attendTo == null
                            ? layer.forward(parameterStore, layerInputs, training, shared)
                            : layer.forward(parameterStore, layerInputs, training, shared, attendTo.apply(index));
                    replace(temporaries, layerInputs, inputs, outputs);
                }
            }
            if (finalNorm != null && layerInputs.head().getShape().size() > 0) {
                NDList x = new NDList(layerInputs.head());
                replace(temporaries, layerInputs, inputs, finalNorm.forward(parameterStore, x, training));
            }
            NDArray x = layerInputs.head();
            if (options.pooling != null) {
                x = temporaries.add(options.pooling.of(x, maskOfTokens(temporaries, layerInputs)));
            } else if (isOfLast) {
                long last = x.getShape().get(1) - 1;
                x = temporaries.add(x.get(NDIndex.sliceAxis(1, last, last + 1)));
            }
            return temporaries.remove(scores(temporaries, parameterStore, x, training));
        }
    }

    private int repetitions(PairList<String, Object> params) {
        int repetitions = options.repetitions == null ? 1 : options.repetitions;
        Check.that(
                repetitions == 1 || params == null || !params.contains(ForwardParameters.CACHE),
                () -> ForwardParameters.CACHE + " for a stack with " + repetitions
                        + " repetitions: expected none, since a layer has one place in a cache; pass whole sequences");
        return repetitions;
    }

    /** Which tokens of x are visible, (B, T); null for all. */
    private NDArray maskOfTokens(Temporaries temporaries, NDList layerInputs) {
        NDArray x = layerInputs.head();
        int index = layers.get(0).getCrossAttention() != null ? 2 : 1;
        NDArray mask = layerInputs.size() > index ? layerInputs.get(index) : null;
        if (mask == null || mask.size() == 0) {
            return null;
        }
        Shape shape = mask.getShape();
        Check.that(
                shape.dimension() == 2,
                () -> "mask of shape " + shape + " with pooling " + options.pooling + ": expected "
                        + x.getShape().slice(0, 2) + "; pass one number for each token");
        long earlier = shape.get(1) - x.getShape().get(1);
        return earlier == 0 ? mask : temporaries.add(mask.get(NDIndex.sliceAxis(1, earlier, shape.get(1))));
    }

    /** The scores of the output layer, a new array; x itself without one. */
    private NDArray scores(Temporaries temporaries, ParameterStore parameterStore, NDArray x, boolean training) {
        NDArray y = output(temporaries, parameterStore, x, training);
        if (options.scoreScale != null) {
            y = temporaries.add(Arithmetic.multiply(y, options.scoreScale));
        }
        if (options.scoreCap == null) {
            return y;
        }
        NDArray scores = y;
        double cap = options.scoreCap;
        return temporaries.addResult(
                () -> Arithmetic.multiply(Arithmetic.multiply(scores, 1 / cap).tanh(), cap));
    }

    private NDArray output(Temporaries temporaries, ParameterStore parameterStore, NDArray last, boolean training) {
        NDArray x = outputTransform == null
                ? last
                : temporaries.add(outputTransform
                        .forward(parameterStore, new NDList(last), training)
                        .singletonOrThrow());
        if (output != null) {
            return temporaries.add(
                    output.forward(parameterStore, new NDList(x), training).singletonOrThrow());
        }
        return options.tiedOutput == null
                ? x
                : temporaries.add(Use.of(input, () -> {
                    NDArray table = DataTypes.value(this, input.getTokenTable(), parameterStore, x, training);
                    NDArray bias =
                            outputBias == null ? null : DataTypes.value(this, outputBias, parameterStore, x, training);
                    return Linear.linear(x, table, bias).singletonOrThrow();
                }));
    }

    /** Replaces x by the output of a block, and frees the previous x unless it is an input of the forward. */
    private static void replace(Temporaries temporaries, NDList layerInputs, NDList inputs, NDList output) {
        NDArray before = layerInputs.set(0, temporaries.add(output.head()));
        if (before != inputs.head()) {
            before.close();
        }
    }

    /** Adds the mask of padding for the self-attentions to the inputs of the layers, unless they have a mask. */
    private void addMask(Temporaries temporaries, NDList layerInputs, NDArray ids) {
        boolean isDecoder = layers.get(0).getCrossAttention() != null;
        int index = isDecoder ? 2 : 1;
        boolean isPresent = layerInputs.size() > index;
        NDArray mask = isPresent && !(isDecoder && layerInputs.get(index).size() == 0) ? null : mask(temporaries, ids);
        if (mask == null) {
            return;
        }
        if (isPresent) {
            layerInputs.set(index, mask);
            return;
        }
        layerInputs.add(mask);
        if (isDecoder) {
            layerInputs.add(temporaries.add(mask.getManager().create(new Shape(0))));
        }
    }

    /** The mask of padding, (B, F); null for none. */
    private NDArray mask(Temporaries temporaries, NDArray ids) {
        NDArray isToken = input.mask(ids);
        if (isToken == null) {
            return null;
        }
        NDArray mask = temporaries.addUnless(temporaries.add(isToken), Arithmetic.toType(isToken, DataType.INT32));
        // a forward without a mask takes less time
        return HostData.areKnownOnes(mask) ? null : mask;
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        Shape x = layerShapes(inputShapes)[0];
        Shape pooled = options.pooling == null ? x : new Shape(x.get(0), x.get(2));
        long size = output != null
                ? options.outputSize
                : options.tiedOutput != null ? input.getTokenTable().getShape().get(0) : x.get(2);
        return new Shape[] {Shape.update(pooled, pooled.dimension() - 1, size)};
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
        initializeChild(input, manager, dataType, inputShapes[0]);
        Shape[] shapes = layerShapes(inputShapes);
        layers.forEach(layer -> initializeChild(layer, manager, dataType, shapes));
        initializeChild(finalNorm, manager, dataType, shapes[0]);
        initializeChild(outputTransform, manager, dataType, shapes[0]);
        initializeChild(output, manager, dataType, new Shape(-1, sizeAfterTransform((int) shapes[0].get(2))));
    }

    /** Builds a {@link TransformerStackBlock}. */
    public static final class Builder extends BlockBuilder<TransformerStackBlock, Builder> {

        private Builder() {
            super(Options.class, TransformerStackBlock::new);
        }

        /**
         * Sets the input embedding, of the same embedding size, for ids (B, T) (default: none, and the first input is
         * x).
         */
        public Builder optInput(InputEmbeddingBlock input) {
            return setChild("input", input);
        }

        /**
         * Sets a number of equal layers, at least 1, each from a new builder when the stack is built.
         *
         * @param count the number of layers
         * @param layer returns a new builder each time
         */
        public Builder setLayers(int count, Supplier<TransformerLayerBlock.Builder> layer) {
            Check.positive("layerCount", count);
            Check.notNull("layers", layer, "a function that returns a new builder");
            Supplier<List<TransformerLayerBlock>> layers = () -> Stream.generate(layer)
                    .limit(count)
                    .map(builder -> Check.notNull("a builder of layers", builder, "a new builder each time"))
                    .map(TransformerLayerBlock.Builder::build)
                    .toList();
            return set("layers", layers);
        }

        /** Sets the layers, at least one, which may differ but have the same inputs. */
        public Builder setLayers(List<TransformerLayerBlock> layers) {
            Check.notNull("layers", layers, "a list of TransformerLayerBlock");
            layers.forEach(layer -> Check.notNull("a block of layers", layer, "a TransformerLayerBlock"));
            return setChild("layers", List.copyOf(layers));
        }

        /**
         * Applies each layer so many times in a row, with the same parameters, as in ALBERT (default: once). Such a
         * stack has no cache.
         */
        public Builder optRepetitions(int repetitions) {
            return set("repetitions", repetitions);
        }

        /**
         * Normalizes the output of the last layer, as that layer does (default: unless its norms stand
         * {@linkplain TransformerLayerBlock.NormPlacement#AFTER_SUM after the sum}).
         */
        public Builder optFinalNorm(boolean finalNorm) {
            return set("finalNorm", finalNorm);
        }

        /**
         * Returns one vector for each sequence, (B, D), of the tokens that the mask (B, T) leaves visible (default: the
         * vectors of all tokens).
         */
        public Builder optPooling(Pooling pooling) {
            return set("pooling", pooling);
        }

        /**
         * Applies a block to the vectors before the output layer, from (…, D) to (…, E), the size of the vectors of a
         * tied output: often a {@link ProjectionBlock}, as in BERT's language model (default: none).
         */
        public Builder optOutputTransform(Block outputTransform) {
            return setChild("outputTransform", outputTransform);
        }

        /** Adds an output layer from D to a number of classes or tokens, at least 1 (default: none). */
        public Builder optOutputSize(int outputSize) {
            return set("outputSize", outputSize);
        }

        /**
         * Sets whether the output layer has a bias (default: true; for one that {@linkplain #optTiedOutput shares the
         * token table}, false).
         */
        public Builder optOutputBias(boolean outputBias) {
            return set("outputBias", outputBias);
        }

        /**
         * Multiplies the result by the table of the input embedding, which gives a score for each of the V tokens, as
         * in Press and Wolf, <em>Using the Output Embedding to Improve Language Models</em> (2017) (default: false).
         */
        public Builder optTiedOutput(boolean tiedOutput) {
            return set("tiedOutput", tiedOutput);
        }

        /** Multiplies the scores of the output layer by a number, {@code logit_scale} of Cohere (default: 1). */
        public Builder optScoreScale(double scoreScale) {
            return set("scoreScale", scoreScale);
        }

        /** Limits the scores to cap · tanh(score / cap), after their scale, as in Gemma 2 (default: no limit). */
        public Builder optScoreCap(double scoreCap) {
            return set("scoreCap", scoreCap);
        }
    }
}
