package io.github.djlpositional.guide;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;

// tag::decoder[]
/** [ids (B, T)] or [ids, mask] to a score for each token of the vocabulary, (B, T, V). */
final class LanguageModel extends AbstractBlock {

    private final Block layers;
    private final Block head;

    LanguageModel(TransformerStackBlock layers, int vocabularySize) {
        this.layers = addChildBlock("layers", layers);
        head = addChildBlock(
                "head", Linear.builder().setUnits(vocabularySize).optBias(false).build());
    }

    /** The architecture of Llama. */
    static LanguageModel llama() {
        TransformerStackBlock layers = TransformerStackBlock.builder()
                .optInput(InputEmbeddingBlock.builder()
                        .setVocabularySize(100)
                        .setEmbeddingSize(64)
                        .optNoPositions() // the attentions have rotary positions
                        .build())
                .setLayers(2, LanguageModel::layer)
                .build();
        return new LanguageModel(layers, 100);
    }

    static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(64)
                        .setHeadCount(4)
                        .optRelativeEncoding(
                                RotaryEmbeddingBlock.builder().setHeadSize(16).build())
                        .optCausal(true)
                        .optBias(false)
                        .build())
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(64)
                        .setHiddenSize(172)
                        .optNonlinearity(Nonlinearity.SWIGLU)
                        .optBias(false)
                        .build())
                .optNorm(Norm.RMS)
                .optNormPlacement(NormPlacement.BEFORE_PART);
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDList x = layers.forward(store, inputs, training, params);
        return head.forward(store, x, training);
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        layers.initialize(manager, dataType, inputShapes);
        head.initialize(manager, dataType, layers.getOutputShapes(inputShapes));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return head.getOutputShapes(layers.getOutputShapes(inputShapes));
    }
}
// end::decoder[]
