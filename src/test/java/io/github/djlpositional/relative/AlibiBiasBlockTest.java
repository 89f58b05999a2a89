package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Biases that fall linearly with the distance. */
class AlibiBiasBlockTest extends OnEachEngine {

    private static AlibiBiasBlock.Builder alibi() {
        return AlibiBiasBlock.builder().setHeadCount(2);
    }

    private static MultiHeadAttentionBlock.Builder attention(AlibiBiasBlock.Builder alibi) {
        return MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(alibi.build());
    }

    /** Section 3 of the paper: with two heads, the slopes are 2^-4 and 2^-8. */
    @Test
    void theBiasIsTheNegativeSlopeTimesTheDistance() {
        requireBiases(manager, alibi().build(), (head, i, j) -> -Math.pow(2, -4 * (head + 1)) * Math.abs(i - j));
    }

    /** A slope of ln 2 halves the weight with each token; a head with the slope 0 has no bias. */
    @Test
    void theWeightsOfAnAttentionFallWithTheDistance() {
        AlibiSlopes slopes = AlibiSlopes.custom(Math.log(2), 0);
        double[] first = ScoreTerms.lastWeights(
                manager, attention(alibi().optSlopes(slopes)).build(), 0, 3);
        double[] second = ScoreTerms.lastWeights(
                manager, attention(alibi().optSlopes(slopes)).build(), 1, 3);
        assertThat(first).containsExactly(new double[] {1 / 7.0, 2 / 7.0, 4 / 7.0}, within(1e-14));
        assertThat(second).containsExactly(new double[] {1 / 3.0, 1 / 3.0, 1 / 3.0}, within(1e-14));
    }

    /** -2^(-1/2) · 3001 by mpmath, and the nearest float and half, of which the latter is a multiple of 2. */
    @ParameterizedTest
    @CsvSource({"FLOAT64, -2122.027450340829", "FLOAT32, -2122.02734375", "FLOAT16, -2122"})
    void eachBiasIsTheNearestNumber(DataType type, double nearest) {
        AlibiBiasBlock block = AlibiBiasBlock.builder().setHeadCount(16).build();
        NDArray bias =
                inferFrom(manager, 3001, block, zeros(manager, type, 1, 1, 1)).get("0, 0, 0, :1");
        assertThat(bias.getDataType()).isEqualTo(type);
        assertThat(bias.toType(DataType.FLOAT64, false).toDoubleArray()).containsExactly(nearest);
    }

    /** 2^-8 · j in numbers of 8 bits, of which 257, 259 and 515 are none: 2^-8 · 256, 256, 260, 516. */
    @Test
    void biasesByKeyAreRoundedAsInFalcon() {
        AlibiBiasBlock block = alibi().optRoundedByKey(true).build();
        NDArray biases =
                inferAt(manager, integers(manager, 256, 257, 259, 515).reshape(1, 4), block, zeros(manager, 1, 4, 4));
        for (int query = 0; query < 4; query++) {
            assertThat(biases.get("0, 1, " + query).toFloatArray()).containsExactly(1, 1, 1.015625f, 2.015625f);
        }
    }

    @Test
    void takesRealPositions() {
        NDArray biases = inferAt(
                manager,
                reals(manager, 0, 0.5, 2.25),
                alibi().optSlopes(AlibiSlopes.custom(0.5, 2)).build(),
                zeros(manager, 1, 3, 4));
        // distances and products are exact
        requireClose(biases.get("0, 0, 2"), new double[] {-1.125, -0.875, 0}, 0);
        requireClose(biases.get("0, 1, 2"), new double[] {-4.5, -3.5, 0}, 0);
    }

    @Test
    void keysMayHaveAnotherLengthThanQueries() {
        AlibiBiasBlock block = alibi().optSlopes(AlibiSlopes.custom(1, 2)).build();
        NDArray biases = infer(manager, block, zeros(manager, 1, 2, 4), zeros(manager, 1, 4, 4));
        assertThat(biases.getShape()).isEqualTo(new Shape(1, 2, 2, 4));
        assertThat(biases.get("0, 0").toFloatArray()).containsExactly(0, -1, -2, -3, -1, 0, -1, -2);
        NDArray later = inferFrom(manager, 3, block, zeros(manager, 1, 1, 4), zeros(manager, 1, 2, 4));
        assertThat(later.get("0, 1").toFloatArray()).containsExactly(-6, -4);
    }

