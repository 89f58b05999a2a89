package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.relative.ScoreTerms.set;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.relative.KerpleBiasBlock.Form;
import io.github.djlpositional.support.OnEachEngine;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Biases that fall with the logarithm or a power of the distance, at a learned rate. */
class KerpleBiasBlockTest extends OnEachEngine {

    private static KerpleBiasBlock.Builder kerple() {
        return KerpleBiasBlock.builder().setHeadCount(2);
    }

    private static KerpleBiasBlock.Builder power() {
        return kerple().optForm(Form.POWER);
    }

    /** The paper's kernel -r₁ · ln(1 + r₂ · |i - j|), with ln r₁ and ln r₂ as parameters. */
    @Test
    void theBiasIsALogarithmOfTheDistance() {
        KerpleBiasBlock block = filled(manager, kerple().build(), DataType.FLOAT64);
        double[] logA = parameter(block, "logA");
        double[] logB = parameter(block, "logB");
        requireBiases(
                manager,
                block,
                (head, i, j) -> -Math.exp(logB[head]) * Math.log(1 + Math.exp(logA[head]) * Math.abs(i - j)));
    }

    /** The paper's kernel -r₁ · |i - j|^r₂, with r₂ between 0 and 2. */
    @Test
    void theBiasIsAPowerOfTheDistance() {
        KerpleBiasBlock block = filled(manager, power().build(), DataType.FLOAT64);
        double[] logA = parameter(block, "logA");
        double[] logitP = parameter(block, "logitP");
        requireBiases(
                manager,
                block,
                (head, i, j) -> -Math.exp(logA[head]) * Math.pow(Math.abs(i - j), 2 / (1 + Math.exp(-logitP[head]))));
    }

    /** a = 1/2 and p = 1. */
    @Test
    void thePowerOneIsTheBiasOfAlibi() {
        KerpleBiasBlock block = filled(manager, power().setHeadCount(1).build(), DataType.FLOAT64);
        set(block, "logA", Math.log(0.5));
        set(block, "logitP", 0);
        NDArray biases = inferFrom(manager, 4, block, zeros(manager, DataType.FLOAT64, 1, 1, 4));
        assertThat(biases.toDoubleArray()).containsExactly(new double[] {-2, -1.5, -1, -0.5, 0}, within(1e-14));
    }

    /** Reference: goldens/kerple_biases.csv, with 60-digit arithmetic. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void logarithmsAreAccurateAtLargeDistances(DataType type) {
        ScoreTerms.requireGoldenBiases(
                manager,
                kerple().setHeadCount(1).build(),
                type,
                "kerple_biases.csv",
                List.of("logA", "logB"),
                // a (2), its product with the distance (1) and the sum (1) move the logarithm by 4, multiplied by b;
                // the logarithm (2), b (2) and the product (1) are off by 5 of the result
                (parameters, distance, bias) -> 4 * Math.exp(parameters[1]) + 5 * Math.abs(bias));
    }

    /** Reference: goldens/kerple_powers.csv, with 60-digit arithmetic. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void powersAreAccurateAtLargeDistances(DataType type) {
        ScoreTerms.requireGoldenBiases(
                manager,
                power().setHeadCount(1).build(),
                type,
                "kerple_powers.csv",
                List.of("logA", "logitP"),
                // the logarithm (1), p (6) and their product (1) move the power by 8 of the exponent; the power (2), a
                // (2) and the product (1) are off by 5 of the result
                (parameters, distance, bias) -> {
                    double exponent = 2 / (1 + Math.exp(-parameters[1])) * Math.log(Math.max(1, distance));
                    return (8 * exponent + 5) * Math.abs(bias);
                });
    }

    private double[] initial(KerpleBiasBlock block, String name) {
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        return parameter(block, name);
    }

    /** 1000 uniform numbers from 0.01 to a largest one. */
    private static void requireUniform(DoubleStream numbers, double largest) {
        DoubleSummaryStatistics all = numbers.summaryStatistics();
        assertThat(all.getCount()).isEqualTo(1000);
        // the logarithm and its exponential: a few units of 2^-24 of logarithms up to 5
        assertThat(all.getMin()).isGreaterThanOrEqualTo(0.01 * (1 - 1e-5));
        assertThat(all.getMax()).isLessThanOrEqualTo(largest * (1 + 1e-5));
        // the mean: the standard deviation is (largest - 0.01) / √(12 · 1000), largest / 110
        assertThat(all.getAverage()).isCloseTo((0.01 + largest) / 2, within(6 * largest / 110));
    }

    /** The ranges of the authors' code. */
    @Test
    void beginsWithUniformNumbers() {
        KerpleBiasBlock logarithmic = kerple().setHeadCount(1000).build();
        requireUniform(DoubleStream.of(initial(logarithmic, "logA")).map(Math::exp), 1);
        requireUniform(DoubleStream.of(initial(logarithmic, "logB")).map(Math::exp), 2);
        KerpleBiasBlock power = power().setHeadCount(1000).build();
        requireUniform(DoubleStream.of(initial(power, "logA")).map(Math::exp), 1);
        requireUniform(DoubleStream.of(initial(power, "logitP")).map(logit -> 2 / (1 + Math.exp(-logit))), 1.99);
    }

    @Test
    void hasTheLogarithmicFormByDefault() {
        assertThat(kerple().build().getArguments())
                .isEqualTo(Map.of("type", "KerpleBiasBlock", "headCount", 2, "form", "LOGARITHMIC"));
    }

    @Test
    void rejectsAnUnknownForm() {
        assertAll(rejected(
                () -> KerpleBiasBlock.fromArguments(Map.of("headCount", 2, "form", "LINEAR")),
                "LINEAR",
                "[LOGARITHMIC, POWER]"));
    }

    @Test
    void rejectsQueriesOfAnotherTypeThanItsParameters() {
        KerpleBiasBlock block = filled(manager, kerple().build(), DataType.FLOAT32);
        NDArray wide = zeros(manager, DataType.FLOAT64, 1, 3, 4);
        NDArray vector = zeros(manager, 3);
        NDArray x = zeros(manager, 1, 3, 4);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, block, wide), "(1, 3, 4)", "float64", "float32"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, vector), "(3)"),
                rejectedWithoutLeak(manager, () -> inferFrom(manager, -1, block, x), -1));
    }
}
