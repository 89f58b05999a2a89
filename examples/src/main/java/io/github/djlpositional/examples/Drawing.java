package io.github.djlpositional.examples;

import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler.ChartTheme;
import org.knowm.xchart.style.lines.SeriesLines;
import org.knowm.xchart.style.markers.Marker;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Charts in one style, with the titles of their axes. */
public final class Drawing {

    static {
        // before the first use of AWT
        HeadlessDrawing.prepare();
    }

    static final Color BLACK = new Color(0x000000);
    static final Color BLUE = new Color(0x2166AC);
    static final Color WHITE = new Color(0xF7F7F7);
    static final Color RED = new Color(0xB2182B);
    static final Color LIGHT_SHADE = new Color(0xA6CEE3);
    static final Color DARK_SHADE = new Color(0x12375C);

    /** The palette of Okabe and Ito (2008), which colorblind readers can distinguish. */
    static final Color[] COLORS = {
        new Color(0x0072B2),
        new Color(0xD55E00),
        new Color(0x009E73),
        new Color(0xCC79A7),
        new Color(0xE69F00),
        new Color(0x56B4E9),
        BLACK,
        new Color(0x8C8C8C)
    };

    /** Each is darker than the one before, so that they differ without colors too. */
    private static final Color[] SHADES = {LIGHT_SHADE, new Color(0x3F8FC4), DARK_SHADE};

    /** The first line of a chart has no symbols. */
    private static final Marker[] SYMBOLS = {
        SeriesMarkers.NONE,
        SeriesMarkers.CIRCLE,
        SeriesMarkers.SQUARE,
        SeriesMarkers.TRIANGLE_UP,
        SeriesMarkers.DIAMOND,
        SeriesMarkers.CROSS,
        SeriesMarkers.TRIANGLE_DOWN,
        SeriesMarkers.PLUS
    };

    /** The outlines of the symbols in SVG, around (0, 0). */
    private static final List<String> OUTLINES = List.of(
            "",
            "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
            "M-4 -4h8v8h-8z",
            "M0 -5l5 9h-10z",
            "M0 -5l5 5l-5 5l-5 -5z",
            "M-4 -4l8 8M4 -4l-8 8",
            "M0 5l5 -9h-10z",
            "M-5 0h10M0 -5v10");

    private static final int WIDTH = 900;
    private static final int HEIGHT = 480;

    private Drawing() {}

    /** Text beside a point of a chart. */
    record Label(String text, double x, double y) {}

    /** A chart with labels. */
    private static final class LabeledChart extends XYChart {

        private final List<Label> labels = new ArrayList<>();

        LabeledChart(int width, int height) {
            super(width, height, ChartTheme.XChart);
        }
    }

    /** Returns the labels of hands. */
    static List<Label> labels(XYChart chart) {
        return chart instanceof LabeledChart labeled ? labeled.labels : List.of();
    }

    /** Returns the outline of a symbol in SVG, around (0, 0). */
    static String outline(Marker symbol) {
        return OUTLINES.get(Math.max(0, Arrays.asList(SYMBOLS).indexOf(symbol)));
    }

    /** Returns a color in SVG, which the page chooses for those of lines. */
    static String variable(Color color) {
        int number = Arrays.asList(COLORS).indexOf(color);
        String hexadecimal = String.format("#%06x", color.getRGB() & 0xFFFFFF);
        return color.equals(BLACK)
                ? "currentColor"
                : number < 0 ? hexadecimal : "var(--line-" + number + ", " + hexadecimal + ")";
    }

    /** Returns true if both axes have the same fixed length. */
    static boolean isSquare(AxesChartStyler styler) {
        Double left = styler.getXAxisMin();
        Double right = styler.getXAxisMax();
        Double bottom = styler.getYAxisMin();
        Double top = styler.getYAxisMax();
        return Stream.of(left, right, bottom, top).allMatch(limit -> limit != null)
                && Math.abs((right - left) - (top - bottom)) < 1e-9;
    }

