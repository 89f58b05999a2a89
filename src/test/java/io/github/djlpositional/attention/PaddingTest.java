package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.conformance.RandomCases.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A row of a batch gives what it gives alone, with its padding removed: on either side and between tokens, in one
 * forward and in parts with a cache, with every encoding and every kind of order.
 */
class PaddingTest extends OnEachEngine {

    /** Orders of the tokens of an attention. */
    private enum View {
        ALL,
        WINDOW_OF_1,
        WINDOW_OF_2,
        WINDOW_OF_5,
        WINDOW_OF_POSITIONS,
        CHUNKS;

        MultiHeadAttentionBlock.Builder setOn(MultiHeadAttentionBlock.Builder builder) {
            return switch (this) {
                case ALL -> builder;
                case WINDOW_OF_1 -> builder.optWindow(1);
                case WINDOW_OF_2 -> builder.optWindow(2);
                case WINDOW_OF_5 -> builder.optWindow(5);
                case WINDOW_OF_POSITIONS -> builder.optWindow(3).optWindowByPosition(true);
                case CHUNKS -> builder.optChunkSize(3);
            };
        }
    }

    /** How the tokens of a row are placed. */
    private enum Side {
        LEFT,
        RIGHT,
        BETWEEN;

        /** Which of some columns hold tokens. */
        boolean[] place(SplittableRandom random, int tokens, int columns) {
            boolean[] visible = new boolean[columns];
            Arrays.fill(visible, this == LEFT ? columns - tokens : 0, this == LEFT ? columns : tokens, true);
            for (int i = columns - 1; this == BETWEEN && i > 0; i--) {
                int other = random.nextInt(i + 1);
                boolean swapped = visible[i];
                visible[i] = visible[other];
                visible[other] = swapped;
            }
            return visible;
        }
    }

    /** One attention for each choice, since creating one takes longer than a forward. */
    private final Map<List<Object>, MultiHeadAttentionBlock> blocks = new HashMap<>();

