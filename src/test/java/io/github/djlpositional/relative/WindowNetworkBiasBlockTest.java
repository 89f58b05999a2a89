package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.requireBiases;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.relative.WindowNetworkBiasBlock.Form;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Biases that a network computes from the differences of rows and columns in a window. */
class WindowNetworkBiasBlockTest extends OnEachEngine {

    private static WindowNetworkBiasBlock.Builder window(int... sizes) {
        return WindowNetworkBiasBlock.builder().setHeadCount(2).setWindow(sizes).optHiddenSize(5);
    }

    /** Equation 4 of the paper: log-spaced coordinates, of differences that are scaled to 8 for the largest one. */
    private static double logarithmic(int difference, int trainedSize) {
        double scaled = 8.0 * Math.abs(difference) / (trainedSize - 1);
        return Math.signum(difference) * Math.log(1 + scaled) / Math.log(2) / 3;
    }

    /** 16 · σ(W₂ · relu(W₁ u + b₁)), as in the published code. */
    private static double bias(WindowNetworkBiasBlock block, int head, double y, double x) {
        double[] hidden = Arrays.stream(linear(block, "weight1", "bias1", y, x))
                .map(each -> Math.max(0, each))
                .toArray();
        return 16 / (1 + Math.exp(-linear(block, "weight2", null, hidden)[head]));
    }

    @Test
    void theBiasIsTheNetworkOfTheDifferences() {
        WindowNetworkBiasBlock block = filled(manager, window(3, 4).build(), DataType.FLOAT64);
        requireBiases(
                manager,
                block,
                (head, i, j) -> bias(block, head, logarithmic(i / 4 - j / 4, 3), logarithmic(i % 4 - j % 4, 4)));
    }

    @Test
    void differencesAreThoseOfTheWindowThatWasTrained() {
        WindowNetworkBiasBlock block =
                filled(manager, window(3, 4).optTrainedWindow(5, 2).build(), DataType.FLOAT64);
        requireBiases(
                manager,
                block,
                (head, i, j) -> bias(block, head, logarithmic(i / 4 - j / 4, 5), logarithmic(i % 4 - j % 4, 2)));
    }

    /** Such as loaded weights in a larger picture. */
    @Test
    void theParametersFitAnyWindow() throws Exception {
        WindowNetworkBiasBlock trained = filled(manager, window(2, 3).build(), DataType.FLOAT64);
        WindowNetworkBiasBlock larger = window(4, 4).optTrainedWindow(2, 3).build();
        larger.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
        for (String name : trained.getParameters().keys()) {
            ScoreTerms.set(larger, name, ScoreTerms.parameter(trained, name));
        }
        NDArray before = infer(manager, trained, zeros(manager, DataType.FLOAT64, 1, 3, 4));
        NDArray after = infer(manager, larger, zeros(manager, DataType.FLOAT64, 1, 3, 4));
        requireClose(after, doubles(before), 1e-12);
    }

    /** In a large window, the differences of the class token are far from the others. */
    @Test
    void aClassTokenChangesNoBiasOfCells() {
        WindowNetworkBiasBlock cells = filled(manager, window(21, 20).build(), DataType.FLOAT64);
        WindowNetworkBiasBlock block =
                filled(manager, window(21, 20).optClassToken(true).build(), DataType.FLOAT64);
        NDArray expected = infer(manager, cells, zeros(manager, DataType.FLOAT64, 1, 420, 4));
        NDArray y = infer(manager, block, zeros(manager, DataType.FLOAT64, 1, 421, 4));
        requireClose(y.get(":, :, 1:, 1:"), doubles(expected), 1e-12);
        assertThat(y.get(":, :, 0").abs().sum().getDouble()).isZero();
        assertThat(y.get(":, :, :, 0").abs().sum().getDouble()).isZero();
    }

    /** The differences are divided by the number of rows minus 1, which is 0. */
    @Test
    void aWindowOfOneRowHasNoDifferencesOfRows() {
        WindowNetworkBiasBlock block = filled(manager, window(1, 7).build(), DataType.FLOAT64);
        requireBiases(manager, block, (head, i, j) -> bias(block, head, 0, logarithmic(i - j, 7)));
    }

    /** From 0 to 16. */
    @Test
    void withoutWeightsEachBiasIsTheMiddleOfItsRange() {
        WindowNetworkBiasBlock block = window(2, 4).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
        ScoreTerms.set(block, "weight2", new double[10]);
        requireBiases(manager, block, (head, i, j) -> 8);
    }

    private static double[] hidden(WindowNetworkBiasBlock block, int layer, double... x) {
        return Arrays.stream(linear(block, "weight" + layer, "bias" + layer, x))
                .map(unit -> Math.max(0, unit))
                .toArray();
    }

