package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.SmallLayers.attention;
import static io.github.djlpositional.support.SmallLayers.causal;
import static io.github.djlpositional.support.SmallLayers.feedForward;
import static io.github.djlpositional.support.SmallLayers.layer;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.StoredLayer;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.WindowNetworkBiasBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.transformer.TransformerLayerBlock.Arrangement;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Compares layers with the formulas of published models in {@code src/test/python/make_model_layers.py}: B = 2, T = 6,
 * D = 8, and weights that make attention far from uniform.
 */
class ModelLayersTest extends OnEachEngine {

    /**
     * FLOAT32: outputs are up to 23, whose rounding is 1.4e-6, and a layer rounds some 20 times. FLOAT64: DJL rounds
     * the epsilon of a layer normalization to a float, by up to 2^-25 of it.
     */
    private static final Map<DataType, Double> TOLERANCES = Map.of(DataType.FLOAT64, 1e-10, DataType.FLOAT32, 3e-5);

    /** The models, by the names of their files. */
    private enum Model {
        GEMMA_3,
        PHI,
        COHERE,
        GPT_NEOX,
        DINOV2,
        OLMO_2,
        SWIN_V2;

        TransformerLayerBlock create() {
            return switch (this) {
                case GEMMA_3 ->
                    gated(causal().setHeadCount(4)
                                    .optKeyValueHeadCount(2)
                                    .optHeadSize(4)
                                    .optWindow(3)
                                    .optScale(1.0 / 3)
                                    .optQueryNorm(rmsNorm(4))
                                    .optKeyNorm(rmsNorm(4))
                                    .optRelativeEncoding(rotary(4, PairLayout.CONCATENATED)))
                            .optFeedForward(feedForward(Nonlinearity.GEGLU_TANH)
                                    .optBias(false)
                                    .build())
                            .optNorm(Norm.RMS)
                            .optNormPlacement(NormPlacement.AROUND_PART)
                            .build();
                case PHI ->
                    layer(causal().optRelativeEncoding(rotary(2, PairLayout.CONCATENATED)))
                            .optFeedForward(feedForward(Nonlinearity.GELU_TANH).build())
                            .optNormPlacement(NormPlacement.BEFORE_PART)
                            .optArrangement(Arrangement.PARALLEL_WITH_ONE_NORM)
                            .build();
                case COHERE ->
                    gated(causal().optKeyValueHeadCount(1).optRelativeEncoding(rotary(4, PairLayout.INTERLEAVED)))
                            .optNormPlacement(NormPlacement.BEFORE_PART)
                            .optArrangement(Arrangement.PARALLEL_WITH_ONE_NORM)
                            .build();
                case GPT_NEOX ->
                    layer(causal().optRelativeEncoding(rotary(2, PairLayout.CONCATENATED)))
                            .optFeedForward(feedForward(Nonlinearity.GELU).build())
                            .optNormPlacement(NormPlacement.BEFORE_PART)
                            .optArrangement(Arrangement.PARALLEL)
                            .build();
                case DINOV2 ->
                    layer(attention())
                            .optFeedForward(feedForward(Nonlinearity.GELU).build())
                            .optEpsilon(1e-6)
                            .optNormPlacement(NormPlacement.BEFORE_PART)
                            .optResidualScale(1e-5f)
                            .build();
                case OLMO_2 ->
                    gated(causal().optKeyValueHeadCount(1)
                                    .optNormOfAllHeads(true)
                                    .optQueryNorm(rmsNorm(8))
                                    .optKeyNorm(rmsNorm(4))
                                    .optRelativeEncoding(rotary(4, PairLayout.CONCATENATED)))
                            .optNorm(Norm.RMS)
                            .optNormPlacement(NormPlacement.AFTER_PART)
                            .build();
                case SWIN_V2 ->
                    layer(attention()
                                    .optCosine(true)
                                    .optRelativeEncoding(WindowNetworkBiasBlock.builder()
                                            .setHeadCount(2)
                                            .setWindow(2, 3)
                                            .optHiddenSize(5)
                                            .build()))
                            .optFeedForward(feedForward(Nonlinearity.GELU).build())
                            .optNormPlacement(NormPlacement.AFTER_PART)
                            .build();
            };
        }

        /** Without any bias. */
        private static TransformerLayerBlock.Builder gated(MultiHeadAttentionBlock.Builder attention) {
            return layer(attention.optBias(false))
                    .optFeedForward(
                            feedForward(Nonlinearity.SWIGLU).optBias(false).build());
        }

        private static RotaryEmbeddingBlock rotary(int rotarySize, PairLayout layout) {
            return RotaryEmbeddingBlock.builder()
                    .setHeadSize(4)
                    .optRotarySize(rotarySize)
                    .optLayout(layout)
                    .build();
        }

        private static RmsNormBlock rmsNorm(int size) {
            return RmsNormBlock.builder().setEmbeddingSize(size).build();
        }
    }

    private StoredLayer stored(Model model) throws Exception {
        return new StoredLayer(manager, model.name().toLowerCase(Locale.ROOT));
    }

    /** The layer with the stored weights, which has no other parameters. */
    private TransformerLayerBlock loaded(Model model, DataType type) throws Exception {
        StoredLayer stored = stored(model);
        TransformerLayerBlock layer = model.create();
        layer.initialize(manager, type, new Shape(-1, -1, 8));
        for (Pair<String, Parameter> entry : layer.getParameters()) {
            // a child's parameter is named 01child_parameter
            String tensor = entry.getKey().replaceAll("(^|_)[0-9]{2}", "$1").replace('_', '.');
            NDArray target = entry.getValue().getArray();
            NDArray weight = stored.get(tensor, type);
            assertThat(target.getShape()).isEqualTo(weight.getShape());
            weight.copyTo(target);
        }
        return layer;
    }

    @ParameterizedTest
    @EnumSource
    void equalsThePublishedFormulas(Model model) throws Exception {
        StoredLayer stored = stored(model);
        for (DataType type : TOLERANCES.keySet()) {
            TransformerLayerBlock layer = loaded(model, type);
            // as initialized, and as loaded for inference, when no gradients are recorded
            for (boolean frozen : new boolean[] {false, true}) {
                layer.freezeParameters(frozen);
                NDArray y = Forward.infer(manager, layer, stored.get("input", type));
                requireClose(y, doubles(stored.get("output")), TOLERANCES.get(type));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void gradientsAreThoseOfFiniteDifferences(Model model) throws Exception {
        FiniteDifferences.requireGradients(
                manager, loaded(model, DataType.FLOAT64), null, stored(model).get("input"));
    }
}
