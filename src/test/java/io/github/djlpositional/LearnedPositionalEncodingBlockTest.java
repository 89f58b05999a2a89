package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Inputs.counted;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallBlocks.initialized;
import static io.github.djlpositional.support.SmallBlocks.learned;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.UninitializedParameterException;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Goldens;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each position has a vector that is a parameter, as in BERT, or each cell of a grid, as in vision transformers. */
class LearnedPositionalEncodingBlockTest extends OnEachEngine {

    private static final SinusoidalEncoding SINUSOIDS = SinusoidalEncoding.vaswani(4);

    /** D = 4, at most 10 positions, initialized with sinusoids. */
    private LearnedPositionalEncodingBlock sinusoids(boolean isAdded) {
        return initialized(
                manager, learned().optEncoding(SINUSOIDS).optAddToInput(isAdded).build(), 2, 3, 4);
    }

    /** The encodings of positions. */
    private static double[] encoded(int... positions) {
        double[] values = new double[4 * positions.length];
        Arrays.setAll(values, i -> (float) SINUSOIDS.value(positions[i / 4], i % 4));
        return values;
    }

    private static PairList<String, Object> positions(NDArray positions) {
        return Forward.params(PositionalEncodingBlock.POSITIONS, positions);
    }

    private static PairList<String, Object> gridSizes(long... sizes) {
        return Forward.params(LearnedPositionalEncodingBlock.GRID_SIZES, new Shape(sizes));
    }

    @Test
    void addsTheRowsOfItsTable() {
        double[] expected = encoded(0, 1, 2, 0, 1, 2);
        for (int i = 0; i < expected.length; i++) {
            expected[i] += i + 1;
        }
        // one sum of at most 25, rounded to FLOAT32
        requireClose(Forward.infer(manager, sinusoids(true), counted(manager, 2, 3, 4)), expected, 0x1p-20);
    }

    @Test
    void returnsTheRowsAloneForABatchOfOne() {
        NDArray y = Forward.infer(manager, sinusoids(false), counted(manager, 2, 3, 4));
        assertThat(y.getShape()).isEqualTo(new Shape(1, 3, 4));
        assertThat(doubles(y)).isEqualTo(encoded(0, 1, 2));
    }

    @Test
    void startsAtAPosition() {
        NDArray y = Forward.inferFrom(manager, 7, sinusoids(true), zeros(manager, 1, 3, 4));
        assertThat(doubles(y)).isEqualTo(encoded(7, 8, 9));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void looksUpPositionsOfItsSecondInputAndOfAForwardParameter(boolean isAdded) {
        LearnedPositionalEncodingBlock block = sinusoids(isAdded);
        NDArray x = zeros(manager, 2, 3, 4);
        NDArray shared = integers(manager, 4, 0, 9).toType(DataType.INT32, false);
        NDArray one = shared.expandDims(0);
        NDArray each = integers(manager, 4, 0, 9, 1, 2, 3).reshape(2, 3);
        double[] ofOne = encoded(4, 0, 9);
        double[] ofShared = isAdded ? encoded(4, 0, 9, 4, 0, 9) : ofOne;
        double[] ofEach = encoded(4, 0, 9, 1, 2, 3);
        assertThat(doubles(Forward.infer(manager, block, x, shared))).isEqualTo(ofShared);
        assertThat(doubles(Forward.infer(manager, block, positions(shared), x))).isEqualTo(ofShared);
        assertThat(doubles(Forward.infer(manager, block, positions(one), x))).isEqualTo(ofShared);
        assertThat(doubles(Forward.infer(manager, block, x, each))).isEqualTo(ofEach);
        assertThat(doubles(Forward.infer(manager, block, positions(each), x))).isEqualTo(ofEach);
    }

    @Test
    void hasARowForEachTokenOfAGrid() {
        LearnedPositionalEncodingBlock block = initialized(
                manager, table().optGrid(1, 2, 3).optEncoding(SINUSOIDS).build(), 1, 7, 4);
        NDArray all = Forward.infer(manager, block, zeros(manager, 1, 7, 4));
        assertThat(doubles(all)).isEqualTo(encoded(0, 1, 2, 3, 4, 5, 6));
        NDArray some = Forward.infer(manager, block, zeros(manager, 1, 3, 4), integers(manager, 4, 6, 5));
        assertThat(doubles(some)).isEqualTo(encoded(4, 6, 5));
    }

    /** D = 4, 512 positions. */
    private static LearnedPositionalEncodingBlock.Builder table() {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4);
    }

