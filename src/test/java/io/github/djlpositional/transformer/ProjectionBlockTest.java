package io.github.djlpositional.transformer;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.LayerNormBlock;
import io.github.djlpositional.support.OnEachEngine;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares with n(f(W x + b)) in Java, from vectors of 4 to vectors of 3 numbers. */
class ProjectionBlockTest extends OnEachEngine {

    private static final double EPSILON = 0.5;

    private static ProjectionBlock.Builder projection() {
        return ProjectionBlock.builder().setInputSize(4).setOutputSize(3);
    }

    private static LayerNormBlock norm() {
        return LayerNormBlock.builder().setEmbeddingSize(3).optEpsilon(EPSILON).build();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void equalsTheFormula(boolean hasBias) {
        ProjectionBlock block = filled(
                manager,
                projection()
                        .optNonlinearity(Nonlinearity.RELU)
                        .optNorm(norm())
                        .optBias(hasBias)
                        .build(),
                DataType.FLOAT64,
                new Shape(2, 5, 4));
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, 4);
        NDArray y = infer(manager, block, x);
        double[] vectors = doubles(x);
        double[] expected = new double[2 * 5 * 3];
        for (int token = 0; token < 10; token++) {
            double[] h = linear(block, vectors, 4 * token);
            double mean = DoubleStream.of(h).average().orElseThrow();
            double variance = DoubleStream.of(h)
                    .map(value -> (value - mean) * (value - mean))
                    .average()
                    .orElseThrow();
            double[] gamma =
                    doubles(block.getNorm().getParameters().get("gamma").getArray());
            double[] beta = doubles(block.getNorm().getParameters().get("beta").getArray());
            for (int i = 0; i < 3; i++) {
                expected[3 * token + i] = (h[i] - mean) / Math.sqrt(variance + EPSILON) * gamma[i] + beta[i];
            }
        }
        assertThat(y.getShape()).isEqualTo(new Shape(2, 5, 3));
        assertThat(block.getOutputShapes(new Shape[] {x.getShape()})[0]).isEqualTo(y.getShape());
        requireClose(y, expected, 1e-12);
    }

    /** max(0, W x + b) of the vector that begins at an index. */
    private static double[] linear(ProjectionBlock block, double[] x, int start) {
        double[] weight =
                doubles(block.getProjection().getParameters().get("weight").getArray());
        double[] h = block.getProjection().getParameters().contains("bias")
                ? doubles(block.getProjection().getParameters().get("bias").getArray())
                : new double[3];
        for (int i = 0; i < 12; i++) {
            h[i / 4] += weight[i] * x[start + i % 4];
        }
        return DoubleStream.of(h).map(value -> Math.max(0, value)).toArray();
    }

    @Test
    void rejectsWhatDoesNotFit() {
        ProjectionBlock block = filled(manager, projection().build(), DataType.FLOAT32, new Shape(1, 4));
        assertAll(
                rejected(projection().optNonlinearity(Nonlinearity.SWIGLU)::build, "SWIGLU", "FeedForwardBlock"),
                rejected(projection().setOutputSize(0)::build, "outputSize 0"),
                rejected(() -> infer(manager, block, zeros(manager, 2, 5)), "(2, 5)", "(…, 4)", "setInputSize"),
                rejected(() -> block.getOutputShapes(new Shape[] {new Shape()}), "()", "(…, 4)"));
    }
}
