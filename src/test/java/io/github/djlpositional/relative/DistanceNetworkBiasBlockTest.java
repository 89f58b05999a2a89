package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.relative.ScoreTerms.set;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Biases that a network computes from the distance. */
class DistanceNetworkBiasBlockTest extends OnEachEngine {

    private static DistanceNetworkBiasBlock.Builder network() {
        return DistanceNetworkBiasBlock.builder().setHeadCount(2).setHiddenSize(3);
    }

    private static double[] silu(double... x) {
        return Arrays.stream(x).map(each -> each / (1 + Math.exp(-each))).toArray();
    }

    /** x-transformers' DynamicPositionBias, with two hidden layers. */
    @Test
    void theBiasIsTheNetworkOfTheDistance() {
        DistanceNetworkBiasBlock block = filled(manager, network().build(), DataType.FLOAT64);
        requireBiases(manager, block, (head, i, j) -> {
            double[] first = silu(linear(block, "weight1", "bias1", i - j));
            double[] second = silu(linear(block, "weight2", "bias2", first));
            return linear(block, "weight3", "bias3", second)[head];
        });
    }

    /** Its option depth, 1 or more. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void theNetworkHasTheseHiddenLayers(int hiddenLayers) {
        DistanceNetworkBiasBlock block =
                filled(manager, network().optHiddenLayers(hiddenLayers).build(), DataType.FLOAT64);
        requireBiases(manager, block, (head, i, j) -> {
            double[] x = {i - j};
            for (int layer = 1; layer <= hiddenLayers; layer++) {
                x = silu(linear(block, "weight" + layer, "bias" + layer, x));
            }
            return linear(block, "weight" + (hiddenLayers + 1), "bias" + (hiddenLayers + 1), x)[head];
        });
    }

    /** Its option log_distance. */
    @Test
    void theNetworkMayTakeTheLogarithmOfTheDistance() {
        DistanceNetworkBiasBlock block =
                filled(manager, network().optLogarithmic(true).build(), DataType.FLOAT64);
        requireBiases(manager, block, (head, i, j) -> {
            double logarithm = Math.signum(i - j) * Math.log(Math.abs(i - j) + 1);
            double[] first = silu(linear(block, "weight1", "bias1", logarithm));
            return linear(block, "weight3", "bias3", silu(linear(block, "weight2", "bias2", first)))[head];
        });
    }

    private static double[] normalized(DistanceNetworkBiasBlock block, int layer, double... x) {
        double mean = Arrays.stream(x).average().orElseThrow();
        double variance =
                Arrays.stream(x).map(each -> Math.pow(each - mean, 2)).average().orElseThrow();
        double[] scale = parameter(block, "scale" + layer);
        double[] offset = parameter(block, "offset" + layer);
        double[] normalized = new double[x.length];
        for (int unit = 0; unit < x.length; unit++) {
            // PyTorch's epsilon, which DJL takes as a float
            normalized[unit] = (x[unit] - mean) / Math.sqrt(variance + 1e-5f) * scale[unit] + offset[unit];
        }
        return normalized;
    }

    /** Its option norm: a layer normalization before each silu. */
    @Test
    void hiddenLayersMayBeNormalized() {
        DistanceNetworkBiasBlock block =
                filled(manager, network().optNormalized(true).build(), DataType.FLOAT64);
        requireBiases(manager, block, (head, i, j) -> {
            double[] first = silu(normalized(block, 1, linear(block, "weight1", "bias1", i - j)));
            double[] second = silu(normalized(block, 2, linear(block, "weight2", "bias2", first)));
            return linear(block, "weight3", "bias3", second)[head];
        });
    }

    /** Without weights of the distance, each head has one bias. */
    @Test
    void theLastBiasIsAddedToAllDistances() {
        DistanceNetworkBiasBlock block = network().build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
        set(block, "weight3", 0, 0, 0, 0, 0, 0);
        set(block, "bias3", 0.5, -2);
        requireBiases(manager, block, (head, i, j) -> head == 0 ? 0.5 : -2);
    }

    /** Uniform numbers up to 1 / √inputs. */
    @Test
    void beginsWithTheWeightsOfPyTorch() {
        DistanceNetworkBiasBlock block =
                network().setHiddenSize(64).optNormalized(true).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        Map.of("weight1", 1.0, "bias1", 1.0, "weight2", 0.125, "bias2", 0.125, "weight3", 0.125)
                .forEach((name, limit) -> {
                    double largest = Arrays.stream(parameter(block, name))
                            .map(Math::abs)
                            .max()
                            .orElseThrow();
                    // of 64 or more numbers, one is beyond 3/4 of the limit but for a probability of 1e-8
                    assertThat(largest).as(name).isBetween(0.75 * limit, limit);
                });
        assertThat(parameter(block, "scale1")).containsOnly(1);
        assertThat(parameter(block, "offset2")).containsOnly(0);
    }

    @Test
    void hasTwoHiddenLayersWithoutOptionsByDefault() {
        assertThat(network().build().getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "DistanceNetworkBiasBlock",
                        "headCount",
                        2,
                        "hiddenSize",
                        3,
                        "hiddenLayers",
                        2,
                        "logarithmic",
                        false,
                        "normalized",
                        false));
    }

    @Test
    void rejectsANetworkWithoutHiddenUnits() {
        assertAll(
                rejected(network().setHiddenSize(0)::build, "hiddenSize 0"),
                rejected(network().optHiddenLayers(0)::build, "hiddenLayers 0"),
                rejected(DistanceNetworkBiasBlock.builder().setHeadCount(2)::build, "hiddenSize", "setHiddenSize"));
    }
}
