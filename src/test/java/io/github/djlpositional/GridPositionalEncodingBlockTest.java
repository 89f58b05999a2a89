package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.TYPES;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.zeros;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.Rows;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.stream.IntStream;

class GridPositionalEncodingBlockTest {

    private static final GridEncoding IMAGE = GridEncoding.visionTransformer(8);
    private static final GridEncoding VOLUME = GridEncoding.multidim(3, 10);

    private static GridPositionalEncodingBlock block(GridEncoding encoding, boolean channelsFirst) {
        return GridPositionalEncodingBlock.builder()
                .setEncoding(encoding)
                .optChannelsFirst(channelsFirst)
                .build();
    }

    private static GridPositionalEncodingBlock withoutInput() {
        return GridPositionalEncodingBlock.builder()
                .setEncoding(IMAGE)
                .optAddToInput(false)
                .build();
    }

    private static ByteBuffer expected(GridEncoding encoding, boolean channelsFirst, FloatFormat format, int... sizes) {
        int count = IntStream.of(sizes).reduce(1, (product, size) -> product * size);
        int channels = encoding.getEmbeddingSize();
        Rows.Value cells = encoding.cells(sizes);
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

    /** The table of an image, with the channels last. */
    private static float[] table(int height, int width) {
        float[] floats = new float[height * width * 8];
        expected(IMAGE, false, FloatFormat.FLOAT32, height, width)
                .asFloatBuffer()
                .get(floats);
        return floats;
    }

    private static void assertBits(
            NDManager manager, GridEncoding encoding, boolean channelsFirst, long[] shape, int... sizes) {
        for (DataType type : TYPES) {
            NDArray y = Forward.infer(manager, block(encoding, channelsFirst), zeros(manager, type, shape));
            assertThat(y.getShape()).isEqualTo(new Shape(shape));
            assertThat(y.getDataType()).isEqualTo(type);
            assertThat(y.toByteBuffer().rewind())
                    .isEqualTo(expected(encoding, channelsFirst, DataTypes.formatOf(type), sizes));
        }
    }

    @EngineTest
    void keepsShapeAndDataTypeWithChannelsLastAndFirst(NDManager manager) {
        assertBits(manager, IMAGE, false, new long[] {1, 3, 5, 8}, 3, 5);
        assertBits(manager, IMAGE, true, new long[] {1, 8, 3, 5}, 3, 5);
        assertBits(manager, VOLUME, false, new long[] {1, 2, 3, 4, 10}, 2, 3, 4);
        assertBits(manager, VOLUME, true, new long[] {1, 10, 2, 3, 4}, 2, 3, 4);
    }

    @EngineTest
    void addsTheSameToEveryImageOfABatch(NDManager manager) {
        NDArray y = Forward.infer(manager, block(IMAGE, false), manager.ones(new Shape(2, 2, 3, 5, 8)));
        float[] table = table(3, 5);
        float[] values = y.toFloatArray();
        for (int i = 0; i < values.length; i++) {
            assertThat(values[i]).isEqualTo(1 + table[i % table.length]);
        }
        assertThat(Forward.infer(manager, block(IMAGE, false), manager.zeros(new Shape(3, 5, 8)))
                        .toFloatArray())
                .isEqualTo(table);
    }

    @EngineTest
    void returnsACopyOfTheEncodings(NDManager manager) {
        GridPositionalEncodingBlock block = withoutInput();
        NDArray x = manager.ones(new Shape(2, 3, 5, 8));
        NDArray y = Forward.infer(manager, block, x);
        assertThat(y.getShape()).isEqualTo(new Shape(1, 3, 5, 8));
        assertThat(y.getManager()).isSameAs(manager);
        assertThat(y.toFloatArray()).isEqualTo(table(3, 5));
        y.muli(0).close();
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(table(3, 5));
        assertThat(block.getOutputShapes(new Shape[] {x.getShape()})).containsExactly(new Shape(1, 3, 5, 8));
    }

    @EngineTest
    void encodesMoreGridSizesThanItKeepsAndFreesTheOthers(NDManager manager) {
        GridPositionalEncodingBlock block = initialized(manager, block(IMAGE, false), 1, 3, 5, 8);
        for (int round = 0; round < 2; round++) {
            for (int size = 1; size < 20; size++) {
                try (NDManager own = manager.newSubManager()) {
                    NDArray y = Forward.infer(own, block, own.zeros(new Shape(1, size, 2, 8)));
                    assertThat(y.toFloatArray()).isEqualTo(table(size, 2));
                }
            }
        }
        // the first eight tables
        assertThat(manager.getManagedArrays()).hasSize(8);
    }

    private static final GridEncoding DETR = GridEncoding.detr(4, 1);

    /** The first image fills the grid, the second 2 x 2 of its 2 x 3 cells. */
    private static final boolean[] VISIBLE = {true, true, true, true, true, true, true, true, false, true, true, false};

    private static NDArray mask(NDManager manager, DataType type) {
        NDArray mask = manager.create(VISIBLE, new Shape(2, 2, 3));
        return type == DataType.BOOLEAN ? mask : mask.toType(type, false);
    }

    @EngineTest
    void countsOnlyTheVisibleCellsOfAPaddedBatch(NDManager manager) {
        Rows.Value cells = DETR.cells(new int[] {2, 3}, VISIBLE);
        for (DataType type : TYPES) {
            FloatFormat format = DataTypes.formatOf(type);
            ByteBuffer buffer = ByteBuffer.allocate(12 * 4 * format.bytes()).order(ByteOrder.nativeOrder());
            for (int i = 0; i < 12 * 4; i++) {
                format.put(buffer, i, cells.at(Math.floorDiv(i, 4), i % 4));
            }
            NDArray x = zeros(manager, type, 2, 2, 3, 4);
            for (DataType ofMask : new DataType[] {DataType.BOOLEAN, DataType.INT32, DataType.FLOAT32}) {
                NDArray y = Forward.infer(manager, block(DETR, false), x, mask(manager, ofMask));
                assertThat(y.getDataType()).isEqualTo(type);
                assertThat(y.toByteBuffer().rewind()).isEqualTo(buffer);
            }
        }
        // the first column of three
        NDArray y = Forward.infer(
                manager, block(DETR, false), manager.zeros(new Shape(2, 2, 3, 4)), mask(manager, DataType.INT64));
        // the paper's encoding of size 2 of 2π / (3 + ε), rounded to five digits
        assertThat(y.get("0, 0, 0, 2:").toFloatArray()).containsExactly(new float[] {0.86603f, -0.5f}, within(5e-6f));
    }

    @EngineTest
    void masksABatchWithTheChannelsFirstAndReturnsTheEncodingsOfEachImage(NDManager manager) {
        NDArray mask = mask(manager, DataType.INT32);
        NDArray last = Forward.infer(manager, block(DETR, false), manager.zeros(new Shape(2, 2, 3, 4)), mask);
        NDArray first = Forward.infer(manager, block(DETR, true), manager.zeros(new Shape(2, 4, 2, 3)), mask);
        assertThat(first.transpose(0, 2, 3, 1)).isEqualTo(last);
        GridPositionalEncodingBlock returning = GridPositionalEncodingBlock.builder()
                .setEncoding(DETR)
                .optAddToInput(false)
                .build();
        NDArray x = manager.ones(new Shape(2, 2, 3, 4));
        assertThat(Forward.infer(manager, returning, x, mask)).isEqualTo(last);
        assertThat(returning.getOutputShapes(new Shape[] {x.getShape(), mask.getShape()}))
                .containsExactly(x.getShape());
        GridPositionalEncodingBlock volume = block(VOLUME, true);
        NDArray all = manager.ones(new Shape(2, 2, 3, 4));
        NDArray masked = Forward.infer(manager, volume, manager.zeros(new Shape(2, 10, 2, 3, 4)), all);
        assertThat(masked.get(1).toFloatArray())
                .isEqualTo(Forward.infer(manager, volume, manager.zeros(new Shape(10, 2, 3, 4)))
                        .toFloatArray());
    }

    @EngineTest
    void anImageWithoutCellsGetsZerosAndEveryOtherNumberIsACell(NDManager manager) {
        NDArray x = manager.zeros(new Shape(2, 2, 3, 4));
        NDArray mask = mask(manager, DataType.FLOAT32);
        // without an epsilon, the coordinates of a line without cells are not finite
        GridEncoding exact = GridEncoding.builder()
                .setAxes(2)
                .add(0, SinusoidalEncoding.vaswani(2))
                .add(1, SinusoidalEncoding.vaswani(2))
                .optNormalized(0)
                .build();
        for (GridEncoding encoding : List.of(DETR, GridEncoding.detr(4, 0.5), exact)) {
            GridPositionalEncodingBlock block = block(encoding, false);
            NDArray expected = Forward.infer(manager, block, x, mask);
            assertThat(expected.isNaN().any().getBoolean()).isFalse();
            assertThat(Forward.infer(manager, block, x, mask.mul(-0.5f))).isEqualTo(expected);
            assertThat(Forward.infer(manager, block, x, mask.zerosLike())).isEqualTo(x);
            NDArray first = mask.get(":1").concat(mask.get(":1").zerosLike(), 0);
            NDArray y = Forward.infer(manager, block, x, first);
            assertThat(y.get(0)).isEqualTo(expected.get(0));
            assertThat(y.get(1)).isEqualTo(x.get(1));
            // DETR's own mask, true for padding
            assertThat(Forward.infer(manager, block, x, mask.eq(0)).getShape()).isEqualTo(x.getShape());
        }
    }

    private static PairList<String, Object> sizes(Object sizes) {
        PairList<String, Object> params = Forward.params(GridPositionalEncodingBlock.GRID_SIZES, sizes);
        return params;
    }

    @EngineTest
    void addsNothingToTheTokensBeforeTheGrid(NDManager manager) {
        GridPositionalEncodingBlock block = GridPositionalEncodingBlock.builder()
                .setEncoding(IMAGE)
                .optGrid(2, 3, 5)
                .build();
        for (DataType type : TYPES) {
            NDArray y = Forward.infer(manager, block, zeros(manager, type, 1, 17, 8));
            ByteBuffer all = ByteBuffer.allocate(17 * 8 * type.getNumOfBytes()).order(ByteOrder.nativeOrder());
            all.put(
                    2 * 8 * type.getNumOfBytes(),
                    expected(IMAGE, false, DataTypes.formatOf(type), 3, 5).array());
            assertThat(y.toByteBuffer().rewind()).isEqualTo(all);
        }
        NDArray other = Forward.infer(manager, block, sizes(new Shape(2, 3)), manager.zeros(new Shape(8, 8)));
        assertThat(other.get("2:").toFloatArray()).isEqualTo(table(2, 3));
        GridPositionalEncodingBlock returning = GridPositionalEncodingBlock.builder()
                .setEncoding(IMAGE)
                .optGrid(0, 3, 5)
                .optAddToInput(false)
                .build();
        NDArray x = manager.ones(new Shape(2, 15, 8));
        assertThat(Forward.infer(manager, returning, x)).isEqualTo(manager.create(table(3, 5), new Shape(1, 15, 8)));
        assertThat(returning.getOutputShapes(new Shape[] {x.getShape()})).containsExactly(new Shape(1, 15, 8));
    }
}
