package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;

/**
 * A linear classifier of the counts of the tokens, without regard to their order: each token adds its scores.
 *
 * <p>Input: token ids (B, T), 0 for padding. Further inputs are ignored. Output: a score for each class, (B, classes).
 */
final class BagOfWords extends AbstractBlock {

    private final InputEmbeddingBlock scores;

    BagOfWords(int vocabulary, int classes) {
        scores = addChildBlock(
                "scores",
                InputEmbeddingBlock.builder()
                        .setVocabularySize(vocabulary)
                        .setEmbeddingSize(classes)
                        .optNoPositions()
                        .optPaddingIndex(0)
                        .build());
        scores.setInitializer(Initializer.ZEROS, Parameter.Type.WEIGHT);
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray ofTokens =
                scores.forward(store, new NDList(inputs.head()), training).singletonOrThrow();
        return new NDList(ofTokens.sum(new int[] {1}));
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        scores.initialize(manager, dataType, inputShapes[0]);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {new Shape(inputShapes[0].get(0), scores.getEmbeddingSize())};
    }
}
