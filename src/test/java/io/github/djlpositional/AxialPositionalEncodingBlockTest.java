package io.github.djlpositional;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Inputs.integers;
import static io.github.djlpositional.support.Inputs.reals;
import static io.github.djlpositional.support.Inputs.zeros;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.Rejections.rejectedWithoutLeak;
import static io.github.djlpositional.support.SmallBlocks.initialized;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.math.GridResampling;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallBlocks;
import io.github.djlpositional.support.TestEngine;
import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each axis has a table of vectors, which are added or concatenated. Whole numbers are exact. */
class AxialPositionalEncodingBlockTest extends OnEachEngine {

    private static final String GRID_SIZES = AxialPositionalEncodingBlock.GRID_SIZES;

    /** D = 2, the axes 2 and 3. */
    private static AxialPositionalEncodingBlock.Builder axial() {
        return AxialPositionalEncodingBlock.builder().setEmbeddingSize(2).setAxes(2, 3);
    }

    /** Whose numbers are 1, 2, 3, … times 10 to the index of the table. */
    private AxialPositionalEncodingBlock counted(AxialPositionalEncodingBlock.Builder builder, long... input) {
        AxialPositionalEncodingBlock block = initialized(manager, builder.build(), input);
        int factor = 1;
        for (var table : block.getTables()) {
            NDArray values = table.getArray();
            double unit = factor;
            double[] numbers = IntStream.rangeClosed(1, (int) values.size())
                    .mapToDouble(i -> i * unit)
                    .toArray();
            reals(manager, numbers).reshape(values.getShape()).copyTo(values);
            factor *= 10;
        }
        return block;
    }

    private static PairList<String, Object> gridSizes(long... sizes) {
        return Forward.params(GRID_SIZES, new Shape(sizes));
    }

    @Test
    void addsTheVectorsOfRowAndColumn() {
        NDArray y = Forward.infer(manager, counted(axial(), 1, 6, 2), zeros(manager, 2, 6, 2));
        double[] image = {11, 22, 31, 42, 51, 62, 13, 24, 33, 44, 53, 64};
        assertThat(doubles(y))
                .isEqualTo(DoubleStream.concat(Arrays.stream(image), Arrays.stream(image))
                        .toArray());
    }

    @Test
    void concatenatesTheVectorsInAnOrder() {
        NDArray x = zeros(manager, 1, 6, 3);
        AxialPositionalEncodingBlock.Builder builder =
                axial().setEmbeddingSize(3).optConcatenated(1, 2);
        NDArray rows = Forward.infer(manager, counted(builder, 1, 6, 3), x);
        assertThat(doubles(rows)).containsExactly(1, 10, 20, 1, 30, 40, 1, 50, 60, 2, 10, 20, 2, 30, 40, 2, 50, 60);
        NDArray columns = Forward.infer(manager, counted(builder.optOrder(1, 0), 1, 6, 3), x);
        assertThat(doubles(columns)).containsExactly(10, 20, 1, 30, 40, 1, 50, 60, 1, 10, 20, 2, 30, 40, 2, 50, 60, 2);
    }

    @Test
    void addsNothingToPrefixTokens() {
        AxialPositionalEncodingBlock block = counted(axial().optPrefixTokens(2), 1, 8, 2);
        NDArray y = Forward.infer(manager, block, zeros(manager, 1, 8, 2));
        assertThat(doubles(y)).containsExactly(0, 0, 0, 0, 11, 22, 31, 42, 51, 62, 13, 24, 33, 44, 53, 64);
        NDArray some = Forward.infer(manager, block, zeros(manager, 1, 3, 2), integers(manager, 1, 7, 2));
        assertThat(doubles(some)).containsExactly(0, 0, 53, 64, 11, 22);
    }

