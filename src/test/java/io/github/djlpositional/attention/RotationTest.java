package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.Sampled;
import io.github.djlpositional.support.TestEngine;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** Rotations of pairs of numbers by any angles. */
@Sampled(oneIn = 2)
class RotationTest extends OnEachEngine {

    private static final int BATCH = 2;
    private static final int HEADS = 3;
    private static final int LENGTH = 5;
    private static final int SIZE = 11;
    private static final int ROTARY_SIZE = 8;

    /** Two products up to 4 and a sum up to 8 are rounded, each by at most half an ulp: 16 · 2^-24. */
    private static final float FLOAT = 0x1p-20f;

    /** Where an input lies in memory, and what its axes are. */
    enum Input {
        CONTIGUOUS,
        TRANSPOSED,
        PART_OF_ODD_OFFSET,
        EVERY_OTHER_NUMBER,
        ONE_NUMBER_BROADCAST,
        STEPS_BEFORE_HEADS,
        ROWS_OF_EACH_SEQUENCE;

        NDArray of(NDManager manager, DataType type) {
            return switch (this) {
                case CONTIGUOUS, ROWS_OF_EACH_SEQUENCE -> numbers(manager, 1, type, BATCH, HEADS, LENGTH, SIZE);
                case TRANSPOSED ->
                    numbers(manager, 1, type, BATCH, LENGTH, HEADS, SIZE).transpose(0, 2, 1, 3);
                case PART_OF_ODD_OFFSET ->
                    numbers(manager, 1, type, BATCH, HEADS, LENGTH, SIZE + 1).get(NDIndex.sliceAxis(3, 1, SIZE + 1));
                case EVERY_OTHER_NUMBER ->
                    numbers(manager, 1, type, BATCH, HEADS, LENGTH, 2 * SIZE)
                            .get(new NDIndex().addAllDim(3).addSliceDim(0, 2 * SIZE, 2));
                case ONE_NUMBER_BROADCAST ->
                    numbers(manager, 1, type, BATCH, HEADS, LENGTH, 1).broadcast(new Shape(BATCH, HEADS, LENGTH, SIZE));
                case STEPS_BEFORE_HEADS -> numbers(manager, 1, type, BATCH, LENGTH, HEADS, SIZE);
            };
        }

        Shape rows() {
            return switch (this) {
                case STEPS_BEFORE_HEADS -> new Shape(1, LENGTH, 1, ROTARY_SIZE);
                case ROWS_OF_EACH_SEQUENCE -> new Shape(BATCH, 1, LENGTH, ROTARY_SIZE);
                default -> new Shape(1, LENGTH, ROTARY_SIZE);
            };
        }

        /** The index of the angles of a row of the input. */
        int row(int row) {
            return switch (this) {
                case STEPS_BEFORE_HEADS -> row / HEADS % LENGTH;
                case ROWS_OF_EACH_SEQUENCE -> row / (HEADS * LENGTH) * LENGTH + row % LENGTH;
                default -> row % LENGTH;
            };
        }
    }

    /** The products of complex numbers; with the direction -1 the inverse rotation, and so the gradient. */
    private static double[] rotated(
            double[] x, double[] rows, Input input, int start, PairLayout layout, int direction) {
        double[] rotated = x.clone();
        int pairs = ROTARY_SIZE / 2;
        for (int row = 0; row < x.length / SIZE; row++) {
            for (int pair = 0; pair < pairs; pair++) {
                int first = row * SIZE + start + layout.firstIndex(pair, pairs);
                int second = row * SIZE + start + layout.secondIndex(pair, pairs);
                int angle = input.row(row) * ROTARY_SIZE;
                double cos = rows[angle + layout.firstIndex(pair, pairs)];
                double sin = direction * rows[angle + layout.secondIndex(pair, pairs)];
                rotated[first] = x[first] * cos - x[second] * sin;
                rotated[second] = x[second] * cos + x[first] * sin;
            }
        }
        return rotated;
    }

