package io.github.djlpositional.attention;

import static io.github.djlpositional.Forward.infer;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowable;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.LambdaBlock;
import ai.djl.nn.SequentialBlock;
import ai.djl.util.PairList;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.relative.EncodingType;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** How a cache keeps count of the steps. */
class KeyValueCacheTest {

    private static MultiHeadAttentionBlock attention(NDManager manager, DataType type) {
        return filled(
                manager, EncodingType.ROTARY.attention(HEADS).optCausal(true).build(), type);
    }

    @EngineTest
    void rewindsAStepThatFailedBehindTheAttention(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 5, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            requireNext(manager, block, cache, x, null, 0, 3);
            requireNext(manager, block, cache, x, null, 3, 4);
            assertThat(cache.getLength()).isEqualTo(4);
            cache.rewind(3);
            assertThat(cache.getLength()).isEqualTo(3);
            requireNext(manager, block, cache, x, null, 3, 4);
            requireNext(manager, block, cache, x, null, 4, 5);
            refused(() -> cache.rewind(6), "length 6", "0 to 5");
            refused(() -> cache.rewind(-1), "length -1", "0 to 5");
        }
    }

    @EngineTest
    void refusesTheNextStepIfThePreviousOneDidNotReachAnAttention(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT32);
        Block model = new SequentialBlock().add(block);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, model, cache.nextStep(), x);
            assertThatIllegalStateException()
                    .isThrownBy(cache::nextStep)
                    .withMessageContainingAll("position 0", "SequentialBlock", "rewind(0)");
            cache.rewind(cache.getLength());
            infer(manager, block, cache.nextStep(), x);
            cache.nextStep();
            assertThatIllegalStateException().isThrownBy(cache::nextStep).withMessageContaining("rewind(3)");
            cache.clear();
            assertThat(cache.nextStep().get(KeyValueCache.KEY)).isSameAs(cache);
        }
    }

    @EngineTest
    void refusesACacheWithoutAStart(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT32);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> alone = Forward.params(KeyValueCache.KEY, cache);
            refused(() -> infer(manager, block, alone, x), "startPosition", "nextStep()");
        }
    }

    /** The result of the last query of a whole forward, with a mask of all keys. */
    private static double[] last(NDManager manager, MultiHeadAttentionBlock block, NDArray x, NDArray mask) {
        NDArray whole = infer(manager, block, x, mask);
        return doubles(whole.get(":, {}:", x.getShape().get(1) - 1));
    }

    @EngineTest
    void aMaskOfKeysStaysForLaterSteps(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 6, SIZE);
        NDArray tokens = manager.create(new long[][] {{1, 1, 1, 1, 1, 1}, {0, 0, 1, 1, 1, 1}});
        NDArray rows = manager.create(new int[] {1});
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :4"), tokens.get(":, :4"));
            NDArray next = x.get(":, 4:5");
            double[] expected = last(manager, block, x.get(":, :5"), tokens.get(":, :5"));
            try (KeyValueCache copy = cache.fork()) {
                requireClose(infer(manager, block, copy.nextStep(), next), expected, 1e-12);
                copy.rewind(4);
                copy.select(rows);
                double[] second = Arrays.copyOfRange(expected, SIZE, 2 * SIZE);
                requireClose(infer(manager, block, copy.nextStep(), next.get("1:")), second, 1e-12);
            }
            requireClose(infer(manager, block, cache.nextStep(), next), expected, 1e-12);
            // a step that was rewound takes its mask along
            cache.rewind(0);
            infer(manager, block, cache.nextStep(), x.get(":, :2"));
            infer(manager, block, cache.nextStep(), x.get(":, 2:4"), tokens.get(":, :2"));
            cache.rewind(2);
            infer(manager, block, cache.nextStep(), x.get(":, 2:4"));
            double[] unmasked =
                    last(manager, block, x.get(":, :5"), tokens.onesLike().get(":, :5"));
            requireClose(infer(manager, block, cache.nextStep(), next), unmasked, 1e-12);
        }
    }

    @EngineTest
    void aMaskOfTheStepIsAppendedAndOneOfAllTokensReplacesTheOthers(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 6, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :3"));
            NDArray ofStep = manager.create(new boolean[] {true, false}).reshape(2, 1);
            infer(manager, block, cache.nextStep(), x.get(":, 3:4"), ofStep);
            NDArray appended = manager.create(new float[][] {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 1}});
            NDArray y = infer(manager, block, cache.nextStep(), x.get(":, 4:5"));
            requireClose(y, last(manager, block, x.get(":, :5"), appended), 1e-12);
            cache.rewind(4);
            NDArray replaced = manager.create(new int[][] {{0, 1, 1, 1, 1}, {0, 1, 0, 1, 1}});
            y = infer(manager, block, cache.nextStep(), x.get(":, 4:5"), replaced);
            requireClose(y, last(manager, block, x.get(":, :5"), replaced), 1e-12);
            NDArray last = manager.create(new int[][] {{0, 1, 1, 1, 1, 1}, {0, 1, 0, 1, 1, 1}});
            y = infer(manager, block, cache.nextStep(), x.get(":, 5:"));
            requireClose(y, last(manager, block, x, last), 1e-12);
        }
    }

    @EngineTest
    void aMaskWithAnAxisOfQueriesCountsForItsStep(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
        NDArray all = manager.ones(new Shape(2, 5));
        NDArray hides = manager.create(new float[] {0, 1, 1, 1}).neq(0).reshape(1, 1, 1, 4);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :4"), hides);
            NDArray y = infer(manager, block, cache.nextStep(), x.get(":, 4:"));
            requireClose(y, last(manager, block, x, all), 1e-12);
        }
    }

    @EngineTest
    void theMaskOfAnEncodersOutputStaysWithItsKeys(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT64);
        NDArray memory = numbers(manager, 1, DataType.FLOAT64, 2, 3, SIZE);
        NDArray x = numbers(manager, 2, DataType.FLOAT64, 2, 1, SIZE);
        NDArray mask = manager.create(new int[][] {{1, 1, 1}, {1, 0, 0}});
        NDArray other = manager.create(new int[][] {{1, 0, 1}, {1, 1, 1}});
        // the attention is causal: the query of a step sees the keys up to its position
        try (KeyValueCache cache = new KeyValueCache(manager);
                KeyValueCache again = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), memory, x, memory, mask);
            infer(manager, block, again.nextStep(), memory, x, memory);
            double[] expected = doubles(infer(manager, block, again.nextStep(), memory, x, memory, mask));
            requireClose(infer(manager, block, cache.nextStep(), memory, x, memory), expected, 1e-12);
            cache.rewind(1);
            again.rewind(1);
            expected = doubles(infer(manager, block, again.nextStep(), memory, x, memory, other));
            requireClose(infer(manager, block, cache.nextStep(), memory, x, memory, other), expected, 1e-12);
        }
    }

    /** Such as the parameters of a decoder's step that are given to the encoder too. */
    @EngineTest
    void refusesAnotherNumberOfTokensInOneStep(NDManager manager) {
        MultiHeadAttentionBlock encoder = attention(manager, DataType.FLOAT64);
        MultiHeadAttentionBlock decoder = attention(manager, DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> params = cache.nextStep();
            infer(manager, encoder, params, x);
            refused(() -> infer(manager, decoder, params, x.get(":, :1")), "1 tokens", "5");
            cache.clear();
            infer(manager, decoder, cache.nextStep(), x.get(":, :3"));
            // parameters of the user's own for the next step
            PairList<String, Object> own = new PairList<>();
            own.add(KeyValueCache.KEY, cache);
            own.add(PositionalEncodingBlock.START_POSITION, 3);
            infer(manager, decoder, own, x.get(":, 3:4"));
            assertThat(cache.getLength()).isEqualTo(4);
        }
    }

    @EngineTest
    void refusesOnlyTheKeysOfAStepInACausalAttention(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray queries = x.duplicate();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :2"), queries.get(":, :2"), x.get(":, :2"));
            refused(
                    () -> infer(manager, block, cache.nextStep(), x.get(":, 2:"), queries.get(":, 2:"), x.get(":, 2:")),
                    "step of 2 tokens at position 2",
                    "causal",
                    "2 keys",
                    "expected [x]",
                    "at least 4");
            assertThat(cache.getLength()).isEqualTo(2);
            // all keys so far, in a new array, are projected again
            NDArray y = infer(manager, block, cache.nextStep(), x, queries.get(":, 2:"), x);
            requireClose(y, doubles(infer(manager, block, x).get(":, 2:")), 1e-12);
        }
    }

    @EngineTest
    void aClosedCacheIsNamed(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT32);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, SIZE);
        NDManager parent = manager.newSubManager();
        for (AutoCloseable owner : new AutoCloseable[] {null, parent}) {
            KeyValueCache cache = new KeyValueCache(parent);
            PairList<String, Object> params = cache.nextStep();
            infer(manager, block, params, x);
            PairList<String, Object> next = cache.nextStep();
            if (owner == null) {
                cache.close();
            } else {
                parent.close();
            }
            for (ThrowingCallable call : List.<ThrowingCallable>of(
                    cache::nextStep,
                    cache::fork,
                    cache::clear,
                    () -> cache.rewind(0),
                    () -> cache.select(manager.create(new int[] {0})),
                    () -> infer(manager, block, next, x.get(":, :1")))) {
                assertThatIllegalStateException()
                        .isThrownBy(call)
                        .withMessageContainingAll("closed", "new KeyValueCache");
            }
            cache.close();
        }
    }

    /** ALiBi in a causal attention, which sees the distances of positions. */
    private static MultiHeadAttentionBlock.Builder alibi() {
        return EncodingType.ALIBI.attention(HEADS).optCausal(true);
    }

    private static PairList<String, Object> with(PairList<String, Object> params, NDArray positions) {
        params.add(PositionalEncodingBlock.POSITIONS, positions);
        return params;
    }

    private static PairList<String, Object> with(NDArray positions) {
        return with(new PairList<>(), positions);
    }

    /** The numbers of positions that the cache in a manager has room for, each once. */
    private static Set<Long> rooms(NDManager parent) {
        return lengths(parent, 4);
    }

    /** The sizes of the arrays of a rank along their axis of positions. */
    private static Set<Long> lengths(NDManager parent, int rank) {
        return parent.getManagedArrays().stream()
                .map(NDArray::getShape)
                .filter(shape -> shape.dimension() == rank)
                .map(shape -> shape.get(rank / 2))
                .collect(Collectors.toSet());
    }

    @EngineTest
    void aWindowKeepsItsPositionsAndThoseOfTheLatestStep(NDManager manager) {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 300, SIZE);
        List<MultiHeadAttentionBlock> blocks =
                List.of(alibi().optWindow(4).build(), alibi().optChunkSize(4).build());
        for (MultiHeadAttentionBlock block : blocks) {
            filled(manager, block, DataType.FLOAT64);
            NDArray whole = infer(manager, block, x);
            try (NDManager own = manager.newSubManager();
                    KeyValueCache cache = new KeyValueCache(own)) {
                infer(manager, block, cache.nextStep(), x.get(":, :100"));
                for (int at = 100; at < 300; at++) {
                    NDArray y = infer(manager, block, cache.nextStep(), x.get(":, {}:{}", at, at + 1));
                    requireClose(y, doubles(whole.get(":, {}:{}", at, at + 1)), 1e-12);
                    // 4 of the window and 1 of the step, at most twice
                    assertThat(rooms(own)).containsExactly(10L);
                }
                assertThat(cache.getLength()).isEqualTo(300);
            }
        }
    }

    @EngineTest
    void biasesAreComputedForTwiceAsManyDistancesAsAStepHas(NDManager manager) {
        MultiHeadAttentionBlock block = filled(manager, alibi().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 20, SIZE);
        try (NDManager own = manager.newSubManager();
                KeyValueCache cache = new KeyValueCache(own)) {
            requireNext(manager, block, cache, x, null, 0, 5);
            assertThat(lengths(own, 2)).isEmpty();
            for (int at = 5; at < 20; at++) {
                requireNext(manager, block, cache, x, null, at, at + 1);
                // the first of these steps has 6 keys; the one with 13 is the first with more than 12
                assertThat(lengths(own, 2)).containsExactly(at < 12 ? 12L : 26L);
            }
        }
    }

    @EngineTest
    void aWindowCanBeRewoundByOneStepAndNoFurther(NDManager manager) {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 12, SIZE);
        MultiHeadAttentionBlock window = filled(manager, alibi().optWindow(4).build(), DataType.FLOAT64);
        MultiHeadAttentionBlock whole = filled(manager, alibi().build(), DataType.FLOAT64);
        NDArray expected = infer(manager, window, x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int[] part : new int[][] {{0, 7}, {7, 10}, {10, 11}}) {
                PairList<String, Object> params = cache.nextStep();
                infer(manager, whole, params, x.get(":, {}:{}", part[0], part[1]));
                infer(manager, window, params, x.get(":, {}:{}", part[0], part[1]));
            }
            // the step at 10 dropped the tokens before 6, and a query at 9 sees 6 to 9
            refused(() -> cache.rewind(8), "length 8", "at least 9", "window=4");
            refused(() -> cache.rewind(0), "length 0", "at least 9", "clear()");
            assertThat(cache.getLength()).isEqualTo(11);
            cache.rewind(10);
            PairList<String, Object> params = cache.nextStep();
            infer(manager, whole, params, x.get(":, 10:11"));
            NDArray again = infer(manager, window, params, x.get(":, 10:11"));
            requireClose(again, doubles(expected.get(":, 10:11")), 1e-12);
            params = cache.nextStep();
            infer(manager, whole, params, x.get(":, 11:"));
            NDArray last = infer(manager, window, params, x.get(":, 11:"));
            requireClose(last, doubles(expected.get(":, 11:")), 1e-12);
        }
    }

    @EngineTest
    void aFailedStepCanBeRepeatedWithAWindowAndPositions(NDManager manager) {
        MultiHeadAttentionBlock block = filled(manager, alibi().optWindow(4).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 12, SIZE);
        NDArray positions = manager.create(
                new int[][] {{0, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 20}, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}});
        NDArray wrongMask = manager.ones(new Shape(2, 1, 99));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int[] part : new int[][] {{0, 3}, {3, 4}, {4, 7}, {7, 8}, {8, 9}, {9, 12}}) {
                NDArray tokens = x.get(":, {}:{}", part[0], part[1]);
                NDArray given = positions.get(":, {}:{}", part[0], part[1]);
                // it fails behind the cache
                refused(() -> infer(manager, block, with(cache.nextStep(), given), tokens, wrongMask), "mask");
                cache.rewind(part[0]);
                requireNext(manager, block, cache, x, positions, part[0], part[1]);
            }
        }
    }

    @EngineTest
    void positionsOfEveryShapeFollowEachOther(NDManager manager) {
        MultiHeadAttentionBlock block = filled(manager, alibi().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 5, SIZE);
        NDArray positions = manager.create(new int[][] {{0, 1, 4, 5, 9}, {0, 1, 4, 5, 7}});
        NDArray whole = infer(manager, block, with(positions), x);
        NDArray[] shapes = {
            null, // which is 0 and 1
            positions.get("0, 2:3"),
            positions.get("1:, 3:4"),
            positions.get(":, 4:").toType(DataType.INT64, false)
        };
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (NDArray shape : shapes) {
                int from = cache.getLength();
                int to = shape == null ? 2 : from + 1;
                PairList<String, Object> params = cache.nextStep();
                NDArray y = infer(
                        manager, block, shape == null ? params : with(params, shape), x.get(":, {}:{}", from, to));
                requireClose(y, doubles(whole.get(":, {}:{}", from, to)), 1e-12);
            }
        }
    }

    @EngineTest
    void realPositionsFollowWholeOnes(NDManager manager) {
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.NONE
                        .attention(HEADS)
                        .optCausal(true)
                        .optChunkSize(3)
                        .build(),
                DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray whole = infer(manager, block, with(manager.create(new float[] {0, 2, 2.5f, 3.5f})), x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, with(cache.nextStep(), manager.create(new int[] {0, 2})), x.get(":, :2"));
            NDArray y = infer(
                    manager, block, with(cache.nextStep(), manager.create(new float[] {2.5f, 3.5f})), x.get(":, 2:"));
            requireClose(y, doubles(whole.get(":, 2:")), 1e-12);
        }
    }

    @EngineTest
    void selectsSequencesWithTheirPositions(NDManager manager, boolean given) {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 3, 9, SIZE);
        NDArray positions = manager.create(new int[][] {
            {0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 2, 4, 6, 8, 10, 12, 14, 16}, {5, 6, 7, 8, 9, 10, 11, 12, 13}
        });
        // reordered, repeated, dropped, and both
        int[][] choices = {{2, 0, 1}, {1, 1, 0, 2}, {2}, {0, 2, 2}};
        for (MultiHeadAttentionBlock.Builder builder : List.of(alibi(), alibi().optWindow(3))) {
            MultiHeadAttentionBlock block = filled(manager, builder.build(), DataType.FLOAT64);
            for (int[] choice : choices) {
                NDArray chosen = chosen(x, choice);
                NDArray places = given ? chosen(positions, choice) : null;
                try (KeyValueCache cache = new KeyValueCache(manager)) {
                    requireNext(manager, block, cache, x, given ? positions : null, 0, 3);
                    requireNext(manager, block, cache, x, given ? positions : null, 3, 6);
                    cache.select(manager.create(choice));
                    for (int at = 6; at < 9; at++) {
                        requireNext(manager, block, cache, chosen, places, at, at + 1);
                    }
                }
            }
        }
    }

    private static NDArray chosen(NDArray array, int... rows) {
        NDList parts = new NDList();
        for (int row : rows) {
            parts.add(array.get("{}:{}", row, row + 1));
        }
        return NDArrays.concat(parts, 0);
    }

    @EngineTest
    void selectsRowsOfPositionsOnSeveralAxesAndOfOneForAll(NDManager manager) {
        // chunks of one axis refuse several, an attention without an encoding keeps them
        MultiHeadAttentionBlock block = filled(
                manager, EncodingType.NONE.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 4, SIZE);
        NDArray whole = infer(manager, block, chosen(x, 1, 1, 0));
        for (NDArray positions : List.of(
                manager.arange(24).toType(DataType.INT32, false).reshape(3, 2, 4),
                manager.arange(12).reshape(3, 1, 4),
                manager.arange(4))) {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                infer(manager, block, with(cache.nextStep(), positions.get("..., :3")), x.get(":, :3"));
                cache.select(manager.create(new long[] {1, 1, 0}));
                NDArray last = manager.arange(9).toType(DataType.INT32, false).reshape(3, 3, 1);
                PairList<String, Object> params =
                        with(cache.nextStep(), positions.getShape().dimension() == 1 ? manager.arange(1) : last);
                NDArray y = infer(manager, block, params, chosen(x, 1, 1, 0).get(":, 3:"));
                requireClose(y, doubles(whole.get(":, 3:")), 1e-12);
            }
        }
    }

    @EngineTest
    void refusesRowsOutOfRangeAndChangesNothing(NDManager manager) {
        MultiHeadAttentionBlock block = filled(manager, alibi().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 4, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :3"));
            refused(() -> cache.select(manager.create(new int[] {0, 2})), "row 2", "index 1", "0 to 1");
            refused(() -> cache.select(manager.create(new long[] {-1})), "row -1", "0 to 1");
            refused(() -> cache.select(manager.create(new int[][] {{0, 1}})), "(1, 2)", "(n)");
            refused(() -> cache.select(manager.create(new float[] {0, 1})), "float32", "integer");
            refused(() -> cache.select(manager.create(new Shape(0), DataType.INT32)), "(0)", "one integer or more");
            requireNext(manager, block, cache, x, null, 3, 4);
        }
    }

    @EngineTest
    void selectsTheSequencesOfACrossAttention(NDManager manager) {
        MultiHeadAttentionBlock self = filled(manager, alibi().build(), DataType.FLOAT64);
        MultiHeadAttentionBlock cross =
                filled(manager, EncodingType.ALIBI.attention(HEADS).build(), DataType.FLOAT64);
        NDArray encoded = numbers(manager, 1, DataType.FLOAT64, 2, 6, SIZE);
        NDArray x = numbers(manager, 2, DataType.FLOAT64, 2, 4, SIZE);
        int[] rows = {1, 0, 1};
        NDArray memory = chosen(encoded, rows);
        NDArray whole = infer(manager, cross, memory, infer(manager, self, chosen(x, rows)), memory);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> params = cache.nextStep();
            infer(manager, cross, params, encoded, infer(manager, self, params, x.get(":, :3")), encoded);
            cache.select(manager.create(rows));
            params = cache.nextStep();
            NDArray y = infer(manager, self, params, chosen(x, rows).get(":, 3:"));
            requireClose(infer(manager, cross, params, memory, y, memory), doubles(whole.get(":, 3:")), 1e-12);
        }
    }

    @EngineTest
    void forksHaveContinuationsOfTheirOwn(NDManager manager) {
        MultiHeadAttentionBlock block = filled(manager, alibi().optWindow(4).build(), DataType.FLOAT64);
        MultiHeadAttentionBlock cross =
                filled(manager, EncodingType.SHAW.attention(HEADS).build(), DataType.FLOAT64);
        NDArray prompt = numbers(manager, 1, DataType.FLOAT64, 1, 5, SIZE);
        NDArray encoded = numbers(manager, 9, DataType.FLOAT64, 1, 3, SIZE);
        NDArray positions = manager.create(new int[] {0, 1, 3, 4, 5, 7, 8, 9, 11});
        NDArray[] whole = new NDArray[2];
        NDArray[] x = new NDArray[2];
        for (int i = 0; i < 2; i++) {
            x[i] = NDArrays.concat(new NDList(prompt, numbers(manager, 2 + i, DataType.FLOAT64, 1, 4, SIZE)), 1);
            NDArray y = infer(manager, block, with(positions), x[i]);
            whole[i] = infer(manager, cross, with(positions), encoded, y, encoded);
        }
        try (NDManager own = manager.newSubManager()) {
            KeyValueCache first = new KeyValueCache(own);
            decoded(manager, block, cross, first, positions.get(":5"), encoded, prompt);
            KeyValueCache second = first.fork();
            assertThat(second.getLength()).isEqualTo(5);
            // in turns, so that each would overwrite what it had in common with the other
            for (int at = 5; at < 9; at++) {
                for (int i = 0; i < 2; i++) {
                    NDArray tokens = x[i].get(":, {}:{}", at, at + 1);
                    NDArray position = positions.get("{}:{}", at, at + 1);
                    NDArray y = decoded(manager, block, cross, i == 0 ? first : second, position, encoded, tokens);
                    requireClose(y, doubles(whole[i].get(":, {}:{}", at, at + 1)), 1e-12);
                }
            }
            first.close();
            second.rewind(8);
            NDArray y = decoded(manager, block, cross, second, positions.get("8:"), encoded, x[1].get(":, 8:"));
            requireClose(y, doubles(whole[1].get(":, 8:")), 1e-12);
            second.close();
            assertThat(own.getManagedArrays()).isEmpty();
        }
    }

    private static NDArray decoded(
            NDManager manager,
            Block self,
            Block cross,
            KeyValueCache cache,
            NDArray positions,
            NDArray encoded,
            NDArray tokens) {
        PairList<String, Object> params = with(cache.nextStep(), positions);
        return infer(manager, cross, params, encoded, infer(manager, self, params, tokens), encoded);
    }

    /** Checks the next step against a forward over the whole sequence up to its end, whose length the step has. */
    private static void requireNext(
            NDManager manager, Block block, KeyValueCache cache, NDArray x, NDArray positions, int from, int to) {
        PairList<String, Object> params = cache.nextStep();
        PairList<String, Object> all = new PairList<>();
        if (positions != null) {
            with(params, positions.get("..., {}:{}", from, to));
            with(all, positions.get("..., :{}", to));
        }
        NDArray y = infer(manager, block, params, x.get(":, {}:{}", from, to));
        NDArray whole = infer(manager, block, all, x.get(":, :{}", to));
        requireClose(y, doubles(whole.get(":, {}:", from)), 1e-12);
    }

    @EngineTest
    void aRejectedPositionDoesNotCountInLaterSteps(NDManager manager) {
        MultiHeadAttentionBlock block = filled(
                manager, EncodingType.WINDOW.attention(HEADS).optCausal(true).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray positions = manager.create(new int[] {0, 1, 2, 3});
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            requireNext(manager, block, cache, x, positions, 0, 3);
            NDArray far = manager.create(new int[] {5000});
            refused(() -> infer(manager, block, with(cache.nextStep(), far), x.get(":, 3:")), "position 5000");
            requireNext(manager, block, cache, x, positions, 3, 4);
        }
    }

    @EngineTest
    void positionsOfAStepThatFailedAreNotNeededAfterwards(NDManager manager) {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 12, SIZE);
        NDArray wrongMask = manager.ones(new Shape(1, 1, 99));
        MultiHeadAttentionBlock block = filled(manager, alibi().optChunkSize(4).build(), DataType.FLOAT64);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            requireNext(manager, block, cache, x, null, 0, 6);
            requireNext(manager, block, cache, x, null, 6, 10);
            NDArray positions = manager.create(new int[] {40});
            refused(
                    () -> infer(manager, block, with(cache.nextStep(), positions), x.get(":, 10:11"), wrongMask),
                    "mask");
            // the step at 10 dropped the tokens before 6
            refused(() -> cache.rewind(8), "length 8", "at least 9");
            cache.rewind(10);
            requireNext(manager, block, cache, x, null, 10, 11);
            requireNext(manager, block, cache, x, null, 11, 12);
        }
    }

    @EngineTest
    void afterAFailedFirstStepAnotherCanHaveAnotherBatchSizeAndNoPositions(NDManager manager) {
        MultiHeadAttentionBlock first = attention(manager, DataType.FLOAT64);
        MultiHeadAttentionBlock second = filled(manager, alibi().build(), DataType.FLOAT64);
        NDArray failed = numbers(manager, 1, DataType.FLOAT64, 2, 3, SIZE);
        NDArray wrongMask = manager.ones(new Shape(2, 1, 99));
        NDArray x = numbers(manager, 2, DataType.FLOAT64, 3, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> params = with(cache.nextStep(), manager.create(new int[] {0, 5, 9}));
            infer(manager, first, params, failed);
            refused(() -> infer(manager, second, params, failed, wrongMask), "mask");
            cache.rewind(0);
            PairList<String, Object> again = cache.nextStep();
            for (Block block : List.of(first, second)) {
                requireClose(infer(manager, block, again, x), doubles(infer(manager, block, x)), 1e-12);
            }
        }
    }

    @EngineTest
    void keysOfAnEncoderAreThoseOfTheGivenArrayObjects(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, DataType.FLOAT32);
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 3, SIZE);
        NDArray first = numbers(manager, 2, DataType.FLOAT32, 1, 6, SIZE);
        NDArray other = numbers(manager, 3, DataType.FLOAT32, 1, 6, SIZE);
        double[] ofFirst = doubles(infer(manager, block, first, x, first));
        double[] ofOther = doubles(infer(manager, block, other, x, other));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            NDArray memory = first.duplicate();
            requireClose(attended(manager, block, cache, memory, x), ofFirst, 1e-6);
            assertThat(cache.getLength()).isEqualTo(3);
            other.copyTo(memory);
            requireClose(attended(manager, block, cache, memory, x), ofFirst, 1e-6);
            cache.clear();
            requireClose(attended(manager, block, cache, memory, x), ofOther, 1e-6);
            memory.close();
            requireClose(attended(manager, block, cache, memory, x), ofOther, 1e-6);
            // the engine may give it the memory of the closed array
            requireClose(attended(manager, block, cache, first.duplicate(), x), ofFirst, 1e-6);
        }
    }

    /** The first step, again and again. */
    private static NDArray attended(
            NDManager manager, Block block, KeyValueCache cache, NDArray memory, NDArray queries) {
        cache.rewind(0);
        return infer(manager, block, cache.nextStep(), memory, queries, memory);
    }

    /** Returns its input, after something else. */
    private static Block doing(Runnable action) {
        return new LambdaBlock(inputs -> {
            action.run();
            return inputs;
        });
    }

    @EngineTest
    void refusesAnotherThreadDuringAForward(NDManager manager) {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 2, 4, SIZE);
        NDArray rows = manager.create(new int[] {0});
        Runnable[] meanwhile = {() -> {}};
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.NONE
                        .attention(HEADS)
                        .optCausal(true)
                        .optKeyNorm(doing(() -> meanwhile[0].run()))
                        .build(),
                DataType.FLOAT32);
        NDArray whole = infer(manager, block, x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), x.get(":, :2"));
            PairList<String, Object> params = cache.nextStep();
            NDArray next = x.get(":, 2:");
            List<ThrowingCallable> calls = List.of(
                    () -> infer(manager, block, params, next),
                    cache::nextStep,
                    () -> cache.rewind(1),
                    () -> cache.select(rows),
                    cache::fork,
                    cache::clear,
                    cache::close);
            meanwhile[0] = () -> calls.forEach(call -> assertThat(inAnotherThread(call))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("another thread"));
            requireClose(infer(manager, block, params, next), doubles(whole.get(":, 2:")), 1e-6);
            assertThat(cache.getLength()).isEqualTo(4);
            // each may use it after the other, also after a forward that failed
            assertThat(inAnotherThread(() -> cache.rewind(3))).isNull();
            assertThat(cache.getLength()).isEqualTo(3);
            refused(
                    () -> infer(manager, block, cache.nextStep(), next.get(":, 1:"), manager.ones(new Shape(2, 2))),
                    "mask");
            assertThat(inAnotherThread(cache::clear)).isNull();
        }
    }

    /** What a call in another thread throws; null for nothing. */
    private static Throwable inAnotherThread(ThrowingCallable call) {
        return CompletableFuture.supplyAsync(() -> catchThrowable(call)).join();
    }

    @EngineTest
    void copiesNothingUpToItsCapacity(NDManager manager) {
        MultiHeadAttentionBlock block = filled(manager, alibi().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 12, SIZE);
        // the first capacity, and the room that is then there for 1 to 12 positions
        long[][] rooms = {
            {12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12}, {3, 3, 3, 3, 6, 6, 6, 12, 12, 12, 12, 12, 12}
        };
        for (long[] room : rooms) {
            try (NDManager own = manager.newSubManager();
                    KeyValueCache cache = new KeyValueCache(own, (int) room[0])) {
                for (int at = 0; at < 12; at++) {
                    requireNext(manager, block, cache, x, null, at, at + 1);
                    assertThat(rooms(own)).containsExactly(room[at + 1]);
                }
            }
        }
        refused(() -> new KeyValueCache(manager, 0), "capacity 0");
        refused(() -> new KeyValueCache(manager, -3), "capacity -3");
    }

    @EngineTest
    void keepsNoCopiesOfGroupedKeys(NDManager manager) {
        MultiHeadAttentionBlock block = filled(
                manager,
                MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(SIZE)
                        .setHeadCount(6)
                        .optKeyValueHeadCount(2)
                        .optHeadSize(4)
                        .build(),
                DataType.FLOAT32);
        try (NDManager own = manager.newSubManager();
                KeyValueCache cache = new KeyValueCache(own, 10)) {
            infer(manager, block, cache.nextStep(), numbers(manager, 1, DataType.FLOAT32, 3, 5, SIZE));
            assertThat(own.getManagedArrays())
                    .extracting(NDArray::getShape)
                    .containsExactlyInAnyOrder(new Shape(3, 2, 10, 4), new Shape(3, 2, 10, 4));
        }
    }

    @EngineTest
    void refusesAStepWithoutPositionsAfterStepsWithThem(NDManager manager) {
        MultiHeadAttentionBlock block = filled(manager, alibi().build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray positions = manager.create(new int[] {0, 2, 3, 7});
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            requireNext(manager, block, cache, x, positions, 0, 3);
            refused(() -> infer(manager, block, cache.nextStep(), x.get(":, 3:")), "1 tokens without positions");
            assertThat(cache.getLength()).isEqualTo(3);
            requireNext(manager, block, cache, x, positions, 3, 4);
        }
    }

    /** A cache that kept the graph of its keys would grow with each step. */
    @EngineTest(engine = "PyTorch")
    void keysInACacheHaveNoGradient(NDManager manager, boolean isFused) {
        MultiHeadAttentionBlock block = filled(
                manager,
                EncodingType.NONE
                        .attention(HEADS)
                        .optCausal(true)
                        .optFusedKernel(isFused)
                        .build(),
                DataType.FLOAT64);
        block.freezeParameters(true);
        block.getKeyProjection().freezeParameters(false);
        block.getKeyProjection().getParameters().get("weight").getArray().setRequiresGradient(true);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < 3; i++) {
                NDArray token = x.get(":, " + i + ":" + (i + 1));
                assertThat(Forward.infer(manager, block, cache.nextStep(), token)
                                .hasGradient())
                        .isFalse();
            }
        }
    }
}