    /** Creates a chart without lines. */
    public static XYChart lines(String title, String xTitle, String yTitle) {
        return styled(new LabeledChart(WIDTH, HEIGHT), title, xTitle, yTitle, COLORS);
    }

    /** Creates a chart of the square around a point, with the same scale on both axes. */
    public static XYChart plane(String title, String xTitle, String yTitle, double x, double y, double reach) {
        XYChart chart = styled(new LabeledChart(WIDTH, HEIGHT), title, xTitle, yTitle, COLORS);
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
        chart.getStyler().setSeriesColors(colors);
        return titled(chart, title, xTitle, yTitle);
    }

    private static <C extends AxesChart<?, ?>> C titled(C chart, String title, String xTitle, String yTitle) {
        chart.setTitle(title);
        chart.setXAxisTitle(xTitle);
        chart.setYAxisTitle(yTitle);
        return chart;
    }

    /** Adds a line; all but the first of a chart have symbols. */
    public static void line(XYChart chart, String name, double[] x, double[] y) {
        Marker symbol = SYMBOLS[chart.getSeriesCollection().size() % SYMBOLS.length];
        chart.addSeries(name, x, y).setMarker(new SparseMarker(symbol));
    }

    /**
     * Adds a line with the color and the symbol of the line of this number, counted from 0: for lines that occur in
     * several charts.
     */
    public static void line(XYChart chart, int number, String name, double[] x, double[] y) {
        chart.addSeries(name, x, y)
                .setMarker(new SparseMarker(SYMBOLS[number]))
                .setMarkerColor(COLORS[number])
                .setLineColor(COLORS[number]);
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
        HeatMapChart chart = map(title, xTitle, yTitle, numbers(rows), numbers(columns), cells);
        chart.getStyler()
                .setRangeColors(new Color[] {BLUE, WHITE, RED})
                .setMin(-1)
                .setMax(1);
        return chart;
    }

    /** Creates a heat map of values from a least one (white) to a greatest one (red); row 0 is at the top. */
    public static HeatMapChart map(
            String title,
            String xTitle,
            String yTitle,
            int rows,
            int columns,
            double least,
            double greatest,
            Cells cells) {
        HeatMapChart chart = map(title, xTitle, yTitle, numbers(rows), numbers(columns), cells);
        chart.getStyler().setRangeColors(new Color[] {WHITE, RED}).setMin(least).setMax(greatest);
        return chart;
    }

    /** Creates a heat map of words by words, from 0 (white) to a greatest value (red); the first row is at the top. */
    public static HeatMapChart wordMap(
            String title, String xTitle, String yTitle, List<String> words, double greatest, Cells cells) {
        // XChart merges columns with equal names
        List<String> labels = IntStream.range(0, words.size())
                .mapToObj(i -> i + " " + words.get(i))
                .toList();
        HeatMapChart chart = map(title, xTitle, yTitle, labels, labels, cells);
        chart.getStyler().setRangeColors(new Color[] {WHITE, RED}).setMin(0).setMax(greatest);
        chart.getStyler().setXAxisLabelRotation(90);
        return chart;
    }

    private static HeatMapChart map(
            String title, String xTitle, String yTitle, List<String> rows, List<String> columns, Cells cells) {
        HeatMapChart chart = titled(new HeatMapChart(WIDTH, HEIGHT, ChartTheme.XChart), title, xTitle, yTitle);
        // XChart draws rows from the bottom up: labels and values are reversed together
        List<String> upwards = new ArrayList<>(rows);
        Collections.reverse(upwards);
        List<Number[]> values = new ArrayList<>();
        for (int row = 0; row < rows.size(); row++) {
            for (int column = 0; column < columns.size(); column++) {
                values.add(new Number[] {column, rows.size() - 1 - row, (float) cells.value(row, column)});
            }
        }
        chart.addSeries(title, columns, upwards, values);
        return chart;
    }

