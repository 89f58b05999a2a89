package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.conformance.RandomCases.one;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random correct programs whose masks, positions, tokens and biases are a few small numbers, so that every shape looks
 * like a mistake at some time. None is rejected, and each result is that of the formulas.
 */
class RandomProgramsTest extends OnEachEngine {

    private static final int FEW = 100;

    private static final int MANY = 20_000;

    private static final List<DataType> TYPES = List.of(
            DataType.BOOLEAN, DataType.INT32, DataType.INT64, DataType.UINT8, DataType.FLOAT32, DataType.FLOAT64);

    /** What masks add to a score: -infinity hides the key. */
    @FunctionalInterface
    private interface Added {
        double at(int... place);
    }

    /** A mask of a form that the attention documents, and what it adds to a score. */
    @SuppressWarnings("ArrayRecordComponent") // nothing compares them
    private record Mask(NDArray array, double[] added, long... sizes) implements Added {

        static Mask random(NDManager manager, SplittableRandom random, int rank, int batch, int queries, int keys) {
            boolean isCondition = random.nextInt(3) > 0;
            DataType type = one(random, TYPES);
            long[] sizes = {batch, HEADS, queries, keys};
            if (rank == 4) {
                type = isCondition ? DataType.BOOLEAN : DataType.FLOAT64;
                Arrays.setAll(sizes, axis -> random.nextBoolean() ? sizes[axis] : 1);
            } else {
                isCondition = true;
                sizes[1] = 1;
                sizes[2] = rank == 2 ? 1 : queries;
            }
            int size = (int) new Shape(sizes).size();
            double last = !isCondition ? Double.NEGATIVE_INFINITY : type == DataType.UINT8 ? 2 : -1;
            List<Double> few = List.of(0.0, 1.0, 2.0, last);
            double[] values =
                    random.ints(size, 0, few.size()).mapToDouble(few::get).toArray();
            Shape shape =
                    rank == 4 ? new Shape(sizes) : rank == 3 ? new Shape(batch, queries, keys) : new Shape(batch, keys);
            NDArray doubles = manager.create(values, shape);
            NDArray array = type == DataType.BOOLEAN ? doubles.neq(0) : doubles.toType(type, false);
            boolean hides = isCondition;
            double[] added = Arrays.stream(values)
                    .map(value -> !hides ? value : value == 0 ? Double.NEGATIVE_INFINITY : 0)
                    .toArray();
            return new Mask(array, added, sizes);
        }

        /** Sets which keys a mask of keys hides, from an index on. */
        void hide(boolean[][] hidden, int first) {
            for (int row = 0; row < hidden.length; row++) {
                for (int key = 0; key < sizes[3]; key++) {
                    hidden[row][first + key] = at(row, 0, 0, key) != 0;
                }
            }
        }

        @Override
        public double at(int... place) {
            int index = 0;
            for (int axis = 0; axis < 4; axis++) {
                index = index * (int) sizes[axis] + (sizes[axis] == 1 ? 0 : place[axis]);
            }
            return added[index];
        }
    }

    /** Stands for an attention without a window. */
    private static final int ALL = 100;

    /** One attention for each choice, since creating one takes longer than a forward. */
    private final Map<List<Object>, MultiHeadAttentionBlock> blocks = new HashMap<>();

    private MultiHeadAttentionBlock attention(
            SplittableRandom random, EncodingType type, boolean isCausal, int window) {
        boolean isFused = random.nextBoolean();
        return blocks.computeIfAbsent(List.of(type, isCausal, isFused, window), key -> {
            MultiHeadAttentionBlock.Builder builder =
                    type.attention(HEADS).optCausal(isCausal).optFusedKernel(isFused);
            MultiHeadAttentionBlock block =
                    filled(manager, (window == ALL ? builder : builder.optWindow(window)).build(), DataType.FLOAT64);
            block.freezeParameters(true);
            return block;
        });
    }

    /** Positions for each sequence, or null for none: few numbers, so that they often look like a mask. */
    private static int[][] positions(SplittableRandom random, int batch, int length) {
        return random.nextBoolean()
                ? null
                : IntStream.range(0, batch)
                        .mapToObj(row -> random.ints(length, 0, 3).toArray())
                        .toArray(int[][]::new);
    }

