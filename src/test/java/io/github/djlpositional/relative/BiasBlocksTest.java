package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.djls;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
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
import io.github.djlpositional.math.AlibiSlopes;
import java.math.BigDecimal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Accurate numbers of biases, also at large distances, and their use as a mask. */
class BiasBlocksTest {

    @EngineTest
    void alibiIsTheSlopeTimesTheDistance(NDManager manager) {
        // reference: goldens/alibi_slopes.csv, with 50-digit arithmetic
        for (String[] row : Goldens.rows("alibi_slopes.csv")) {
            int heads = Integer.parseInt(row[0]);
            int head = Integer.parseInt(row[1]);
            AlibiBiasBlock block = AlibiBiasBlock.builder().setHeadCount(heads).build();
            NDArray bias = Forward.infer(manager, block, manager.zeros(new Shape(2, 5, 3)));
            assertThat(bias.getShape()).isEqualTo(new Shape(1, heads, 5, 5));
            NDArray half = manager.create(new Shape(2, 5, 3), DataType.FLOAT16);
            NDArray halfBias = Forward.infer(manager, block, half).toType(DataType.FLOAT32, true);
            for (int i = 0; i < 5; i++) {
                for (int j = 0; j < 5; j++) {
                    BigDecimal expected = new BigDecimal(row[2]).multiply(BigDecimal.valueOf(-Math.abs(i - j)));
                    assertThat(Goldens.floatUlps(bias.getFloat(0, head, i, j), expected))
                            .as("%d heads, %d, %d to %d", heads, head, i, j)
                            .isLessThanOrEqualTo(0.5);
                    assertThat(Goldens.halfUlps(halfBias.getFloat(0, head, i, j), expected))
                            .as("%d heads, %d, %d to %d in FLOAT16", heads, head, i, j)
                            .isLessThanOrEqualTo(0.5);
                }
            }
        }
    }

    @EngineTest
    void alibiIsRoundedToTheNearestNumberAtALargeDistance(NDManager manager) {
        // mpmath: -2^(-1/2) · 3001 = -2122.02745034…; the nearest float and the nearest half (a multiple of 2 there)
        AlibiBiasBlock block = AlibiBiasBlock.builder().setHeadCount(16).build();
        for (DataType type : new DataType[] {DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64}) {
            NDArray x = manager.create(new float[1], new Shape(1, 1, 1)).toType(type, false);
            NDArray bias = Forward.inferFrom(manager, 3001, block, x);
            assertThat(bias.getDataType()).isEqualTo(type);
            assertThat(bias.getShape()).isEqualTo(new Shape(1, 16, 1, 3002));
            double expected = -2122.027450340829;
            double rounded = type == DataType.FLOAT16 ? -2122 : type == DataType.FLOAT32 ? (float) expected : expected;
            assertThat(bias.toType(DataType.FLOAT64, true).toDoubleArray()[0]).isEqualTo(rounded);
        }
    }

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

    private static void requireEqual(NDArray part, NDArray ofWhole) {
        assertThat(part.getShape()).isEqualTo(ofWhole.getShape());
        // a network of other distances is rounded otherwise
        requireClose(part, doubles(ofWhole), 1e-14);
    }

    @EngineTest
    void theCallerMayModifyTheBias(NDManager manager) {
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(2).build();
        SandwichBiasBlock sandwich = SandwichBiasBlock.builder().setHeadCount(2).build();
        for (Block block : List.of(alibi, sandwich)) {
            for (int length : new int[] {1, 2, 3}) {
                NDArray x = manager.zeros(new Shape(1, length, 4));
                NDArray first = Forward.inferFrom(manager, 5, block, x);
                Forward.inferFrom(manager, 5, block, x).addi(7);
                requireSame(Forward.inferFrom(manager, 5, block, x), first);
            }
        }
    }

    @Test
    void slopesOfOtherModels() {
        // MPT's gen_slopes: with 12 heads and alibi_bias_max 16, 1 / 2^m for m = 2, 4, …, 16, then 1, 3, 5, 7
        for (int head = 0; head < 12; head++) {
            int m = head < 8 ? 2 * (head + 1) : 2 * (head - 8) + 1;
            assertThat(AlibiSlopes.of(12, 16).get(head)).isEqualTo(Math.pow(2, -m));
        }
        // OLMo's alibi_attention_bias: 1 / 2^(8 h / N) for every N; 2^(-8/12) and 2^(-16/12) with 20 digits of bc
        assertThat(AlibiSlopes.geometric(12, 8).get(0)).isEqualTo(0.6299605249474366);
        assertThat(AlibiSlopes.geometric(12, 8).get(1)).isEqualTo(0.3968502629920499);
        assertThat(AlibiSlopes.geometric(12, 8).get(11)).isEqualTo(Math.pow(2, -8));
        assertThat(AlibiSlopes.custom(0, 0.3).bias(1, -5)).isEqualTo(-1.5);
        refused(() -> AlibiSlopes.custom(1, Double.NaN), "slope of head 1", "NaN");
        refused(() -> AlibiSlopes.of(8, 0), "maximum 0.0");
    }

