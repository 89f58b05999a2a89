package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.UninitializedParameterException;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Inputs;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** γ · x / √(mean(x²) + ε) over the last axis: Zhang and Sennrich (2019), equation 4. */
class RmsNormBlockTest extends OnEachEngine {

    private static final double[] GAMMA = {1, 2, 0.5, -3};

    private static RmsNormBlock.Builder norm() {
        return RmsNormBlock.builder().setEmbeddingSize(4);
    }

    /** A block of a data type with {@link #GAMMA}. */
    private RmsNormBlock initialized(RmsNormBlock.Builder builder, DataType type) {
        RmsNormBlock block = builder.build();
        block.initialize(manager, type, new Shape(-1, 4));
        manager.create(GAMMA).toType(type, false).copyTo(block.getScale().getArray());
        return block;
    }

    private static double[] formula(double epsilon, double... x) {
        double[] y = new double[x.length];
        for (int row = 0; row < x.length; row += 4) {
            double meanSquare = IntStream.range(row, row + 4)
                    .mapToDouble(i -> x[i] * x[i] / 4)
                    .sum();
            for (int i = 0; i < 4; i++) {
                y[row + i] = GAMMA[i] * x[row + i] / Math.sqrt(meanSquare + epsilon);
            }
        }
        return y;
    }

    @Test
    void dividesByTheRootMeanSquare() {
        RmsNormBlock block = initialized(norm().optEpsilon(1), DataType.FLOAT64);
        // the mean of the squares is 3, and √(3 + 1) = 2
        NDArray x = manager.create(new double[] {1, -1, 3, 1}, new Shape(1, 4));
        double[] expected = {0.5, -1, 0.75, -1.5};
        requireClose(Forward.infer(manager, block, x), expected, 1e-12);
    }

    static Stream<Shape> shapes() {
        return Stream.of(new Shape(4), new Shape(6, 4), new Shape(2, 3, 4), new Shape(1, 2, 3, 4));
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void normalizesTheLastOfAnyNumberOfAxes(Shape shape) {
        RmsNormBlock block = initialized(norm(), DataType.FLOAT64);
        NDArray x = Inputs.counted(manager, shape.getShape()).toType(DataType.FLOAT64, false);
        NDArray y = Forward.infer(manager, block, x);
        assertThat(y.getShape()).isEqualTo(shape);
        requireClose(y, formula(1e-6, doubles(x)), 1e-12);
    }

    /** PyTorch has one function for inference, whose operations have no gradients. */
    @Test
    void givesTheSameInTraining() {
        RmsNormBlock block = initialized(norm(), DataType.FLOAT64);
        NDArray x = Inputs.counted(manager, 2, 3, 4).toType(DataType.FLOAT64, false);
        requireClose(Forward.train(manager, block, x), formula(1e-6, doubles(x)), 1e-12);
    }

    @Test
    void beginsWithAScaleOfOne() {
        RmsNormBlock block = norm().build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, 4));
        assertThat(block.getScale().getArray().toFloatArray()).containsExactly(1, 1, 1, 1);
    }

    @Test
    void hasTheEpsilonOfLlama1UnlessItIsSet() {
        assertThat(norm().build().getArguments()).containsEntry("epsilon", 1e-6);
        assertThat(norm().optEpsilon(0.5).build().getArguments()).containsEntry("epsilon", 0.5);
    }

    /**
     * FLOAT16 is computed in FLOAT32: 300² is more than its largest number, 0.0001² and ε are less than its smallest.
     * The result is rounded, multiplied by γ and rounded again, each time by up to 2^-11.
     */
    @ParameterizedTest
    @ValueSource(doubles = {300, 1, 0.0001})
    void squaresOfFloat16AreFloat32(double size) {
        assumeEngine(TestEngine.PYTORCH); // MXNet has no parameters in FLOAT16
        RmsNormBlock block = initialized(norm().optEpsilon(1e-8), DataType.FLOAT16);
        NDArray x = manager.create(new double[] {size, -size, size, -size}).toType(DataType.FLOAT16, false);
        NDArray y = Forward.infer(manager, block, x);
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        double[] expected = formula(1e-8, doubles(x));
        requireClose(y, expected, 0x1p-10 * Math.abs(expected[3]));
    }

    private Executable rejectedInputs(NDList inputs, Object... values) {
        return rejectedInputs(initialized(norm(), DataType.FLOAT32), inputs, values);
    }

    @Test
    void rejectsInputsOfOtherShapesAndTypes() {
        NDArray x = Inputs.zeros(manager, 2, 4);
        assertAll(
                rejectedInputs(new NDList(Inputs.zeros(manager, 4, 2)), "(4, 2)", "(…, 4)"),
                rejectedInputs(new NDList(Inputs.zeros(manager)), "()", "(…, 4)"),
                rejectedInputs(new NDList(x, x), "2 inputs", "[x]"),
                rejectedInputs(new NDList(x.toType(DataType.FLOAT64, true)), "float64", "float32"));
    }

    @Test
    void rejectsAnInitializationInWholeNumbers() {
        RmsNormBlock block = initialized(norm(), DataType.FLOAT32);
        Shape[] before = block.getInputShapes();
        assertAll(
                rejected(() -> block.initialize(manager, DataType.INT32, new Shape(2, 4)), "int32"),
                () -> assertThat(block.getInputShapes()).isEqualTo(before));
    }

    @Test
    void rejectsAForwardBeforeItsInitialization() throws Throwable {
        NDArray x = Inputs.zeros(manager, 2, 5, 4);
        rejected(
                        UninitializedParameterException.class,
                        () -> Forward.infer(manager, norm().build(), x),
                        "RmsNormBlock",
                        "initialize")
                .execute();
    }

    @Test
    void rejectsOptionsOutOfRange() {
        assertAll(
                rejected(RmsNormBlock.builder()::build, "embeddingSize", "setEmbeddingSize"),
                rejected(norm().setEmbeddingSize(0)::build, "embeddingSize 0"),
                rejected(norm().optEpsilon(0)::build, "epsilon 0.0"),
                rejected(norm().optEpsilon(-1)::build, "epsilon -1.0"));
    }
}