    /** {@code RelPosMlp} of timm 1.0.31 with mode cr: the logarithms of differences, and the network's output. */
    @Test
    void theBiasMayBeTheOutputForLogarithms() {
        WindowNetworkBiasBlock block =
                filled(manager, window(3, 4).optForm(Form.LOGARITHMIC).build(), DataType.FLOAT64);
        requireBiases(manager, block, (head, i, j) -> {
            double[] inputs = IntStream.of(i / 4 - j / 4, i % 4 - j % 4)
                    .mapToDouble(d -> Math.signum(d) * Math.log(1 + Math.abs(d)))
                    .toArray();
            return linear(block, "weight2", "bias2", hidden(block, 1, inputs))[head];
        });
    }

    /** CrossFormer, section 3.2, for videos: the differences themselves, here with two hidden layers. */
    @Test
    void theBiasMayBeTheOutputForDifferencesOfFramesRowsAndColumns() {
        WindowNetworkBiasBlock block = filled(
                manager, window(2, 3, 2).optForm(Form.LINEAR).optHiddenLayers(2).build(), DataType.FLOAT64);
        requireBiases(manager, block, (head, i, j) -> {
            double[] first = hidden(block, 1, i / 6 - j / 6, i / 2 % 3 - j / 2 % 3, i % 2 - j % 2);
            return linear(block, "weight3", "bias3", hidden(block, 2, first))[head];
        });
    }

    /** CrossFormer normalizes each hidden layer: of equal units, it leaves the offset. */
    @Test
    void hiddenLayersMayBeNormalized() {
        WindowNetworkBiasBlock block =
                window(3, 4).optForm(Form.LINEAR).optNormalized(true).build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
        ScoreTerms.set(block, "weight1", new double[10]);
        ScoreTerms.set(block, "bias1", 7, 7, 7, 7, 7);
        ScoreTerms.set(block, "offset1", 1, -2, 3, 0, 0);
        ScoreTerms.set(block, "weight2", 1, 10, 100, 0, 0, 0, 0, 1, 0, 0);
        ScoreTerms.set(block, "bias2", 0.5, 0);
        requireBiases(manager, block, (head, i, j) -> head == 0 ? 301.5 : 3);
    }

    /** {@code RelPosMlp} of timm with {@code prefix_tokens}. */
    @Test
    void theBiasesOfAClassTokenAreZero() {
        for (Form form : Form.values()) {
            WindowNetworkBiasBlock cells =
                    filled(manager, window(2, 3).optForm(form).build(), DataType.FLOAT64);
            WindowNetworkBiasBlock block =
                    window(2, 3).optForm(form).optClassToken(true).build();
            block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 4));
            for (String name : cells.getParameters().keys()) {
                ScoreTerms.set(block, name, ScoreTerms.parameter(cells, name));
            }
            NDArray biases = infer(manager, block, zeros(manager, DataType.FLOAT64, 1, 7, 4));
            requireClose(biases.get(":, :, 0"), new double[14], 0);
            requireClose(biases.get(":, :, :, 0"), new double[14], 0);
            NDArray expected = infer(manager, cells, zeros(manager, DataType.FLOAT64, 1, 6, 4));
            requireClose(biases.get(":, :, 1:, 1:"), doubles(expected), 1e-12);
        }
    }

    @Test
    void hasTheDefaultsOfSwin() {
        WindowNetworkBiasBlock block =
                WindowNetworkBiasBlock.builder().setHeadCount(2).setWindow(2, 3).build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "WindowNetworkBiasBlock",
                        "headCount",
                        2,
                        "window",
                        List.of(2, 3),
                        "hiddenSize",
                        512,
                        "hiddenLayers",
                        1,
                        "normalized",
                        false,
                        "form",
                        "SWIN",
                        "classToken",
                        false,
                        "trainedWindow",
                        List.of(2, 3)));
    }

    @Test
    void rejectsAWindowThatDoesNotFitAndANetworkWithoutHiddenUnits() {
        Map<String, Object> one = Map.of("headCount", 2, "window", List.of(2, 3), "trainedWindow", List.of(3));
        assertAll(
                rejected(window(2, 3).optHiddenSize(0)::build, "hiddenSize 0"),
                rejected(window(2, 3).optHiddenLayers(0)::build, "hiddenLayers 0"),
                rejected(() -> WindowNetworkBiasBlock.fromArguments(one), "trainedWindow [3]", "[2, 3]", "axes"),
                rejected(
                        window(2, 3).optForm(Form.LINEAR).optTrainedWindow(2, 3)::build,
                        "trainedWindow [2, 3]",
                        "LINEAR"),
                rejected(window(2, 3).optTrainedWindow(2, 0)::build, "trainedWindow 0"),
                rejected(window(1024, 1024)::build, "window [1024, 1024]", 1 << 20));
    }

    @Test
    void rejectsPositionsOutsideTheWindow() {
        assumeCpu();
        WindowNetworkBiasBlock block = filled(manager, window(2, 3).build(), DataType.FLOAT32);
        NDArray x = zeros(manager, 1, 7, 4);
        assertAll(rejectedWithoutLeak(manager, () -> infer(manager, block, x), "position 6", "0 to 5"));
    }
}
