package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.copyWeights;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
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
                        128));
        block.initialize(manager, DataType.FLOAT32, new Shape(1, -1, 4));
        assertThat(block.getBiases().getArray().getShape()).isEqualTo(new Shape(32, 2));
        assertThat(block.getBiases()).isSameAs(block.getParameters().get("biases"));
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
