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
}
