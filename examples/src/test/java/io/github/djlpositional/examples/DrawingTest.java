package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.awt.Color;
import java.awt.image.BufferedImage;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.internal.chartpart.PaintedAxes;
import org.knowm.xchart.internal.chartpart.PaintedAxes.Tick;

/** The labels of the axes, read from the painted chart, and the painted pixels belong together. */
class DrawingTest {

    private static final Color FIRST_LINE = new Color(0x0072B2);

    private static BufferedImage paint(AxesChart<?, ?> chart) {
        return new Figure(1, List.of(chart)).paint();
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

    @Test
    void labelsOfLinesNameTheirPoints() {
        for (int count : new int[] {50, 62, 201}) {
            XYChart chart = Drawing.lines("lines", "x", "y");
            // not symmetric, with a gentle slope
            Drawing.line(chart, "line", count, x -> 5 - 12.0 * x / count);
            BufferedImage picture = paint(chart);
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

    @Test
    void labelsOfColumnsNameThem() {
        CategoryChart chart = Drawing.columns("columns", "kind", "number from 0.5");
        chart.getStyler().setYAxisMin(0.5).setYAxisMax(1.0);
        List<String> kinds = List.of("first", "second", "third");
        double[] heights = {0.7, 0.95, 0.55};
        chart.addSeries(
                "series", kinds, IntStream.range(0, 3).mapToObj(i -> heights[i]).toList());
        BufferedImage picture = paint(chart);
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
