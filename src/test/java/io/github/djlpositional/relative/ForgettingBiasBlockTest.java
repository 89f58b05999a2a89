package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Biases that fall with each token between query and key, by the gate of that token. */
class ForgettingBiasBlockTest extends OnEachEngine {

    private static ForgettingBiasBlock.Builder forgetting() {
        return ForgettingBiasBlock.builder().setHeadCount(2).setEmbeddingSize(SIZE);
    }

    /** The logarithm of the gate of a token, ln σ(w · x + b), for each head. */
    private static double[] gates(ForgettingBiasBlock block, NDArray input, int token) {
        double[] logits = linear(block, "weight", "bias", doubles(input.get(0, token)));
        return Arrays.stream(logits).map(each -> -Math.log1p(Math.exp(-each))).toArray();
    }

    /** Section 3 of the paper; for a key after the query, the gates of the tokens after the query up to the key. */
    @Test
    void theBiasIsTheSumOfTheLogarithmsOfTheGatesInBetween() {
        ForgettingBiasBlock block = filled(manager, forgetting().build(), DataType.FLOAT64);
        NDArray input = numbers(manager, 3, DataType.FLOAT64, 1, 7, SIZE);
        ScoreTerms.requireBiasesOfInput(
                manager,
                block,
                input,
                (head, i, j) -> IntStream.rangeClosed(Math.min(i, j) + 1, Math.max(i, j))
                        .mapToDouble(token -> gates(block, input, token)[head])
                        .sum());
    }

    /** The logarithm of σ(5) is -0.00671534848911806861642 by mpmath. */
    @Test
    void aNewBlockForgetsSlowly() {
        ForgettingBiasBlock block = forgetting().build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, SIZE));
        assertThat(parameter(block, "bias")).containsExactly(5, 5);
        NDArray biases = infer(manager, block, zeros(manager, DataType.FLOAT64, 1, 4, SIZE));
        double gate = -0.006715348489118068;
        requireClose(biases.get("0, 1, 3"), new double[] {3 * gate, 2 * gate, gate, 0}, 1e-14);
        // uniform numbers up to 1 / √8
        assertThat(Arrays.stream(parameter(block, "weight"))
                        .map(Math::abs)
                        .max()
                        .orElseThrow())
                .isBetween(0.1, 1 / Math.sqrt(8));
    }

    /** In a cross-attention. */
    @Test
    void aQueryAfterTheLastKeyHasItsBias() {
        ForgettingBiasBlock block = filled(manager, forgetting().build(), DataType.FLOAT64);
        NDArray keys = numbers(manager, 3, DataType.FLOAT64, 1, 4, SIZE);
        NDArray queries = zeros(manager, DataType.FLOAT64, 1, 3, SIZE);
        NDArray last = inferFrom(manager, 3, block, zeros(manager, DataType.FLOAT64, 1, 1, SIZE), keys);
        NDArray biases = inferFrom(manager, 2, block, queries, keys);
        requireClose(biases.get("0, :, 1"), doubles(last.get("0, :, 0")), 1e-12);
        requireClose(biases.get("0, :, 2"), doubles(last.get("0, :, 0")), 1e-12);
        NDArray beyond = inferFrom(manager, 60, block, queries, keys);
        requireClose(beyond.get("0, :, 0"), doubles(last.get("0, :, 0")), 1e-12);
    }

    /** The logarithms of 100,000 gates add up to less than -2^16, where floats are 2^-7 apart. */
    @Test
    void isAsAccurateAfterManyTokens() {
        int length = 100_000;
        ForgettingBiasBlock block = filled(manager, forgetting().setHeadCount(1).build(), DataType.FLOAT32);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, length, SIZE);
        NDArray biases = inferFrom(manager, length - 3, block, x.get(":, -3:"), x);
        double[] inputs = doubles(x);
        double[] weight = parameter(block, "weight");
        double bias = parameter(block, "bias")[0];
        double sum = 0;
        double largestError = 0;
        double[] actual = doubles(biases.get("0, 0, 2"));
        for (int j = length - 1; j >= 0; j--) {
            // logits are sums of 9 floats below 2
            largestError = Math.max(largestError, Math.abs(actual[j] - sum) / (9 * 0x1p-23 + 1e-6 * -sum));
            double logit = bias;
            for (int d = 0; d < SIZE; d++) {
                logit += weight[d] * inputs[j * SIZE + d];
            }
            sum -= Math.log1p(Math.exp(-logit));
        }
        assertThat(largestError).isLessThan(1);
        assertThat(sum).isLessThan(-0x1p16);
    }

    @Test
    void hasNoOptionsButTheSizes() {
        assertThat(forgetting().build().getArguments())
                .isEqualTo(Map.of("type", "ForgettingBiasBlock", "headCount", 2, "embeddingSize", 8));
    }

    @Test
    void rejectsWhatIsNotTheInputOfTheAttention() {
        ForgettingBiasBlock block = filled(manager, forgetting().build(), DataType.FLOAT32);
        NDArray heads = zeros(manager, 1, 3, 3, 4);
        NDArray narrow = zeros(manager, 1, 3, 4);
        NDArray x = zeros(manager, 1, 3, SIZE);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, block, heads), "(1, 3, 3, 4)", "(B, T, 8)"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, narrow), "(1, 3, 4)", "(B, T, 8)"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, narrow), "(1, 3, 4)", "(B, T, 8)"));
    }
}
