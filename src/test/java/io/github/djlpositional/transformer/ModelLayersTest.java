package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.util.JsonUtils;
import ai.djl.util.Pair;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.StoredLayer;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Compares layers with the formulas of published models in {@code src/test/python/make_model_layers.py}: B = 2, T = 6,
 * D = 8, and weights that make attention far from uniform.
 */
class ModelLayersTest {

    /** Outputs are up to 23. DJL rounds the epsilon of a layer normalization to a float, by up to 2^-25 of it. */
    private static final Map<DataType, Double> TOLERANCES = Map.of(DataType.FLOAT64, 1e-10, DataType.FLOAT32, 1e-5);

    private static final Map<String, List<String>> LAYERS =
            CaseFile.read("cases/model-layers.txt").byFirstColumn();

    static Collection<String> names() {
        return LAYERS.keySet();
    }

    private static TransformerLayerBlock layer(String name) {
        return TransformerLayerBlock.fromArguments(
                JsonUtils.GSON.fromJson(LAYERS.get(name).get(0), Map.class));
    }

    /** The layer with the stored weights, which has no other parameters. */
    private static TransformerLayerBlock loaded(NDManager manager, StoredLayer stored, String name, DataType type)
            throws Exception {
        TransformerLayerBlock layer = layer(name);
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

    @EngineTest
    void equalsThePublishedFormulas(NDManager manager, String name) throws Exception {
        StoredLayer stored = new StoredLayer(manager, name);
        for (DataType type : TOLERANCES.keySet()) {
            TransformerLayerBlock layer = loaded(manager, stored, name, type);
            // as initialized, and as loaded for inference, when no gradients are recorded
            for (boolean frozen : new boolean[] {false, true}) {
                layer.freezeParameters(frozen);
                NDArray y = Forward.infer(manager, layer, stored.get("input", type));
                requireClose(y, doubles(stored.get("output")), TOLERANCES.get(type));
            }
        }
    }

    @EngineTest
    void decodesStepByStep(NDManager manager, String name) throws Exception {
        StoredLayer stored = new StoredLayer(manager, name);
        NDArray x = stored.get("input");
        NDArray output = stored.get("output");
        TransformerLayerBlock layer = loaded(manager, stored, name, DataType.FLOAT64);
        layer.freezeParameters(true);
        boolean isDecoder =
                Boolean.TRUE.equals(layer.getAttention().getArguments().get("causal"));
        for (int[] steps : isDecoder ? new int[][] {{1, 1, 1, 1, 1, 1}, {3, 1, 2}} : new int[][] {{6}}) {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                for (int count : steps) {
                    int from = cache.getLength();
                    NDArray tokens = x.get(":, {}:{}", from, from + count);
                    NDArray y = Forward.infer(manager, layer, cache.nextStep(), tokens);
                    double[] expected = doubles(output.get(":, {}:{}", from, from + count));
                    requireClose(y, expected, TOLERANCES.get(DataType.FLOAT64));
                }
            }
        }
    }

    @EngineTest
    void gradientsAreThoseOfFiniteDifferences(Engine engine, NDManager manager, String name) throws Exception {
        StoredLayer stored = new StoredLayer(manager, name);
        FiniteDifferences.requireGradients(
                manager, loaded(manager, stored, name, DataType.FLOAT64), null, stored.get("input"));
    }
}
