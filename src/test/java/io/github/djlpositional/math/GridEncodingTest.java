package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.reals;
import static io.github.djlpositional.support.Goldens.requireUlps;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.support.Goldens;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The encodings of the cells of images and volumes. */
class GridEncodingTest implements ArgumentsContract<GridEncoding> {

    private static final int MAX_SIZE = 1 << 21;

    private static final SinusoidalEncoding EIGHT = SinusoidalEncoding.vaswani(8);

    /** Four channels of an image. */
    private static final GridEncoding SMALL = GridEncoding.multidim(2, 4);

    /** An image with the rows in eight channels. */
    private static GridEncoding.Builder rows() {
        return GridEncoding.builder().setAxes(2).add(0, EIGHT);
    }

    @Override
    public List<GridEncoding> distinctValues() {
        return List.of(
                GridEncoding.visionTransformer(8),
                GridEncoding.visionTransformer(12),
                GridEncoding.visionTransformer(16),
                // the sines and cosines of tensor2tensor in another order of the axes
                GridEncoding.simpleVit(8),
                GridEncoding.simpleVit(16),
                GridEncoding.tensor2tensor(2, 8, 1, 10_000),
                GridEncoding.tensor2tensor(3, 20, 1, 1000),
                GridEncoding.multidim(2, 7),
                GridEncoding.multidim(2, 8),
                GridEncoding.detr(8, 1),
                GridEncoding.detr(8, 0.5),
                GridEncoding.builder()
                        .setAxes(3)
                        .add(2, SinusoidalEncoding.vaswani(6), 1, 3)
                        .add(0, SinusoidalEncoding.fairseq(5))
                        .optChannels(11)
                        .optScale(1 / 3.0)
                        .optOffset(-2)
                        .optNormalized(0)
                        .optCenterCrop(9)
                        .build());
    }

    @Override
    public GridEncoding fromArguments(Map<?, ?> arguments) {
        return GridEncoding.fromArguments(arguments);
    }

    /** The published code of each convention in 50-digit arithmetic. */
    @Test
    void valuesAreThoseOfPublishedCode() {
        for (String[] row : Goldens.rows("grids.csv")) {
            int axes = Integer.parseInt(row[1]);
            int channels = Integer.parseInt(row[2]);
            GridEncoding encoding = switch (row[0]) {
                case "tensor2tensor" -> GridEncoding.tensor2tensor(axes, channels, 1, 10_000);
                case "multidim" -> GridEncoding.multidim(axes, channels);
                case "visionTransformer" -> GridEncoding.visionTransformer(channels);
                case "simpleVit" -> GridEncoding.simpleVit(channels);
                default -> throw new IllegalArgumentException(row[0]);
            };
            requireUlps(encoding.value(Integer.parseInt(row[4]), reals(row[3])), row[5], 2, row);
        }
    }

    /** Conventions that the class comment describes, with 8, 12 or 16 channels. */
    private static GridEncoding convention(String name) {
        SinusoidalEncoding four = SinusoidalEncoding.xTransformers(4);
        SinusoidalEncoding six = SinusoidalEncoding.xTransformers(6);
        GridEncoding.Builder image = GridEncoding.builder().setAxes(2);
        GridEncoding.Builder volume = GridEncoding.builder().setAxes(3);
        return switch (name) {
            case "detr" -> GridEncoding.detr(8, 1);
            case "deformable" -> GridEncoding.detr(8, 0.5);
            case "pixart" ->
                image.add(1, four).add(0, four).optScale(2).optNormalized(0).build();
            case "sd3" ->
                image.add(1, four)
                        .add(0, four)
                        .optScale(4)
                        .optNormalized(0)
                        .optCenterCrop(9)
                        .build();
            case "timm" ->
                image.add(0, four, 0, 2)
                        .add(1, four, 0, 2)
                        .add(0, four, 2, 2)
                        .add(1, four, 2, 2)
                        .build();
            case "diffusers3d" -> volume.add(0, four).add(2, six).add(1, six).build();
            case "monai3d" -> volume.add(1, four).add(0, four).add(2, four).build();
            default -> throw new IllegalArgumentException(name);
        };
    }

    /**
     * The published code of each convention in 50-digit arithmetic. Frequencies are at most 1, and a coordinate is
     * rounded four times, by 2^-53 of at most 2π; the coordinate of an empty line of Deformable DETR is -π · 10^6.
     */
    @Test
    void cellsOfWholeAndPaddedGridsAreThoseOfPublishedCode() {
        for (String[] row : Goldens.rows("grid_coordinates.csv")) {
            GridEncoding encoding = convention(row[0]);
            int[] sizes =
                    DoubleStream.of(reals(row[2])).mapToInt(size -> (int) size).toArray();
            double[] expected = reals(row[4]);
            Rows.Value cells = row[3].isEmpty() ? encoding.cells(sizes) : encoding.cells(sizes, isVisible(row[3]));
            double[] actual = new double[expected.length];
            int channels = encoding.getEmbeddingSize();
            Arrays.setAll(actual, i -> cells.at(Math.floorDiv(i, channels), i % channels));
            double tolerance = "deformable".equals(row[0]) && row[3].contains("0 0 0 0") ? 0x1p-29 : 0x1p-48;
            assertThat(actual).as(row[0] + " " + row[3]).containsExactly(expected, within(tolerance));
        }
    }

