package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.relative.RotaryPresetsTest.stored;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.inferFrom;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.Positions;
import io.github.djlpositional.attention.AttentionCall;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.TestNumbers;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.support.OnEachEngine;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Rotations of queries and keys by their positions. */
class RotaryEmbeddingBlockTest extends OnEachEngine {

    /** Two products of numbers up to 2 and their sum are rounded: 4 · 2^-24, and as much again for another order. */
    private static final double FLOAT = 1e-6;

    private static RotaryEmbeddingBlock.Builder rotary(int headSize) {
        return RotaryEmbeddingBlock.builder().setHeadSize(headSize);
    }

    /** Heads of size 16, at most 100 positions. */
    private static RotaryEmbeddingBlock.Builder builder() {
        return rotary(16).optMaxSequenceLength(100);
    }

    private static RotaryEmbeddingBlock.Builder dynamic() {
        return rotary(16).optScaling(RotaryScaling.dynamicNtk(2, 8, 40));
    }

    private static RotaryEmbeddingBlock.Builder axes() {
        return builder().optAxes(RotaryAxes.of(0, 1, 0, 1, 1, 1, 0, 0));
    }

    private NDArray heads(long... shape) {
        return numbers(manager, 5, DataType.FLOAT32, shape);
    }

    private static NDList rotated(NDManager manager, Block block, NDArray... inputs) {
        return block.forward(new ParameterStore(manager, false), new NDList(inputs), false);
    }

    private static void requireRotated(NDArray actual, NDArray expected) {
        assertThat(actual.getShape()).isEqualTo(expected.getShape());
        requireClose(actual, doubles(expected), FLOAT);
    }

