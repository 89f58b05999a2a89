package io.github.djlpositional.guide;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.EncodingType.HEAD_SIZE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.NaiveAttention;
import io.github.djlpositional.attention.NaiveAttention.Added;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Steps;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contextual positions of docs/own-encoding.md. */
class ContextualPositionsTest extends OnEachEngine {

    private static final int COUNT = 4;

    /** Six parts of 16 queries, with a window of 20 keys. */
    private static final int LENGTH = 90;

    private static final int WINDOW = 20;

    private static MultiHeadAttentionBlock.Builder builder() {
        return EncodingType.NONE
                .attention(HEADS)
                .optCausal(true)
                .optRelativeEncoding(new ContextualPositions(HEAD_SIZE, COUNT));
    }

    /** The numbers of {@code reference_values.py}, for a scale of 1. */
    @Test
    void equalsTheFormulaOfThePaper() {
        double[] values = IntStream.range(0, 2 * 48 + COUNT * HEAD_SIZE)
                .mapToDouble(i -> (i * 37 % 101 - 50) / 64.0)
                .toArray();
        NDArray all = manager.create(values);
        NDArray queries = all.get(":48").reshape(1, HEADS, 6, HEAD_SIZE);
        NDArray keys = all.get("48:96").reshape(1, HEADS, 6, HEAD_SIZE);
        ContextualPositions block = new ContextualPositions(HEAD_SIZE, COUNT);
        block.initialize(manager, DataType.FLOAT64, queries.getShape());
        all.get("96:")
                .reshape(COUNT, HEAD_SIZE)
                .copyTo(block.getParameters().valueAt(0).getArray());
        NDArray term = Forward.infer(manager, block, queries, keys);
        assertThat(term.getShape())
                .isEqualTo(block.getOutputShapes(new Shape[] {queries.getShape(), keys.getShape()})[0]);
        double[] terms = doubles(term);
        for (String[] row : Goldens.rows("cope.csv")) {
            int index = (Integer.parseInt(row[0]) * 6 + Integer.parseInt(row[1])) * 6 + Integer.parseInt(row[2]);
            assertThat(terms[index]).isCloseTo(Double.parseDouble(row[3]), within(1e-14));
        }
    }

    /** The projections of the heads, (1, N, T, H). */
    private static NDArray heads(NDManager manager, Linear projection, NDArray x) {
        return Forward.infer(manager, projection, x)
                .reshape(1, LENGTH, HEADS, HEAD_SIZE)
                .swapAxes(1, 2);
    }

    /** The term for the scale 1 / √4, which multiplies keys: the term has products of keys within a sigmoid only. */
    private static Added term(NDManager manager, MultiHeadAttentionBlock block, NDArray x) {
        NDArray queries = heads(manager, block.getQueryProjection(), x);
        NDArray keys = heads(manager, block.getKeyProjection(), x).mul(0.5);
        double[] term =
                doubles(Forward.infer(manager, block.getRelativeEncodings().get(0), queries, keys));
        return (head, i, j) -> term[(head * LENGTH + i) * LENGTH + j];
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void isComputedInEveryKernelInPartsAndInSteps(boolean isFused) {
        MultiHeadAttentionBlock block = filled(
                manager, builder().optWindow(WINDOW).optFusedKernel(isFused).build(), DataType.FLOAT64);
        block.freezeParameters(true);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, LENGTH, SIZE);
        double[] expected = new NaiveAttention(EncodingType.NONE, block)
                .with(term(manager, block, x))
                .forward(0, x, x, x);
        int before = manager.getManagedArrays().size();
        NDArray whole = Forward.infer(manager, block, x);
        assertThat(manager.getManagedArrays()).hasSize(before + 1);
        requireClose(whole, expected, 1e-12);
        Steps.requireWhole(manager, block, x, 30, 1, 1, 5, 1, 52);
    }

    @Test
    void doesNotCountPadding() {
        MultiHeadAttentionBlock block = filled(manager, builder().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE);
        NDArray mask = manager.create(new int[] {0, 1, 0, 1, 1, 1}, new Shape(1, 6));
        NDArray tokens = manager.create(new int[] {1, 3, 4, 5});
        NDArray alone = Forward.infer(manager, block, x.get(0).get(tokens).expandDims(0));
        NDArray padded = Forward.infer(manager, block, x, mask);
        requireClose(padded.get(0).get(tokens), doubles(alone), 1e-12);
    }

    @Test
    void isTrained() {
        MultiHeadAttentionBlock block = filled(manager, builder().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 2, 6, SIZE);
        FiniteDifferences.requireGradients(manager, block, null, x);
    }
}
