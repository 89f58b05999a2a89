package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Biases that fall with the square of the distance. */
class GaussianBiasBlockTest extends OnEachEngine {

    private static GaussianBiasBlock.Builder gaussian() {
        return GaussianBiasBlock.builder().setHeadCount(2);
    }

    /** The paper's bias, -(i - j)² / (2σ²), with ln σ as the parameter. */
    @Test
    void theBiasIsTheLogarithmOfAGaussian() {
        GaussianBiasBlock block = filled(manager, gaussian().build(), DataType.FLOAT64);
        double[] logSigma = parameter(block, "logSigma");
        requireBiases(manager, block, (head, i, j) -> -Math.pow((i - j) / Math.exp(logSigma[head]), 2) / 2);
    }

    /** Each weight is a Gaussian of the distance, before the weights are normalized. */
    @Test
    void theWeightsOfAnAttentionAreAGaussian() {
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(gaussian().optSigma(2).build())
                .build();
        double[] weights = ScoreTerms.lastWeights(manager, attention, 1, 3);
        // ln σ is rounded to a float
        assertThat(weights[0] / weights[2]).isCloseTo(Math.exp(-4 / 8.0), within(1e-7));
        assertThat(weights[1] / weights[2]).isCloseTo(Math.exp(-1 / 8.0), within(1e-7));
    }

    /** Reference: goldens/gaussian_biases.csv, with 60-digit arithmetic. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void isAccurateAtLargeDistances(DataType type) {
        // half the square of the distance (1), 1 / σ (2), which counts twice, its square (1), the product (1)
        ScoreTerms.requireGoldenBiases(
                manager,
                gaussian().setHeadCount(1).build(),
                type,
                "gaussian_biases.csv",
                List.of("logSigma"),
                (parameters, distance, bias) -> 7 * Math.abs(bias));
    }

    @Test
    void beginsWithTheInitialSigma() {
        GaussianBiasBlock block = gaussian().build();
        assertThat(block.getArguments()).isEqualTo(Map.of("type", "GaussianBiasBlock", "headCount", 2, "sigma", 3.0));
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        // half an ulp of a float below 2
        assertThat(parameter(block, "logSigma"))
                .containsOnly((float) Math.log(3))
                .hasSize(2);
        GaussianBiasBlock wide = gaussian().optSigma(2.5).build();
        wide.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        assertThat(parameter(wide, "logSigma")).containsOnly((float) Math.log(2.5));
    }

    @Test
    void rejectsASigmaThatIsNotPositive() {
        assertAll(
                rejected(gaussian().optSigma(0)::build, "sigma 0.0"),
                rejected(gaussian().optSigma(-1)::build, "sigma -1.0"),
                rejected(gaussian().optSigma(Double.POSITIVE_INFINITY)::build, "sigma", "Infinity"));
    }
}
