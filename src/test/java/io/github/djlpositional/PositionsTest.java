package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.infer;
import static io.github.djlpositional.support.Forward.inferAt;
import static io.github.djlpositional.support.Forward.params;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallLayers;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The positions of a call, as one value. */
class PositionsTest extends OnEachEngine {

    private static final int LAYERS = 3;

    /** The positions, and in each layer, the buffers in which the angles of queries and keys are written. */
    private static final int READS = 1 + 2 * LAYERS;

    private static TransformerStackBlock stack() {
        return TransformerStackBlock.builder()
                .setLayers(
                        LAYERS,
                        () -> SmallLayers.layer(SmallLayers.causal()
                                .optRelativeEncoding(RotaryEmbeddingBlock.builder()
                                        .setHeadSize(4)
                                        .build())))
                .build();
    }

    @Test
    void areTheIndicesOfTheTokens() {
        Positions positions = Positions.of(7, 3);
        assertThat(positions.first()).isEqualTo(7);
        assertThat(positions.count()).isEqualTo(3);
        assertThat(positions.end()).isEqualTo(10);
        assertThat(positions.array()).isNull();
        assertThat(positions.areReal()).isFalse();
        assertThat(doubles(positions.toArray(manager.zeros(new Shape(1)), DataType.FLOAT64)))
                .containsExactly(7, 8, 9);
    }

