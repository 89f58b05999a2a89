package io.github.djlpositional.examples.sentences;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
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
import io.github.djlpositional.attention.TransformerLayerBlock;
import io.github.djlpositional.attention.TransformerStackBlock;
import io.github.djlpositional.math.GridResampling;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The encoder of BERT, Devlin et al. (2019): the vectors of tokens, positions and token types are added and normalized,
 * and pass through layers that are normalized after each part, with GELU.
 *
 * <p>Inputs: token ids (B, T), integer, and, if there is padding, a mask (B, T), 1 for a token and 0 for padding.
 * Output: a vector for each token, (B, T, D).
 */
final class BertEncoder extends AbstractBlock {

    /** As in the published configuration. */
    private static final double EPSILON = 1e-12;

    private static final int TOKEN_TYPES = 2;

    /** The standard deviation of new weights, as in BERT. */
    private static final float DEVIATION = 0.02f;

    /**
     * The sizes of an encoder.
     *
     * @param vocabulary the number of token ids
     * @param positions the maximum number of tokens, T
     * @param size the size of a token's vector, D
     * @param heads the number of heads
     * @param hiddenSize the size between the two matrices of a feed-forward network
     * @param layers the number of layers
     */
    record Sizes(int vocabulary, int positions, int size, int heads, int hiddenSize, int layers) {

        /** The sizes of all-MiniLM-L6-v2. */
        static final Sizes MINI_LM = new Sizes(30_522, 512, 384, 12, 1536, 6);
    }

    private final Sizes sizes;
    private final LearnedPositionalEncodingBlock positions;
    private final InputEmbeddingBlock input;
    private final Parameter tokenTypes;
    private final Block inputNorm;
    private final TransformerStackBlock layers;

    /**
     * Builds an encoder that has no weights yet.
     *
     * @param sizes its sizes
     */
    BertEncoder(Sizes sizes) {
        this(
                sizes,
                LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(sizes.size)
                        .optMaxSequenceLength(sizes.positions)
                        .build());
    }

    private BertEncoder(Sizes sizes, LearnedPositionalEncodingBlock positions) {
        this.sizes = sizes;
        this.positions = positions;
        input = addChildBlock(
                "input",
                InputEmbeddingBlock.builder()
                        .setVocabularySize(sizes.vocabulary)
                        .setEmbeddingSize(sizes.size)
                        .optPositionalEncoding(positions)
                        .build());
        tokenTypes = addParameter(Parameter.builder()
                .setName("tokenTypes")
                .setType(Parameter.Type.WEIGHT)
                .optShape(new Shape(TOKEN_TYPES, sizes.size))
                .build());
        inputNorm = addChildBlock(
                "inputNorm",
                LayerNorm.builder().axis(2).optEpsilon((float) EPSILON).build());
        layers = addChildBlock(
                "layers",
                TransformerStackBlock.builder()
                        .setLayers(sizes.layers, () -> layer(sizes))
                        .build());
        // the position table starts like this, or with the given encodings
        Initializer initializer = new NormalInitializer(DEVIATION);
        input.getTokenTable().setInitializer(initializer);
        tokenTypes.setInitializer(initializer);
        layers.setInitializer(initializer, Parameter.Type.WEIGHT);
    }

