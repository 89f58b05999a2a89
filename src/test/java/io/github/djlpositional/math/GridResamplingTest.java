package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.reals;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.support.Goldens;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** Tables of grids that are resampled as PyTorch's {@code interpolate} does. */
class GridResamplingTest {

    private static int[] sizes(String text) {
        return DoubleStream.of(reals(text)).mapToInt(size -> (int) size).toArray();
    }

    /**
     * torch in FLOAT64, with vectors of two numbers. Places up to 14 are rounded to 2^-50, and a kernel's slope is at
     * most 2: a weight of either program is wrong by less than 2^-48. At most 7 weights on each of 3 axes, a sum of
     * their sizes up to 1.375 on each, and values below 1 make less than 7 · 3 · 1.375² · 2 · 2^-48 &lt; 2^-41.
     */
    @Test
    void resampledTablesAreThoseOfTorch() {
        for (String[] row : Goldens.rows("grid_resampling.csv")) {
            int[] from = sizes(row[1]);
            double[] table = Goldens.sixtyFourths(2 * IntStream.of(from).reduce(1, (a, b) -> a * b));
            assertThat(GridResampling.valueOf(row[0]).resample(table, from, sizes(row[2])))
                    .as(String.join(",", row))
                    .containsExactly(reals(row[3]), within(0x1p-41));
        }
    }

    /** A table of ones stays one. Up to 12 weights below 1.2 are rounded, and their sum. */
    @CartesianTest
    void theWeightsOfACellHaveTheSumOne(
            @CartesianTest.Enum GridResampling method,
            @Values(ints = {1, 3, 12}) int from,
            @Values(ints = {1, 7}) int to) {
        double[][] weights = method.weights(from, to);
        assertThat(weights).hasDimensions(to, from);
        for (double[] row : weights) {
            assertThat(DoubleStream.of(row).sum()).isCloseTo(1, within(0x1p-48));
        }
    }

    @Test
    void rejectsSizesBelowOne() {
        assertAll(
                rejected(() -> GridResampling.BICUBIC.weights(0, 3), "size 0"),
                rejected(() -> GridResampling.BICUBIC.weights(3, 0), "new size 0"),
                rejected(() -> resample(6, new int[] {2, 0}, 2, 3), 6, "[2, 0]"),
                rejected(() -> resample(6, new int[] {2, 3}, 2, 0), "new size 0"));
    }

    @Test
    void rejectsTablesAndGridsThatDoNotFit() {
        assertAll(
                rejected(() -> resample(7, new int[] {2, 3}, 2, 3), 7, "[2, 3]"),
                rejected(() -> resample(6, new int[] {2}, 2, 3), 6, "[2]", "[2, 3]"));
    }

    /** 600,000 numbers in 2 · 3 cells are 100,000 for each cell. */
    @Test
    void rejectsMoreNumbersThanAnArrayHas() {
        assertAll(rejected(() -> resample(600_000, new int[] {2, 3}, 1, 30_000), 3_000_000_000L, Integer.MAX_VALUE));
    }

    private static void resample(int numbers, int[] from, int... to) {
        GridResampling.BICUBIC.resample(new double[numbers], from, to);
    }
}
