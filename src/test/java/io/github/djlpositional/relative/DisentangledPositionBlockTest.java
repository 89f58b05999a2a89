package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.NaiveAttention.dot;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.array;
import static io.github.djlpositional.relative.ScoreTerms.linear;
import static io.github.djlpositional.relative.ScoreTerms.requireTerms;
import static io.github.djlpositional.relative.ScoreTerms.rows;
import static io.github.djlpositional.relative.ScoreTerms.set;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Projected vectors of relative positions, multiplied by the queries and by the keys. */
class DisentangledPositionBlockTest extends OnEachEngine {

    private static final Shape HEADS = new Shape(-1, 2, -1, 4);

    private static DisentangledPositionBlock.Builder disentangled() {
        return DisentangledPositionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optBuckets(6)
                .optMaxDistance(12);
    }

    /** The row of the vectors for a distance below 7, by DeBERTa V2's make_log_bucket_position: 4 to 6 share 2 rows. */
    private static int row(int difference) {
        int distance = Math.abs(difference);
        int bucket = distance <= 3 ? distance : distance <= 5 ? 4 : 5;
        return difference < 0 ? 6 - bucket : 6 + bucket;
    }

    private static double[] head(int head, double... all) {
        return Arrays.copyOfRange(all, 4 * head, 4 * head + 4);
    }

    /** Equation 4 of the paper without the product of the contents and the scale. */
    @Test
    void theTermIsTheSumOfContentToPositionAndPositionToContent() {
        DisentangledPositionBlock block = filled(manager, disentangled().build(), DataType.FLOAT64, HEADS);
        double[][] vectors = rows(block, "vectors");
        requireTerms(manager, block, (head, q, k, i, j) -> {
            double[] vector = vectors[row(i - j)];
            return dot(q, head(head, linear(block, "keyWeight", "keyBias", vector)))
                    + dot(k, head(head, linear(block, "queryWeight", "queryBias", vector)));
        });
    }

    /** Reference: goldens/disentangled_buckets.csv, with 60-digit arithmetic. */
    @Test
    void theBucketsAreThoseOfDeberta() {
        for (String[] row : Goldens.rows("disentangled_buckets.csv")) {
            DisentangledPositionBlock.Options options = new DisentangledPositionBlock.Options(
                    4, 1, Integer.parseInt(row[0]), Integer.parseInt(row[1]), true, true, true, null);
            assertThat(options.row(Integer.parseInt(row[2])))
                    .as(String.join(",", row))
                    .isEqualTo(Integer.parseInt(row[3]));
        }
    }

