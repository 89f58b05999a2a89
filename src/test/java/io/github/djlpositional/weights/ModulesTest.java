package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.assertRejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.norm.LayerNorm;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Nonlinearity;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.nio.file.Path;
import java.util.Map;

/**
 * Modules of torch, loaded by their names from the files that {@code src/test/python/make_layers.py} wrote, have the
 * outputs that torch computed in float64. D = 8, two heads, hidden size 16, B = 2, T = 5, S = 4.
 */
class ModulesTest {

    /** The largest difference to what torch computed in float64. */
    private static final Map<DataType, Double> ERRORS = Map.of(DataType.FLOAT32, 1e-5, DataType.FLOAT64, 1e-10);

    private static final String[] NO_WEIGHTS = {"input", "memory*", "padding", "output*", "gradient*"};

    private static WeightFile open(String name) throws Exception {
        return WeightFile.open(Path.of(ModulesTest.class
                .getResource("/layers/" + name + ".safetensors")
                .toURI()));
    }

    private static MultiHeadAttentionBlock attention(boolean causal) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(causal)
                .build();
    }

    /** A layer of an encoder, or with a cross-attention of a decoder; pre-norm ones have GELU. */
    private static TransformerLayerBlock.Builder layer(boolean isDecoder, boolean isPreNorm) {
        TransformerLayerBlock.Builder builder = TransformerLayerBlock.builder()
                .setAttention(attention(isDecoder))
                .setHiddenSize(16)
                .optPreNorm(isPreNorm)
                .optNonlinearity(isPreNorm ? Nonlinearity.GELU : Nonlinearity.RELU);
        return isDecoder ? builder.optCrossAttention(attention(false)) : builder;
    }

    private static void assertOutput(NDArray actual, NDArray expected) {
        assertThat(actual.toType(DataType.FLOAT64, false).toDoubleArray())
                .containsExactly(expected.toDoubleArray(), within(ERRORS.get(actual.getDataType())));
    }

    @EngineTest
    void layers(NDManager manager, boolean isDecoder, boolean isPreNorm) throws Exception {
        WeightFile file = open((isDecoder ? "decoder" : "encoder") + (isPreNorm ? "_pre_norm" : "_post_norm"));
        TransformerLayerBlock layer = layer(isDecoder, isPreNorm).build();
        NDArray x = file.read(manager, "input");
        NDArray[] inputs = isDecoder ? new NDArray[] {x, file.read(manager, "memory")} : new NDArray[] {x};
        layer.initialize(
                manager,
                DataType.FLOAT64,
                isDecoder ? new Shape[] {x.getShape(), inputs[1].getShape()} : new Shape[] {x.getShape()});
        WeightLoader.of(file).module("", layer).allowUnused(NO_WEIGHTS).load(layer);
        assertOutput(Forward.infer(manager, layer, inputs), file.read(manager, "output"));
    }

    private static TransformerStackBlock stack(boolean isDecoder, boolean isPreNorm) {
        return TransformerStackBlock.builder()
                .setLayers(2, () -> layer(isDecoder, isPreNorm))
                .build(); // a final normalization only with pre-norm, as in the files
    }

    private static void initialize(NDManager manager, DataType type, TransformerStackBlock encoder, Block decoder) {
        Shape x = new Shape(2, 5, 8);
        encoder.initialize(manager, type, x);
        decoder.initialize(manager, type, x, x);
    }

    /** An encoder and a decoder, with masks: a call for each. */
    @EngineTest
    void transformers(NDManager manager, boolean isPreNorm) throws Exception {
        String name = "transformer_" + (isPreNorm ? "pre_norm" : "post_norm");
        for (DataType type : ERRORS.keySet()) {
            TransformerStackBlock encoder = stack(false, isPreNorm);
            TransformerStackBlock decoder = stack(true, isPreNorm);
            initialize(manager, type, encoder, decoder);
            WeightLoader.of(open(name))
                    .module("encoder.", encoder)
                    .module("decoder.", decoder)
                    .load(encoder, decoder);
            WeightFile outputs = open(name + "_output");
            NDArray source = outputs.read(manager, "source").toType(type, false);
            NDArray target = outputs.read(manager, "target").toType(type, false);
            NDArray isSource = outputs.read(manager, "source_padding").logicalNot();
            NDArray isTarget = outputs.read(manager, "target_padding").logicalNot();
            NDArray memory = Forward.infer(manager, encoder, source, isSource);
            assertOutput(memory, outputs.read(manager, "memory"));
            assertOutput(
                    Forward.infer(manager, decoder, target, memory, isTarget, isSource),
                    outputs.read(manager, "output"));
        }
    }

    /** As in a transformer with bias=False, which torch 1.13 does not have. */
    @EngineTest
    void normsWithoutBias(NDManager manager) throws Exception {
        LayerNorm norm = LayerNorm.builder().axis(2).build();
        norm.initialize(manager, DataType.FLOAT32, new Shape(2, 5, 6));
        String prefix = "bert.embeddings.LayerNorm.";
        assertRejected(
                () -> Weights.loader("bert.safetensors").module(prefix, norm).load(norm), "(1: [\"beta\"])");
        norm.getParameters().get("gamma").getArray().addi(1);
        Weights.loader("bert.safetensors")
                .module(prefix, norm)
                .allowMissing("*beta")
                .load(norm);
        assertThat(norm.getParameters().get("gamma").getArray().toFloatArray()).containsOnly(1);
        assertThat(norm.getParameters().get("beta").getArray().toFloatArray()).containsOnly(0);
    }
}
