package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.internal.chartpart.PaintedAxes;
import org.knowm.xchart.internal.chartpart.PaintedAxes.Tick;

/** The labels of the axes, read from the painted chart, and the painted pixels belong together. */
class DrawingTest {

    private static final Color BLUE = new Color(0x2166AC);
    private static final Color WHITE = new Color(0xF7F7F7);
    private static final Color RED = new Color(0xB2182B);
    private static final Color FIRST_LINE = new Color(0x0072B2);

    private static BufferedImage paint(AxesChart<?, ?> chart, Look look) {
        return new Figure(1, List.of(chart)).paint(look);
    }

    /** Returns the color at a place in CSS pixels; a picture has two pixels for each. */
    private static Color color(BufferedImage picture, double x, double y) {
        return new Color(picture.getRGB((int) Math.round(2 * x), (int) Math.round(2 * y)));
    }

    private static Color between(Color from, Color to, double fraction) {
        return new Color(
                (int) (from.getRed() + fraction * (to.getRed() - from.getRed())),
                (int) (from.getGreen() + fraction * (to.getGreen() - from.getGreen())),
                (int) (from.getBlue() + fraction * (to.getBlue() - from.getBlue())));
    }

    /** The color of a number from -1 to 1. */
    private static Color diverging(double value) {
        return value < 0 ? between(BLUE, WHITE, value + 1) : between(WHITE, RED, value);
    }

    private static void assertSameColor(Color actual, Color expected, String place) {
        // XChart truncates the interpolated numbers, perhaps after another rounding
        assertThat(actual.getRed()).as(place).isCloseTo(expected.getRed(), within(1));
        assertThat(actual.getGreen()).as(place).isCloseTo(expected.getGreen(), within(1));
        assertThat(actual.getBlue()).as(place).isCloseTo(expected.getBlue(), within(1));
    }

