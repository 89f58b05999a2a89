package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.MropePositions.Grid;
import io.github.djlpositional.relative.MropePositions.Prompts;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Collections;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Positions of text, images and videos, worked out by hand from the rule. */
class MropePositionsTest extends OnEachEngine {

    private static final long TEXT = 9;
    private static final long IMAGE = 5;
    private static final long VIDEO = 6;
    private static final List<Grid> NONE = List.of();

    private static MropePositions.Builder builder() {
        return MropePositions.builder().setImageToken(IMAGE).optVideoToken(VIDEO);
    }

    /** The tokens of a sequence: each id and how often it follows. */
    private static long[] tokens(long... idsAndCounts) {
        LongStream all = LongStream.empty();
        for (int i = 0; i < idsAndCounts.length; i += 2) {
            long id = idsAndCounts[i];
            all = LongStream.concat(all, LongStream.generate(() -> id).limit(idsAndCounts[i + 1]));
        }
        return all.toArray();
    }

    private NDArray array(long[]... rows) {
        return manager.create(rows);
    }

    private Prompts of(MropePositions.Builder builder, List<Grid> images, List<Grid> videos, long[]... rows) {
        NDArray ids = array(rows);
        return builder.build().of(ids, null, images, videos);
    }

    /** The coordinates of a sequence, one axis in a row. */
    private long[][] coordinates(Prompts prompts, int row) {
        NDArray positions = prompts.positions(manager);
        return Stream.of(0, 1, 2)
                .map(axis ->
                        positions.get(axis, row).toType(DataType.INT64, false).toLongArray())
                .toArray(long[][]::new);
    }

    /** Expects positions, (B, count), on each axis. */
    private void requireSteps(Prompts prompts, int first, long... expected) {
        NDArray positions = prompts.positions(manager, first, expected.length / prompts.offsets().length);
        assertThat(positions.getShape().get(0)).isEqualTo(3);
        for (int axis = 0; axis < 3; axis++) {
            assertThat(positions.get(axis).toType(DataType.INT64, false).toLongArray())
                    .containsExactly(expected);
        }
    }