    @Test
    void learnsATableThatIsInitializedWithSinusoids() {
        assertThat(table().optEncoding(SINUSOIDS).build().getTable().requiresGradient())
                .isTrue();
    }

    @Test
    void isInitializedFromANormalDistribution() {
        manager.getEngine().setRandomSeed(1);
        LearnedPositionalEncodingBlock block =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(256).build();
        NDArray table = initialized(manager, block, 1, 3, 256).getTable().getArray();
        assertThat(table.getShape()).isEqualTo(new Shape(512, 256));
        double[] values = table.toType(DataType.FLOAT64, false).toDoubleArray();
        double mean = Arrays.stream(values).average().orElseThrow();
        double square = Arrays.stream(values).map(x -> x * x).average().orElseThrow();
        // of 131,072 numbers, six standard deviations: of the mean 0.00033, of the deviation 1.2 %
        assertThat(mean).isCloseTo(0, within(0.00034));
        assertThat(Math.sqrt(square)).isCloseTo(0.02, within(0.00024));
    }

    @Test
    void hasAsManyPositionsAsTheLastInitialEncodingsWhichItReadsAsAView() {
        LearnedPositionalEncodingBlock.Builder builder =
                LearnedPositionalEncodingBlock.builder().setEmbeddingSize(2);
        NDArray wide = manager.zeros(new Shape(6, 4), DataType.FLOAT64);
        for (NDArray view : List.of(wide.get(":3, 1:3"), wide.get(":, 1:3"))) {
            int before = manager.getManagedArrays().size();
            LearnedPositionalEncodingBlock block =
                    builder.optInitialEncodings(view).build();
            assertThat(manager.getManagedArrays()).hasSize(before);
            assertThat(block.maxSequenceLength())
                    .isEqualTo((int) view.getShape().get(0));
        }
    }

