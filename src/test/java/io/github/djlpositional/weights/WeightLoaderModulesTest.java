package io.github.djlpositional.weights;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.SmallLayers.attention;
import static io.github.djlpositional.support.SmallLayers.decoderLayer;
import static io.github.djlpositional.support.SmallLayers.feedForward;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallLayers;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Arrangement;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import org.junit.jupiter.api.Test;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * Modules of torch, loaded by their names with {@link WeightLoader#module} from the files that {@code make_layers.py}
 * and {@code make_weights.py} wrote, have the outputs that torch computed in float64. TensorNamesTest has the names of
 * Hugging Face. D = 8, two heads, hidden size 16, B = 2, T = 5, S = 4.
 */
class WeightLoaderModulesTest extends OnEachEngine {

    private static final Shape X = new Shape(2, 5, 8);

    private static TransformerStackBlock stack(int layers) {
        return TransformerStackBlock.builder()
                .setLayers(layers, SmallLayers::layer)
                .build();
    }

    private <B extends Block> B initialized(B block, Shape... shapes) {
        block.initialize(manager, DataType.FLOAT32, shapes);
        return block;
    }

    private static WeightLoader attentions() throws Exception {
        return Weights.loader("attention.safetensors");
    }

    /** A strict loader of a file of layers, except for what is in the file for other tests. */
    private static WeightLoader layers(String file) throws Exception {
        return WeightLoader.of(Weights.layers(file))
                .allowUnused("input", "memory*", "padding", "output*", "gradient*", "decoder.layers.*");
    }

    /** FLOAT32 is rounded in a few layers, of numbers below 4: 1e-5 is 20 times that. */
    private static void assertOutput(NDArray actual, double... expected) {
        requireClose(actual, expected, actual.getDataType() == DataType.FLOAT32 ? 1e-5 : 1e-10);
    }

    private NDArray input(DataType type, String name) throws Exception {
        double[] numbers = Weights.expected("attention " + name);
        return manager.create(numbers).reshape(2, -1, 8).toType(type, false);
    }

    @CartesianTest
    void loadsAttentionsOfPyTorch(
            @CartesianTest.Enum(names = {"FLOAT32", "FLOAT64"}) DataType type,
            @Values(booleans = {true, false}) boolean hasBias)
            throws Exception {
        String name = hasBias ? "self_attn" : "plain";
        MultiHeadAttentionBlock block = attention().optBias(hasBias).build();
        block.initialize(manager, type, X);
        int open = manager.getManagedArrays().size();
        attentions().module(name + ".", block).load(block);
        assertThat(manager.getManagedArrays()).hasSize(open);
        NDArray output =
                Forward.infer(manager, block, input(type, "keys"), input(type, "queries"), input(type, "values"));
        assertOutput(output, Weights.expected("attention " + name));
    }

    /** A layer of an encoder, or with a cross-attention of a decoder; pre-norm ones have GELU. */
    private static TransformerLayerBlock.Builder torchLayer(boolean isDecoder, boolean isPreNorm) {
        return (isDecoder ? decoderLayer() : layer())
                .optNormPlacement(isPreNorm ? NormPlacement.BEFORE_PART : NormPlacement.AFTER_SUM)
                .optFeedForward(feedForward(isPreNorm ? Nonlinearity.GELU : Nonlinearity.RELU)
                        .build());
    }

    private static TransformerStackBlock stack(boolean isDecoder, boolean isPreNorm) {
        return TransformerStackBlock.builder()
                .setLayers(2, () -> torchLayer(isDecoder, isPreNorm))
                .build(); // a final normalization only with pre-norm, as in the files
    }

    /** An encoder and a decoder, with masks: a call for each. */
    @CartesianTest
    void loadsTransformersOfPyTorch(
            @CartesianTest.Enum(names = {"FLOAT32", "FLOAT64"}) DataType type,
            @Values(booleans = {true, false}) boolean isPreNorm)
            throws Exception {
        String name = "transformer_" + (isPreNorm ? "pre_norm" : "post_norm");
        TransformerStackBlock encoder = stack(false, isPreNorm);
        TransformerStackBlock decoder = stack(true, isPreNorm);
        encoder.initialize(manager, type, X);
        decoder.initialize(manager, type, X, X);
        WeightLoader.of(Weights.layers(name))
                .module("encoder.", encoder)
                .module("decoder.", decoder)
                .load(encoder, decoder);
        WeightFile outputs = Weights.layers(name + "_output");
        NDArray source = outputs.read(manager, "source").toType(type, false);
        NDArray target = outputs.read(manager, "target").toType(type, false);
        NDArray isSource = outputs.read(manager, "source_padding").logicalNot();
        NDArray isTarget = outputs.read(manager, "target_padding").logicalNot();
        NDArray memory = Forward.infer(manager, encoder, source, isSource);
        assertOutput(memory, doubles(outputs.read(manager, "memory")));
        assertOutput(
                Forward.infer(manager, decoder, target, memory, isTarget, isSource),
                doubles(outputs.read(manager, "output")));
    }

    /** As in a transformer with bias=False, which torch 1.13 does not have. */
    @Test
    void loadsNormsWithoutBias() throws Exception {
        LayerNorm norm = LayerNorm.builder().axis(2).build();
        norm.initialize(manager, DataType.FLOAT32, new Shape(2, 5, 6));
        norm.getParameters().get("gamma").getArray().addi(1);
        Weights.loader("bert.safetensors")
                .module("bert.embeddings.LayerNorm.", norm)
                .allowMissing("*beta")
                .load(norm);
        assertThat(norm.getParameters().get("gamma").getArray().toFloatArray()).containsOnly(1);
        assertThat(norm.getParameters().get("beta").getArray().toFloatArray()).containsOnly(0);
    }

    @Test
    void rejectsAttentionsOfOtherOptions() {
        MultiHeadAttentionBlock biased = initialized(attention().build(), X);
        MultiHeadAttentionBlock plain = initialized(attention().optBias(false).build(), X);
        assertAll(
                rejected(
                        () -> attentions().module("self_attn.", plain),
                        "\"self_attn.\"",
                        "in_proj_bias",
                        "attention.safetensors"),
                rejected(() -> attentions().module("plain.", biased), "\"plain.\"", "in_proj_bias"),
                rejected(() -> attentions().module("extended.", biased), "bias_k, bias_v"),
                rejected(() -> attentions().module("separate.", biased), "q_proj_weight", "kdim"));
    }

    @Test
    void rejectsAttentionsOfOtherSizesAndNames() {
        MultiHeadAttentionBlock block = initialized(attention().build(), X);
        MultiHeadAttentionBlock large = attention().setEmbeddingSize(16).build();
        MultiHeadAttentionBlock small =
                initialized(attention().setEmbeddingSize(4).build(), new Shape(1, 1, 4));
        MultiHeadAttentionBlock other = attention().build();
        assertAll(
                rejected(() -> attentions().module("attn.", block), "\"attn.out_proj.weight\"", "self_attn.out_pr"),
                rejected(() -> attentions().module("self_attn.", large), "rows [16, 32)", "(24, 8)"),
                rejected(() -> attentions().module("self_attn.", small).load(), "self_attn.in_proj_weight", "(4, 4)"),
                rejected(
                        () -> attentions().module("self_attn.", other).load(),
                        "self_attn.in_proj_weight",
                        "initialize"));
    }

    @Test
    void rejectsLayersWithOtherParts() {
        TransformerLayerBlock encoder = layer().build();
        encoder.initialize(manager, DataType.FLOAT64, X); // as in the files
        TransformerLayerBlock decoder = initialized(torchLayer(true, false).build(), X, X);
        TransformerLayerBlock gated =
                layer().optFeedForward(feedForward(Nonlinearity.SWIGLU).build()).build();
        TransformerLayerBlock parallel = layer().optNormPlacement(NormPlacement.BEFORE_PART)
                .optArrangement(Arrangement.PARALLEL_WITH_ONE_NORM)
                .build();
        assertAll(
                rejected(() -> layers("encoder_post_norm").module("", decoder), "\"multihead_attn.out_proj.weight\""),
                rejected(
                        () -> layers("decoder_post_norm").module("", encoder).load(),
                        "norm3.weight\"",
                        "\"multihead_attn.in_proj_bias\""),
                rejected(
                        () -> layers("encoder_post_norm").module("layers.0.", encoder),
                        "\"layers.0.self_attn.out_proj.weight\"",
                        "\"self_attn.out_proj.weight\""),
                rejected(() -> layers("encoder_post_norm").module("", gated), "gate", "optNonlinearity"),
                rejected(() -> layers("encoder_post_norm").module("", parallel), "one norm", "optArrangement"));
    }

    @Test
    void rejectsStacksWithOtherLayersAndNorms() {
        TransformerStackBlock one = initialized(stack(1), X);
        TransformerStackBlock two = initialized(stack(2), X);
        TransformerStackBlock preNorm = stack(false, true);
        assertAll(
                rejected(
                        () -> layers("transformer_pre_norm")
                                .module("encoder.", two)
                                .load(),
                        "\"encoder.norm.weight\"",
                        "\"encoder.norm.bias\""),
                rejected(() -> layers("transformer_post_norm").module("encoder.", preNorm), "\"encoder.norm.weight\""),
                rejected(() -> layers("transformer_post_norm").module("encoder.", stack(3)), "encoder.layers.2."),
                rejected(
                        () -> layers("transformer_post_norm")
                                .module("encoder.", one)
                                .load(),
                        "\"encoder.layers.1.linear1.bias\""));
    }

    @Test
    void rejectsOtherBlocks() {
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(3)
                .setEmbeddingSize(8)
                .build();
        Linear linear = initialized(Linear.builder().setUnits(5).build(), new Shape(2, 4));
        assertAll(
                rejected(
                        () -> layers("encoder_post_norm").module("embedding.", input),
                        "InputEmbeddingBlock",
                        "embedding",
                        "table"),
                rejected(
                        () -> Weights.loader("linear.safetensors").module("x.", linear),
                        "parameter \"weight\" of Linear",
                        "\"x.weight\""),
                rejected(
                        () -> Weights.loader("linear.safetensors")
                                .module("", linear)
                                .load(),
                        "parameter \"weight\" of Linear",
                        "tensor \"weight\"",
                        "(3, 4)",
                        "(5, 4)"));
    }

    /** One layer of GPT-2's options, which the file has two of. */
    @Test
    void rejectsStacksUnderOtherNamesOfHuggingFace() throws Exception {
        TransformerStackBlock decoder = initialized(
                TransformerStackBlock.builder()
                        .optInput(InputEmbeddingBlock.builder()
                                .setVocabularySize(11)
                                .setEmbeddingSize(8)
                                .optNoPositions()
                                .build())
                        .setLayers(1, SmallLayers::layer)
                        .optFinalNorm(true)
                        .build(),
                new Shape(1, 5));
        TransformerStackBlock wide = TransformerStackBlock.builder()
                .setLayers(
                        1,
                        () -> layer().setAttention(
                                        attention().setEmbeddingSize(16).build())
                                .optFeedForward(feedForward(Nonlinearity.RELU)
                                        .setEmbeddingSize(16)
                                        .build()))
                .optFinalNorm(true)
                .build();
        initialized(wide, new Shape(1, 5, 16));
        WeightLoader used = layers("stack_gpt2").module("", decoder, TensorNames.of("GPT2"));
        assertAll(
                rejected(
                        () -> layers("stack_gpt2").module("transformer.", decoder, TensorNames.of("GPT2")),
                        "\"transformer.wte.weight\"",
                        "\"wte.weight\"",
                        "parameter \"embedding\" of InputEmbeddingBlock"),
                rejected(
                        () -> layers("stack_bert").module("bert.", decoder, TensorNames.of("DISTILBERT")),
                        "\"bert.transformer.layer.0.attention.q_lin.weight\"",
                        "bert.encoder"),
                rejected(
                        () -> layers("stack_gpt2")
                                .module("", decoder, TensorNames.of("GPT2"))
                                .load(),
                        "(13: [\"h.1.attn.c_attn.bias\"",
                        "allowUnused"),
                rejected(() -> used.module("", decoder, TensorNames.of("GPT2")), "embedding", "rows [0, 11)"),
                rejected(
                        () -> layers("stack_phi3").module("model.", wide, TensorNames.of("PHI3")),
                        "rows [16, 32) of tensor \"model.layers.0.self_attn.qkv_proj.weight\"",
                        "(16, 8)"));
    }

    @Test
    void rejectsNullInPlaceOfABlock() throws Exception {
        WeightLoader loader = attentions();
        assertAll(
                rejected(NullPointerException.class, () -> loader.module("", null), "block"),
                rejected(
                        NullPointerException.class,
                        () -> loader.module("", (TransformerStackBlock) null, TensorNames.of("GPT2")),
                        "stack"));
    }
}