    private MultiHeadAttentionBlock attention(EncodingType type, View view, boolean isCausal, boolean isFused) {
        return blocks.computeIfAbsent(List.of(type, view, isCausal, isFused), key -> {
            MultiHeadAttentionBlock.Builder builder =
                    view.setOn(type.attention(HEADS)).optCausal(isCausal).optFusedKernel(isFused);
            if (view == View.CHUNKS) {
                builder.optQueryScale(new QueryScale.FloorLogarithm(0.5, 2));
            }
            MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64);
            block.freezeParameters(true);
            return block;
        });
    }

    @Test
    void aRowGivesWhatItGivesAlone() {
        check(200, 8);
    }

    /** Sequences that are processed in slices of the queries. */
    @Test
    void aLongRowGivesWhatItGivesAlone() {
        check(20, 70);
    }

    @Test
    @Tag("slow")
    void manyRowsGiveWhatTheyGiveAlone() {
        check(10_000, 12);
        check(500, 90);
    }

    private void check(int cases, int longest) {
        assumeCpu();
        RandomCases.check(cases, random -> {
            try (NDManager own = manager.newSubManager()) {
                EncodingType type = one(random, List.of(EncodingType.values()));
                View view = one(random, List.of(View.values()));
                boolean isCausal = random.nextInt(3) > 0;
                MultiHeadAttentionBlock block = attention(type, view, isCausal, random.nextBoolean());
                int batch = random.nextInt(1, 4);
                int columns = random.nextInt(1, longest + 1);
                boolean[][] visible = new boolean[batch][];
                int[][] positions = new int[batch][columns];
                for (int row = 0; row < batch; row++) {
                    visible[row] =
                            one(random, List.of(Side.values())).place(random, random.nextInt(1, columns + 1), columns);
                    int next = 0;
                    for (int i = 0; i < columns; i++) {
                        // those of padding do not matter
                        positions[row][i] = visible[row][i] ? next++ : random.nextInt(0, 3);
                    }
                }
                NDArray x = numbers(own, random.nextInt(), DataType.FLOAT64, batch, columns, SIZE);
                double[][] found = isCausal && random.nextBoolean()
                        ? inSteps(own, random, block, x, positions, visible)
                        : rows(forward(own, block, x, positions, mask(own, visible, 0, columns), null));
                for (int row = 0; row < batch; row++) {
                    boolean[] tokens = visible[row];
                    int[] indices =
                            IntStream.range(0, columns).filter(i -> tokens[i]).toArray();
                    NDArray alone = x.get(row).get(own.create(indices)).expandDims(0);
                    double[] expected = doubles(Forward.infer(own, block, alone));
                    double[] ofTokens = new double[expected.length];
                    for (int i = 0; i < indices.length; i++) {
                        System.arraycopy(found[row * columns + indices[i]], 0, ofTokens, i * SIZE, SIZE);
                    }
                    requireClose(own.create(ofTokens), expected, 1e-11);
                }
            }
        });
    }

    private static NDArray forward(
            NDManager own,
            MultiHeadAttentionBlock block,
            NDArray x,
            int[][] positions,
            NDArray mask,
            KeyValueCache cache) {
        PairList<String, Object> params = cache == null ? new PairList<>() : cache.nextStep();
        params.add(PositionalEncodingBlock.POSITIONS, own.create(positions));
        NDList inputs = mask == null ? new NDList(x) : new NDList(x, mask);
        return block.forward(new ParameterStore(own, false), inputs, false, params)
                .head();
    }

    /** The results of steps, (B · T, D), with a mask of the tokens of each step, or of all tokens up to it. */
    private static double[][] inSteps(
            NDManager own,
            SplittableRandom random,
            MultiHeadAttentionBlock block,
            NDArray x,
            int[][] positions,
            boolean[][] visible) {
        int columns = positions[0].length;
        double[][] found = new double[visible.length * columns][];
        try (KeyValueCache cache = new KeyValueCache(own, random.nextInt(1, 9))) {
            for (int from = 0; from < columns; ) {
                int first = from;
                int to = random.nextBoolean() ? from + 1 : random.nextInt(from + 1, columns + 1);
                int[][] ofStep = Arrays.stream(positions)
                        .map(row -> Arrays.copyOfRange(row, first, to))
                        .toArray(int[][]::new);
                boolean isVisible = IntStream.range(first, to)
                        .allMatch(i -> Arrays.stream(visible).allMatch(row -> row[i]));
                boolean isOfAll = random.nextBoolean();
                NDArray mask = isVisible && !isOfAll ? null : mask(own, visible, isOfAll ? 0 : first, to);
                double[][] step = rows(forward(own, block, x.get(":, {}:{}", first, to), ofStep, mask, cache));
                for (int row = 0; row < visible.length; row++) {
                    System.arraycopy(step, row * (to - first), found, row * columns + first, to - first);
                }
                from = random.nextInt(4) == 0 ? rewound(random, cache, first, to) : to;
            }
        }
        return found;
    }

    /** Goes back to the beginning of the latest step, or further where the cache can; otherwise returns the end. */
    private static int rewound(SplittableRandom random, KeyValueCache cache, int first, int to) {
        int length = random.nextBoolean() ? first : random.nextInt(first + 1);
        try {
            cache.rewind(length);
            return length;
        } catch (IllegalArgumentException e) {
            assertThat(length).isLessThan(first);
            return to;
        }
    }

    private static NDArray mask(NDManager own, boolean[][] visible, int from, int to) {
        int[][] rows = Arrays.stream(visible)
                .map(row -> IntStream.range(from, to).map(i -> row[i] ? 1 : 0).toArray())
                .toArray(int[][]::new);
        return own.create(rows);
    }

    private static double[][] rows(NDArray results) {
        double[] all = doubles(results);
        return IntStream.range(0, all.length / SIZE)
                .mapToObj(row -> Arrays.copyOfRange(all, row * SIZE, (row + 1) * SIZE))
                .toArray(double[][]::new);
    }

    /** Queries (T) that are longer than the keys (F) of a row, with padding of the keys on the right. */
    @ParameterizedTest
    @EnumSource(names = {"WINDOW_OF_2", "WINDOW_OF_5"})
    void aWindowOfOtherKeysDoesNotCountTheirPadding(View view) {
        MultiHeadAttentionBlock block = attention(EncodingType.ALIBI, view, false, false);
        NDArray keys = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray queries = numbers(manager, 2, DataType.FLOAT64, 1, 8, SIZE);
        double[] alone = doubles(Forward.infer(manager, block, keys, queries, keys));
        NDArray padded = keys.concat(numbers(manager, 3, DataType.FLOAT64, 1, 2, SIZE), 1);
        NDArray mask = manager.create(new int[] {1, 1, 1, 1, 0, 0}, new Shape(1, 6));
        requireClose(Forward.infer(manager, block, padded, queries, padded, mask), alone, 1e-12);
    }

    /** A mask of all tokens after steps that dropped tokens, which a window would reach back to after the rewind. */
    @Test
    void aRewindThatNeedsDroppedTokensIsRejected() {
        MultiHeadAttentionBlock block = attention(EncodingType.NONE, View.WINDOW_OF_2, true, true);
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 8, SIZE);
        NDArray isVisible = manager.create(new int[] {1, 1, 0, 0, 1, 1, 1, 1}, new Shape(1, 8));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            int[][] steps = {{0, 4}, {4, 5}, {5, 6}, {6, 7}};
            for (int[] step : steps) {
                // the last mask is of all tokens
                NDArray mask = step[0] == 4 ? null : isVisible.get(":, {}:{}", step[0] % 6, step[1]);
                int[][] positions = {IntStream.range(step[0], step[1]).toArray()};
                forward(manager, block, x.get(":, {}:{}", step[0], step[1]), positions, mask, cache);
            }
            cache.rewind(6);
            // the window of token 4 has token 1, which is no longer cached
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> cache.rewind(4))
                    .withMessageContainingAll("length 4", "at least 5");
        }
    }

    /**
     * Two branches of a draft after two tokens, in one step: each token gives what it gives in its own branch, with a
     * mask that separates the branches.
     */
    @ParameterizedTest
    @EnumSource(names = {"NONE", "ROTARY", "ALIBI", "SHAW", "T5"})
    void aWindowOfPositionsFitsBranchesOfADraft(EncodingType type) {
        MultiHeadAttentionBlock block = attention(type, View.WINDOW_OF_POSITIONS, true, true);
        NDArray x = numbers(manager, 4, DataType.FLOAT64, 1, 8, SIZE);
        // tokens 2, 4, 6 are a branch, and 3, 5, 7 another
        int[][] branches = {{0, 1, 2, 4, 6}, {0, 1, 3, 5, 7}};
        boolean[] visible = new boolean[6 * 8];
        for (int query = 2; query < 8; query++) {
            for (int key : branches[query % 2]) {
                visible[(query - 2) * 8 + key] = true;
            }
        }
        NDArray drafts;
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            forward(manager, block, x.get(":, :2"), new int[][] {{0, 1}}, null, cache);
            NDArray mask = manager.create(visible).reshape(1, 6, 8);
            drafts = forward(manager, block, x.get(":, 2:"), new int[][] {{2, 2, 3, 3, 4, 4}}, mask, cache);
        }
        for (int[] branch : branches) {
            NDArray alone = x.get(0).get(manager.create(branch)).expandDims(0);
            double[][] expected = rows(Forward.infer(manager, block, alone));
            for (int i = 2; i < branch.length; i++) {
                requireClose(drafts.get(0, branch[i] - 2), expected[i], 1e-12);
            }
        }
    }
}
