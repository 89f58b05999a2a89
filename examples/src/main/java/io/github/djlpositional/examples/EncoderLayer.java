package io.github.djlpositional.examples;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.nn.norm.LayerNorm;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import java.util.List;

/**
 * One encoder layer as in Vaswani et al., <em>Attention Is All You Need</em> (2017), section 3.1: self-attention and a
 * feed-forward network, each followed by dropout, a residual connection and layer normalization.
 *
 * <p>Inputs: x (B, T, D) and a mask (B, T), 1 for a token and 0 for padding. Output: (B, T, D).
 *
 * <p>DJL's own {@code TransformerEncoderBlock} normalizes over the batch and adds the input twice, so it is not used
 * here.
 */
final class EncoderLayer extends AbstractBlock {

    private final float dropoutRate;
    private final MultiHeadAttentionBlock attention;
    private final Block attentionNorm;
    private final Block feedForward;
    private final Block feedForwardNorm;

    EncoderLayer(EncoderSpec spec) {
        dropoutRate = spec.dropoutRate();
        MultiHeadAttentionBlock.Builder heads = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(spec.embeddingSize())
                .setHeadCount(spec.heads())
                .optDropoutRate(dropoutRate);
        spec.encoding().relative(spec).ifPresent(heads::optRelativeEncoding);
        attention = addChildBlock("attention", heads.build());
        attentionNorm =
                addChildBlock("attentionNorm", LayerNorm.builder().axis(2).build());
        feedForward = addChildBlock(
                "feedForward",
                new SequentialBlock()
                        .add(Linear.builder().setUnits(spec.feedForwardSize()).build())
                        .add(Activation.reluBlock())
                        .add(Linear.builder().setUnits(spec.embeddingSize()).build()));
        feedForwardNorm =
                addChildBlock("feedForwardNorm", LayerNorm.builder().axis(2).build());
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray x = inputs.get(0);
        NDArray isToken = inputs.get(1);
        NDArray attended = apply(attention, store, training, x, isToken);
        x = apply(attentionNorm, store, training, x.add(dropout(attended, training)));
        NDArray fed = apply(feedForward, store, training, x);
        return new NDList(apply(feedForwardNorm, store, training, x.add(dropout(fed, training))));
    }

    /** Returns the attention probabilities (B, heads, T, T) for the inputs of a forward. */
    NDArray attentionOf(ParameterStore store, NDList inputs) {
        return attention.probabilities(store, inputs);
    }

    private static NDArray apply(Block block, ParameterStore store, boolean training, NDArray... inputs) {
        return block.forward(store, new NDList(inputs), training).singletonOrThrow();
    }

    private NDArray dropout(NDArray array, boolean training) {
        return training && dropoutRate > 0
                ? Dropout.dropout(array, dropoutRate, true).singletonOrThrow()
                : array;
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        for (Block child : List.of(attention, attentionNorm, feedForward, feedForwardNorm)) {
            child.initialize(manager, dataType, inputShapes[0]);
        }
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {inputShapes[0]};
    }
}
