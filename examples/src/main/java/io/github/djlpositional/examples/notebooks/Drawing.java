package io.github.djlpositional.examples.notebooks;

import java.awt.Color;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.HeatMapChartBuilder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Charts in the notebooks' style. */
final class Drawing {

    /** Told apart by those who do not see all colours too: the palette of Okabe and Ito (2008). */
    private static final Color[] COLORS = {
        new Color(0x0072B2),
        new Color(0xD55E00),
        new Color(0x009E73),
        new Color(0xCC79A7),
        new Color(0xE69F00),
        new Color(0x56B4E9),
        new Color(0x000000),
        new Color(0x8C8C8C)
    };

    private static final Color[] WHITE_RED = {new Color(0xF7F7F7), new Color(0xB2182B)};

    private static final Color[] BLUE_WHITE_RED = {new Color(0x2166AC), new Color(0xF7F7F7), new Color(0xB2182B)};

    private static final int WIDTH = 900;
    private static final int HEIGHT = 480;

    /** As many columns have a label each. */
    private static final int MOST_LABELS = 16;

    /** Room for words below the columns. */
    private static final int WORD_HEIGHT = 640;

    /** With the titles, labels and legend around it, its inside is a square. */
    private static final int PLANE_WIDTH = 640;

    private static final int PLANE_HEIGHT = 680;

    private Drawing() {}

    static XYChart lines(String title, String xTitle, String yTitle) {
        return chart(title, xTitle, yTitle, WIDTH, HEIGHT);
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

    /** A plane around a point, on which a circle is round. */
    static XYChart plane(String title, String xTitle, String yTitle, double x, double y, double reach) {
        XYChart chart = chart(title, xTitle, yTitle, PLANE_WIDTH, PLANE_HEIGHT);
        chart.getStyler()
                .setXAxisMin(x - reach)
                .setXAxisMax(x + reach)
                .setYAxisMin(y - reach)
                .setYAxisMax(y + reach);
        return chart;
    }

    /** Adds a line without markers. */
    static XYSeries line(XYChart chart, String name, double[] x, double[] y) {
        XYSeries series = chart.addSeries(name, x, y);
        series.setMarker(SeriesMarkers.NONE);
        return series;
    }

    /** Adds a line of a function of the numbers 0 … count - 1. */
    static XYSeries line(XYChart chart, String name, int count, DoubleUnaryOperator function) {
        double[] x = IntStream.range(0, count).asDoubleStream().toArray();
        return line(
                chart,
                name,
                x,
                IntStream.range(0, count).asDoubleStream().map(function).toArray());
    }

    /** Adds points that are not joined. */
    static XYSeries points(XYChart chart, String name, double[] x, double[] y) {
        XYSeries series = chart.addSeries(name, x, y);
        series.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Scatter);
        series.setMarker(SeriesMarkers.CIRCLE);
        return series;
    }

    /** A value for each column and row. */
    @FunctionalInterface
    interface Cells {
        double value(int column, int row);
    }

    /** A map of values from -limit (blue) by 0 (white) to limit (red). */
    static HeatMapChart map(
            String title, String xTitle, String yTitle, List<?> columns, List<?> rows, double limit, Cells cells) {
        return map(title, xTitle, yTitle, columns, rows, limit, cells, HEIGHT);
    }

    private static HeatMapChart map(
            String title,
            String xTitle,
            String yTitle,
            List<?> columns,
            List<?> rows,
            double limit,
            Cells cells,
            int height) {
        HeatMapChart chart = new HeatMapChartBuilder()
                .width(WIDTH)
                .height(height)
                .title(title)
                .xAxisTitle(xTitle)
                .yAxisTitle(yTitle)
                .build();
        List<Number[]> values = new ArrayList<>();
        for (int column = 0; column < columns.size(); column++) {
            for (int row = 0; row < rows.size(); row++) {
                values.add(new Number[] {column, row, cells.value(column, row)});
            }
        }
        chart.getStyler().setRangeColors(BLUE_WHITE_RED).setMin(-limit).setMax(limit);
        chart.getStyler().setChartBackgroundColor(Color.WHITE);
        if (columns.size() <= MOST_LABELS) {
            chart.getStyler().setXAxisMaxLabelCount(columns.size());
        } else {
            chart.getStyler().setXAxisTickLabelsFormattingFunction(Drawing::tens);
            chart.getStyler().setYAxisTickLabelsFormattingFunction(Drawing::tens);
        }
        chart.addSeries(title, columns, rows, values);
        return chart;
    }

    private static String tens(Double x) {
        return Math.floorMod(x.intValue(), 10) == 0 ? Integer.toString(x.intValue()) : "";
    }

    /** The same from 0 (white) to the greatest (red), of words by words, the first at the top left. */
    static HeatMapChart wordMap(String title, String xTitle, String yTitle, List<String> words, Cells cells) {
        List<String> columns = new ArrayList<>();
        double greatest = 0;
        for (int column = 0; column < words.size(); column++) {
            // two columns of one name would be one
            columns.add(column + 1 + " " + words.get(column));
            for (int row = 0; row < words.size(); row++) {
                greatest = Math.max(greatest, cells.value(column, row));
            }
        }
        List<String> rows = new ArrayList<>(columns);
        Collections.reverse(rows);
        Cells upwards = (column, row) -> cells.value(column, words.size() - 1 - row);
        HeatMapChart chart =
                map(title, xTitle, yTitle, columns, rows, Math.ceil(10 * greatest) / 10, upwards, WORD_HEIGHT);
        chart.getStyler().setRangeColors(WHITE_RED).setMin(0);
        chart.getStyler().setXAxisLabelRotation(45);
        return chart;
    }

    /** The numbers 0 … count - 1 as labels. */
    static List<Integer> numbers(int count) {
        return IntStream.range(0, count).boxed().toList();
    }
}
