package io.github.djlpositional.attention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.EngineTest.Selection;
import io.github.djlpositional.TestBlocks;
import io.github.djlpositional.relative.EncodingType;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.Supplier;

/**
 * In FLOAT16, outputs, and the gradients of every parameter and input, are about those of FLOAT32. MXNet has no
 * parameters in FLOAT16.
 */
class HalfPrecisionGradientsTest {

    /**
     * The largest part of an array's largest gradient by which FLOAT16 may differ. Each number is rounded by up to
     * 2^-11; a gradient has passed some thirty roundings, of terms that partly cancel each other.
     */
    private static final double TOLERANCE = 0.03;

    /** The same of the largest gradient of all arrays: what is left where terms cancel each other completely. */
    private static final double CANCELLED = 1e-3;

    @EngineTest(engine = "PyTorch")
    void gradientsOfEveryBlockAreThoseOfFloat32(NDManager manager, TestBlocks kind) {
        requireSame(manager, kind::block, kind.numbers(manager), false);
    }

    @EngineTest(value = Selection.PAIRS, engine = "PyTorch")
    void gradientsOfAttentionsAreThoseOfFloat32(NDManager manager, EncodingType kind, boolean fused, boolean causal) {
        Supplier<Block> block =
                () -> kind.attention(2).optFusedKernel(fused).optCausal(causal).build();
        NDArray input = sixteenths(manager, 7, DataType.FLOAT32, new Shape(2, 6, 8));
        requireSame(manager, block, new NDList(input), true);
    }

    private static void requireSame(NDManager manager, Supplier<Block> block, NDList inputs, boolean training) {
        Map<String, double[]> expected = gradients(manager, block.get(), inputs, DataType.FLOAT32, training);
        Map<String, double[]> found = gradients(manager, block.get(), inputs, DataType.FLOAT16, training);
        double largest = expected.values().stream()
                .mapToDouble(HalfPrecisionGradientsTest::largest)
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
    private static Map<String, double[]> gradients(
            NDManager manager, Block block, NDList numbers, DataType type, boolean training) {
        NDList inputs = new NDList(numbers);
        inputs.replaceAll(input -> input.getDataType().isFloating() ? input.toType(type, true) : input);
        block.initialize(manager, type, numbers.getShapes());
        long seed = 1;
        for (Parameter parameter : block.getParameters().values()) {
            NDArray array = parameter.getArray();
            sixteenths(manager, seed++, type, array.getShape()).copyTo(array);
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
            found.put("output", TestNumbers.doubles(output));
            return output;
        }));
        return found;
    }

    /** Multiples of 1/16 from -1 to 1, which FLOAT16 holds exactly. */
    private static NDArray sixteenths(NDManager manager, long seed, DataType type, Shape shape) {
        double[] values = new Random(seed)
                .ints(shape.size(), -16, 17)
                .mapToDouble(number -> number / 16.0)
                .toArray();
        return manager.create(values, shape).toType(type, false);
    }
}