    /** A grid of other proportions, whose indices are counted row by row. */
    @Test
    void aSmallerGridHasTheFirstRowsOfEachTable() {
        AxialPositionalEncodingBlock block = counted(axial(), 1, 6, 2);
        NDArray y = Forward.infer(manager, block, gridSizes(2, 2), zeros(manager, 1, 4, 2));
        assertThat(doubles(y)).containsExactly(11, 22, 31, 42, 13, 24, 33, 44);
        PairList<String, Object> params = gridSizes(2, 1);
        NDArray second = Forward.infer(manager, block, params, zeros(manager, 1, 1, 2), integers(manager, 1));
        assertThat(doubles(second)).containsExactly(13, 24);
    }

    @ParameterizedTest
    @EnumSource(names = {"INT32", "INT64", "UINT8"})
    void takesTheCoordinatesOfEachToken(DataType type) {
        AxialPositionalEncodingBlock block = counted(axial(), 1, -1, 2);
        NDArray x = zeros(manager, 2, 3, 2);
        NDArray each = integers(manager, 0, 1, 1, 1, 0, 0, 2, 2, 0, 1, 0, 2)
                .reshape(2, 2, 3)
                .toType(type, false);
        double[] expected = {51, 62, 53, 64, 13, 24, 33, 44, 11, 22, 51, 62};
        assertThat(doubles(Forward.infer(manager, block, x, each))).isEqualTo(expected);
        assertThat(doubles(Forward.inferAt(manager, each, block, x))).isEqualTo(expected);
        NDArray one = each.get(":, :1");
        NDArray shared = Forward.infer(manager, block, x, one);
        assertThat(doubles(shared.get(1))).isEqualTo(Arrays.copyOf(expected, 6));
        AxialPositionalEncodingBlock alone = counted(axial().optAddToInput(false), 1, -1, 2);
        assertThat(Forward.infer(manager, alone, x, one).getShape()).isEqualTo(new Shape(1, 3, 2));
        assertThat(Forward.infer(manager, alone, x, each).getShape()).isEqualTo(new Shape(2, 3, 2));
        AxialPositionalEncodingBlock timeMajor = counted(axial().optSequenceAxis(0), -1, 1, 2);
        NDArray transposed = Forward.infer(manager, timeMajor, x.transpose(1, 0, 2), each.transpose(0, 2, 1));
        assertThat(doubles(transposed.transpose(1, 0, 2))).isEqualTo(expected);
    }

    /** The indices of a grid of 5 by 7 cells, for which one seventh of 7, 14, … must not be rounded down. */
    @Test
    void takesTheIndexOfEachToken() {
        AxialPositionalEncodingBlock block = counted(
                AxialPositionalEncodingBlock.builder().setEmbeddingSize(3).setAxes(49, 7, 3), 1, -1, 3);
        NDArray all = Forward.infer(manager, block, zeros(manager, 1, 1029, 3));
        NDArray indices = manager.arange(1028, -1, -1, DataType.INT64).reshape(1, 1029);
        NDArray reversed = Forward.infer(manager, block, zeros(manager, 1, 1029, 3), indices);
        assertThat(doubles(reversed)).isEqualTo(doubles(all.flip(1)));
    }

