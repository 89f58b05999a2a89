package io.github.djlpositional.attention;

import static io.github.djlpositional.PositionalEncodingBlock.POSITIONS;
import static io.github.djlpositional.PositionalEncodingBlock.START_POSITION;
import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.relative.EncodingType.ALIBI;
import static io.github.djlpositional.relative.EncodingType.NONE;
import static io.github.djlpositional.relative.EncodingType.ROTARY;
import static io.github.djlpositional.relative.EncodingType.SHAW;
import static io.github.djlpositional.relative.EncodingType.WINDOW;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.LambdaBlock;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.CacheModel.QueryMask;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.TestEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/**
 * Masks, explicit positions, and rewinds, selections and forks between steps, which have the results of a forward of
 * the whole sequence: each step of a {@link CacheModel} asserts that. {@code StepsTest} has the other steps.
 */
@Sampled(oneIn = 4)
class KeyValueCacheTest extends OnEachEngine {

    /** Of the caches, which must leave no array in it. */
    private NDManager parent;

    private final List<KeyValueCache> caches = new ArrayList<>();

    @BeforeEach
    void openParent() {
        parent = manager.newSubManager();
    }

    @AfterEach
    void closedCachesLeaveNoArray() {
        if (parent != null && parent.isOpen()) {
            caches.forEach(KeyValueCache::close);
            assertThat(parent.getManagedArrays()).isEmpty();
        }
    }

    private static MultiHeadAttentionBlock.Builder causal(EncodingType type) {
        return type.attention(HEADS).optCausal(true);
    }

    /** Of attentions that are called one after the other. */
    private CacheModel cache(MultiHeadAttentionBlock.Builder... attentions) {
        return cache(new KeyValueCache(parent), attentions);
    }

    private CacheModel cacheOf(int capacity, MultiHeadAttentionBlock.Builder... attentions) {
        return cache(new KeyValueCache(parent, capacity), attentions);
    }

    private CacheModel cache(KeyValueCache cache, MultiHeadAttentionBlock.Builder... attentions) {
        caches.add(cache);
        return new CacheModel(manager, cache, attentions);
    }

    private CacheModel forkOf(CacheModel cache) {
        CacheModel fork = cache.fork();
        caches.add(fork.cache());
        return fork;
    }

    private CacheModel reloaded(CacheModel cache) {
        CacheModel reloaded = cache.reloaded();
        caches.add(reloaded.cache());
        return reloaded;
    }

    private static int[] row(int... mask) {
        return mask;
    }

    private static double[] positions(double... ofSequence) {
        return ofSequence;
    }

    private MultiHeadAttentionBlock rotary() {
        return filled(manager, causal(ROTARY).build(), DataType.FLOAT64);
    }

    // encodings

