package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.attention.TestNumbers.requireSame;
import static io.github.djlpositional.support.Inputs.counted;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallBlocks.TYPES;
import static io.github.djlpositional.support.SmallBlocks.initialized;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.Rows;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each cell of an image or a volume has a sinusoidal vector of its coordinates, which is added to it. */
class GridPositionalEncodingBlockTest extends OnEachEngine {

    private static final GridEncoding IMAGE = GridEncoding.visionTransformer(8);
    private static final GridEncoding VOLUME = GridEncoding.multidim(3, 10);

    private static GridPositionalEncodingBlock block(GridEncoding encoding, boolean channelsFirst) {
        return GridPositionalEncodingBlock.builder()
                .setEncoding(encoding)
                .optChannelsFirst(channelsFirst)
                .build();
    }

    /** The numbers of all cells, rounded to a format. */
    private static ByteBuffer expected(
            Rows.Value cells, int count, int channels, boolean channelsFirst, FloatFormat format) {
        ByteBuffer buffer =
                ByteBuffer.allocate(count * channels * format.bytes()).order(ByteOrder.nativeOrder());
        for (int cell = 0; cell < count; cell++) {
            for (int channel = 0; channel < channels; channel++) {
                int index = channelsFirst ? channel * count + cell : cell * channels + channel;
                format.put(buffer, index, cells.at(cell, channel));
            }
        }
        return buffer;
    }

    private void assertBits(GridEncoding encoding, boolean channelsFirst, long[] shape, int... sizes) {
        for (DataType type : TYPES) {
            // MXNet's zeros does not support FLOAT16
            NDArray x = manager.zeros(new Shape(shape)).toType(type, false);
            NDArray y = Forward.infer(manager, block(encoding, channelsFirst), x);
            assertThat(y.getShape()).isEqualTo(new Shape(shape));
            assertThat(y.getDataType()).isEqualTo(type);
            int cells = IntStream.of(sizes).reduce(1, (product, size) -> product * size);
            assertThat(y.toByteBuffer().rewind())
                    .isEqualTo(expected(
                            encoding.cells(sizes),
                            cells,
                            encoding.getEmbeddingSize(),
                            channelsFirst,
                            DataTypes.formatOf(type)));
        }
    }

    @Test
    void keepsShapeAndDataTypeWithChannelsLastAndFirst() {
        assertBits(IMAGE, false, new long[] {1, 3, 5, 8}, 3, 5);
        assertBits(IMAGE, true, new long[] {1, 8, 3, 5}, 3, 5);
        assertBits(VOLUME, false, new long[] {1, 2, 3, 4, 10}, 2, 3, 4);
        assertBits(VOLUME, true, new long[] {1, 10, 2, 3, 4}, 2, 3, 4);
    }

    @Test
    void encodesMoreGridSizesThanItKeepsAndFreesTheOthers() {
        GridPositionalEncodingBlock block = initialized(manager, block(IMAGE, false), 1, 3, 5, 8);
        for (int round = 0; round < 2; round++) {
            for (int size = 1; size < 20; size++) {
                try (NDManager own = manager.newSubManager()) {
                    NDArray y = Forward.infer(own, block, own.zeros(new Shape(1, size, 2, 8)));
                    Rows.Value cells = IMAGE.cells(new int[] {size, 2});
                    assertThat(y.toByteBuffer().rewind())
                            .isEqualTo(expected(cells, 2 * size, 8, false, FloatFormat.FLOAT32));
                }
            }
        }
        // the first eight tables
        assertThat(manager.getManagedArrays()).hasSize(8);
    }

    private static final GridEncoding DETR = GridEncoding.detr(4, 1);

    /** The first image fills the grid, the second 2 x 2 of its 2 x 3 cells. */
    private static final boolean[] VISIBLE = {true, true, true, true, true, true, true, true, false, true, true, false};

    private NDArray mask(DataType type) {
        NDArray mask = manager.create(VISIBLE, new Shape(2, 2, 3));
        return type == DataType.BOOLEAN ? mask : mask.toType(type, false);
    }

