package io.github.djlpositional.examples.notebooks;

import java.awt.Color;
import java.util.ArrayList;
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

    private static final Color[] BLUE_WHITE_RED = {new Color(0x2166AC), new Color(0xF7F7F7), new Color(0xB2182B)};

    private Drawing() {}

    /** Draws without a display. */
    static void prepare() {
        System.setProperty("java.awt.headless", "true");
    }

    static XYChart lines(String title, String xTitle, String yTitle) {
        XYChart chart = new XYChartBuilder()
                .width(900)
                .height(480)
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
        HeatMapChart chart = new HeatMapChartBuilder()
                .width(900)
                .height(480)
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
        chart.getStyler().setXAxisMaxLabelCount(12);
        chart.addSeries(title, columns, rows, values);
        return chart;
    }

    /** The numbers 0 … count - 1 as labels. */
    static List<Integer> numbers(int count) {
        return IntStream.range(0, count).boxed().toList();
    }
}
