package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.support.TestEngine;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;

/** Compares gradients with differences of outputs. */
public final class FiniteDifferences {

    private FiniteDifferences() {}

    /**
     * The error of the difference: step² times the third derivative, and the rounding of the sums by the step. On
     * MXNet, the gradient of erf, for GELU, has the factor 2 / √π in FLOAT32: it is too large by 5e-8 of at most 4.
     */
    private static double tolerance(NDManager manager) {
        return TestEngine.of(manager.getEngine().getEngineName()) == TestEngine.MXNET ? 3e-7 : 1e-7;
    }

    /**
     * Checks the gradients of a block of FLOAT64 by its inputs of that type and all of its parameters, along a random
     * direction.
     *
     * @param params the parameters of the forward; null for none
     */
    public static void requireGradients(
            NDManager manager, Block block, PairList<String, Object> params, NDArray... inputs) {
        requireGradients(manager, block, params, true, inputs);
    }

    /**
     * The same for a block of any outputs, of which the first counts.
     *
     * @param isTraining false for a block with dropout
     */
    public static void requireGradients(
            NDManager manager, Block block, PairList<String, Object> params, boolean isTraining, NDArray... inputs) {
        Map<String, NDArray> reals = new LinkedHashMap<>();
        for (int i = 0; i < inputs.length; i++) {
            if (inputs[i].getDataType() == DataType.FLOAT64) {
                reals.put("input " + i, inputs[i]);
            }
        }
        Map<String, double[]> gradients =
                gradients(block, reals, () -> forward(manager, block, params, isTraining, inputs));
        Map<String, NDArray> learned = learned(block, reals);
        DoubleSupplier sum =
                () -> sum(forward(manager, block, params, false, inputs)).getDouble();
        double error = error(learned, gradients, sum);
        double tolerance = tolerance(manager);
        if (Math.abs(error) > tolerance) {
            // names the array whose gradient is wrong
            learned.forEach((name, array) -> assertThat(error(Map.of(name, array), gradients, sum))
                    .as(name)
                    .isCloseTo(0, within(tolerance)));
        }
        assertThat(error).isCloseTo(0, within(tolerance));
    }

    private static NDArray forward(
            NDManager manager, Block block, PairList<String, Object> params, boolean isTraining, NDArray... inputs) {
        return block.forward(new ParameterStore(manager, false), new NDList(inputs), isTraining, params)
                .head();
    }

    private static Map<String, NDArray> learned(Block block, Map<String, NDArray> inputs) {
        Map<String, NDArray> learned = new LinkedHashMap<>(inputs);
        block.getParameters()
                .forEach(entry -> learned.put(entry.getKey(), entry.getValue().getArray()));
        assertThat(learned).isNotEmpty();
        return learned;
    }

    /** The gradients of a weighted sum of the output of a forward by inputs and by all parameters of the block. */
    public static Map<String, double[]> gradients(Block block, Map<String, NDArray> inputs, Supplier<NDArray> forward) {
        Map<String, NDArray> learned = learned(block, inputs);
        learned.values().forEach(array -> array.setRequiresGradient(true));
        Map<String, double[]> gradients = new HashMap<>();
        NDManager manager = learned.values().iterator().next().getManager();
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray sum = sum(forward.get());
            // the engines fail for a sum that depends on no array with a gradient
            NDArray zero = manager.zeros(new Shape(1), sum.getDataType());
            zero.setRequiresGradient(true);
            collector.backward(sum.add(zero));
            learned.forEach((name, array) -> gradients.put(name, doubles(array.getGradient())));
        }
        learned.values().forEach(array -> array.setRequiresGradient(false));
        return gradients;
    }

    private static NDArray sum(NDArray y) {
        return y.mul(numbers(y.getManager(), 8, y.getDataType(), y.getShape().getShape()))
                .sum();
    }

    /** By how much the difference along a random direction in each array is not that of the gradients. */
    private static double error(Map<String, NDArray> arrays, Map<String, double[]> gradients, DoubleSupplier sum) {
        Map<String, double[]> values = new HashMap<>();
        arrays.forEach((name, array) -> values.put(name, array.toDoubleArray()));
        double expected = 0;
        for (String name : arrays.keySet()) {
            double[] gradient = gradients.get(name);
            expected += NaiveAttention.dot(gradient, direction(name, gradient.length));
        }
        double step = 4e-6;
        move(arrays, values, step);
        double above = sum.getAsDouble();
        move(arrays, values, -step);
        double below = sum.getAsDouble();
        move(arrays, values, 0);
        return (above - below) / (2 * step) - expected;
    }

    private static void move(Map<String, NDArray> arrays, Map<String, double[]> values, double step) {
        arrays.forEach((name, array) -> {
            double[] moved = values.get(name).clone();
            double[] direction = direction(name, moved.length);
            Arrays.setAll(moved, i -> moved[i] + step * direction[i]);
            array.getManager().create(moved, array.getShape()).copyTo(array);
        });
    }

    /** A random direction of length 1: the difference along it depends on every element of the gradient. */
    private static double[] direction(String name, int size) {
        double[] direction = new Random(name.hashCode()).doubles(size, -1, 1).toArray();
        double length = Math.sqrt(NaiveAttention.dot(direction, direction));
        return Arrays.stream(direction).map(x -> x / length).toArray();
    }
}