    private static double[] expected(
            EncodingType type,
            MultiHeadAttentionBlock block,
            int first,
            NDArray queries,
            NDArray keys,
            int[][] positions,
            int[][] positionsOfKeys,
            boolean[][] hidden,
            Added mask) {
        double[][] rows = new double[(int) queries.getShape().get(0)][];
        for (int row = 0; row < rows.length; row++) {
            int b = row;
            String part = row + ":" + (row + 1);
            NaiveAttention naive = new NaiveAttention(type, block)
                    .hiding(hidden[row])
                    .with((head, query, key) -> mask == null ? 0 : mask.at(b, head, query, key));
            naive.at(positions == null ? null : positions[row], positionsOfKeys == null ? null : positionsOfKeys[row]);
            rows[row] = naive.forward(first, queries.get(part), keys.get(part), keys.get(part));
        }
        return Arrays.stream(rows).flatMapToDouble(Arrays::stream).toArray();
    }

    private static NDList with(Mask mask, NDArray... arrays) {
        NDList inputs = new NDList(arrays);
        if (mask != null) {
            inputs.add(mask.array);
        }
        return inputs;
    }

    /** Adds the positions of the tokens from an index to another, if there are any. */
    private static void addPositions(
            PairList<String, Object> params,
            NDManager manager,
            SplittableRandom random,
            int[][] positions,
            int from,
            int to) {
        if (positions != null) {
            NDArray integers = manager.create(positions).get(":, {}:{}", from, to);
            params.add(
                    PositionalEncodingBlock.POSITIONS,
                    random.nextBoolean() ? integers : integers.toType(DataType.INT64, false));
        }
    }

    @Test
    void attentionsOfEveryMask() {
        checkAttentions(FEW);
    }

    @Test
    @Tag("slow")
    void manyAttentionsOfEveryMask() {
        checkAttentions(MANY);
    }