    /** Left, top, right, bottom, height and width of two boxes. */
    @Test
    void axesShareTables() {
        AxialPositionalEncodingBlock block = counted(
                AxialPositionalEncodingBlock.builder()
                        .setEmbeddingSize(1)
                        .setAxes(5, 4, 5, 4, 4, 5)
                        .optTables(0, 1, 0, 1, 2, 3),
                1,
                -1,
                1);
        assertThat(block.getTables()).hasSize(4);
        NDArray boxes = integers(manager, 0, 4, 1, 0, 2, 4, 3, 1, 2, 1, 2, 0).reshape(6, 1, 2);
        NDArray y = Forward.infer(manager, block, zeros(manager, 1, 2, 1), boxes);
        // 1 + 20 + 3 + 40 + 300 + 3000, and 5 + 10 + 5 + 20 + 200 + 1000
        assertThat(doubles(y)).containsExactly(3364, 1240);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSequenceBeginsAtAPosition(boolean isConcatenated) {
        AxialPositionalEncodingBlock.Builder builder = axial().optSequence(true).optPrefixTokens(1);
        AxialPositionalEncodingBlock block =
                counted(isConcatenated ? builder.optConcatenated(1, 1).optOrder(1, 0) : builder, 1, 4, 2);
        NDArray whole = Forward.infer(manager, block, zeros(manager, 1, 7, 2));
        for (int first = 0; first < 7; first++) {
            for (int end = first + 1; end <= 7; end++) {
                NDArray part = Forward.inferFrom(manager, first, block, zeros(manager, 1, end - first, 2));
                assertThat(doubles(part)).isEqualTo(doubles(whole.get(":, {}:{}", first, end)));
            }
        }
    }

    /**
     * With the ratio kept, both tables are resampled to four rows, of which the rows of the grid are the first three.
     */
    @Test
    void resamplesEachTableWithGradients() {
        AxialPositionalEncodingBlock.Builder builder =
                axial().setEmbeddingSize(1).optResampling(GridResampling.BILINEAR);
        NDArray x = zeros(manager, 1, 12, 1);
        // rows 1, 2, 3 -> (1, 1.5, 2); columns 10, 20, 30 -> (10, 16.25, 23.75, 30)
        AxialPositionalEncodingBlock block = counted(builder, 1, -1, 1);
        NDArray y = Forward.infer(manager, block, gridSizes(3, 4), x);
        double[] columns = {10, 16.25, 23.75, 30};
        double[] rows = {1, 1.5, 2};
        requireClose(
                y,
                Arrays.stream(rows)
                        .flatMap(row -> Arrays.stream(columns).map(column -> row + column))
                        .toArray(),
                1e-5);
        double[] ratioKept = {1, 1.25, 1.75};
        NDArray kept = Forward.infer(manager, counted(builder.optAspectRatioKept(true), 1, -1, 1), gridSizes(3, 4), x);
        requireClose(
                kept,
                Arrays.stream(ratioKept)
                        .flatMap(row -> Arrays.stream(columns).map(column -> row + column))
                        .toArray(),
                1e-5);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            NDArray trained = block.forward(new ParameterStore(manager, false), new NDList(x), true, gridSizes(3, 4))
                    .head();
            collector.backward(trained.sum());
        }
        // 12 cells, shared by the weights of the rows they come from
        requireClose(block.getTables().get(0).getArray().getGradient(), new double[] {6, 6}, 1e-5);
        requireClose(block.getTables().get(1).getArray().getGradient(), new double[] {4.125, 3.75, 4.125}, 1e-5);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theRowsThatWereUsedGetGradients(boolean isConcatenated) {
        AxialPositionalEncodingBlock.Builder builder = isConcatenated
                ? axial().setEmbeddingSize(3).optConcatenated(1, 2).optOrder(1, 0)
                : axial();
        int size = isConcatenated ? 3 : 2;
        AxialPositionalEncodingBlock block = counted(builder, 1, -1, size);
        NDArray coordinates = integers(manager, 1, 1, 1, 0, 2, 2).reshape(2, 1, 3);
        NDArray weights = reals(
                        manager,
                        IntStream.rangeClosed(1, 3 * size).asDoubleStream().toArray())
                .reshape(1, 3, size);
        SmallBlocks.train(manager, block, weights, zeros(manager, 1, 3, size), coordinates);
        double[] ofRows = doubles(block.getTables().get(0).getArray().getGradient());
        double[] ofColumns = doubles(block.getTables().get(1).getArray().getGradient());
        if (isConcatenated) {
            assertThat(ofRows).containsExactly(0, 3 + 6 + 9);
            assertThat(ofColumns).containsExactly(1, 2, 0, 0, 4 + 7, 5 + 8);
        } else {
            assertThat(ofRows).containsExactly(0, 0, 1 + 3 + 5, 2 + 4 + 6);
            assertThat(ofColumns).containsExactly(1, 2, 0, 0, 3 + 5, 4 + 6);
        }
        // 2 rows of 3 cells
        AxialPositionalEncodingBlock grid = counted(builder, 1, -1, size);
        SmallBlocks.train(manager, grid, manager.ones(new Shape(1, 6, size)), zeros(manager, 1, 6, size));
        assertThat(doubles(grid.getTables().get(0).getArray().getGradient())).containsOnly(3);
        assertThat(doubles(grid.getTables().get(1).getArray().getGradient())).containsOnly(2);
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "FLOAT32", "FLOAT64"})
    void hasInitialEncodings(DataType type) {
        if (type == DataType.FLOAT16) {
            assumeEngine(TestEngine.PYTORCH); // MXNet has no parameters in FLOAT16
        }
        NDArray rows = reals(manager, 1, 2, 3, 4).reshape(1, 2, 2).toType(type, false);
        NDArray columns = reals(manager, 10, 20, 30, 40, 50, 60).reshape(3, 2).toType(type, false);
        AxialPositionalEncodingBlock block =
                axial().optInitialEncodings(rows, columns).build();
        block.initialize(manager, type, new Shape(1, 6, 2));
        NDArray y = Forward.infer(manager, block, zeros(manager, type, 1, 6, 2));
        assertThat(y.getDataType()).isEqualTo(type);
        assertThat(doubles(y)).containsExactly(11, 22, 31, 42, 51, 62, 13, 24, 33, 44, 53, 64);
        AxialPositionalEncodingBlock larger = axial().setAxes(3, 3)
                .optResampling(GridResampling.BILINEAR)
                .optInitialEncodings(rows, columns)
                .build();
        larger.initialize(manager, type, new Shape(1, 9, 2));
        assertThat(doubles(larger.getTables().get(0).getArray())).containsExactly(1, 2, 2, 3, 3, 4);
    }

