package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.support.OnEachEngine;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The changes of coordinates in training; the live comparison has the numbers of DINOv3. */
class CoordinateAugmentationTest extends OnEachEngine {

    private static final CoordinateAugmentation ALL = new CoordinateAugmentation(0.5, 4, 2);

    /** The row is shifted by 0.25 and multiplied by 4^(1/2) · 2^-1, the column shifted by -0.5 and divided by 4 · 2. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void shiftsAndMultipliesTheCoordinatesOfPatches(DataType type) {
        NDArray positions = manager.create(new double[] {9, -1, 1, 9, 0.5, -0.5}, new Shape(2, 1, 3))
                .toType(type, false);
        NDArray random = manager.create(new double[] {0.5, -1, 0.5, -1, -1});
        NDArray changed = ALL.apply(positions, 1, random);
        assertThat(changed.getDataType()).isEqualTo(type);
        requireClose(changed, new double[] {9, -0.75, 1.25, 9, 0, -0.125}, 1e-6);
        NDArray withoutBatch = ALL.apply(positions.squeeze(1), 1, random);
        assertThat(withoutBatch).isEqualTo(changed.squeeze(1));
        requireClose(ALL.apply(positions, 0, random).get("0, 0, :1"), new double[] {9.25}, 1e-6);
    }

    @Test
    void changesNothingByDefault() {
        NDArray positions = manager.create(new double[] {0.25, 1, -0.75, -1}, new Shape(2, 2));
        assertThat(doubles(new CoordinateAugmentation(0, 1, 1).apply(positions, 0)))
                .isEqualTo(doubles(positions));
    }

    /** Of 0 and 1: the shift is the first, divided by the factor. */
    @Test
    void drawsNumbersInTheirRangesWhichASeedRepeats() {
        NDArray positions = manager.create(new double[] {0, 1, 0, 1}, new Shape(2, 2));
        manager.getEngine().setRandomSeed(7);
        NDArray first = ALL.apply(positions, 0);
        double[][] shifts = new double[2][200];
        double[][] factors = new double[2][200];
        for (int i = 0; i < 200; i++) {
            double[] changed = doubles(ALL.apply(positions, 0));
            for (int axis = 0; axis < 2; axis++) {
                factors[axis][i] = changed[2 * axis + 1] - changed[2 * axis];
                shifts[axis][i] = changed[2 * axis] / factors[axis][i];
            }
        }
        for (int axis = 0; axis < 2; axis++) {
            assertThat(Arrays.stream(shifts[axis]).map(Math::abs).max().orElseThrow())
                    .isLessThan(0.5001);
            assertThat(Arrays.stream(factors[axis])
                            .map(factor -> Math.abs(Math.log(factor)))
                            .max()
                            .orElseThrow())
                    .isLessThan(Math.log(8.001));
            // an extreme of 200 numbers is almost surely in the outer fifth; factors multiply two
            assertThat(Arrays.stream(shifts[axis]).max().orElseThrow()).isGreaterThan(0.3);
            assertThat(Arrays.stream(factors[axis]).max().orElseThrow()).isGreaterThan(4);
            assertThat(Arrays.stream(factors[axis]).min().orElseThrow()).isLessThan(0.25);
        }
        assertThat(shifts[0]).isNotEqualTo(shifts[1]);
        manager.getEngine().setRandomSeed(7);
        assertThat(ALL.apply(positions, 0)).isEqualTo(first);
    }

    @Test
    void rejectsArraysThatDoNotFit() {
        NDArray positions = zeros(manager, 2, 1, 3);
        NDArray whole = integers(manager, 0, 1).reshape(2, 1);
        NDArray flat = zeros(manager, 3);
        NDArray five = zeros(manager, 5);
        NDArray six = zeros(manager, 6);
        assertAll(
                rejectedWithoutLeak(manager, () -> ALL.apply(whole, 0), "int64", "(2, 1)"),
                rejectedWithoutLeak(manager, () -> ALL.apply(flat, 0, five), "(3)", "(axes, T)"),
                rejectedWithoutLeak(manager, () -> ALL.apply(positions, 3), 3, 2),
                rejectedWithoutLeak(manager, () -> ALL.apply(positions, -1), -1),
                rejectedWithoutLeak(manager, () -> ALL.apply(positions, 0, six), "(6)", "(5)"));
    }

    @ParameterizedTest
    @ValueSource(doubles = {-0.1, 0.9, Double.NaN, Double.POSITIVE_INFINITY})
    void rejectsNumbersOutOfRange(double number) {
        assertAll(
                rejected(() -> new CoordinateAugmentation(0, number, 1), "jitter", number),
                rejected(() -> new CoordinateAugmentation(0, 1, number), "rescale", number));
        if (!(number > 0 && number < 1)) {
            assertAll(rejected(() -> new CoordinateAugmentation(number, 1, 1), "shift", number));
        }
    }
}
