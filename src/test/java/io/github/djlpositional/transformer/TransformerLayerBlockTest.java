package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.StoredLayer;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.transformer.TransformerLayerBlock.Nonlinearity;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Compares with layers of torch; D = 8, two heads, B = 2, T = 5, and S = 4. */
class TransformerLayerBlockTest {

    private static final Map<DataType, Double> TOLERANCES = Map.of(DataType.FLOAT64, 1e-10, DataType.FLOAT32, 1e-5);

    private static MultiHeadAttentionBlock attention(boolean causal, boolean bias) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(causal)
                .optBias(bias)
                .build();
    }

    /** The layer that a file has the weights of, without cross-attention. */
    private static TransformerLayerBlock.Builder layer(String name, boolean causal) {
        TransformerLayerBlock.Builder builder = TransformerLayerBlock.builder().setHiddenSize(16);
        return switch (name) {
            case "encoder_post_norm", "decoder_post_norm" -> builder.setAttention(attention(causal, true));
            case "encoder_pre_norm", "decoder_pre_norm" ->
                builder.setAttention(attention(causal, true))
                        .optNonlinearity(Nonlinearity.GELU)
                        .optPreNorm(true);
            case "decoder_gelu_tanh" ->
                builder.setAttention(attention(causal, true)).optNonlinearity(Nonlinearity.GELU_TANH);
            case "decoder_silu" -> builder.setAttention(attention(causal, true)).optNonlinearity(Nonlinearity.SILU);
            case "llama", "geglu", "geglu_tanh" ->
                builder.setAttention(attention(causal, false))
                        .optNonlinearity(
                                name.equals("llama")
                                        ? Nonlinearity.SWIGLU
                                        : Nonlinearity.valueOf(name.toUpperCase(Locale.ROOT)))
                        .optNorm(Norm.RMS)
                        .optEpsilon(1e-5) // as in Llama 2, which the file was computed with
                        .optPreNorm(true)
                        .optBias(false);
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static TransformerLayerBlock.Builder decoder(String name) {
        return layer(name, true).optCrossAttention(attention(false, true));
    }

    private static TransformerLayerBlock causal(String name) {
        return (name.startsWith("decoder") ? decoder(name) : layer(name, true)).build();
    }

    private static NDArray[] inputs(StoredLayer stored, String name, DataType type) {
        NDArray x = stored.get("input", type);
        return name.startsWith("decoder") ? new NDArray[] {x, stored.get("memory", type)} : new NDArray[] {x};
    }

    @EngineTest
    void equalsTorchsEncoderLayer(NDManager manager) throws Exception {
        for (String name : new String[] {"encoder_post_norm", "encoder_pre_norm"}) {
            StoredLayer stored = new StoredLayer(manager, name);
            NDArray isToken = stored.get("padding").logicalNot();
            for (DataType type : TOLERANCES.keySet()) {
                NDArray x = stored.get("input", type);
                for (boolean causal : new boolean[] {false, true}) {
                    Block block = stored.load(manager, layer(name, causal).build(), type);
                    String output = causal ? "output_causal" : "output";
                    requireEqual(Forward.infer(manager, block, x), stored, output);
                    requireEqual(Forward.infer(manager, block, x, isToken), stored, output + "_padded");
                }
            }
        }
    }

    private static void requireEqual(NDArray actual, StoredLayer stored, String name) {
        double[] expected = stored.get(name).toDoubleArray();
        requireClose(actual, expected, TOLERANCES.get(actual.getDataType()));
    }

    @EngineTest
    void equalsTorchsDecoderLayer(NDManager manager) throws Exception {
        for (String name :
                new String[] {"decoder_post_norm", "decoder_pre_norm", "decoder_gelu_tanh", "decoder_silu"}) {
            StoredLayer stored = new StoredLayer(manager, name);
            NDArray isToken = stored.get("padding").logicalNot();
            NDArray isMemory = stored.get("memory_padding").logicalNot();
            for (DataType type : TOLERANCES.keySet()) {
                Block block = stored.load(manager, decoder(name).build(), type);
                NDArray x = stored.get("input", type);
                NDArray memory = stored.get("memory", type);
                requireEqual(Forward.infer(manager, block, x, memory), stored, "output");
                NDArray none = manager.create(new Shape(2, 0));
                requireEqual(Forward.infer(manager, block, x, memory, none, isMemory), stored, "output_memory_padded");
                requireEqual(Forward.infer(manager, block, x, memory, isToken, isMemory), stored, "output_padded");
                NDArray isAll = isMemory.onesLike();
                requireClose(
                        Forward.infer(manager, block, x, memory, isToken, none),
                        Forward.infer(manager, block, x, memory, isToken, isAll)
                                .toType(DataType.FLOAT64, true)
                                .toDoubleArray(),
                        TOLERANCES.get(type));
            }
        }
    }

    @EngineTest
    void equalsTheLayerOfLlamaAndThoseWithOtherGates(NDManager manager) throws Exception {
        for (String name : new String[] {"llama", "geglu", "geglu_tanh"}) {
            StoredLayer stored = new StoredLayer(manager, name);
            for (DataType type : TOLERANCES.keySet()) {
                Block block = stored.load(manager, layer(name, true).build(), type);
                requireEqual(Forward.infer(manager, block, stored.get("input", type)), stored, "output");
            }
        }
    }

    @EngineTest
    void gradientsAreThoseOfTorch(Engine engine, NDManager manager) throws Exception {
        for (String name : new String[] {
            "decoder_post_norm", "decoder_pre_norm", "decoder_gelu_tanh", "decoder_silu", "llama", "geglu", "geglu_tanh"
        }) {
            StoredLayer stored = new StoredLayer(manager, name);
            TransformerLayerBlock block = stored.load(manager, causal(name), DataType.FLOAT64);
            NDList inputs = new NDList(inputs(stored, name, DataType.FLOAT64));
            inputs.forEach(input -> input.setRequiresGradient(true));
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                NDArray y = block.forward(new ParameterStore(manager, false), inputs, true)
                        .singletonOrThrow();
                collector.backward(y.mul(stored.get("gradient_weight")).sum());
            }
            // on MXNet, the gradient of erf, for GELU, has the factor 2 / √π in FLOAT32, which is 5e-8 of it too large;
            // the gradients of GEGLU, up to 41, are almost all made of it
            Map<String, Double> rounded = Map.of("decoder_pre_norm", 1e-7, "geglu", 41 * 5e-8);
            double tolerance = engine.getEngineName().equals("MXNet") ? rounded.getOrDefault(name, 1e-10) : 1e-10;
            for (NDArray input : inputs) {
                double[] expected = stored.get("gradient." + input.getName()).toDoubleArray();
                requireClose(input.getGradient(), expected, tolerance);
            }
            Map<Parameter, NDArray> expected = stored.parametersOf(block, "gradient.");
            expected.forEach((parameter, gradient) ->
                    requireClose(parameter.getArray().getGradient(), gradient.toDoubleArray(), tolerance));
        }
    }

    @EngineTest
    void dropsHiddenValuesAndTheResultOfEachPartInTrainingOnly(NDManager manager) {
        TransformerLayerBlock block = TransformerLayerBlock.builder()
                .setAttention(attention(false, true))
                .setHiddenSize(8)
                .optPreNorm(true)
                .optDropoutRate(0.5f)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(100, 5, 8));
        // the attention's result is 1, and so is that of the feed-forward network
        fill(block.getAttention().getResultProjection(), manager.zeros(new Shape(8, 8)), manager.ones(new Shape(8)));
        fill(block.getHiddenProjection(), manager.zeros(new Shape(8, 8)), manager.ones(new Shape(8)));
        fill(block.getOutputProjection(), manager.eye(8), manager.zeros(new Shape(8)));
        NDArray x = manager.zeros(new Shape(100, 5, 8));
        assertThat(Forward.infer(manager, block, x).toFloatArray()).containsOnly(2f);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            assertThat(collector).isNotNull();
            NDArray y = Forward.train(manager, block, x);
            // 0 or 2 of the attention, and 0 or 4 of the feed-forward network, whose values are dropped twice
            Map<Float, Double> shares = Map.of(0f, 3 / 8.0, 2f, 3 / 8.0, 4f, 1 / 8.0, 6f, 1 / 8.0);
            shares.forEach((value, share) -> {
                double found =
                        y.eq(value).countNonzero().toType(DataType.INT64, false).getLong() / 4000.0;
                // five standard deviations
                assertThat(found).as("share of %s", value).isCloseTo(share, within(0.04));
            });
        }
    }

    private static void fill(Block linear, NDArray weight, NDArray bias) {
        weight.copyTo(linear.getDirectParameters().get("weight").getArray());
        bias.copyTo(linear.getDirectParameters().get("bias").getArray());
    }

    @ParameterizedTest
    @CsvSource({"LAYER, 1e-5", "RMS, 1e-6"})
    void hasTheEpsilonOfItsNormUnlessAnotherIsSet(Norm norm, double epsilon) {
        TransformerLayerBlock.Builder builder =
                layer("encoder_post_norm", false).optNorm(norm);
        TransformerLayerBlock block = builder.build();
        HasArguments alone = norm == Norm.RMS
                ? RmsNormBlock.builder().setEmbeddingSize(8).build()
                : LayerNormBlock.builder().setEmbeddingSize(8).build();
        assertThat(block.getArguments()).containsEntry("epsilon", epsilon);
        assertThat(((HasArguments) block.getAttentionNorm()).getArguments()).isEqualTo(alone.getArguments());
        builder.setAttention(attention(false, true)).optEpsilon(0.25);
        assertThat(((HasArguments) builder.build().getFeedForwardNorm()).getArguments())
                .containsEntry("epsilon", 0.25);
    }
}
