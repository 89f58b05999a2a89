package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;
import java.util.Map;

/**
 * Modules of torch, loaded by their names from the files that {@code make_layers.py} and {@code make_weights.py} wrote,
 * have the outputs that torch computed in float64. D = 8, two heads, hidden size 16, B = 2, T = 5, S = 4.
 */
class ModulesTest {

    /** The largest difference to what torch computed in float64. */
    private static final Map<DataType, Double> ERRORS = Map.of(DataType.FLOAT32, 1e-5, DataType.FLOAT64, 1e-10);

    private static final Shape X = new Shape(2, 5, 8);

    private static final String ATTENTION = "attention.safetensors";

    private static MultiHeadAttentionBlock.Builder attention(boolean causal) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(causal);
    }

    private static void assertOutput(NDArray actual, double... expected) {
        assertThat(actual.toType(DataType.FLOAT64, false).toDoubleArray())
                .containsExactly(expected, within(ERRORS.get(actual.getDataType())));
    }

    private static NDArray input(NDManager manager, DataType type, String name) throws Exception {
        double[] numbers = Weights.expected("attention " + name);
        return manager.create(numbers).reshape(2, -1, 8).toType(type, false);
    }

    @EngineTest
    void attentionOfPyTorch(NDManager manager) throws Exception {
        for (DataType type : ERRORS.keySet()) {
            for (boolean hasBias : new boolean[] {true, false}) {
                String name = hasBias ? "self_attn" : "plain";
                MultiHeadAttentionBlock block =
                        attention(false).optBias(hasBias).build();
                block.initialize(manager, type, X);
                int open = manager.getManagedArrays().size();
                Weights.loader(ATTENTION).module(name + ".", block).load();
                assertThat(manager.getManagedArrays()).hasSize(open);
                NDArray output = Forward.infer(
                        manager,
                        block,
                        input(manager, type, "keys"),
                        input(manager, type, "queries"),
                        input(manager, type, "values"));
                assertOutput(output, Weights.expected("attention " + name));
            }
        }
    }

    /** Conv1D stores (in, out); c_attn has the columns of queries, keys and values. */
    @EngineTest
    void layersOfGpt2(NDManager manager) throws Exception {
        for (DataType type : ERRORS.keySet()) {
            MultiHeadAttentionBlock block = attention(true).build();
            block.initialize(manager, type, X);
            Linear feedForward = Linear.builder().setUnits(32).build();
            feedForward.initialize(manager, type, X);
            WeightLoader loader = Weights.loader(ATTENTION);
            List<Linear> projections =
                    List.of(block.getQueryProjection(), block.getKeyProjection(), block.getValueProjection());
            for (int i = 0; i < 3; i++) {
                addConv1d(loader, "h.0.attn.c_attn.", 8 * i, 8 * i + 8, projections.get(i));
            }
            addConv1d(loader, "h.0.attn.c_proj.", 0, 8, block.getResultProjection());
            addConv1d(loader, "h.0.mlp.c_fc.", 0, 32, feedForward);
            loader.load();
            NDArray x = input(manager, type, "keys");
            assertOutput(Forward.infer(manager, block, x), Weights.expected("gpt2 attention"));
            assertOutput(Forward.infer(manager, feedForward, x), Weights.expected("gpt2 feed-forward"));
        }
    }

    private static void addConv1d(WeightLoader loader, String prefix, int from, int to, Block linear) {
        loader.columnsAsRows(prefix + "weight", from, to, linear.getParameters().get("weight"));
        loader.rows(prefix + "bias", from, to, linear.getParameters().get("bias"));
    }

    /** A layer of an encoder, or with a cross-attention of a decoder; pre-norm ones have GELU. */
    private static TransformerLayerBlock.Builder layer(boolean isDecoder, boolean isPreNorm) {
        TransformerLayerBlock.Builder builder = TransformerLayerBlock.builder()
                .setAttention(attention(isDecoder).build())
                .setHiddenSize(16)
                .optNormPlacement(isPreNorm ? NormPlacement.BEFORE_PART : NormPlacement.AFTER_SUM)
                .optNonlinearity(isPreNorm ? Nonlinearity.GELU : Nonlinearity.RELU);
        return isDecoder ? builder.optCrossAttention(attention(false).build()) : builder;
    }

    private static TransformerStackBlock stack(boolean isDecoder, boolean isPreNorm) {
        return TransformerStackBlock.builder()
                .setLayers(2, () -> layer(isDecoder, isPreNorm))
                .build(); // a final normalization only with pre-norm, as in the files
    }

    /** An encoder and a decoder, with masks: a call for each. */
    @EngineTest
    void transformers(NDManager manager, boolean isPreNorm) throws Exception {
        String name = "transformer_" + (isPreNorm ? "pre_norm" : "post_norm");
        for (DataType type : ERRORS.keySet()) {
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
            assertOutput(memory, outputs.read(manager, "memory").toDoubleArray());
            assertOutput(
                    Forward.infer(manager, decoder, target, memory, isTarget, isSource),
                    outputs.read(manager, "output").toDoubleArray());
        }
    }

    /** As in a transformer with bias=False, which torch 1.13 does not have. */
    @EngineTest
    void normsWithoutBias(NDManager manager) throws Exception {
        LayerNorm norm = LayerNorm.builder().axis(2).build();
        norm.initialize(manager, DataType.FLOAT32, new Shape(2, 5, 6));
        String prefix = "bert.embeddings.LayerNorm.";
        norm.getParameters().get("gamma").getArray().addi(1);
        Weights.loader("bert.safetensors")
                .module(prefix, norm)
                .allowMissing("*beta")
                .load(norm);
        assertThat(norm.getParameters().get("gamma").getArray().toFloatArray()).containsOnly(1);
        assertThat(norm.getParameters().get("beta").getArray().toFloatArray()).containsOnly(0);
    }
}
