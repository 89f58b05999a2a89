package io.github.djlpositional.peers;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.convolutional.Conv2d;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.huggingface.HuggingFaceModel.EncoderDecoder;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.WeightLoader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** How the models of each family are built from {@code config.json} and loaded from {@code model.safetensors}. */
final class ModelFamilies {

    /** Builds the model of a case, and compares it. */
    interface Family {
        void compare(ModelCase peer, ModelComparison comparison) throws Exception;
    }

    private static final List<String> DECODERS = List.of(
            "llama",
            "llama_bf16",
            "llama_sharded",
            "mistral",
            "qwen2",
            "qwen2_layers",
            "qwen2_vl",
            "qwen3",
            "gemma",
            "gemma2",
            "gemma3",
            "phi",
            "phi3",
            "olmo",
            "olmo_clip",
            "olmo2",
            "olmo3",
            "cohere",
            "cohere2",
            "smollm3",
            "granite",
            "stablelm",
            "glm4",
            "starcoder2",
            "opt",
            "gpt2",
            "gptj",
            "gpt_neox",
            "bloom",
            "bloom_6",
            "mpt",
            "mpt_6",
            "falcon",
            "falcon_new",
            "falcon_rw");

    private static final List<String> ENCODERS = List.of(
            "bert",
            "roberta",
            "xlm_roberta",
            "mpnet",
            "distilbert",
            "modernbert",
            "nomic_bert",
            "deberta_v2",
            "deberta_biased",
            "electra",
            "electra_masked",
            "albert",
            "albert_masked");

    static final Map<String, Family> ALL = new HashMap<>(Map.of(
            "t5", ModelFamilies::t5,
            "t5_gated", ModelFamilies::t5,
            "vit", ModelFamilies::vit));

    static {
        DECODERS.forEach(name -> ALL.put(name, ModelFamilies::decoder));
        ENCODERS.forEach(name -> ALL.put(name, ModelFamilies::encoder));
    }

    private ModelFamilies() {}

    /** A decoder from its folder, with its output layer. */
    private static void decoder(ModelCase peer, ModelComparison comparison) throws Exception {
        TransformerStackBlock stack = HuggingFaceModel.load(peer.folder(), peer.manager());
        comparison.decoder(stack, (ids, mask, params) -> peer.forward(stack, params, ids, mask));
    }

    /** An encoder from its folder, with the head of a masked language model if it has one. */
    private static void encoder(ModelCase peer, ModelComparison comparison) throws Exception {
        TransformerStackBlock stack = HuggingFaceModel.load(peer.folder(), peer.manager());
        comparison.encoder(stack, (ids, mask, params) -> peer.forward(stack, params, ids, mask));
    }

    private static void t5(ModelCase peer, ModelComparison comparison) throws Exception {
        EncoderDecoder model = HuggingFaceModel.loadEncoderDecoder(peer.folder(), peer.manager());
        comparison.sequenceToSequence(model.encoder(), model.decoder());
    }

    private static void vit(ModelCase peer, ModelComparison comparison) throws Exception {
        NDArray pixels = peer.array("pixels");
        int size = peer.size("hidden_size");
        int patch = peer.size("patch_size");
        int rows = peer.list("image_size").get(0).getAsInt() / patch;
        int columns = peer.list("image_size").get(1).getAsInt() / patch;
        Conv2d patches = Conv2d.builder()
                .setKernelShape(new Shape(patch, patch))
                .optStride(new Shape(patch, patch))
                .setFilters(size)
                .build();
        LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optGrid(1, rows, columns)
                .optInitialEncodings(peer.weight("embeddings.position_embeddings"))
                .build();
        TransformerStackBlock stack = TransformerStackBlock.builder()
                .setLayers(layers(
                        peer.size("num_hidden_layers"),
                        i -> plainLayer(peer).optNormPlacement(NormPlacement.BEFORE_PART)))
                .build();
        peer.initialize(patches, pixels.getShape());
        peer.initialize(positions, new Shape(1, 1 + rows * columns, size));
        peer.initialize(stack, new Shape(1, 1, size));
        WeightLoader loader = peer.loader()
                .module("embeddings.patch_embeddings.projection.", patches)
                .module("layernorm.", stack.getFinalNorm())
                .allowUnused("embeddings.cls_token", "embeddings.position_embeddings", "pooler.*");
        layers(loader, "encoder.layer.", stack, """
                attention_queryProjection    attention.attention.query
                attention_keyProjection      attention.attention.key
                attention_valueProjection    attention.attention.value
                attention_resultProjection   attention.output.dense
                attentionNorm                layernorm_before
                feedForward_hiddenProjection intermediate.dense
                feedForward_outputProjection output.dense
                feedForwardNorm              layernorm_after
                """);
        loader.load(patches, stack);
        NDArray cells = peer.forward(patches, null, pixels)
                .reshape(-1, size, (long) rows * columns)
                .transpose(0, 2, 1);
        NDArray first = peer.weight("embeddings.cls_token")
                .broadcast(new Shape(cells.getShape().get(0), 1, size));
        comparison.vision(stack, peer.forward(positions, null, first.concat(cells, 1)));
    }

    private static List<TransformerLayerBlock> layers(int count, IntFunction<TransformerLayerBlock.Builder> layer) {
        return IntStream.range(0, count).mapToObj(i -> layer.apply(i).build()).toList();
    }

    private static TransformerLayerBlock.Builder layer(
            MultiHeadAttentionBlock.Builder builder, int hiddenSize, Nonlinearity nonlinearity, boolean bias) {
        MultiHeadAttentionBlock attention = builder.build();
        return TransformerLayerBlock.builder()
                .setAttention(attention)
                .optFeedForward(FeedForwardBlock.builder()
                        .setEmbeddingSize(attention.getEmbeddingSize())
                        .setHiddenSize(hiddenSize)
                        .optNonlinearity(nonlinearity)
                        .optBias(bias)
                        .build());
    }

    /** The layer of BERT. */
    private static TransformerLayerBlock.Builder plainLayer(ModelCase peer) {
        MultiHeadAttentionBlock.Builder attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(peer.size("hidden_size"))
                .setHeadCount(peer.size("num_attention_heads"));
        return layer(attention, peer.size("intermediate_size"), Nonlinearity.GELU, true)
                .optEpsilon(peer.number("layer_norm_eps"));
    }

    /**
     * Adds the tensors of a stack's layers.
     *
     * @param prefix the text before the number of a layer
     * @param table lines of a child of the layer, in the words of its parameters, and of its module in the file
     */
    private static void layers(WeightLoader loader, String prefix, TransformerStackBlock stack, String table) {
        Map<String, String> modules =
                table.lines().map(line -> line.split(" +")).collect(Collectors.toMap(line -> line[0], line -> line[1]));
        for (int i = 0; i < stack.getLayers().size(); i++) {
            String layer = prefix + i + ".";
            stack.getLayers().get(i).getParameters().forEach(each -> {
                String name = Peers.name(each.getKey());
                String module = modules.get(name.replaceFirst("_[a-z]+$", ""));
                if (module != null) { // others are parameters of an encoding
                    String kind = name.matches(".*_(bias|beta)") ? ".bias" : ".weight";
                    loader.table(layer + module + kind, each.getValue());
                }
            });
        }
    }
}