    @Test
    void hasThePublishedSlopesAndFixesThem() {
        AlibiBiasBlock block = alibi().build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of("type", "AlibiBiasBlock", "headCount", 2, "learned", false, "scaled", false));
        assertThat(block.getSlopes().get(1)).isEqualTo(1 / 256.0);
        assertThat(block.getParameters()).isEmpty();
        AlibiBiasBlock other = alibi().optSlopes(AlibiSlopes.custom(0.5, 0)).build();
        assertThat(other.getSlopes().get(0)).isEqualTo(0.5);
        assertThat(other.getArguments()).containsEntry("slopes", List.of(0.5, 0.0));
    }

    @Test
    void learnsTheLogarithmsOfSlopes() {
        AlibiBiasBlock block = alibi().optLearned(true).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
        // ln 2^-4 and ln 2^-8, and the exponential of these: an ulp each
        assertThat(parameter(block, "logSlopes"))
                .containsExactly(new double[] {-4 * Math.log(2), -8 * Math.log(2)}, within(1e-14));
        requireBiases(manager, block, (head, i, j) -> -Math.pow(2, -4 * (head + 1)) * Math.abs(i - j));
        filled(manager, block, DataType.FLOAT64);
        double[] logSlopes = parameter(block, "logSlopes");
        requireBiases(manager, block, (head, i, j) -> -Math.exp(logSlopes[head]) * Math.abs(i - j));
    }

    @Test
    void aLearnedHeadWithoutBiasStaysWithoutOne() {
        AlibiBiasBlock block =
                alibi().optSlopes(AlibiSlopes.custom(0, 0.5)).optLearned(true).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
        requireBiases(manager, block, (head, i, j) -> head == 0 ? 0 : -0.5 * Math.abs(i - j));
    }

    /** Falcon's biases, with the scale 1/4. */
    @Test
    void multipliesBiasesByTheScaleOfTheScores() {
        MultiHeadAttentionBlock scaled = attention(
                        alibi().optSlopes(AlibiSlopes.custom(2, 0.5)).optScaled(true))
                .optScale(0.25)
                .build();
        MultiHeadAttentionBlock usual = attention(alibi().optSlopes(AlibiSlopes.custom(0.5, 0.125)))
                .optScale(0.25)
                .build();
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 5, 8);
        NDArray expected = infer(manager, filled(manager, usual, DataType.FLOAT64), x);
        requireClose(infer(manager, filled(manager, scaled, DataType.FLOAT64), x), expected.toDoubleArray(), 1e-12);
    }

    @Test
    void rejectsAnotherNumberOfSlopes() {
        assertAll(
                rejected(alibi().optSlopes(AlibiSlopes.of(4))::build, 4, "headCount 2"),
                rejected(alibi().optSlopes(AlibiSlopes.of(1))::build, 1, "headCount 2"));
    }

    @Test
    void rejectsInputsThatAreNoSequences() {
        AlibiBiasBlock block = alibi().build();
        NDArray vector = zeros(manager, 3);
        NDArray integers = zeros(manager, DataType.INT32, 2, 3);
        NDArray empty = zeros(manager, 1, 0, 4);
        NDArray x = zeros(manager, 1, 3, 4);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, block, vector), "queries", "(3)", "rank 2"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, vector), "keys", "(3)", "rank 2"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, integers), "(2, 3)", "int32", "float32"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, empty), "0 queries", "0 keys"),
                rejectedWithoutLeak(manager, () -> inferFrom(manager, 3, block, empty), "0 queries", "3 keys"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, empty), "3 queries", "0 keys"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, x, x), 3, "[queries, keys]"),
                rejectedWithoutLeak(manager, () -> inferFrom(manager, -1, block, x), -1));
    }
}
