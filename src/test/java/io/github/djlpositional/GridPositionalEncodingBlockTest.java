package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.TYPES;
import static io.github.djlpositional.SmallBlocks.initialized;
import static io.github.djlpositional.SmallBlocks.refused;
import static io.github.djlpositional.SmallBlocks.zeros;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.GridEncoding;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

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
        int cells = 1;
        for (int size : sizes) {
            cells *= size;
        }
        int channels = encoding.getEmbeddingSize();
        ByteBuffer buffer =
                ByteBuffer.allocate(cells * channels * format.bytes()).order(ByteOrder.nativeOrder());
        for (int cell = 0; cell < cells; cell++) {
            double[] place = new double[sizes.length];
            int rest = cell;
            for (int axis = sizes.length - 1; axis >= 0; axis--) {
                place[axis] = rest % sizes[axis];
                rest /= sizes[axis];
            }
            for (int channel = 0; channel < channels; channel++) {
                int index = channelsFirst ? channel * cells + cell : cell * channels + channel;
                format.put(buffer, index, encoding.value(channel, place));
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
                try (NDArray x = manager.zeros(new Shape(1, size, 2, 8));
                        NDArray y = Forward.infer(manager, block, x)) {
                    assertThat(y.toFloatArray()).isEqualTo(table(size, 2));
                }
            }
        }
        // the last eight tables
        assertThat(manager.getManagedArrays()).hasSize(8);
    }

    @EngineTest
    void returnsAnEmptyOutputForAnEmptyGrid(NDManager manager) {
        NDArray empty = manager.create(new Shape(2, 0, 5, 8));
        assertThat(Forward.infer(manager, block(IMAGE, false), empty).getShape())
                .isEqualTo(empty.getShape());
        assertThat(Forward.infer(manager, withoutInput(), empty).getShape()).isEqualTo(new Shape(1, 0, 5, 8));
    }

    @EngineTest
    void gradientOfTheInputEqualsThatOfTheOutput(NDManager manager) {
        NDArray x = manager.zeros(new Shape(1, 2, 3, 8));
        NDArray weights = manager.arange(48f).reshape(1, 2, 3, 8);
        x.setRequiresGradient(true);
        SmallBlocks.train(manager, block(IMAGE, false), weights, x);
        assertThat(x.getGradient()).isEqualTo(weights);
    }

    @EngineTest
    void createsATableAgainAfterClearingAndSavesNone(NDManager manager) throws Exception {
        GridPositionalEncodingBlock block = block(IMAGE, false);
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, 2, 3, 8));
        NDArray x = manager.zeros(new Shape(1, 2, 3, 8));
        assertThat(block.getParameters()).isEmpty();
        block.clear();
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(table(2, 3));
        byte[] file = BlockBytes.saved(block);
        assertThat(file).hasSizeLessThan(1000);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block(IMAGE, true), file))
                .withMessageContainingAll("channelsFirst", "false", "true");
    }

    @EngineTest
    void refusesInputsThatAreNotAGridOfItsChannels(NDManager manager) {
        GridPositionalEncodingBlock block = block(IMAGE, false);
        String expected = "expected (…, H, W, C)";
        refused(manager, block, List.of(manager.zeros(new Shape(5, 8))), "rank 2", expected, "rank 3 or more");
        refused(manager, block, List.of(manager.zeros(new Shape(8))), "rank 1", expected);
        NDArray first = manager.zeros(new Shape(1, 8, 3, 5));
        refused(manager, block, List.of(first), "5 channels", expected + " with 8", "optChannelsFirst(boolean)");
        NDArray volume = manager.zeros(new Shape(1, 9, 2, 3, 4));
        refused(manager, block(VOLUME, true), List.of(volume), "9 channels", "(…, C, D, H, W) with 10");
        Shape grid = new Shape(1, 3, 5, 8);
        refused(manager, block, List.of(manager.zeros(grid, DataType.INT32)), "data type int32");
        refused(() -> block.initialize(manager, DataType.BFLOAT16, grid), "bfloat16");
        refused(() -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 5, 9)), "9 channels");
        assertThat(block.isInitialized()).isFalse();
    }
}
