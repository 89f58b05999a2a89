package io.github.djlpositional.huggingface;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.refusals.Expression;
import io.github.djlpositional.transformer.TransformerStackBlock;
import io.github.djlpositional.weights.WeightFile;
import io.github.djlpositional.weights.WeightLoader;
import io.github.djlpositional.weights.Weights;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Files with the names of published models, which {@code make_stacks.py} wrote, load completely in one call, and the
 * outputs equal the formulas of their classes.
 */
class TensorNamesTest {

    private static final String TYPES = "embeddings.token_type_embeddings.weight";

    private static final CaseFile FILE = CaseFile.read("cases/tensor-names.txt");

    /** The prefix of the names of a model, and its stack. */
    private static final Map<String, List<String>> STACKS = FILE.byFirstColumn();

    static List<String> names() {
        return List.copyOf(STACKS.keySet());
    }

    private static TensorNames family(String model) {
        return TensorNames.valueOf(model.replaceAll("qwen.", "llama").toUpperCase(Locale.ROOT));
    }

    private static String column(String model, int index) {
        return STACKS.get(model).get(0).split(" *[|] ", -1)[index];
    }

    private static String prefix(String model) {
        return column(model, 0);
    }

    private static TransformerStackBlock stack(String model) {
        return (TransformerStackBlock) Expression.valueOf(column(model, 1), FILE.definitions(), null);
    }

    private static WeightFile open(String model) throws Exception {
        return Weights.layers("stack_" + model);
    }

    @EngineTest
    void equalsThePublishedFormulas(NDManager manager, String model) throws Exception {
        WeightFile file = open(model);
        WeightFile outputs = open("outputs");
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            TransformerStackBlock stack = stack(model);
            stack.initialize(manager, type, new Shape(1, 1));
            stack.freezeParameters(true);
            WeightLoader.of(file)
                    .module(prefix(model), stack, family(model))
                    .allowUnused("*" + TYPES)
                    .load(stack);
            if (file.getTensors().containsKey(prefix(model) + TYPES)) {
                // all tokens have the first type
                NDArray types = file.read(manager, prefix(model) + TYPES);
                String positions = stack.getParameters().keys().stream()
                        .filter(name -> name.endsWith("encodings"))
                        .findFirst()
                        .orElseThrow();
                stack.getParameters()
                        .get(positions)
                        .getArray()
                        .addi(types.get(0).toType(type, false));
            }
            NDArray output = Forward.infer(manager, stack, outputs.read(manager, "ids"));
            double[] expected = doubles(outputs.read(manager, model));
            requireClose(output, expected, type == DataType.FLOAT32 ? 1e-5 : 1e-10);
        }
    }

    /** As for saving under the names of a model. */
    @EngineTest
    void namesEachParameterAndEachTensor(String model) throws Exception {
        TransformerStackBlock stack = stack(model);
        List<TensorNames.Tensor> tensors = family(model).tensors(stack);
        assertThat(tensors.stream().flatMap(tensor -> tensor.parameters().stream()))
                .containsExactlyInAnyOrderElementsOf(stack.getParameters().values());
        assertThat(open(model).getTensors().keySet().stream()
                        .map(name -> name.replace("gamma", "weight").replace("beta", "bias"))
                        .filter(name -> !name.endsWith(TYPES)))
                .containsExactlyInAnyOrderElementsOf(tensors.stream()
                        .map(tensor -> prefix(model) + tensor.name())
                        .toList());
    }
}
