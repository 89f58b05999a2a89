package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.LayerNorm;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.training.initializer.NormalInitializer;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.TensorNames;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The encoder of BERT, Devlin et al. (2019): the vectors of tokens, positions and token types are added and normalized,
 * and pass through layers that are normalized after each part, with GELU.
 *
 * <p>Inputs: token ids (B, T), integer, and, if there is padding, a mask (B, T), 1 for a token and 0 for padding.
 * Outputs: a vector for each token, (B, T, D), and the mask, if there is one.
 */
final class BertEncoder extends AbstractBlock {

    /** As in the published configuration. */
    private static final double EPSILON = 1e-12;

    /**
     * The sizes of an encoder: the numbers of token ids and of positions, the size of a token's vector, D, the number
     * of heads, the size between the two matrices of a feed-forward network, and the number of layers.
     */
    record Sizes(int vocabulary, int positions, int size, int heads, int hiddenSize, int layers) {

        /** The sizes of all-MiniLM-L6-v2. */
        static final Sizes MINI_LM = new Sizes(30_522, 512, 384, 12, 1536, 6);
    }

    private final Sizes sizes;
    private final LearnedPositionalEncodingBlock positions;
    private final InputEmbeddingBlock input;
    private final Block inputNorm;
    private final TransformerStackBlock layers;

    /** Builds an encoder that has no weights yet. */
    BertEncoder(Sizes sizes) {
        this.sizes = sizes;
        positions = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(sizes.size)
                .optMaxSequenceLength(sizes.positions)
                .build();
        input = addChildBlock(
                "input",
                InputEmbeddingBlock.builder()
                        .setVocabularySize(sizes.vocabulary)
                        .setEmbeddingSize(sizes.size)
                        .optTokenTypes(2) // all tokens of a single text have the first type
                        .optPositionalEncoding(positions)
                        .build());
        inputNorm = addChildBlock(
                "inputNorm",
                LayerNorm.builder().axis(2).optEpsilon((float) EPSILON).build());
        layers = addChildBlock(
                "layers",
                TransformerStackBlock.builder()
                        .setLayers(
                                sizes.layers,
                                () -> TransformerLayerBlock.builder()
                                        .setAttention(MultiHeadAttentionBlock.builder()
                                                .setEmbeddingSize(sizes.size)
                                                .setHeadCount(sizes.heads)
                                                .build())
                                        .setFeedForward(FeedForwardBlock.builder()
                                                .setEmbeddingSize(sizes.size)
                                                .setHiddenSize(sizes.hiddenSize)
                                                .optNonlinearity(Nonlinearity.GELU)
                                                .build())
                                        .optEpsilon(EPSILON))
                        .build());
        // as in BERT; the tables of positions and types start like this too
        Initializer initializer = new NormalInitializer(0.02f);
        input.getTokenTable().setInitializer(initializer);
        layers.setInitializer(initializer, Parameter.Type.WEIGHT);
    }

    /** Returns the layers, from the first to the last. */
    List<TransformerLayerBlock> layers() {
        return layers.getLayers();
    }

    /** Returns the parameters by the names that they have in Hugging Face's {@code BertModel}. */
    Map<String, Parameter> parametersByName() {
        Map<String, Parameter> named = new LinkedHashMap<>();
        named.put("embeddings.word_embeddings.weight", input.getTokenTable());
        named.put("embeddings.position_embeddings.weight", positions.getTable());
        named.put("embeddings.token_type_embeddings.weight", input.getTokenTypeTable());
        named.put("embeddings.LayerNorm.weight", inputNorm.getDirectParameters().get("gamma"));
        named.put("embeddings.LayerNorm.bias", inputNorm.getDirectParameters().get("beta"));
        TensorNames.BERT
                .tensors(layers)
                .forEach(tensor -> named.put(tensor.name(), tensor.parameters().get(0)));
        return named;
    }

    /** Returns the attention to one text of tokens with ids (1, T). */
    AttentionMaps attention(List<String> tokens, ParameterStore store, NDList ids) {
        return AttentionMaps.of(tokens, store, embed(store, ids, false), layers);
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDList mask = inputs.subNDList(1);
        NDList embedded = embed(store, inputs, training).addAll(mask);
        return layers.forward(store, embedded, training).addAll(mask);
    }

    private NDList embed(ParameterStore store, NDList inputs, boolean training) {
        NDList x = input.forward(store, new NDList(inputs.head()), training);
        return inputNorm.forward(store, x, training);
    }

    /** Returns the mean over the vectors of the tokens, (B, D), for the outputs of a forward. */
    static NDList mean(NDList outputs) {
        NDArray vectors = outputs.head();
        if (outputs.size() == 1) {
            return new NDList(vectors.mean(new int[] {1}));
        }
        NDArray isToken = outputs.get(1).toType(vectors.getDataType(), false);
        NDArray sum = isToken.expandDims(1).matMul(vectors).squeeze(1);
        return new NDList(sum.div(isToken.sum(new int[] {1}, true)));
    }

    @Override
    protected void initializeChildBlocks(NDManager manager, DataType dataType, Shape... inputShapes) {
        Shape vectors = inputShapes[0].add(sizes.size);
        input.initialize(manager, dataType, inputShapes[0]);
        inputNorm.initialize(manager, dataType, vectors);
        layers.initialize(manager, dataType, vectors);
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return new Shape[] {inputShapes[0].add(sizes.size)};
    }
}
