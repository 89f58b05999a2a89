package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.numbers;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.BlockBytes;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.Goldens;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

class RotaryEmbeddingBlockTest {

    private static RotaryEmbeddingBlock.Builder builder() {
        return RotaryEmbeddingBlock.builder().setHeadSize(16);
    }

    @EngineTest
    void turnsEachPairByItsAngle(NDManager manager) {
        // reference: goldens/rotary_rows.csv, written by src/test/python/reference_values.py with mpmath. Of the vector
        // that
        // has 1 in every first half and 0 in every second, the rotation is the cosines and the sines themselves.
        for (PairLayout layout : PairLayout.values()) {
            RotaryEmbeddingBlock block =
                    builder().optLayout(layout).optMaxSequenceLength(140_000).build();
            float[] ones = new float[16];
            for (int pair = 0; pair < 8; pair++) {
                ones[layout.firstIndex(pair, 8)] = 1;
            }
            NDArray x = manager.create(ones, new Shape(1, 1, 1, 16));
            for (String[] row : Goldens.rows("rotary_rows.csv")) {
                if (!row[2].equals("1")) {
                    continue;
                }
                int pair = Integer.parseInt(row[4]);
                float[] rotated = Forward.inferFrom(manager, Integer.parseInt(row[3]), block, x)
                        .toFloatArray();
                assertThat(Goldens.floatUlps(rotated[layout.firstIndex(pair, 8)], new BigDecimal(row[5])))
                        .isLessThanOrEqualTo(0.501);
                assertThat(Goldens.floatUlps(rotated[layout.secondIndex(pair, 8)], new BigDecimal(row[6])))
                        .isLessThanOrEqualTo(0.501);
            }
        }
    }

    @EngineTest
    void scoresDependOnTheDistanceAlone(NDManager manager) {
        for (PairLayout layout : PairLayout.values()) {
            RotaryEmbeddingBlock block = builder()
                    .optLayout(layout)
                    .optRotarySize(12)
                    .optScaling(RotaryScaling.yarn(4, 64))
                    .build();
            NDArray q = numbers(manager, 5, DataType.FLOAT64, 1, 2, 1, 16);
            NDArray k =
                    numbers(manager, 5, DataType.FLOAT64, 1, 2, 1, 16).mul(1.5).add(0.25);
            for (int distance : new int[] {0, 1, 17}) {
                double[] first = null;
                for (int position : new int[] {17, 18, 100, 4999 - 17}) {
                    NDArray rotatedQuery = Forward.inferFrom(manager, position, block, q);
                    NDArray rotatedKey = Forward.inferFrom(manager, position - distance, block, k);
                    double[] scores =
                            rotatedQuery.mul(rotatedKey).sum(new int[] {3}).toDoubleArray();
                    first = first == null ? scores : first;
                    // sums of 16 products up to 20, each of numbers that were rounded three times
                    assertThat(scores).containsExactly(first, within(16 * 20 * 6 * 0x1p-52));
                }
            }
        }
    }