    private static boolean[] isVisible(String mask) {
        double[] numbers = reals(mask);
        boolean[] isVisible = new boolean[numbers.length];
        for (int cell = 0; cell < isVisible.length; cell++) {
            isVisible[cell] = numbers[cell] == 1;
        }
        return isVisible;
    }

    /** Columns in three channels, the dimensions 2 to 4 of their encoding, and rows in one, the dimension 5. */
    @Test
    void partsMayBeRangesOfDimensions() {
        GridEncoding encoding = GridEncoding.builder()
                .setAxes(2)
                .add(1, EIGHT, 2, 3)
                .add(0, EIGHT, 5, 1)
                .build();
        double[] expected = {EIGHT.value(1, 2), EIGHT.value(1, 3), EIGHT.value(1, 4), EIGHT.value(2, 5)};
        Rows.Value cells = encoding.cells(3, 2);
        for (int channel = 0; channel < 4; channel++) {
            assertThat(encoding.value(channel, 2, 1)).as("channel %s", channel).isEqualTo(expected[channel]);
            assertThat(cells.at(2 * 2 + 1, channel)).as("channel %s", channel).isEqualTo(expected[channel]);
        }
    }

    /** The coordinate of a line without visible cells is -1 / 0 with ε = 0; in a grid without any there is none. */
    @Test
    void cellsWithoutACoordinateAreZero() {
        GridEncoding encoding = rows().add(1, EIGHT).optNormalized(0).build();
        boolean[] isVisible = {true, true, false, false, false, false, false, false};
        Rows.Value cells = encoding.cells(new int[] {2, 2}, isVisible);
        assertThat(cells.at(0, 1)).isEqualTo(EIGHT.value(0, 1));
        assertThat(cells.at(1, 8)).isEqualTo(EIGHT.value(0.5, 0));
        for (int channel = 0; channel < 8; channel++) {
            assertThat(cells.at(2, 8 + channel)).as("column of an empty row").isZero();
            assertThat(cells.at(4, channel)).as("row of an empty grid").isZero();
            assertThat(cells.at(7, 8 + channel)).as("column of an empty grid").isZero();
        }
    }

    @Test
    void channelsAfterTheLastPartAreZero() {
        GridEncoding encoding = rows().optChannels(9).build();
        assertThat(encoding.getEmbeddingSize()).isEqualTo(9);
        assertThat(encoding.value(7, 1, 2)).isEqualTo(EIGHT.value(1, 7));
        assertThat(encoding.value(8, 1, 2)).isZero();
        assertThat(encoding.cells(2, 1).at(1, 8)).isZero();
    }

    /**
     * scale · (start + i + offset) / (n + ε). In a table of 9, n is 9, and an axis of 4 starts at ⌊(9 - 4) / 2⌋ = 2.
     */
    @Test
    void aCoordinateIsMovedNormalizedAndScaled() {
        assertThat(rows().build().coordinate(3, 4)).isEqualTo(3);
        assertThat(rows().optOffset(0.5).optScale(2).build().coordinate(3, 4)).isEqualTo(7);
        assertThat(rows().optNormalized(1).build().coordinate(3, 4)).isEqualTo(0.6);
        assertThat(rows().optCenterCrop(9).build().coordinate(3, 4)).isEqualTo(5);
        assertThat(rows().optCenterCrop(9).optNormalized(1).build().coordinate(3, 4))
                .isEqualTo(0.5);
        assertThat(rows().optCenterCrop(4).build().coordinate(3, 4)).isEqualTo(3);
    }

    @Test
    void hasTwoOrThreeAxes() {
        assertThat(GridEncoding.visionTransformer(8).getAxes()).isEqualTo(2);
        assertThat(GridEncoding.multidim(3, 12).getAxes()).isEqualTo(3);
    }

    @Test
    void describesEachPart() {
        SinusoidalEncoding part = SinusoidalEncoding.vaswani(2);
        assertThat(SMALL)
                .hasToString("GridEncoding(axes=2, parts=[Part(axis=0, encoding=" + part + ", first=0, count=2), "
                        + "Part(axis=1, encoding=" + part + ", first=0, count=2)], channels=4, offset=0.0, scale=1.0)");
    }

    @Test
    @Tag("slow")
    void hasUpToTwoMillionChannels() {
        assertThat(GridEncoding.multidim(2, MAX_SIZE).getEmbeddingSize()).isEqualTo(MAX_SIZE);
    }

