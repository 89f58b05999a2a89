package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.Pair;
import ai.djl.util.PairList;
import io.github.djlpositional.Forward;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.DoubleSupplier;

/** Compares gradients with differences of outputs. */
final class FiniteDifferences {

    private FiniteDifferences() {}

    /**
     * Checks the gradients of a block of FLOAT64 by its first input and all of its parameters.
     *
     * @param params the parameters of the forward; null for none
     * @param count how many elements of each array are compared, about
     */
    static void requireGradients(
            NDManager manager, Block block, PairList<String, Object> params, int count, NDArray... inputs) {
        NDArray x = inputs[0];
        NDArray weights = numbers(manager, 8, DataType.FLOAT64, x.getShape().getShape());
        Map<String, NDArray> learned = new LinkedHashMap<>(Map.of("input", x));
        for (Pair<String, Parameter> entry : block.getParameters()) {
            learned.put(entry.getKey(), entry.getValue().getArray());
        }
        assertThat(learned).hasSizeGreaterThanOrEqualTo(5);
        learned.values().forEach(array -> array.setRequiresGradient(true));
        Map<String, double[]> gradients = new HashMap<>();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray y = block.forward(new ParameterStore(manager, false), new NDList(inputs), true, params)
                    .singletonOrThrow();
            collector.backward(y.mul(weights).sum());
            learned.forEach(
                    (name, array) -> gradients.put(name, array.getGradient().toDoubleArray()));
        }
        learned.values().forEach(array -> array.setRequiresGradient(false));
        DoubleSupplier sum = () ->
                Forward.infer(manager, block, params, inputs).mul(weights).sum().getDouble();
        learned.forEach((name, array) -> requireDifferences(array, sum, gradients.get(name), name, count));
    }

    private static void requireDifferences(NDArray of, DoubleSupplier sum, double[] gradient, String what, int count) {
        double[] values = of.toDoubleArray();
        double step = 1e-5;
        for (int i = 0; i < values.length; i += 1 + values.length / count) {
            double above = sumAt(of, i, values[i] + step, sum);
            double below = sumAt(of, i, values[i] - step, sum);
            set(of, i, values[i]);
            // the error of the difference: step² times the third derivative, and the rounding of the sums by the step
            assertThat(gradient[i]).as("%s [%d]", what, i).isCloseTo((above - below) / (2 * step), within(1e-7));
        }
    }

    private static double sumAt(NDArray of, int index, double value, DoubleSupplier sum) {
        set(of, index, value);
        return sum.getAsDouble();
    }

    private static void set(NDArray of, int index, double value) {
        double[] moved = of.toDoubleArray();
        moved[index] = value;
        of.getManager().create(moved, of.getShape()).copyTo(of);
    }
}