    /** Collects four times, since the serial collector leaves dead arrays between live ones in three of four. */
    private static long usedHeap() {
        for (int times = 0; times < 4; times++) {
            System.gc();
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    /** 32 MB, as large as the array that they came from; doubles would take 64 MB. */
    @Test
    void keepsFourBytesOfEachInitialNumber() {
        NDArray initial = manager.zeros(new Shape(1 << 21, 4));
        long before = usedHeap();
        LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optInitialEncodings(initial)
                .build();
        assertThat(usedHeap() - before).isLessThan(48 << 20);
        assertThat(block.maxSequenceLength()).isEqualTo(1 << 21);
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void hasItsInitialEncodingsAgainAfterItWasCleared(DataType type) {
        // no float is a third
        NDArray thirds = manager.arange(6).toType(type, false).div(3).reshape(3, 2);
        LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(2)
                .optInitialEncodings(thirds)
                .build();
        for (int times = 0; times < 2; times++) {
            block.initialize(manager, type, new Shape(1, 3, 2));
            requireSame(block.getTable().getArray(), thirds);
            block.clear();
        }
    }

    /** A case of grid_resampling.csv, whose table and weights are numbers i · 37 mod 101 - 50 in units of 1/64. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Resampling(GridResampling method, int[] from, int[] to, double[] values, double[] gradient) {

        static List<Resampling> all() {
            return Goldens.rows("grid_resampling.csv").stream()
                    .map(row -> new Resampling(
                            GridResampling.valueOf(row[0]),
                            sizes(row[1]),
                            sizes(row[2]),
                            Goldens.reals(row[3]),
                            Goldens.reals(row[4])))
                    .toList();
        }

        private static int[] sizes(String text) {
            return Arrays.stream(Goldens.reals(text))
                    .mapToInt(size -> (int) size)
                    .toArray();
        }

        static NDArray numbers(NDManager manager, int rows) {
            return manager.create(Goldens.sixtyFourths(2 * rows), new Shape(rows, 2));
        }

        static int cells(int... sizes) {
            return Arrays.stream(sizes).reduce(1, (product, size) -> product * size);
        }

        LearnedPositionalEncodingBlock.Builder builder(int prefixTokens, int... grid) {
            return LearnedPositionalEncodingBlock.builder()
                    .setEmbeddingSize(2)
                    .optGrid(prefixTokens, grid)
                    .optResampling(method);
        }

        PairList<String, Object> params() {
            Shape sizes = new Shape(Arrays.stream(to).asLongStream().toArray());
            return Forward.params(LearnedPositionalEncodingBlock.GRID_SIZES, sizes);
        }
    }

    @Test
    void initialEncodingsOfAnotherGridAreResampledAndThoseOfThePrefixKept() {
        for (Resampling tested : Resampling.all()) {
            NDArray prefix = manager.create(new double[][] {{7, 8}, {9, 10}});
            NDArray cells = Resampling.numbers(manager, Resampling.cells(tested.from));
            LearnedPositionalEncodingBlock block = tested.builder(2, tested.to)
                    .optInitialEncodings(prefix.concat(cells), tested.from)
                    .build();
            block.initialize(manager, DataType.FLOAT64, new Shape(1, 2 + Resampling.cells(tested.to), 2));
            NDArray table = block.getTable().getArray();
            assertThat(table.get(":2")).isEqualTo(prefix);
            // the bound of GridResamplingTest
            requireClose(table.get("2:"), tested.values, 0x1p-41);
        }
    }

    @Test
    void aForwardOfAnotherGridResamplesTheTableWithGradients() {
        for (Resampling tested : Resampling.all()) {
            for (boolean isPrefixEncoded : new boolean[] {true, false}) {
                NDArray numbers = Resampling.numbers(manager, Resampling.cells(tested.from));
                NDArray prefix = manager.create(new double[][] {{7, 8}});
                LearnedPositionalEncodingBlock block = tested.builder(1, tested.from)
                        .optPrefixEncoded(isPrefixEncoded)
                        .optInitialEncodings(isPrefixEncoded ? prefix.concat(numbers) : numbers)
                        .build();
                int tokens = 1 + Resampling.cells(tested.to);
                block.initialize(manager, DataType.FLOAT64, new Shape(1, -1, 2));
                NDArray table = block.getTable().getArray();
                table.setRequiresGradient(true);
                NDArray x = manager.zeros(new Shape(1, tokens, 2), DataType.FLOAT64);
                NDArray weights = prefix.concat(Resampling.numbers(manager, tokens - 1));
                try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                    NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), true, tested.params())
                            .singletonOrThrow();
                    // the bound of GridResamplingTest
                    assertThat(y.get("0, :1")).isEqualTo(isPrefixEncoded ? prefix : prefix.zerosLike());
                    requireClose(y.get("0, 1:"), tested.values, 0x1p-41);
                    collector.backward(y.mul(weights).sum());
                }
                NDArray gradient = table.getGradient();
                if (isPrefixEncoded) {
                    assertThat(gradient.get(":1")).isEqualTo(prefix);
                }
                // sums of at most as many terms
                requireClose(isPrefixEncoded ? gradient.get("1:") : gradient, tested.gradient, 0x1p-38);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("lengths")
    void resamplesInitialEncodingsToAnotherLength(double[] initial, double... expected) {
        int length = expected.length / 2;
        LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(2)
                .optInitialEncodings(reals(manager, initial).reshape(-1, 2))
                .optResampling(GridResampling.BILINEAR_ALIGNED)
                .optMaxSequenceLength(length)
                .build();
        initialized(manager, block, 1, length, 2);
        // numbers that are exact in FLOAT32, stored in the table
        assertThat(doubles(Forward.infer(manager, block, zeros(manager, 1, length, 2))))
                .isEqualTo(expected);
    }

    /** numpy.interp(numpy.linspace(0, 2, n), [0, 1, 2], column); n = 1 keeps the first. */
    static Stream<Arguments> lengths() {
        double[] three = {0, 10, 1, 30, 4, 20};
        return Stream.of(
                Arguments.of(three, new double[] {0, 10}),
                Arguments.of(three, new double[] {0, 10, 4, 20}),
                Arguments.of(three, three),
                Arguments.of(three, new double[] {0, 10, 0.5, 20, 1, 30, 2.5, 25, 4, 20}),
                Arguments.of(new double[] {0.25, 4}, new double[] {0.25, 4, 0.25, 4}));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "GEOMETRIC")
    void resamplesAFloat16TableInFloat32(GridResampling method) {
        assumeEngine(TestEngine.PYTORCH); // MXNet has no parameters in FLOAT16
        LearnedPositionalEncodingBlock.Builder builder = table().optGrid(0, 2, 3)
                .optResampling(method)
                .optInitialEncodings(counted(manager, 6, 4).square());
        double[] expected = doubles(resampled(builder, DataType.FLOAT32));
        NDArray y = resampled(builder, DataType.FLOAT16);
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        double[] actual = doubles(y);
        assertThat(actual).hasSameSizeAs(expected);
        for (int i = 0; i < actual.length; i++) {
            // squares are exact in both types: one rounding to FLOAT16, after FLOAT32's
            assertThat(actual[i]).isCloseTo(expected[i], within(Math.abs(expected[i]) * 0x1.01p-11));
        }
    }

    private NDArray resampled(LearnedPositionalEncodingBlock.Builder builder, DataType type) {
        LearnedPositionalEncodingBlock block = builder.build();
        block.initialize(manager, type, new Shape(1, -1, 4));
        return Forward.infer(manager, block, gridSizes(3, 5), zeros(manager, type, 1, 15, 4));
    }

    /** D = 4, at most 10 positions. */
    private LearnedPositionalEncodingBlock ten() {
        return initialized(manager, learned().build(), 1, 3, 4);
    }

    /** D = 4, one token before a grid of 2 x 3. */
    private LearnedPositionalEncodingBlock cells() {
        return initialized(manager, table().optGrid(1, 2, 3).build(), 1, 7, 4);
    }

    @Test
    void rejectsInputsOfOtherShapesAndTypes() {
        LearnedPositionalEncodingBlock block = ten();
        NDList doubles = new NDList(zeros(manager, DataType.FLOAT64, 1, 3, 4));
        assertAll(
                rejectedInputs(block, new NDList(zeros(manager, 1, 3, 5)), "width 5", 4),
                rejectedInputs(block, doubles, "float64", "float32", "learned table"));
    }

    @Test
    void rejectsSequencesBeyondItsLength() {
        LearnedPositionalEncodingBlock block = ten();
        PairList<String, Object> from8 = Forward.params(PositionalEncodingBlock.START_POSITION, 8);
        NDList three = new NDList(zeros(manager, 1, 3, 4));
        assertAll(
                rejectedInputs(block, new NDList(zeros(manager, 1, 11, 4)), "length 11", "position 0", "maximum 10"),
                rejectedInputs(
                        block, from8, three, "length 3", "position 8", "maximum 10", "optMaxSequenceLength(11)"));
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Integer.MIN_VALUE, 11, Long.MAX_VALUE})
    void rejectsStartsOutOfRange(long start) throws Throwable {
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.START_POSITION, start);
        rejectedInputs(ten(), params, new NDList(zeros(manager, 1, 3, 4)), "startPosition " + start, "0 to 10")
                .execute();
    }

    @Test
    void rejectsPositionsOutOfRange() {
        assumeCpu();
        LearnedPositionalEncodingBlock block = ten();
        NDArray x = zeros(manager, 1, 3, 4);
        NDArray beyond = integers(manager, 0, 10, 1);
        NDArray negative = integers(manager, 0, 1, -1).toType(DataType.INT32, false);
        NDArray x7 = zeros(manager, 1, 7, 4);
        NDArray beyondGrid = integers(manager, 0, 1, 2, 3, 4, 5, 7);
        assertAll(
                rejectedInputs(
                        block, new NDList(x, beyond), "position 10", "index 1", "(3)", "0 to 9", "optMaxSequence"),
                rejectedInputs(block, new NDList(x, negative), "position -1", "index 2", "0 to 9"),
                rejectedInputs(cells(), new NDList(x7, beyondGrid), "position 7", "index 6", "0 to 6"));
    }

    @Test
    void rejectsRealPositionsAndPositionsTwice() {
        LearnedPositionalEncodingBlock block = ten();
        NDArray x = zeros(manager, 2, 3, 4);
        NDArray real = reals(manager, 0, 1, 2);
        NDArray each = zeros(manager, DataType.INT64, 2, 3);
        assertAll(
                rejectedInputs(block, new NDList(x, real), "positions (3)", "toType(DataType.INT64, false)"),
                rejectedInputs(block, positions(each), new NDList(x, each), "positions", "(2, 3)"));
    }

    @Test
    void rejectsTokensOfAnotherGrid() {
        LearnedPositionalEncodingBlock block = cells();
        String setting = LearnedPositionalEncodingBlock.GRID_SIZES;
        NDList seven = new NDList(zeros(manager, 1, 7, 4));
        assertAll(
                rejectedInputs(block, new NDList(zeros(manager, 1, 6, 4)), "length 6", "[2, 3]", 7, setting),
                rejectedInputs(block, new NDList(zeros(manager, 1, 8, 4)), "length 8", "[2, 3]", 7, setting),
                rejectedInputs(ten(), gridSizes(2, 3), seven, setting, "optGrid"));
    }

    @Test
    void rejectsGridSizesThatDoNotFit() {
        LearnedPositionalEncodingBlock block = cells();
        String name = LearnedPositionalEncodingBlock.GRID_SIZES;
        NDList x = new NDList(zeros(manager, 1, 7, 4));
        assertAll(
                rejectedInputs(block, gridSizes(6), x, name + " (6)", "2 sizes"),
                rejectedInputs(block, gridSizes(1, 2, 3), x, name + " (1, 2, 3)", "2 sizes"),
                rejectedInputs(block, gridSizes(0, 6), x, "[0, 6]"),
                rejectedInputs(block, gridSizes(-1, 6), x, "[-1, 6]"),
                rejectedInputs(block, Forward.params(name, 6), x, name + " 6", "Shape of 2 sizes"),
                rejectedInputs(block, Forward.params(name, new int[] {2, 3}), x, name + " [2, 3]", "Shape"));
    }

    @Test
    void rejectsInitializationsForOtherInputs() {
        LearnedPositionalEncodingBlock fresh = learned().build();
        LearnedPositionalEncodingBlock cells = cells();
        LearnedPositionalEncodingBlock ten = ten();
        assertAll(
                rejected(() -> fresh.initialize(manager, DataType.BFLOAT16, new Shape(1, 3, 4)), "bfloat16"),
                rejected(() -> initialized(manager, fresh, 4), "(4)", "rank 1"),
                rejected(() -> initialized(manager, fresh, 1, 3, 5), "(1, 3, 5)", "width 5"),
                rejected(() -> initialized(manager, fresh, 1, 11, 4), "length 11", "maximum 10"),
                () -> assertThat(fresh.isInitialized()).isFalse(),
                rejected(() -> initialized(manager, cells, 1, 8, 4), "length 8", "[2, 3]"),
                rejected(
                        () -> ten.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 4)),
                        "float32",
                        "float64",
                        "LearnedPositionalEncodingBlock("));
    }

    @Test
    void rejectsATableThatNoMachineHasMemoryFor() throws Throwable {
        assumeCpu();
        LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(1024)
                .optMaxSequenceLength(2_000_000_000)
                .build();
        rejectedWithoutLeak(
                        manager,
                        () -> initialized(manager, block, 1, 3, 1024),
                        "(2000000000, 1024)",
                        8_192_000_000_000L)
                .execute();
    }

    @Test
    void hasNoTableToUseOrSaveBeforeItsInitialization() {
        LearnedPositionalEncodingBlock block = table().build();
        NDArray x = zeros(manager, 1, 3, 4);
        DataOutputStream out = new DataOutputStream(new ByteArrayOutputStream());
        String name = "LearnedPositionalEncodingBlock(";
        assertAll(
                rejected(IllegalStateException.class, () -> block.saveParameters(out), name, "dropoutRate=0.0"),
                rejected(
                        UninitializedParameterException.class,
                        () -> Forward.infer(manager, block, x),
                        name,
                        "dropoutRate=0.0"));
    }

    @Test
    void rejectsInitialEncodingsOfOtherShapesAndTypes() {
        NDArray integers = zeros(manager, DataType.INT32, 3, 4);
        assertAll(
                rejected(() -> table().optInitialEncodings(zeros(manager, 4)), "(4)", "float32"),
                rejected(() -> table().optInitialEncodings(zeros(manager, 2, 3, 4)), "(2, 3, 4)", "float32"),
                rejected(() -> table().optInitialEncodings(zeros(manager, 0, 4)), "(0, 4)", "float32"),
                rejected(() -> table().optInitialEncodings(integers), "(3, 4)", "int32"));
    }

    @Test
    void rejectsInitialEncodingsThatDoNotFitTheBlock() {
        NDArray three = zeros(manager, 3, 4);
        NDArray six = zeros(manager, 6, 4);
        NDArray seven = zeros(manager, 7, 4);
        assertAll(
                rejected(table().optInitialEncodings(zeros(manager, 3, 6))::build, "size 6", "embeddingSize 4"),
                rejected(
                        table().optInitialEncodings(three).optEncoding(SINUSOIDS)::build,
                        "initial encodings",
                        SINUSOIDS),
                rejected(
                        table().optInitialEncodings(three).optMaxSequenceLength(5)::build,
                        "3 initial encodings",
                        "maxSequenceLength 5",
                        "optResampling"),
                rejected(
                        table().optGrid(1, 2, 3).optInitialEncodings(six)::build,
                        "6 initial encodings",
                        "[2, 3]",
                        "expected 7"),
                rejected(table().optGrid(1, 2, 3).optInitialEncodings(seven, 6)::build, "[6]", "[2, 3]"),
                rejected(table().optInitialEncodings(six, 2, 3)::build, "[2, 3]", "optGrid"));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, -1, Integer.MIN_VALUE})
    void rejectsSizesOutOfRange(int size) {
        assertAll(
                rejected(learned().setEmbeddingSize(size)::build, "embeddingSize " + size),
                rejected(learned().optMaxSequenceLength(size)::build, "maxSequenceLength " + size));
    }

    @ParameterizedTest
    @ValueSource(floats = {-0.1f, 1, 2, Float.NaN, Float.NEGATIVE_INFINITY})
    void rejectsDropoutRatesOutOfRange(float rate) throws Throwable {
        rejected(table().optDropoutRate(rate)::build, "dropoutRate " + rate).execute();
    }

    @ParameterizedTest
    @ValueSource(floats = {0, 0.99999994f})
    void takesDropoutRatesBelow1(float rate) {
        assertThat(table().optDropoutRate(rate).build().getArguments()).containsEntry("dropoutRate", rate);
    }

    @Test
    void takesEveryAxisButTheLastForTheSequence() {
        assertThat(table().optSequenceAxis(0).build().getArguments()).containsEntry("sequenceAxis", 0);
        assertAll(rejected(table().optSequenceAxis(-1)::build, "sequenceAxis -1"));
    }

    @Test
    void rejectsGridsOutOfRange() {
        assertAll(
                rejected(() -> table().optGrid(-1, 2), "prefixTokens -1"),
                rejected(() -> table().optGrid(1), "grid sizes []"),
                rejected(() -> table().optGrid(1, 0), "grid sizes [0]"),
                rejected(() -> table().optGrid(1, 2, -3), "grid sizes [2, -3]"),
                rejected(() -> table().optGrid(1, 1, 1, 1, 1), "grid sizes [1, 1, 1, 1]"),
                rejected(() -> table().optGrid(1, 65_536, 65_536), "grid sizes [65536, 65536]"));
    }

    @Test
    void rejectsOptionsThatExcludeEachOther() {
        SinusoidalEncoding six = SinusoidalEncoding.vaswani(6);
        assertAll(
                rejected(table().optEncoding(six)::build, "size 6", "embeddingSize 4"),
                rejected(learned().optGrid(1, 2, 3)::build, "maxSequenceLength 10", "expected 7"),
                rejected(table().optPrefixEncoded(false)::build, "prefixEncoded false", "optGrid"),
                rejected(table().optResampling(GridResampling.BICUBIC)::build, "resampling BICUBIC", "optGrid"));
    }

    @Test
    void rejectsAMethodForTheDifferencesOfCells() {
        LearnedPositionalEncodingBlock.Builder geometric = learned().optResampling(GridResampling.GEOMETRIC);
        assertAll(
                rejected(table().optGrid(0, 3, 3).optResampling(GridResampling.GEOMETRIC)::build, "GEOMETRIC"),
                rejected(geometric.optInitialEncodings(zeros(manager, 3, 4))::build, "GEOMETRIC"));
    }
}
