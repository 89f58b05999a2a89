package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.JsonUtils;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.Spread;
import io.github.djlpositional.support.TestEngine;
import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares with attentions that {@code src/test/python/make_attention.py} computed from the formulas of the papers: B =
 * 2, T = 9, D from 6 to 16.
 */
@Sampled(oneIn = 3)
class StoredAttentionTest extends OnEachEngine {

    private static final double UNIT = 16;

    private static final int LENGTH = 9;

    /** The lengths of decoding steps. */
    private static final int[] STEPS = {3, 1, 2, 1, 1, 1};

    /**
     * By data type. An output, at most 8, is a sum of at most 16 products of results, which depend on their scores
     * through exponentials of sums of 4 to 16 products, at most 12; a rounding of a score changes a result by as much.
     * So the error is some 100 roundings of numbers of 16, of 2^-53, 2^-24 and 2^-11; in FLOAT16, scores and their
     * softmax are computed in FLOAT32, and only the projections are rounded.
     */
    private static final Map<DataType, Double> TOLERANCES =
            Map.of(DataType.FLOAT64, 1e-12, DataType.FLOAT32, 1e-4, DataType.FLOAT16, 0.06);

    private static final Path FOLDER = Path.of("src/test/resources/attention");

    private static final Map<?, ?> CASES = cases();

    private static Map<?, ?> cases() {
        try (Reader json = Files.newBufferedReader(FOLDER.resolve("cases.json"))) {
            return JsonUtils.GSON.fromJson(json, Map.class);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static List<?> names() {
        return List.copyOf(CASES.keySet());
    }

    private NDList stored(String name) throws IOException {
        try (InputStream in = Files.newInputStream(FOLDER.resolve(name + ".npz"))) {
            return NDList.decode(manager, in);
        }
    }

    private MultiHeadAttentionBlock block(String name, NDList stored, DataType type) {
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.fromArguments((Map<?, ?>) CASES.get(name));
        block.initialize(manager, type, new Shape(-1, -1, block.getEmbeddingSize()));
        for (Pair<String, Parameter> entry : block.getParameters()) {
            // a child's parameter is named 01child_parameter
            String tensor = entry.getKey().replaceFirst("^[0-9]{2}", "").replace('_', '.');
            numbers(stored, tensor, type).copyTo(entry.getValue().getArray());
        }
        long weights = stored.stream()
                .filter(array ->
                        array.getDataType() == DataType.INT8 && !array.getName().equals("x"))
                .count();
        assertThat(block.getParameters()).hasSize((int) weights);
        return block;
    }

    /** Numbers that are stored in units of 1/16. */
    private static NDArray numbers(NDList stored, String name, DataType type) {
        return stored.get(name).toType(DataType.FLOAT32, false).div(UNIT).toType(type, false);
    }

    /** The inputs of the tokens from an index to another. */
    private static NDArray[] inputs(NDList stored, NDArray x, int from, int to) {
        NDList inputs = new NDList(x.get(":, {}:{}", from, to));
        NDArray mask = stored.get("mask");
        if (mask != null) {
            NDArray keys = mask.get("..., :{}", to);
            inputs.add(mask.getShape().dimension() == 2 ? keys : keys.get(":, {}:{}", from, to));
        }
        return inputs.toArray(NDArray[]::new);
    }

    private static PairList<String, Object> withPositions(
            PairList<String, Object> params, NDList stored, int from, int to) {
        if (stored.contains("positions")) {
            params.add(
                    PositionalEncodingBlock.POSITIONS, stored.get("positions").get("..., {}:{}", from, to));
        }
        return params;
    }

    @ParameterizedTest
    @MethodSource("names")
    void equalsTheFormulas(String name) throws IOException {
        NDList stored = stored(name);
        for (Map.Entry<DataType, Double> entry : TOLERANCES.entrySet()) {
            DataType type = entry.getKey();
            if (type == DataType.FLOAT16 && engine == TestEngine.MXNET) {
                continue; // refused when the block is initialized
            }
            NDArray[] inputs = inputs(stored, numbers(stored, "x", type), 0, LENGTH);
            PairList<String, Object> params = withPositions(new PairList<>(), stored, 0, LENGTH);
            MultiHeadAttentionBlock block = block(name, stored, type);
            // as loaded for inference, when no gradients are recorded, and as initialized
            for (boolean frozen : type == DataType.FLOAT64 ? List.of(false, true) : List.of(true)) {
                block.freezeParameters(frozen);
                NDArray y = Forward.infer(manager, block, params, inputs);
                assertThat(y.getDataType()).isEqualTo(type);
                requireClose(y, stored.get("output").toDoubleArray(), entry.getValue());
            }
        }
        NDArray expected = stored.get("probabilities");
        if (expected != null) {
            NDList inputs = new NDList(inputs(stored, numbers(stored, "x", DataType.FLOAT64), 0, LENGTH));
            NDArray probabilities =
                    block(name, stored, DataType.FLOAT64).probabilities(new ParameterStore(manager, false), inputs);
            assertThat(probabilities.getShape()).isEqualTo(expected.getShape());
            requireClose(probabilities, expected.toDoubleArray(), TOLERANCES.get(DataType.FLOAT64));
        }
    }

    @ParameterizedTest
    @MethodSource("names")
    void decodingStepByStepGivesTheResultOfTheWholeSequence(String name) throws IOException {
        NDList stored = stored(name);
        MultiHeadAttentionBlock block = block(name, stored, DataType.FLOAT64);
        block.freezeParameters(true);
        NDArray x = numbers(stored, "x", DataType.FLOAT64);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int count : block.options().causal() ? STEPS : new int[] {LENGTH}) {
                int from = cache.getLength();
                int to = from + count;
                PairList<String, Object> params = withPositions(cache.nextStep(), stored, from, to);
                NDArray y = Forward.infer(manager, block, params, inputs(stored, x, from, to));
                NDArray expected = stored.get("output").get(":, {}:{}", from, to);
                requireClose(y, expected.toDoubleArray(), TOLERANCES.get(DataType.FLOAT64));
            }
            assertThat(cache.getLength()).isEqualTo(LENGTH);
        }
    }

    /** The training flag decides only about dropout: each case has it on one of the engines. */
    @ParameterizedTest
    @MethodSource("names")
    void gradientsAreThoseOfFiniteDifferences(String name) throws IOException {
        NDList stored = stored(name);
        boolean isTraining = (names().indexOf(name) + Spread.number(engine)) % 2 == 0;
        FiniteDifferences.requireGradients(
                manager,
                block(name, stored, DataType.FLOAT64),
                withPositions(new PairList<>(), stored, 0, LENGTH),
                isTraining,
                inputs(stored, numbers(stored, "x", DataType.FLOAT64), 0, LENGTH));
    }
}
