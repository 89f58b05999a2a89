package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.TYPES;
import static io.github.djlpositional.SmallBlocks.initialized;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.Rows;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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

    private static void assertBits(
            NDManager manager, GridEncoding encoding, boolean channelsFirst, long[] shape, int... sizes) {
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

    @EngineTest
    void keepsShapeAndDataTypeWithChannelsLastAndFirst(NDManager manager) {
        assertBits(manager, IMAGE, false, new long[] {1, 3, 5, 8}, 3, 5);
        assertBits(manager, IMAGE, true, new long[] {1, 8, 3, 5}, 3, 5);
        assertBits(manager, VOLUME, false, new long[] {1, 2, 3, 4, 10}, 2, 3, 4);
        assertBits(manager, VOLUME, true, new long[] {1, 10, 2, 3, 4}, 2, 3, 4);
    }

    @EngineTest
    void encodesMoreGridSizesThanItKeepsAndFreesTheOthers(NDManager manager) {
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

    private static NDArray mask(NDManager manager, DataType type) {
        NDArray mask = manager.create(VISIBLE, new Shape(2, 2, 3));
        return type == DataType.BOOLEAN ? mask : mask.toType(type, false);
    }

    @EngineTest
    void countsOnlyTheVisibleCellsOfAPaddedBatch(NDManager manager) {
        Rows.Value cells = DETR.cells(new int[] {2, 3}, VISIBLE);
        for (DataType type : TYPES) {
            ByteBuffer expected = expected(cells, 12, 4, false, DataTypes.formatOf(type));
            NDArray x = manager.zeros(new Shape(2, 2, 3, 4)).toType(type, false);
            for (DataType ofMask : new DataType[] {DataType.BOOLEAN, DataType.INT32, DataType.FLOAT32}) {
                NDArray y = Forward.infer(manager, block(DETR, false), x, mask(manager, ofMask));
                assertThat(y.getDataType()).isEqualTo(type);
                assertThat(y.toByteBuffer().rewind()).isEqualTo(expected);
            }
        }
        // the first column of three
        NDArray y = Forward.infer(
                manager, block(DETR, false), manager.zeros(new Shape(2, 2, 3, 4)), mask(manager, DataType.INT64));
        // the paper's encoding of size 2 of 2π / (3 + ε), rounded to five digits
        assertThat(y.get("0, 0, 0, 2:").toFloatArray()).containsExactly(new float[] {0.86603f, -0.5f}, within(5e-6f));
    }
}
