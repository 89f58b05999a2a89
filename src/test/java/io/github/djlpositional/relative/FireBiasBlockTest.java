package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.relative.ScoreTerms.set;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Biases that a network computes from the fraction of the distance to the first token. */
class FireBiasBlockTest extends OnEachEngine {

    private static FireBiasBlock.Builder fire() {
        return FireBiasBlock.builder().setHeadCount(2).optHiddenSize(5).optThreshold(3.3);
    }

    private static double psi(double c, double x) {
        return Math.log(Math.abs(c * x) + 1);
    }

    /** Equation 5 of the paper with a learned threshold; ε is that of the published code. */
    @Test
    void theBiasIsTheNetworkOfAFractionOfTheDistance() {
        FireBiasBlock block = filled(manager, fire().build(), DataType.FLOAT64);
        double c = parameter(block, "c")[0];
        double threshold = Math.abs(3.3 * parameter(block, "multiplier")[0]);
        requireBiases(manager, block, (head, i, j) -> {
            double fraction = psi(c, i - j) / (psi(c, Math.max(threshold, i)) + 1e-6);
            double[] hidden = Arrays.stream(linear(block, "weight1", "bias1", fraction))
                    .map(x -> Math.max(0, x))
                    .toArray();
            return linear(block, "weight2", "bias2", hidden)[head];
        });
    }

    /** A network that returns its input shows the fractions: 1 for the first token, 0 for the query's own. */
    @Test
    void theFractionOfTheFirstTokenIsOneInSequencesBeyondTheThreshold() {
        FireBiasBlock block = FireBiasBlock.builder()
                .setHeadCount(1)
                .optHiddenSize(1)
                .optThreshold(2)
                .build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
        set(block, "weight1", 1);
        set(block, "bias1", 0);
        set(block, "weight2", 1);
        set(block, "bias2", 0);
        NDArray fractions = infer(manager, block, zeros(manager, DataType.FLOAT64, 1, 6, 4));
        // ψ(2) is about 0.18: ε has a share of 5.5e-6; c is a float
        assertThat(fractions.get("0, 0, 2:, 0").toDoubleArray())
                .containsExactly(new double[] {1, 1, 1, 1}, within(1e-5));
        assertThat(fractions.getDouble(0, 0, 1, 0)).isCloseTo(Math.log(1.1) / Math.log(1.2), within(1e-5));
        assertThat(fractions.getDouble(0, 0, 5, 5)).isZero();
    }

    @Test
    void hasTheDefaultsOfTheDocumentation() {
        FireBiasBlock block = FireBiasBlock.builder().setHeadCount(2).build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of("type", "FireBiasBlock", "headCount", 2, "hiddenSize", 32, "threshold", 512.0));
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        assertThat(parameter(block, "c")).containsExactly(0.1f);
        assertThat(parameter(block, "multiplier")).containsExactly(1);
    }

    @Test
    void rejectsANetworkWithoutHiddenUnitsAndAThresholdThatIsNotPositive() {
        assertAll(
                rejected(fire().optHiddenSize(0)::build, "hiddenSize 0"),
                rejected(fire().optThreshold(0)::build, "threshold 0.0"));
    }
}