    @Test
    void countsOnlyTheVisibleCellsOfAPaddedBatch() {
        Rows.Value cells = DETR.cells(new int[] {2, 3}, VISIBLE);
        for (DataType type : TYPES) {
            ByteBuffer expected = expected(cells, 12, 4, false, DataTypes.formatOf(type));
            NDArray x = manager.zeros(new Shape(2, 2, 3, 4)).toType(type, false);
            for (DataType ofMask : new DataType[] {DataType.BOOLEAN, DataType.INT32, DataType.FLOAT32}) {
                NDArray y = Forward.infer(manager, block(DETR, false), x, mask(ofMask));
                assertThat(y.getDataType()).isEqualTo(type);
                assertThat(y.toByteBuffer().rewind()).isEqualTo(expected);
            }
        }
        // the first column of three
        NDArray y =
                Forward.infer(manager, block(DETR, false), manager.zeros(new Shape(2, 2, 3, 4)), mask(DataType.INT64));
        // the paper's encoding of size 2 of 2π / (3 + ε), rounded to five digits
        assertThat(y.get("0, 0, 0, 2:").toFloatArray()).containsExactly(new float[] {0.86603f, -0.5f}, within(5e-6f));
    }

    private static GridPositionalEncodingBlock.Builder image() {
        return GridPositionalEncodingBlock.builder().setEncoding(IMAGE);
    }

    private static GridPositionalEncodingBlock.Builder detr() {
        return GridPositionalEncodingBlock.builder().setEncoding(DETR);
    }

    private NDArray infer(GridPositionalEncodingBlock.Builder builder, NDArray... inputs) {
        return Forward.infer(manager, builder.build(), inputs);
    }

    @Test
    void everyImageOfABatchHasTheSameEncodings() {
        NDArray one = infer(image(), zeros(manager, 3, 5, 8));
        NDArray batch = infer(image(), zeros(manager, 2, 2, 3, 5, 8));
        requireSame(batch.get("0, 0"), one);
        requireSame(batch.get("1, 1"), one);
    }

    @Test
    void addsTheEncodingsToItsInput() {
        NDArray x = counted(manager, 3, 5, 8);
        double[] expected = doubles(infer(image(), zeros(manager, 3, 5, 8)));
        for (int i = 0; i < expected.length; i++) {
            expected[i] += i + 1;
        }
        // one sum of at most 121, rounded to FLOAT32
        requireClose(infer(image(), x), expected, 0x1p-18);
    }

    @Test
    void returnsTheEncodingsAloneForABatchOfOne() {
        NDArray expected = infer(image(), zeros(manager, 1, 3, 5, 8));
        requireSame(infer(image().optAddToInput(false), counted(manager, 2, 3, 5, 8)), expected);
        NDArray tokens = infer(image().optGrid(0, 3, 5).optAddToInput(false), counted(manager, 2, 15, 8));
        requireSame(tokens, expected.reshape(1, 15, 8));
    }

    @Test
    void encodesTheTokensOfAGridAndNotThoseBeforeIt() {
        for (DataType type : TYPES) {
            NDArray y = infer(image().optGrid(2, 3, 5), zeros(manager, type, 1, 17, 8));
            NDArray expected = infer(image(), zeros(manager, type, 1, 3, 5, 8));
            assertThat(y.getDataType()).isEqualTo(type);
            requireSame(y.get(":, 2:"), expected.reshape(1, 15, 8));
            assertThat(doubles(y.get(":, :2"))).containsOnly(0);
        }
    }

    @Test
    void takesTheSizesOfAnotherGridWithAForward() {
        GridPositionalEncodingBlock tokens = image().optGrid(2, 3, 5).build();
        NDArray y = Forward.infer(manager, tokens, gridSizes(2, 3), zeros(manager, 8, 8));
        requireSame(y.get("2:"), infer(image(), zeros(manager, 2, 3, 8)).reshape(6, 8));
    }

    private static PairList<String, Object> gridSizes(long... sizes) {
        return Forward.params(GridPositionalEncodingBlock.GRID_SIZES, new Shape(sizes));
    }