    /** Returns the labels 0 … count - 1; only multiples of a round number are not empty. */
    private static List<String> numbers(int count) {
        int step = count <= 8 ? 1 : count <= 20 ? 4 : count <= 32 ? 8 : count <= 100 ? 10 : count <= 200 ? 20 : 100;
        return IntStream.range(0, count)
                .mapToObj(i -> i % step == 0 ? Integer.toString(i) : "")
                .toList();
    }

    /** Returns the values of a function of the numbers 0 … count - 1. */
    public static double[] each(int count, IntToDoubleFunction function) {
        return IntStream.range(0, count).mapToDouble(function).toArray();
    }

    /** Saves a chart as PNG; {@code .png} is added to another name. */
    public static void save(Chart<?, ?> chart, Path file) throws IOException {
        save(List.of(chart), file);
    }

    /** Saves charts of the same kind below each other as PNG; {@code .png} is added to another name. */
    static void save(List<? extends Chart<?, ?>> charts, Path file) throws IOException {
        String name = file.toString();
        Files.write(Path.of(name.endsWith(".png") ? name : name + ".png"), new Figure(1, charts).png());
    }

    /** Adds hands, which are lines from a center to points, with a label for each beside its point; it may be empty. */
    public static void hands(
            XYChart chart, String name, double centerX, double centerY, double[] x, double[] y, String... labels) {
        chart.addSeries(
                        name,
                        each(2 * x.length, i -> i % 2 == 0 ? centerX : x[i / 2]),
                        each(2 * y.length, i -> i % 2 == 0 ? centerY : y[i / 2]))
                .setMarker(SeriesMarkers.NONE);
        for (int i = 0; i < labels.length; i++) {
            if (!labels[i].isEmpty()) {
                // outside of the circle, also in a small chart and if the label is long
                double across = 1.35 + 0.09 * Math.max(0, labels[i].length() - 2);
                Label label =
                        new Label(labels[i], centerX + across * (x[i] - centerX), centerY + 1.35 * (y[i] - centerY));
                if (chart instanceof LabeledChart labeled) {
                    labeled.labels.add(label);
                }
            }
        }
    }

    /** Adds the circle around a center. */
    public static void circle(XYChart chart, String name, double centerX, double centerY, double radius) {
        chart.addSeries(
                        name,
                        each(181, i -> centerX + radius * Math.cos(Math.toRadians(2 * i))),
                        each(181, i -> centerY + radius * Math.sin(Math.toRadians(2 * i))))
                .setMarker(SeriesMarkers.NONE);
    }

    /** Adds a thin gray line, which later lines are compared with. */
    public static void behind(XYChart chart, String name, double[] x, double[] y) {
        chart.addSeries(name, x, y)
                .setMarker(SeriesMarkers.NONE)
                .setLineStyle(new BasicStroke(0.5f))
                .setLineColor(COLORS[7]);
    }

    /** Adds a thick line with its points, before the gray ones. */
    public static void ahead(XYChart chart, String name, double[] x, double[] y) {
        chart.addSeries(name, x, y)
                .setMarker(SeriesMarkers.CIRCLE)
                .setMarkerColor(COLORS[1])
                .setLineStyle(new BasicStroke(3))
                .setLineColor(COLORS[1]);
    }

    /** Adds a dashed vertical line. */
    public static void mark(XYChart chart, String name, double x, double from, double to) {
        chart.addSeries(name, new double[] {x, x}, new double[] {from, to})
                .setMarker(SeriesMarkers.NONE)
                .setLineStyle(SeriesLines.DASH_DASH)
                .setLineColor(BLACK);
    }

    /** Creates a heat map of values from -reach (blue) through 0 (white) to reach (red), with a word for each row. */
    public static HeatMapChart wordRows(
            String title, String xTitle, List<String> words, int columns, double reach, Cells cells) {
        List<String> rows = IntStream.range(0, words.size())
                .mapToObj(i -> i + " " + words.get(i))
                .toList();
        HeatMapChart chart = map(title, xTitle, "word", rows, numbers(columns), cells);
        chart.getStyler()
                .setRangeColors(new Color[] {BLUE, WHITE, RED})
                .setMin(-reach)
                .setMax(reach);
        return chart;
    }
}