    private void checkAttentions(int cases) {
        assumeCpu();
        RandomCases.check(cases, random -> {
            try (NDManager own = manager.newSubManager()) {
                EncodingType type = one(random, List.of(EncodingType.values()));
                boolean isSelf = random.nextBoolean();
                int batch = random.nextInt(1, 5);
                int length = random.nextInt(1, 7);
                int keyLength = isSelf ? length : random.nextInt(1, 7);
                int window = random.nextBoolean() ? ALL : random.nextInt(1, 6);
                MultiHeadAttentionBlock block = attention(random, type, random.nextBoolean(), window);
                NDArray x = numbers(own, random.nextInt(), DataType.FLOAT64, batch, length, SIZE);
                NDArray keys = isSelf ? x : numbers(own, random.nextInt(), DataType.FLOAT64, batch, keyLength, SIZE);
                Mask mask = random.nextInt(4) == 0
                        ? null
                        : Mask.random(own, random, random.nextInt(2, 5), batch, length, keyLength);
                int[][] positions = positions(random, batch, length);
                int[][] ofKeys = isSelf ? positions : positions(random, batch, keyLength);
                PairList<String, Object> params = new PairList<>();
                addPositions(params, own, random, positions, 0, length);
                if (!isSelf && ofKeys != null) {
                    params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, own.create(ofKeys));
                }
                NDList inputs = isSelf ? with(mask, x) : with(mask, keys, x, keys);
                NDArray y = block.forward(new ParameterStore(own, false), inputs, false, params)
                        .head();
                boolean[][] hidden = new boolean[batch][keyLength];
                boolean isOfKeys = mask != null && mask.array.getShape().dimension() == 2;
                if (isOfKeys) {
                    mask.hide(hidden, 0);
                }
                requireClose(
                        y, expected(type, block, 0, x, keys, positions, ofKeys, hidden, isOfKeys ? null : mask), 1e-11);
            }
        });
    }

    @Test
    void stepsOfEveryMask() {
        checkSteps(FEW);
    }

    @Test
    @Tag("slow")
    void manyStepsOfEveryMask() {
        checkSteps(MANY);
    }

    /**
     * Causal attentions with masks at some steps: one of the step's keys is appended to those of before, one of all
     * keys replaces them, and one with an axis of queries counts for its step. Between steps, the cache is forked,
     * rewound, or continued with other rows of the batch. Some attentions have a window, of which the cache drops
     * earlier tokens. Tokens in the middle are removed. The cache is saved and loaded.
     */
    private void checkSteps(int cases) {
        assumeCpu();
        RandomCases.check(cases, random -> {
            try (NDManager own = manager.newSubManager()) {
                KeyValueCache cache = new KeyValueCache(own, random.nextInt(1, 9));
                EncodingType type = one(random, List.of(EncodingType.values()));
                int batch = random.nextInt(1, 4);
                int length = random.nextInt(1, 7);
                int window = random.nextBoolean() ? ALL : random.nextInt(1, 4);
                MultiHeadAttentionBlock block = attention(random, type, true, window);
                // tokens that repeat each other
                NDArray token = numbers(own, 5, DataType.FLOAT64, 3, SIZE);
                NDArray x = token.get(own.create(
                                random.ints((long) batch * length, 0, 3).toArray()))
                        .reshape(batch, length, SIZE);
                int[][] positions = positions(random, batch, length);
                boolean[][] hidden = new boolean[batch][length];
                boolean mayHideAll = true;
                for (int from = 0; from < length; ) {
                    int to = random.nextInt(from + 1, length + 1);
                    int rank = random.nextInt(1, 5);
                    int firstOfMask = rank == 2 && (!mayHideAll || random.nextBoolean()) ? from : 0;
                    // a mask of all tokens does not bring back those that a window has dropped
                    mayHideAll &= window == ALL || rank == 2;
                    Mask mask = rank == 1 ? null : Mask.random(own, random, rank, batch, to - from, to - firstOfMask);
                    if (rank == 2) {
                        mask.hide(hidden, firstOfMask);
                    }
                    NDArray part = x.get(":, {}:{}", from, to);
                    PairList<String, Object> params = cache.nextStep();
                    addPositions(params, own, random, positions, from, to);
                    NDArray y = block.forward(new ParameterStore(own, false), with(mask, part), false, params)
                            .head();
                    boolean[][] ofKeys = Arrays.stream(hidden)
                            .map(row -> Arrays.copyOf(row, to))
                            .toArray(boolean[][]::new);
                    Mask ofQueries = rank > 2 ? mask : null;
                    double[] whole = expected(
                            type, block, from, part, x.get(":, :" + to), positions, positions, ofKeys, ofQueries);
                    requireClose(y, whole, 1e-11);
                    switch (random.nextInt(7)) {
                        case 0 -> {
                            cache = cache.fork();
                            from = to;
                        }
                        case 1 -> {
                            from = random.nextInt(window == ALL ? 0 : from, to + 1);
                            cache.rewind(from);
                            for (boolean[] row : hidden) {
                                Arrays.fill(row, from, length, false);
                            }
                        }
                        case 2 -> {
                            from = to;
                            int[] rows = random.ints(batch, 0, batch).toArray();
                            NDArray indices = own.create(rows);
                            cache.select(indices);
                            x = x.get(indices);
                            boolean[][] before = hidden;
                            hidden = new boolean[batch][];
                            Arrays.setAll(hidden, row -> before[rows[row]].clone());
                            if (positions != null) {
                                int[][] ofTokens = positions.clone();
                                Arrays.setAll(positions, row -> ofTokens[rows[row]]);
                            }
                        }
                        case 4 -> {
                            cache = SavedCache.reloaded(own, cache, List.of(block));
                            from = to;
                        }
                        case 3 -> {
                            int first = random.nextInt(to);
                            int end = random.nextInt(first, to);
                            boolean mayRemove =
                                    window == ALL && (positions != null || type != EncodingType.ROTARY_BY_DIMENSION);
                            from = to;
                            if (mayRemove && end > first) {
                                cache.remove(first, end);
                                NDArray later = x.get(":, {}:", end);
                                x = first == 0 ? later : x.get(":, :{}", first).concat(later, 1);
                                for (int row = 0; row < batch; row++) {
                                    boolean[] ofRow = hidden[row];
                                    hidden[row] = new boolean[length - (end - first)];
                                    System.arraycopy(ofRow, 0, hidden[row], 0, first);
                                    System.arraycopy(ofRow, end, hidden[row], first, length - end);
                                    if (positions != null) {
                                        int[] places = positions[row];
                                        positions[row] = IntStream.range(0, length)
                                                .filter(i -> i < first || i >= end)
                                                .map(i -> places[i])
                                                .toArray();
                                    }
                                }
                                length -= end - first;
                                from = to - (end - first);
                            }
                        }
                        default -> from = to;
                    }
                }
            }
        });
    }
}
