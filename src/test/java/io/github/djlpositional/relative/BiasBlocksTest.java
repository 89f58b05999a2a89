package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.Goldens;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import java.math.BigDecimal;
import java.util.DoubleSummaryStatistics;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Accurate numbers of biases, also at large distances, and their use as a mask. */
class BiasBlocksTest {

    @EngineTest
    void theBiasOfADecodingStepIsARowOfTheWholeBias(NDManager manager, EncodingType type) {
        assumeTrue(type.block() instanceof DistanceBiasBlock && !(type.block() instanceof WindowDistanceBiasBlock));
        RelativeEncoding block = filled(manager, type.block(), DataType.FLOAT64);
        NDArray nine = manager.zeros(new Shape(1, 9, 4), DataType.FLOAT64);
        NDArray whole = Forward.infer(manager, block, nine);
        requireEqual(Forward.inferFrom(manager, 6, block, nine.get(":, :3")), whole.get(":, :, 6:"));
        requireEqual(Forward.infer(manager, block, nine.get(":, :4"), nine), whole.get(":, :, :4"));
        requireEqual(Forward.infer(manager, block, nine, nine.get(":, :2")), whole.get("..., :2"));
    }

    /** The logarithms of 100,000 gates add up to less than -2^16, where floats are 2^-7 apart. */
    @EngineTest
    void forgettingIsAsAccurateAfterManyTokens(NDManager manager) {
        int length = 100_000;
        ForgettingBiasBlock block = ForgettingBiasBlock.builder()
                .setHeadCount(1)
                .setEmbeddingSize(SIZE)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, SIZE));
        assertThat(array(block, "bias").toFloatArray()).containsExactly(5);
        filled(manager, block, DataType.FLOAT32);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, length, SIZE);
        NDArray biases = Forward.inferFrom(manager, length - 3, block, x.get(":, -3:"), x);
        double[] inputs = doubles(x);
        double[] weight = doubles(array(block, "weight"));
        double bias = doubles(array(block, "bias"))[0];
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

    private static void requireEqual(NDArray part, NDArray ofWhole) {
        assertThat(part.getShape()).isEqualTo(ofWhole.getShape());
        // a network of other distances is rounded otherwise
        requireClose(part, doubles(ofWhole), 1e-14);
    }

    private static NDArray array(Block block, String parameter) {
        return block.getParameters().get(parameter).getArray();
    }

    /** A file of biases by parameters of one head and a distance, with 60-digit arithmetic. */
    private enum Formula {
        KERPLE("kerple_biases.csv", EncodingType.KERPLE, "logA logB"),
        KERPLE_POWER("kerple_powers.csv", EncodingType.KERPLE_POWER, "logA logitP"),
        GAUSSIAN("gaussian_biases.csv", EncodingType.GAUSSIAN, "logSigma");

        private final String file;
        private final EncodingType type;
        private final String parameters;

        Formula(String file, EncodingType type, String parameters) {
            this.file = file;
            this.type = type;
            this.parameters = parameters;
        }

        /** The bound of the error, in units of half an ulp of 1. */
        double units(double[] parameters, int distance, double expected) {
            return switch (this) {
                // a (2), its product with the distance (1) and the sum (1) move the logarithm by 4, multiplied by b;
                // the logarithm (2), b (2) and the product (1) are off by 5 of the result
                case KERPLE -> 4 * Math.exp(parameters[1]) + 5 * Math.abs(expected);
                // the logarithm (1), p (6) and their product (1) move the power by 8 of the exponent; the power (2), a
                // (2) and the product (1) are off by 5 of the result
                case KERPLE_POWER -> {
                    double exponent = 2 / (1 + Math.exp(-parameters[1])) * Math.log(Math.max(1, distance));
                    yield (8 * exponent + 5) * Math.abs(expected);
                }
                // half the square of the distance (1), 1 / σ (2), which counts twice, its square (1), the product (1)
                case GAUSSIAN -> 7 * Math.abs(expected);
            };
        }
    }

    @EngineTest
    void areTheNumbersOfTheirFormulas(NDManager manager, Formula formula) {
        int farthest = 100_003;
        String[] parameters = formula.parameters.split(" ", -1);
        int count = parameters.length;
        for (DataType type : List.of(DataType.FLOAT32, DataType.FLOAT64)) {
            Block block = formula.type.encoding(1);
            block.initialize(manager, type, new Shape(1, -1, 4));
            NDArray x = manager.zeros(new Shape(1, 1, 4), type);
            Map<List<String>, double[]> biases = new HashMap<>();
            for (String[] row : Goldens.rows(formula.file)) {
                double[] numbers =
                        Stream.of(row).mapToDouble(Double::parseDouble).toArray();
                double[] ofDistances = biases.computeIfAbsent(List.of(row).subList(0, count), key -> {
                    for (int i = 0; i < count; i++) {
                        // FLOAT32 holds these numbers exactly
                        array(block, parameters[i]).setScalar(new NDIndex(0), numbers[i]);
                    }
                    return doubles(Forward.inferFrom(manager, farthest, block, x));
                });
                int distance = (int) numbers[count];
                double expected = numbers[count + 1];
                double unit = type == DataType.FLOAT32 ? 0x1p-24 : 0x1p-53;
                assertThat(ofDistances[farthest - distance])
                        .as("%s %s", String.join(",", row), type)
                        .isCloseTo(expected, within(unit * formula.units(numbers, distance, expected)));
            }
        }
    }

    /** The numbers of a parameter of 1000 heads as a block begins. */
    private static double[] initial(NDManager manager, Block block, String parameter) {
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        assertThat(array(block, parameter).getShape()).isEqualTo(new Shape(1000));
        return doubles(array(block, parameter));
    }

    /** Uniform numbers from 0.01 to a greatest one. */
    private static void requireUniform(DoubleStream numbers, double greatest) {
        DoubleSummaryStatistics all = numbers.summaryStatistics();
        // the logarithm and its exponential: a few units of 2^-24 of logarithms up to 5
        assertThat(all.getMin()).isGreaterThanOrEqualTo(0.01 * (1 - 1e-5));
        assertThat(all.getMax()).isLessThanOrEqualTo(greatest * (1 + 1e-5));
        // the mean of 1000 uniform numbers: the standard deviation is (g - 0.01) / sqrt(12 * 1000), g / 110
        assertThat(all.getAverage()).isCloseTo((0.01 + greatest) / 2, within(6 * greatest / 110));
    }

    @EngineTest
    void beginWithThePublishedNumbers(NDManager manager) {
        KerpleBiasBlock.Builder kerple = KerpleBiasBlock.builder().setHeadCount(1000);
        requireUniform(DoubleStream.of(initial(manager, kerple.build(), "logA")).map(Math::exp), 1);
        requireUniform(DoubleStream.of(initial(manager, kerple.build(), "logB")).map(Math::exp), 2);
        KerpleBiasBlock power = kerple.optForm(KerpleBiasBlock.Form.POWER).build();
        requireUniform(
                DoubleStream.of(initial(manager, power, "logitP")).map(logit -> 2 / (1 + Math.exp(-logit))), 1.99);
        GaussianBiasBlock.Builder gaussian = GaussianBiasBlock.builder().setHeadCount(1000);
        // the nearest float: half an ulp of logarithms below 2
        assertThat(initial(manager, gaussian.build(), "logSigma")).containsOnly((float) Math.log(3));
        assertThat(initial(manager, gaussian.optSigma(2.5).build(), "logSigma")).containsOnly((float) Math.log(2.5));
    }

    /** The table is computed in Java, for every engine. */
    @EngineTest(engine = "PyTorch")
    void sandwichIsTheSumOfCosines(NDManager manager) {
        // reference: goldens/sandwich_biases.csv, with 60-digit arithmetic
        int farthest = 100_003;
        Map<Integer, NDArray> biases = new HashMap<>();
        for (int heads : new int[] {1, 12}) {
            SandwichBiasBlock block =
                    SandwichBiasBlock.builder().setHeadCount(heads).build();
            biases.put(heads, Forward.inferFrom(manager, farthest, block, manager.zeros(new Shape(1, 1, 4))));
        }
        for (String[] row : Goldens.rows("sandwich_biases.csv")) {
            float actual = biases.get(Integer.valueOf(row[0]))
                    .getFloat(0, Integer.parseInt(row[1]), 0, farthest - Integer.parseInt(row[2]));
            // the sum in double is off by a few 2^-46, the sums are above 2^-6: 2^-17 of half an ulp of a float
            assertThat(Goldens.floatUlps(actual, new BigDecimal(row[3])))
                    .as(String.join(",", row))
                    .isLessThan(0.5 + 1e-4);
        }
    }

    @Test
    void bucketsOfDisentangledAttentionAreThoseOfDeberta() {
        // reference: goldens/disentangled_buckets.csv, with 60-digit arithmetic
        for (String[] row : Goldens.rows("disentangled_buckets.csv")) {
            DisentangledPositionBlock.Options settings =
                    new DisentangledPositionBlock.Options(4, 1, Integer.valueOf(row[0]), Integer.valueOf(row[1]));
            assertThat(settings.row(Integer.parseInt(row[2])))
                    .as(String.join(",", row))
                    .isEqualTo(Integer.parseInt(row[3]));
        }
    }

    /** As for one bias for all layers; guide.DjlAttentionTest has it as the mask of DJL's attention. */
    @EngineTest
    void aBiasServesAsTheMaskOfAnotherAttention(NDManager manager) {
        for (EncodingType type : List.of(EncodingType.ALIBI, EncodingType.T5)) {
            MultiHeadAttentionBlock own = filled(manager, type.attention(HEADS).build(), DataType.FLOAT32);
            MultiHeadAttentionBlock without =
                    filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT32);
            copyWeights(own, without);
            NDArray x = numbers(manager, 3, DataType.FLOAT32, 2, 6, SIZE);
            NDArray mask = Forward.infer(manager, own.getRelativeEncodings().get(0), x);
            float[] expected = Forward.infer(manager, own, x).toFloatArray();
            // numbers up to 8, each a sum of 8 products that may be rounded in another order: 8 · 8 · 2^-24
            assertThat(Forward.infer(manager, without, x, mask).toFloatArray())
                    .containsExactly(expected, within(4e-6f));
            assertThat(Forward.infer(manager, without, x).toFloatArray()).isNotEqualTo(expected);
        }
    }
}
