package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.Positions;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Default;
import io.github.djlpositional.options.NotSaved;
import io.github.djlpositional.options.Range;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A transformer layer: attention, attention over an encoder's output if there is any, and a feed-forward network, each
 * with a residual connection, dropout and a normalization. After Vaswani et al., <em>Attention Is All You Need</em>
 * (2017), section 3.1. With the same weights it has the output of PyTorch's {@code nn.TransformerEncoderLayer}, or of
 * {@code nn.TransformerDecoderLayer} if it has a cross-attention.
 *
 * <pre>{@code
 * TransformerLayerBlock layer = TransformerLayerBlock.builder()
 *         .setAttention(MultiHeadAttentionBlock.builder()
 *                 .setEmbeddingSize(512)
 *                 .setHeadCount(8)
 *                 .optRelativeEncoding(RotaryEmbeddingBlock.builder().setHeadSize(64).build())
 *                 .optCausal(true)
 *                 .build())
 *         .setHiddenSize(2048)
 *         .optNormPlacement(NormPlacement.BEFORE_PART)
 *         .build();                       // (B, T, 512) -> the same
 * }</pre>
 *
 * <h2>Inputs and output</h2>
 *
 * S is the length of the encoder's output.
 *
 * <ul>
 *   <li>{@code [x]} or {@code [x, mask]}: x is (B, T, D), and the mask is one for a {@link MultiHeadAttentionBlock}.
 *   <li>With a cross-attention, {@code [x, memory]} or {@code [x, memory, mask, memoryMask]}, in the order of PyTorch:
 *       memory is (B, S, D), and memoryMask is (B, S) or any other mask for T queries and S keys. An empty array, such
 *       as (B, 0), stands for no mask. A single mask is rejected, since it may be meant for x or for the memory.
 * </ul>
 *
 * The output is (B, T, D). The attentions get the forward parameters, such as a {@link KeyValueCache}.
 *
 * <p>Unless norms stand {@linkplain NormPlacement#AFTER_SUM after the sum}, the sum of the residual connections is not
 * normalized: a model normalizes the output of its last layer, as a {@link TransformerStackBlock} does.
 */
public final class TransformerLayerBlock extends OptionsBlock {

    /**
     * The function between the two matrices of the feed-forward network, for its hidden values h = W x. The last three
     * have a third matrix, the gate G; Shazeer, <em>GLU Variants Improve Transformer</em> (2020).
     */
    public enum Nonlinearity {
        /** max(0, h), as in the original transformer. */
        RELU(false),
        /** h · Φ(h), exact, as in BERT. */
        GELU(false),
        /**
         * GELU with h / 2 · (1 + tanh(√(2 / π) · (h + 0.044715 h³))), as in GPT-2; PyTorch's
         * {@code approximate="tanh"}.
         */
        GELU_TANH(false),
        /** h · sigmoid(h), also called swish. */
        SILU(false),
        /** SiLU(G x) ⊙ h, as in Llama. */
        SWIGLU(true),
        /** GELU(G x) ⊙ h, exact, as in ModernBERT. */
        GEGLU(true),
        /** GELU(G x) ⊙ h with the formula of {@link #GELU_TANH}, as in T5 1.1 and Gemma. */
        GEGLU_TANH(true);

        private final boolean isGated;

        Nonlinearity(boolean isGated) {
            this.isGated = isGated;
        }
    }

    /** The normalization. */
    public enum Norm {
        /** Layer normalization, a {@link LayerNormBlock}. */
        LAYER,
        /** Root mean square normalization, an {@link RmsNormBlock}. */
        RMS
    }

    /** Where the normalizations n stand, for an input x and a part f: an attention or the feed-forward network. */
    public enum NormPlacement {
        /** n(x + f(x)), as in the original transformer and BERT; also called post-norm. */
        AFTER_SUM,
        /** x + f(n(x)), as in GPT-2 and Llama; also called pre-norm. */
        BEFORE_PART,
        /** x + n(f(x)), as in OLMo 2 and Swin V2. */
        AFTER_PART,
        /** x + n₂(f(n₁(x))), as in Gemma 2 and 3, with two normalizations for each part. */
        AROUND_PART
    }

    /**
     * How the attention and the feed-forward network follow each other. Parallel parts have no cross-attention, and
     * norms {@linkplain NormPlacement#BEFORE_PART before the parts}.
     */
    public enum Arrangement {
        /** The feed-forward network gets the sum with the attention's result. */
        SEQUENTIAL,
        /** x + attention(n₁(x)) + feedForward(n₂(x)), as in GPT-NeoX and Falcon 40B. */
        PARALLEL,
        /** x + attention(n(x)) + feedForward(n(x)), as in GPT-J, Phi, Falcon 7B and Cohere. */
        PARALLEL_WITH_ONE_NORM
    }

    record Options(
            MultiHeadAttentionBlock attention,
            MultiHeadAttentionBlock crossAttention,
            @Range(min = 1) int hiddenSize,
            @Default("RELU") Nonlinearity nonlinearity,
            @Default("LAYER") Norm norm,
            @Range(above = 0) Double epsilon,
            @Default("AFTER_SUM") NormPlacement normPlacement,
            @Default("SEQUENTIAL") Arrangement arrangement,
            @Default("true") boolean bias,
            @Range Float residualScale,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropPathRate) {

        Options {
            Check.present("attention", attention);
            Check.that(
                    arrangement == Arrangement.SEQUENTIAL
                            || (normPlacement == NormPlacement.BEFORE_PART && crossAttention == null),
                    "arrangement " + arrangement + " with normPlacement " + normPlacement + " and "
                            + (crossAttention == null ? "no" : "a")
                            + " cross-attention: expected BEFORE_PART and none; change the arrangement or the others");
            // the defaults of the norms themselves
            epsilon = Objects.requireNonNullElse(epsilon, norm == Norm.RMS ? 1e-6 : 1e-5);
        }
    }

    private static final String DECODER_INPUTS = "[x, memory] or [x, memory, mask, memoryMask]";

    private final Options options;
    private final int embeddingSize;
    private final MultiHeadAttentionBlock attention;
    private final Residual attentionResidual;

    /** Null for none, like its residual. */
    private final MultiHeadAttentionBlock crossAttention;

    private final Residual crossAttentionResidual;
    private final Linear hiddenProjection;

    /** Null unless the function has a gate. */
    private final Linear gateProjection;

    private final Linear outputProjection;
    private final Residual feedForwardResidual;

    /** The norm of a part or the first of two, the second norm, and the factors of the result, (D); null for none. */
    private record Residual(Block norm, Block resultNorm, Parameter scale) {}

    private TransformerLayerBlock(Options options) {
        super(options);
        this.options = options;
        crossAttention = options.crossAttention;
        attention = addPart("attention", options.attention);
        embeddingSize = attention.getEmbeddingSize();
        attentionResidual = addResidual("attention");
        if (crossAttention == null) {
            crossAttentionResidual = null;
        } else {
            Check.that(
                    crossAttention != attention,
                    "the attention and the cross-attention are the same block: expected two blocks; build another");
            Check.that(
                    crossAttention.getEmbeddingSize() == embeddingSize,
                    () -> "the cross-attention has embeddingSize " + crossAttention.getEmbeddingSize()
                            + ": expected the size of the attention, " + embeddingSize
                            + "; use the same size for both");
            addPart("crossAttention", crossAttention);
            crossAttentionResidual = addResidual("crossAttention");
        }
        hiddenProjection = addProjection("hiddenProjection", embeddingSize, options.hiddenSize, options.bias);
        gateProjection = options.nonlinearity.isGated
                ? addProjection("gateProjection", embeddingSize, options.hiddenSize, options.bias)
                : null;
        outputProjection = addProjection("outputProjection", options.hiddenSize, embeddingSize, options.bias);
        feedForwardResidual = addResidual("feedForward");
    }

    private Residual addResidual(String part) {
        boolean hasTwoNorms = options.normPlacement == NormPlacement.AROUND_PART;
        boolean hasNorm = !part.equals("feedForward") || options.arrangement != Arrangement.PARALLEL_WITH_ONE_NORM;
        Float scale = options.residualScale;
        Shape shape = new Shape(embeddingSize);
        return new Residual(
                hasNorm ? addChildBlock(part + "Norm", newNorm()) : null,
                hasTwoNorms ? addChildBlock(part + "ResultNorm", newNorm()) : null,
                scale == null ? null : addParameter(part + "Scale", shape, new ConstantInitializer(scale)));
    }

    /** Creates a normalization like the ones of this layer. */
    Block newNorm() {
        return options.norm == Norm.LAYER
                ? LayerNormBlock.builder()
                        .setEmbeddingSize(embeddingSize)
                        .optEpsilon(options.epsilon)
                        .build()
                : RmsNormBlock.builder()
                        .setEmbeddingSize(embeddingSize)
                        .optEpsilon(options.epsilon)
                        .build();
    }

    @Override
    public Map<String, Object> getArguments() {
        requireOwnEncodings(List.of(this));
        return super.getArguments();
    }

    /**
     * Throws if attentions share a relative encoding, since blocks that are created from arguments do not share any.
     */
    static void requireOwnEncodings(List<TransformerLayerBlock> layers) {
        List<RelativeEncoding> encodings = layers.stream()
                .flatMap(layer -> Stream.of(layer.attention, layer.crossAttention))
                .filter(attention -> attention != null)
                .flatMap(attention -> attention.getRelativeEncodings().stream())
                .toList();
        encodings.forEach(encoding -> {
            if (Collections.frequency(encodings, encoding) > 1) {
                throw new UnsupportedOperationException("several attentions share a relative encoding: expected one for"
                        + " each attention, since blocks that are created from arguments share none; create the outer"
                        + " block with its builder, in a BlockFactory of your own; encoding: " + encoding);
            }
        });
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * {@return the block that {@link #getArguments} describes}
     *
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    public static TransformerLayerBlock fromArguments(Map<?, ?> arguments) {
        return builder().setAll(arguments).build();
    }

    /** Whether the output of the layer is normalized. */
    boolean normalizesSum() {
        return options.normPlacement == NormPlacement.AFTER_SUM;
    }

    /** {@return the attention over the layer's input} */
    public MultiHeadAttentionBlock getAttention() {
        return attention;
    }

    /** {@return the attention over an encoder's output; null for none} */
    public MultiHeadAttentionBlock getCrossAttention() {
        return crossAttention;
    }

    /** {@return the feed-forward network's first projection, from D to the hidden size} */
    public Linear getHiddenProjection() {
        return hiddenProjection;
    }

    /** {@return the gate G, a projection from D to the hidden size; null if the nonlinearity has none} */
    public Linear getGateProjection() {
        return gateProjection;
    }

    /** {@return the feed-forward network's last projection, from the hidden size to D} */
    public Linear getOutputProjection() {
        return outputProjection;
    }

    /** {@return the normalization of the attention, or the first of two, with parameters of (D)} */
    public Block getAttentionNorm() {
        return attentionResidual.norm;
    }

    /** {@return the second normalization of the attention, with parameters of (D); null for none} */
    public Block getAttentionResultNorm() {
        return attentionResidual.resultNorm;
    }

    /**
     * {@return the normalization of the cross-attention, or the first of two, with parameters of (D); null for none}
     */
    public Block getCrossAttentionNorm() {
        return crossAttention == null ? null : crossAttentionResidual.norm;
    }

    /** {@return the second normalization of the cross-attention, with parameters of (D); null for none} */
    public Block getCrossAttentionResultNorm() {
        return crossAttention == null ? null : crossAttentionResidual.resultNorm;
    }

    /**
     * {@return the normalization of the feed-forward network, or the first of two, with parameters of (D); null if it
     * has the normalization of the attention}
     */
    public Block getFeedForwardNorm() {
        return feedForwardResidual.norm;
    }

    /** {@return the second normalization of the feed-forward network, with parameters of (D); null for none} */
    public Block getFeedForwardResultNorm() {
        return feedForwardResidual.resultNorm;
    }

    /** {@return the factors of the attention's result, the parameter (D); null without a residual scale} */
    public Parameter getAttentionScale() {
        return attentionResidual.scale;
    }

    /** {@return the factors of the cross-attention's result, the parameter (D); null for none} */
    public Parameter getCrossAttentionScale() {
        return crossAttention == null ? null : crossAttentionResidual.scale;
    }

    /** {@return the factors of the feed-forward network's result, the parameter (D); null without a residual scale} */
    public Parameter getFeedForwardScale() {
        return feedForwardResidual.scale;
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        Parameter weight = hiddenProjection.getDirectParameters().get("weight");
        DataTypes.requireSame(x, DataTypes.value(this, weight, parameterStore, x, training), "projections");
        if (x.getShape().size() == 0) {
            return new NDList(x.duplicate());
        }
        try (Temporaries temporaries = new Temporaries()) {
            Forward forward = new Forward(this, parameterStore, training, Positions.once(params), temporaries);
            boolean isDecoder = crossAttention != null;
            if (options.arrangement != Arrangement.SEQUENTIAL) {
                return new NDList(forward.inParallel(x, inputs));
            }
            x = forward.residual(
                    x, attentionResidual, normed -> forward.attend(attention, inputs, isDecoder ? 2 : 1, normed));
            if (isDecoder) {
                NDArray memory = inputs.get(1);
                x = forward.residual(
                        x,
                        crossAttentionResidual,
                        normed -> forward.attend(crossAttention, inputs, 3, memory, normed, memory));
            }
            NDArray result = forward.feedInOneCall(x);
            return new NDList(
                    result != null
                            ? result
                            : temporaries.remove(forward.residual(x, feedForwardResidual, forward::feed)));
        }
    }

    /**
     * Adds a mask for the self-attention to the inputs of a forward, unless they have one.
     *
     * @param mask returns the mask, or null for none
     */
    void addMask(Temporaries temporaries, NDList inputs, Supplier<NDArray> mask) {
        boolean isDecoder = crossAttention != null;
        int index = isDecoder ? 2 : 1;
        boolean isPresent = inputs.size() > index;
        NDArray added = isPresent && !(isDecoder && inputs.get(index).size() == 0) ? null : mask.get();
        if (added == null) {
            return;
        }
        if (isPresent) {
            inputs.set(index, added);
            return;
        }
        inputs.add(added);
        if (isDecoder) {
            inputs.add(temporaries.add(added.getManager().create(new Shape(0))));
        }
    }

    /** The arguments of a forward. */
    private record Forward(
            TransformerLayerBlock layer,
            ParameterStore store,
            boolean training,
            PairList<String, Object> params,
            Temporaries temporaries) {

        /** Adds a part of the layer to x, with its normalizations. */
        NDArray residual(NDArray x, Residual residual, UnaryOperator<NDArray> part) {
            NormPlacement placement = layer.options.normPlacement;
            boolean isFirst = placement == NormPlacement.BEFORE_PART || placement == NormPlacement.AROUND_PART;
            NDArray result = part.apply(isFirst ? apply(residual.norm, x) : x);
            NDArray sum = temporaries.add(x.add(branch(residual, result)));
            return layer.normalizesSum() ? apply(residual.norm, sum) : sum;
        }

        /** Adds the attention and the feed-forward network, both of x, to x: a new array. */
        NDArray inParallel(NDArray x, NDList inputs) {
            NDArray normed = apply(layer.attentionResidual.norm, x);
            NDArray attended = branch(layer.attentionResidual, attend(layer.attention, inputs, 1, normed));
            Block norm = layer.feedForwardResidual.norm;
            NDArray fed = branch(layer.feedForwardResidual, feed(norm == null ? normed : apply(norm, x)));
            return temporaries.add(x.add(attended)).add(fed);
        }

        /** What is added to x for the result of a part. */
        private NDArray branch(Residual residual, NDArray result) {
            NDArray dropped = dropOut(result);
            boolean isAfter = layer.options.normPlacement == NormPlacement.AFTER_PART;
            Block norm = isAfter ? residual.norm : residual.resultNorm;
            NDArray normed = norm == null ? dropped : apply(norm, dropped);
            if (residual.scale == null) {
                return dropPath(normed);
            }
            NDArray scale = DataTypes.value(layer, residual.scale, store, normed, training);
            return dropPath(temporaries.add(normed.mul(scale)));
        }

        /** Replaces the results of some sequences by 0, in training only. */
        private NDArray dropPath(NDArray y) {
            float rate = layer.options.dropPathRate;
            return !training || rate == 0
                    ? y
                    : temporaries.addResult(() -> {
                        Shape shape = new Shape(y.getShape().get(0), 1, 1);
                        NDArray ones = y.getManager().ones(shape, y.getDataType(), y.getDevice());
                        return y.mul(Dropout.dropout(ones, rate, true).singletonOrThrow());
                    });
        }

        /** Applies an attention to arrays, with the mask from the layer's inputs if there is one. */
        NDArray attend(MultiHeadAttentionBlock block, NDList inputs, int maskIndex, NDArray... arrays) {
            NDList all = new NDList(arrays);
            NDArray mask = inputs.size() > maskIndex ? inputs.get(maskIndex) : null;
            if (mask != null && (mask.size() > 0 || layer.crossAttention == null)) {
                all.add(mask);
            }
            return temporaries.add(block.forward(store, all, training, params).singletonOrThrow());
        }

        /**
         * The feed-forward part in one call of PyTorch, a new array; null on another engine, for options that the call
         * does not support, or if gradients are recorded.
         */
        NDArray feedInOneCall(NDArray x) {
            boolean isFirst = layer.options.normPlacement == NormPlacement.BEFORE_PART;
            boolean isSupported =
                    !training && (isFirst || layer.normalizesSum()) && layer.options.residualScale == null;
            TorchFunctions functions = isSupported ? TorchFunctions.of(x) : null;
            if (functions == null) {
                return null;
            }
            NDArray[] arrays = new NDArray[10];
            arrays[0] = x;
            set(arrays, 1, layer.hiddenProjection);
            set(arrays, 3, layer.gateProjection);
            set(arrays, 5, layer.outputProjection);
            set(arrays, 7, layer.feedForwardResidual.norm);
            boolean hasGradient = Stream.of(arrays).anyMatch(array -> array != null && array.hasGradient());
            boolean isLayerNorm = layer.options.norm == Norm.LAYER;
            // as DJL passes it
            double epsilon = isLayerNorm ? (float) layer.options.epsilon.doubleValue() : layer.options.epsilon;
            arrays[9] = functions.number(epsilon);
            int nonlinearity = switch (layer.options.nonlinearity) {
                case RELU -> 0;
                case GELU, GEGLU -> 1;
                case GELU_TANH, GEGLU_TANH -> 2;
                case SILU, SWIGLU -> 3;
            };
            return hasGradient ? null : functions.feedForward(arrays, nonlinearity, isFirst ? 1 : 0);
        }

        /** Sets the parameters of a block, from an index on. */
        private void set(NDArray[] arrays, int index, Block block) {
            int next = index;
            for (Parameter parameter :
                    block == null ? List.<Parameter>of() : block.getParameters().values()) {
                arrays[next++] = DataTypes.value(layer, parameter, store, arrays[0], false);
            }
        }

        NDArray feed(NDArray x) {
            NDArray hidden = apply(layer.hiddenProjection, x);
            NDArray gate = layer.gateProjection == null ? null : apply(layer.gateProjection, x);
            NDArray activated = temporaries.addResult(
                    () -> gate == null ? activate(hidden) : activate(gate).mul(hidden));
            return apply(layer.outputProjection, dropOut(activated));
        }

        private NDArray activate(NDArray x) {
            return switch (layer.options.nonlinearity) {
                case RELU -> Activation.relu(x);
                case GELU, GEGLU -> gelu(x);
                case GELU_TANH, GEGLU_TANH -> geluTanh(x);
                case SILU, SWIGLU -> x.mul(Activation.sigmoid(x));
            };
        }

        private NDArray geluTanh(NDArray x) {
            TorchFunctions functions = TorchFunctions.of(x);
            if (functions != null) {
                return functions.geluTanh(x);
            }
            // (1 + tanh(z)) / 2 = sigmoid(2z)
            double scale = 2 * Math.sqrt(2 / Math.PI);
            NDArray square = Arithmetic.multiply(x.mul(x), 0.044715 * scale);
            NDArray product = x.mul(Arithmetic.add(square, scale));
            return x.mul(Activation.sigmoid(product));
        }

        private NDArray gelu(NDArray x) {
            if (x.getDataType() != DataType.FLOAT64) {
                return Activation.gelu(x);
            }
            // MXNet computes its GELU in FLOAT32
            NDArray erf = Arithmetic.multiply(x, Math.sqrt(0.5)).erf();
            NDArray half = Arithmetic.multiply(x, 0.5);
            return half.add(half.mul(erf));
        }

        private NDArray apply(Block block, NDArray x) {
            return temporaries.add(block.forward(store, new NDList(x), training).singletonOrThrow());
        }

        private NDArray dropOut(NDArray x) {
            return training && layer.options.dropoutRate > 0
                    ? temporaries.add(
                            Dropout.dropout(x, layer.options.dropoutRate, true).singletonOrThrow())
                    : x;
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return new Shape[] {inputShapes[0]};
    }

    @Override
    protected void requireShapes(Shape... inputShapes) {
        int count = inputShapes.length;
        Check.that(
                crossAttention == null ? count == 1 || count == 2 : count == 2 || count == 4,
                () -> count + " inputs were given: expected "
                        + (crossAttention == null
                                ? "[x] or [x, mask]; pass one of these"
                                : DECODER_INPUTS
                                        + "; pass an empty array, such as (B, 0), for a mask that is not needed"));
        attention.getOutputShapes(new Shape[] {inputShapes[0]});
        if (crossAttention != null) {
            Check.that(
                    inputShapes[1].dimension() == 3,
                    () -> "memory of shape " + inputShapes[1] + ": expected (B, S, " + embeddingSize
                            + "), the second of " + DECODER_INPUTS + "; pass the inputs in this order");
            crossAttention.getOutputShapes(crossShapes(inputShapes));
        }
    }

    private static Shape[] crossShapes(Shape... inputShapes) {
        return new Shape[] {inputShapes[1], inputShapes[0], inputShapes[1]};
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape x = Shape.update(inputShapes[0], 2, embeddingSize);
        attention.initialize(manager, dataType, x);
        if (crossAttention != null) {
            crossAttention.initialize(manager, dataType, crossShapes(inputShapes));
        }
        Shape hidden = Shape.update(x, 2, options.hiddenSize);
        for (Block part : getChildren().values()) {
            if (part != attention && part != crossAttention) {
                part.initialize(manager, dataType, part == outputProjection ? hidden : x);
            }
        }
    }

    /** Builds a {@link TransformerLayerBlock}. */
    public static final class Builder extends BlockBuilder<TransformerLayerBlock, Builder> {

        private Builder() {
            super(Options.class, TransformerLayerBlock::new);
        }

        /** Sets the attention over the layer's input, and with it D; in a decoder it is causal. */
        public Builder setAttention(MultiHeadAttentionBlock block) {
            return setPart("attention", block);
        }

        /** Sets the attention over an encoder's output, of the same embedding size (default: none). */
        public Builder optCrossAttention(MultiHeadAttentionBlock block) {
            return setPart("crossAttention", block);
        }

        /** Sets the size of the hidden layer of the feed-forward network, at least 1, often 4 · D. */
        public Builder setHiddenSize(int hiddenSize) {
            return set("hiddenSize", hiddenSize);
        }

        /** Sets the function of the feed-forward network (default: {@link Nonlinearity#RELU}). */
        public Builder optNonlinearity(Nonlinearity nonlinearity) {
            return set("nonlinearity", nonlinearity);
        }

        /** Sets the normalization (default: {@link Norm#LAYER}). */
        public Builder optNorm(Norm norm) {
            return set("norm", norm);
        }

        /**
         * Sets the positive number that the normalizations add to the variance (default: 10<sup>-5</sup>; BERT uses
         * 10<sup>-12</sup>) or to the mean square (default: 10<sup>-6</sup>; Llama 2 and 3 use 10<sup>-5</sup>).
         */
        public Builder optEpsilon(double epsilon) {
            return set("epsilon", epsilon);
        }

        /** Sets where the normalizations stand (default: {@link NormPlacement#AFTER_SUM}). */
        public Builder optNormPlacement(NormPlacement normPlacement) {
            return set("normPlacement", normPlacement);
        }

        /** Sets how attention and feed-forward network follow each other (default: {@link Arrangement#SEQUENTIAL}). */
        public Builder optArrangement(Arrangement arrangement) {
            return set("arrangement", arrangement);
        }

        /** Adds a bias to each matrix product of the feed-forward network (default: true); Llama has none. */
        public Builder optBias(boolean bias) {
            return set("bias", bias);
        }

        /**
         * Multiplies the result of each part by learned factors, (D), with a finite initial value, 10<sup>-5</sup> in
         * DINOv2 (default: no factors). After Touvron et al., <em>Going deeper with Image Transformers</em> (2021),
         * section 2, CaiT. The parameters are {@code attentionScale}, {@code feedForwardScale} and so on.
         */
        public Builder optResidualScale(float initialScale) {
            return set("residualScale", initialScale);
        }

        /**
         * Sets the dropout rate in training, after the function of the feed-forward network and after each part, at
         * least 0 and below 1 (default: 0). The dropout of the attention probabilities is an option of the attention.
         */
        public Builder optDropoutRate(float dropoutRate) {
            return set("dropoutRate", dropoutRate);
        }

        /**
         * Sets the probability p that a part is skipped in training, for each sequence of the batch, at least 0 and
         * below 1 (default: 0). Results that are not skipped are divided by 1 - p. After Huang et al., <em>Deep
         * Networks with Stochastic Depth</em> (2016); vision transformers increase the rate from layer to layer.
         */
        public Builder optDropPathRate(float dropPathRate) {
            return set("dropPathRate", dropPathRate);
        }
    }
}
