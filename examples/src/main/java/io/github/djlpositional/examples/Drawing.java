package io.github.djlpositional.examples;

import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.Styler.ChartTheme;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Charts in one style, with the titles of their axes. */
public final class Drawing {

    static {
        // before the first use of AWT
        HeadlessDrawing.prepare();
    }

    /** The palette of Okabe and Ito (2008), which colorblind readers can distinguish. */
    private static final Color[] COLORS =
            colors(0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0x8C8C8C);

    /** Each is darker than the one before, so that they differ without colors too. */
    private static final Color[] SHADES = colors(0xA6CEE3, 0x3F8FC4, 0x12375C);

    private static final Color BLUE = new Color(0x2166AC);
    private static final Color WHITE = new Color(0xF7F7F7);
    private static final Color RED = new Color(0xB2182B);

    private static final int WIDTH = 900;
    private static final int HEIGHT = 480;

    /** Leaves space for words below the columns. */
    private static final int WORD_HEIGHT = 640;

    /** Up to this number, every column and row of a heat map has a label; beyond it, every tenth. */
    private static final int MOST_LABELS = 16;

    private static final int DOTS_PER_INCH = 144;

    private Drawing() {}

    private static Color[] colors(int... rgb) {
        return IntStream.of(rgb).mapToObj(Color::new).toArray(Color[]::new);
    }

    /** Creates a chart without lines. */
    public static XYChart lines(String title, String xTitle, String yTitle) {
        return styled(new XYChart(WIDTH, HEIGHT, ChartTheme.XChart), title, xTitle, yTitle, COLORS);
    }

    /** Creates a chart of the square around a point, with the same scale on both axes. */
    public static XYChart plane(String title, String xTitle, String yTitle, double x, double y, double reach) {
        // the inside is a square: title, labels and legend take the rest
        XYChart chart = styled(new XYChart(640, 680, ChartTheme.XChart), title, xTitle, yTitle, COLORS);
        chart.getStyler()
                .setXAxisMin(x - reach)
                .setXAxisMax(x + reach)
                .setYAxisMin(y - reach)
                .setYAxisMax(y + reach);
        return chart;
    }

    /** Creates a chart without columns. */
    static CategoryChart columns(String title, String xTitle, String yTitle) {
        return styled(new CategoryChart(1100, 560, ChartTheme.XChart), title, xTitle, yTitle, SHADES);
    }

    private static <C extends AxesChart<?, ?>> C styled(
            C chart, String title, String xTitle, String yTitle, Color... colors) {
        chart.getStyler()
                .setSeriesColors(colors)
                .setLegendPosition(LegendPosition.OutsideS)
                .setLegendLayout(LegendLayout.Horizontal);
        return titled(chart, title, xTitle, yTitle);
    }

    private static <C extends AxesChart<?, ?>> C titled(C chart, String title, String xTitle, String yTitle) {
        chart.setTitle(title);
        chart.setXAxisTitle(xTitle);
        chart.setYAxisTitle(yTitle);
        chart.getStyler().setChartBackgroundColor(Color.WHITE);
        return chart;
    }

    /** Adds a line without markers. */
    public static void line(XYChart chart, String name, double[] x, double[] y) {
        chart.addSeries(name, x, y).setMarker(SeriesMarkers.NONE);
    }

    /** Adds a line of a function of the numbers 0 … count - 1. */
    public static void line(XYChart chart, String name, int count, IntToDoubleFunction function) {
        line(chart, name, each(count, x -> x), each(count, function));
    }

    /** Adds points without lines between them. */
    public static void points(XYChart chart, String name, double[] x, double[] y) {
        XYSeries series = chart.addSeries(name, x, y);
        series.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Scatter);
        series.setMarker(SeriesMarkers.CIRCLE);
    }

    /** The values of a heat map. */
    @FunctionalInterface
    public interface Cells {

        /** Returns the value of a cell; row 0 is at the top. */
        double value(int row, int column);
    }

    /** Creates a heat map of values from -1 (blue) through 0 (white) to 1 (red); row 0 is at the top. */
    public static HeatMapChart map(String title, String xTitle, String yTitle, int rows, int columns, Cells cells) {
        HeatMapChart chart = map(title, xTitle, yTitle, numbers(rows), numbers(columns), cells, HEIGHT);
        chart.getStyler()
                .setRangeColors(new Color[] {BLUE, WHITE, RED})
                .setMin(-1)
                .setMax(1);
        return chart;
    }

    /** Creates a heat map of words by words, from 0 (white) to the maximum (red); the first row is at the top. */
    public static HeatMapChart wordMap(String title, String xTitle, String yTitle, List<String> words, Cells cells) {
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
        HeatMapChart chart = titled(new HeatMapChart(WIDTH, height, ChartTheme.XChart), title, xTitle, yTitle);
        // XChart draws rows from the bottom up: labels and values are reversed together
        List<String> upwards = new ArrayList<>(rows);
        Collections.reverse(upwards);
        List<Number[]> values = new ArrayList<>();
        for (int row = 0; row < rows.size(); row++) {
            for (int column = 0; column < columns.size(); column++) {
                values.add(new Number[] {column, rows.size() - 1 - row, cells.value(row, column)});
            }
        }
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
    public static double[] each(int count, IntToDoubleFunction function) {
        return IntStream.range(0, count).mapToDouble(function).toArray();
    }

    /** Saves a chart as PNG; {@code .png} is added to another name. */
    public static void save(Chart<?, ?> chart, Path file) throws IOException {
        BitmapEncoder.saveBitmapWithDPI(chart, file.toString(), BitmapEncoder.BitmapFormat.PNG, DOTS_PER_INCH);
    }
}