    @EngineTest
    void keepsNorms(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 2, 3, 50, 16);
        NDArray y = Forward.inferFrom(manager, 1234, block, x);
        assertThat(y.square().sum(new int[] {3}).toDoubleArray())
                // sums of 16 squares up to 8, each of a number that was rounded three times
                .containsExactly(x.square().sum(new int[] {3}).toDoubleArray(), within(16 * 8 * 6 * 0x1p-52));
        assertThat(y.sub(x).abs().max().getDouble()).isGreaterThan(0.1);
    }

    @EngineTest
    void attentionFactorIsPartOfTheRotation(NDManager manager) {
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 1, 1, 16);
        RotaryScaling scaling = RotaryScaling.yarn(16, 4096);
        NDArray y = Forward.infer(manager, builder().optScaling(scaling).build(), x);
        // position 0 turns nothing; numbers up to 2.6, rounded twice
        assertThat(y.toDoubleArray()).containsExactly(x.mul(1.2772588722239782).toDoubleArray(), within(0x1p-50));
    }

    @EngineTest
    void keepsWhatIsNotRotated(NDManager manager) {
        RotaryEmbeddingBlock block = builder().optRotarySize(6).build();
        NDArray x = numbers(manager, 5, DataType.FLOAT32, 2, 3, 5, 16);
        NDArray y = Forward.infer(manager, block, x);
        assertThat(y.get("..., 6:").toFloatArray()).isEqualTo(x.get("..., 6:").toFloatArray());
        // the frequencies are those of the six
        RotaryEmbeddingBlock six = RotaryEmbeddingBlock.builder().setHeadSize(6).build();
        assertThat(y.get("..., :6").toFloatArray())
                .isEqualTo(Forward.infer(manager, six, x.get("..., :6").duplicate())
                        .toFloatArray());
    }

    @EngineTest
    void layoutsAreAPermutationOfEachOther(NDManager manager) {
        NDArray x = numbers(manager, 5, DataType.FLOAT32, 1, 2, 7, 16);
        NDArray halves = x.reshape(1, 2, 7, 8, 2).transpose(0, 1, 2, 4, 3).reshape(1, 2, 7, 16);
        NDArray y = Forward.infer(manager, builder().build(), x);
        NDArray yHalves = Forward.infer(
                manager, builder().optLayout(PairLayout.CONCATENATED).build(), halves);
        assertThat(yHalves.toFloatArray())
                .isEqualTo(y.reshape(1, 2, 7, 8, 2)
                        .transpose(0, 1, 2, 4, 3)
                        .reshape(1, 2, 7, 16)
                        .toFloatArray());
    }

    @EngineTest
    void queriesAndKeysTogetherAreEachAlone(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        NDArray queries = numbers(manager, 5, DataType.FLOAT32, 2, 4, 5, 16);
        NDArray keys = numbers(manager, 5, DataType.FLOAT32, 2, 1, 5, 16);
        NDList both = block.forward(new ParameterStore(manager, false), new NDList(queries, keys), false);
        assertThat(both).hasSize(2);
        assertThat(both.get(0).toFloatArray())
                .isEqualTo(Forward.infer(manager, block, queries).toFloatArray());
        assertThat(both.get(1).toFloatArray())
                .isEqualTo(Forward.infer(manager, block, keys).toFloatArray());
    }

    @EngineTest
    void explicitPositionsAreThoseOfEachRow(NDManager manager) {
        for (RotaryScaling scaling : new RotaryScaling[] {RotaryScaling.none(), RotaryScaling.dynamicNtk(2, 8)}) {
            RotaryEmbeddingBlock block = builder().optScaling(scaling).build();
            NDArray x = numbers(manager, 5, DataType.FLOAT32, 2, 3, 4, 16);
            NDArray consecutive = Forward.inferFrom(manager, 5, block, x);
            for (NDArray positions : new NDArray[] {
                manager.create(new int[] {5, 6, 7, 8}),
                manager.create(new long[] {5, 6, 7, 8}),
                manager.create(new float[] {5, 6, 7, 8}),
                manager.create(new double[][] {{5, 6, 7, 8}, {5, 6, 7, 8}})
            }) {
                assertThat(Forward.infer(manager, block, x, positions).toFloatArray())
                        .isEqualTo(consecutive.toFloatArray());
            }
        }
        RotaryEmbeddingBlock block = builder().build();
        NDArray x = numbers(manager, 5, DataType.FLOAT32, 2, 3, 4, 16);
        NDArray y = Forward.infer(manager, block, x, manager.create(new int[][] {{0, 1, 2, 3}, {90, 91, 92, 93}}));
        assertThat(y.get("0:1").toFloatArray())
                .isEqualTo(Forward.infer(manager, block, x.get("0:1")).toFloatArray());
        assertThat(y.get("1:2").toFloatArray())
                .isEqualTo(Forward.inferFrom(manager, 90, block, x.get("1:2")).toFloatArray());
    }

    @EngineTest
    void realPositionsLieBetween(NDManager manager) {
        // mpmath: cos and sin of 2.5
        RotaryEmbeddingBlock block = builder().build();
        NDArray x = manager.zeros(new Shape(1, 1, 1, 16));
        x.set(new NDIndex("..., 0"), 1);
        float[] y = Forward.infer(manager, block, x, manager.create(new float[] {2.5f}))
                .toFloatArray();
        assertThat(y[0]).isEqualTo(-0.8011436f);
        assertThat(y[1]).isEqualTo(0.5984721f);
    }

    @EngineTest
    void dynamicScalingIsThatOfTheGreatestPosition(NDManager manager) {
        // beyond the original length the frequencies are those of a plain block with the base that the paper gives
        RotaryEmbeddingBlock dynamic =
                builder().optScaling(RotaryScaling.dynamicNtk(2, 8)).build();
        NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 1, 12, 16);
        for (int length : new int[] {8, 12, 9, 12}) {
            double base = length <= 8 ? 10_000 : 10_000 * Math.pow(2.0 * length / 8 - 1, 16.0 / 14);
            NDArray part = x.get(":, :, :{}", length);
            NDArray expected = Forward.infer(manager, builder().optBase(base).build(), part);
            assertThat(Forward.infer(manager, dynamic, part).toDoubleArray())
                    .containsExactly(expected.toDoubleArray(), within(1e-14));
        }
    }

    @EngineTest
    void extendsItselfWhereAsked(NDManager manager) {
        RotaryEmbeddingBlock block =
                builder().optMaxSequenceLength(4).optAutoExtend(1 << 20).build();
        NDArray x = numbers(manager, 5, DataType.FLOAT32, 1, 1, 3, 16);
        assertThat(Forward.inferFrom(manager, 500, block, x).toFloatArray())
                .isEqualTo(Forward.inferFrom(manager, 500, builder().build(), x).toFloatArray());
    }

    @EngineTest
    void keepsTheDataTypeAndNeverWritesToItsInput(Engine engine, NDManager manager) {
        for (DataType type : new DataType[] {DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64}) {
            for (PairLayout layout : PairLayout.values()) {
                RotaryEmbeddingBlock block = builder().optLayout(layout).build();
                block.initialize(manager, type, new Shape(-1, -1, -1, 16));
                NDArray x = numbers(manager, 5, type, 2, 3, 5, 16);
                double[] before = x.toType(DataType.FLOAT64, true).toDoubleArray();
                NDArray y = Forward.infer(manager, block, x);
                assertThat(y.getDataType()).isEqualTo(type);
                assertThat(y.getDevice()).isEqualTo(Device.cpu());
                assertThat(y.getShape()).isEqualTo(x.getShape());
                assertThat(x.toType(DataType.FLOAT64, true).toDoubleArray()).isEqualTo(before);
                // the cosine, the sine, two products and a sum are rounded, of numbers up to 2√2
                double tolerance = type == DataType.FLOAT16 ? 0x1p-8 : type == DataType.FLOAT32 ? 0x1p-21 : 0x1p-50;
                double[] expected = Forward.infer(
                                manager, builder().optLayout(layout).build(), manager.create(before, x.getShape()))
                        .toDoubleArray();
                assertThat(y.toType(DataType.FLOAT64, true).toDoubleArray())
                        .as("%s %s", engine.getEngineName(), type)
                        .containsExactly(expected, within(tolerance));
            }
        }
    }

    @EngineTest
    void gradientIsTheRotationBack(NDManager manager) {
        for (PairLayout layout : PairLayout.values()) {
            RotaryEmbeddingBlock block =
                    builder().optRotarySize(12).optLayout(layout).build();
            NDArray x = numbers(manager, 5, DataType.FLOAT64, 1, 2, 5, 16);
            NDArray weights = numbers(manager, 5, DataType.FLOAT64, 1, 2, 5, 16).add(0.5);
            x.setRequiresGradient(true);
            try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
                NDArray y = block.forward(new ParameterStore(manager, false), new NDList(x), true)
                        .singletonOrThrow();
                collector.backward(y.mul(weights).sum());
                // the rotation is orthogonal: rotating the gradient again gives what arrived
                NDArray gradient = x.getGradient();
                assertThat(Forward.infer(manager, block, gradient).toDoubleArray())
                        .containsExactly(weights.toDoubleArray(), within(1e-14));
            }
        }
    }

    @EngineTest
    void isInitializedWithItsTable(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        try (NDManager own = manager.newSubManager()) {
            int before = own.getManagedArrays().size();
            block.initialize(own, DataType.FLOAT32, new Shape(1, 1, -1, 16));
            NDArray x = numbers(manager, 5, DataType.FLOAT32, 1, 1, 3, 16);
            int after = own.getManagedArrays().size();
            assertThat(after).isGreaterThan(before);
            float[] y = Forward.infer(manager, block, x).toFloatArray();
            assertThat(own.getManagedArrays()).hasSize(after);
            block.clear();
            assertThat(Forward.infer(manager, block, x).toFloatArray()).isEqualTo(y);
        }
    }

    @EngineTest
    void aFileWithoutAScalingIsExtendedByAny(NDManager manager) throws Exception {
        RotaryEmbeddingBlock trained = builder().optMaxSequenceLength(8).build();
        trained.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 8, 16));
        byte[] plain = BlockBytes.saved(trained);
        RotaryEmbeddingBlock longer =
                builder().optScaling(RotaryScaling.yarn(4, 8)).build();
        BlockBytes.load(manager, longer, plain);
        assertThat(longer.isInitialized()).isTrue();
        byte[] scaled = BlockBytes.saved(longer);
        BlockBytes.load(manager, builder().optScaling(RotaryScaling.yarn(4, 8)).build(), scaled);
        for (RotaryScaling other : new RotaryScaling[] {RotaryScaling.none(), RotaryScaling.yarn(8, 8)}) {
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(() ->
                            BlockBytes.load(manager, builder().optScaling(other).build(), scaled))
                    .withMessageContaining("scaling=yarn(4, originalLength=8");
        }
    }

    @EngineTest
    void emptyComesBackEmpty(NDManager manager) {
        NDArray empty = manager.create(new Shape(2, 3, 0, 16));
        assertThat(Forward.infer(manager, builder().build(), empty).getShape()).isEqualTo(new Shape(2, 3, 0, 16));
    }

    private static void requireSameAlone(NDManager manager, Block block, NDArray x) {
        NDArray y = Forward.infer(manager, block, x);
        NDArray ofTransposed = Forward.infer(manager, block, x.transpose(1, 0, 2, 3));
        assertThat(ofTransposed.transpose(1, 0, 2, 3).toFloatArray()).isEqualTo(y.toFloatArray());
        Shape shape = x.getShape();
        int some = (int) Math.min(10_000, shape.get(2));
        for (long row : new long[] {0, shape.get(0) - 1}) {
            for (long head : new long[] {0, shape.get(1) - 1}) {
                for (long from : new long[] {0, shape.get(2) - some}) {
                    NDIndex part = new NDIndex("{}:{}, {}:{}, {}:{}", row, row + 1, head, head + 1, from, from + some);
                    assertThat(y.get(part).toFloatArray())
                            .isEqualTo(Forward.inferFrom(manager, (int) from, block, x.get(part))
                                    .toFloatArray());
                }
            }
        }
    }

    @EngineTest
    void aLargeInputIsTurnedAsItsPartsAre(NDManager manager) {
        for (PairLayout layout : PairLayout.values()) {
            for (int rotarySize : new int[] {16, 10}) {
                RotaryEmbeddingBlock block = builder()
                        .optLayout(layout)
                        .optRotarySize(rotarySize)
                        .optMaxSequenceLength(100_000)
                        .build();
                // several heads of one sequence, several sequences, and a part of one head at a time
                for (long[] sizes : new long[][] {{1, 17, 5000, 16}, {50, 3, 1000, 16}, {1, 1, 100_000, 16}}) {
                    try (NDManager own = manager.newSubManager()) {
                        requireSameAlone(own, block, numbers(own, 5, DataType.FLOAT32, sizes));
                    }
                }
            }
        }
    }

    @EngineTest
    void noQueriesLeaveKeysThatAreTurned(NDManager manager) {
        RotaryEmbeddingBlock block = builder().build();
        NDArray none = manager.create(new Shape(1, 0, 5, 16));
        NDArray keys = numbers(manager, 5, DataType.FLOAT32, 1, 2, 5, 16);
        NDArray positions = manager.create(new int[] {4, 3, 2, 1, 0});
        ParameterStore store = new ParameterStore(manager, false);
        for (NDList given : new NDList[] {new NDList(none, keys), new NDList(none, keys, positions)}) {
            NDList alone = new NDList(given);
            alone.remove(0);
            NDList turned = block.forward(store, given, false);
            assertThat(turned.get(0).getShape()).isEqualTo(none.getShape());
            assertThat(turned.get(1).toFloatArray())
                    .isEqualTo(block.forward(store, alone, false).get(0).toFloatArray());
        }
    }

    @EngineTest
    void threadsOfDifferentLengthsShareADynamicBlock(NDManager manager) throws Exception {
        RotaryEmbeddingBlock block =
                builder().optScaling(RotaryScaling.dynamicNtk(2, 8)).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, -1, 16));
        NDArray x = numbers(manager, 5, DataType.FLOAT32, 1, 1, 40, 16);
        List<float[]> expected = new ArrayList<>();
        for (int length = 1; length <= 40; length++) {
            expected.add(
                    Forward.infer(manager, block, x.get(":, :, :{}", length)).toFloatArray());
        }
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<?>> done = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                int seed = thread;
                done.add(threads.submit(() -> {
                    Random random = new Random(seed);
                    for (int i = 0; i < 100; i++) {
                        int length = 1 + random.nextInt(40);
                        try (NDManager own = manager.newSubManager();
                                NDArray part = x.get(own, new NDIndex(":, :, :{}", length))) {
                            assertThat(Forward.infer(own, block, part).toFloatArray())
                                    .isEqualTo(expected.get(length - 1));
                        }
                    }
                }));
            }
            for (Future<?> each : done) {
                each.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }
}
