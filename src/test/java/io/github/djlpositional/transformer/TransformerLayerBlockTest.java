package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.StoredLayer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Compares with layers of torch; D = 8, two heads, B = 2, T = 5, and S = 4. */
class TransformerLayerBlockTest {

    private static final Map<DataType, Double> TOLERANCES = Map.of(DataType.FLOAT64, 1e-10, DataType.FLOAT32, 1e-5);

    private static final CaseFile CASES = CaseFile.read("cases/layers.txt");

    static List<String> names() {
        return CASES.rows();
    }

    private static TransformerLayerBlock layer(String name) {
        return TransformerLayerBlock.fromArguments(JsonUtils.GSON.fromJson(CASES.expanded(name), Map.class));
    }

    /** The arrays of a file, of the type of the layer if they are inputs, or masks. */
    private static NDArray[] inputs(NDManager manager, StoredLayer stored, String names, DataType type)
            throws Exception {
        List<NDArray> inputs = new ArrayList<>();
        for (String name : names.split(" ", -1)) {
            inputs.add(
                    switch (name) {
                        case "x" -> stored.get("input", type);
                        case "memory" -> stored.get("memory", type);
                        case "isToken" -> stored.get("padding").logicalNot();
                        case "isMemory" -> stored.get("memory_padding").logicalNot();
                        case "isAll" -> stored.get("memory_padding").onesLike();
                        case "none" -> manager.create(new Shape(2, 0));
                        default -> throw new IllegalArgumentException(name);
                    });
        }
        return inputs.toArray(NDArray[]::new);
    }

    @EngineTest
    void equalsTorch(NDManager manager, String row) throws Exception {
        String[] columns = row.split(" +[|] ", -1);
        StoredLayer stored = new StoredLayer(manager, columns[0]);
        Block weights = stored.load(layer(columns[1]));
        for (DataType type : TOLERANCES.keySet()) {
            Block block = layer(columns[1]);
            block.initialize(manager, type, weights.getInputShapes());
            copyWeights(weights, block);
            NDArray y = Forward.infer(manager, block, inputs(manager, stored, columns[2], type));
            NDArray expected = columns[3].startsWith("= ")
                    ? Forward.infer(manager, block, inputs(manager, stored, columns[3].substring(2), type))
                    : stored.get(columns[3]);
            requireClose(y, doubles(expected), TOLERANCES.get(type));
        }
    }

    @EngineTest
    void gradientsAreThoseOfTorch(Engine engine, NDManager manager) throws Exception {
        for (String name : new String[] {
            "decoder_post_norm", "decoder_pre_norm", "decoder_gelu_tanh", "decoder_silu", "llama", "geglu", "geglu_tanh"
        }) {
            StoredLayer stored = new StoredLayer(manager, name);
            TransformerLayerBlock block = stored.load(layer(name));
            NDArray x = stored.get("input");
            NDArray[] inputs =
                    block.getCrossAttention() == null ? new NDArray[] {x} : new NDArray[] {x, stored.get("memory")};
            // on MXNet, the gradient of erf, for GELU, has the factor 2 / √π in FLOAT32, which is 5e-8 of it too large;
            // the gradients of GEGLU, up to 41, are almost all made of it
            Map<String, Double> rounded = Map.of("decoder_pre_norm", 1e-7, "geglu", 41 * 5e-8);
            double tolerance = engine.getEngineName().equals("MXNet") ? rounded.getOrDefault(name, 1e-10) : 1e-10;
            stored.requireGradients(block, () -> Forward.train(manager, block, inputs), tolerance, inputs);
        }
    }

    @EngineTest
    void dropsHiddenValuesAndTheResultOfEachPartInTrainingOnly(NDManager manager) {
        // 0 or 2 of the attention, and 0 or 4 of the feed-forward network, whose values are dropped twice
        Map<Float, Double> shares = Map.of(0f, 3 / 8.0, 2f, 3 / 8.0, 4f, 1 / 8.0, 6f, 1 / 8.0);
        requireShares(trainedOnes(manager, "dropoutRate: 0.5"), shares);
    }

    @EngineTest
    void skipsPartsOfWholeSequencesInTrainingOnly(NDManager manager) {
        NDArray y = trainedOnes(manager, "dropPathRate: 0.75, residualScale: 0.5");
        // 0 or 4 of each part, multiplied by the residual scale
        NDArray firsts = y.get(":, :1, :1");
        requireShares(firsts, Map.of(0f, 9 / 16.0, 2f, 6 / 16.0, 4f, 1 / 16.0));
        requireSame(y, firsts.broadcast(y.getShape()));
    }

    /** The output in training of a layer whose parts return 1, for zeros. */
    private static NDArray trainedOnes(NDManager manager, String options) {
        TransformerLayerBlock block =
                layer("{attention: bidirectional, hiddenSize: 8, normPlacement: BEFORE_PART, " + options + "}");
        NDArray x = manager.zeros(new Shape(1000, 5, 8));
        block.initialize(manager, DataType.FLOAT32, x.getShape());
        fill(block.getAttention().getResultProjection(), manager.zeros(new Shape(8, 8)), manager.ones(new Shape(8)));
        fill(block.getHiddenProjection(), manager.zeros(new Shape(8, 8)), manager.ones(new Shape(8)));
        fill(block.getOutputProjection(), manager.eye(8), manager.zeros(new Shape(8)));
        float scale = block.getAttentionScale() == null ? 1 : 0.5f;
        assertThat(Forward.infer(manager, block, x).toFloatArray()).containsOnly(2 * scale);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            assertThat(collector).isNotNull();
            return Forward.train(manager, block, x);
        }
    }

    private static void requireShares(NDArray y, Map<Float, Double> shares) {
        shares.forEach((value, share) -> {
            double found =
                    y.eq(value).countNonzero().toType(DataType.INT64, false).getLong() / (double) y.size();
            double deviation = Math.sqrt(share * (1 - share) / y.size());
            assertThat(found).as("share of %s", value).isCloseTo(share, within(5 * deviation));
        });
    }

    private static void fill(Block linear, NDArray weight, NDArray bias) {
        weight.copyTo(linear.getDirectParameters().get("weight").getArray());
        bias.copyTo(linear.getDirectParameters().get("bias").getArray());
    }
}
