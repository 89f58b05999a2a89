package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.EncodingType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

class TorchFunctionsTest {

    @EngineTest
    void belongsToPyTorch(Engine engine, NDManager manager) {
        TorchFunctions functions = TorchFunctions.of(manager.ones(new Shape(1)));
        assertThat(functions != null).isEqualTo(engine.getEngineName().equals("PyTorch"));
        assertThat(TorchFunctions.of(manager.ones(new Shape(1)))).isSameAs(functions);
    }

    @EngineTest
    void gradientsOfLongSequencesAreThoseOfTheFormulaWithAndWithoutTheTrainingFlag(Engine engine, NDManager manager) {
        List<double[]> gradients = new ArrayList<>();
        for (boolean isFused : new boolean[] {true, false}) {
            MultiHeadAttentionBlock block = filled(
                    manager,
                    EncodingType.ROTARY
                            .attention(HEADS)
                            .optCausal(true)
                            .optFusedKernel(isFused)
                            .build(),
                    DataType.FLOAT64);
            ParameterStore store = new ParameterStore(manager, false);
            for (boolean training : new boolean[] {false, true}) {
                NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 600, SIZE);
                x.setRequiresGradient(true);
                try (GradientCollector collector = engine.newGradientCollector()) {
                    NDArray y = block.forward(store, new NDList(x), training).head();
                    // a residual connection, whose gradient is 1
                    collector.backward(y.mul(y).add(x).sum());
                }
                gradients.add(TestNumbers.doubles(x.getGradient()));
            }
        }
        assertThat(Arrays.stream(gradients.get(3))
                        .map(g -> Math.abs(g - 1))
                        .max()
                        .orElseThrow())
                .as("the attention's part")
                .isGreaterThan(0.1);
        for (double[] gradient : gradients) {
            requireClose(manager.create(gradient), gradients.get(3), 1e-9);
        }
    }

    @EngineTest
    void changesOnlyTheRounding(NDManager manager) {
        NDArray x = numbers(manager, 5, DataType.FLOAT32, 2, 40, 8);
        for (boolean isCausal : new boolean[] {true, false}) {
            MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(4)
                    .optKeyValueHeadCount(2)
                    .optScale(0.3)
                    .optWindow(9)
                    .optCausal(isCausal);
            MultiHeadAttentionBlock fused = filled(manager, builder.build(), DataType.FLOAT32);
            MultiHeadAttentionBlock plain =
                    filled(manager, builder.optFusedKernel(false).build(), DataType.FLOAT32);
            requireClose(Forward.infer(manager, fused, x), TestNumbers.doubles(Forward.infer(manager, plain, x)), 2e-5);
        }
    }

    @EngineTest
    void gradientsWithAlibiAreThoseOfTheScoresWhereMostWeightsVanish(Engine engine, NDManager manager) {
        NDArray x = numbers(manager, 7, DataType.FLOAT32, 1, 600, SIZE);
        List<double[]> gradients = new ArrayList<>();
        for (boolean isFused : new boolean[] {true, false}) {
            MultiHeadAttentionBlock block = filled(
                    manager,
                    EncodingType.ALIBI.attention(HEADS).optFusedKernel(isFused).build(),
                    DataType.FLOAT32);
            NDArray input = x.duplicate();
            input.setRequiresGradient(true);
            try (GradientCollector collector = engine.newGradientCollector()) {
                NDArray y = Forward.train(manager, block, input);
                collector.backward(y.mul(y).mean());
            }
            gradients.add(TestNumbers.doubles(input.getGradient()));
        }
        requireClose(manager.create(gradients.get(0)), gradients.get(1), 2e-5);
    }

    /** The numbers of columns end before, at and behind a part's end; 262144 / 24 + 1 columns are a part. */
    @EngineTest
    void perceptronInPartsIsTheFormula(Engine engine, NDManager manager) {
        TorchFunctions functions = TorchFunctions.of(manager.ones(new Shape(1)));
        assumeThat(functions).isNotNull();
        for (int columns : new int[] {1, 10922, 10924}) {
            NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, columns);
            NDArray weight1 = numbers(manager, 4, DataType.FLOAT64, 24, 2);
            NDArray bias1 = numbers(manager, 5, DataType.FLOAT64, 24);
            NDArray weight2 = numbers(manager, 6, DataType.FLOAT64, 3, 24);
            NDArray bias2 = numbers(manager, 7, DataType.FLOAT64, 3);
            NDArray units = weight1.matMul(x).add(bias1.reshape(24, 1)).maximum(0);
            double[] without = TestNumbers.doubles(weight2.matMul(units));
            double[] with = TestNumbers.doubles(weight2.matMul(units).add(bias2.reshape(3, 1)));
            requireClose(functions.perceptron(x, weight1, bias1, weight2, null), without, 1e-12);
            requireClose(functions.perceptron(x, weight1, bias1, weight2, bias2), with, 1e-12);
            bias1.setRequiresGradient(true);
            try (GradientCollector collector = engine.newGradientCollector()) {
                NDArray y = functions.perceptron(x, weight1, bias1, weight2, bias2);
                requireClose(y, with, 1e-12);
                collector.backward(y.sum());
            }
            double[] ofUnits = TestNumbers.doubles(units.gt(0)
                    .toType(DataType.FLOAT64, false)
                    .sum(new int[] {1})
                    .mul(weight2.sum(new int[] {0})));
            requireClose(bias1.getGradient(), ofUnits, 1e-9);
        }
    }

    @EngineTest
    void shiftsAPartOfAnArray(NDManager manager) {
        TorchFunctions functions = TorchFunctions.of(manager.ones(new Shape(1)));
        assumeThat(functions).isNotNull();
        NDArray part = numbers(manager, 3, DataType.FLOAT32, 3, 2, 4, 9).get("1:2");
        double[] expected = TestNumbers.doubles(functions.toKeys(part.duplicate(), 6));
        assertThat(TestNumbers.doubles(functions.toKeys(part, 6))).isEqualTo(expected);
    }

    /** A large array is rotated in parts, where no gradient is recorded. */
    @EngineTest
    void rotatesInPartsWithTheBitsOfOneAndWithTheGradientOfItsAngles(Engine engine, NDManager manager) {
        TorchFunctions functions = TorchFunctions.of(manager.ones(new Shape(1)));
        assumeThat(functions).isNotNull();
        for (NDArray x : List.of(
                numbers(manager, 3, DataType.FLOAT32, 2, 8, 1100, 70),
                numbers(manager, 3, DataType.FLOAT32, 2, 1100, 8, 70).transpose(0, 2, 1, 3))) {
            NDArray rows = numbers(manager, 4, DataType.FLOAT32, 1, 1100, 64);
            double[] whole = TestNumbers.doubles(functions.rotate(x, rows, PairLayout.CONCATENATED));
            NDArray end = functions.rotate(x.get(":, :, 1000:"), rows.get(":, 1000:"), PairLayout.CONCATENATED);
            double[] ofPart = TestNumbers.doubles(end);
            for (int head = 0; head < 16; head++) {
                int from = (head * 1100 + 1000) * 70;
                assertThat(Arrays.copyOfRange(whole, from, from + 7000))
                        .isEqualTo(Arrays.copyOfRange(ofPart, head * 7000, head * 7000 + 7000));
            }
            rows.setRequiresGradient(true);
            try (GradientCollector collector = engine.newGradientCollector()) {
                NDArray recorded = functions.rotate(x, rows, PairLayout.CONCATENATED);
                assertThat(TestNumbers.doubles(recorded)).isEqualTo(whole);
                collector.backward(recorded.sum());
                assertThat(rows.getGradient().abs().sum().getFloat()).isPositive();
            }
        }
    }

    @EngineTest(onCpu = true)
    void limitsOnlyBiasesOfVanishingWeights(NDManager manager) {
        TorchFunctions functions = TorchFunctions.of(manager.ones(new Shape(1)));
        assumeThat(functions).as("only PyTorch has it").isNotNull();
        int length = 500;
        NDArray queries = numbers(manager, 11, DataType.FLOAT32, 2, 2, length, 8);
        NDArray keys = numbers(manager, 12, DataType.FLOAT32, 2, 2, length, 8);
        NDArray distances = manager.arange(1f - length, length, 1f).abs();
        NDArray lines = NDArrays.stack(new NDList(distances.mul(-2), distances.mul(-0.01)))
                .add(3);
        NDArray limited = functions.limited(queries, keys, lines);
        double[] scores =
                TestNumbers.doubles(queries.matMul(keys.transpose(0, 1, 3, 2)).div(Math.sqrt(8)));
        double[] given = TestNumbers.doubles(lines);
        double[] found = TestNumbers.doubles(limited);
        int width = 2 * length - 1;
        for (int head = 0; head < 2; head++) {
            double least = Double.POSITIVE_INFINITY;
            for (int row = 0; row < 2 * length; row++) {
                int first = ((row / length * 2 + head) * length + row % length) * length;
                double[] biased = new double[length];
                double sum = 0;
                for (int key = 0; key < length; key++) {
                    int column = head * width + key - row % length + length - 1;
                    biased[key] = scores[first + key] + given[column];
                    sum += Math.exp(biased[key]);
                }
                for (int key = 0; key < length; key++) {
                    int column = head * width + key - row % length + length - 1;
                    if (found[column] == given[column]) {
                        continue;
                    }
                    double weight = scores[first + key] + found[column] - Math.log(sum);
                    least = Math.min(least, weight);
                    assertThat(weight).isLessThan(-39.9);
                }
            }
            if (head == 0) {
                // the least normal number of FLOAT32 is exp(-87.3)
                assertThat(least).isBetween(-80.0, -40.0);
            } else {
                assertThat(least).as("no bias below the limit").isInfinite();
            }
        }
    }
}
