package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.RelativeShift;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** The functions compute in parts, and limit small weights, without other results. */
class TorchFunctionsTest extends OnEachEngine {

    /** PyTorch's functions; skips the test on the other engine. */
    private TorchFunctions functions() {
        assumeEngine(TestEngine.PYTORCH);
        return TorchFunctions.of(manager.ones(new Shape(1)));
    }

    /** The training flag decides only about dropout; most weights of ALiBi vanish. */
    @CartesianTest
    void gradientsOfLongSequencesAreThoseOfTheFormula(
            @Values(booleans = {true, false}) boolean hasAlibi,
            @Values(booleans = {true, false}) boolean causal,
            @Values(booleans = {true, false}) boolean training) {
        EncodingType type = hasAlibi ? EncodingType.ALIBI : EncodingType.ROTARY;
        DataType dataType = hasAlibi ? DataType.FLOAT32 : DataType.FLOAT64;
        List<double[]> gradients = new ArrayList<>();
        for (boolean isFused : new boolean[] {true, false}) {
            MultiHeadAttentionBlock.Builder builder = type.attention(HEADS).optFusedKernel(isFused);
            MultiHeadAttentionBlock block =
                    filled(manager, builder.optCausal(causal).build(), dataType);
            NDArray x = numbers(manager, 3, dataType, 1, 600, SIZE);
            x.setRequiresGradient(true);
            try (GradientCollector collector = engine.get().newGradientCollector()) {
                NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), training || !isFused)
                        .head();
                collector.backward(y.mul(y).sum());
            }
            gradients.add(doubles(x.getGradient()));
        }
        assertThat(DoubleStream.of(gradients.get(1))).anyMatch(gradient -> Math.abs(gradient) > 0.1);
        requireClose(manager.create(gradients.get(0)), gradients.get(1), hasAlibi ? 600 * SIZE * 2e-5 : 1e-9);
    }

    /** 131072 / 24 + 1 columns are a part. */
    @Test
    void siluPerceptronInPartsIsTheFormula() {
        TorchFunctions functions = functions();
        for (int columns : new int[] {1, 5461, 5463}) {
            NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, columns);
            NDArray[] parameters = {
                numbers(manager, 4, DataType.FLOAT64, 24, 2),
                numbers(manager, 5, DataType.FLOAT64, 24),
                numbers(manager, 6, DataType.FLOAT64, 24, 24),
                numbers(manager, 7, DataType.FLOAT64, 24),
                numbers(manager, 8, DataType.FLOAT64, 3, 24),
                numbers(manager, 9, DataType.FLOAT64, 3)
            };
            NDArray units = x;
            for (int i = 0; i < parameters.length; i += 2) {
                units = parameters[i].matMul(
                        i == 0 ? x : units.div(units.neg().exp().add(1)));
                units = units.add(parameters[i + 1].expandDims(1));
            }
            requireClose(functions.siluPerceptron(x, parameters), doubles(units), 1e-11);
            // gradients may be recorded in inference
            parameters[5].setRequiresGradient(true);
            parameters[2].setRequiresGradient(true);
            try (GradientCollector collector = engine.get().newGradientCollector()) {
                collector.backward(functions.siluPerceptron(x, parameters).sum());
            }
            requireClose(parameters[5].getGradient(), new double[] {columns, columns, columns}, 1e-9);
            assertThat(doubles(parameters[2].getGradient())).doesNotContain(0);
        }
    }

    /** The numbers of columns end before, at and behind a part's end; 262144 / 24 + 1 columns are a part. */
    @Test
    void perceptronInPartsIsTheFormula() {
        TorchFunctions functions = functions();
        for (int columns : new int[] {1, 10922, 10924}) {
            NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, columns);
            NDArray weight1 = numbers(manager, 4, DataType.FLOAT64, 24, 2);
            NDArray bias1 = numbers(manager, 5, DataType.FLOAT64, 24);
            NDArray weight2 = numbers(manager, 6, DataType.FLOAT64, 3, 24);
            NDArray bias2 = numbers(manager, 7, DataType.FLOAT64, 3);
            NDArray units = weight1.matMul(x).add(bias1.reshape(24, 1)).maximum(0);
            double[] without = doubles(weight2.matMul(units));
            double[] with = doubles(weight2.matMul(units).add(bias2.reshape(3, 1)));
            requireClose(functions.perceptron(x, weight1, bias1, weight2, null), without, 1e-12);
            requireClose(functions.perceptron(x, weight1, bias1, weight2, bias2), with, 1e-12);
            bias1.setRequiresGradient(true);
            try (GradientCollector collector = engine.get().newGradientCollector()) {
                NDArray y = functions.perceptron(x, weight1, bias1, weight2, bias2);
                requireClose(y, with, 1e-12);
                collector.backward(y.sum());
            }
            double[] ofUnits = doubles(units.gt(0)
                    .toType(DataType.FLOAT64, false)
                    .sum(new int[] {1})
                    .mul(weight2.sum(new int[] {0})));
            requireClose(bias1.getGradient(), ofUnits, 1e-9);
        }
    }

    @Test
    void shiftsAPartOfAnArray() {
        TorchFunctions functions = functions();
        NDArray part = numbers(manager, 3, DataType.FLOAT32, 3, 2, 4, 9).get("1:2");
        double[] expected = doubles(functions.toKeys(part.duplicate(), 6));
        assertThat(doubles(functions.toKeys(part, 6))).isEqualTo(expected);
    }

    /** 300 queries are three parts; the products of integers are exact. */
    @Test
    void productsByKeyInPartsAreTheFormula() {
        int queryCount = 300;
        int keyCount = 340;
        int columnCount = queryCount + keyCount - 1;
        float[] q = integers(queryCount * 2);
        float[] c = integers(2 * columnCount);
        NDArray queries = manager.create(q, new Shape(1, 1, queryCount, 2));
        NDArray columns = manager.create(c, new Shape(1, 1, 2, columnCount));
        queries.setRequiresGradient(true);
        double[] expected = new double[queryCount * keyCount];
        double[] gradient = new double[queryCount * 2];
        for (int i = 0; i < queryCount; i++) {
            for (int j = 0; j < keyCount; j++) {
                for (int h = 0; h < 2; h++) {
                    float number = c[h * columnCount + j - i + queryCount - 1];
                    expected[i * keyCount + j] += q[2 * i + h] * number;
                    gradient[2 * i + h] += number;
                }
            }
        }
        try (GradientCollector collector = engine.get().newGradientCollector()) {
            NDArray products = Temporaries.result(() -> RelativeShift.products(queries, columns, keyCount));
            assertThat(products.getShape()).isEqualTo(new Shape(1, 1, queryCount, keyCount));
            assertThat(doubles(products)).isEqualTo(expected);
            collector.backward(products.sum());
        }
        assertThat(doubles(queries.getGradient())).isEqualTo(gradient);
    }

    /** In a causal call, only the first key after a query has a column; later ones have any finite product. */
    @Test
    void productsByKeyOfCausalCallsAreTheFormula() {
        int queryCount = 300;
        int keyCount = 340;
        float[] q = integers(queryCount);
        float[] c = integers(keyCount + 1);
        NDArray queries = manager.create(q, new Shape(1, 1, queryCount, 1));
        NDArray columns = manager.create(c, new Shape(1, 1, 1, keyCount + 1));
        double[] found = doubles(Temporaries.result(() -> RelativeShift.products(queries, columns, keyCount)));
        assertThat(found).hasSize(queryCount * keyCount);
        assertThat(Arrays.stream(found)).allMatch(Double::isFinite);
        for (int i = 0; i < queryCount; i++) {
            for (int j = 0; j <= i + keyCount - queryCount; j++) {
                assertThat(found[i * keyCount + j]).isEqualTo(q[i] * c[j - i + queryCount - 1]);
            }
        }
    }

    /** 300 tokens at once are three parts of queries, and 100 at a time are one. */
    @ParameterizedTest
    @EnumSource(EncodingType.class)
    void longCausalSequencesAreTheirPartsWithACache(EncodingType type) {
        MultiHeadAttentionBlock block =
                filled(manager, type.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
        ParameterStore store = new ParameterStore(manager, false);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, 300, SIZE);
        double[] whole = doubles(block.forward(store, new NDList(x), false).head());
        NDList parts = new NDList();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int first = 0; first < 300; first += 100) {
                NDList part = new NDList(x.get(":, {}:{}", first, first + 100));
                parts.add(block.forward(store, part, false, cache.nextStep()).head());
            }
        }
        requireClose(NDArrays.concat(parts, 1), whole, 1e-9);
    }

    private static float[] integers(int count) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = i * 37 % 101 - 50;
        }
        return numbers;
    }

    /** A large array is rotated in another way, where no gradient is recorded. */
    @Test
    void rotatesALargeArrayWithTheBitsOfASmallOneAndWithTheGradientOfItsAngles() {
        TorchFunctions functions = functions();
        for (NDArray x : List.of(
                numbers(manager, 3, DataType.FLOAT32, 2, 8, 1100, 70),
                numbers(manager, 3, DataType.FLOAT32, 2, 8, 1100, 64),
                numbers(manager, 3, DataType.FLOAT16, 2, 8, 1100, 64),
                numbers(manager, 3, DataType.FLOAT32, 2, 1100, 8, 64).transpose(0, 2, 1, 3))) {
            NDArray rows = numbers(manager, 4, x.getDataType(), 1, 1100, 64);
            NDArray whole = functions.rotate(x, rows, PairLayout.CONCATENATED);
            for (PairLayout layout : PairLayout.values()) {
                NDArray end = functions.rotate(x.get(":, :, 1000:"), rows.get(":, 1000:"), layout);
                assertThat(end).isEqualTo(functions.rotate(x, rows, layout).get(":, :, 1000:"));
            }
            rows.setRequiresGradient(true);
            try (GradientCollector collector = engine.get().newGradientCollector()) {
                NDArray recorded = functions.rotate(x, rows, PairLayout.CONCATENATED);
                assertThat(recorded).isEqualTo(whole);
                collector.backward(recorded.sum());
            }
            // of x₁ cos - x₂ sin and x₂ cos + x₁ sin: a sum of 16 numbers below 4, rounded 16 times
            NDArray first = x.toType(DataType.FLOAT64, false).get("..., :32");
            NDArray second = x.toType(DataType.FLOAT64, false).get("..., 32:64");
            NDArray expected = first.add(second).concat(first.sub(second), 3).sum(new int[] {0, 1});
            double unit = x.getDataType() == DataType.FLOAT16 ? 0x1p-11 : 0x1p-24;
            requireClose(rows.getGradient(), doubles(expected), 16 * 64 * unit);
        }
    }

    @Test
    void limitsOnlyBiasesOfVanishingWeights() {
        assumeCpu();
        TorchFunctions functions = functions();
        int length = 500;
        NDArray queries = numbers(manager, 11, DataType.FLOAT32, 2, 2, length, 8);
        NDArray keys = numbers(manager, 12, DataType.FLOAT32, 2, 2, length, 8);
        NDArray distances = manager.arange(1f - length, length, 1f).abs();
        NDArray lines = NDArrays.stack(new NDList(distances.mul(-2), distances.mul(-0.01)))
                .add(3);
        NDArray limited = functions.limited(queries, keys, lines);
        double[] scores = doubles(queries.matMul(keys.transpose(0, 1, 3, 2)).div(Math.sqrt(8)));
        double[] biases = doubles(lines);
        double[] found = doubles(limited);
        int width = 2 * length - 1;
        for (int head = 0; head < 2; head++) {
            double smallest = Double.POSITIVE_INFINITY;
            for (int row = 0; row < 2 * length; row++) {
                int first = ((row / length * 2 + head) * length + row % length) * length;
                int distance = head * width - row % length + length - 1;
                double sum = IntStream.range(0, length)
                        .mapToDouble(key -> Math.exp(scores[first + key] + biases[distance + key]))
                        .sum();
                for (int key = 0; key < length; key++) {
                    int column = distance + key;
                    if (found[column] != biases[column]) {
                        double weight = scores[first + key] + found[column] - Math.log(sum);
                        smallest = Math.min(smallest, weight);
                        assertThat(weight).isLessThan(-39.9);
                    }
                }
            }
            if (head == 0) {
                // the smallest normal number of FLOAT32 is exp(-87.3)
                assertThat(smallest).isBetween(-80.0, -40.0);
            } else {
                assertThat(smallest).as("no bias below the limit").isInfinite();
            }
        }
    }
}
