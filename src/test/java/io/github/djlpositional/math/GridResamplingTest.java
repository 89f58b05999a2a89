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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junitpioneer.jupiter.cartesian.CartesianTest;
import org.junitpioneer.jupiter.cartesian.CartesianTest.Values;

/** Tables of grids that are resampled as PyTorch's {@code interpolate} and timm do. */
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
            @Values(ints = {1, 3, 11}) int from,
            @Values(ints = {1, 7}) int to) {
        double[][] weights = method.weights(from, to);
        assertThat(weights).hasDimensions(to, from);
        for (double[] row : weights) {
            assertThat(DoubleStream.of(row).sum()).isCloseTo(1, within(0x1p-48));
        }
    }

    /**
     * {@code resize_rel_pos_bias_table} of timm 1.0.31, with tables of one column. timm computes in FLOAT32: places up
     * to 6 and values up to 9 are wrong by less than 2^-19.
     */
    @ParameterizedTest
    @CsvSource({
        "3 3, 5 5, 0 3.5 7 2.5 6 1.5 5 0.5 4, 0 0 3.5 7 7 0 0 3.5 7 7 2.5 2.5 6 1.5 1.5 5 5 0.5 4 4 5 5 0.5 4 4",
        "1 5, 1 9, 0 3.5 7 2.5 6, 0 0 1.1666652 3.5 7 2.5 4.83333492 6 6",
        "1 7, 1 5, 0 3.5 7 2.5 6 1.5 5, 3.53465652 7 2.5 6 1.54455864",
        "1 5, 1 17, 0 3.5 7 2.5 6, 0 0 0 0 0 0 1.1666652 3.5 7 2.5 4.83333492 6 6 6 6 6 6",
        "3 5, 5 3, 0 3.5 7 2.5 6 1.5 5 0.5 4 7.5 3 6.5 2 5.5 1, 3.5 7 2.5 3.5 7 2.5 5 0.5 4 6.5 2 5.5 6.5 2 5.5"
    })
    void differencesAreResampledAsInTimm(String from, String to, String table, String expected) {
        assertThat(GridResampling.GEOMETRIC.resample(reals(table), sizes(from), sizes(to)))
                .containsExactly(reals(expected), within(0x1p-19));
    }

    /** The nearest rows are those of the differences -1, 0 and 1. */
    @Test
    void nearDifferencesKeepTheirValues() {
        double[][] weights = GridResampling.GEOMETRIC.weights(7, 13);
        for (int difference = -1; difference <= 1; difference++) {
            assertThat(weights[6 + difference][3 + difference]).isEqualTo(1);
        }
    }

    @Test
    void aTableForTheSameDifferencesIsCopied() {
        double[] table = {1, 2, 4, 8, 16};
        assertThat(GridResampling.GEOMETRIC.resample(table, new int[] {5}, new int[] {5}))
                .containsExactly(table)
                .isNotSameAs(table);
    }

    @Test
    void rejectsEvenNumbersOfDifferences() {
        assertAll(
                rejected(() -> GridResampling.GEOMETRIC.weights(4, 7), "from 4 to 7", "odd"),
                rejected(() -> GridResampling.GEOMETRIC.weights(7, 6), "from 7 to 6", "odd"),
                rejected(
                        () -> GridResampling.GEOMETRIC.resample(new double[4], new int[] {4}, new int[] {5}),
                        "from 4 to 5"));
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