    @Test
    void textHasTheSamePositionOnAllAxes() {
        Prompts prompts = of(builder(), NONE, NONE, tokens(TEXT, 4));
        assertThat(coordinates(prompts, 0)).isDeepEqualTo(new long[][] {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
        assertThat(prompts.offsets()).containsExactly(0);
        requireSteps(prompts, 4, 4, 5);
    }

    /** 4 × 6 patches, of which 2 × 2 are merged: 2 rows of 3 tokens. */
    @Test
    void imagesHaveTheRowsAndColumnsOfTheMergedGrid() {
        Prompts prompts = of(builder(), List.of(Grid.of(1, 4, 6)), NONE, tokens(TEXT, 2, IMAGE, 6, TEXT, 2));
        assertThat(coordinates(prompts, 0)).isDeepEqualTo(new long[][] {
            {0, 1, 2, 2, 2, 2, 2, 2, 5, 6},
            {0, 1, 2, 2, 2, 3, 3, 3, 5, 6},
            {0, 1, 2, 3, 4, 2, 3, 4, 5, 6}
        });
        assertThat(prompts.offsets()).containsExactly(7 - 10);
        requireSteps(prompts, 10, 7, 8);
    }

    @Test
    void imagesMayBeginAndFollowEachOther() {
        List<Grid> images = List.of(Grid.of(1, 2, 4), Grid.of(1, 4, 2));
        Prompts prompts = of(builder(), images, NONE, tokens(IMAGE, 4, TEXT, 1));
        assertThat(coordinates(prompts, 0))
                .isDeepEqualTo(new long[][] {{0, 0, 2, 2, 4}, {0, 0, 2, 3, 4}, {0, 1, 2, 2, 4}});
    }

    @Test
    void mergesAsManyPatchesAsSet() {
        Prompts prompts = of(builder().optMergeSize(3), List.of(Grid.of(1, 3, 6)), NONE, tokens(IMAGE, 2, TEXT, 1));
        assertThat(coordinates(prompts, 0)).isDeepEqualTo(new long[][] {{0, 0, 2}, {0, 0, 2}, {0, 1, 2}});
        Prompts all = of(builder().optMergeSize(1), List.of(Grid.of(1, 1, 2)), NONE, tokens(IMAGE, 2));
        assertThat(coordinates(all, 0)).isDeepEqualTo(new long[][] {{0, 0}, {0, 0}, {0, 1}});
    }

    /** In transformers 5.23, text continues after the larger side, 2; generated tokens after the largest time, 3. */
    @Test
    void framesOfQwen2VlAreOnePositionApart() {
        List<Grid> videos = List.of(new Grid(4, 2, 4, 7.5));
        Prompts prompts = of(builder(), NONE, videos, tokens(VIDEO, 8, TEXT, 1));
        assertThat(coordinates(prompts, 0)).isDeepEqualTo(new long[][] {
            {0, 0, 1, 1, 2, 2, 3, 3, 2},
            {0, 0, 0, 0, 0, 0, 0, 0, 2},
            {0, 1, 0, 1, 0, 1, 0, 1, 2}
        });
        assertThat(prompts.offsets()).containsExactly(4 - 9);
        requireSteps(prompts, 9, 4);
    }

    /** The example in the documentation of {@code Qwen2VLModel.get_rope_index} of transformers 4.57. */
    @Test
    void framesRowsAndColumnsAreCountedFromTheSamePosition() {
        List<Grid> videos = List.of(Grid.of(3, 4, 4));
        Prompts prompts = of(builder().optAfterLargest(true), NONE, videos, tokens(VIDEO, 12, TEXT, 5));
        assertThat(coordinates(prompts, 0)).isDeepEqualTo(new long[][] {
            {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 5, 6, 7},
            {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 3, 4, 5, 6, 7},
            {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 3, 4, 5, 6, 7}
        });
    }

    /**
     * The second is the example in transformers' documentation: 25 tokens per second, and 2 seconds from time to time.
     */
    @Test
    void framesOfQwen25VlAreAsFarApartAsTheirSeconds() {
        Prompts two = of(builder().optTokensPerSecond(2), NONE, List.of(Grid.of(3, 2, 2)), tokens(TEXT, 1, VIDEO, 3));
        assertThat(coordinates(two, 0)[0]).containsExactly(0, 1, 3, 5);
        List<Grid> slow = List.of(new Grid(3, 4, 4, 2));
        Prompts many = of(builder().optTokensPerSecond(25), NONE, slow, tokens(VIDEO, 12));
        assertThat(coordinates(many, 0)[0]).containsExactly(0, 0, 0, 0, 50, 50, 50, 50, 100, 100, 100, 100);
        assertThat(coordinates(many, 0)[1]).containsExactly(0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1);
        assertThat(many.offsets()).containsExactly(101 - 12);
    }

    @Test
    void timesAreRoundedDown() {
        List<Grid> videos = List.of(new Grid(5, 2, 2, 0.75));
        Prompts prompts = of(builder().optTokensPerSecond(2), NONE, videos, tokens(VIDEO, 5));
        assertThat(coordinates(prompts, 0)[0]).containsExactly(0, 1, 3, 4, 6);
    }

    /** 49 · (1/49) is 1 in FLOAT32, and 0.9999999999999999 in FLOAT64. */
    @Test
    void timesAreComputedInFloat32() {
        List<Grid> videos = List.of(new Grid(50, 2, 2, 1 / 49.0));
        Prompts prompts = of(builder().optTokensPerSecond(1), NONE, videos, tokens(VIDEO, 50));
        assertThat(49 * (1 / 49.0)).isLessThan(1);
        assertThat(coordinates(prompts, 0)[0]).endsWith(0, 1);
    }

    @Test
    void imagesHaveOneTimeWhateverASecondIs() {
        MropePositions.Builder builder = builder().optTokensPerSecond(25);
        Prompts prompts = of(builder, List.of(new Grid(2, 2, 2, 4)), NONE, tokens(IMAGE, 2));
        assertThat(coordinates(prompts, 0)).isDeepEqualTo(new long[][] {{0, 1}, {0, 0}, {0, 0}});
    }

    /** Two frames, 10 positions apart, of 2 rows and columns. */
    @Test
    void textAfterAVideoContinuesAfterItsSideOrItsLargestCoordinate() {
        long[] tokens = tokens(TEXT, 1, VIDEO, 8, TEXT, 2);
        List<Grid> videos = List.of(new Grid(2, 4, 4, 5));
        MropePositions.Builder builder = builder().optTokensPerSecond(2);
        Prompts side = of(builder, NONE, videos, tokens);
        assertThat(coordinates(side, 0)[0]).containsExactly(0, 1, 1, 1, 1, 11, 11, 11, 11, 3, 4);
        assertThat(side.offsets()).containsExactly(12 - 11);
        requireSteps(side, 11, 12);
        Prompts largest = of(builder.optAfterLargest(true), NONE, videos, tokens);
        assertThat(coordinates(largest, 0)[0]).containsExactly(0, 1, 1, 1, 1, 11, 11, 11, 11, 12, 13);
        assertThat(largest.offsets()).containsExactly(14 - 11);
        requireSteps(largest, 11, 14);
    }

    @Test
    void imagesEndAtTheSamePositionByBothRules() {
        long[] tokens = tokens(TEXT, 1, IMAGE, 6, TEXT, 1, IMAGE, 4, TEXT, 1);
        List<Grid> images = List.of(Grid.of(1, 6, 4), Grid.of(1, 4, 4));
        Prompts largest = of(builder().optAfterLargest(true), images, NONE, tokens);
        requireSame(
                largest.positions(manager), of(builder(), images, NONE, tokens).positions(manager));
    }

    /** In Qwen3-VL, each frame follows a time stamp. */
    @Test
    void framesOfQwen3VlAreGridsOfTheirOwn() {
        List<Grid> frames = Collections.nCopies(3, Grid.of(1, 2, 4));
        Prompts prompts = of(builder(), NONE, frames, tokens(TEXT, 1, VIDEO, 2, TEXT, 1, VIDEO, 2, TEXT, 1, VIDEO, 2));
        assertThat(coordinates(prompts, 0)).isDeepEqualTo(new long[][] {
            {0, 1, 1, 3, 4, 4, 6, 7, 7},
            {0, 1, 1, 3, 4, 4, 6, 7, 7},
            {0, 1, 2, 3, 4, 5, 6, 7, 8}
        });
    }

    /** A batch with another image in each sequence, padding on the left of one and on the right of the other. */
    private Prompts padded() {
        NDArray ids = array(tokens(0, 3, TEXT, 1, IMAGE, 2, TEXT, 1), tokens(IMAGE, 4, TEXT, 1, VIDEO, 1, IMAGE, 1));
        NDArray mask = array(tokens(0, 3, 1, 4), tokens(1, 6, 0, 1));
        List<Grid> images = List.of(Grid.of(1, 2, 4), Grid.of(1, 4, 4));
        return builder().build().of(ids, mask, images, List.of(Grid.of(1, 2, 2)));
    }

    @Test
    void paddingIsSkippedOnAnySide() {
        Prompts prompts = padded();
        assertThat(coordinates(prompts, 0))
                .isDeepEqualTo(new long[][] {{0, 0, 0, 0, 1, 1, 3}, {0, 0, 0, 0, 1, 1, 3}, {0, 0, 0, 0, 1, 2, 3}});
        assertThat(coordinates(prompts, 1))
                .isDeepEqualTo(new long[][] {{0, 0, 0, 0, 2, 3, 0}, {0, 0, 1, 1, 2, 3, 0}, {0, 1, 0, 1, 2, 3, 0}});
    }

    @Test
    void eachSequenceHasAnOffset() {
        Prompts prompts = padded();
        assertThat(prompts.offsets()).containsExactly(4 - 4, 4 - 6);
        prompts.offsets()[0] = 7;
        assertThat(prompts.offsets()[0]).isZero();
        requireSteps(prompts, 7, 4, 5, 4, 5);
        requireSteps(prompts, 9, 6, 6);
    }

    @Test
    void slicesContinueBehindThePrompt() {
        Prompts prompts = padded();
        NDArray positions = prompts.positions(manager, 5, 4);
        assertThat(positions.getShape()).isEqualTo(new Shape(3, 2, 4));
        assertThat(positions.getDataType()).isEqualTo(DataType.INT32);
        NDArray all = prompts.positions(manager).concat(prompts.positions(manager, 7, 2), 2);
        requireSame(positions, all.get(":, :, 5:"));
    }

    @Test
    void hiddenTokensWithinASequenceAreSkipped() {
        NDArray ids = array(tokens(TEXT, 1, IMAGE, 3, TEXT, 2));
        NDArray mask = array(new long[] {1, 1, 0, 1, 0, 1});
        Prompts prompts = builder().build().of(ids, mask, List.of(Grid.of(1, 2, 4)), NONE);
        assertThat(coordinates(prompts, 0)[2]).containsExactly(0, 1, 0, 2, 0, 3);
        assertThat(prompts.offsets()).containsExactly(0);
    }

    @Test
    void aSequenceOfPaddingHasTheOffsetZero() {
        NDArray ids = array(tokens(IMAGE, 2), tokens(TEXT, 2));
        Prompts prompts = builder().build().of(ids, array(tokens(0, 2), tokens(1, 2)), NONE, NONE);
        assertThat(prompts.offsets()).containsExactly(0, 0);
        requireSteps(prompts, 2, 0, 2);
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"INT32", "INT64", "FLOAT32", "FLOAT64"})
    void idsAndMasksHaveAnyType(DataType type) {
        NDArray ids = array(tokens(TEXT, 1, IMAGE, 2, 0, 1)).toType(type, false);
        NDArray mask = array(tokens(1, 3, 0, 1));
        List<Grid> images = List.of(Grid.of(1, 2, 4));
        Prompts prompts = builder().build().of(ids, mask.toType(type, false), images, NONE);
        assertThat(coordinates(prompts, 0)[2]).containsExactly(0, 1, 2, 0);
        Prompts ofBoolean = builder().build().of(ids, mask.toType(DataType.BOOLEAN, false), images, NONE);
        requireSame(ofBoolean.positions(manager), prompts.positions(manager));
    }

    @Test
    void arraysAreOnTheDeviceOfTheirManager() {
        onASimulatedGpu(gpu -> {
            NDArray ids = gpu.create(tokens(TEXT, 1, IMAGE, 2), new Shape(1, 3));
            Prompts prompts = builder().build().of(ids, null, List.of(Grid.of(1, 2, 4)), NONE);
            assertThat(prompts.positions(gpu).getDevice()).isEqualTo(gpu.getDevice());
            assertThat(prompts.positions(manager).getDevice()).isEqualTo(manager.getDevice());
        });
    }

    /** Only the result stays in its manager. */
    @Test
    void theManagerOwnsTheResult() {
        NDArray ids = array(tokens(TEXT, 1, IMAGE, 2));
        int before = manager.getManagedArrays().size();
        Prompts prompts = builder().build().of(ids, ids.onesLike(), List.of(Grid.of(1, 2, 4)), NONE);
        assertThat(manager.getManagedArrays()).hasSizeLessThanOrEqualTo(before + 1);
        ids.close();
        try (NDManager own = manager.newSubManager()) {
            NDArray positions = prompts.positions(own);
            assertThat(own.getManagedArrays()).hasSize(1);
            assertThat(positions.getManager()).isSameAs(own);
        }
    }

    /** A prompt of two sequences with padding on either side, and four tokens after it, with a cache and as a whole. */
    @Test
    void stepsAfterAPromptAreThoseOfTheWholeSequence() {
        DataType type = DataType.FLOAT64;
        int length = 7;
        int steps = 4;
        MultiHeadAttentionBlock attention = filled(
                manager,
                MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(32)
                        .setHeadCount(2)
                        .optCausal(true)
                        .optRelativeEncoding(
                                RotaryPresets.qwen2Vl(16, 10_000, 2, 3, 3).build())
                        .build(),
                type,
                new Shape(-1, -1, 32));
        NDArray x = numbers(manager, 3, type, 2, length + steps, 32);
        NDArray mask = array(tokens(0, 3, 1, 4), tokens(1, 6, 0, 1));
        NDArray wholeMask = mask.concat(manager.ones(new Shape(2, steps), DataType.INT64), 1);
        // the same tokens, with the four as part of the prompt
        NDArray ids = array(
                tokens(0, 3, TEXT, 1, IMAGE, 2, TEXT, 1, TEXT, 4),
                tokens(IMAGE, 4, TEXT, 1, VIDEO, 1, IMAGE, 1, TEXT, 4));
        Prompts longer = builder()
                .build()
                .of(ids, wholeMask, List.of(Grid.of(1, 2, 4), Grid.of(1, 4, 4)), List.of(Grid.of(1, 2, 2)));
        PairList<String, Object> all = Forward.params(PositionalEncodingBlock.POSITIONS, longer.positions(manager));
        NDArray expected = Forward.infer(manager, attention, all, x, wholeMask);
        Prompts prompts = padded();
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int first = 0; first < length + steps; first = Math.max(length, first + 1)) {
                int end = Math.max(length, first + 1);
                PairList<String, Object> params = cache.nextStep();
                params.add(
                        PositionalEncodingBlock.POSITIONS, prompts.positions(manager, cache.getLength(), end - first));
                NDList inputs = new NDList(x.get(":, {}:{}", first, end));
                if (first == 0) {
                    inputs.add(mask);
                }
                NDArray y = attention
                        .forward(new ParameterStore(manager, false), inputs, false, params)
                        .singletonOrThrow();
                // FLOAT64: 2^-53 of sums of at most 100 products of numbers below 100
                requireClose(y, doubles(expected.get(":, {}:{}", first, end)), 1e-12);
            }
        }
    }

    private Executable rejectedPrompt(
            MropePositions.Builder builder, NDArray ids, List<Grid> images, Object... values) {
        MropePositions mrope = builder.build();
        return rejectedWithoutLeak(manager, () -> mrope.of(ids, null, images, NONE), values);
    }

    @Test
    void rejectsGridsThatDoNotMatchTheTokens() {
        NDArray ids = array(tokens(TEXT, 2, IMAGE, 4, TEXT, 1), tokens(TEXT, 7));
        Grid grid = Grid.of(1, 4, 4);
        assertAll(
                rejectedPrompt(builder(), ids, NONE, "image token 5", "sequence 0", "index 2", "grids is 0", "batch"),
                rejectedPrompt(builder(), ids, List.of(grid, grid), "image grids is 2", "tokens of 1", "image token 5"),
                rejectedPrompt(builder(), ids, List.of(Grid.of(1, 4, 6)), "has 4", "1 × 4 × 6", "has 6", "2 × 2"),
                rejectedPrompt(builder(), ids, List.of(Grid.of(2, 4, 4)), "has 4", "2 × 4 × 4", "has 8"),
                rejectedPrompt(builder(), ids, List.of(Grid.of(1, 2, 4)), "index 4", "grids is 1"),
                rejectedPrompt(builder(), ids, List.of(Grid.of(1, 5, 4)), "image 0", "1 × 5 × 4", "merge size 2"),
                rejectedPrompt(builder().optMergeSize(4), ids, List.of(grid), "image token 5", "index 3", "grids is 1"),
                rejectedPrompt(builder().optMergeSize(1), ids, List.of(grid), "has 4", "has 16", "1 × 1"));
    }

    @Test
    void rejectsVideosWithoutAToken() {
        NDArray ids = array(tokens(VIDEO, 1));
        MropePositions images = MropePositions.builder().setImageToken(IMAGE).build();
        MropePositions videos = builder().build();
        List<Grid> one = List.of(Grid.of(1, 2, 2));
        assertAll(
                rejectedWithoutLeak(manager, () -> images.of(ids, null, NONE, one), "grids is 1", "optVideoToken"),
                rejectedWithoutLeak(manager, () -> videos.of(ids, null, NONE, NONE), "video token 6", "grids is 0"),
                rejectedWithoutLeak(manager, () -> videos.of(ids, null, one, NONE), "video token 6"));
        // without a video token, its id is text
        assertThat(images.of(ids, null, NONE, NONE).offsets()).containsExactly(0);
    }

    @Test
    void rejectsArraysOfOtherShapes() {
        MropePositions mrope = builder().build();
        NDArray ids = array(tokens(TEXT, 4));
        NDArray flat = ids.flatten();
        NDArray mask = array(tokens(1, 3));
        assertAll(
                rejectedWithoutLeak(manager, () -> mrope.of(flat, null, NONE, NONE), "(4)", "(B, T)", "expandDims"),
                rejectedWithoutLeak(
                        manager, () -> mrope.of(ids, mask, NONE, NONE), "(1, 3)", "(1, 4)", "attention_mask"),
                rejected(() -> mrope.of(ids, null, null, NONE), "images"),
                rejected(() -> mrope.of(ids, null, NONE, null), "videos"));
    }

    @Test
    void rejectsPositionsThatAreTooLarge() {
        NDArray ids = array(tokens(VIDEO, 3));
        MropePositions mrope = builder().optTokensPerSecond(2).build();
        for (double seconds : new double[] {1 << 28, 1e30, 1e300}) {
            List<Grid> videos = List.of(new Grid(3, 2, 2, seconds));
            assertAll(rejectedWithoutLeak(
                    manager, () -> mrope.of(ids, null, NONE, videos), "3 frames", "seconds", 1 << 29));
        }
    }

    @Test
    void rejectsStepsOutOfRange() {
        Prompts prompts = padded();
        assertAll(
                rejectedWithoutLeak(manager, () -> prompts.positions(manager, -1, 1), "first -1"),
                rejectedWithoutLeak(manager, () -> prompts.positions(manager, 0, 0), "count 0"));
    }

    @Test
    void rejectsSettingsOutOfRange() {
        assertAll(
                rejected(() -> MropePositions.builder().build(), "imageToken"),
                rejected(() -> builder().optVideoToken(IMAGE).build(), "both 5"),
                rejected(() -> builder().optMergeSize(0).build(), "mergeSize 0"),
                rejected(() -> builder().optTokensPerSecond(0).build(), "tokensPerSecond 0"),
                rejected(() -> Grid.of(0, 2, 2), "frames 0"),
                rejected(() -> Grid.of(1, 0, 2), "rows 0"),
                rejected(() -> Grid.of(1, 2, (1 << 20) + 1), "columns", 1 << 20),
                rejected(() -> new Grid(1, 2, 2, Double.NaN), "seconds NaN"));
    }
}