    @ParameterizedTest
    @EnumSource
    void rewindsSelectsAndForksWithEachEncoding(EncodingType type) {
        CacheModel cache = cache(causal(type))
                .steps(3, 2)
                .rewind(4)
                .step(1)
                .select(1, 0, 1)
                .step(1);
        CacheModel fork = forkOf(cache);
        cache.step(1);
        fork.step(2);
        cache.step(1);
        fork.rewind(6).step(1);
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ROTARY_BY_DIMENSION")
    void removesTokensAndShiftsPositionsWithEachEncoding(EncodingType type) {
        cache(causal(type))
                .atRows(positions(0, 1, 2, 3), positions(1, 2, 3, 5))
                .step(4)
                .remove(1, 2)
                .at(4)
                .step(1)
                .shift(2, -1)
                .at(4)
                .step(1)
                .shift(0, 1)
                .at(0)
                .step(1);
    }

    @Test
    void positionsOfSeveralAxesAndTimesAreShifted() {
        cache(causal(ALIBI))
                .at(0.5, 1.25, 4)
                .step(3)
                .remove(0, 1)
                .shift(1, -2)
                .at(3)
                .step(1);
        cache(causal(ROTARY))
                .at(0.5, 1.25, 4)
                .step(3)
                .remove(0, 1)
                .shift(0, -2)
                .at(3)
                .step(1);
    }

    @Test
    void rejectsARemovalOrAShiftThatItCannotDo() {
        CacheModel cache = cache(causal(ROTARY)).step(3);
        CacheModel byDimension = cache(causal(EncodingType.ROTARY_BY_DIMENSION)).step(3);
        CacheModel explicit = cache(causal(ROTARY)).at(1, 2, 3).step(3);
        CacheModel window = cache(causal(ROTARY).optWindow(3)).steps(4, 1, 1, 1, 1);
        assertAll(
                rejected(() -> cache.cache().remove(2, 4), "to", "4", "3"),
                rejected(() -> cache.cache().remove(2, 1), "to", "1", "2"),
                rejected(() -> explicit.cache().shift(0, Integer.MAX_VALUE), "added", "2147483647"),
                rejected(() -> cache.cache().remove(-1, 1), "from", "-1"),
                rejected(() -> cache.cache().shift(1, 2), "indices", "remove()"),
                rejected(() -> byDimension.cache().remove(0, 1), "RotaryEmbeddingBlock", "pairs", "clear()"),
                rejected(() -> explicit.cache().shift(3, 1), "from", "3"),
                rejected(() -> window.cache().remove(4, 7), "4 to 6", "window", "clear()"));
        cache.step(1);
        byDimension.step(1);
        explicit.at(4).step(1);
        window.step(1).remove(2, 5).step(1);
    }

    /** Their keys are rounded once more for each shift. */
    @Test
    void halfPrecisionIsRotatedInFloat32() {
        assumeEngine(TestEngine.PYTORCH);
        MultiHeadAttentionBlock block = filled(manager, causal(ROTARY).build(), DataType.FLOAT16);
        NDArray x = numbers(manager, 1, DataType.FLOAT16, 1, 9, SIZE);
        KeyValueCache cache = new KeyValueCache(parent);
        caches.add(cache);
        infer(manager, block, cache.nextStep(), x.get(":, :8"));
        cache.remove(2, 5);
        NDArray y = infer(manager, block, cache.nextStep(), x.get(":, 8:"));
        NDArray whole = infer(manager, block, x.get(":, :2").concat(x.get(":, 5:"), 1));
        requireClose(y, doubles(whole.get(":, -1:")), 0x1p-7);
    }

    @ParameterizedTest
    @EnumSource
    void attendsToTheOutputOfAnEncoderWithEachEncoding(EncodingType type) {
        cache().crossAttention(type.attention(HEADS))
                .step(1)
                .memoryMask(row(1, 1, 1, 0), row(1, 0, 1, 1))
                .steps(2, 1);
    }

    // positions of the memory

    private static final double[][] OF_MEMORY = {{3, 0, 7, 1}, {5, 2, 2, 9}};

    private NDArray times(double... ofSequence) {
        return manager.create(ofSequence);
    }

    /** They are given once, and belong to the rows of the batch. */
    @ParameterizedTest
    @EnumSource
    void keepsThePositionsOfTheEncodersOutputWithEachEncoding(EncodingType type) {
        CacheModel cache = cache().crossAttention(type.attention(HEADS))
                .memoryAt(OF_MEMORY)
                .steps(2, 1)
                .memoryMask(row(1, 1, 1, 0), row(1, 0, 1, 1))
                .steps(1, 2);
        CacheModel fork = forkOf(cache);
        cache.step(1).rewind(2).at(7).step(1);
        fork.steps(1, 1);
    }

    @ParameterizedTest
    @EnumSource
    void selectsThePositionsOfTheEncodersOutputWithEachEncoding(EncodingType type) {
        CacheModel cache = cache(causal(NONE))
                .crossAttention(type.attention(HEADS))
                .memoryAt(OF_MEMORY)
                .step(3)
                .select(1, 0, 1)
                .select(2, 0, 1, 1)
                .step(1)
                .select(3, 1)
                .steps(2, 1);
        forkOf(cache).select(1, 0, 0).step(1);
        cache.memoryAt(positions(1, 4, 0, 2)).steps(1, 1).select(1, 1, 0).step(2);
    }

    @Test
    void positionsOfTheEncodersOutputMayBeRealAndOfAllSequences() {
        cache().crossAttention(ALIBI.attention(HEADS))
                .memoryAt(times(0.5, -2.25, 8, 3.125))
                .step(2)
                .at(1.5)
                .step(1)
                .memoryAt(times(0, 1, 2, 3))
                .at(2)
                .step(1)
                .at(-0.75)
                .step(1);
    }

    /** Keys were rotated by the others. */
    @Test
    void otherPositionsOfTheEncodersOutputReplaceThem() {
        NDArray same = manager.create(OF_MEMORY);
        cache().crossAttention(ROTARY.attention(HEADS))
                .step(1)
                .memoryAt(same)
                .step(1)
                .memoryAt(same)
                .step(1)
                .memoryAt(OF_MEMORY[1], OF_MEMORY[0])
                .steps(1, 1);
    }

    @Test
    void anotherOutputOfAnEncoderNeedsPositionsToo() {
        NDArray other = numbers(manager, 10, DataType.FLOAT64, 2, 5, SIZE);
        CacheModel cache = cache().crossAttention(ROTARY.attention(HEADS))
                .memoryAt(OF_MEMORY)
                .step(1)
                .memory(other);
        assertAll(rejected(() -> cache.step(1), "(2, 5, 8)", "position 1", "memoryPositions"));
        cache.memoryAt(positions(4, 3, 2, 1, 0)).step(1);
        // another sequence
        cache.rewind(0)
                .memory(numbers(manager, 11, DataType.FLOAT64, 2, 3, SIZE))
                .steps(2, 1);
    }

    @Test
    void rejectsRowsThatTheEncodersOutputDoesNotHave() {
        CacheModel cache = cache().crossAttention(ROTARY.attention(HEADS))
                .memoryAt(OF_MEMORY)
                .step(1);
        assertAll(rejected(() -> cache.select(0, 2), "row 2", "0 to 1"));
        cache.step(1)
                .select(1, 0)
                .memoryAt(positions(1, 2, 3))
                .memory(numbers(manager, 3, DataType.FLOAT64, 2, 3, SIZE));
        cache.step(1).select(0, 1).memory(numbers(manager, 4, DataType.FLOAT64, 2, 4, SIZE));
        cache.memoryAt(OF_MEMORY).step(1).select(1, 0, 0).memory(numbers(manager, 3, DataType.FLOAT64, 3, 3, SIZE));
        assertAll(rejected(() -> cache.step(1), "memoryPositions", "(3, 4)", "(3, 3, 8)"));
    }

    /** A change of the memory is not detected until its keys are projected for other positions. */
    @Test
    void keysAreProjectedAgainForOtherPositionsOnly() {
        MultiHeadAttentionBlock block = rotary();
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 1, SIZE);
        NDArray memory = numbers(manager, 2, DataType.FLOAT64, 1, 6, SIZE);
        NDArray given = manager.create(new int[] {5, 3, 1, 0, 2, 4});
        KeyValueCache cache = new KeyValueCache(parent);
        caches.add(cache);
        infer(manager, block, cache.nextStep(), memory, x, memory);
        UnaryOperator<NDArray> secondStep = positions -> {
            cache.rewind(1);
            PairList<String, Object> params = cache.nextStep();
            if (positions != null) {
                params.add("memoryPositions", positions);
            }
            return infer(manager, block, params, memory, x, memory);
        };
        double[] expected = doubles(secondStep.apply(given));
        numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE).copyTo(memory);
        requireClose(secondStep.apply(null), expected, 0);
        requireClose(secondStep.apply(given), expected, 0);
        NDArray other = given.duplicate();
        PairList<String, Object> params = params(START_POSITION, 1);
        params.add("memoryPositions", other);
        double[] changed = doubles(infer(manager, block, params, memory, x, memory));
        requireClose(secondStep.apply(other), changed, 1e-12);
        requireClose(secondStep.apply(null), changed, 1e-12);
    }

    @Test
    void selectsRowsOfPositionsOfTheMemoryOnSeveralAxes() {
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optAxes(RotaryAxes.of(1, 0))
                .build();
        MultiHeadAttentionBlock block = filled(
                manager, NONE.attention(HEADS).optRelativeEncoding(rotary).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 2, SIZE);
        NDArray memory = numbers(manager, 2, DataType.FLOAT64, 2, 6, SIZE);
        NDArray positions = numbers(manager, 3, DataType.FLOAT64, 2, 2, 6);
        PairList<String, Object> whole = new PairList<>();
        whole.add("memoryPositions", positions);
        NDArray rows = manager.create(new long[] {1, 1, 0});
        NDArray expected = infer(manager, block, whole, memory, x, memory).get(rows);
        KeyValueCache cache = new KeyValueCache(parent);
        caches.add(cache);
        PairList<String, Object> params = cache.nextStep();
        params.addAll(whole);
        infer(manager, block, params, memory, x.get(":, :1"), memory);
        cache.select(rows);
        NDArray selected = memory.get(rows);
        NDArray y =
                infer(manager, block, cache.nextStep(), selected, x.get(":, 1:").get(rows), selected);
        requireClose(y, doubles(expected.get(":, 1:")), 1e-12);
    }

    /** Only their identity is needed. */
    @Test
    void holdsACopyOfThePositionsOfTheEncodersOutput() {
        MultiHeadAttentionBlock block = rotary();
        NDArray memory = numbers(manager, 2, DataType.FLOAT64, 1, 6, SIZE);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 3, SIZE);
        NDArray given = manager.create(new double[][] {{5, 3, 1, 0, 2, 4}});
        PairList<String, Object> whole = new PairList<>();
        whole.add("memoryPositions", given.duplicate());
        NDArray expected = infer(manager, block, whole, memory, x, memory);
        KeyValueCache cache = new KeyValueCache(parent);
        caches.add(cache);
        PairList<String, Object> params = cache.nextStep();
        params.add("memoryPositions", given);
        infer(manager, block, params, memory, x.get(":, :1"), memory);
        given.close();
        NDArray map = block.probabilities(
                new ParameterStore(manager, false), new NDList(memory, x.get(":, 1:2"), memory), cache.nextStep());
        requireClose(
                map,
                doubles(block.probabilities(new ParameterStore(manager, false), new NDList(memory, x, memory), whole)
                        .get(":, :, 1:2")),
                1e-12);
        cache.rewind(1);
        NDArray second = infer(manager, block, cache.nextStep(), memory, x.get(":, 1:2"), memory);
        NDArray third = infer(manager, block, cache.nextStep(), memory, x.get(":, 2:"), memory);
        requireClose(second.concat(third, 1), doubles(expected.get(":, 1:")), 1e-12);
    }

    // the length

    @Test
    void rewindsToAnEarlierLength() {
        CacheModel cache = cache(causal(ROTARY)).steps(3, 1).rewind(3).singleSteps(2);
        assertAll(rejected(() -> cache.rewind(6), "length 6", 5), rejected(() -> cache.rewind(-1), "length -1", 5));
        cache.step(1);
    }

    @Test
    void beginsAgainAfterARewindToZero() {
        cache(causal(ROTARY), causal(ROTARY)).step(2).rewind(0).steps(3, 1);
    }

    @Test
    void rejectsAStepBeforeThePreviousOneReachedAnAttention() {
        CacheModel cache = cache(causal(ROTARY));
        cache.cache().nextStep();
        rejectsTheNextStep(cache, "rewind(0)");
        cache.rewind(0).steps(3, 1);
        cache.cache().nextStep();
        rejectsTheNextStep(cache, "rewind(4)");
        cache.clear().step(2);
    }

    private static void rejectsTheNextStep(CacheModel cache, String remedy) {
        assertAll(rejected(IllegalStateException.class, cache.cache()::nextStep, "SequentialBlock", remedy));
    }

    @Test
    void requiresTheStartPositionOfTheStep() {
        CacheModel cache = cache(causal(ROTARY));
        KeyValueCache its = cache.cache();
        assertAll(rejected(
                () -> cache.with(params(ForwardParameters.CACHE, its)).step(3), START_POSITION, "nextStep"));
        cache.step(3);
        assertAll(
                rejected(() -> cache.with(startingAt(its, 1)).step(1), START_POSITION, 1, "3 tokens"),
                rejected(() -> cache.with(startingAt(its, 3.7)).step(1), START_POSITION, "Double", 3.7));
        cache.with(startingAt(its, 3)).steps(1, 1);
    }

    private static PairList<String, Object> startingAt(KeyValueCache cache, Number start) {
        PairList<String, Object> params = params(ForwardParameters.CACHE, cache);
        params.add(START_POSITION, start);
        return params;
    }

    @Test
    void dropsTokensThatOnlySomeAttentionsHaveProcessed() {
        cache(causal(NONE), causal(NONE)).step(1).stepOf(0, 1).step(1);

        CacheModel cache = cache(causal(NONE), causal(ALIBI)).stepOf(0, 3);
        assertAll(rejected(() -> cache.with(startingAt(cache.cache(), 1)).stepOf(1, 1), START_POSITION, "clear()"));
        cache.rewind(0).step(2);
    }

    // masks

    @CartesianTest
    void keepsAPaddingMaskInLaterStepsWithEachEncoding(
            @CartesianTest.Enum EncodingType type, @Values(booleans = {true, false}) boolean isFrozen) {
        cache(causal(type))
                .frozen(isFrozen)
                .mask(row(1, 1, 1), row(0, 1, 1))
                .step(3)
                .mask(row(1, 1, 1, 0, 1, 1), row(0, 1, 1, 1, 0, 1))
                .steps(3, 1)
                .clear()
                .step(2);
    }

    @ParameterizedTest
    @EnumSource(names = {"BOOLEAN", "INT32", "FLOAT32", "FLOAT64"})
    void takesMasksOfEachDataType(DataType type) {
        NDArray ofPrompt = manager.create(new int[][] {{1, 1, 0}, {0, 1, 1}}).toType(type, false);
        NDArray ofStep = manager.create(new int[][] {{1}, {0}}).toType(type, false);
        cache(causal(ROTARY)).mask(ofPrompt).step(3).mask(ofStep).steps(1, 1);
    }

    @Test
    void appendsMasksOfStepsAndReplacesThemByMasksOfAllTokens() {
        cache(causal(ROTARY))
                .step(3)
                .mask(row(1), row(0))
                .steps(1, 1)
                .rewind(4)
                .mask(row(0, 1, 1, 1, 1), row(0, 1, 0, 1, 1))
                .step(1);
        cache(causal(ROTARY))
                .mask(row(0, 1), row(1, 0))
                .steps(2, 1)
                .mask(row(0, 1, 1, 1), row(1, 0, 1, 1))
                .step(1);
    }

    @Test
    void acceptsSequencesWithoutAnyVisibleToken() {
        cache(causal(ROTARY))
                .mask(row(0, 0), row(1, 0))
                .step(2)
                .mask(row(0, 0, 0, 1), row(1, 0, 1, 1))
                .steps(2, 1)
                .mask(row(0), row(1))
                .step(1);
    }

    @Test
    void masksFollowARewindAndASelection() {
        CacheModel cache =
                cache(causal(ROTARY)).mask(row(1, 1, 1, 1), row(0, 0, 1, 1)).step(4);
        CacheModel fork = forkOf(cache).step(1);
        fork.rewind(4).select(1).step(1);
        cache.step(1)
                .rewind(0)
                .step(2)
                .mask(row(1, 1), row(0, 0))
                .step(2)
                .rewind(2)
                .steps(2, 1);
    }

    @Test
    void hidesPaddingInAWindow() {
        cache(causal(ALIBI).optWindow(4))
                .mask(row(1, 1, 0, 1, 1, 1, 1), row(1, 1, 1, 1, 0, 1, 1))
                .step(7)
                .mask(row(1), row(0))
                .steps(1, 1, 3)
                .mask(row(0), row(1))
                .steps(1, 1);
        // the first mask, after some tokens have left the window
        cache(causal(ALIBI).optWindow(4))
                .step(7)
                .mask(row(0), row(1))
                .steps(1, 1)
                .mask(row(1, 0, 1), row(1, 1, 0))
                .steps(3, 1);
    }

    @Test
    void keepsTheMaskOfTheEncodersOutput() {
        cache().crossAttention(causal(ROTARY))
                .memoryMask(row(1, 1, 1, 1), row(1, 0, 0, 0))
                .steps(1, 1)
                .rewind(1)
                .memoryMask(row(1, 0, 1, 0), row(1, 1, 1, 1))
                .step(1);
    }

    /** The forms of a mask with an axis of queries. */
    private enum QueryMaskForm {
        BOOLEAN_OF_SCORES,
        ADDED_TO_SCORES,
        OF_QUERIES;

        /** For all queries, from the visible keys, (B, F). */
        NDArray of(NDArray visible, int queries) {
            NDArray ofScores = visible.expandDims(1).expandDims(1);
            return switch (this) {
                case BOOLEAN_OF_SCORES -> ofScores.neq(0);
                case ADDED_TO_SCORES -> ofScores.log();
                case OF_QUERIES -> visible.expandDims(1).repeat(1, queries);
            };
        }

        QueryMask of(NDManager manager, int[]... rows) {
            NDArray visible = manager.create(rows).toType(DataType.FLOAT64, false);
            return (firstQuery, count) -> of(visible, count);
        }
    }

    @ParameterizedTest
    @EnumSource
    void appliesAMaskOfQueriesToItsStepOnly(QueryMaskForm form) {
        cache(causal(ROTARY))
                .queryMask(form.of(manager, row(0, 1, 1, 1), row(0, 1, 1, 1)))
                .steps(4, 1);
        cache(causal(ALIBI))
                .queryMask(form.of(manager, row(0, 1, 1), row(1, 1, 0)))
                .steps(3, 1)
                .queryMask(form.of(manager, row(0, 1, 1, 1, 1), row(1, 0, 1, 1, 1)))
                .step(1);
    }

    @ParameterizedTest
    @EnumSource
    void appliesAMaskOfQueriesInAWindow(QueryMaskForm form) {
        CacheModel cache = cache(causal(ALIBI).optWindow(4))
                .step(7)
                .queryMask(form.of(manager, row(1, 1, 1, 1, 0, 1, 0, 1), row(1, 1, 1, 1, 0, 1, 1, 0)))
                .step(1);
        CacheModel fork = forkOf(cache);
        cache.step(1).queryMask(this::causalMask).steps(3, 1);
        // a mask of all tokens after it
        fork.mask(row(1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1), row(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0))
                .steps(3, 1);
    }

    /** (B, T, F). */
    private NDArray causalMask(int firstQuery, int count) {
        NDArray keys = manager.arange((float) firstQuery + count).expandDims(0);
        NDArray queries = manager.arange((float) firstQuery, firstQuery + count).expandDims(1);
        return keys.lte(queries).expandDims(0).repeat(0, 2);
    }

    // attentions that are not causal

    /** As in prefix language models. */
    @ParameterizedTest
    @EnumSource
    void takesAPromptInBothDirectionsAndThenSingleTokens(EncodingType type) {
        CacheModel cache = cache(type.attention(HEADS)).step(3);
        assertAll(
                rejected(() -> cache.step(2), "2 tokens", "position 3", "optCausal(true)", "(B, 2, 5)"),
                rejected(
                        () -> cache.mask(row(1, 1, 1, 1, 1), row(1, 1, 1, 1, 1)).step(2),
                        "2 tokens",
                        "position 3",
                        "optCausal(true)"));
        cache.steps(1, 1);
    }

    @ParameterizedTest
    @EnumSource
    void takesSeveralTokensWithACausalMask(EncodingType type) {
        cache(type.attention(HEADS))
                .queryMask(this::causalMask)
                .step(2)
                .queryMask(this::causalMask)
                .step(2)
                .queryMask(this::causalMask)
                .step(1);
    }

    /** The tokens of an earlier chunk do not see them in any case. */
    @Test
    void takesSeveralTokensThatBeginAChunk() {
        CacheModel cache = cache(ALIBI.attention(HEADS).optChunkSize(2)).steps(2, 3);
        assertAll(rejected(() -> cache.step(2), "2 tokens", "position 5"));
    }

    @Test
    void decodesWithAnAttentionToTheOutputOfAnEncoder() {
        cache(causal(ALIBI)).crossAttention(NONE.attention(HEADS)).steps(2, 3);
    }

    // rejected and failed steps

    @Test
    void aRejectedStepChangesNothing() {
        CacheModel cache = cache(causal(NONE)).step(3);
        assertAll(
                rejected(() -> cache.batch(1).step(1), "batch size 1", 2, "clear()"),
                rejected(() -> cache.batch(2).mask(row(1, 1, 1), row(1, 1, 1)).step(1), "(2, 3)", "(2, 1)", "(2, 4)"),
                rejected(() -> cache.inTraining().step(1), "KeyValueCache", "training"));
        cache.mask(row(1, 1, 1, 1), row(1, 1, 1, 1)).step(1);
    }

    @Test
    void requiresPositionsAfterStepsWithPositions() {
        CacheModel cache = cache(causal(ALIBI)).at(0, 2, 3).step(3);
        assertAll(rejected(() -> cache.step(1), "1 tokens", POSITIONS));
        cache.at(7).step(1);
    }

    @Test
    void rejectsSelectionsThatAreNoRows() {
        CacheModel cache = cache(causal(ALIBI)).step(3);
        assertAll(
                rejected(() -> cache.select(0, 2), "row 2", "index 1", "0 to 1"),
                rejected(() -> cache.select(-1), "row -1", "0 to 1"),
                rejected(() -> cache.select(manager.create(new long[][] {{0}, {1}})), "(2, 1)"),
                rejected(() -> cache.select(manager.create(new double[] {0.5, 1})), "float64"),
                rejected(() -> cache.select(manager.create(new Shape(0), DataType.INT32)), "(0)"));
        cache.step(1);
    }

    @Test
    void aPositionThatTheEncodingRejectsChangesNothing() {
        assumeCpu();
        CacheModel cache = cache(causal(WINDOW)).at(0, 1, 2).step(3);
        assertAll(rejected(() -> cache.at(5000).step(1), "position 5000"));
        cache.at(3).step(1);
    }

    @Test
    void aStepIsRepeatedAfterAFailure() {
        cache(causal(ROTARY))
                .mask(row(1, 1, 1), row(0, 1, 1))
                .step(3)
                .failingStep(1)
                .step(1);

        cache(causal(ROTARY), causal(ALIBI))
                .at(0, 5, 9)
                .failingStep(3)
                .rewind(0)
                .batch(3)
                .steps(3, 1);
    }

    /** Another call of {@code nextStep()} would drop the tokens of the step that failed. */
    @Test
    void aFailedStepIsRepeatedWithItsStartPosition() {
        CacheModel cache =
                cache(causal(ROTARY)).mask(row(1, 1, 1), row(0, 1, 1)).step(3).failingStep(1);
        cache.with(startingAt(cache.cache(), 3)).steps(1, 1);
    }

    /** The attention has no keys yet. */
    @Test
    void selectsAfterAFirstStepThatFailed() {
        CacheModel cache = cache(causal(NONE));
        assertAll(rejected(() -> cache.mask(row(1, 1), row(1, 1)).step(3), "(2, 2)", "(2, 3)"));
        cache.cache().select(manager.create(new long[] {1, 0}));
        cache.rewind(0).step(3);
    }

    /** A step at positions of sequences fails, and is repeated. */
    private static void repeatAfterAFailure(CacheModel cache, double[]... positions) {
        int before = cache.cache().getLength();
        int count = positions[0].length;
        cache.atRows(positions).failingStep(count).rewind(before);
        cache.atRows(positions).step(count);
    }

    @Test
    void aStepIsRepeatedAfterAFailureInAWindow() {
        CacheModel cache = cache(causal(ALIBI).optWindow(4));
        repeatAfterAFailure(cache, positions(0, 1, 2), positions(3, 4, 5));
        repeatAfterAFailure(cache, positions(4), positions(6));
        repeatAfterAFailure(cache, positions(5, 6, 7), positions(7, 8, 9));
        repeatAfterAFailure(cache, positions(9), positions(10));
        cache.atRows(positions(11, 12, 20), positions(12, 13, 14)).step(3);
    }

    @Test
    void aStepIsRepeatedAfterAFailureInAChunk() {
        CacheModel cache = cache(causal(ALIBI).optChunkSize(4)).steps(6, 4).failingStep(1);
        assertAll(rejected(() -> cache.rewind(8), "length 8", 9));
        cache.rewind(10).steps(1, 1);
    }

    // positions

    @ParameterizedTest
    @EnumSource(names = {"INT32", "INT64", "FLOAT32", "FLOAT64"})
    void takesPositionsOfEachDataType(DataType type) {
        NDArray ofPrompt = manager.create(new double[] {0, 2, 3}).toType(type, false);
        NDArray ofStep = manager.create(new double[][] {{7}}).toType(type, false);
        NDArray ofSequences = manager.create(new double[][] {{8}, {9}}).toType(type, false);
        cache(causal(ALIBI))
                .at(ofPrompt)
                .step(3)
                .at(ofStep)
                .step(1)
                .at(ofSequences)
                .step(1);
    }

    @ParameterizedTest
    @EnumSource(names = {"ROTARY", "ROTARY_HALVES_PARTIAL", "ROTARY_DYNAMIC", "ROTARY_BY_DIMENSION"})
    void takesNegativePositionsOfARotation(EncodingType encoding) {
        cache(causal(encoding))
                .at(manager.create(new int[] {-3, 0, -1}))
                .step(3)
                .at(manager.create(new int[][] {{2}, {3}}))
                .step(1)
                .at(manager.create(new int[][] {{-9}, {4}}))
                .step(1)
                .rewind(4)
                .at(manager.create(new int[][] {{1, -2}, {-2, -1}}))
                .step(2);
    }

    @Test
    void countsUpToTheFirstStepWithPositions() {
        cache(causal(ALIBI))
                .step(2)
                .at(4)
                .step(1)
                .at(5)
                .step(1)
                .atRows(positions(9), positions(7))
                .step(1);
    }

    @Test
    void countsAgainAfterARewindBehindTheFirstStepWithPositions() {
        CacheModel cache = cache(causal(ALIBI)).step(2).at(4).step(1);
        CacheModel fork = forkOf(cache);
        cache.rewind(2).step(1);
        fork.rewind(2).step(1);
    }

    @Test
    void rewindsPositionsOfSequences() {
        cache(causal(ALIBI))
                .atRows(positions(0, 1), positions(1, 3))
                .step(2)
                .at(4)
                .step(1)
                .atRows(positions(5), positions(6))
                .step(1)
                .rewind(3)
                .atRows(positions(8), positions(7))
                .step(1);
    }

    /** A chunk may have any number of tokens then. */
    @Test
    void holdsAllTokensOfChunksWithPositions() {
        cache(causal(ROTARY).optChunkSize(4))
                .at(0, 0, 0, 1, 1, 1, 2, 2, 2)
                .step(9)
                .at(3)
                .step(1)
                .at(3)
                .step(1)
                .at(3, 4)
                .step(2);
    }

    @Test
    void takesRealPositionsAfterWholeOnesInChunks() {
        cache(causal(NONE).optChunkSize(3)).at(0, 2).step(2).at(2.5, 3.5).step(2);
        cache(causal(NONE).optChunkSize(3))
                .at(0.5, 2)
                .step(2)
                .atRows(positions(3), positions(4))
                .step(1)
                .at(4.5)
                .step(1);
    }

    // saving

    /** The mask hides keys, also of the last step, which a rewind drops. */
    @ParameterizedTest
    @EnumSource
    void savesMasksAndPositionsWithEachEncoding(EncodingType type) {
        CacheModel masked =
                cache(causal(type), causal(type).optWindow(3), causal(type).optChunkSize(3));
        masked = reloaded(masked.mask(row(1, 1, 0), row(0, 1, 1)).step(3));
        masked = reloaded(masked.step(2)).rewind(4).step(1);
        reloaded(masked.mask(row(1), row(0)).step(1)).select(1, 0, 1).step(1);
        CacheModel explicit =
                reloaded(cache(causal(type), causal(type).optWindow(2).optWindowByPosition(true))
                        .step(2)
                        .at(1)
                        .step(1));
        reloaded(explicit.atRows(positions(2, 0), positions(1, 3)).step(2))
                .rewind(4)
                .at(2)
                .step(1)
                .rewind(2)
                .step(2);
    }

    @Test
    void savesNegativeAndRealPositionsAndShifts() {
        CacheModel cache = reloaded(cache(causal(ROTARY)).at(-3, 2, 9).step(3));
        cache.shift(1, -4);
        cache = reloaded(cache).remove(1, 2).at(7).step(1);
        reloaded(cache.at(0.25).step(1)).at(-1.5, 3).step(2);
    }

    @ParameterizedTest
    @EnumSource
    void aSavedCacheNeedsTheOutputOfAnEncoderAgain(EncodingType type) {
        CacheModel cache = cache(causal(NONE))
                .crossAttention(type.attention(HEADS))
                .memoryAt(OF_MEMORY)
                .memoryMask(row(1, 1, 1, 0), row(1, 0, 1, 1))
                .step(2);
        reloaded(reloaded(cache).step(1)).steps(1, 2);
    }

    /** An attention without an encoding accepts positions on several axes. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void savesPositionsOnSeveralAxes(int rows) {
        MultiHeadAttentionBlock block =
                filled(manager, causal(EncodingType.ROPE_MIXED).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 4, SIZE);
        NDArray positions = manager.arange(2 * rows * 4).reshape(2, rows, 4);
        PairList<String, Object> all = new PairList<>();
        all.add(POSITIONS, positions);
        NDArray whole = infer(manager, block, all, x);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> first = cache.nextStep();
            first.add(POSITIONS, positions.get("..., :3"));
            infer(manager, block, first, x.get(":, :3"));
            try (KeyValueCache loaded = SavedCache.reloaded(manager, cache, List.of(block))) {
                PairList<String, Object> next = loaded.nextStep();
                next.add(POSITIONS, positions.get("..., 3:"));
                NDArray y = infer(manager, block, next, x.get(":, 3:"));
                requireClose(y, doubles(whole.get(":, 3:")), 1e-12);
            }
        }
    }

    /** An attention without an encoding accepts positions on several axes. */
    @Test
    void selectsRowsOfPositionsOnSeveralAxesAndOfOneForAll() {
        MultiHeadAttentionBlock block = filled(manager, causal(NONE).build(), DataType.FLOAT64);
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 4, SIZE);
        NDArray rows = manager.create(new long[] {1, 1, 0, 1});
        NDArray selected = x.get(rows);
        NDArray whole = infer(manager, block, selected);
        NDArray last = manager.arange(12).reshape(3, 4, 1);
        for (NDArray[] positions : new NDArray[][] {
            {manager.arange(24).reshape(3, 2, 4), last},
            {manager.arange(12).reshape(3, 1, 4), last},
            {manager.arange(4), manager.arange(1)}
        }) {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                PairList<String, Object> params = cache.nextStep();
                params.add(POSITIONS, positions[0].get("..., :3"));
                infer(manager, block, params, x.get(":, :3"));
                cache.select(rows);
                PairList<String, Object> next = cache.nextStep();
                next.add(POSITIONS, positions[1]);
                NDArray y = infer(manager, block, next, selected.get(":, 3:"));
                requireClose(y, doubles(whole.get(":, 3:")), 1e-12);
            }
        }
    }

    // sequences of the batch

    private static Stream<Arguments> selections() {
        List<long[]> selections =
                List.of(new long[] {2, 0, 1}, new long[] {1, 1, 0, 2}, new long[] {2}, new long[] {0, 2, 2});
        return selections.stream().flatMap(rows -> Stream.of(arguments(rows, false), arguments(rows, true)));
    }

    private static MultiHeadAttentionBlock.Builder alibi(boolean hasWindow) {
        return hasWindow ? causal(ALIBI).optWindow(3) : causal(ALIBI);
    }

    @ParameterizedTest
    @MethodSource("selections")
    void selectsSequences(long[] rows, boolean hasWindow) {
        NDArray int32 = manager.create(rows).toType(DataType.INT32, false);
        cache(alibi(hasWindow)).batch(3).steps(3, 3).select(int32).singleSteps(3);
    }

    @ParameterizedTest
    @MethodSource("selections")
    void selectsSequencesWithPositions(long[] rows, boolean hasWindow) {
        cache(alibi(hasWindow))
                .batch(3)
                .atRows(positions(0, 1, 2), positions(0, 2, 4), positions(5, 6, 7))
                .step(3)
                .atRows(positions(3, 4, 5), positions(6, 8, 10), positions(8, 9, 10))
                .step(3)
                .select(rows)
                .at(11)
                .step(1)
                .at(12)
                .step(1)
                .at(14)
                .step(1);
    }

    @Test
    void selectsMasksAndTheOutputOfAnEncoder() {
        cache(causal(ROTARY))
                .mask(row(1, 1, 1), row(0, 1, 1))
                .step(3)
                .select(1, 0, 1)
                .mask(row(1), row(1), row(0))
                .step(1);
        cache(causal(ALIBI))
                .crossAttention(ALIBI.attention(HEADS))
                .step(3)
                .select(1, 0, 1)
                .step(1);
    }

    @Test
    void forksGoOnApart() {
        CacheModel cache = cache(causal(ALIBI)).step(3);
        CacheModel fork = forkOf(cache);
        CacheModel second = forkOf(fork).step(1);
        cache.step(2);
        fork.step(1);
        second.rewind(2).step(1);
        cache.step(1);
        fork.step(1);
        second.step(1);

        CacheModel empty = cache(causal(ROTARY));
        CacheModel copy = forkOf(empty).step(2);
        empty.steps(3, 1);
        copy.step(1);
    }

    /** One of them is closed, and the other rewound, after several steps of each in turns. */
    @Test
    void forksOfAWindowWithPositionsGoOnApart() {
        CacheModel cache = cache(causal(ALIBI).optWindow(4))
                .crossAttention(SHAW.attention(HEADS))
                .at(0, 1, 3, 4, 5)
                .step(5);
        CacheModel fork = forkOf(cache);
        for (int position : new int[] {7, 8, 9, 11}) {
            fork.at(position).step(1);
            cache.at(position).step(1);
        }
        cache.cache().close();
        fork.rewind(8).at(11).step(1);
    }

    @Test
    void forksKeepTheMaskOfTheEncodersOutput() {
        CacheModel cache = cache().crossAttention(ROTARY.attention(HEADS))
                .memoryMask(row(1, 1, 1, 0), row(1, 0, 1, 1))
                .step(1);
        forkOf(cache).step(1);
    }

    // memory

    /** The lengths of an axis of all arrays of a rank that the caches hold. */
    private Set<Long> sizes(int rank, int axis) {
        return parent.getManagedArrays().stream()
                .map(NDArray::getShape)
                .filter(shape -> shape.dimension() == rank)
                .map(shape -> shape.get(axis))
                .collect(Collectors.toSet());
    }

    /** Of keys and values, (B, K, capacity, H). */
    private Set<Long> capacities() {
        return sizes(4, 2);
    }

    @Test
    void holdsGroupedKeysOnce() {
        cacheOf(10, causal(NONE).optKeyValueHeadCount(1)).step(5);
        assertThat(sizes(4, 1)).containsExactly(1L);
        assertThat(capacities()).containsExactly(10L);
    }

    @Test
    void takesNoOtherArraysUpToItsCapacity() {
        CacheModel cache = cacheOf(12, causal(ALIBI)).step(1);
        assertThat(capacities()).containsExactly(12L);
        cache.singleSteps(11);
        assertThat(capacities()).containsExactly(12L);
    }

    @Test
    void doublesItsCapacity() {
        CacheModel cache = cacheOf(3, causal(ALIBI)).singleSteps(3);
        assertThat(capacities()).containsExactly(3L);
        cache.step(1);
        assertThat(capacities()).containsExactly(6L);
        cache.singleSteps(2);
        assertThat(capacities()).containsExactly(6L);
        cache.step(1);
        assertThat(capacities()).containsExactly(12L);
        cache.singleSteps(5);
        assertThat(capacities()).containsExactly(12L);
    }

    /** Twice the keys of the first step of one token, and again when the keys outgrow it. */
    @Test
    void holdsBiasesOfUpToTwiceTheKeys() {
        CacheModel cache = cache(causal(ALIBI)).step(5);
        assertThat(sizes(2, 1)).isEmpty();
        cache.step(1);
        assertThat(sizes(2, 1)).containsExactly(12L);
        cache.singleSteps(6);
        assertThat(sizes(2, 1)).containsExactly(12L);
        cache.step(1);
        assertThat(sizes(2, 1)).containsExactly(26L);
        cache.singleSteps(6);
        assertThat(sizes(2, 1)).containsExactly(26L);
    }

    private static Stream<Arguments> boundedAttentions() {
        return Stream.of(
                argumentSet("a window", causal(ALIBI).optWindow(4)),
                argumentSet("chunks", causal(ALIBI).optChunkSize(4)));
    }

    /** The last 4 tokens and the latest step, with room for at most twice as many. */
    @ParameterizedTest
    @MethodSource("boundedAttentions")
    void dropsTokensThatNoLaterQuerySees(MultiHeadAttentionBlock.Builder attention) {
        CacheModel cache = cache(attention).steps(40, 1);
        assertThat(capacities()).containsExactly(10L);
        cache.singleSteps(9);
        assertThat(capacities()).containsExactly(10L);
        cache.singleSteps(8);
        assertThat(capacities()).containsExactly(10L);
    }

    @Test
    void rejectsRewindsThatAWindowReachesBehind() {
        CacheModel cache = cache(causal(ALIBI), causal(ALIBI).optWindow(4)).steps(7, 3, 1);
        assertAll(
                rejected(() -> cache.rewind(8), "length 8", 9, "window=4"),
                rejected(() -> cache.rewind(0), "length 0", 9, "clear()"));
        cache.rewind(10).steps(1, 1).clear().steps(5, 1);
    }

    // closed caches

    private static void requireClosed(CacheModel cache, PairList<String, Object> unused) {
        KeyValueCache closed = cache.cache();
        Stream<ThrowingCallable> calls = Stream.of(
                () -> cache.with(unused).stepOf(0, 1),
                closed::nextStep,
                closed::fork,
                closed::clear,
                () -> closed.rewind(0),
                () -> cache.select(0));
        assertAll(calls.map(call -> rejected(IllegalStateException.class, call, "closed", "new KeyValueCache")));
    }

    @Test
    void rejectsCallsAfterItIsClosed() {
        CacheModel cache = cache(causal(ROTARY)).step(3);
        PairList<String, Object> unused = cache.cache().nextStep();
        cache.cache().close();
        requireClosed(cache, unused);
        cache.cache().close();
    }

    @Test
    void rejectsCallsAfterItsManagerIsClosed() {
        CacheModel cache = cache(causal(ROTARY)).step(3);
        PairList<String, Object> unused = cache.cache().nextStep();
        parent.close();
        requireClosed(cache, unused);
    }

    // keys that are not the input

    @Test
    void stepsHaveAllKeysWhereTheyAreNotTheInput() {
        MultiHeadAttentionBlock block = rotary();
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray first = x.get(":, :2");
        NDArray last = x.get(":, 2:");
        NDArray queries = last.duplicate();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            infer(manager, block, cache.nextStep(), first, first.duplicate(), first);
            assertAll(
                    rejected(() -> infer(manager, block, cache.nextStep(), last), "[x]", "position 2", "clear()"),
                    rejected(
                            () -> infer(manager, block, cache.nextStep(), last, queries, last),
                            "2 tokens at position 2",
                            "2 keys",
                            "[x]",
                            4,
                            "optCausal(false)"));
            assertThat(cache.getLength()).isEqualTo(2);
            // all keys so far, in a new array, are projected again
            NDArray y = infer(manager, block, cache.nextStep(), x, queries, x);
            requireClose(y, doubles(infer(manager, block, x).get(":, 2:")), 1e-12);
        }
    }

    /** They are given with the first step. */
    @Test
    void anotherBeginningForgetsThePositionsOfTheMemory() {
        MultiHeadAttentionBlock block = rotary();
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray memory = numbers(manager, 2, DataType.FLOAT64, 1, 4, SIZE);
        double[] expected = doubles(infer(manager, block, memory, x, memory));
        for (boolean isSelected : new boolean[] {false, true}) {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                PairList<String, Object> params = cache.nextStep();
                params.add(MultiHeadAttentionBlock.MEMORY_POSITIONS, manager.create(new int[] {5, 1, 9, 2}));
                infer(manager, block, params, memory, x, memory);
                if (isSelected) {
                    cache.select(manager.create(new int[] {0}));
                }
                cache.rewind(0);
                requireClose(infer(manager, block, cache.nextStep(), memory, x, memory), expected, 1e-12);
            }
        }
    }

    @Test
    void causalStepsNeedAsManyKeysAsTokens() {
        MultiHeadAttentionBlock block = rotary();
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray memory = numbers(manager, 2, DataType.FLOAT64, 1, 3, SIZE);
        double[] expected = doubles(infer(manager, block, memory, x, memory));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < 3; i++) {
                NDArray y = infer(manager, block, cache.nextStep(), memory, x.get(":, {}:{}", i, i + 1), memory);
                requireClose(y, Arrays.copyOfRange(expected, i * SIZE, (i + 1) * SIZE), 1e-12);
            }
            refused(
                    () -> infer(manager, block, cache.nextStep(), memory, x.get(":, 3:"), memory),
                    "1 tokens at position 3",
                    "3 keys",
                    "optCausal(false)");
            cache.rewind(0);
            refused(
                    () -> infer(manager, block, cache.nextStep(), memory, x, memory),
                    "4 tokens at position 0",
                    "3 keys");
        }
    }

    @Test
    void stepsAreOfTheSameKindAndOfTheSameTokens() {
        MultiHeadAttentionBlock block = rotary();
        MultiHeadAttentionBlock other = rotary();
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 4, SIZE);
        NDArray last = x.get(":, 2:");
        NDArray queries = last.duplicate();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            PairList<String, Object> params = cache.nextStep();
            infer(manager, block, params, x.get(":, :2"));
            assertAll(
                    // such as the parameters of a decoder's step that are also those of the encoder
                    rejected(() -> infer(manager, other, params, x.get(":, :1")), "1 tokens", 2),
                    rejected(
                            () -> infer(manager, block, cache.nextStep(), last, queries, last),
                            "2 tokens at position 2",
                            "[x]"));
            assertThat(cache.getLength()).isEqualTo(2);
        }
    }

    @Test
    void keysOfAnEncoderAreThoseOfTheSameArrayObject() {
        MultiHeadAttentionBlock block = rotary();
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 1, 3, SIZE);
        NDArray first = numbers(manager, 2, DataType.FLOAT64, 1, 6, SIZE);
        NDArray other = numbers(manager, 3, DataType.FLOAT64, 1, 6, SIZE);
        double[] ofFirst = doubles(infer(manager, block, first, x, first));
        double[] ofOther = doubles(infer(manager, block, other, x, other));
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            UnaryOperator<NDArray> firstStep = memory -> {
                cache.rewind(0);
                return infer(manager, block, cache.nextStep(), memory, x, memory);
            };
            NDArray memory = first.duplicate();
            requireClose(firstStep.apply(memory), ofFirst, 1e-12);
            other.copyTo(memory);
            requireClose(firstStep.apply(memory), ofFirst, 1e-12);
            cache.clear();
            requireClose(firstStep.apply(memory), ofOther, 1e-12);
            memory.close();
            requireClose(firstStep.apply(memory), ofOther, 1e-12);
            // the engine may give it the memory of the closed array
            requireClose(firstStep.apply(first.duplicate()), ofFirst, 1e-12);
        }
    }

    // threads and gradients

    @Test
    void rejectsAnotherThreadDuringAForward() {
        NDArray x = numbers(manager, 1, DataType.FLOAT64, 2, 4, SIZE);
        NDArray rows = manager.create(new int[] {0});
        Runnable[] meanwhile = {() -> {}};
        MultiHeadAttentionBlock block = filled(
                manager,
                causal(NONE)
                        .optKeyNorm(new LambdaBlock(keys -> {
                            meanwhile[0].run();
                            return keys;
                        }))
                        .build(),
                DataType.FLOAT64);
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
            requireClose(infer(manager, block, params, next), doubles(whole.get(":, 2:")), 1e-12);
            assertThat(cache.getLength()).isEqualTo(4);
            // each may use it after the other, also after a forward that failed
            assertThat(inAnotherThread(() -> cache.rewind(3))).isNull();
            assertThat(cache.getLength()).isEqualTo(3);
            NDArray wrongMask = manager.ones(new Shape(2, 2));
            assertAll(rejected(
                    () -> infer(manager, block, cache.nextStep(), next.get(":, 1:"), wrongMask), "mask", "(2, 2)"));
            assertThat(inAnotherThread(cache::clear)).isNull();
        }
    }

    /** What a call in another thread throws; null for nothing. */
    private static Throwable inAnotherThread(ThrowingCallable call) {
        return CompletableFuture.supplyAsync(() -> catchThrowable(call)).join();
    }

    /** A cache that held the graph of its keys would grow with each step. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void keysInACacheHaveNoGradient(boolean isFused) {
        assumeEngine(TestEngine.PYTORCH);
        MultiHeadAttentionBlock block =
                filled(manager, causal(NONE).optFusedKernel(isFused).build(), DataType.FLOAT64);
        block.freezeParameters(true);
        block.getKeyProjection().freezeParameters(false);
        block.getKeyProjection().getParameters().get("weight").getArray().setRequiresGradient(true);
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 3, SIZE);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < 3; i++) {
                NDArray token = x.get(":, " + i + ":" + (i + 1));
                assertThat(infer(manager, block, cache.nextStep(), token).hasGradient())
                        .isFalse();
            }
        }
    }
}