    private static TransformerLayerBlock.Builder layer(Sizes sizes) {
        return TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(sizes.size)
                        .setHeadCount(sizes.heads)
                        .build())
                .setHiddenSize(sizes.hiddenSize)
                .optNonlinearity(TransformerLayerBlock.Nonlinearity.GELU)
                .optEpsilon(EPSILON);
    }

    /**
     * Copies this encoder for longer texts. Its position table is stretched by linear interpolation, so that the first
     * and the last position keep their vectors. The copy is frozen.
     *
     * @param count the new number of positions
     * @param manager the manager of the copies
     * @return the copy
     */
    BertEncoder stretched(int count, NDManager manager) {
        BertEncoder copy = new BertEncoder(
                new Sizes(sizes.vocabulary, count, sizes.size, sizes.heads, sizes.hiddenSize, sizes.layers),
                LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(sizes.size)
                        .optMaxSequenceLength(count)
                        .optInitialEncodings(positions.getTable().getArray())
                        .optResampling(GridResampling.BILINEAR_ALIGNED)
                        .build());
        copy.initialize(manager, DataType.FLOAT32, new Shape(1, 1));
        copy.freezeParameters(true);
        Map<String, Parameter> copies = copy.parametersByName();
        copies.values().remove(copy.positions.getTable());
        Map<String, Parameter> originals = parametersByName();
        copies.forEach((name, parameter) -> {
            NDArray array = originals.get(name).getArray();
            parameter.getArray().set(NDIndex.sliceAxis(0, 0, array.getShape().get(0)), array);
        });
        return copy;
    }

    Sizes sizes() {
        return sizes;
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
        named.put("embeddings.token_type_embeddings.weight", tokenTypes);
        put(named, "embeddings.LayerNorm", inputNorm, "gamma", "beta");
        for (TransformerLayerBlock layer : layers.getLayers()) {
            String name = "encoder.layer." + layers.getLayers().indexOf(layer);
            MultiHeadAttentionBlock attention = layer.getAttention();
            put(named, name + ".attention.self.query", attention.getQueryProjection(), "weight", "bias");
            put(named, name + ".attention.self.key", attention.getKeyProjection(), "weight", "bias");
            put(named, name + ".attention.self.value", attention.getValueProjection(), "weight", "bias");
            put(named, name + ".attention.output.dense", attention.getResultProjection(), "weight", "bias");
            put(named, name + ".attention.output.LayerNorm", layer.getAttentionNorm(), "gamma", "beta");
            put(named, name + ".intermediate.dense", layer.getHiddenProjection(), "weight", "bias");
            put(named, name + ".output.dense", layer.getOutputProjection(), "weight", "bias");
            put(named, name + ".output.LayerNorm", layer.getFeedForwardNorm(), "gamma", "beta");
        }
        return named;
    }

    private static void put(Map<String, Parameter> named, String name, Block block, String weight, String bias) {
        named.put(name + ".weight", block.getDirectParameters().get(weight));
        named.put(name + ".bias", block.getDirectParameters().get(bias));
    }

    /** Returns the attention probabilities of each layer, (1, heads, T, T), for the ids of one text, (1, T). */
    NDList attentionOf(ParameterStore store, NDList ids) {
        NDList maps = new NDList();
        NDList x = embed(store, ids, false);
        for (TransformerLayerBlock layer : layers.getLayers()) {
            maps.add(layer.getAttention().probabilities(store, x));
            x = layer.forward(store, x, false);
        }
        return maps;
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDList given = embed(store, inputs, training);
        given.addAll(inputs.subNDList(1));
        return layers.forward(store, given, training);
    }

    private NDList embed(ParameterStore store, NDList inputs, boolean training) {
        NDArray x = input.forward(store, new NDList(inputs.head()), training).singletonOrThrow();
        // all tokens of a single text have type 0
        NDArray type = store.getValue(tokenTypes, x.getDevice(), training).get(0);
        return inputNorm.forward(store, new NDList(x.add(type)), training);
    }

    /**
     * Returns the mean over the vectors of the tokens.
     *
     * @param vectors the output of a forward, (B, T, D)
     * @param inputs the inputs of the forward
     * @return (B, D)
     */
    static NDArray mean(NDArray vectors, NDList inputs) {
        if (inputs.size() == 1) {
            return vectors.mean(new int[] {1});
        }
        NDArray isToken = inputs.get(1).toType(vectors.getDataType(), false);
        NDArray sum = isToken.expandDims(1).matMul(vectors).squeeze(1);
        return sum.div(isToken.sum(new int[] {1}, true));
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
