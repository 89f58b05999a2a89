package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.GridEncoding;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;

class GridPositionalEncodingBlockTest {

    private static final GridEncoding PICTURE = GridEncoding.visionTransformer(8);
    private static final GridEncoding VOLUME = GridEncoding.multidim(3, 10);

    private static GridPositionalEncodingBlock block(GridEncoding encoding, boolean channelsFirst) {
        return GridPositionalEncodingBlock.builder()
                .setEncoding(encoding)
                .optChannelsFirst(channelsFirst)
                .build();
    }

    private static NDArray zeros(NDManager manager, DataType type, long... shape) {
        Shape of = new Shape(shape);
        return manager.create(manager.allocateDirect(Math.toIntExact(of.size() * type.getNumOfBytes())), of, type);
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

    private static float[] floats(ByteBuffer buffer) {
        float[] floats = new float[buffer.capacity() / 4];
        buffer.asFloatBuffer().get(floats);
        return floats;
    }

    @EngineTest
    void holdsTheReferenceValues(NDManager manager) {
        // reference: goldens/grids.csv
        for (String convention : new String[] {"tensor2tensor", "multidim", "visionTransformer"}) {
            int channels = convention.equals("visionTransformer") ? 8 : 10;
            GridEncoding encoding = switch (convention) {
                case "tensor2tensor" -> GridEncoding.tensor2tensor(2, channels, 1, 10_000);
                case "multidim" -> GridEncoding.multidim(2, channels);
                default -> GridEncoding.visionTransformer(channels);
            };
            float[] values = Forward.infer(manager, block(encoding, false), manager.zeros(new Shape(1, 3, 4, channels)))
                    .toFloatArray();
            int compared = 0;
            for (String[] row : Goldens.rows("grids.csv")) {
                if (row[0].equals(convention) && row[1].equals("2") && row[2].equals(Integer.toString(channels))) {
                    String[] place = row[3].split(" ", -1);
                    int cell = Integer.parseInt(place[0]) * 4 + Integer.parseInt(place[1]);
                    float value = values[cell * channels + Integer.parseInt(row[4])];
                    assertThat(Goldens.floatUlps(value, new BigDecimal(row[5]))).isLessThanOrEqualTo(0.501);
                    compared++;
                }
            }
            assertThat(compared).isEqualTo(values.length);
        }
    }

    @EngineTest
    void keepsShapeAndDataTypeWithChannelsLastAndFirst(NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16}) {
            FloatFormat format = DataTypes.formatOf(type);
            NDArray last = Forward.infer(manager, block(PICTURE, false), zeros(manager, type, 1, 3, 5, 8));
            assertThat(last.getShape()).isEqualTo(new Shape(1, 3, 5, 8));
            assertThat(last.getDataType()).isEqualTo(type);
            assertThat(last.toByteBuffer().rewind()).isEqualTo(expected(PICTURE, false, format, 3, 5));
            NDArray first = Forward.infer(manager, block(PICTURE, true), zeros(manager, type, 1, 8, 3, 5));
            assertThat(first.toByteBuffer().rewind()).isEqualTo(expected(PICTURE, true, format, 3, 5));
            NDArray volume = Forward.infer(manager, block(VOLUME, false), zeros(manager, type, 1, 2, 3, 4, 10));
            assertThat(volume.toByteBuffer().rewind()).isEqualTo(expected(VOLUME, false, format, 2, 3, 4));
            NDArray volumeFirst = Forward.infer(manager, block(VOLUME, true), zeros(manager, type, 1, 10, 2, 3, 4));
            assertThat(volumeFirst.toByteBuffer().rewind()).isEqualTo(expected(VOLUME, true, format, 2, 3, 4));
        }
    }

    @EngineTest
    void addsTheSameToEveryPictureOfABatch(NDManager manager) {
        NDArray y = Forward.infer(manager, block(PICTURE, false), manager.ones(new Shape(2, 2, 3, 5, 8)));
        float[] table = floats(expected(PICTURE, false, FloatFormat.FLOAT32, 3, 5));
        float[] values = y.toFloatArray();
        for (int i = 0; i < values.length; i++) {
            assertThat(values[i]).isEqualTo(1 + table[i % table.length]);
        }
        assertThat(Forward.infer(manager, block(PICTURE, false), manager.zeros(new Shape(3, 5, 8)))
                        .toFloatArray())
                .isEqualTo(table);
    }

    @EngineTest
    void returnsTheEncodingsAlone(NDManager manager) {
        GridPositionalEncodingBlock block = GridPositionalEncodingBlock.builder()
                .setEncoding(PICTURE)
                .optAddToInput(false)
                .build();
        NDArray y = Forward.infer(manager, block, manager.ones(new Shape(2, 3, 5, 8)));
        assertThat(y.getShape()).isEqualTo(new Shape(1, 3, 5, 8));
        assertThat(y.getManager()).isSameAs(manager);
        float[] table = floats(expected(PICTURE, false, FloatFormat.FLOAT32, 3, 5));
        assertThat(y.toFloatArray()).isEqualTo(table);
        y.muli(0).close();
        assertThat(Forward.infer(manager, block, manager.ones(new Shape(2, 3, 5, 8)))
                        .toFloatArray())
                .isEqualTo(table);
        assertThat(block.getOutputShapes(new Shape[] {new Shape(2, 3, 5, 8)})).containsExactly(new Shape(1, 3, 5, 8));
    }

    @EngineTest
    void servesMoreGridSizesThanItKeeps(NDManager manager) {
        GridPositionalEncodingBlock block = block(PICTURE, false);
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 5, 8));
        for (int round = 0; round < 2; round++) {
            for (int size = 1; size < 20; size++) {
                assertThat(Forward.infer(manager, block, manager.zeros(new Shape(1, size, 2, 8)))
                                .toFloatArray())
                        .isEqualTo(floats(expected(PICTURE, false, FloatFormat.FLOAT32, size, 2)));
            }
        }
    }

    @EngineTest
    void emptyGridComesBackEmpty(NDManager manager) {
        NDArray empty = manager.create(new Shape(2, 0, 5, 8), DataType.FLOAT32);
        assertThat(Forward.infer(manager, block(PICTURE, false), empty).getShape())
                .isEqualTo(new Shape(2, 0, 5, 8));
        GridPositionalEncodingBlock alone = GridPositionalEncodingBlock.builder()
                .setEncoding(PICTURE)
                .optAddToInput(false)
                .build();
        assertThat(Forward.infer(manager, alone, empty).getShape()).isEqualTo(new Shape(1, 0, 5, 8));
    }

    @EngineTest
    void gradientOfTheInputIsTheIdentity(NDManager manager) {
        NDArray x = manager.zeros(new Shape(1, 2, 3, 8));
        NDArray weights = manager.arange(48f).reshape(1, 2, 3, 8);
        x.setRequiresGradient(true);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(block(PICTURE, false)
                    .forward(new ParameterStore(manager, false), new NDList(x), true)
                    .singletonOrThrow()
                    .mul(weights)
                    .sum());
        }
        assertThat(x.getGradient().toFloatArray()).isEqualTo(weights.toFloatArray());
    }

    @EngineTest
    void livesAsTheSequenceBlockDoes(NDManager manager) throws Exception {
        GridPositionalEncodingBlock block = block(PICTURE, false);
        float[] table = floats(expected(PICTURE, false, FloatFormat.FLOAT32, 2, 3));
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            block.initialize(manager, DataType.FLOAT32, new Shape(-1, 2, 3, 8));
        }
        NDArray x = manager.zeros(new Shape(1, 2, 3, 8));
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(table);
        assertThat(block.getParameters()).isEmpty();
        block.clear();
        assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(table);
        byte[] file = BlockBytes.saved(block);
        assertThat(file).hasSizeLessThan(1000);
        GridPositionalEncodingBlock loaded = block(PICTURE, false);
        BlockBytes.load(manager, loaded, file);
        assertThat(Forward.infer(manager, loaded, x).toFloatArray()).isEqualTo(table);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> BlockBytes.load(manager, block(PICTURE, true), file))
                .withMessageContaining("channelsFirst=false")
                .withMessageContaining("channelsFirst=true");
    }

    @EngineTest
    void refusesWhatIsNoGrid(NDManager manager) {
        GridPositionalEncodingBlock block = block(PICTURE, false);
        for (NDArray x : new NDArray[] {manager.zeros(new Shape(5, 8)), manager.zeros(new Shape(8))}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Forward.infer(manager, block, x))
                    .withMessageContaining("expected (…, H, W, C), rank 3 or more");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, manager.zeros(new Shape(1, 8, 3, 5))))
                .withMessageContaining("has 5 channels: expected (…, H, W, C) with 8")
                .withMessageContaining("optChannelsFirst(boolean)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block(VOLUME, true), manager.zeros(new Shape(1, 9, 2, 3, 4))))
                .withMessageContaining("(…, C, D, H, W) with 10");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Forward.infer(manager, block, manager.zeros(new Shape(1, 3, 5, 8), DataType.INT32)))
                .withMessageContaining("data type int32");
        NDArray x = manager.zeros(new Shape(1, 3, 5, 8));
        assertThatIllegalArgumentException().isThrownBy(() -> Forward.infer(manager, block, x, x));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.BFLOAT16, new Shape(1, 3, 5, 8)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 5, 9)));
        assertThat(block.isInitialized()).isFalse();
    }

    @Test
    void refusesToBeBuiltWithoutAnEncoding() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> GridPositionalEncodingBlock.builder().build())
                .withMessageContaining("setEncoding(GridEncoding)");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> GridPositionalEncodingBlock.builder()
                        .setEncoding(PICTURE)
                        .optDropoutRate(1)
                        .build())
                .withMessageContaining("dropout rate 1.0");
    }

    @Test
    void printsItsSettings() {
        assertThat(block(PICTURE, true).toString())
                .startsWith("GridPositionalEncodingBlock(encoding=GridEncoding.visionTransformer(axes=2, channels=8,")
                .endsWith("channelsFirst=true, addToInput=true, dropoutRate=0.0)");
    }
}
