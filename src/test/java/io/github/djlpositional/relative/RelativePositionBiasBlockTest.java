package io.github.djlpositional.relative;

import static io.github.djlpositional.PositionalEncodingBlock.POSITIONS;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.rows;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The learned biases of T5's buckets. */
class RelativePositionBiasBlockTest extends OnEachEngine {

    private static RelativePositionBiasBlock.Builder t5() {
        return RelativePositionBiasBlock.builder().setHeadCount(HEADS);
    }

    /** A block of one head, whose bias for a bucket is the number of the bucket. */
    private RelativePositionBiasBlock counted(RelativePositionBiasBlock.Builder builder) {
        RelativePositionBiasBlock block = builder.setHeadCount(1).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        ScoreTerms.count(block, "biases");
        return block;
    }

    /** Reference: goldens/t5_buckets.csv, Hugging Face's function in exact arithmetic. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theBiasIsThatOfThePublishedBucket(boolean bidirectional) {
        int farthest = 1_000;
        RelativePositionBiasBlock block = counted(t5().optBidirectional(bidirectional));
        NDArray keys = zeros(manager, 1, 2 * farthest + 1, 4);
        float[] buckets = inferFrom(manager, farthest, block, zeros(manager, 1, 1, 4), keys)
                .toFloatArray();
        for (String[] row : Goldens.rows("t5_buckets.csv")) {
            int relative = Integer.parseInt(row[3]);
            if (Boolean.parseBoolean(row[0]) == bidirectional && Math.abs(relative) <= farthest) {
                assertThat(buckets[farthest + relative]).as("%s", relative).isEqualTo(Float.parseFloat(row[4]));
            }
        }
    }

    /** Two near distances have their own buckets; 2 and more share a bucket from 3 on. */
    @Test
    void eachHeadHasABiasForEachBucket() {
        RelativePositionBiasBlock block =
                t5().optBidirectional(false).optBuckets(4).optMaxDistance(3).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        ScoreTerms.set(block, "biases", 0.5, 10, 0.25, 20, 0.125, 30, 0, 40);
        NDArray biases = infer(manager, block, zeros(manager, 1, 5, 4));
        assertThat(biases.get("0, 0, 4").toFloatArray()).containsExactly(0, 0, 0.125f, 0.25f, 0.5f);
        assertThat(biases.get("0, 1, 4").toFloatArray()).containsExactly(40, 40, 30, 20, 10);
        // keys after the query share its bucket
        assertThat(biases.get("0, 1, 0").toFloatArray()).containsExactly(10, 10, 10, 10, 10);
    }

    /** 16 is the bucket of a distance of 0 after the query. */
    @Test
    void aKeyLessThanOneAfterTheQueryHasABucketThatIntegersDoNotUse() {
        RelativePositionBiasBlock block = counted(t5());
        NDArray positions = reals(manager, 0, 0.5, 2.25, 11.5);
        NDArray buckets = inferAt(manager, positions, block, zeros(manager, 1, 4, 4));
        // the limit between the buckets 8 and 9 is 8 · 16^(1/8), 11.3
        assertThat(buckets.toFloatArray()).containsExactly(0, 16, 18, 25, 0, 0, 17, 24, 2, 1, 0, 24, 9, 8, 8, 0);
    }

    /** The distances between 0, 0.5, 2.75 and -1.5 with the fraction cut off, as {@code long()} of UDOP does. */
    @Test
    void distancesBetweenRealPositionsMayBeTruncated() {
        RelativePositionBiasBlock block = counted(t5().optTruncated(true));
        NDArray positions = reals(manager, 0, 0.5, 2.75, -1.5);
        NDArray buckets = inferAt(manager, positions, block, zeros(manager, 1, 4, 4));
        assertThat(buckets.toFloatArray()).containsExactly(0, 0, 18, 1, 0, 0, 18, 2, 2, 2, 0, 4, 17, 18, 20, 0);
    }