    @Test
    void areTheNumbersOfAnArray() {
        NDArray array = manager.create(new float[][] {{0.5f, 2, 3.25f}});
        Positions positions = Positions.of(array);
        assertThat(positions.first()).isZero();
        assertThat(positions.count()).isEqualTo(3);
        assertThat(positions.areReal()).isTrue();
        assertThat(positions.array()).isSameAs(array);
        assertThat(positions.toDoubles()).containsExactly(0.5, 2, 3.25);
        assertThat(positions.below(1, false).end()).isEqualTo(4); // one more than 3.25, rounded down
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"INT32", "INT64", "FLOAT32", "FLOAT64"})
    void aSliceAndWhatFollowsItAreTheWhole(DataType type) {
        NDArray array =
                manager.create(new float[] {4, 9, 0, 30, 2, 3}, new Shape(2, 3)).toType(type, true);
        Positions whole = Positions.of(array).like(array);
        Positions first = whole.slice(0, 1);
        Positions rest = whole.slice(1, 2);
        assertThat(first.toDoubles()).containsExactly(4, 30);
        assertThat(rest.toDoubles()).containsExactly(9, 0, 2, 3);
        assertThat(rest.first()).isEqualTo(1);
        // also after both were read
        Positions joined = first.followedBy(rest);
        assertThat(joined.toDoubles()).containsExactly(4, 9, 0, 30, 2, 3);
        assertThat(doubles(joined.array())).containsExactly(4, 9, 0, 30, 2, 3);
        assertThat(whole.slice(1, 2).toDoubles()).containsExactly(9, 0, 2, 3);
        assertThat(joined.first()).isZero();
        assertThat(joined.count()).isEqualTo(3);
    }

    /** The indices 0 and 1, which have no array, before tokens at 5 and 6 in one sequence and at 7 and 8 in another. */
    @Test
    void explicitPositionsMayFollowIndices() {
        NDArray array = manager.create(new int[] {5, 6, 7, 8}, new Shape(2, 2));
        Positions joined = Positions.of(0, 2).followedBy(Positions.of(array).like(array));
        assertThat(joined.toDoubles()).containsExactly(0, 1, 5, 6, 0, 1, 7, 8);
    }

    @Test
    void rejectsWhatIsNotAPosition() {
        NDArray large = manager.create(new long[] {3, 10});
        NDArray negative = manager.create(new int[] {3, -1});
        NDArray infinite = manager.create(new float[] {3, Float.POSITIVE_INFINITY});
        NDArray real = manager.create(new float[][] {{0.5f}});
        NDArray onAxes = manager.zeros(new Shape(2, 1, 3), DataType.INT32);
        assertAll(
                rejected(() -> Positions.of(0, 3).below(2, false), "3", "2"),
                rejected(() -> Positions.of(infinite).below(10, false), "Infinity", "index 1"),
                rejected(() -> Positions.of(real).toArray(real, DataType.INT32), "(1, 1)"),
                rejected(() -> Positions.of(onAxes).toArray(onAxes, DataType.INT32), "(2, 1, 3)"));
        assertThat(Positions.of(negative).signed().areReal()).isFalse();
        assumeCpu();
        NDArray far = manager.create(new long[] {3, -(1L << 29)});
        assertAll(
                rejected(() -> Positions.of(far).signed(), -(1L << 29), "index 1", (1 << 29) - 1),
                rejected(() -> Positions.of(negative).signed().below(10, false), "-1", "index 1"),
                rejected(() -> Positions.of(large).below(10, false), "10", "index 1"),
                rejected(() -> Positions.of(negative).below(10, false), "-1", "index 1"),
                rejected(() -> Positions.of(far).between(-9, 10, false), -(1L << 29), "-9 to 9"));
    }

    @Test
    void knowsHowFarNegativePositionsReach() {
        assumeCpu();
        Positions negative = Positions.of(manager.create(new int[] {3, -7})).between(-9, 10, false);
        Positions others = Positions.of(manager.create(new int[] {3, 0})).between(-9, 10, false);
        Positions reals = Positions.of(manager.create(new double[] {3, -7.5})).between(-9, 10, false);
        assertThat(List.of(negative.mayBeNegative(), others.mayBeNegative(), reals.mayBeNegative()))
                .containsExactly(true, false, false);
        assertThat(List.of(negative.reach(), others.reach(), reals.reach())).containsExactly(8, 4, 8);
        assertThat(Positions.of(2, 3).reach()).isEqualTo(5);
    }

    @Test
    void mayBeAForwardParameter() {
        TransformerStackBlock stack = stack();
        stack.initialize(manager, DataType.FLOAT64, new Shape(2, 4, 8));
        NDArray x = numbers(manager, 3, DataType.FLOAT64, 2, 4, 8);
        NDArray times = numbers(manager, 4, DataType.FLOAT64, 2, 4).mul(10);
        double[] expected = doubles(inferAt(manager, times, stack, x));
        PairList<String, Object> params = params(PositionalEncodingBlock.POSITIONS, Positions.of(times));
        requireClose(infer(manager, stack, params, x), expected, 0);
        PairList<String, Object> startToo = params(PositionalEncodingBlock.POSITIONS, Positions.of(times));
        startToo.add(PositionalEncodingBlock.START_POSITION, 2);
        assertAll(rejected(() -> infer(manager, stack, startToo, x), "startPosition=2"));
    }

    @Test
    void realPositionsAreReadOnceInAForward() {
        assumeEngine(TestEngine.PYTORCH);
        SimulatedGpuEngine gpu = new SimulatedGpuEngine();
        try (NDManager onGpu = gpu.newBaseManager(Device.gpu(0))) {
            TransformerStackBlock stack = stack();
            stack.initialize(onGpu, DataType.FLOAT32, new Shape(2, 4, 8));
            NDArray x = onGpu.ones(new Shape(2, 4, 8));
            NDArray times = onGpu.create(new float[] {0, 0.5f, 1.5f, 2, 0, 3, 5, 5.5f}, new Shape(2, 4));
            inferAt(onGpu, times, stack, x); // also creates tables
            gpu.takeReads();
            inferAt(onGpu, times, stack, x);
            assertThat(gpu.takeReads()).isEqualTo(READS);
        }
    }

    /** The positions of earlier tokens stay in Java memory. */
    @Test
    void aStepReadsOnlyItsOwnPositions() {
        assumeEngine(TestEngine.PYTORCH);
        SimulatedGpuEngine gpu = new SimulatedGpuEngine();
        try (NDManager onGpu = gpu.newBaseManager(Device.gpu(0));
                KeyValueCache cache = new KeyValueCache(onGpu)) {
            TransformerStackBlock stack = stack();
            stack.initialize(onGpu, DataType.FLOAT32, new Shape(1, 4, 8));
            for (int step = 0; step < 3; step++) {
                NDArray x = onGpu.ones(new Shape(1, 1, 8));
                PairList<String, Object> params = cache.nextStep();
                params.add(PositionalEncodingBlock.POSITIONS, onGpu.full(new Shape(1, 1), step + 0.5f));
                gpu.takeReads();
                stack.forward(new ParameterStore(onGpu, false), new NDList(x), false, params);
                assertThat(gpu.takeReads()).isEqualTo(READS);
            }
        }
    }
}
