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
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Inputs;
import io.github.djlpositional.support.OnEachEngine;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** γ · (x - mean(x)) / √(var(x) + ε) + β over the last axis: Ba, Kiros and Hinton (2016), equation 4. */
class LayerNormBlockTest extends OnEachEngine {

    private static final double[] GAMMA = {1, 2, 0.5, -3};
    private static final double[] BETA = {0, -1, 0.25, 10};

    private static LayerNormBlock.Builder norm() {
        return LayerNormBlock.builder().setEmbeddingSize(4);
    }

    /** A block with {@link #GAMMA} and {@link #BETA}. */
    private LayerNormBlock initialized(LayerNormBlock.Builder builder) {
        LayerNormBlock block = builder.build();
        block.initialize(manager, DataType.FLOAT64, new Shape(-1, 4));
        manager.create(GAMMA).copyTo(block.getScale().getArray());
        manager.create(BETA).copyTo(block.getOffset().getArray());
        return block;
    }

    @Test
    void subtractsTheMeanAndDividesByTheStandardDeviation() {
        LayerNormBlock block = initialized(norm().optEpsilon(2.5));
        // the mean is 2, the mean of the squared differences 6.5, and √(6.5 + 2.5) = 3
        NDArray x = manager.create(new double[] {1, -1, 6, 2}, new Shape(1, 4));
        double[] expected = {-1 / 3.0, 2 * -3 / 3.0 - 1, 0.5 * 4 / 3.0 + 0.25, 10};
        requireClose(Forward.infer(manager, block, x), expected, 1e-12);
    }

    private static double[] formula(double epsilon, double... x) {
        double[] y = new double[x.length];
        for (int row = 0; row < x.length; row += 4) {
            double mean =
                    IntStream.range(row, row + 4).mapToDouble(i -> x[i] / 4).sum();
            double variance = IntStream.range(row, row + 4)
                    .mapToDouble(i -> (x[i] - mean) * (x[i] - mean) / 4)
                    .sum();
            for (int i = 0; i < 4; i++) {
                y[row + i] = GAMMA[i] * (x[row + i] - mean) / Math.sqrt(variance + epsilon) + BETA[i];
            }
        }
        return y;
    }

    static Stream<Shape> shapes() {
        return Stream.of(new Shape(4), new Shape(6, 4), new Shape(2, 3, 4), new Shape(1, 2, 3, 4));
    }

    /** DJL has ε as a float, whose relative error of 2^-24 is 1e-12 of the variance. */
    @ParameterizedTest
    @MethodSource("shapes")
    void normalizesTheLastOfAnyNumberOfAxes(Shape shape) {
        LayerNormBlock block = initialized(norm());
        NDArray x = Inputs.counted(manager, shape.getShape()).toType(DataType.FLOAT64, false);
        NDArray y = Forward.infer(manager, block, x);
        assertThat(y.getShape()).isEqualTo(shape);
        requireClose(y, formula(1e-5, doubles(x)), 1e-11);
    }

    @Test
    void beginsWithAScaleOfOneAndAnOffsetOfZero() {
        LayerNormBlock block = norm().build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, 4));
        assertThat(block.getScale().getArray().toFloatArray()).containsExactly(1, 1, 1, 1);
        assertThat(block.getOffset().getArray().toFloatArray()).containsExactly(0, 0, 0, 0);
    }

    @Test
    void hasTheEpsilonOfPyTorchUnlessItIsSet() {
        assertThat(norm().build().getArguments()).containsEntry("epsilon", 1e-5);
        assertThat(norm().optEpsilon(0.5).build().getArguments()).containsEntry("epsilon", 0.5);
    }

    private Executable rejectedInputs(NDList inputs, Object... values) {
        return rejectedInputs(initialized(norm()), inputs, values);
    }

    @Test
    void rejectsInputsOfOtherShapesAndTypes() {
        NDArray x = Inputs.zeros(manager, DataType.FLOAT64, 2, 4);
        assertAll(
                rejectedInputs(new NDList(Inputs.zeros(manager, DataType.FLOAT64, 4, 2)), "(4, 2)", "(…, 4)"),
                rejectedInputs(new NDList(x, x), "2 inputs", "[x]"),
                rejectedInputs(new NDList(Inputs.zeros(manager, 2, 4)), "float32", "float64"));
    }

    @Test
    void rejectsOptionsOutOfRange() {
        assertAll(
                rejected(LayerNormBlock.builder()::build, "embeddingSize", "setEmbeddingSize"),
                rejected(norm().setEmbeddingSize(0)::build, "embeddingSize 0"),
                rejected(norm().optEpsilon(0)::build, "epsilon 0.0"),
                rejected(norm().optEpsilon(-1)::build, "epsilon -1.0"));
    }
}
