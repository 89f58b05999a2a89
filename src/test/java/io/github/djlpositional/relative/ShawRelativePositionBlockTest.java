package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.NaiveAttention.dot;
import static io.github.djlpositional.attention.NaiveAttention.plus;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.ScoreTerms.array;
import static io.github.djlpositional.relative.ScoreTerms.parameter;
import static io.github.djlpositional.relative.ScoreTerms.requireTerms;
import static io.github.djlpositional.relative.ScoreTerms.rows;
import static io.github.djlpositional.relative.ScoreTerms.set;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Learned vectors of clipped relative positions, for the keys and for the values. */
class ShawRelativePositionBlockTest extends OnEachEngine {

    private static final Shape HEADS = new Shape(-1, -1, -1, 4);

    private static ShawRelativePositionBlock.Builder shaw() {
        return ShawRelativePositionBlock.builder().setHeadSize(4).optMaxDistance(2);
    }

    /** Equation 4 of the paper without the scale: q · a(clip(j - i)). */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 40})
    void theTermOfTheKeysIsTheProductOfTheQueryAndAVector(int maxDistance) {
        ShawRelativePositionBlock block =
                filled(manager, shaw().optMaxDistance(maxDistance).build(), DataType.FLOAT64, HEADS);
        double[][] keys = rows(block, "keys");
        requireTerms(
                manager,
                block,
                (head, q, k, i, j) -> dot(q, keys[Math.max(-maxDistance, Math.min(maxDistance, j - i)) + maxDistance]));
    }

    /** BERT's {@code relative_key} and SpeechT5 have the vectors of query minus key, SpeechT5 those of -k to k - 1. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void tablesOfQueryMinusKeyAreReversed(boolean isSpeechT5) {
        int k = 3;
        int rowCount = isSpeechT5 ? 2 * k : 2 * k + 1;
        NDArray table = numbers(manager, 5, DataType.FLOAT64, rowCount, 4);
        ShawRelativePositionBlock.Builder builder = shaw().optMaxDistance(isSpeechT5 ? k - 1 : k)
                .optMaxDistanceAfter(k)
                .optValues(false);
        ShawRelativePositionBlock block = filled(manager, builder.build(), DataType.FLOAT64, HEADS);
        table.flip(0).copyTo(block.getParameters().get("keys").getArray());
        double[] stored = table.toDoubleArray();
        requireTerms(manager, block, (head, q, key, i, j) -> {
            int row = Math.max(-k, Math.min(rowCount - k - 1, i - j)) + k;
            return dot(q, Arrays.copyOfRange(stored, 4 * row, 4 * row + 4));
        });
    }

    /** Wav2Vec2-BERT: {@code clamp(key - query, -left, right) + left}. */
    @ParameterizedTest
    @CsvSource({"4, 0", "1, 3", "2, 40", "40, 1"})
    void keysAfterTheQueryMayHaveAnotherMaximumDistance(int before, int after) {
        ShawRelativePositionBlock block = filled(
                manager,
                shaw().optMaxDistance(before).optMaxDistanceAfter(after).build(),
                DataType.FLOAT64,
                HEADS);
        double[][] keys = rows(block, "keys");
        assertThat(keys).hasDimensions(before + 1 + after, 4);
        assertThat(rows(block, "values")).hasDimensions(before + 1 + after, 4);
        requireTerms(
                manager, block, (head, q, k, i, j) -> dot(q, keys[Math.max(-before, Math.min(after, j - i)) + before]));
    }

    /** VITS pads its vectors with zeros. */
    @ParameterizedTest
    @CsvSource({"2, 2", "1, 0", "40, 40"})
    void keysBeyondTheMaximumDistanceMayHaveNoVector(int before, int after) {
        ShawRelativePositionBlock block = filled(
                manager,
                shaw().optMaxDistance(before)
                        .optMaxDistanceAfter(after)
                        .optClipped(false)
                        .build(),
                DataType.FLOAT64,
                HEADS);
        double[][] keys = rows(block, "keys");
        requireTerms(
                manager,
                block,
                (head, q, k, i, j) -> j - i < -before || j - i > after ? 0 : dot(q, keys[j - i + before]));
    }

    /** Method 4 of Huang et al. without the product of query and key. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theKeysMayBeMultipliedToo(boolean clipped) {
        ShawRelativePositionBlock block =
                filled(manager, shaw().optKeyProducts(true).optClipped(clipped).build(), DataType.FLOAT64, HEADS);
        double[][] keys = rows(block, "keys");
        requireTerms(manager, block, (head, q, k, i, j) -> {
            boolean isBeyond = !clipped && Math.abs(j - i) > 2;
            return isBeyond ? 0 : dot(plus(q, k), keys[Math.max(-2, Math.min(2, j - i)) + 2]);
        });
    }

    @Test
    void rejectsKeysThatDoNotBelongToTheQueries() {
        ShawRelativePositionBlock block =
                filled(manager, shaw().optKeyProducts(true).build(), DataType.FLOAT32, HEADS);
        NDArray queries = zeros(manager, 1, 2, 3, 4);
        NDArray keys = zeros(manager, 1, 3, 3, 4);
        assertAll(
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, queries, keys), "(1, 3, 3, 4)", "(1, 2, 3, 4)"),
                // the keys of the positions 0 and 1 are missing
                rejectedWithoutLeak(manager, () -> inferFrom(manager, 2, block, queries), "(1, 2, 3, 4)", 5));
    }

    /** A query of (1, 0, …) reads the first numbers of the vectors, the first for keys 2 or more before the query. */
    @Test
    void distantKeysShareAVector() {
        ShawRelativePositionBlock block = shaw().setHeadSize(1).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, -1, 1));
        set(block, "keys", 1, 2, 3, 4, 5);
        NDArray terms = infer(manager, block, reals(manager, 1, 1, 1, 1, 1).reshape(1, 1, 5, 1));
        requireClose(terms.get("0, 0, 0"), new double[] {3, 4, 5, 5, 5}, 0);
        requireClose(terms.get("0, 0, 4"), new double[] {1, 1, 1, 2, 3}, 0);
    }

    /** Equation 3 of the paper: with equal weights and values of 0, a result is the mean of the vectors. */
    @Test
    void theResultsOfAnAttentionHaveTheVectorsOfTheValues() {
        ShawRelativePositionBlock shaw = shaw().setHeadSize(1).build();
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(1)
                .setHeadCount(1)
                .optRelativeEncoding(shaw)
                .build();
        attention.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 1));
        attention
                .getResultProjection()
                .getParameters()
                .get("weight")
                .getArray()
                .muli(0)
                .addi(1);
        set(shaw, "values", 1, 2, 4, 8, 16);
        NDArray y = infer(manager, attention, zeros(manager, DataType.FLOAT64, 1, 4, 1));
        double[] means = {(4 + 8 + 16 + 16) / 4.0, (2 + 4 + 8 + 16) / 4.0, (1 + 2 + 4 + 8) / 4.0, (1 + 1 + 2 + 4) / 4.0
        };
        requireClose(y, means, 1e-14);
    }

    @Test
    void theValuesMayHaveNoVectors() {
        ShawRelativePositionBlock block =
                filled(manager, shaw().optValues(false).build(), DataType.FLOAT64, HEADS);
        assertThat(block.getParameters().keys()).containsExactly("keys");
        assertThat(block.terms()).hasSize(1);
        assertThat(shaw().build().terms()).hasSize(2);
        ShawRelativePositionBlock both = filled(manager, shaw().build(), DataType.FLOAT64, HEADS);
        set(both, "keys", parameter(block, "keys"));
        NDArray queries = numbers(manager, 3, DataType.FLOAT64, 1, 2, 5, 4);
        requireClose(
                infer(manager, both, queries), infer(manager, block, queries).toDoubleArray(), 1e-12);
    }

    @Test
    void hasTheDefaultsOfThePaper() {
        ShawRelativePositionBlock block =
                ShawRelativePositionBlock.builder().setHeadSize(4).build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of(
                        "type",
                        "ShawRelativePositionBlock",
                        "headSize",
                        4,
                        "maxDistance",
                        16,
                        "clipped",
                        true,
                        "values",
                        true,
                        "keyProducts",
                        false));
        block.initialize(manager, DataType.FLOAT32, HEADS);
        assertThat(array(block, "keys").getShape()).isEqualTo(new Shape(33, 4));
        assertThat(array(block, "values").getShape()).isEqualTo(new Shape(33, 4));
    }

    /** The mean square of a number of a key after a Glorot-initialized projection. */
    @Test
    void vectorsBeginAsLargeAsKeys() {
        ShawRelativePositionBlock block =
                shaw().setHeadSize(16).optMaxDistance(500).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, -1, 16));
        double[] keys = parameter(block, "keys");
        // 16,016 numbers: the standard deviation of the mean square is 1.1 % of it
        assertThat(Arrays.stream(keys).map(each -> each * each).average().orElseThrow())
                .isCloseTo(1 / 16.0, within(0.005));
    }

    @Test
    void rejectsAMaximumDistanceOutOfRange() {
        assertAll(
                rejected(shaw().optMaxDistance(0)::build, "maxDistance 0"),
                rejected(shaw().optMaxDistanceAfter(-1)::build, "maxDistanceAfter -1"),
                rejected(shaw().optMaxDistance(Integer.MIN_VALUE)::build, "maxDistance -2147483648"),
                rejected(shaw().optMaxDistance((1 << 29) + 1)::build, "maxDistance 536870913", 1 << 29));
        assertThat(shaw().optMaxDistance(1 << 29).build().getArguments()).containsEntry("maxDistance", 1 << 29);
    }

    @Test
    void rejectsQueriesOfAnotherShape() {
        ShawRelativePositionBlock block = filled(manager, shaw().build(), DataType.FLOAT32, HEADS);
        ScoreTerms.requireRejected(manager, block, "(B, N, T, 4)", new Shape(1, 3, 4), new Shape(1, 2, 3, 6));
    }
}