    @Test
    void servesAnInputOfTokensAndOfPatches() {
        InputEmbeddingBlock input = SmallBlocks.embedding()
                .setEmbeddingSize(2)
                .optPositionalEncoding(axial().build())
                .build();
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 3));
        NDArray coordinates = integers(manager, 0, 1, 1, 0, 2, 2).reshape(2, 1, 3);
        assertThat(Forward.infer(manager, input, SmallBlocks.ids(manager), coordinates)
                        .getShape())
                .isEqualTo(new Shape(2, 3, 2));
        PatchEmbeddingBlock patches = PatchEmbeddingBlock.builder()
                .setPatchSize(2, 2)
                .setEmbeddingSize(2)
                .optChannels(1)
                .optClassToken(true)
                .optPositionalEncoding(axial().optPrefixTokens(1).build())
                .build();
        patches.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 4, 6));
        NDArray smaller = zeros(manager, 1, 1, 4, 4);
        assertThat(Forward.infer(manager, patches, smaller).getShape()).isEqualTo(new Shape(1, 5, 2));
        assertAll(rejected(() -> Forward.infer(manager, patches, zeros(manager, 1, 1, 6, 6)), "(3, 3)", "[2, 3]"));
    }

    @Test
    void rejectsPositionsThatDoNotFit() {
        AxialPositionalEncodingBlock block = counted(axial().optPrefixTokens(1), 1, -1, 2);
        AxialPositionalEncodingBlock boxes = counted(axial().setAxes(3, 3).optTables(0, 0), 1, -1, 2);
        AxialPositionalEncodingBlock sequence = counted(axial().optSequence(true), 1, 4, 2);
        NDArray x = zeros(manager, 1, 3, 2);
        NDArray tooFar = integers(manager, 0, 1, 2, 0, 1, 2).reshape(2, 1, 3);
        NDArray negative = integers(manager, 0, 1, 1, 0, -1, 2).reshape(2, 1, 3);
        NDArray three = integers(manager, 0, 0, 0, 0, 0, 0, 0, 0, 0).reshape(3, 1, 3);
        NDArray real = reals(manager, 0, 0, 0, 0, 0, 0).reshape(2, 1, 3);
        NDArray indices = integers(manager, 7, 0, 1);
        NDArray whole = zeros(manager, 1, 7, 2);
        assertAll(
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, x, tooFar), 2, "axis 0"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, x, negative), -1, "axis 1"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, x, three), "(3, 1, 3)", "2 axes"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, x, real), "(2, 1, 3)", "INT64"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, x, indices), 7, "0 to 6"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, block, x), 3, 7, GRID_SIZES),
                rejectedWithoutLeak(manager, () -> Forward.inferFrom(manager, 1, block, whole), 7, "position 1"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, boxes, x), "[0, 0]", "(2, B, T)"),
                rejectedWithoutLeak(manager, () -> Forward.infer(manager, boxes, x, indices), "(2, B, T)"),
                rejectedWithoutLeak(
                        manager, () -> Forward.inferFrom(manager, 4, sequence, x), "position 4", "at most 6"));
    }

    @Test
    void rejectsGridSizesThatDoNotFit() {
        AxialPositionalEncodingBlock block = counted(axial(), 1, -1, 2);
        AxialPositionalEncodingBlock free = counted(axial().optResampling(GridResampling.BICUBIC), 1, -1, 2);
        AxialPositionalEncodingBlock sequence = counted(axial().optSequence(true), 1, -1, 2);
        NDArray x = zeros(manager, 1, 9, 2);
        long huge = 1L << 40;
        assertAll(
                rejected(() -> Forward.infer(manager, block, gridSizes(3, 3), x), "(3, 3)", "[2, 3]", "optResampling"),
                rejected(() -> Forward.infer(manager, block, gridSizes(2), x), "(2)", "2 sizes"),
                rejected(() -> Forward.infer(manager, block, gridSizes(0, 3), x), "(0, 3)"),
                rejected(() -> Forward.infer(manager, free, gridSizes(huge, huge), x), "(" + huge),
                rejected(() -> Forward.infer(manager, block, Forward.params(GRID_SIZES, List.of(3, 3)), x), "[3, 3]"),
                rejected(() -> Forward.infer(manager, sequence, gridSizes(2, 3), x), "sequence"));
    }

    @Test
    void rejectsOptionsThatDoNotFit() {
        AxialPositionalEncodingBlock.Builder shared = axial().setAxes(3, 3).optTables(0, 0);
        assertAll(
                rejected(axial().setAxes()::build, "axes", 0),
                rejected(axial().setAxes(2, 0)::build, "axes", 0),
                rejected(axial().setAxes(IntStream.range(0, 17).map(i -> 1).toArray())::build, 17),
                rejected(axial().optConcatenated(1, 2)::build, "[1, 2]", "embeddingSize 2"),
                rejected(axial().optConcatenated(2)::build, "[2]", "2 sizes"),
                rejected(axial().optOrder(1, 0)::build, "[1, 0]", "concatenated"),
                rejected(axial().optConcatenated(1, 1).optOrder(1, 1)::build, "[1, 1]"),
                rejected(axial().optTables(0, 0)::build, "[0, 0]", "[2, 3]"),
                rejected(axial().optTables(1, 0)::build, "[1, 0]"),
                rejected(axial().optTables(0)::build, "[0]"),
                rejected(shared.optPrefixTokens(1)::build, "prefixTokens 1"),
                rejected(axial().optAspectRatioKept(true)::build, "aspectRatioKept"),
                rejected(axial().optResampling(GridResampling.GEOMETRIC)::build, "GEOMETRIC", "cells"),
                rejected(axial().optSequence(true).optResampling(GridResampling.BICUBIC)::build, "BICUBIC", "sequence"),
                rejected(axial().optSequenceAxis(-1)::build, -1));
    }

    @Test
    void rejectsInitialEncodingsThatDoNotFit() {
        NDArray two = zeros(manager, 2, 2);
        NDArray three = zeros(manager, 3, 2);
        assertAll(
                rejected(axial().optInitialEncodings(two)::build, 1, "2 tables"),
                rejected(axial().optInitialEncodings(two, two)::build, "(2, 2)", "(3, 2)", "optResampling"),
                rejected(axial().optInitialEncodings(two, zeros(manager, 3, 1))::build, "(3, 1)", "(3, 2)"),
                rejected(() -> axial().optInitialEncodings(two, zeros(manager, 6)), "(6)"),
                rejected(() -> axial().optInitialEncodings(two, three.toType(DataType.INT32, false)), "int32"));
    }
}
