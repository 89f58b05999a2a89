package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import java.util.ArrayList;
import java.util.List;

/** The examples' encoder in its default sizes, without masks: token ids (B, T) to two scores (B, 2). */
final class Encoder extends AbstractBlock {

    static final int VOCABULARY = 2500;
    static final int SIZE = 64;
    static final int HEADS = 4;
    private static final int LAYERS = 3;
    private static final int FEED_FORWARD = 256;

    private final Block input;
    private final List<Block> attentions = new ArrayList<>();
    private final List<Block> attentionNorms = new ArrayList<>();
    private final List<Block> wide = new ArrayList<>();
    private final List<Block> narrow = new ArrayList<>();
    private final List<Block> norms = new ArrayList<>();
    private final Block head;

    Encoder(Block positions) {
        input = addChildBlock(
                "input",
                InputEmbeddingBlock.builder()
                        .setVocabularySize(VOCABULARY)
                        .setEmbeddingSize(SIZE)
                        .optPositionalEncoding(positions)
                        .build());
        for (int layer = 0; layer < LAYERS; layer++) {
            attentions.add(addChildBlock(
                    "attention",
                    MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(SIZE)
                            .setHeadCount(HEADS)
                            .build()));
            attentionNorms.add(
                    addChildBlock("attentionNorm", LayerNorm.builder().axis(2).build()));
            wide.add(addChildBlock(
                    "wide", Linear.builder().setUnits(FEED_FORWARD).build()));
            narrow.add(addChildBlock("narrow", Linear.builder().setUnits(SIZE).build()));
            norms.add(addChildBlock("norm", LayerNorm.builder().axis(2).build()));
        }
        head = addChildBlock("head", Linear.builder().setUnits(2).build());
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray x = apply(input, store, inputs.head(), training);
        for (int layer = 0; layer < LAYERS; layer++) {
            NDArray attended = apply(attentions.get(layer), store, x, training);
            x = apply(attentionNorms.get(layer), store, x.add(attended), training);
            NDArray fed = apply(
                    narrow.get(layer), store, Activation.relu(apply(wide.get(layer), store, x, training)), training);
            x = apply(norms.get(layer), store, x.add(fed), training);
        }
        return head.forward(store, new NDList(x.mean(new int[] {1})), training);
    }

    private static NDArray apply(Block block, ParameterStore store, NDArray x, boolean training) {
        return block.forward(store, new NDList(x), training).singletonOrThrow();
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape embedded = inputShapes[0].add(SIZE);
        input.initialize(manager, dataType, inputShapes);
        for (int layer = 0; layer < LAYERS; layer++) {
            attentions.get(layer).initialize(manager, dataType, embedded);
            attentionNorms.get(layer).initialize(manager, dataType, embedded);
            wide.get(layer).initialize(manager, dataType, embedded);
            narrow.get(layer).initialize(manager, dataType, inputShapes[0].add(FEED_FORWARD));
            norms.get(layer).initialize(manager, dataType, embedded);
        }
        head.initialize(manager, dataType, new Shape(inputShapes[0].get(0), SIZE));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {new Shape(inputShapes[0].get(0), 2)};
    }
}
