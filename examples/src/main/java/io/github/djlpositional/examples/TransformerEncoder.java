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
import java.util.ArrayList;
import java.util.List;

/**
 * A small sentence classifier after the paper's encoder: input embedding, N layers, the mean over the tokens, and a
 * linear head.
 *
 * <p>Input: token ids (B, T), integer, {@link #PADDING} after a sentence's end. Output: one score for each class, (B,
 * 2), and, if it was asked for, that mean, the sentence's embedding, (B, D).
 */
public final class TransformerEncoder extends AbstractBlock {

    /** The token id that stands for no token. */
    public static final int PADDING = 0;

    private static final int CLASSES = 2;

    private final EncoderSpec spec;
    private final boolean returnsEmbedding;
    private final Block input;
    private final List<EncoderLayer> layers = new ArrayList<>();
    private final Block head;

    /**
     * Builds an encoder of the given sizes.
     *
     * @param spec the sizes and the kind of positional encoding
     */
    public TransformerEncoder(EncoderSpec spec) {
        this(spec, false);
    }

    /**
     * Builds an encoder of the given sizes, to judge sentences and to turn them into vectors.
     *
     * @param spec the sizes and the kind of positional encoding
     * @param returnsEmbedding whether a forward returns the embedding beside the scores; a loss takes the scores alone
     */
    public TransformerEncoder(EncoderSpec spec, boolean returnsEmbedding) {
        this.spec = spec;
        this.returnsEmbedding = returnsEmbedding;
        InputEmbeddingBlock.Builder embedding = InputEmbeddingBlock.builder()
                .setVocabularySize(spec.vocabularySize())
                .setEmbeddingSize(spec.embeddingSize())
                .optPaddingIndex(PADDING)
                .optDropoutRate(spec.dropoutRate());
        spec.encoding().addTo(embedding, spec);
        input = addChildBlock("input", embedding.build());
        for (int i = 0; i < spec.layers(); i++) {
            layers.add(addChildBlock("layer", new EncoderLayer(spec)));
        }
        head = addChildBlock("head", Linear.builder().setUnits(CLASSES).build());
    }

    /**
     * Returns the sizes that it was built with.
     *
     * @return the sizes and the kind of positional encoding
     */
    public EncoderSpec spec() {
        return spec;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray isToken = isToken(inputs);
        NDArray x = input.forward(store, inputs, training, params).singletonOrThrow();
        for (Block layer : layers) {
            x = layer.forward(store, new NDList(x, isToken), training).singletonOrThrow();
        }
        NDArray sum = x.mul(isToken.expandDims(2)).sum(new int[] {1});
        NDArray mean = sum.div(isToken.sum(new int[] {1}, true));
        NDList outputs = head.forward(store, new NDList(mean), training);
        if (returnsEmbedding) {
            outputs.add(mean);
        }
        return outputs;
    }

    private static NDArray isToken(NDList inputs) {
        return inputs.head().neq(PADDING).toType(DataType.FLOAT32, false);
    }

    /** What each token looks at in each layer, (B, heads, T, T), of the inputs of a forward. */
    NDList attentionOf(ParameterStore store, NDList inputs) {
        NDArray isToken = isToken(inputs);
        NDArray x = input.forward(store, inputs, false).singletonOrThrow();
        NDList maps = new NDList();
        for (EncoderLayer layer : layers) {
            NDList given = new NDList(x, isToken);
            maps.add(layer.attentionOf(store, given));
            if (maps.size() < layers.size()) {
                x = layer.forward(store, given, false).singletonOrThrow();
            }
        }
        return maps;
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        input.initialize(manager, dataType, inputShapes);
        Shape embedded = inputShapes[0].add(spec.embeddingSize());
        for (Block layer : layers) {
            layer.initialize(manager, dataType, embedded);
        }
        head.initialize(manager, dataType, new Shape(inputShapes[0].get(0), spec.embeddingSize()));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        long batch = inputShapes[0].get(0);
        Shape scores = new Shape(batch, CLASSES);
        return returnsEmbedding ? new Shape[] {scores, new Shape(batch, spec.embeddingSize())} : new Shape[] {scores};
    }
}
