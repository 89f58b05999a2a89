package io.github.djlpositional.weights;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Models that are rounded to FLOAT16. */
class HalfPrecisionTest extends OnEachEngine {

    /** Learned positions and a linear layer. */
    private SequentialBlock model(DataType type) {
        SequentialBlock model = new SequentialBlock()
                .add(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optMaxSequenceLength(5)
                        .build())
                .add(Linear.builder().setUnits(3).build());
        model.initialize(manager, type, new Shape(1, 5, 4));
        return model;
    }

    private static double[][] numbers(Block model) {
        return model.getParameters().values().stream()
                .map(parameter -> HostData.doubles(parameter.getArray()))
                .toArray(double[][]::new);
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void roundsEachNumberOnce(DataType type) {
        assumeEngine(TestEngine.PYTORCH);
        Block model = model(type);
        NDArray x = manager.randomNormal(new Shape(2, 5, 4)).toType(type, false);
        double[] expected = doubles(Forward.infer(manager, model, x));
        double[][] rounded = Arrays.stream(numbers(model))
                .map(values ->
                        Arrays.stream(values).map(FloatFormat.FLOAT16::round).toArray())
                .toArray(double[][]::new);
        int open = manager.getManagedArrays().size();
        HalfPrecision.round(model);
        HalfPrecision.round(model); // has no effect
        assertThat(manager.getManagedArrays()).hasSize(open);
        assertThat(numbers(model)).isDeepEqualTo(rounded);
        NDArray y = Forward.infer(manager, model, x.toType(DataType.FLOAT16, false));
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        // 2^-11 for each of x, a table, their sum, a weight, and four products of numbers below 5 and 1
        assertThat(doubles(y)).containsExactly(expected, within(0.02));
    }

    /** 65519.99 is rounded to 65504, 65520 would be infinite. */
    @Test
    void rejectsNumbersThatWouldBecomeInfinite() {
        Block model = model(DataType.FLOAT32);
        NDArray bias = model.getParameters().get("02Linear_bias").getArray();
        bias.setRequiresGradient(false);
        bias.addi(65520);
        double[][] before = numbers(model);
        assertAll(
                engine == TestEngine.PYTORCH
                        ? rejected(() -> HalfPrecision.round(model), "\"02Linear_bias\"", "65520.0", "float16")
                        : rejected(
                                UnsupportedOperationException.class,
                                () -> HalfPrecision.round(model),
                                "MXNet",
                                "float16",
                                "PyTorch"));
        assertThat(numbers(model)).isDeepEqualTo(before);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT8", "INT32", "INT64", "BOOLEAN"})
    void rejectsParametersThatAreNotFloatingPoint(DataType type) {
        assumeEngine(TestEngine.PYTORCH);
        Block model = model(DataType.FLOAT32);
        Parameter bias = model.getParameters().get("02Linear_bias");
        bias.close();
        bias.setShape(null);
        bias.setArray(manager.zeros(new Shape(3), type));
        assertAll(rejected(() -> HalfPrecision.round(model), "\"02Linear_bias\"", "(3)", type, "float16"));
        assertThat(model.getParameters().values())
                .extracting(parameter -> parameter.getArray().getDataType())
                .containsExactly(DataType.FLOAT32, DataType.FLOAT32, type);
    }

    @Test
    void rejectsBlocksThatAreNotInitialized() {
        assertAll(
                rejected(() -> HalfPrecision.round(Linear.builder().setUnits(3).build()), "\"weight\"", "Linear"));
    }
}
