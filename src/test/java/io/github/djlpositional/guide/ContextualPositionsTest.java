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
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.Goldens;
import io.github.djlpositional.attention.FiniteDifferences;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.NaiveAttention;
import io.github.djlpositional.attention.NaiveAttention.Added;
import io.github.djlpositional.relative.EncodingType;
import java.util.stream.IntStream;

/** The contextual positions of docs/own-encoding.md. */
class ContextualPositionsTest {

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
    @EngineTest
    void equalsTheFormulaOfThePaper(NDManager manager) {
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

    private static double[] projected(NDManager manager, MultiHeadAttentionBlock block, boolean areKeys, NDArray x) {
        return doubles((areKeys ? block.getKeyProjection() : block.getQueryProjection())
                .forward(new ParameterStore(manager, false), new NDList(x), false)
                .head());
    }

    private static double dot(double[] a, int from, double[] b, int at) {
        return IntStream.range(0, HEAD_SIZE)
                .mapToDouble(h -> a[from + h] * b[at + h])
                .sum();
    }

    /** The formula, for the scale 1 / √4. */
    private static Added term(NDManager manager, MultiHeadAttentionBlock block, NDArray x) {
        double[] q = projected(manager, block, false, x);
        double[] k = projected(manager, block, true, x);
        double[] vectors = doubles(
                block.getRelativeEncodings().get(0).getParameters().valueAt(0).getArray());
        return (head, i, j) -> {
            int from = i * SIZE + head * HEAD_SIZE;
            double sum = IntStream.rangeClosed(j, i)
                    .mapToDouble(l -> 1 / (1 + Math.exp(-dot(q, from, k, l * SIZE + head * HEAD_SIZE) / 2)))
                    .sum();
            double position = Math.min(sum, COUNT - 1);
            int below = (int) position;
            double share = position - below;
            return (1 - share) * dot(q, from, vectors, below * HEAD_SIZE)
                    + share * dot(q, from, vectors, Math.min(below + 1, COUNT - 1) * HEAD_SIZE);
        };
    }

    @EngineTest
    void isComputedInEveryKernelInPartsAndInSteps(NDManager manager, boolean isFused) {
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
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            int from = 0;
            for (int count : new int[] {30, 1, 1, 5, 1, 52}) {
                NDArray y = Forward.infer(manager, block, cache.nextStep(), x.get(":, {}:{}", from, from + count));
                requireClose(y, doubles(whole.get(":, {}:{}", from, from + count)), 1e-12);
                from += count;
            }
        }
    }

    @EngineTest
    void isTrainedAndSaved(NDManager manager) throws Exception {
        MultiHeadAttentionBlock block = filled(manager, builder().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 2, 6, SIZE);
        FiniteDifferences.requireGradients(manager, block, null, x);
        MultiHeadAttentionBlock loaded = builder().build();
        BlockBytes.load(manager, loaded, BlockBytes.saved(block));
        assertThat(doubles(Forward.infer(manager, loaded, x))).isEqualTo(doubles(Forward.infer(manager, block, x)));
    }
}
