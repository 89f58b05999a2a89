package io.github.djlpositional.conformance;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.OnPyTorch;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * In FLOAT16, outputs, and the gradients of every parameter and input, are about those of FLOAT32. MXNet has no
 * parameters in FLOAT16.
 */
class EveryBlockInFloat16Test extends OnPyTorch {

    /**
     * The largest part of an array's largest gradient by which FLOAT16 may differ. Each number is rounded by up to
     * 2^-11; a gradient has passed some thirty roundings, of terms that partly cancel each other.
     */
    private static final double TOLERANCE = 0.03;

    /** The same of the largest gradient of all arrays: what is left where terms cancel each other completely. */
    private static final double CANCELLED = 1e-3;

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void outputsAndGradientsAreThoseOfFloat32(TestBlocks kind) {
        requireSame(kind::block, kind.numbers(manager), false);
    }

    @CartesianTest
    void outputsAndGradientsOfAttentionsAreThoseOfFloat32(
            @CartesianTest.Enum EncodingType kind,
            @Values(booleans = {true, false}) boolean fused,
            @Values(booleans = {true, false}) boolean causal) {
        Supplier<Block> block =
                () -> kind.attention(2).optFusedKernel(fused).optCausal(causal).build();
        NDArray input = sixteenths(7, DataType.FLOAT32, new Shape(2, 6, 8));
        requireSame(block, new NDList(input), true);
    }

    private void requireSame(Supplier<Block> block, NDList inputs, boolean training) {
        Map<String, double[]> expected = gradients(block.get(), inputs, DataType.FLOAT32, training);
        Map<String, double[]> found = gradients(block.get(), inputs, DataType.FLOAT16, training);
        double largest = expected.values().stream()
                .mapToDouble(EveryBlockInFloat16Test::largest)
                .max()
                .orElse(0);
        expected.forEach((name, gradient) -> assertThat(found.get(name))
                .as(name)
                .containsExactly(gradient, within(TOLERANCE * largest(gradient) + CANCELLED * largest)));
    }

    private static double largest(double... values) {
        return Arrays.stream(values).map(Math::abs).max().orElse(0);
    }

    /** The output and the gradients. */
    private Map<String, double[]> gradients(Block block, NDList numbers, DataType type, boolean training) {
        NDList inputs = new NDList(numbers);
        inputs.replaceAll(input -> input.getDataType().isFloating() ? input.toType(type, true) : input);
        block.initialize(manager, type, numbers.getShapes());
        long seed = 1;
        for (Parameter parameter : block.getParameters().values()) {
            NDArray array = parameter.getArray();
            sixteenths(seed++, type, array.getShape()).copyTo(array);
        }
        Map<String, NDArray> reals = new HashMap<>();
        for (int i = 0; i < inputs.size(); i++) {
            if (inputs.get(i).getDataType() == type && inputs.get(i).size() > 0) {
                reals.put("input " + i, inputs.get(i));
            }
        }
        Map<String, double[]> found = new HashMap<>();
        found.putAll(FiniteDifferences.gradients(block, reals, () -> {
            NDArray output = block.forward(new ParameterStore(manager, false), inputs, training)
                    .head();
            found.put("output", doubles(output));
            return output;
        }));
        return found;
    }

    /** Multiples of 1/16 from -1 to 1, which FLOAT16 holds exactly. */
    private NDArray sixteenths(long seed, DataType type, Shape shape) {
        double[] values = new Random(seed)
                .ints(shape.size(), -16, 17)
                .mapToDouble(number -> number / 16.0)
                .toArray();
        return manager.create(values, shape).toType(type, false);
    }
}