    /** RoFormer: at position p, pair k of r / 2 is turned by p · 10000^(-2k/r). */
    @Test
    void turnsEachPairByItsFrequencyTimesThePosition() {
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 1, 3, 6);
        double[] numbers = x.toDoubleArray();
        double[] expected = new double[18];
        for (int i = 0; i < 18; i += 2) {
            double angle = (7 + i / 6) * Math.pow(10_000, -(i % 6) / 6.0);
            expected[i] = numbers[i] * Math.cos(angle) - numbers[i + 1] * Math.sin(angle);
            expected[i + 1] = numbers[i + 1] * Math.cos(angle) + numbers[i] * Math.sin(angle);
        }
        requireClose(inferFrom(manager, 7, rotary(6).build(), x), expected, 1e-14);
    }

    /** The cosine and the sine of 2.5 by mpmath, and the nearest floats. */
    @Test
    void takesRealPositionsOfEitherSign() {
        NDArray unit = reals(manager, 1, 0, 0, 0).reshape(1, 1, 1, 4);
        NDArray after = infer(manager, rotary(4).build(), unit, reals(manager, 2.5));
        requireClose(after.get("0, 0, 0"), new double[] {-0.8011436155469337, 0.5984721441039565, 0, 0}, 0x1p-25);
        NDArray before = infer(manager, rotary(4).build(), unit, reals(manager, -2.5));
        requireClose(before.get("0, 0, 0"), new double[] {-0.8011436155469337, -0.5984721441039565, 0, 0}, 0x1p-25);
    }

    /** The product of a query and a key depends on the distance of their positions only. */
    @Test
    void scoresDependOnDistances() {
        RotaryEmbeddingBlock block = rotary(8).build();
        NDArray queries = numbers(manager, 1, DataType.FLOAT64, 1, 2, 5, 8);
        NDArray keys = numbers(manager, 2, DataType.FLOAT64, 1, 2, 5, 8);
        NDArray near = scores(rotated(manager, block, queries, keys));
        NDArray late = manager.arange(1000, 1005);
        requireClose(scores(rotated(manager, block, queries, keys, late)), doubles(near), 1e-12);
    }

    private static NDArray scores(NDList rotated) {
        return rotated.get(0).matMul(rotated.get(1).transpose(0, 1, 3, 2));
    }

    @Test
    void rotatesQueriesAndKeysTogetherAsOneByOne() {
        RotaryEmbeddingBlock block = builder().build();
        NDArray keys = heads(2, 1, 5, 16);
        NDArray positions = integers(manager, 4, 3, 2, 1, 0);
        // four heads of queries, or none
        for (NDArray queries : List.of(heads(2, 4, 5, 16), manager.create(new Shape(2, 0, 5, 16)))) {
            NDList both = rotated(manager, block, queries, keys);
            requireRotated(both.get(0), infer(manager, block, queries));
            requireRotated(both.get(1), infer(manager, block, keys));
            NDList positioned = rotated(manager, block, queries, keys, positions);
            requireRotated(positioned.get(0), infer(manager, block, queries, positions));
            requireRotated(positioned.get(1), infer(manager, block, keys, positions));
        }
    }

    /** The last dimensions, or a share of them; the reference is src/test/python/make_rotary.py. */
    @Test
    void rotatesAPartOfAHeadAsPublishedCode() {
        Map.of(
                        "deepseek",
                        builder().setHeadSize(192).optRotaryStart(128),
                        "proportional",
                        builder()
                                .setHeadSize(32)
                                .optFrequencies(Frequencies.proportional(32, 0.25, 1e6, 8))
                                .optLayout(PairLayout.CONCATENATED))
                .forEach((name, builder) -> {
                    NDArray y = infer(manager, builder.build(), stored(manager, name + ".input"));
                    requireClose(y, stored(manager, name + ".output").toDoubleArray(), 1e-14);
                });
    }

    @ParameterizedTest
    @EnumSource(names = {"INTERLEAVED", "CONCATENATED"})
    void aPartOfAHeadHasTheFrequenciesOfItsSize(PairLayout layout) {
        NDArray x = heads(2, 3, 5, 16);
        RotaryEmbeddingBlock four = rotary(4).optLayout(layout).build();
        RotaryEmbeddingBlock middle =
                rotary(16).optRotaryStart(6).optRotarySize(4).optLayout(layout).build();
        NDArray y = infer(manager, middle, x);
        requireRotated(y.get("..., 6:10"), infer(manager, four, x.get("..., 6:10")));
        requireRotated(y.get("..., :6"), x.get("..., :6"));
        requireRotated(y.get("..., 10:"), x.get("..., 10:"));
        assertThat(middle.getHeadSize()).isEqualTo(16);
        assertThat(middle.getRotarySize()).isEqualTo(4);
        RotaryEmbeddingBlock last =
                rotary(16).optRotaryStart(12).optLayout(layout).build();
        requireRotated(infer(manager, last, x).get("..., 12:"), infer(manager, four, x.get("..., 12:")));
        assertThat(last.getRotarySize()).isEqualTo(4);
    }

    /** Of three pairs, the second does not turn; dimensions after the pairs stay. */
    @Test
    void aFrequencyOfZeroDoesNotRotate() {
        NDArray x = heads(2, 3, 5, 16);
        RotaryEmbeddingBlock block =
                rotary(16).optFrequencies(Frequencies.of(1, 0, 0.5)).build();
        NDArray y = inferFrom(manager, 3, block, x);
        requireSame(y.get("..., 2:4"), x.get("..., 2:4"));
        requireSame(y.get("..., 6:"), x.get("..., 6:"));
        assertThat(doubles(y.get("..., 4:6"))).isNotEqualTo(doubles(x.get("..., 4:6")));
    }

    static Stream<Supplier<RotaryEmbeddingBlock.Builder>> tables() {
        return Stream.of(
                RotaryEmbeddingBlockTest::builder,
                RotaryEmbeddingBlockTest::dynamic,
                RotaryEmbeddingBlockTest::axes,
                () -> builder().optLayout(PairLayout.CONCATENATED).optScaling(RotaryScaling.yarn(16, 4096)),
                () -> builder().optLayout(PairLayout.CONCATENATED_HALVES),
                () -> builder().optRotarySize(16).optFrequencies(Frequencies.geometric(16, 100, 9)),
                () -> axes().optAxes(RotaryAxes.sections(3, 9, 4)));
    }

    /** One position for all sequences, or one for each, of any type. */
    @ParameterizedTest
    @MethodSource("tables")
    void explicitPositionsAreThoseOfAStartPosition(Supplier<RotaryEmbeddingBlock.Builder> builder) {
        RotaryEmbeddingBlock block = builder.get().build();
        NDArray x = heads(2, 3, 5, 16);
        NDArray expected = inferFrom(manager, 5, block, x);
        NDArray positions = integers(manager, 5, 6, 7, 8, 9);
        for (DataType type : List.of(DataType.INT32, DataType.INT64, DataType.FLOAT32, DataType.FLOAT64)) {
            NDArray typed = positions.toType(type, false);
            requireRotated(infer(manager, block, x, typed), expected);
            requireRotated(infer(manager, block, x, typed.reshape(1, 5).repeat(0, 2)), expected);
        }
    }

    /** The angles are those of real positions of the same numbers. */
    @ParameterizedTest
    @MethodSource("tables")
    void takesNegativeIntegers(Supplier<RotaryEmbeddingBlock.Builder> builder) {
        RotaryEmbeddingBlock block = builder.get().build();
        NDArray x = heads(2, 3, 5, 16);
        NDArray one = integers(manager, -5, 0, 39, -1, -39);
        NDArray each = NDArrays.concat(new NDList(one, one.flip(0).neg())).reshape(2, 5);
        requireSigned(block, x, one);
        requireSigned(block, x, each);
        if (block.getAxes() != null) {
            int axes = block.getAxes().axisCount();
            requireSigned(
                    block,
                    x,
                    each.expandDims(0)
                            .repeat(0, axes)
                            .mul(integers(manager, 1, -1, 0).get(":" + axes).reshape(axes, 1, 1)));
        }
    }

    private void requireSigned(RotaryEmbeddingBlock block, NDArray x, NDArray positions) {
        NDArray expected = infer(manager, block, x, positions.toType(DataType.FLOAT64, true));
        for (DataType type : List.of(DataType.INT32, DataType.INT64)) {
            requireRotated(infer(manager, block, x, positions.toType(type, true)), expected);
        }
    }

    /** The cosine and the sine of -3 in double. */
    @Test
    void turnsBackAtNegativeIntegers() {
        NDArray unit = reals(manager, 1, 0, 0, 0).reshape(1, 1, 1, 4);
        NDArray y = infer(manager, rotary(4).build(), unit, integers(manager, -3));
        requireClose(y.get("0, 0, 0"), new double[] {Math.cos(3), -Math.sin(3), 0, 0}, 0x1p-24);
    }

    /** Only the distances matter. */
    @Test
    void anAttentionMayCountFromANegativePosition() {
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(32)
                .setHeadCount(2)
                .optCausal(true)
                .optRelativeEncoding(builder().build())
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 32));
        NDArray x = heads(2, 7, 32);
        NDArray centered = integers(manager, -4, -3, -2, -1, 0, 1, 2);
        // scores are sums of 16 products, after rotations of other angles
        requireClose(inferAt(manager, centered, attention, x), doubles(infer(manager, attention, x)), 1e-5);
    }

    /** On a GPU, integers are not read, and a position out of range has a row of NaN. */
    @Test
    void takesNegativeIntegersOnAGpu() {
        RotaryEmbeddingBlock block = ten().build();
        onASimulatedGpu(gpu -> {
            NDArray x = gpu.ones(new Shape(1, 1, 4, 4));
            NDArray y = infer(gpu, block, x, integers(gpu, -9, -10, 10, 9));
            double cos = Math.cos(9);
            double sin = Math.sin(9);
            assertThat(doubles(y.get("0, 0, :, :2")))
                    .usingComparatorWithPrecision(1e-6)
                    .containsExactly(
                            cos + sin, cos - sin, Double.NaN, Double.NaN, Double.NaN, Double.NaN, cos - sin, cos + sin);
        });
    }

    /** A frequency of a dimension turns only this dimension; the same of both is a rotation. */
    @ParameterizedTest
    @EnumSource
    void dimensionsMayHaveFrequenciesOfTheirOwn(PairLayout layout) {
        NDArray x = heads(2, 3, 5, 16);
        double[] ofPairs = {1, 0.5, 0.25, 0.125, 2, 0.75};
        double[] ofDimensions = new double[12];
        double[] ofFirst = new double[12];
        for (int pair = 0; pair < 6; pair++) {
            ofDimensions[layout.firstIndex(pair, 6)] = ofPairs[pair];
            ofDimensions[layout.secondIndex(pair, 6)] = ofPairs[pair];
            ofFirst[layout.firstIndex(pair, 6)] = ofPairs[pair];
        }
        NDArray expected = inferFrom(
                manager,
                3,
                builder()
                        .optLayout(layout)
                        .optFrequencies(Frequencies.of(ofPairs))
                        .build(),
                x);
        RotaryEmbeddingBlock.Builder same = builder().optLayout(layout).optRotarySize(12);
        requireRotated(
                inferFrom(
                        manager,
                        3,
                        same.optFrequencies(Frequencies.of(ofDimensions)).build(),
                        x),
                expected);
        NDArray first = inferFrom(
                manager, 3, same.optFrequencies(Frequencies.of(ofFirst)).build(), x);
        for (int dimension = 0; dimension < 16; dimension++) {
            boolean turns = dimension < 12 && ofFirst[dimension] != 0;
            requireRotated(first.get("..., {}", dimension), (turns ? expected : x).get("..., {}", dimension));
        }
    }

    /** Hunyuan-VL's: in a pair (k, k + 8), the first dimension turns by axis k / 4 and the second by axis k / 4 + 2. */
    @Test
    void dimensionsMayHaveAxesOfTheirOwn() {
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 1, 1, 16);
        double[] numbers = x.toDoubleArray();
        double[] expected = new double[16];
        int[] position = {3, -1, 7, 50};
        for (int i = 0; i < 16; i++) {
            double angle = position[i / 4] * Math.pow(10_000, -(i % 8) / 8.0);
            expected[i] = numbers[i] * Math.cos(angle) + (i < 8 ? -numbers[i + 8] : numbers[i - 8]) * Math.sin(angle);
        }
        RotaryEmbeddingBlock block = builder()
                .optLayout(PairLayout.CONCATENATED)
                .optAxes(RotaryAxes.sections(4, 4, 4, 4))
                .build();
        NDArray positions = manager.create(position).reshape(4, 1, 1);
        requireClose(infer(manager, block, x, positions), expected, 1e-14);
        requireClose(infer(manager, block, x, positions.toType(DataType.FLOAT64, true)), expected, 1e-14);
    }

    @Test
    void rejectsAnglesOfNeitherPairsNorDimensions() {
        Frequencies eight = Frequencies.geometric(8, 100, 8);
        assertAll(
                rejected(() -> builder().optAxes(RotaryAxes.sections(4, 8)).build(), "12 pairs", "8 pairs", 16),
                rejected(() -> builder().optRotarySize(12).optFrequencies(eight).build(), "rotarySize 12", "8 freq"),
                rejected(
                        () -> builder()
                                .optAxes(RotaryAxes.sections(8, 8))
                                .optXpos(512)
                                .build(),
                        "xpos 512.0",
                        16),
                rejected(
                        () -> builder()
                                .optRotarySize(8)
                                .optFrequencies(eight)
                                .optXpos(512)
                                .build(),
                        "xpos 512.0",
                        8));
    }

    @Test
    void eachSequenceMayHaveItsPositions() {
        NDArray x = heads(2, 3, 5, 16);
        NDArray positions = manager.create(new int[][] {{0, 1, 2, 3, 4}, {90, 91, 92, 93, 94}});
        RotaryEmbeddingBlock block = rotary(16).build();
        NDArray y = infer(manager, block, x, positions);
        requireRotated(y.get(":1"), infer(manager, block, x.get(":1")));
        requireRotated(y.get("1:"), inferFrom(manager, 90, block, x.get("1:")));
    }

    @Test
    void aTableMayGrow() {
        NDArray x = heads(2, 3, 5, 16);
        NDArray expected = inferFrom(manager, 597, rotary(16).build(), x);
        NDArray positions = integers(manager, 597, 598, 599, 600, 601);
        Supplier<RotaryEmbeddingBlock> growing =
                () -> rotary(16).optMaxSequenceLength(4).optAutoExtend(602).build();
        requireRotated(infer(manager, growing.get(), x, positions), expected);
        requireRotated(inferFrom(manager, 597, growing.get(), x), expected);
        NDArray negative = positions.neg();
        requireRotated(
                infer(manager, growing.get(), x, negative),
                infer(manager, rotary(16).build(), x, negative.toType(DataType.FLOAT64, true)));
    }

    @Test
    void aSequenceMayBeEmpty() {
        NDArray y = infer(manager, rotary(16).build(), zeros(manager, 2, 3, 0, 16));
        assertThat(y.getShape()).isEqualTo(new Shape(2, 3, 0, 16));
    }

    @Test
    void theSequenceMayBeOnTheSecondAxis() {
        NDArray x = heads(2, 3, 5, 16);
        NDArray steps = x.transpose(0, 2, 1, 3);
        for (Supplier<RotaryEmbeddingBlock.Builder> builder : List.<Supplier<RotaryEmbeddingBlock.Builder>>of(
                RotaryEmbeddingBlockTest::builder, RotaryEmbeddingBlockTest::dynamic)) {
            RotaryEmbeddingBlock first = builder.get().optSequenceAxis(1).build();
            NDArray expected = inferFrom(manager, 7, builder.get().build(), x);
            requireRotated(inferFrom(manager, 7, first, steps), expected.transpose(0, 2, 1, 3));
            NDArray positions = manager.create(new int[][] {{4, 3, 2, 1, 0}, {5, 6, 7, 8, 9}});
            requireRotated(
                    infer(manager, first, steps, positions).get("1"),
                    inferFrom(manager, 5, first, steps).get("1"));
        }
    }

    /** More than the 2 MB that are rotated at a time. */
    @Test
    void aLongSequenceMayBeOnTheSecondAxis() {
        NDArray steps = heads(3, 4000, 7, 16);
        RotaryEmbeddingBlock block =
                rotary(16).optLayout(PairLayout.CONCATENATED).build();
        RotaryEmbeddingBlock first =
                rotary(16).optLayout(PairLayout.CONCATENATED).optSequenceAxis(1).build();
        NDArray expected = infer(manager, block, steps.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3);
        requireRotated(infer(manager, first, steps), expected);
    }

    static Stream<RotaryScaling> scalings() {
        List<Double> shortFactors = List.of(1.0, 2.0);
        List<Double> longFactors = List.of(3.0, 4.0);
        return Stream.of(
                RotaryScaling.none(),
                new RotaryScaling.LongRope(shortFactors, longFactors, 100, 400, 1.0, 1.0, 100),
                new RotaryScaling.LongRope(shortFactors, longFactors, 100, 400, 1.0, 1.0, 400),
                RotaryScaling.dynamicNtk(2, 2048, 2048),
                RotaryScaling.dynamicNtk(2, 2048, 8192));
    }

    /** RotaryScalingTest has their numbers. */
    @ParameterizedTest
    @MethodSource("scalings")
    void hasTheFrequenciesOfItsScaling(RotaryScaling scaling) {
        NDArray x = heads(1, 2, 3, 4);
        RotaryEmbeddingBlock scaled = rotary(4).optScaling(scaling).build();
        RotaryEmbeddingBlock same =
                rotary(4).optFrequencies(scaling.frequencies(4, 10_000)).build();
        requireRotated(inferFrom(manager, 3, scaled, x), inferFrom(manager, 3, same, x));
        assertThat(scaled.getScaling()).isEqualTo(scaling);
        assertThat(same.getScaling()).isEqualTo(RotaryScaling.none());
    }

    /** YaRN's 0.1 ln 16 + 1; at position 0, nothing turns. */
    @Test
    void multipliesByTheAttentionFactorOfItsScaling() {
        RotaryEmbeddingBlock block =
                rotary(16).optScaling(RotaryScaling.yarn(16, 4096)).build();
        NDArray y = infer(manager, block, manager.ones(new Shape(1, 1, 1, 16), DataType.FLOAT64));
        assertThat(y.toDoubleArray()).hasSize(16).containsOnly(1.2772588722239782);
    }

    @Test
    void scoresWithXposAreThoseOfThePublishedCode() {
        // reference: src/test/python/make_rotary.py, whose positions are centered
        NDArray queries = stored(manager, "xpos.queries");
        NDArray keys = stored(manager, "xpos.keys");
        double[] expected = stored(manager, "xpos.scores").toDoubleArray();
        RotaryEmbeddingBlock block = builder().optXpos(5).build();
        NDArray late = manager.arange(90, 97);
        NDArray real = late.toType(DataType.FLOAT64, true).sub(95.5);
        // sums of 16 products of numbers up to 8, whose scales differ by up to (7/2)^(97/5) · 2^-52 at late positions
        requireClose(scores(rotated(manager, block, queries, keys)), expected, 1e-12);
        requireClose(scores(rotated(manager, block, queries, keys, late)), expected, 1e-12);
        requireClose(scores(rotated(manager, block, queries, keys, real)), expected, 1e-12);
    }

    @Test
    void anAttentionsPositionsAreThoseOfAForward() {
        NDArray x = heads(2, 1, 3, 16);
        NDArray ragged = manager.create(new int[][] {{4, 9, 0}, {30, 2, 3}});
        NDArray onAxes = NDArrays.stack(new NDList(ragged, ragged.flip(1)));
        for (RotaryEmbeddingBlock.Builder builder : List.of(
                builder(), axes(), axes().optXpos(512), axes().optScaling(RotaryScaling.dynamicNtk(2, 8, 40)))) {
            RotaryEmbeddingBlock block = builder.build();
            for (NDArray positions : block.getAxes() == null ? List.of(ragged) : List.of(ragged, onAxes)) {
                NDArray reals = positions.toType(DataType.FLOAT64, true);
                for (NDArray given : List.of(positions, reals)) {
                    Positions tokens = Positions.of(7, 3).with(given, 31);
                    AttentionCall call = TestNumbers.call(manager, tokens);
                    NDList expected = rotated(manager, block, x, x, given);
                    requireRotated(TestNumbers.rotated(block, call, x, false), expected.get(0));
                    requireRotated(TestNumbers.rotated(block, call, x, true), expected.get(1));
                }
            }
        }
    }

    @Test
    void hasTheDefaultsOfRoFormer() {
        RotaryEmbeddingBlock block = rotary(4).build();
        assertThat(block.getArguments())
                .isEqualTo(Map.of(
                        "type", "RotaryEmbeddingBlock",
                        "headSize", 4,
                        "rotaryStart", 0,
                        "rotarySize", 4,
                        "base", 10_000.0,
                        "layout", "INTERLEAVED",
                        "scaling", Map.of("type", "None"),
                        "sequenceAxis", 2,
                        "maxSequenceLength", 5000));
        assertThat(block.getHeadSize()).isEqualTo(4);
        assertThat(block.getRotarySize()).isEqualTo(4);
        assertThat(block.getScaling()).isEqualTo(RotaryScaling.none());
        assertThat(block.getAxes()).isNull();
        assertThat(axes().build().getAxes()).isEqualTo(RotaryAxes.of(0, 1, 0, 1, 1, 1, 0, 0));
    }

    @Test
    void rejectsARotarySizeThatIsOddOrLargerThanTheHead() {
        assertAll(
                rejected(rotary(7).optRotarySize(7)::build, "rotarySize 7", "headSize 7"),
                rejected(rotary(4).optRotarySize(6)::build, "rotarySize 6", "headSize 4"),
                rejected(rotary(4).optRotarySize(0)::build, "rotarySize 0", "headSize 4"),
                rejected(rotary(4).optRotaryStart(2).optRotarySize(4)::build, "rotaryStart 2", "rotarySize 4"),
                rejected(rotary(6).optLayout(PairLayout.CONCATENATED_HALVES)::build, 6, "CONCATENATED_HALVES", 4));
    }

    @Test
    void rejectsFrequenciesBesideOtherOptionsOfThem() {
        Supplier<RotaryEmbeddingBlock.Builder> two = () -> rotary(8).optFrequencies(Frequencies.of(1, 0.5));
        RotaryScaling four = RotaryScaling.longRope(new double[] {1, 1}, new double[] {2, 2}, 100, 200, 200);
        assertAll(
                rejected(two.get().optBase(500)::build, "frequencies", "base 500.0"),
                rejected(two.get().optScaling(RotaryScaling.linear(2))::build, "frequencies", "factor=2.0"),
                rejected(two.get().optRotarySize(6)::build, "rotarySize 6", "2 frequencies"),
                rejected(two.get().setHeadSize(2)::build, "rotarySize 4", "headSize 2"),
                rejected(rotary(8).optScaling(four)::build, "2 LongRoPE factors", "rotary size 8", 4),
                rejected(rotary(8).optAxes(RotaryAxes.of(0, 1))::build, "2 pairs", "rotarySize 8", 4));
    }

    @Test
    void rejectsABaseOrALengthOutOfRange() {
        assertAll(
                rejected(rotary(4).optBase(0.5)::build, "base 0.5"),
                rejected(rotary(4).optXpos(0)::build, "xpos 0.0"),
                rejected(rotary(4).optSequenceAxis(3)::build, "sequenceAxis 3"),
                rejected(rotary(4).optMaxSequenceLength(0)::build, "maxSequenceLength 0"),
                rejected(rotary(4).optMaxSequenceLength(-1)::build, "maxSequenceLength -1"),
                rejected(rotary(4).optMaxSequenceLength(10).optAutoExtend(9)::build, "autoExtend 9", "10 to"));
    }

    @Test
    void rejectsAnAttentionOfAnotherHeadSize() {
        RotaryEmbeddingBlock block = rotary(8).build();
        assertAll(rejected(() -> block.requireFits(2, 2, 4, 8), "headSize 8", "setHeadSize(4)", block));
    }

    /** Heads of size 4, positions 0 to 9. */
    private static RotaryEmbeddingBlock.Builder ten() {
        return rotary(4).optMaxSequenceLength(10);
    }

    private static RotaryEmbeddingBlock.Builder xpos() {
        return rotary(4).optXpos(512);
    }

    private static Stream<Executable> rejectedShapes(NDManager manager) {
        RotaryEmbeddingBlock block = ten().build();
        NDArray sequence = zeros(manager, 2, 3, 4);
        NDArray wide = zeros(manager, 1, 2, 3, 6);
        NDArray x = zeros(manager, 1, 2, 3, 4);
        NDArray integers = zeros(manager, DataType.INT32, 1, 2, 3, 4);
        NDArray longer = zeros(manager, 1, 2, 5, 4);
        NDArray doubles = zeros(manager, DataType.FLOAT64, 1, 2, 3, 4);
        RotaryEmbeddingBlock growing =
                rotary(4).optMaxSequenceLength(4).optAutoExtend(10).build();
        RotaryEmbeddingBlock scaled = xpos().build();
        NDArray half = zeros(manager, DataType.FLOAT16, 1, 2, 3, 4);
        NDArray positions = integers(manager, 0, 1, 2);
        return Stream.of(
                rejectedWithoutLeak(manager, () -> infer(manager, block, sequence), "(2, 3, 4)", "(B, N, T, 4)"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, wide), "(1, 2, 3, 6)", "(B, N, T, 4)"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, integers), "(1, 2, 3, 4)", "int32"),
                rejectedWithoutLeak(
                        manager,
                        () -> infer(manager, block, x, longer),
                        "queries (1, 2, 3, 4) float32",
                        "keys (1, 2, 5, 4) float32"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, x, doubles), "queries (1, 2, 3, 4) float32", "float64"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, x, x), 3, "[queries, keys]"),
                rejectedWithoutLeak(
                        manager, () -> inferFrom(manager, 8, block, x), "length 3", "position 8", 10, "(11)"),
                rejectedWithoutLeak(manager, () -> inferFrom(manager, 8, growing, x), "length 3", "position 8", 10),
                rejectedWithoutLeak(manager, () -> infer(manager, scaled, x), scaled, "[queries, keys]"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, scaled, x, positions), "xpos=512.0", "[queries, keys]"),
                rejectedWithoutLeak(manager, () -> infer(manager, scaled, half, half), "FLOAT16", 3966));
    }

    private static Stream<Executable> rejectedPositions(NDManager manager) {
        RotaryEmbeddingBlock block = ten().build();
        RotaryEmbeddingBlock axes = ten().optAxes(RotaryAxes.of(0, 1)).build();
        RotaryEmbeddingBlock growing =
                rotary(4).optMaxSequenceLength(4).optAutoExtend(10).build();
        NDArray x = zeros(manager, 1, 2, 3, 4);
        NDArray batch = zeros(manager, 2, 1, 3, 4);
        NDArray two = integers(manager, 0, 1);
        NDArray ten = integers(manager, 0, 10, 1);
        NDArray one = zeros(manager, DataType.INT32, 1, 2, 3);
        NDArray none = zeros(manager, DataType.INT32, 0, 2, 3);
        NDArray three = zeros(manager, DataType.INT32, 3, 1, 3);
        NDArray shorter = zeros(manager, DataType.INT32, 2, 1, 2);
        return Stream.of(
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, two), "(2)", "(1, 2, 3, 4)", "(1, 3)"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, batch, one), "(1, 2, 3)", "(T) or (B, T)"),
                rejectedWithoutLeak(manager, () -> infer(manager, block, batch, none), "(0, 2, 3)", "(T) or (B, T)"),
                rejectedWithoutLeak(manager, () -> infer(manager, axes, batch, one), "(1, 2, 3)", "2 coordinates"),
                rejectedWithoutLeak(manager, () -> infer(manager, axes, batch, three), "(3, 1, 3)", "2 coordinates"),
                rejectedWithoutLeak(manager, () -> infer(manager, axes, batch, shorter), "(2, 1, 2)", "(2, 3)"),
                // a table that may grow reads positions on a GPU too
                rejectedWithoutLeak(manager, () -> infer(manager, growing, x, ten), "position 10", "-9 to 9"));
    }

    @Test
    void rejectsInputsThatAreNoHeadsOrTooLong() {
        assertAll(rejectedShapes(manager));
    }

    @Test
    void rejectsPositionsThatDoNotFitTheTokens() {
        assertAll(rejectedPositions(manager));
    }

    @Test
    void rejectsTheSameCallsOnAGpu() {
        onASimulatedGpu(gpu -> assertAll(Stream.concat(rejectedShapes(gpu), rejectedPositions(gpu))));
    }

    @Test
    void rejectsPositionsOutOfRange() {
        assumeCpu();
        RotaryEmbeddingBlock block = ten().build();
        NDArray x = zeros(manager, 1, 2, 3, 4);
        NDArray ten = integers(manager, 0, 10, 1);
        NDArray undefined = reals(manager, 0, Double.NaN, 1);
        RotaryEmbeddingBlock scaled = xpos().build();
        NDArray negative = integers(manager, 0, 1, -1);
        NDArray below = integers(manager, 0, 1, -10);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(manager, block, x, below), "position -10", "-9 to 9"),
                rejectedWithoutLeak(manager, () -> infer(manager, scaled, x, x, negative), "position -1", "0 to 4999"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, x, ten), "position 10", "index 1 of (3)", "-9 to 9"),
                rejectedWithoutLeak(
                        manager, () -> infer(manager, block, x, undefined), "NaN", "index 1 of (3)", "finite"));
        assertThat(infer(manager, block, x, integers(manager, 0, 9, 1)).getShape())
                .isEqualTo(x.getShape());
    }

    static Stream<RotaryEmbeddingBlock.Builder> limited() {
        return Stream.of(
                ten().optScaling(RotaryScaling.dynamicNtk(2, 8, 40)),
                ten().optAxes(RotaryAxes.of(0, 1)),
                ten().optAxes(RotaryAxes.of(0, 1)).optXpos(512));
    }

    @ParameterizedTest
    @MethodSource("limited")
    void rejectsPositionsOutOfRangeInAnAttention(RotaryEmbeddingBlock.Builder builder) {
        assumeCpu();
        RotaryEmbeddingBlock rotary = builder.build();
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(rotary)
                .build();
        attention.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 8));
        NDArray x = zeros(manager, 2, 3, 8);
        NDArray positions = rotary.getAxes() == null
                ? integers(manager, 0, 10, 2)
                : integers(manager, 0, 1, 2, 0, 10, 2).reshape(2, 1, 3);
        assertAll(
                rejectedWithoutLeak(manager, () -> inferAt(manager, positions, attention, x), "position 10", " to 9"));
    }

    /** With the sequence on axis 1, a shape may be that of an attention, (B, N, T, H), so it is not checked. */
    @Test
    void rejectsAShapeThatIsTooLong() {
        Shape heads = new Shape(1, 2, 11, 4);
        RotaryEmbeddingBlock block = ten().build();
        assertAll(rejected(() -> block.initialize(manager, DataType.FLOAT32, heads), 11, 10));
        assertThat(block.isInitialized()).isFalse();
        RotaryEmbeddingBlock sequenceFirst = ten().optSequenceAxis(1).build();
        sequenceFirst.initialize(manager, DataType.FLOAT32, heads);
        assertThat(sequenceFirst.isInitialized()).isTrue();
    }

    /** The factors of position 3967 exceed the range of FLOAT16; a block remains uninitialized. */
    @Test
    void rejectsATableBeyondTheRangeOfItsType() {
        RotaryEmbeddingBlock block = xpos().build();
        assertAll(rejected(() -> block.initialize(manager, DataType.FLOAT16, new Shape(1, 2, 3, 4)), "FLOAT16", 3966));
        assertThat(block.isInitialized()).isFalse();
        RotaryEmbeddingBlock shorter = xpos().optMaxSequenceLength(3967).build();
        shorter.initialize(manager, DataType.FLOAT16, new Shape(1, 2, 3, 4));
        assertThat(shorter.isInitialized()).isTrue();
    }

    @Test
    void rejectsATableThatNoMachineHasMemoryFor() {
        assumeCpu();
        RotaryEmbeddingBlock block =
                rotary(1024).optMaxSequenceLength(2_000_000_000).build();
        assertAll(rejectedWithoutLeak(
                manager,
                () -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 3, 1024)),
                new Shape(2_000_000_000, 1024),
                8_192_000_000_000L));
    }
}
