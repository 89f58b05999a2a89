package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.ConstantInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.Positions;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.NotSaved;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.internal.options.WithoutOption;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A transformer layer: self-attention, optional attention over an encoder's output, and a feed-forward network, each
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
 *         .optFeedForward(FeedForwardBlock.builder()
 *                 .setEmbeddingSize(512)
 *                 .setHiddenSize(2048)
 *                 .build())
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
 * The output is (B, T, D). The attentions get the forward parameters, such as a {@link KeyValueCache}, but the
 * {@linkplain MultiHeadAttentionBlock#MEMORY_POSITIONS positions of the memory} reach the cross-attention only.
 *
 * <p>Unless norms stand {@linkplain NormPlacement#AFTER_SUM after the sum}, the sum of the residual connections is not
 * normalized: a model normalizes the output of its last layer, as a {@link TransformerStackBlock} does.
 */
public final class TransformerLayerBlock extends OptionsBlock {

    record Options(
            MultiHeadAttentionBlock attention,
            MultiHeadAttentionBlock crossAttention,
            FeedForwardBlock feedForward,
            @Default("LAYER") Norm norm,
            @Range(above = 0) Double epsilon,
            @Default("AFTER_SUM") NormPlacement normPlacement,
            @Default("SEQUENTIAL") Arrangement arrangement,
            Boolean attentionNorm,
            Boolean feedForwardNorm,
            @Range Float residualScale,
            @Range Double residualFactor,
            Boolean returnMask,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropoutRate,

            @NotSaved @Default("0") @Range(min = 0, below = 1)
            float dropPathRate) {

        Options {
            Check.present("attention", attention);
            feedForward = feedForward != null
                    ? feedForward
                    : FeedForwardBlock.builder()
                            .setEmbeddingSize(attention.getEmbeddingSize())
                            .setHiddenSize(4 * attention.getEmbeddingSize())
                            .build();
            returnMask = Boolean.TRUE.equals(returnMask) ? true : null;
            // files without them stay valid
            residualFactor = residualFactor == null || residualFactor == 1 ? null : residualFactor;
            attentionNorm = Boolean.FALSE.equals(attentionNorm) ? false : null;
            feedForwardNorm = Boolean.FALSE.equals(feedForwardNorm) ? false : null;
            Check.that(
                    arrangement != Arrangement.PARALLEL_WITH_ONE_NORM
                            || (attentionNorm == null && feedForwardNorm == null),
                    "arrangement " + arrangement + " with a part without norm: expected one norm of both parts; leave"
                            + " optAttentionNorm and optFeedForwardNorm out, or change the arrangement");
            Check.that(
                    returnMask == null || crossAttention == null,
                    "returnMask true with a cross-attention: expected one of them; use a TransformerStackBlock");
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

    /** Null for none, like its residual connection. */
    private final MultiHeadAttentionBlock crossAttention;

    private final Residual crossAttentionResidual;
    private final FeedForwardBlock feedForward;
    private final Residual feedForwardResidual;

    private TransformerLayerBlock(Options options) {
        super(options);
        this.options = options;
        crossAttention = options.crossAttention;
        attention = addChild("attention", options.attention);
        embeddingSize = attention.getEmbeddingSize();
        attentionResidual = addResidual("attention", options.attentionNorm == null);
        if (crossAttention == null) {
            crossAttentionResidual = null;
        } else {
            Check.that(
                    crossAttention != attention,
                    "the attention and the cross-attention are the same block: expected two blocks; build another");
            requireSize("cross-attention", crossAttention.getEmbeddingSize());
            addChild("crossAttention", crossAttention);
            crossAttentionResidual = addResidual("crossAttention", true);
        }
        requireSize("feed-forward network", options.feedForward.embeddingSize());
        feedForward = addChild("feedForward", options.feedForward);
        feedForwardResidual = addResidual(
                "feedForward",
                options.arrangement != Arrangement.PARALLEL_WITH_ONE_NORM && options.feedForwardNorm == null);
    }

    private void requireSize(String name, int size) {
        Check.that(
                size == embeddingSize,
                () -> "the " + name + " has embeddingSize " + size + ": expected the size of the attention, "
                        + embeddingSize + "; use the same size for both");
    }

    private Residual addResidual(String part, boolean hasNorm) {
        boolean hasTwoNorms = options.normPlacement == NormPlacement.AROUND_PART;
        Float scale = options.residualScale;
        Shape shape = new Shape(embeddingSize);
        return new Residual(
                options,
                hasNorm ? addChildBlock(part + "Norm", newNorm()) : null,
                hasNorm && hasTwoNorms ? addChildBlock(part + "ResultNorm", newNorm()) : null,
                scale == null ? null : addParameter(part + "Scale", shape, new ConstantInitializer(scale)));
    }

    /** Creates a normalization like the ones of this layer. */
    Block newNorm() {
        return options.norm.create(embeddingSize, options.epsilon);
    }

    /** {@return a new builder} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the block that {@link #getArguments} describes} */
    public static TransformerLayerBlock fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    /** How a layer calls its self-attention. */
    @FunctionalInterface
    interface Attend {

        /**
         * Returns the result of an attention.
         *
         * @param temporaries gets the arrays that this creates
         * @param inputs x and perhaps a mask
         * @param attention adds its result to the temporaries
         */
        NDArray of(Temporaries temporaries, NDList inputs, Function<NDList, NDArray> attention);
    }

    @Override
    protected NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        return compute(parameterStore, inputs, training, params, (temporaries, all, attention) -> attention.apply(all));
    }

    /** The outputs, new arrays, with another call of the self-attention. */
    NDList forward(
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params,
            Attend attendTo) {
        return reading(() -> compute(parameterStore, inputs, training, params, attendTo));
    }

    private NDList compute(
            ParameterStore parameterStore,
            NDList inputs,
            boolean training,
            PairList<String, Object> params,
            Attend attendTo) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        feedForward.requireType(this, parameterStore, x, training);
        if (!attention.getRelativeEncodings().isEmpty()) {
            InputMistakes.checkPositionsOnce(x);
        }
        if (x.getShape().size() == 0) {
            return withMask(x.duplicate(), inputs);
        }
        try (Temporaries temporaries = new Temporaries()) {
            Residual.Call call = new Residual.Call(this, parameterStore, training, Positions.once(params), temporaries);
            boolean isDecoder = crossAttention != null;
            Residual.Call ofItself = isDecoder ? call.without(MultiHeadAttentionBlock.MEMORY_POSITIONS) : call;
            UnaryOperator<NDArray> attend = y -> attendTo.of(
                    temporaries, withMask(inputs, isDecoder ? 2 : 1, y), all -> ofItself.attend(attention, all));
            UnaryOperator<NDArray> feed = y -> call.apply(feedForward, y);
            if (options.arrangement != Arrangement.SEQUENTIAL) {
                return withMask(inParallel(call, x, attend, feed), inputs);
            }
            x = attentionResidual.add(call, x, attend);
            if (isDecoder) {
                NDArray memory = inputs.get(1);
                x = crossAttentionResidual.add(
                        call, x, y -> call.attend(crossAttention, withMask(inputs, 3, memory, y, memory)));
            }
            NDArray result = feedForwardResidual.addInOneCall(call, x, feedForward);
            return withMask(
                    result != null ? result : temporaries.remove(feedForwardResidual.add(call, x, feed)), inputs);
        }
    }

    /** The output, followed by the mask of the inputs if it is passed on. */
    private NDList withMask(NDArray output, NDList inputs) {
        NDList outputs = new NDList(output);
        if (options.returnMask != null && inputs.size() == 2) {
            outputs.add(inputs.get(1));
        }
        return outputs;
    }

    /** The inputs of an attention, with the mask from the layer's inputs if there is one. */
    private NDList withMask(NDList inputs, int maskIndex, NDArray... arrays) {
        NDList all = new NDList(arrays);
        NDArray mask = inputs.size() > maskIndex ? inputs.get(maskIndex) : null;
        if (mask != null && (mask.size() > 0 || crossAttention == null)) {
            all.add(mask);
        }
        return all;
    }

    /** Adds the attention and the feed-forward network, both of x, to x: a new array. */
    private NDArray inParallel(
            Residual.Call call, NDArray x, UnaryOperator<NDArray> attend, UnaryOperator<NDArray> feed) {
        NDArray normed = call.apply(attentionResidual.norm(), x);
        NDArray attended = attentionResidual.branch(call, attend.apply(normed));
        boolean isShared = options.arrangement == Arrangement.PARALLEL_WITH_ONE_NORM;
        NDArray fed = feedForwardResidual.branch(
                call, feed.apply(isShared ? normed : call.apply(feedForwardResidual.norm(), x)));
        return call.temporaries().add(x.add(attended)).add(fed);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return options.returnMask != null ? inputShapes.clone() : new Shape[] {inputShapes[0]};
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
        Shape[] x = {Shape.update(inputShapes[0], 2, embeddingSize)};
        for (Block child : getChildren().values()) {
            initializeChild(child, manager, dataType, child == crossAttention ? crossShapes(inputShapes) : x);
        }
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

    /** {@return the feed-forward network} */
    public FeedForwardBlock getFeedForward() {
        return feedForward;
    }

    /** {@return the normalization of the attention, or the first of two, with parameters of (D); null for none} */
    public Block getAttentionNorm() {
        return attentionResidual.norm();
    }

    /**
     * {@return the normalization of the cross-attention, or the first of two, with parameters of (D); null for none}
     */
    public Block getCrossAttentionNorm() {
        return crossAttention == null ? null : crossAttentionResidual.norm();
    }

    /**
     * {@return the normalization of the feed-forward network, or the first of two, with parameters of (D); null for
     * none, and if it has the normalization of the attention}
     */
    public Block getFeedForwardNorm() {
        return feedForwardResidual.norm();
    }

    /** {@return the second normalization of the attention, with parameters of (D); null for none} */
    public Block getAttentionResultNorm() {
        return attentionResidual.resultNorm();
    }

    /** {@return the second normalization of the feed-forward network, with parameters of (D); null for none} */
    public Block getFeedForwardResultNorm() {
        return feedForwardResidual.resultNorm();
    }

    /**
     * {@return the factors of the attention's result, the parameter (D); null without {@link Builder#optResidualScale}}
     */
    public Parameter getAttentionScale() {
        return attentionResidual.scale();
    }

    /** {@return the factors of the feed-forward network's result, the parameter (D); null for none} */
    public Parameter getFeedForwardScale() {
        return feedForwardResidual.scale();
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

    /** The normalization. */
    public enum Norm {
        /** Layer normalization, a {@link LayerNormBlock}. */
        LAYER,
        /** Root mean square normalization, an {@link RmsNormBlock}. */
        RMS;

        private Block create(int embeddingSize, double epsilon) {
            return this == LAYER
                    ? LayerNormBlock.builder()
                            .setEmbeddingSize(embeddingSize)
                            .optEpsilon(epsilon)
                            .build()
                    : RmsNormBlock.builder()
                            .setEmbeddingSize(embeddingSize)
                            .optEpsilon(epsilon)
                            .build();
        }
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

    /** Builds a {@link TransformerLayerBlock}. */
    public static final class Builder extends BlockBuilder<TransformerLayerBlock, Builder> {

        /** An attention without other options; null for none. */
        private MultiHeadAttentionBlock.Builder plain;

        private Builder() {
            super(Options.class, TransformerLayerBlock::new);
        }

        /**
         * Sets the attention over the layer's input, and with it D; in a decoder it is causal. Not together with
         * {@link #setEmbeddingSize} and the other options of a plain attention.
         */
        public Builder setAttention(MultiHeadAttentionBlock block) {
            requireOneAttention(plain == null);
            return setChild("attention", block);
        }

        /** Sets D, for an attention with the options of this builder only. */
        @WithoutOption
        public Builder setEmbeddingSize(int embeddingSize) {
            plain().setEmbeddingSize(embeddingSize);
            return this;
        }

        /** Sets N, the number of heads of that attention. */
        @WithoutOption
        public Builder setHeadCount(int headCount) {
            plain().setHeadCount(headCount);
            return this;
        }

        /** Sets whether that attention is causal (default: false). */
        @WithoutOption
        public Builder optCausal(boolean causal) {
            plain().optCausal(causal);
            return this;
        }

        /** Sets the relative encodings of that attention (default: none). */
        @WithoutOption
        public Builder optRelativeEncoding(RelativeEncoding... encodings) {
            plain().optRelativeEncoding(encodings);
            return this;
        }

        private MultiHeadAttentionBlock.Builder plain() {
            if (plain == null) {
                requireOneAttention(!options().containsKey("attention"));
                plain = MultiHeadAttentionBlock.builder();
                Supplier<MultiHeadAttentionBlock> attention = plain::build;
                set("attention", attention);
            }
            return plain;
        }

        private static void requireOneAttention(boolean holds) {
            Check.that(
                    holds,
                    "an attention, and options of a plain one: expected one of them; set all options in the builder of"
                            + " the attention");
        }

        /** Sets the attention over an encoder's output, of the same embedding size (default: none). */
        public Builder optCrossAttention(MultiHeadAttentionBlock block) {
            return setChild("crossAttention", block);
        }

        /** Sets the feed-forward network, of the same embedding size (default: ReLU, and a hidden size of 4 · D). */
        public Builder optFeedForward(FeedForwardBlock block) {
            return setChild("feedForward", block);
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

        /**
         * Multiplies the result of each part by a fixed number, {@code residual_multiplier} of Granite (default: 1).
         */
        public Builder optResidualFactor(double residualFactor) {
            return set("residualFactor", residualFactor);
        }

        /** Normalizes in the attention's part (default: true); ModernBERT's first layer does not. */
        public Builder optAttentionNorm(boolean attentionNorm) {
            return set("attentionNorm", attentionNorm);
        }

        /** Normalizes in the feed-forward network's part (default: true). */
        public Builder optFeedForwardNorm(boolean feedForwardNorm) {
            return set("feedForwardNorm", feedForwardNorm);
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
         * Returns the mask after the output, {@code [x, mask]}, for the next block of a
         * {@link ai.djl.nn.SequentialBlock} (default: false). Without a mask, the output is {@code [x]}.
         */
        public Builder optReturnMask(boolean returnMask) {
            return set("returnMask", returnMask);
        }

        /**
         * Sets the dropout rate in training of the result of each part, at least 0 and below 1 (default: 0). The
         * attention and the feed-forward network have dropout rates of their own.
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
