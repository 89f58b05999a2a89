package io.github.djlpositional.peers;

import io.github.djlpositional.huggingface.HuggingFaceModel;
import io.github.djlpositional.huggingface.HuggingFaceModel.EncoderDecoder;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** How the models of each family are loaded and compared. */
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
            "qwen3_5",
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
            "nemotron",
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
            "deberta_one_term",
            "electra",
            "electra_masked",
            "albert",
            "albert_masked");

    private static final List<String> OF_PICTURES = List.of(
            "vit",
            "vit_classifier",
            "dinov2",
            "dinov2_registers",
            "dinov3",
            "dinov3_ungated",
            "beit",
            "swinv2",
            "swinv2_trained",
            "swinv2_large",
            "swinv2_classifier");

    static final Map<String, Family> ALL = new HashMap<>(Map.of(
            "t5", ModelFamilies::t5,
            "t5_gated", ModelFamilies::t5));

    static {
        DECODERS.forEach(name -> ALL.put(name, ModelFamilies::decoder));
        ENCODERS.forEach(name -> ALL.put(name, ModelFamilies::encoder));
        OF_PICTURES.forEach(name -> ALL.put(name, ModelFamilies::vision));
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

    /** An encoder of pictures from its folder. */
    private static void vision(ModelCase peer, ModelComparison comparison) throws Exception {
        comparison.vision(HuggingFaceModel.loadVision(peer.folder(), peer.manager()));
    }
}