    @Test
    void encodesAPaddedBatchWithChannelsFirstAndWithoutItsInput() {
        NDArray mask = mask(DataType.FLOAT32);
        NDArray expected = infer(detr(), zeros(manager, 2, 2, 3, 4), mask);
        NDArray channelsFirst = infer(detr().optChannelsFirst(true), zeros(manager, 2, 4, 2, 3), mask);
        requireSame(channelsFirst, expected.transpose(0, 3, 1, 2));
        requireSame(infer(detr().optAddToInput(false), counted(manager, 2, 2, 3, 4), mask), expected);
    }

    @Test
    void aMaskOfAllCellsOfAVolumeChangesNothing() {
        NDArray mask = counted(manager, 2, 2, 3, 4);
        NDArray y = Forward.infer(manager, block(VOLUME, true), zeros(manager, 2, 10, 2, 3, 4), mask);
        NDArray expected = Forward.infer(manager, block(VOLUME, true), zeros(manager, 10, 2, 3, 4));
        // the engine computes the sines with a mask, with an error of an ulp
        requireClose(y.get("1"), doubles(expected), 0x1p-22);
    }

    /** DETR's encodings, and one without the epsilon that keeps coordinates finite in a line without cells. */
    static Stream<GridPositionalEncodingBlock> blocksOfPaddedBatches() {
        Map<String, Object> exact = Map.of(
                "axes",
                2,
                "parts",
                List.of(
                        Map.of("axis", 0, "encoding", Map.of("embeddingSize", 2)),
                        Map.of("axis", 1, "encoding", Map.of("embeddingSize", 2))),
                "channels",
                4,
                "epsilon",
                0);
        return Stream.of(
                block(DETR, false),
                block(GridEncoding.detr(4, 0.5), false),
                GridPositionalEncodingBlock.fromArguments(Map.of("encoding", exact)));
    }

    @ParameterizedTest
    @MethodSource("blocksOfPaddedBatches")
    void aCellIsVisibleWhereItsMaskIsNotZero(GridPositionalEncodingBlock block) {
        NDArray x = zeros(manager, 2, 2, 3, 4);
        NDArray mask = mask(DataType.FLOAT32);
        NDArray y = Forward.infer(manager, block, x, mask);
        requireSame(Forward.infer(manager, block, x, mask.mul(-0.5)), y);
        assertThat(DoubleStream.of(doubles(y))).allMatch(Double::isFinite);
    }

    @ParameterizedTest
    @MethodSource("blocksOfPaddedBatches")
    void anImageWithoutVisibleCellsHasZeros(GridPositionalEncodingBlock block) {
        NDArray x = zeros(manager, 2, 2, 3, 4);
        NDArray mask = mask(DataType.FLOAT32);
        NDArray onlyFirst = mask.mul(reals(manager, 1, 0).reshape(2, 1, 1));
        NDArray y = Forward.infer(manager, block, x, onlyFirst);
        requireSame(y.get(":1"), Forward.infer(manager, block, x, mask).get(":1"));
        assertThat(doubles(y.get("1:"))).containsOnly(0);
        assertThat(doubles(Forward.infer(manager, block, x, mask.mul(0)))).containsOnly(0);
    }

    private NDList zerosOf(long... shape) {
        return new NDList(zeros(manager, shape));
    }