    /** Two sequences of four tokens, three coordinates of each. */
    private NDArray onAxes(DataType type) {
        NDArray whole = manager.create(
                new double[] {0, 1, 2, 3, 0, 1, 2, 3, 5, 90, 5, 41, 7, 7, 0, 300, -3, 2, 2, 8, 1, 0, 60, 60},
                new Shape(3, 2, 4));
        return type.isFloating() ? whole.add(whole.div(64)) : whole.toType(type, false);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT32", "INT64", "FLOAT32", "FLOAT64"})
    void usesTheCoordinateOnItsAxis(DataType type) {
        NDArray x = zeros(manager, 2, 4, 4);
        for (int axis = 0; axis < 3; axis++) {
            NDArray expected = inferAt(manager, onAxes(type).get(axis), counted(t5()), x);
            NDArray own = onAxes(type);
            assertThat(inferAt(manager, own, counted(t5().optAxis(axis)), x)).isEqualTo(expected);
            assertThat(own).isEqualTo(onAxes(type)); // is open
        }
    }

    /** Steps with a cache, in which a mask hides padding. */
    @ParameterizedTest
    @EnumSource(names = {"INT32", "FLOAT64"})
    void anAttentionAddsTheBiasesOfAxes(DataType type) {
        MultiHeadAttentionBlock attention = filled(
                manager,
                EncodingType.NONE
                        .attention(HEADS)
                        .optCausal(true)
                        .optRelativeEncoding(
                                t5().optAxis(0).build(),
                                t5().optAxis(2)
                                        .optBuckets(64)
                                        .optMaxDistance(256)
                                        .build())
                        .build(),
                DataType.FLOAT64);
        MultiHeadAttentionBlock without = filled(
                manager, EncodingType.NONE.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
        copyWeights(attention, without);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, 4, SIZE);
        NDArray positions = onAxes(type);
        NDArray sum = inferAt(
                        manager,
                        positions.get(0),
                        plain(attention.getRelativeEncodings().get(0), t5()),
                        x)
                .add(inferAt(
                        manager,
                        positions.get(2),
                        plain(
                                attention.getRelativeEncodings().get(1),
                                t5().optBuckets(64).optMaxDistance(256)),
                        x));
        NDArray visible = manager.create(new boolean[] {true, true, false, true, false, true, true, true})
                .reshape(2, 1, 1, 4);
        NDArray hidden = visible.logicalNot().toType(DataType.FLOAT64, false).mul(-1e9);
        double[] expected = doubles(infer(manager, without, x, sum.add(hidden)));
        NDArray tokens = visible.reshape(2, 4);
        NDArray whole = inferAt(manager, positions, attention, x, tokens);
        // the first token of the second sequence is padding, which sees nothing
        requireClose(whole.get(0), Arrays.copyOf(expected, 4 * SIZE), 1e-12);
        requireClose(whole.get("1, 1:"), Arrays.copyOfRange(expected, 5 * SIZE, 8 * SIZE), 1e-12);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int[] part : new int[][] {{0, 2}, {2, 3}, {3, 4}}) {
                PairList<String, Object> params = cache.nextStep();
                params.add(POSITIONS, positions.get(":, :, {}:{}", part[0], part[1]));
                NDArray y = infer(
                        manager,
                        attention,
                        params,
                        x.get(":, {}:{}", part[0], part[1]),
                        tokens.get(":, {}:{}", part[0], part[1]));
                requireClose(y, doubles(whole.get(":, {}:{}", part[0], part[1])), 1e-12);
            }
        }
    }

    /** A block without an axis that has the biases of another. */
    private RelativePositionBiasBlock plain(Block other, RelativePositionBiasBlock.Builder builder) {
        RelativePositionBiasBlock block = filled(manager, builder.build(), DataType.FLOAT64);
        copyWeights(other, block);
        return block;
    }

    @Test
    void rejectsPositionsOnFewerAxes() {
        RelativePositionBiasBlock block = counted(t5().optAxis(3));
        NDArray x = zeros(manager, 2, 4, 4);
        assertAll(
                rejected(() -> inferAt(manager, onAxes(DataType.INT32), block, x), "(3, 2, 4)", "4 coordinates"),
                rejected(() -> inferAt(manager, onAxes(DataType.INT32), counted(t5()), x), "(3, 2, 4)", "optAxis"),
                rejected(t5().optAxis(-1)::build, -1));
    }

    /** As for one bias for all layers; guide.DjlAttentionTest has it as the mask of DJL's attention. */
    @Test
    void servesAsTheMaskOfAnotherAttention() {
        MultiHeadAttentionBlock own =
                filled(manager, EncodingType.T5.attention(HEADS).build(), DataType.FLOAT64);
        MultiHeadAttentionBlock without =
                filled(manager, EncodingType.NONE.attention(HEADS).build(), DataType.FLOAT64);
        copyWeights(own, without);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, 6, SIZE);
        NDArray mask = infer(manager, own.getRelativeEncodings().get(0), x);
        requireClose(infer(manager, without, x, mask), doubles(infer(manager, own, x)), 1e-12);
        assertThat(doubles(infer(manager, without, x))).isNotEqualTo(doubles(infer(manager, own, x)));
    }

    @Test
    void hasTheDefaultsOfT5() {
        RelativePositionBiasBlock block = t5().build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "RelativePositionBiasBlock",
                        "headCount",
                        2,
                        "bidirectional",
                        true,
                        "buckets",
                        32,
                        "maxDistance",
                        128,
                        "truncated",
                        false,
                        "scaled",
                        false));
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        assertThat(block.getBiases().getArray().getShape()).isEqualTo(new Shape(32, 2));
        assertThat(block.getBiases()).isSameAs(block.getParameters().get("biases"));
    }

    /** WavLM: r · (u · s - 1) + 2, where each number of the gates is σ of a sum of four outputs. */
    @Test
    void aGateOfTheQueryMultipliesItsBiases() {
        RelativePositionBiasBlock block = filled(manager, gated().build(), DataType.FLOAT64);
        NDArray input = numbers(manager, 3, DataType.FLOAT64, 1, 7, SIZE);
        double[] scale = parameter(block, "gateScale");
        double[][] biases = rows(block, "biases");
        ScoreTerms.requireBiasesOfInput(manager, block, input, (head, i, j) -> {
            double[] slice = doubles(input.get("0, {}, {}:{}", i, 4 * head, 4 * head + 4));
            double[] outputs = linear(block, "gateWeight", "gateBias", slice);
            double r = sigmoid(Arrays.stream(outputs, 0, 4).sum());
            double u = sigmoid(Arrays.stream(outputs, 4, 8).sum());
            // each distance up to 6 has its bucket
            int bucket = j > i ? 16 + j - i : i - j;
            return (r * (u * scale[head] - 1) + 2) * biases[bucket][head];
        });
    }

    private static RelativePositionBiasBlock.Builder gated() {
        return t5().optGateInputSize(SIZE);
    }

    private static double sigmoid(double x) {
        return 1 / (1 + Math.exp(-x));
    }

    @Test
    void gatesHaveTheParametersOfWavLm() {
        RelativePositionBiasBlock block = gated().build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, SIZE));
        assertThat(block.getArguments()).containsEntry("gateInputSize", SIZE);
        assertThat(block.getParameters().get("gateWeight").getArray().getShape())
                .isEqualTo(new Shape(8, SIZE / HEADS));
        assertThat(block.getParameters().get("gateBias").getArray().getShape()).isEqualTo(new Shape(8));
        assertThat(parameter(block, "gateScale")).containsExactly(1, 1);
    }

    @Test
    void rejectsGatesOfAnotherSize() {
        NDArray narrow = zeros(manager, 1, 3, SIZE - 1);
        RelativePositionBiasBlock block = filled(manager, gated().build(), DataType.FLOAT32);
        MultiHeadAttentionBlock.Builder attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(2 * SIZE)
                .setHeadCount(HEADS)
                .optRelativeEncoding(block);
        assertAll(
                rejected(t5().optGateInputSize(0)::build, "gateInputSize 0"),
                rejected(t5().optGateInputSize(SIZE + 1)::build, "gateInputSize " + (SIZE + 1), "headCount 2"),
                rejected(attention::build, "optGateInputSize(" + 2 * SIZE + ")"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, narrow), "(1, 3, 7)", "(B, T, 8)", "optGateInputSize"));
    }

    @Test
    void rejectsBucketsThatDoNotFitBothDirections() {
        assertAll(
                rejected(t5().optBuckets(31)::build, 31),
                rejected(t5().optBuckets(8).optMaxDistance(2)::build, 2));
        assertThat(t5().optBuckets(31).optBidirectional(false).build().getArguments())
                .containsEntry("buckets", 31);
    }
}
