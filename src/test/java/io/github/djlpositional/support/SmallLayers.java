package io.github.djlpositional.support;

import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;

/** Builders of small attentions, feed-forward networks and layers: D = 8, N = 2, H = 4, hidden size 16. */
public final class SmallLayers {

    private SmallLayers() {}

    public static MultiHeadAttentionBlock.Builder attention() {
        return MultiHeadAttentionBlock.builder().setEmbeddingSize(8).setHeadCount(2);
    }

    public static MultiHeadAttentionBlock.Builder causal() {
        return attention().optCausal(true);
    }

    public static FeedForwardBlock.Builder feedForward(Nonlinearity nonlinearity) {
        return FeedForwardBlock.builder().setEmbeddingSize(8).setHiddenSize(16).optNonlinearity(nonlinearity);
    }

    public static TransformerLayerBlock.Builder layer(MultiHeadAttentionBlock.Builder attention) {
        return TransformerLayerBlock.builder()
                .setAttention(attention.build())
                .optFeedForward(feedForward(Nonlinearity.RELU).build());
    }

    public static TransformerLayerBlock.Builder layer() {
        return layer(attention());
    }

    /** A layer with a causal attention and one to the output of an encoder. */
    public static TransformerLayerBlock.Builder decoderLayer() {
        return layer(causal()).optCrossAttention(attention().build());
    }
}