    /** Vector r is the number r, only the keys are projected, and the queries are 1: the terms are the rows. */
    @Test
    void nearDistancesHaveTheirOwnVectorsOnBothSides() {
        DisentangledPositionBlock block = DisentangledPositionBlock.builder()
                .setEmbeddingSize(1)
                .setHeadCount(1)
                .optBuckets(4)
                .optMaxDistance(4)
                .build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 1, -1, 1));
        ScoreTerms.count(block, "vectors");
        set(block, "keyWeight", 1);
        set(block, "keyBias", 0);
        set(block, "queryWeight", 0);
        set(block, "queryBias", 0);
        NDArray rows = infer(manager, block, manager.ones(new Shape(1, 1, 5, 1), DataType.FLOAT64));
        requireClose(rows.get("0, 0, 0"), new double[] {4, 3, 2, 1, 0}, 1e-14);
        // keys 3 and 4 before the query share the last vector
        requireClose(rows.get("0, 0, 4"), new double[] {7, 7, 6, 5, 4}, 1e-14);
    }

    /** For the sum of three products. MultiHeadAttentionBlockTest has attentions with this scale. */
    @Test
    void theScaleIsThatOfThreeTimesTheHeadSize() {
        assertThat(disentangled().build().defaultScale()).isEqualTo(1 / Math.sqrt(3 * 4));
    }

    /** {@code pos_att_type} of one term: the scale is that of two products, and the other projection does not exist. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void eitherTermMayBeLeftOut(boolean contentToPosition) {
        DisentangledPositionBlock block = filled(
                manager,
                disentangled()
                        .optContentToPosition(contentToPosition)
                        .optPositionToContent(!contentToPosition)
                        .build(),
                DataType.FLOAT64,
                HEADS);
        String projection = contentToPosition ? "key" : "query";
        assertThat(block.getParameters().keys()).containsExactly("vectors", projection + "Weight", projection + "Bias");
        assertThat(block.defaultScale()).isEqualTo(1 / Math.sqrt(2 * 4));
        double[][] vectors = rows(block, "vectors");
        requireTerms(
                manager,
                block,
                (head, q, k, i, j) -> dot(
                        contentToPosition ? q : k,
                        head(head, linear(block, projection + "Weight", projection + "Bias", vectors[row(i - j)]))));
    }

    @Test
    void hasTheDefaultsOfDebertaV2() {
        DisentangledPositionBlock block = DisentangledPositionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "DisentangledPositionBlock",
                        "embeddingSize",
                        8,
                        "headCount",
                        2,
                        "buckets",
                        256,
                        "maxDistance",
                        512,
                        "logarithmic",
                        true,
                        "contentToPosition",
                        true,
                        "positionToContent",
                        true));
        block.initialize(manager, DataType.FLOAT32, HEADS);
        assertThat(array(block, "vectors").getShape()).isEqualTo(new Shape(512, 8));
    }

    @Test
    void rejectsOptionsOutOfRange() {
        assertAll(
                rejected(disentangled().setHeadCount(3)::build, "headCount 3", "embeddingSize 8"),
                rejected(disentangled().optBuckets(1)::build, "buckets 1"),
                rejected(disentangled().optBuckets((1 << 20) + 1)::build, "buckets 1048577", 1 << 20),
                rejected(disentangled().optBuckets(8).optMaxDistance(5)::build, "maxDistance 5", 6),
                rejected(
                        disentangled().optContentToPosition(false).optPositionToContent(false)::build,
                        "contentToPosition false",
                        "positionToContent false"));
        assertThat(disentangled().optBuckets(8).optMaxDistance(6).build().getArguments())
                .containsEntry("maxDistance", 6);
    }

    private static Stream<Executable> rejectedShapes(NDManager manager) {
        DisentangledPositionBlock block = filled(manager, disentangled().build(), DataType.FLOAT32, HEADS);
        NDArray queries = zeros(manager, 1, 2, 3, 4);
        NDArray sequence = zeros(manager, 1, 3, 8);
        NDArray keys = zeros(manager, 1, 3, 4);
        NDArray noHeads = zeros(manager, 1, 0, 3, 4);
        NDArray seven = zeros(manager, 1, 7, 3, 4);
        NDArray batch = zeros(manager, 5, 2, 3, 4);
        return Stream.of(
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, sequence), "queries", "(1, 3, 8)", "(B, 2, T, 4)"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, queries, keys), "keys", "(1, 3, 4)", "(B, N, T, 4)"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, queries, noHeads), "(1, 0, 3, 4)", "(1, 2, 3, 4)", 2),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, queries, seven), "(1, 7, 3, 4)", "(1, 2, 3, 4)", 2),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, queries, batch), "(5, 2, 3, 4)", "(1, 2, 3, 4)"),
                // the keys of the positions 0 and 1 are missing
                rejectedWithoutLeak(manager, () -> inferFrom(manager, 2, block, queries), "(1, 2, 3, 4)", 5));
    }

    @Test
    void rejectsKeysThatDoNotBelongToTheQueries() {
        assertAll(rejectedShapes(manager));
    }

    @Test
    void rejectsTheSameKeysOnAGpu() {
        onASimulatedGpu(gpu -> assertAll(rejectedShapes(gpu)));
    }
}
