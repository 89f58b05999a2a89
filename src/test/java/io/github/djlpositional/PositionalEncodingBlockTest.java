package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Inputs.counted;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallBlocks.embedding;
import static io.github.djlpositional.support.SmallBlocks.initialized;
import static io.github.djlpositional.support.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.util.PairList;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.support.BlockBytes;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The sinusoids of each position, which are added to its token. */
class PositionalEncodingBlockTest extends OnEachEngine {

    private static final SinusoidalEncoding SINUSOIDS = SinusoidalEncoding.vaswani(4);

    /** The highest limit of a table that extends itself. */
    private static final int MAX_LIMIT = 1 << 29;

    /** The rows of positions, D = 4, in FLOAT32. */
    private static double[] encoded(double... positions) {
        double[] rows = new double[4 * positions.length];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = (float) SINUSOIDS.value(positions[i / 4], i % 4);
        }
        return rows;
    }

    private static double[] encodedFrom(int first, int count) {
        return encoded(IntStream.range(first, first + count).asDoubleStream().toArray());
    }

    /** Initialized for inputs (B, T, 4). */
    private PositionalEncodingBlock ready(PositionalEncodingBlock.Builder builder) {
        return initialized(manager, builder.build(), -1, -1, 4);
    }

    private NDArray infer(PositionalEncodingBlock block, NDArray... inputs) {
        return Forward.infer(manager, block, inputs);
    }

    private NDArray inferFrom(int start, PositionalEncodingBlock block, NDArray input) {
        return Forward.inferFrom(manager, start, block, input);
    }

    private static PairList<String, Object> positionsOf(NDArray positions) {
        return Forward.params(PositionalEncodingBlock.POSITIONS, positions);
    }

    // the forward

    /** PE(p, 2i) = sin(p / 10000^(2i / D)) and PE(p, 2i + 1) = cos of the same (Vaswani et al., 2017, section 3.5). */
    @Test
    void addsTheSineAndTheCosineOfEachPosition() {
        NDArray x = counted(manager, 2, 3, 4);
        double[] expected = new double[2 * 3 * 4];
        for (int i = 0; i < expected.length; i++) {
            int position = i / 4 % 3;
            double angle = position / Math.pow(10_000, i % 4 / 2 * 2 / 4.0);
            expected[i] = i + 1 + (i % 2 == 0 ? Math.sin(angle) : Math.cos(angle));
        }
        // numbers up to 25, rounded to FLOAT32
        requireClose(infer(ready(positions()), x), expected, 0x1p-19);
    }

    @Test
    void returnsTheEncodingsWithoutTheInputForABatchOfOne() {
        NDArray y = infer(ready(positions().optAddToInput(false)), counted(manager, 2, 3, 4));
        assertThat(y.getShape()).isEqualTo(new Shape(1, 3, 4));
        assertThat(doubles(y)).isEqualTo(encoded(0, 1, 2));
    }

    @Test
    void startsAtAPosition() {
        assertThat(doubles(inferFrom(7, ready(positions()), zeros(manager, 1, 3, 4))))
                .isEqualTo(encoded(7, 8, 9));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void looksUpThePositionsOfItsSecondInputAndOfAForwardParameter(boolean isAdded) {
        PositionalEncodingBlock block = ready(positions().optAddToInput(isAdded));
        NDArray x = zeros(manager, 2, 3, 4);
        NDArray shared = integers(manager, 4, 0, 9).toType(DataType.INT32, false);
        NDArray one = shared.expandDims(0);
        NDArray each = integers(manager, 4, 0, 9, 1, 2, 3).reshape(2, 3);
        double[] ofShared = isAdded ? encoded(4, 0, 9, 4, 0, 9) : encoded(4, 0, 9);
        double[] ofEach = encoded(4, 0, 9, 1, 2, 3);
        assertThat(doubles(infer(block, x, shared))).isEqualTo(ofShared);
        assertThat(doubles(Forward.infer(manager, block, positionsOf(shared), x)))
                .isEqualTo(ofShared);
        assertThat(doubles(Forward.infer(manager, block, positionsOf(one), x))).isEqualTo(ofShared);
        assertThat(doubles(infer(block, x, each))).isEqualTo(ofEach);
        assertThat(doubles(Forward.infer(manager, block, positionsOf(each), x))).isEqualTo(ofEach);
    }

    /** The sines and cosines of 0.5 and 0.005 by mpmath. */
    @Test
    void computesRealPositions() {
        PositionalEncodingBlock block = ready(positions());
        double[] half = {0.479425538604203, 0.8775825618903728, 0.00499997916669271, 0.9999875000260416};
        // the nearest floats
        requireClose(block.encode(reals(manager, 0.5)), half, 0x1p-25);
        NDArray real = reals(manager, 0, 0.5, 2.25);
        NDArray x = zeros(manager, 1, 3, 4);
        assertThat(doubles(infer(block, x, real))).isEqualTo(encoded(0, 0.5, 2.25));
        assertThat(doubles(Forward.infer(manager, block, positionsOf(real), x))).isEqualTo(encoded(0, 0.5, 2.25));
    }

    @Test
    void encodesPositionsOfAnyShape() {
        PositionalEncodingBlock block = ready(positions());
        NDArray rows = block.encode(integers(manager, 1, 2, 3, 4).reshape(2, 2));
        assertThat(rows.getShape()).isEqualTo(new Shape(2, 2, 4));
        assertThat(doubles(rows)).isEqualTo(encoded(1, 2, 3, 4));
        NDArray real = reals(manager, 1, 2, 3, 4).reshape(2, 2);
        assertThat(doubles(block.encode(real))).isEqualTo(encoded(1, 2, 3, 4));
        NDArray one = block.encode(manager.create(3));
        assertThat(one.getShape()).isEqualTo(new Shape(4));
        assertThat(doubles(one)).isEqualTo(encoded(3));
        assertThat(block.encode(zeros(manager, DataType.INT64, 0, 3)).getShape())
                .isEqualTo(new Shape(0, 3, 4));
    }

    /** The engine computes the limits of more than 64 positions. */
    @ParameterizedTest
    @EnumSource(names = {"INT8", "UINT8", "INT32", "INT64"})
    void acceptsPositionsOfEachIntegerType(DataType type) {
        PositionalEncodingBlock block = ready(positions().optMaxSequenceLength(120));
        PositionalEncodingBlock extending = ready(positions().optAutoExtend(1 << 20));
        for (int count : new int[] {64, 65}) {
            NDArray x = zeros(manager, 1, count, 4);
            NDArray same = zeros(manager, type, count);
            double[] rows = doubles(infer(block, x, same.add(20)));
            assertThat(rows)
                    .isEqualTo(encoded(
                            IntStream.range(0, count).mapToDouble(i -> 20).toArray()));
            double[] extended = doubles(infer(extending, x, same.add(119)));
            assertThat(extended)
                    .isEqualTo(encoded(
                            IntStream.range(0, count).mapToDouble(i -> 119).toArray()));
        }
    }

    @Test
    void hasTheSequenceOnAnotherAxis() {
        PositionalEncodingBlock block = positions().optSequenceAxis(0).build();
        PositionalEncodingBlock returning =
                positions().optSequenceAxis(0).optAddToInput(false).build();
        NDArray rows = manager.create(encoded(0, 1, 2), new Shape(3, 4));
        double[] ofTwo = doubles(rows.expandDims(1).repeat(1, 2));
        assertThat(doubles(infer(block, zeros(manager, 3, 2, 4)))).isEqualTo(ofTwo);
        double[] ofTen = doubles(rows.reshape(3, 1, 1, 4).repeat(1, 2).repeat(2, 5));
        assertThat(doubles(infer(block, zeros(manager, 3, 2, 5, 4)))).isEqualTo(ofTen);
        NDArray later = integers(manager, 5, 6, 7).toType(DataType.INT32, false);
        assertThat(doubles(infer(block, zeros(manager, 3, 2, 4), later))).isEqualTo(encoded(5, 5, 6, 6, 7, 7));
        NDArray each = integers(manager, 5, 1, 6, 2, 7, 3).reshape(3, 2);
        assertThat(doubles(infer(block, zeros(manager, 3, 2, 4), each))).isEqualTo(encoded(5, 1, 6, 2, 7, 3));
        NDArray alone = infer(returning, zeros(manager, 3, 2, 4));
        assertThat(alone.getShape()).isEqualTo(new Shape(3, 1, 4));
        assertThat(doubles(alone)).isEqualTo(encoded(0, 1, 2));
        assertThat(infer(returning, zeros(manager, 0, 2, 4)).getShape()).isEqualTo(new Shape(0, 1, 4));
    }

    // the table

    @Test
    void tableLargerThanOnePieceIsComplete() {
        // 16 MiB, computed in pieces of 8
        PositionalEncodingBlock block =
                positions().setEmbeddingSize(64).optMaxSequenceLength(65_536).build();
        initialized(manager, block, 1, 10, 64);
        assertThat(block.getEncodings().toFloatArray())
                .isEqualTo(SinusoidalEncoding.vaswani(64).table(0, 65_536));
    }

    @Test
    void extendsItselfToTwiceTheLengthOrTheLargestPosition() {
        PositionalEncodingBlock block = ready(positions().optAutoExtend(240));
        assertThat(doubles(infer(block, zeros(manager, 1, 11, 4)))).isEqualTo(encodedFrom(0, 11));
        assertThat(block.maxSequenceLength()).isEqualTo(20);
        assertThat(doubles(inferFrom(100, block, zeros(manager, 1, 2, 4)))).isEqualTo(encoded(100, 101));
        assertThat(block.maxSequenceLength()).isEqualTo(102);
        assertThat(doubles(block.encode(integers(manager, 150)))).isEqualTo(encoded(150));
        assertThat(block.maxSequenceLength()).isEqualTo(204);
        // real positions are computed
        assertThat(doubles(block.encode(reals(manager, 1e6)))).isEqualTo(encoded(1_000_000));
        assertThat(block.maxSequenceLength()).isEqualTo(204);
        // earlier rows keep their values, and shorter sequences do not extend the table
        assertThat(doubles(block.getEncodings())).isEqualTo(encodedFrom(0, 204));
        infer(block, zeros(manager, 1, 204, 4));
        assertThat(block.maxSequenceLength()).isEqualTo(204);
        // twice 204 is beyond the limit
        assertThat(doubles(block.encode(manager.create(204)))).isEqualTo(encoded(204));
        assertThat(block.maxSequenceLength()).isEqualTo(240);
    }

    @Test
    void extendsItselfUpToItsLimit() {
        PositionalEncodingBlock block = ready(positions().optAutoExtend(15));
        NDArray x = zeros(manager, 1, 1, 4);
        assertThat(doubles(inferFrom(14, block, x))).isEqualTo(encoded(14));
        // a real position needs no row
        assertThat(doubles(infer(block, x, reals(manager, 15)))).isEqualTo(encoded(15));
        assertAll(
                rejectedWithoutLeak(manager, () -> inferFrom(15, block, x), "position 15", "15"),
                rejected(() -> infer(block, zeros(manager, 1, 16, 4)), "length 16", "15"),
                rejected(() -> infer(block, x, integers(manager, 15)), "position 15", "0 to 14"),
                rejected(() -> block.encode(integers(manager, 15)), "position 15", "0 to 14"));
    }

    /** EveryForwardTest has the test that other blocks drop numbers. */
    @Test
    void dropsTheShareOfItsRate() {
        Block block = positions()
                .setEmbeddingSize(64)
                .optMaxSequenceLength(100)
                .optDropoutRate(0.5f)
                .build();
        Block input = initialized(
                manager, embedding().setEmbeddingSize(64).optDropoutRate(0.9f).build(), 8, 100);
        NDArray x = manager.ones(new Shape(8, 100, 64)).mul(10);
        // 51,200 draws: six standard deviations are 0.0133 and 0.008
        assertThat(SmallBlocks.dropped(manager, block, x)).isCloseTo(0.5, within(0.0133));
        NDArray ids = manager.ones(new Shape(8, 100), DataType.INT64);
        assertThat(SmallBlocks.dropped(manager, input, ids)).isCloseTo(0.9, within(0.008));
    }

    // rejections

    private Executable rejectedInput(PositionalEncodingBlock block, NDArray input, Object... values) {
        return rejectedWithoutLeak(manager, () -> infer(block, input), values);
    }

    @Test
    void rejectsInputsOfOtherShapes() {
        PositionalEncodingBlock block = positions().build();
        NDArray x = zeros(manager, 1, 3, 4);
        assertAll(
                rejectedInput(block, zeros(manager, 4), "rank 1", "rank 2", "expandDims"),
                rejectedInput(block, zeros(manager), "rank 0"),
                rejectedInput(block, zeros(manager, 2, 3, 6), "width 6", 4, "setEmbeddingSize(6)"),
                rejectedWithoutLeak(manager, () -> infer(block), "0 inputs"),
                rejectedWithoutLeak(manager, () -> infer(block, x, x, x), "3 inputs"));
    }

    @ParameterizedTest
    @EnumSource(names = {"INT32", "INT64", "UINT8", "BOOLEAN"})
    void rejectsInputsThatAreNotReal(DataType type) throws Throwable {
        rejectedInput(positions().build(), zeros(manager, type, 1, 3, 4), "data type", "float16, float32 or float64")
                .execute();
    }

    @Test
    void rejectsAnotherDataTypeThanThatOfItsScale() {
        PositionalEncodingBlock block = ready(positions().optLearnedScale(1));
        assertAll(
                rejected(
                        () -> infer(block, zeros(manager, DataType.FLOAT64, 1, 3, 4)),
                        "float64",
                        "float32",
                        "learned scale"),
                rejected(
                        () -> block.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 4)),
                        "scale",
                        "float32",
                        "float64",
                        "clear()"));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, -4})
    void rejectsASequenceAxisThatTheInputDoesNotHave(int axis) throws Throwable {
        PositionalEncodingBlock block = positions().optSequenceAxis(axis).build();
        rejectedInput(block, zeros(manager, 2, 3, 4), "axis " + axis, "0 to 1", "-2 to -3")
                .execute();
    }

    @Test
    void rejectsSequencesThatAreTooLong() {
        PositionalEncodingBlock block = positions().build();
        NDArray x = zeros(manager, 1, 3, 4);
        assertAll(
                rejectedInput(block, zeros(manager, 1, 11, 4), "length 11", "position 0", "maximum 10"),
                rejectedWithoutLeak(
                        manager,
                        () -> inferFrom(8, block, x),
                        "length 3",
                        "position 8",
                        "maximum 10",
                        "optMaxSequenceLength(11)"));
    }

    private ThrowingCallable from(Object start, PositionalEncodingBlock block, NDArray x) {
        return () -> Forward.inferFrom(manager, start, block, x);
    }

    @Test
    void rejectsStartPositionsOutOfRangeOrOfOtherTypes() {
        PositionalEncodingBlock block = positions().build();
        PositionalEncodingBlock extending = positions().optAutoExtend(MAX_LIMIT).build();
        NDArray x = zeros(manager, 1, 3, 4);
        assertAll(Stream.of(-1, Integer.MIN_VALUE, 11, Long.MAX_VALUE)
                .map(start ->
                        rejectedWithoutLeak(manager, from(start, block, x), "startPosition " + start, "0 to 10")));
        assertAll(
                rejectedWithoutLeak(manager, from(1.5, block, x), "Double", "Integer", "Long"),
                rejectedWithoutLeak(manager, from("3", block, x), "String", "Integer", "Long"),
                rejectedWithoutLeak(manager, from(new int[] {3, 4}, block, x), "int[] [3, 4]", "Integer"),
                rejectedWithoutLeak(manager, from(1L << 40, extending, x), "startPosition 1099511627776", MAX_LIMIT),
                rejectedWithoutLeak(
                        manager,
                        from(MAX_LIMIT - 1, extending, x),
                        "length 3",
                        "position " + (MAX_LIMIT - 1),
                        MAX_LIMIT),
                rejectedWithoutLeak(manager, from(-1, extending, x), "startPosition -1"));
    }

    private Executable rejectedPositions(PositionalEncodingBlock block, NDArray positions, Object... values) {
        NDArray x = zeros(manager, 1, positions.getShape().get(0), 4);
        return rejectedWithoutLeak(manager, () -> infer(block, x, positions), values);
    }

    @Test
    void rejectsPositionsOutOfRangeOnACpu() {
        assumeCpu();
        PositionalEncodingBlock block = positions().build();
        PositionalEncodingBlock extending = positions().optAutoExtend(MAX_LIMIT).build();
        assertAll(
                rejectedPositions(block, integers(manager, 0, 10, 1), "position 10 at index 1", "0 to 9"),
                rejectedPositions(
                        block, integers(manager, 0, 1, -1).toType(DataType.INT32, false), "position -1 at index 2"),
                rejectedPositions(block, reals(manager, 0, 1, Double.NaN), "position NaN at index 2", "finite"),
                rejectedPositions(block, reals(manager, 0, 1, Double.POSITIVE_INFINITY), "position Infinity"),
                rejectedPositions(block, reals(manager, 0, 1, Double.NEGATIVE_INFINITY), "position -Infinity"),
                rejectedPositions(block, manager.create(new double[] {0, 0.5, -0.5}), "position -0.5", "0 or more"),
                rejectedPositions(extending, integers(manager, 0, MAX_LIMIT, 2), "position 536870912 at index 1"),
                rejectedPositions(extending, integers(manager, -1), "position -1 at index 0"));
    }

    /** The engine computes the limits of more than 64 positions. */
    @ParameterizedTest
    @EnumSource(names = {"INT8", "UINT8", "INT32", "INT64"})
    void rejectsManyPositionsOutOfRangeOnACpu(DataType type) {
        assumeCpu();
        PositionalEncodingBlock block = positions().build();
        NDArray same = zeros(manager, type, 65);
        assertAll(rejectedPositions(block, same.add(120), "position 120 at index 0", "0 to 9"), () -> {
            if (type != DataType.UINT8) {
                rejectedPositions(block, same.sub(1), "position -1 at index 0", "0 to 9")
                        .execute();
            }
        });
    }

    @Test
    void rejectsPositionsToEncodeOutOfRangeOnACpu() {
        assumeCpu();
        PositionalEncodingBlock block = ready(positions());
        NDArray tooLarge = integers(manager, 10);
        NDArray notFinite = reals(manager, 0, 1, Double.NaN);
        NDArray negative = manager.create(new double[] {0, 0.5, -0.5});
        assertAll(
                rejectedWithoutLeak(manager, () -> block.encode(tooLarge), "position 10", "0 to 9"),
                rejectedWithoutLeak(manager, () -> block.encode(notFinite), "position NaN at index 2", "finite"),
                rejectedWithoutLeak(manager, () -> block.encode(negative), "position -0.5", "RotaryEmbeddingBlock"));
    }

    @Test
    void rejectsPositionsOfOtherShapesAndTypes() {
        PositionalEncodingBlock block = positions().build();
        NDArray x = zeros(manager, 2, 3, 4);
        Stream<Executable> shapes = Stream.of(
                        new Shape(), new Shape(2), new Shape(4), new Shape(3, 3), new Shape(3, 2), new Shape(2, 3, 1))
                .map(shape -> {
                    NDArray positions = zeros(manager, DataType.INT64, shape.getShape());
                    return rejectedWithoutLeak(
                            manager, () -> infer(block, x, positions), shape, new Shape(3), new Shape(2, 3));
                });
        assertAll(shapes);
        NDArray matrix = zeros(manager, 3, 4);
        NDArray ofMatrix = zeros(manager, DataType.INT64, 3, 3);
        NDArray mask = zeros(manager, DataType.BOOLEAN, 2, 3);
        assertAll(
                rejectedWithoutLeak(manager, () -> infer(block, matrix, ofMatrix), new Shape(3, 3), new Shape(3)),
                rejectedWithoutLeak(manager, () -> infer(block, x, mask), "positions", "boolean", "mask"));
    }

    @Test
    void rejectsPositionsThatAreGivenTwice() {
        PositionalEncodingBlock block = positions().build();
        NDArray x = zeros(manager, 2, 3, 4);
        NDArray positions = integers(manager, 0, 1, 2);
        PairList<String, Object> start = Forward.params(PositionalEncodingBlock.START_POSITION, 3);
        PairList<String, Object> both = positionsOf(positions);
        both.add(PositionalEncodingBlock.START_POSITION, 3);
        assertAll(
                rejectedWithoutLeak(
                        manager, () -> Forward.infer(manager, block, start, x, positions), "startPosition=3"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, both, x), "startPosition=3"),
                rejectedWithoutLeak(
                        manager,
                        () -> Forward.infer(manager, block, positionsOf(positions), x, positions),
                        "positions of shape (3)"));
    }

    private Executable rejectedInitialization(
            PositionalEncodingBlock block, DataType type, Shape input, Object... values) {
        return () -> {
            rejected(() -> block.initialize(manager, type, input), values).execute();
            assertThat(block.isInitialized()).isFalse();
        };
    }

    @Test
    void rejectsAnInitializationForOtherInputs() {
        PositionalEncodingBlock block = positions().build();
        assertAll(
                rejectedInitialization(block, DataType.BFLOAT16, new Shape(1, 3, 4), "bfloat16"),
                rejectedInitialization(block, DataType.INT32, new Shape(1, 3, 4), "int32"),
                rejectedInitialization(block, DataType.FLOAT32, new Shape(4), "rank 1"),
                rejectedInitialization(block, DataType.FLOAT32, new Shape(1, 3, 5), "width 5"),
                rejectedInitialization(block, DataType.FLOAT32, new Shape(1, 11, 4), "length 11"));
    }

    @Test
    void rejectsATableThatNoMachineHasMemoryFor() throws Throwable {
        assumeCpu();
        PositionalEncodingBlock block = positions()
                .setEmbeddingSize(1024)
                .optMaxSequenceLength(2_000_000_000)
                .build();
        rejectedInitialization(
                        block,
                        DataType.FLOAT32,
                        new Shape(1, 3, 1024),
                        new Shape(2_000_000_000, 1024),
                        8_192_000_000_000L)
                .execute();
    }

    @Test
    void rejectsCallsThatNeedAnInitializedBlock() {
        PositionalEncodingBlock block = positions().build();
        infer(block, zeros(manager, 1, 3, 4));
        assertAll(
                rejected(IllegalStateException.class, block::getEncodings, "initialize(manager, dataType, shapes)"),
                rejected(
                        IllegalStateException.class,
                        () -> BlockBytes.saved(block),
                        "PositionalEncodingBlock(",
                        "initialize(manager, dataType, shapes)"));
    }

    // options

    @Test
    void hasALimitFromItsLengthTo536870912() {
        PositionalEncodingBlock.Builder builder =
                PositionalEncodingBlock.builder().setEmbeddingSize(4);
        assertThat(builder.optAutoExtend(5000).build().getArguments()).containsEntry("autoExtend", 5000);
        assertThat(builder.optAutoExtend(MAX_LIMIT).build().getArguments()).containsEntry("autoExtend", MAX_LIMIT);
        assertAll(
                rejected(() -> builder.optAutoExtend(4999).build(), "autoExtend 4999"),
                rejected(() -> builder.optAutoExtend(MAX_LIMIT + 1).build(), "autoExtend 536870913"));
    }

    @Test
    void rejectsOptionsOutOfRange() {
        SinusoidalEncoding six = SinusoidalEncoding.vaswani(6);
        assertAll(
                rejected(positions().setEmbeddingSize(0)::build, "embeddingSize 0"),
                rejected(positions().setEmbeddingSize(1 << 22)::build, "4194304", "1 to 2097152"),
                rejected(positions().optMaxSequenceLength(0)::build, "maxSequenceLength 0"),
                rejected(positions().optDropoutRate(-0.1f)::build, "dropoutRate -0.1"),
                rejected(positions().optDropoutRate(1)::build, "dropoutRate 1.0"),
                rejected(positions().optDropoutRate(Float.NaN)::build, "dropoutRate NaN"),
                rejected(positions().optLearnedScale(Float.NaN)::build, "learnedScale NaN"),
                rejected(positions().optLearnedScale(Float.POSITIVE_INFINITY)::build, "learnedScale Infinity"),
                rejected(positions().optSequenceAxis(-1)::build, "sequenceAxis -1"),
                rejected(positions().optEncoding(six)::build, "size 6", "embeddingSize 4", six));
    }
}