    @Test
    void rejectsOtherNumbersOfAxes() {
        assertAll(
                rejected(() -> GridEncoding.multidim(1, 8), "1 axes", 2, 3),
                rejected(() -> GridEncoding.tensor2tensor(4, 8, 1, 10_000), "4 axes", 2, 3),
                rejected(rows().setAxes(4)::build, "axes 4", 2, 3));
    }

    @Test
    void rejectsNumbersOfChannelsOutOfRange() {
        assertAll(
                rejected(() -> GridEncoding.tensor2tensor(2, 3, 1, 10_000), "channel count", 3, 4, MAX_SIZE),
                rejected(() -> GridEncoding.tensor2tensor(2, Integer.MAX_VALUE, 1, 2), "channel", Integer.MAX_VALUE),
                rejected(() -> GridEncoding.multidim(2, 0), "channel count 0", MAX_SIZE),
                rejected(() -> GridEncoding.multidim(2, Integer.MAX_VALUE), "channel count", Integer.MAX_VALUE),
                rejected(() -> GridEncoding.visionTransformer(0), "channel count 0", 4, MAX_SIZE),
                rejected(() -> GridEncoding.simpleVit(4), "channel count 4", 8, MAX_SIZE),
                rejected(rows().optChannels(7)::build, "channel count", 7, 8));
    }

    @Test
    void rejectsChannelsThatAreNoMultipleOfFour() {
        assertAll(
                rejected(() -> GridEncoding.visionTransformer(6), "channel count", 6, 4),
                rejected(() -> GridEncoding.simpleVit(10), "channel count", 10, 4),
                rejected(() -> GridEncoding.detr(6, 1), "channel count", 6, 4));
    }

    @Test
    void rejectsPartsOfOtherAxesAndOtherDimensions() {
        assertAll(
                rejected(rows().add(2, EIGHT)::build, "axis", 2, 1),
                rejected(rows().add(-1, EIGHT)::build, "axis", -1, 1),
                rejected(() -> rows().add(0, EIGHT, 9, 0), "first", 9, 8),
                rejected(() -> rows().add(0, EIGHT, 4, 5), "count", 5, 4),
                rejected(GridEncoding.builder().setAxes(2)::build, "parts"));
    }

    @Test
    void rejectsSettingsOfCoordinatesOutOfRange() {
        assertAll(
                rejected(() -> GridEncoding.tensor2tensor(2, 8, 0, 10_000), "minTimescale", 0.0),
                rejected(rows().optOffset(Double.NaN)::build, "offset NaN"),
                rejected(rows().optScale(Double.POSITIVE_INFINITY)::build, "scale Infinity"),
                rejected(rows().optNormalized(-1)::build, "epsilon", -1.0),
                rejected(rows().optNormalized(Double.NaN)::build, "epsilon", Double.NaN),
                rejected(rows().optCenterCrop(0)::build, "centerCrop 0"));
    }

    @Test
    void rejectsAnAxisLongerThanTheTableThatItIsCroppedFrom() {
        GridEncoding cropped = rows().optCenterCrop(3).build();
        assertAll(rejected(() -> cropped.coordinate(0, 4), "size 4.0", 3), rejected(() -> cropped.cells(1, 4), 4.0, 3));
    }

    @Test
    void rejectsPlacesThatDoNotFit() {
        assertAll(
                rejected(() -> SMALL.value(4, 0, 0), "channel", 4, 3),
                rejected(() -> SMALL.value(-1, 0, 0), "channel", -1, 3),
                rejected(() -> SMALL.value(0, 0, 0, 0), "3 coordinates", 2),
                rejected(() -> SMALL.value(0, Double.NaN, 0), "position", Double.NaN));
    }

    @Test
    void rejectsGridsOfOtherAxesAndEmptyGrids() {
        assertAll(
                rejected(() -> SMALL.cells(0, 1), "[0, 1]", 2),
                rejected(() -> SMALL.cells(1, 0), "[1, 0]", 2),
                rejected(() -> SMALL.cells(-1, -1), "[-1, -1]", 2),
                rejected(() -> SMALL.cells(1), "[1]", 2),
                rejected(() -> SMALL.cells(1, 1, 1), "[1, 1, 1]", 2),
                rejected(() -> SMALL.cells(new int[1], new boolean[1]), "[0]", 2),
                rejected(() -> SMALL.cells(new int[] {2, 1}, new boolean[3]), "3 cells", "[2, 1]"));
    }

    /** 2^32 and 2^34 numbers in all, and 2^28 numbers of one axis. */
    @Test
    void rejectsGridsThatAreTooLarge() {
        assertAll(
                rejected(() -> SMALL.cells(32_768, 32_768), "[32768, 32768]", Integer.MAX_VALUE),
                rejected(() -> SMALL.cells(65_536, 65_536), "[65536, 65536]", Integer.MAX_VALUE),
                rejected(() -> SMALL.cells(1 << 26, 1), 1 << 26, 1 << 27));
    }

    @Test
    void rejectsAnUnknownType() {
        assertAll(rejected(() -> GridEncoding.fromArguments(Map.of("type", "cubic")), "type", "GridEncoding", "cubic"));
    }
}
