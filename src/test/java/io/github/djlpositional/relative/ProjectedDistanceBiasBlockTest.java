package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.rows;
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
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Biases that mix curves of the distance by weights of the query's token. */
class ProjectedDistanceBiasBlockTest extends OnEachEngine {

    private static ProjectedDistanceBiasBlock.Builder projected() {
        return ProjectedDistanceBiasBlock.builder()
                .setHeadCount(2)
                .setEmbeddingSize(SIZE)
                .optCurves(3)
                .optMaxDistance(5);
    }

    /** x-transformers' RelativeProjPositionalBias: (W x + b) · c(i - j) for 0 ≤ i - j < M, and otherwise 0. */
    @Test
    void theBiasIsAMixtureOfTheCurves() {
        ProjectedDistanceBiasBlock block = filled(manager, projected().build(), DataType.FLOAT64);
        NDArray input = numbers(manager, 3, DataType.FLOAT64, 1, 7, SIZE);
        double[][] curves = rows(block, "curves");
        ScoreTerms.requireBiasesOfInput(manager, block, input, (head, i, j) -> {
            double[] weights = linear(block, "weight", "bias", doubles(input.get(0, i)));
            double bias = 0;
            for (int curve = 0; curve < 3 && j <= i && i - j < 5; curve++) {
                bias += weights[3 * head + curve] * curves[curve][i - j];
            }
            return bias;
        });
    }

    /** Of one curve with the weight 1, the biases are the curve. */
    @Test
    void aBiasEndsAtTheMaximumDistanceAndAtTheQuery() {
        ProjectedDistanceBiasBlock block =
                projected().setHeadCount(1).optCurves(1).optMaxDistance(2).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, SIZE));
        set(block, "bias", 1);
        set(block, "curves", 4, 0.5);
        NDArray keys = zeros(manager, DataType.FLOAT64, 1, 5, SIZE);
        NDArray biases = inferFrom(manager, 3, block, keys.get(":, :1"), keys);
        requireClose(biases, new double[] {0, 0, 0.5, 4, 0}, 1e-14);
    }

    @Test
    void hasTheDefaultsOfTheDocumentation() {
        ProjectedDistanceBiasBlock block = ProjectedDistanceBiasBlock.builder()
                .setHeadCount(2)
                .setEmbeddingSize(SIZE)
                .build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "ProjectedDistanceBiasBlock",
                        "headCount",
                        2,
                        "embeddingSize",
                        8,
                        "curves",
                        16,
                        "maxDistance",
                        1024));
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, SIZE));
        double[] curves = parameter(block, "curves");
        assertThat(curves).hasSize(16 * 1024);
        // N(0, 0.02²): the standard deviation of the mean square of 16,384 numbers is 1.1 % of it
        assertThat(Arrays.stream(curves).map(each -> each * each).average().orElseThrow())
                .isCloseTo(4e-4, within(3e-5));
        assertThat(parameter(block, "weight")).hasSize(2 * 16 * 8);
    }

    @Test
    void rejectsNoCurvesAndNoDistances() {
        assertAll(
                rejected(projected().optCurves(0)::build, "curves 0"),
                rejected(projected().optMaxDistance(0)::build, "maxDistance 0"));
    }

    @Test
    void rejectsWhatIsNotTheInputOfTheAttention() {
        ProjectedDistanceBiasBlock block = filled(manager, projected().build(), DataType.FLOAT32);
        NDArray narrow = zeros(manager, 1, 3, 4);
        assertAll(rejectedWithoutLeak(manager, () -> infer(manager, block, narrow), "(1, 3, 4)", "(B, T, 8)"));
    }
}
