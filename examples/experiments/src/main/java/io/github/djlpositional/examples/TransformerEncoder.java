package io.github.djlpositional.examples;

import ai.djl.ndarray.NDArray;
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
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;

/**
 * A small sentence classifier based on the encoder of Vaswani et al. (2017): input embedding, encoder layers, the mean
 * over the tokens, and a linear head.
 *
 * <p>Input: token ids (B, T), integer, {@link #PADDING} after the end of a sentence. Output: one score for each class,
 * (B, 2), and the mean over the tokens, the sentence's embedding, (B, D).
 */
public final class TransformerEncoder extends AbstractBlock {

    /** The most words in a training sentence of a comparison, which some encodings are built for. */
    public static final int TRAINED_WORDS = 16;

    /** The token id of padding. */
    static final int PADDING = 0;

    private static final int CLASSES = 2;

    private final int size;
    private final TransformerStackBlock layers;
    private final Block head =
            addChildBlock("head", Linear.builder().setUnits(CLASSES).build());

    TransformerEncoder(EncoderSpec spec) {
        size = spec.size();
        InputEmbeddingBlock.Builder input = InputEmbeddingBlock.builder()
                .setVocabularySize(spec.vocabulary())
                .optPaddingIndex(PADDING);
        layers = addChildBlock(
                "layers",
                TransformerStackBlock.builder()
                        .optInput(spec.encoding().input(input, sizes(spec)))
                        .setLayers(spec.layers(), () -> layer(spec))
                        .build());
    }

    private static Encoding.Sizes sizes(EncoderSpec spec) {
        return new Encoding.Sizes(spec.size(), spec.heads(), TRAINED_WORDS, spec.maxWords(), false);
    }

    /** One layer as in the paper, section 3.1: normalized after each part, with ReLU. */
    static TransformerLayerBlock.Builder layer(EncoderSpec spec) {
        return TransformerLayerBlock.builder()
                .setAttention(spec.encoding().attention(sizes(spec)).build())
                .setFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(spec.size())
                        .setHiddenSize(spec.feedForward())
                        .build());
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray isToken = layers.getInput().mask(inputs.head()).toType(DataType.FLOAT32, false);
        NDArray x = layers.forward(store, inputs, training).singletonOrThrow();
        NDArray sum = x.mul(isToken.expandDims(2)).sum(new int[] {1});
        NDArray mean = sum.div(isToken.sum(new int[] {1}, true));
        NDArray scores = head.forward(store, new NDList(mean), training).singletonOrThrow();
        return new NDList(scores, mean);
    }

    TransformerStackBlock layers() {
        return layers;
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        layers.initialize(manager, dataType, inputShapes);
        head.initialize(manager, dataType, new Shape(inputShapes[0].get(0), size));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        long batch = inputShapes[0].get(0);
        return new Shape[] {new Shape(batch, CLASSES), new Shape(batch, size)};
    }
}
