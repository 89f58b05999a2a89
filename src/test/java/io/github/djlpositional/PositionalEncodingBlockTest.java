package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

class PositionalEncodingBlockTest {

    private static PositionalEncodingBlock block(int size, int maxLength) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(maxLength)
                .build();
    }

    private static PositionalEncodingBlock encodingsAlone(int size, int maxLength) {
        return PositionalEncodingBlock.builder()
                .setEmbeddingSize(size)
                .optMaxSequenceLength(maxLength)
                .optAddToInput(false)
                .build();
    }

    private static NDArray zeros(NDManager manager, DataType type, long... shape) {
        Shape of = new Shape(shape);
        ByteBuffer buffer = manager.allocateDirect(Math.toIntExact(of.size() * type.getNumOfBytes()));
        return manager.create(buffer, of, type);
    }

    /** The bits of an array in one of the three data types. */
    private static ByteBuffer bits(NDArray array) {
        return array.toByteBuffer().rewind();
    }

    private static ByteBuffer expectedBits(int size, int start, int length, FloatFormat format) {
        ByteBuffer buffer = ByteBuffer.allocate(length * size * format.bytes()).order(ByteOrder.nativeOrder());
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(size);
        for (int row = 0; row < length; row++) {
            for (int dimension = 0; dimension < size; dimension++) {
                format.put(buffer, row * size + dimension, encoding.value(start + row, dimension));
            }
        }
        return buffer;
    }

    @EngineTest
    void tableHoldsTheReferenceValues(NDManager manager) {
        // reference: goldens/sinusoidal_vaswani.csv
        PositionalEncodingBlock block = block(512, 5000);
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 512));
        NDArray encodings = block.getEncodings();
        assertThat(encodings.getShape()).isEqualTo(new Shape(1, 5000, 512));
        float[] values = encodings.toFloatArray();
        for (String[] row : Goldens.rows("sinusoidal_vaswani.csv")) {
            if (row[0].equals("512") && row[1].equals("10000")) {
                float value = values[Integer.parseInt(row[2]) * 512 + Integer.parseInt(row[3])];
                assertThat(Goldens.floatUlps(value, new BigDecimal(row[4]))).isLessThanOrEqualTo(0.501);
            }
        }
    }

    @EngineTest
    void tableLargerThanOnePieceIsWhole(NDManager manager) {
        // 16 MiB, made in pieces of 8
        PositionalEncodingBlock block = block(64, 65_536);
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 64));
        assertThat(block.getEncodings().toFloatArray())
                .isEqualTo(SinusoidalEncoding.vaswani(64).table(0, 65_536));
    }

    @EngineTest
    void addsTheRowsOfTheSequence(NDManager manager) {
        NDArray x = manager.ones(new Shape(2, 3, 4));
        float[] sum = Forward.infer(manager, block(4, 10), x).toFloatArray();
        float[] table = SinusoidalEncoding.vaswani(4).table(0, 3);
        for (int i = 0; i < sum.length; i++) {
            assertThat(sum[i]).isEqualTo(1 + table[i % 12]);
        }
    }

    @EngineTest
    void keepsTheShapeOfItsInput(NDManager manager) {
        PositionalEncodingBlock block = block(4, 10);
        for (Shape shape : new Shape[] {
            new Shape(3, 4), new Shape(2, 3, 4), new Shape(2, 5, 3, 4), new Shape(2, 1, 5, 3, 4), new Shape(1, 10, 4)
        }) {
            NDArray y = Forward.infer(manager, block, manager.zeros(shape));
            assertThat(y.getShape()).isEqualTo(shape);
            int length = (int) shape.get(shape.dimension() - 2);
            float[] values = y.toFloatArray();
            float[] table = SinusoidalEncoding.vaswani(4).table(0, length);
            for (int i = 0; i < values.length; i++) {
                assertThat(values[i]).isEqualTo(table[i % table.length]);
            }
        }
    }

    @EngineTest
    void keepsTheDataTypeOfItsInput(NDManager manager) {
        PositionalEncodingBlock block = block(16, 40);
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16}) {
            NDArray y = Forward.infer(manager, block, zeros(manager, type, 1, 40, 16));
            assertThat(y.getDataType()).isEqualTo(type);
            assertThat(bits(y)).isEqualTo(expectedBits(16, 0, 40, DataTypes.formatOf(type)));
        }
    }

    @EngineTest
    void keepsTheDeviceAndManagerOfItsInput(NDManager manager) {
        try (NDManager inner = manager.newSubManager()) {
            NDArray y = Forward.infer(manager, block(4, 10), inner.zeros(new Shape(1, 3, 4)));
            assertThat(y.getDevice()).isEqualTo(Device.cpu());
            assertThat(y.getManager()).isSameAs(inner);
        }
    }

    @EngineTest
    void returnsTheEncodingsAlone(NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16}) {
            NDArray y = Forward.infer(manager, encodingsAlone(64, 100), zeros(manager, type, 2, 50, 64));
            assertThat(y.getShape()).isEqualTo(new Shape(1, 50, 64));
            assertThat(y.getDataType()).isEqualTo(type);
            assertThat(bits(y)).isEqualTo(expectedBits(64, 0, 50, DataTypes.formatOf(type)));
        }
    }

    @EngineTest
    void startsWhereAsked(NDManager manager) {
        for (Object start : new Object[] {7, 7L}) {
            NDArray y = Forward.inferFrom(manager, start, block(8, 20), manager.zeros(new Shape(2, 3, 8)));
            assertThat(Arrays.copyOf(y.toFloatArray(), 24))
                    .isEqualTo(SinusoidalEncoding.vaswani(8).table(7, 3));
        }
    }

    @EngineTest
    void stepByStepEqualsAllAtOnce(NDManager manager) {
        PositionalEncodingBlock block = block(8, 20);
        NDArray x = manager.randomNormal(new Shape(2, 20, 8));
        NDArray whole = Forward.infer(manager, block, x);
        for (int t = 0; t < 20; t++) {
            NDArray step = Forward.inferFrom(manager, t, block, x.get(":, {}:{}, :", t, t + 1));
            assertThat(step.toFloatArray())
                    .isEqualTo(whole.get(":, {}:{}, :", t, t + 1).toFloatArray());
        }
    }

    @EngineTest
    void takesPositionsForAllRows(NDManager manager) {
        NDArray positions = manager.create(new long[] {9, 0, 3});
        float[] y = Forward.infer(manager, block(4, 10), manager.zeros(new Shape(2, 3, 4)), positions)
                .toFloatArray();
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        for (int b = 0; b < 2; b++) {
            assertThat(Arrays.copyOfRange(y, b * 12, b * 12 + 4)).isEqualTo(encoding.table(9, 1));
            assertThat(Arrays.copyOfRange(y, b * 12 + 4, b * 12 + 8)).isEqualTo(encoding.table(0, 1));
            assertThat(Arrays.copyOfRange(y, b * 12 + 8, b * 12 + 12)).isEqualTo(encoding.table(3, 1));
        }
    }

    @EngineTest
    void takesPositionsForEachRow(NDManager manager) {
        NDArray positions = manager.create(new int[] {4, 5, 6, 1, 2, 3}, new Shape(2, 3));
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        float[] y = Forward.infer(manager, block(4, 10), manager.zeros(new Shape(2, 3, 4)), positions)
                .toFloatArray();
        assertThat(Arrays.copyOf(y, 12)).isEqualTo(encoding.table(4, 3));
        assertThat(Arrays.copyOfRange(y, 12, 24)).isEqualTo(encoding.table(1, 3));
    }

    @EngineTest
    void positionsForEachRowServeAllHeads(NDManager manager) {
        NDArray positions = manager.create(new int[] {4, 5, 6, 1, 2, 3}, new Shape(2, 3));
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        NDArray y = Forward.infer(manager, block(4, 10), manager.zeros(new Shape(2, 5, 3, 4)), positions);
        assertThat(y.getShape()).isEqualTo(new Shape(2, 5, 3, 4));
        assertThat(y.get("0, 4").toFloatArray()).isEqualTo(encoding.table(4, 3));
        assertThat(y.get("1, 2").toFloatArray()).isEqualTo(encoding.table(1, 3));
    }

    @EngineTest
    void positionsOfEveryIntegerTypeAreTheSame(NDManager manager) {
        NDArray x = manager.zeros(new Shape(3, 4));
        NDArray positions = manager.create(new long[] {2, 0, 7});
        float[] expected = Forward.infer(manager, block(4, 10), x, positions).toFloatArray();
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT8, DataType.UINT8}) {
            assertThat(Forward.infer(manager, block(4, 10), x, positions.toType(type, true))
                            .toFloatArray())
                    .isEqualTo(expected);
        }
    }

    @EngineTest
    void realPositionsAreExact(NDManager manager) {
        NDArray positions = manager.create(new float[] {0, 0.5f, 8.75f});
        float[] y = Forward.infer(manager, block(6, 10), manager.zeros(new Shape(1, 3, 6)), positions)
                .toFloatArray();
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(6);
        for (int dimension = 0; dimension < 6; dimension++) {
            assertThat(y[dimension]).isEqualTo((float) encoding.value(0, dimension));
            assertThat(y[6 + dimension]).isEqualTo((float) encoding.value(0.5, dimension));
            assertThat(y[12 + dimension]).isEqualTo((float) encoding.value(8.75, dimension));
        }
    }

    @EngineTest
    void explicitAndImplicitPositionsAgreeBitForBit(NDManager manager) {
        PositionalEncodingBlock block = block(32, 300);
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16}) {
            NDArray x = zeros(manager, type, 1, 300, 32);
            NDArray positions = manager.arange(300);
            ByteBuffer implicit = bits(Forward.infer(manager, block, x));
            assertThat(bits(Forward.infer(manager, block, x, positions))).isEqualTo(implicit);
            assertThat(bits(Forward.infer(manager, block, x, positions.toType(DataType.FLOAT32, false))))
                    .isEqualTo(implicit);
        }
    }

    @EngineTest
    void encodingsAloneOfPositions(NDManager manager) {
        PositionalEncodingBlock block = encodingsAlone(4, 10);
        NDArray x = manager.zeros(new Shape(2, 3, 4));
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        NDArray shared = Forward.infer(manager, block, x, manager.create(new int[] {4, 5, 6}));
        assertThat(shared.getShape()).isEqualTo(new Shape(1, 3, 4));
        assertThat(shared.toFloatArray()).isEqualTo(encoding.table(4, 3));
        NDArray each = Forward.infer(manager, block, x, manager.create(new int[] {4, 5, 6, 1, 2, 3}, new Shape(2, 3)));
        assertThat(each.getShape()).isEqualTo(new Shape(2, 3, 4));
        assertThat(each.get("1").toFloatArray()).isEqualTo(encoding.table(1, 3));
    }

    @EngineTest
    void encodesPositionsOfAnyShape(NDManager manager) {
        PositionalEncodingBlock block = block(4, 10);
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        NDArray scalar = block.encode(manager.create(7));
        assertThat(scalar.getShape()).isEqualTo(new Shape(4));
        assertThat(scalar.toFloatArray()).isEqualTo(encoding.table(7, 1));
        NDArray cube = block.encode(manager.arange(8).reshape(2, 2, 2));
        assertThat(cube.getShape()).isEqualTo(new Shape(2, 2, 2, 4));
        assertThat(cube.toFloatArray()).isEqualTo(encoding.table(0, 8));
        NDArray real = block.encode(manager.create(new float[] {1, 2, 3, 4}, new Shape(2, 2)));
        assertThat(real.getShape()).isEqualTo(new Shape(2, 2, 4));
        assertThat(real.toFloatArray()).isEqualTo(encoding.table(1, 4));
        assertThat(block.encode(manager.create(new Shape(0, 3), DataType.INT64)).getShape())
                .isEqualTo(new Shape(0, 3, 4));
    }

    @EngineTest
    void emptySequenceComesBackEmpty(NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64, DataType.FLOAT16}) {
            NDArray x = manager.create(new Shape(2, 0, 4), type);
            NDArray y = Forward.infer(manager, block(4, 10), x);
            assertThat(y.getShape()).isEqualTo(new Shape(2, 0, 4));
            assertThat(y.getDataType()).isEqualTo(type);
            assertThat(y).isNotSameAs(x);
            assertThat(Forward.infer(manager, encodingsAlone(4, 10), x).getShape())
                    .isEqualTo(new Shape(1, 0, 4));
            NDArray noPositions = manager.create(new Shape(0), DataType.INT64);
            assertThat(Forward.infer(manager, block(4, 10), x, noPositions).getShape())
                    .isEqualTo(new Shape(2, 0, 4));
            assertThat(Forward.inferFrom(manager, 10, block(4, 10), x).getShape())
                    .isEqualTo(new Shape(2, 0, 4));
        }
    }

    @EngineTest
    void emptyBatchComesBackEmpty(NDManager manager) {
        NDArray x = manager.create(new Shape(0, 3, 4), DataType.FLOAT32);
        assertThat(Forward.infer(manager, block(4, 10), x).getShape()).isEqualTo(new Shape(0, 3, 4));
        assertThat(Forward.infer(manager, encodingsAlone(4, 10), x).getShape()).isEqualTo(new Shape(1, 3, 4));
    }

    @EngineTest
    void gradientOfTheInputIsTheIdentity(NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            PositionalEncodingBlock block = block(4, 10);
            NDArray x = manager.randomNormal(new Shape(2, 3, 4)).toType(type, false);
            NDArray weights = manager.arange(24f).reshape(2, 3, 4).toType(type, false);
            x.setRequiresGradient(true);
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                // the table is first made here, while gradients are recorded
                NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), true)
                        .singletonOrThrow();
                collector.backward(y.mul(weights).sum());
            }
            assertThat(x.getGradient().toType(DataType.FLOAT32, false).toFloatArray())
                    .isEqualTo(weights.toType(DataType.FLOAT32, false).toFloatArray());
        }
    }

    @EngineTest
    void dropsOutInTrainingAlone(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optDropoutRate(0.5f)
                .build();
        NDArray x = manager.ones(new Shape(8, 100, 64)).mul(10);
        assertThat(Forward.infer(manager, block, x).toFloatArray()).doesNotContain(0);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            assertThat(collector).isNotNull();
            float[] y = block.forward(new ParameterStore(manager, false), new NDList(x), true)
                    .singletonOrThrow()
                    .toFloatArray();
            int dropped = 0;
            for (float value : y) {
                dropped += value == 0 ? 1 : 0;
            }
            // 51,200 fair coins: six standard deviations are 0.0133
            assertThat((double) dropped / y.length).isCloseTo(0.5, within(0.0133));
        }
    }

    @EngineTest
    void followsTheGivenEncoding(NDManager manager) {
        SinusoidalEncoding encoding = SinusoidalEncoding.tensor2tensor(7, 1, 10_000);
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(7)
                .optEncoding(encoding)
                .build();
        assertThat(Forward.infer(manager, block, manager.zeros(new Shape(1, 9, 7)))
                        .toFloatArray())
                .isEqualTo(encoding.table(0, 9));
        assertThat(block.getEncoding()).isSameAs(encoding);
    }

    @EngineTest
    void extendsItselfWhereAsked(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(8)
                .optMaxSequenceLength(10)
                .optAutoExtend(1 << 20)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 10, 8));
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(8);
        assertThat(Forward.infer(manager, block, manager.zeros(new Shape(1, 11, 8)))
                        .toFloatArray())
                .isEqualTo(encoding.table(0, 11));
        assertThat(block.getMaxSequenceLength()).isEqualTo(20);
        assertThat(Forward.inferFrom(manager, 100, block, manager.zeros(new Shape(1, 2, 8)))
                        .toFloatArray())
                .isEqualTo(encoding.table(100, 2));
        assertThat(block.getMaxSequenceLength()).isEqualTo(102);
        assertThat(block.encode(manager.create(new long[] {150})).toFloatArray())
                .isEqualTo(encoding.table(150, 1));
        assertThat(block.getMaxSequenceLength()).isEqualTo(204);
        assertThat(block.encode(manager.create(new float[] {1e6f})).toFloatArray())
                .isEqualTo(encoding.table(1_000_000, 1));
        assertThat(block.getMaxSequenceLength()).isEqualTo(204);
        // the rows that were there keep their values, and what fits extends nothing
        assertThat(block.getEncodings().toFloatArray()).isEqualTo(encoding.table(0, 204));
        Forward.infer(manager, block, manager.zeros(new Shape(1, 204, 8)));
        assertThat(block.getMaxSequenceLength()).isEqualTo(204);
    }

    @EngineTest
    void aGrowthThatFailsChangesNothing(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(8192)
                .optMaxSequenceLength(2)
                .optAutoExtend(1 << 20)
                .build();
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 2, 8192));
        int arrays = manager.getManagedArrays().size();
        NDArray x = manager.zeros(new Shape(1, 1, 8192), DataType.FLOAT64);
        // 2 · 10^9 rows of 64 KiB are more than 47 bits of address space
        assertThatThrownBy(() -> Forward.inferFrom(manager, 2_000_000_000, block, x))
                .isInstanceOf(RuntimeException.class);
        assertThat(block.getMaxSequenceLength()).isEqualTo(2);
        assertThat(manager.getManagedArrays()).hasSize(arrays + 1);
        assertThat(Forward.inferFrom(manager, 1, block, x).getDouble(0, 0, 0)).isEqualTo(StrictMath.sin(1));
    }

    @EngineTest
    void extendsItselfOnceForManyThreads(NDManager manager) throws Exception {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(8)
                .optMaxSequenceLength(4)
                .optAutoExtend(1 << 20)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 4, 8));
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(8);
        AtomicInteger longest = new AtomicInteger();
        ExecutorService executor = Executors.newFixedThreadPool(8);
        try {
            List<Future<?>> futures = new ArrayList<>();
            for (int thread = 0; thread < 8; thread++) {
                int first = thread;
                futures.add(executor.submit(() -> {
                    for (int i = 1; i < 200; i++) {
                        int length = 1 + (i * 5 + first * 11) % (4 * i);
                        longest.accumulateAndGet(length, Math::max);
                        try (NDManager own = manager.newSubManager()) {
                            NDArray y = Forward.infer(own, block, own.zeros(new Shape(1, length, 8)));
                            assertThat(y.toFloatArray()).isEqualTo(encoding.table(0, length));
                        }
                    }
                }));
            }
            for (Future<?> future : futures) {
                future.get();
            }
        } finally {
            executor.shutdownNow();
        }
        // each growth is to what is asked for, or to twice the length before
        assertThat(block.getMaxSequenceLength()).isBetween(longest.get(), 2 * longest.get());
    }

    @EngineTest
    void takesTimeMajorInput(NDManager manager) {
        PositionalEncodingBlock.Builder builder = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(10)
                .optSequenceAxis(0);
        PositionalEncodingBlock block = builder.build();
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        NDArray x = manager.zeros(new Shape(3, 2, 4));
        float[] rows = encoding.table(0, 3);
        float[] y = Forward.infer(manager, block, x).toFloatArray();
        for (int i = 0; i < 24; i++) {
            assertThat(y[i]).isEqualTo(rows[i / 8 * 4 + i % 4]);
        }
        // positions for all of the batch, and for each
        NDArray shared = Forward.infer(manager, block, x, manager.create(new int[] {5, 6, 7}));
        assertThat(shared.get(":, 1").toFloatArray()).isEqualTo(encoding.table(5, 3));
        NDArray each = Forward.infer(manager, block, x, manager.create(new int[] {5, 1, 6, 2, 7, 3}, new Shape(3, 2)));
        assertThat(each.get(":, 0").toFloatArray()).isEqualTo(encoding.table(5, 3));
        assertThat(each.get(":, 1").toFloatArray()).isEqualTo(encoding.table(1, 3));
        // higher rank
        NDArray deep = Forward.infer(manager, block, manager.zeros(new Shape(3, 2, 5, 4)));
        assertThat(deep.get(":, 1, 4").toFloatArray()).isEqualTo(rows);
        // alone
        PositionalEncodingBlock alone = builder.optAddToInput(false).build();
        assertThat(Forward.infer(manager, alone, x).getShape()).isEqualTo(new Shape(3, 1, 4));
        assertThat(alone.getOutputShapes(new Shape[] {x.getShape()})).containsExactly(new Shape(3, 1, 4));
        assertThat(Forward.infer(manager, alone, manager.create(new Shape(0, 2, 4), DataType.FLOAT32))
                        .getShape())
                .isEqualTo(new Shape(0, 1, 4));
    }

    @EngineTest
    void learnsAScaleWhereAsked(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optEncoding(SinusoidalEncoding.xTransformers(4))
                .optLearnedScale(0.5f)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 4));
        float[] rows = SinusoidalEncoding.xTransformers(4).table(0, 3);
        NDArray x = manager.ones(new Shape(1, 3, 4));
        float[] y = Forward.infer(manager, block, x).toFloatArray();
        for (int i = 0; i < 12; i++) {
            assertThat(y[i]).isEqualTo(1 + 0.5f * rows[i]);
        }
        assertThat(block.getParameters().keys()).containsExactly("scale");
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(block.forward(new ParameterStore(manager, false), new NDList(x), true)
                    .singletonOrThrow()
                    .sum());
        }
        double sum = 0;
        for (float value : rows) {
            sum += value;
        }
        // 12 floats of at most 1 and their sum: 24 roundings of at most 2^-23
        assertThat((double) block.getParameters()
                        .get("scale")
                        .getArray()
                        .getGradient()
                        .getFloat(0))
                .isCloseTo(sum, within(24 * 0x1p-22));
    }

    @EngineTest
    void learnedScaleKeepsTheDataTypeAndEmptySequences(NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT32, DataType.FLOAT64}) {
            PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                    .setEmbeddingSize(4)
                    .optLearnedScale(0.5f)
                    .build();
            block.initialize(manager, type, new Shape(1, 3, 4));
            for (Shape shape : new Shape[] {new Shape(2, 3, 4), new Shape(2, 0, 4), new Shape(0, 3, 4)}) {
                NDArray y = Forward.infer(manager, block, manager.create(shape, type));
                assertThat(y.getShape()).isEqualTo(shape);
                assertThat(y.getDataType()).isEqualTo(type);
            }
        }
    }

    @EngineTest
    void shiftsByAMatrixOnTheDevice(NDManager manager) {
        PositionalEncodingBlock block = block(16, 100);
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 16));
        for (double offset : new double[] {1, -7, 0.5}) {
            NDArray shift = block.shift(manager, offset);
            assertThat(shift.getShape()).isEqualTo(new Shape(16, 16));
            NDArray from = block.encode(manager.create(new float[] {20, 50}));
            NDArray to = block.encode(manager.create(new float[] {20 + (float) offset, 50 + (float) offset}));
            // 16 products of values right to an ulp
            assertThat(from.matMul(shift.transpose()).sub(to).abs().max().getDouble())
                    .isLessThan(16 * 0x1p-52);
        }
    }

    @EngineTest
    void describesItsOutputShape(NDManager manager) {
        Shape x = new Shape(2, 3, 4);
        assertThat(block(4, 10).getOutputShapes(new Shape[] {x})).containsExactly(x);
        assertThat(encodingsAlone(4, 10).getOutputShapes(new Shape[] {x})).containsExactly(new Shape(1, 3, 4));
        assertThat(encodingsAlone(4, 10).getOutputShapes(new Shape[] {x, new Shape(2, 3)}))
                .containsExactly(new Shape(2, 3, 4));
        assertThat(encodingsAlone(4, 10).getOutputShapes(new Shape[] {x, new Shape(3)}))
                .containsExactly(new Shape(1, 3, 4));
    }

    @EngineTest
    void printsItsSettings(NDManager manager) {
        assertThat(block(8, 20))
                .hasToString(
                        "PositionalEncodingBlock(encoding=SinusoidalEncoding(size=8, geometric(count=4, base=10000,"
                                + " period=4), INTERLEAVED, sine first), maxSequenceLength=20, addToInput=true,"
                                + " sequenceAxis=-2, learnedScale=false, autoExtend=false, dropoutRate=0.0)");
    }

    @EngineTest
    void manyExplicitPositionsAreCheckedLikeFew(NDManager manager) {
        PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                .setEmbeddingSize(4)
                .optMaxSequenceLength(120)
                .build();
        NDArray x = manager.zeros(new Shape(1, 100, 4));
        float[] table = SinusoidalEncoding.vaswani(4).table(0, 120);
        for (DataType type : new DataType[] {DataType.INT8, DataType.UINT8, DataType.INT32, DataType.INT64}) {
            NDArray good = manager.arange(20, 120, 1, DataType.INT32).toType(type, false);
            assertThat(Forward.infer(manager, block, x, good).toFloatArray())
                    .isEqualTo(Arrays.copyOfRange(table, 80, 480));
            int[] values = good.toType(DataType.INT32, true).toIntArray();
            for (int bad : new int[] {-1, 120}) {
                if (bad < 0 && type == DataType.UINT8) {
                    continue;
                }
                values[57] = bad;
                NDArray positions = manager.create(values).toType(type, false);
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> Forward.infer(manager, block, x, positions))
                        .withMessageStartingWith("position " + bad + " at index 57 of (100) is outside 0 to 119");
            }
        }
    }

    /** The encodings alone have the batch of their positions, be there none to encode. */
    @EngineTest
    void emptyPositionsOfABatchKeepItsSize(NDManager manager) {
        NDArray positions = manager.create(new Shape(3, 0), DataType.INT64);
        for (PositionalEncodingBlock.Builder builder : List.of(
                PositionalEncodingBlock.builder(),
                PositionalEncodingBlock.builder().optLearnedScale(2))) {
            PositionalEncodingBlock block =
                    builder.setEmbeddingSize(4).optAddToInput(false).build();
            NDArray x = manager.create(new Shape(3, 0, 4));
            block.initialize(manager, DataType.FLOAT32, x.getShape(), positions.getShape());
            assertThat(Forward.infer(manager, block, x, positions).getShape())
                    .isEqualTo(block.getOutputShapes(new Shape[] {x.getShape(), positions.getShape()})[0])
                    .isEqualTo(new Shape(3, 0, 4));
        }
    }

    /** Of many positions the least and the greatest are asked for, of few all are read: the table grows to the same. */
    @EngineTest
    void extendsItselfToTheGreatestOfManyPositions(NDManager manager) {
        for (int count : new int[] {64, 65, 100}) {
            for (DataType type : new DataType[] {DataType.INT64, DataType.INT32, DataType.UINT8}) {
                PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optMaxSequenceLength(2)
                        .optAutoExtend(1 << 20)
                        .build();
                NDArray positions = manager.arange(0, count, 1).toType(type, false);
                assertThat(block.encode(positions).toFloatArray())
                        .isEqualTo(SinusoidalEncoding.vaswani(4).table(0, count));
                assertThat(block.getMaxSequenceLength()).isEqualTo(count);
            }
        }
    }
}