    @ParameterizedTest
    @EnumSource(names = {"LIGHT_WIDE", "LIGHT_NARROW"})
    void labelsOfHeatMapNameItsCells(Look look) {
        // more columns than rows, and a different number in every cell
        Drawing.Cells cells = (row, column) -> (20.0 * row + column) / 80 - 1;
        HeatMapChart chart = Drawing.map("map", "column", "row", 8, 20, cells);
        BufferedImage picture = paint(chart, look);
        List<Tick> columns = PaintedAxes.x(chart);
        List<Tick> rows = PaintedAxes.y(chart);
        assertThat(columns).extracting(Tick::label).containsExactly("0", "4", "8", "12", "16");
        assertThat(rows).extracting(Tick::label).containsExactlyInAnyOrder("0", "1", "2", "3", "4", "5", "6", "7");
        for (Tick row : rows) {
            for (Tick column : columns) {
                double value = cells.value(Integer.parseInt(row.label()), Integer.parseInt(column.label()));
                assertSameColor(
                        color(picture, column.pixel(), row.pixel()),
                        diverging(value),
                        row + " " + column + " " + value);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"LIGHT_WIDE", "LIGHT_NARROW"})
    void rowZeroOfHeatMapIsAtTheTop(Look look) {
        HeatMapChart chart = Drawing.map("map", "column", "row", 100, 64, (row, column) -> 0);
        paint(chart, look);
        Tick first = PaintedAxes.y(chart).stream()
                .filter(tick -> tick.label().equals("0"))
                .findFirst()
                .orElseThrow();
        assertThat(PaintedAxes.y(chart)).hasSize(10).allMatch(tick -> tick.pixel() >= first.pixel());
    }

    @Test
    void labelsOfWordMapNameItsCells() {
        List<String> words = List.of("one", "small", "word", "small");
        Drawing.Cells cells = (row, column) -> (4 * row + column) / 15.0;
        HeatMapChart chart = Drawing.wordMap("map", "to", "from", words, 1, cells);
        BufferedImage picture = paint(chart, Look.LIGHT_WIDE);
        List<Tick> columns = PaintedAxes.x(chart);
        List<Tick> rows = PaintedAxes.y(chart);
        assertThat(columns).extracting(Tick::label).containsExactly("0 one", "1 small", "2 word", "3 small");
        assertThat(rows).hasSize(4);
        for (Tick row : rows) {
            for (Tick column : columns) {
                double value =
                        cells.value(row.label().charAt(0) - '0', column.label().charAt(0) - '0');
                assertSameColor(
                        color(picture, column.pixel(), row.pixel()), between(WHITE, RED, value), row + " " + column);
            }
        }
    }

    /** The labels name the numbers at their places, and their step is 1, 2 or 5 times a power of ten. */
    private static void assertRoundAndInPlace(List<Tick> ticks, DoubleUnaryOperator numberAtPixel, double pixel) {
        assertThat(ticks).hasSizeGreaterThan(2);
        double[] numbers = ticks.stream()
                .mapToDouble(tick -> Double.parseDouble(tick.label().replace(",", "")))
                .toArray();
        for (int i = 0; i < numbers.length; i++) {
            // coordinates are whole pixels
            assertThat(numberAtPixel.applyAsDouble(ticks.get(i).pixel())).isCloseTo(numbers[i], within(pixel));
        }
        double step = Math.abs(numbers[1] - numbers[0]);
        double leading = step / Math.pow(10, Math.floor(Math.log10(step) + 1e-9));
        assertThat(Math.rint(leading)).as("step %s", step).isIn(1.0, 2.0, 5.0);
        assertThat(leading).isCloseTo(Math.rint(leading), within(1e-6));
        assertThat(numbers[0] / step).isCloseTo(Math.rint(numbers[0] / step), within(1e-6));
    }

    @ParameterizedTest
    @EnumSource
    void labelsOfLinesNameTheirPoints(Look look) {
        for (int count : new int[] {50, 62, 201}) {
            XYChart chart = Drawing.lines("lines", "x", "y");
            // not symmetric, with a gentle slope
            Drawing.line(chart, "line", count, x -> 5 - 12.0 * x / count);
            BufferedImage picture = paint(chart, look);
            double pixelOfX = chart.getChartXFromCoordinate(101) - chart.getChartXFromCoordinate(100);
            double pixelOfY = Math.abs(chart.getChartYFromCoordinate(101) - chart.getChartYFromCoordinate(100));
            assertRoundAndInPlace(
                    PaintedAxes.x(chart), x -> chart.getChartXFromCoordinate((int) Math.round(x)), pixelOfX);
            assertRoundAndInPlace(
                    PaintedAxes.y(chart), y -> chart.getChartYFromCoordinate((int) Math.round(y)), pixelOfY);
            int compared = 0;
            // the legend is below
            int bottom = (int) (2 * chart.getScreenYFromChart(-7) + 4);
            for (int x = 0; x < picture.getWidth(); x++) {
                for (int y = 0; y < bottom; y++) {
                    if (picture.getRGB(x, y) == FIRST_LINE.getRGB()) {
                        double expected = 5 - 12 * chart.getChartXFromCoordinate(x / 2) / count;
                        // a line is two CSS pixels wide; its ends, and rounding x, add one each
                        assertThat(chart.getChartYFromCoordinate(y / 2)).isCloseTo(expected, within(4 * pixelOfY));
                        compared++;
                    }
                }
            }
            assertThat(compared).isGreaterThan(picture.getWidth() / 2);
        }
    }

    @ParameterizedTest
    @EnumSource
    void planeHasTheSameScaleOnBothAxes(Look look) {
        XYChart chart = Drawing.plane("plane", "x", "y", 1.5, -0.5, 1.2);
        Drawing.points(chart, "a point with a long name in the legend", new double[] {2}, new double[] {0});
        Drawing.points(chart, "another one with a long name", new double[] {1}, new double[] {0});
        Drawing.points(chart, "the third", new double[] {1}, new double[] {-1});
        BufferedImage picture = paint(chart, look);
        double across = chart.getScreenXFromChart(2.7) - chart.getScreenXFromChart(0.3);
        double down = chart.getScreenYFromChart(-1.7) - chart.getScreenYFromChart(0.7);
        assertThat(across).isGreaterThan(200).isCloseTo(down, within(2.0));
        assertSameColor(
                color(picture, chart.getScreenXFromChart(2), chart.getScreenYFromChart(0)), FIRST_LINE, "the point");
    }

    @Test
    void labelsOfColumnsNameThem() {
        CategoryChart chart = Drawing.columns("columns", "kind", "number from 0.5");
        chart.getStyler().setYAxisMin(0.5).setYAxisMax(1.0);
        List<String> kinds = List.of("first", "second", "third");
        double[] heights = {0.7, 0.95, 0.55};
        chart.addSeries(
                "series", kinds, IntStream.range(0, 3).mapToObj(i -> heights[i]).toList());
        BufferedImage picture = paint(chart, Look.LIGHT_WIDE);
        double pixelOfY = Math.abs(chart.getChartYFromCoordinate(101) - chart.getChartYFromCoordinate(100));
        assertRoundAndInPlace(PaintedAxes.y(chart), y -> chart.getChartYFromCoordinate((int) Math.round(y)), pixelOfY);
        List<Tick> ticks = PaintedAxes.x(chart);
        assertThat(ticks).extracting(Tick::label).isEqualTo(kinds);
        for (int i = 0; i < 3; i++) {
            int x = (int) (2 * ticks.get(i).pixel());
            int[] painted = IntStream.range(0, picture.getHeight())
                    .filter(y -> picture.getRGB(x, y) == Drawing.LIGHT_SHADE.getRGB())
                    .toArray();
            assertThat(chart.getChartYFromCoordinate(painted[0] / 2)).isCloseTo(heights[i], within(2 * pixelOfY));
            assertThat(chart.getChartYFromCoordinate(painted[painted.length - 1] / 2))
                    .isCloseTo(0.5, within(2 * pixelOfY));
        }
    }
}