    @EngineTest
    void kerpleIsTheLogarithmOfTheDistance(NDManager manager) {
        // reference: goldens/kerple_biases.csv, with 60-digit arithmetic
        Map<List<String>, List<String[]>> heads = Goldens.rows("kerple_biases.csv").stream()
                .collect(Collectors.groupingBy(row -> List.of(row[0], row[1])));
        int farthest = 100_003;
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            KerpleBiasBlock block = KerpleBiasBlock.builder().setHeadCount(1).build();
            block.initialize(manager, type, new Shape(1, -1, 4));
            NDArray x = manager.zeros(new Shape(1, 1, 4), type);
            NDArray keys = manager.zeros(new Shape(1, farthest + 1, 4), type);
            double unit = type == DataType.FLOAT32 ? 0x1p-24 : 0x1p-53;
            heads.forEach((logs, rows) -> {
                // FLOAT32 holds these logarithms exactly
                array(block, "logA").setScalar(new NDIndex(0), Double.valueOf(logs.get(0)));
                array(block, "logB").setScalar(new NDIndex(0), Double.valueOf(logs.get(1)));
                double[] before = doubles(Forward.inferFrom(manager, farthest, block, x));
                double[] after = doubles(Forward.infer(manager, block, x, keys));
                for (String[] row : rows) {
                    int distance = Integer.parseInt(row[2]);
                    double expected = Double.parseDouble(row[3]);
                    // in units of half an ulp: a (2), its product with the distance (1) and the sum (1) move the
                    // logarithm by 4, multiplied by b; the logarithm (2), b (2) and the product (1) are off by 5 of the
                    // result
                    double tolerance = unit * (4 * Math.exp(Double.parseDouble(logs.get(1))) + 5 * Math.abs(expected));
                    String what = String.join(",", row) + " " + type;
                    assertThat(before[farthest - distance]).as(what).isCloseTo(expected, within(tolerance));
                    assertThat(after[distance]).as(what).isCloseTo(expected, within(tolerance));
                }
            });
        }
    }

    private static NDArray array(Block block, String parameter) {
        return block.getParameters().get(parameter).getArray();
    }

    @EngineTest
    void kerplePowerIsThePowerOfTheDistance(NDManager manager) {
        // reference: goldens/kerple_powers.csv, with 60-digit arithmetic
        int farthest = 100_003;
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            KerpleBiasBlock block = KerpleBiasBlock.builder()
                    .setHeadCount(1)
                    .optForm(KerpleBiasBlock.Form.POWER)
                    .build();
            block.initialize(manager, type, new Shape(1, -1, 4));
            NDArray x = manager.zeros(new Shape(1, 1, 4), type);
            double unit = type == DataType.FLOAT32 ? 0x1p-24 : 0x1p-53;
            for (String[] row : Goldens.rows("kerple_powers.csv")) {
                // FLOAT32 holds these numbers exactly
                array(block, "logA").setScalar(new NDIndex(0), Double.valueOf(row[0]));
                array(block, "logitP").setScalar(new NDIndex(0), Double.valueOf(row[1]));
                int distance = Integer.parseInt(row[2]);
                double expected = Double.parseDouble(row[3]);
                double exponent = 2 / (1 + Math.exp(-Double.parseDouble(row[1]))) * Math.log(Math.max(1, distance));
                // in units of half an ulp: the logarithm (1), p (6) and their product (1) move the power by 8 of the
                // exponent; the power (2), a (2) and the product (1) are off by 5 of the result
                double tolerance = unit * (8 * exponent + 5) * Math.abs(expected);
                double[] biases = doubles(Forward.inferFrom(manager, farthest, block, x));
                assertThat(biases[farthest - distance])
                        .as("%s %s", String.join(",", row), type)
                        .isCloseTo(expected, within(tolerance));
            }
        }
    }

    @EngineTest
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

    @EngineTest
    void gaussianIsTheSquareOfTheDistance(NDManager manager) {
        // reference: goldens/gaussian_biases.csv, with 60-digit arithmetic
        int farthest = 100_003;
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            GaussianBiasBlock block =
                    GaussianBiasBlock.builder().setHeadCount(1).build();
            block.initialize(manager, type, new Shape(1, -1, 4));
            NDArray x = manager.zeros(new Shape(1, 1, 4), type);
            double unit = type == DataType.FLOAT32 ? 0x1p-24 : 0x1p-53;
            for (String[] row : Goldens.rows("gaussian_biases.csv")) {
                // FLOAT32 holds these logarithms exactly
                array(block, "logSigma").setScalar(new NDIndex(0), Double.valueOf(row[0]));
                double expected = Double.parseDouble(row[2]);
                // in units of half an ulp: half the square of the distance (1), 1 / σ (2), which counts twice, its
                // square (1) and the product (1)
                double tolerance = 7 * unit * Math.abs(expected);
                double[] biases = doubles(Forward.inferFrom(manager, farthest, block, x));
                assertThat(biases[farthest - Integer.parseInt(row[1])])
                        .as("%s %s", String.join(",", row), type)
                        .isCloseTo(expected, within(tolerance));
            }
        }
    }

    @EngineTest
    void gaussianBeginsWithTheGivenSigma(NDManager manager) {
        Map<GaussianBiasBlock.Builder, Double> sigmas = Map.of(
                GaussianBiasBlock.builder(), 3.0, GaussianBiasBlock.builder().optSigma(2.5), 2.5);
        sigmas.forEach((builder, sigma) -> {
            GaussianBiasBlock block = builder.setHeadCount(3).build();
            block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
            assertThat(array(block, "logSigma").getShape()).isEqualTo(new Shape(3));
            for (double log : doubles(array(block, "logSigma"))) {
                // the nearest float: half an ulp of logarithms below 2
                assertThat(log).isCloseTo(Math.log(sigma), within(0x1p-24));
            }
        });
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

    @EngineTest
    void kerpleBeginsWithThePublishedNumbers(NDManager manager) {
        int heads = 1000;
        KerpleBiasBlock block = KerpleBiasBlock.builder().setHeadCount(heads).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        double[] greatest = {1, 2};
        List<NDArray> parameters = List.of(array(block, "logA"), array(block, "logB"));
        for (int i = 0; i < 2; i++) {
            double sum = 0;
            for (float log : parameters.get(i).toFloatArray()) {
                // the logarithm and its exponential: a few units of 2^-24 of logarithms up to 5
                assertThat(Math.exp(log)).isBetween(0.01 * (1 - 1e-5), greatest[i] * (1 + 1e-5));
                sum += Math.exp(log);
            }
            // the mean of 1000 uniform numbers: the standard deviation is (g - 0.01) / sqrt(12 * 1000), g / 110
            assertThat(sum / heads).isCloseTo((0.01 + greatest[i]) / 2, within(6 * greatest[i] / 110));
        }
        KerpleBiasBlock power = KerpleBiasBlock.builder()
                .setHeadCount(heads)
                .optForm(KerpleBiasBlock.Form.POWER)
                .build();
        power.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        double sum = 0;
        for (float logit : array(power, "logitP").toFloatArray()) {
            double p = 2 / (1 + Math.exp(-logit));
            assertThat(p).isBetween(0.01 * (1 - 1e-5), 1.99 * (1 + 1e-5));
            sum += p;
        }
        assertThat(sum / heads).isCloseTo(1, within(6 * 2 / 110.0));
    }

    /** The mask of DJL's attention, and of one without an encoding, as for one bias for all layers. */
    @EngineTest
    void aBiasServesAsTheMaskOfAnotherAttention(NDManager manager) {
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(HEADS).build();
        RelativePositionBiasBlock t5 =
                RelativePositionBiasBlock.builder().setHeadCount(HEADS).build();
        for (ScoreTermBlock bias : List.of(alibi, t5)) {
            MultiHeadAttentionBlock own = filled(
                    manager,
                    EncodingType.NONE.attention(HEADS).optRelativeEncoding(bias).build(),
                    DataType.FLOAT32);
            MultiHeadAttentionBlock without =
                    filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT32);
            copyWeights(own, without);
            NDArray x = numbers(manager, 3, DataType.FLOAT32, 2, 6, SIZE);
            NDArray mask = Forward.infer(manager, bias, x);
            float[] expected = Forward.infer(manager, own, x).toFloatArray();
            for (Block other : List.of(djls(manager, own), without)) {
                // numbers up to 8, each a sum of 8 products that may be rounded in another order: 8 · 8 · 2^-24
                assertThat(Forward.infer(manager, other, x, mask).toFloatArray())
                        .containsExactly(expected, within(4e-6f));
                assertThat(Forward.infer(manager, other, x).toFloatArray()).isNotEqualTo(expected);
            }
        }
    }

    @EngineTest
    void anEmptyBatchHasAnEmptyTerm(NDManager manager) {
        for (EncodingType type : List.of(EncodingType.SHAW, EncodingType.TRANSFORMER_XL)) {
            Block block = type.block();
            block.initialize(manager, DataType.FLOAT32, type.input());
            NDArray none = manager.create(Shape.update(type.input(), 0, 0), DataType.FLOAT32);
            assertThat(Forward.infer(manager, block, none).getShape()).isEqualTo(new Shape(0, 2, 3, 3));
        }
    }
}
