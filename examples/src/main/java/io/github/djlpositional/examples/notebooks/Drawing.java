package io.github.djlpositional.examples.notebooks;

import java.awt.Color;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.HeatMapChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Charts in the style of the notebooks. */
final class Drawing {

    /** The palette of Okabe and Ito (2008), which colorblind readers can distinguish. */
    private static final Color[] COLORS = IntStream.of(
                    0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0x8C8C8C)
            .mapToObj(Color::new)
            .toArray(Color[]::new);

    private static final Color BLUE = new Color(0x2166AC);
    private static final Color WHITE = new Color(0xF7F7F7);
    private static final Color RED = new Color(0xB2182B);

    private static final int WIDTH = 900;
    private static final int HEIGHT = 480;

    /** Leaves space for words below the columns. */
    private static final int WORD_HEIGHT = 640;

    /** Up to this number, every column and row of a heat map has a label; beyond it, every tenth. */
    private static final int MOST_LABELS = 16;

    private Drawing() {}

    /** Creates a chart without lines. */
    static XYChart lines(String title, String xTitle, String yTitle) {
        return chart(title, xTitle, yTitle, WIDTH, HEIGHT);
    }

    /** Creates a chart of the square around a point, with the same scale on both axes. */
    static XYChart plane(String title, String xTitle, String yTitle, double x, double y, double reach) {
        // the inside is a square: title, labels and legend take the rest
        XYChart chart = chart(title, xTitle, yTitle, 640, 680);
        chart.getStyler()
                .setXAxisMin(x - reach)
                .setXAxisMax(x + reach)
                .setYAxisMin(y - reach)
                .setYAxisMax(y + reach);
        return chart;
    }

    private static XYChart chart(String title, String xTitle, String yTitle, int width, int height) {
        XYChart chart = new XYChartBuilder()
                .width(width)
                .height(height)
                .title(title)
                .xAxisTitle(xTitle)
                .yAxisTitle(yTitle)
                .build();
        chart.getStyler()
                .setSeriesColors(COLORS)
                .setChartBackgroundColor(Color.WHITE)
                .setLegendPosition(LegendPosition.OutsideS)
                .setLegendLayout(LegendLayout.Horizontal);
        return chart;
    }

    /** Adds a line without markers. */
    static void line(XYChart chart, String name, double[] x, double[] y) {
        chart.addSeries(name, x, y).setMarker(SeriesMarkers.NONE);
    }

    /** Adds a line of a function of the numbers 0 … count - 1. */
    static void line(XYChart chart, String name, int count, IntToDoubleFunction function) {
        line(chart, name, each(count, x -> x), each(count, function));
    }

    /** Adds points without lines between them. */
    static void points(XYChart chart, String name, double[] x, double[] y) {
        XYSeries series = chart.addSeries(name, x, y);
        series.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Scatter);
        series.setMarker(SeriesMarkers.CIRCLE);
    }

    /** The values of a heat map. */
    @FunctionalInterface
    interface Cells {
        double value(int row, int column);
    }

    /** Creates a heat map of values from -1 (blue) through 0 (white) to 1 (red); row 0 is at the top. */
    static HeatMapChart map(String title, String xTitle, String yTitle, int rows, int columns, Cells cells) {
        HeatMapChart chart = map(title, xTitle, yTitle, numbers(rows), numbers(columns), cells, HEIGHT);
        chart.getStyler()
                .setRangeColors(new Color[] {BLUE, WHITE, RED})
                .setMin(-1)
                .setMax(1);
        return chart;
    }

    /** Creates a heat map of words by words, from 0 (white) to the maximum (red); the first row is at the top. */
    static HeatMapChart wordMap(String title, String xTitle, String yTitle, List<String> words, Cells cells) {
        List<String> labels = new ArrayList<>();
        double greatest = 0;
        for (int row = 0; row < words.size(); row++) {
            // XChart merges columns with equal names
            labels.add(row + 1 + " " + words.get(row));
            for (int column = 0; column < words.size(); column++) {
                greatest = Math.max(greatest, cells.value(row, column));
            }
        }
        HeatMapChart chart = map(title, xTitle, yTitle, labels, labels, cells, WORD_HEIGHT);
        chart.getStyler().setRangeColors(new Color[] {WHITE, RED}).setMin(0).setMax(Math.ceil(10 * greatest) / 10);
        chart.getStyler().setXAxisLabelRotation(45);
        return chart;
    }

    private static HeatMapChart map(
            String title,
            String xTitle,
            String yTitle,
            List<String> rows,
            List<String> columns,
            Cells cells,
            int height) {
        HeatMapChart chart = new HeatMapChartBuilder()
                .width(WIDTH)
                .height(height)
                .title(title)
                .xAxisTitle(xTitle)
                .yAxisTitle(yTitle)
                .build();
        // XChart draws rows from the bottom up: labels and values are reversed together
        List<String> upwards = new ArrayList<>(rows);
        Collections.reverse(upwards);
        List<Number[]> values = new ArrayList<>();
        for (int row = 0; row < rows.size(); row++) {
            for (int column = 0; column < columns.size(); column++) {
                values.add(new Number[] {column, rows.size() - 1 - row, cells.value(row, column)});
            }
        }
        chart.getStyler().setChartBackgroundColor(Color.WHITE);
        // otherwise XChart omits labels, and puts the others on edges of cells
        chart.getStyler().setXAxisMaxLabelCount(Math.max(rows.size(), columns.size()));
        chart.getStyler().setAxisTicksMarksVisible(false).setPlotGridLinesVisible(false);
        chart.addSeries(title, columns, upwards, values);
        return chart;
    }

    /** Returns the labels 0 … count - 1; of more than 16, only the tens are not empty. */
    private static List<String> numbers(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> count <= MOST_LABELS || i % 10 == 0 ? Integer.toString(i) : "")
                .toList();
    }

    /** Returns the values of a function of the numbers 0 … count - 1. */
    static double[] each(int count, IntToDoubleFunction function) {
        return IntStream.range(0, count).mapToDouble(function).toArray();
    }
}