    @CartesianTest
    void rotatesAnyInputOfAnyTypeWithItsGradient(
            @CartesianTest.Enum PairLayout layout,
            @CartesianTest.Enum Input input,
            @Values(booleans = {true, false}) boolean isAtStart) {
        int start = isAtStart ? 0 : 3;
        Rotation rotation = new Rotation(start, ROTARY_SIZE, layout, null);
        for (DataType type : List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64)) {
            if (type == DataType.FLOAT16 && engine == TestEngine.MXNET) {
                continue;
            }
            double tolerance =
                    type == DataType.FLOAT16 ? 16 * 0x1p-11 : type == DataType.FLOAT32 ? FLOAT : 16 * 0x1p-53;
            NDArray x = input.of(manager, type);
            double[] before = TestNumbers.doubles(x);
            NDArray rows = numbers(manager, 2, type, input.rows().getShape());
            double[] angles = TestNumbers.doubles(rows);
            NDArray plain = rotation.apply(x, rows, false);
            assertThat(plain.getDataType()).isEqualTo(type);
            assertThat(plain.getShape()).isEqualTo(x.getShape());
            requireClose(plain, rotated(before, angles, input, start, layout, 1), tolerance);
            assertThat(TestNumbers.doubles(x)).as("the input").isEqualTo(before);

            NDArray weights = numbers(manager, 3, type, x.getShape().getShape());
            double[] expected = rotated(TestNumbers.doubles(weights), angles, input, start, layout, -1);
            // PyTorch compiles a method after some calls; the last is one in training
            for (int call = 0; call < 5; call++) {
                NDArray learned = input == Input.ONE_NUMBER_BROADCAST ? x.add(0) : x;
                learned.setRequiresGradient(true);
                try (GradientCollector collector = engine.get().newGradientCollector()) {
                    NDArray recorded = rotation.apply(learned, rows, call == 4);
                    requireClose(recorded, TestNumbers.doubles(plain), tolerance);
                    collector.backward(recorded.mul(weights).sum());
                    requireClose(learned.getGradient(), expected, tolerance);
                    collector.zeroGradients();
                }
            }
        }
    }

    /** Angles of dimensions. */
    @CartesianTest
    void turnsEachDimensionByItsAngleWithItsGradient(
            @CartesianTest.Enum PairLayout layout, @Values(booleans = {true, false}) boolean isAtStart) {
        int start = isAtStart ? 0 : 3;
        Rotation rotation = new Rotation(start, ROTARY_SIZE, layout, null);
        for (DataType type : List.of(DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64)) {
            if (type == DataType.FLOAT16 && engine == TestEngine.MXNET) {
                continue;
            }
            double tolerance =
                    type == DataType.FLOAT16 ? 16 * 0x1p-11 : type == DataType.FLOAT32 ? FLOAT : 16 * 0x1p-53;
            NDArray x = numbers(manager, 1, type, BATCH, HEADS, LENGTH, SIZE);
            double[] before = TestNumbers.doubles(x);
            NDArray rows = numbers(manager, 2, type, 1, LENGTH, 2 * ROTARY_SIZE);
            double[] angles = TestNumbers.doubles(rows);
            double[] expected = before.clone();
            NDArray weights = numbers(manager, 3, type, BATCH, HEADS, LENGTH, SIZE);
            double[] ofResult = TestNumbers.doubles(weights);
            double[] gradient = ofResult.clone();
            int pairs = ROTARY_SIZE / 2;
            for (int row = 0; row < x.size() / SIZE; row++) {
                int cosines = row % LENGTH * 2 * ROTARY_SIZE;
                int sines = cosines + ROTARY_SIZE;
                for (int pair = 0; pair < pairs; pair++) {
                    int i = layout.firstIndex(pair, pairs);
                    int j = layout.secondIndex(pair, pairs);
                    int first = row * SIZE + start + i;
                    int second = row * SIZE + start + j;
                    expected[first] = before[first] * angles[cosines + i] - before[second] * angles[sines + i];
                    expected[second] = before[second] * angles[cosines + j] + before[first] * angles[sines + j];
                    gradient[first] = ofResult[first] * angles[cosines + i] + ofResult[second] * angles[sines + j];
                    gradient[second] = ofResult[second] * angles[cosines + j] - ofResult[first] * angles[sines + i];
                }
            }
            for (int call = 0; call < 5; call++) {
                boolean isTraining = call > 2;
                requireClose(rotation.apply(x, rows, isTraining), expected, tolerance);
                x.setRequiresGradient(true);
                try (GradientCollector collector = engine.get().newGradientCollector()) {
                    NDArray recorded = rotation.apply(x, rows, isTraining);
                    collector.backward(recorded.mul(weights).sum());
                    requireClose(x.getGradient(), gradient, tolerance);
                    collector.zeroGradients();
                }
            }
        }
    }

    @Test
    void rotatesInputsWithNames() {
        NDArray x = numbers(manager, 1, DataType.FLOAT32, 1, 1, 2, 4);
        NDArray rows = numbers(manager, 2, DataType.FLOAT32, 1, 2, 4);
        Rotation rotation = new Rotation(0, 4, PairLayout.INTERLEAVED, null);
        double[] expected = TestNumbers.doubles(rotation.apply(x, rows, false));
        x.setName("model.layers[0]");
        rows.setName("rows()");
        assertThat(TestNumbers.doubles(rotation.apply(x, rows, false))).isEqualTo(expected);
    }

    /** PyTorch compiles a method after some calls, and again for other lengths. */
    @ParameterizedTest
    @EnumSource
    void isTheSameInAnyCallOfAnyLengthAndThread(PairLayout layout) throws Exception {
        Rotation rotation = new Rotation(0, 64, layout, null);
        List<float[]> first = new ArrayList<>();
        for (int round = 0; round < 3; round++) {
            for (int length = 1; length <= 25; length++) {
                float[] result = rotated(manager, rotation, length);
                if (round == 0) {
                    first.add(result);
                }
                assertThat(result).containsExactly(first.get(length - 1), within(FLOAT));
            }
        }
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<float[]>> results = IntStream.range(0, 100)
                    .mapToObj(i -> threads.submit(() -> rotated(manager, rotation, 1 + i % 25)))
                    .toList();
            for (int i = 0; i < results.size(); i++) {
                assertThat(results.get(i).get()).containsExactly(first.get(i % 25), within(FLOAT));
            }
        } finally {
            threads.shutdown();
        }
    }

    private static float[] rotated(NDManager parent, Rotation rotation, int length) {
        try (NDManager manager = parent.newSubManager()) {
            NDArray x = numbers(manager, length, DataType.FLOAT32, 1, 2, length, 64);
            return rotation.apply(x, numbers(manager, 2, DataType.FLOAT32, 1, length, 64), false)
                    .toFloatArray();
        }
    }
}