    @Test
    void rejectsInputsOfOtherShapesAndTypes() {
        GridPositionalEncodingBlock block = image().build();
        NDList three = new NDList(zeros(manager, 1, 3, 5, 8), zeros(manager, 1, 3, 5), zeros(manager, 1, 3, 5));
        assertAll(
                rejectedInputs(block, three, "3 inputs", "[x, mask]"),
                rejectedInputs(block, zerosOf(5, 8), "(5, 8)", "rank 2", "(…, H, W, C)", "rank 3"),
                rejectedInputs(block, zerosOf(8), "(8)", "rank 1", "(…, H, W, C)"),
                rejectedInputs(block, new NDList(zeros(manager), zeros(manager)), "rank 0", "(…, H, W, C)"),
                rejectedInputs(
                        block,
                        zerosOf(1, 8, 3, 5),
                        "(1, 8, 3, 5)",
                        "5 channels",
                        "(…, H, W, C) with 8",
                        "optChannelsFirst(boolean)"),
                rejectedInputs(block(VOLUME, true), zerosOf(1, 9, 2, 3, 4), "9 channels", "(…, C, D, H, W) with 10"),
                rejectedInputs(block, new NDList(zeros(manager, DataType.INT32, 1, 3, 5, 8)), "int32", "float16"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"2,3", "2,3,2", "1,2,3", "2,6"})
    void rejectsMasksOfOtherShapes(String sizes) throws Throwable {
        long[] shape = Stream.of(sizes.split(",")).mapToLong(Long::parseLong).toArray();
        NDList inputs = new NDList(zeros(manager, 2, 2, 3, 4), zeros(manager, shape));
        rejectedInputs(detr().build(), inputs, new Shape(shape), "(2, 2, 3, 4)", "(2, 2, 3)")
                .execute();
    }

    @Test
    void rejectsAMaskOfABatchOfBatches() throws Throwable {
        NDList inputs = new NDList(zeros(manager, 1, 2, 2, 3, 4), zeros(manager, 1, 2, 3));
        rejectedInputs(detr().build(), inputs, "(1, 2, 3)", "(1, 2, 2, 3, 4)").execute();
    }

    @Test
    void rejectsTokensOfAnotherGrid() {
        GridPositionalEncodingBlock tokens = image().optGrid(1, 3, 5).build();
        NDArray x = zeros(manager, 1, 16, 8);
        NDList masked = new NDList(x, zeros(manager, 1, 3, 5));
        assertAll(
                rejectedInputs(tokens, masked, "2 inputs", "[x], the tokens"),
                rejectedInputs(tokens, zerosOf(1, 15, 8), "length 15", "[3, 5]", 16),
                rejectedInputs(tokens, zerosOf(1, 16, 6), "(1, 16, 6)", "(…, T, 8)"),
                rejectedWithoutLeak(
                        manager, () -> Forward.infer(manager, tokens, gridSizes(3, 4), x), "length 16", "[3, 4]", 13));
    }

    @Test
    void rejectsInitializationsForOtherInputs() {
        GridPositionalEncodingBlock block = image().build();
        assertAll(
                rejected(() -> block.initialize(manager, DataType.BFLOAT16, new Shape(1, 3, 5, 8)), "bfloat16"),
                rejected(() -> initialized(manager, block, 1, 3, 5, 9), "(1, 3, 5, 9)", "9 channels", "with 8"),
                () -> assertThat(block.isInitialized()).isFalse());
    }

    @Test
    void rejectsRowsLongerThanABuffer() throws Throwable {
        GridPositionalEncodingBlock block = block(GridEncoding.visionTransformer(4), true);
        Shape shape = new Shape(1, 4, 1, 500_000_000);
        rejectedWithoutLeak(
                        manager,
                        () -> block.initialize(manager, DataType.FLOAT64, shape),
                        "(4, 500000000)",
                        4_000_000_000L)
                .execute();
    }

    @Test
    void rejectsGridsThatDoNotFitTheEncoding() {
        assertAll(
                rejected(image().optGrid(1, 3, 5).optChannelsFirst(true)::build, "[3, 5]", "channelsFirst true"),
                rejected(image().optGrid(1, 15)::build, "[15]", "2 sizes"),
                rejected(image().optGrid(0, 2, 2, 2)::build, "[2, 2, 2]", "2 sizes"));
    }

    @ParameterizedTest
    @ValueSource(floats = {-0.1f, 1, 2, Float.NaN, Float.NEGATIVE_INFINITY})
    void rejectsDropoutRatesOutOfRange(float rate) throws Throwable {
        rejected(image().optDropoutRate(rate)::build, "dropoutRate " + rate).execute();
    }
}
