package io.github.djlpositional.examples;

import io.github.djlpositional.examples.Axis.Tick;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** Lines and points between two axes. Series differ in color and symbol, in the order in which they are added. */
public final class LineChart extends Chart {

    private static final int COLORS = 8;
    private static final int CIRCLE = 1;
    private static final int BLACK = 6;
    private static final int GRAY = 7;
    private static final double SYMBOL_DISTANCE = 40;
    private static final int MOST_END_LABELS = 7;

    /** The outlines of the symbols, around (0, 0). */
    private static final List<String> SYMBOLS = List.of(
            "",
            "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
            "M-4 -4h8v8h-8z",
            "M0 -5l5 9h-10z",
            "M0 -5l5 5l-5 5l-5 -5z",
            "M-4 -4l8 8M4 -4l-8 8",
            "M0 5l5 -9h-10z",
            "M-5 0h10M0 -5v10");

    private final List<Series> series = new ArrayList<>();
    private final List<Label> labels = new ArrayList<>();
    private List<String> rows = List.of();
    private Axis x = new Axis(Double.NaN, Double.NaN, false);
    private Axis y = x;
    private boolean isSquare;

    /**
     * A line, points, or both.
     *
     * @param name the name in the legend; empty for none
     * @param y the line has a gap where it is NaN
     * @param color the number of the color, from 0 to 7
     * @param symbol the number of the symbol, from 0 (none) to 7
     * @param width the width of the line, 0 for points only
     */
    @SuppressWarnings("ArrayRecordComponent") // no one compares series
    private record Series(String name, double[] x, double[] y, int color, int symbol, double width) {

        private String line(String path) {
            return Svg.format(
                    "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s/>",
                    path, stroke(), width, color == BLACK && symbol == 0 ? " stroke-dasharray=\"6 4\"" : "");
        }

        private String symbol(double atX, double atY) {
            return Svg.format(
                    "<path transform=\"translate(%s %s)\" d=\"%s\" fill=\"%s\" stroke=\"%4$s\"/>",
                    atX, atY, SYMBOLS.get(symbol), stroke());
        }

        private String stroke() {
            return color == BLACK ? "currentColor" : "var(--line-" + color + ")";
        }
    }

    /** Text whose middle is at a point. */
    private record Label(String text, double x, double y) {}

    private LineChart(String title, String xTitle, String yTitle) {
        super(title, xTitle, yTitle);
    }

    /** Creates a chart without lines. */
    public static LineChart of(String title, String xTitle, String yTitle) {
        return new LineChart(title, xTitle, yTitle);
    }

    /** Creates a chart with a name for each whole number of y, downwards from 0. */
    public static LineChart ofRows(String title, String xTitle, String yTitle, List<String> rows) {
        LineChart chart = of(title, xTitle, yTitle).yRange(rows.size() - 0.5, -0.5);
        chart.rows = rows;
        return chart;
    }

    /** Creates a chart of the square around a point, with the same scale on both axes. */
    public static LineChart plane(String title, String xTitle, String yTitle, double x, double y, double reach) {
        LineChart chart = of(title, xTitle, yTitle).yRange(y - reach, y + reach);
        chart.x = new Axis(x - reach, x + reach, false);
        chart.isSquare = true;
        return chart;
    }

    /** Returns the values of a function of the numbers 0 … count - 1. */
    public static double[] each(int count, IntToDoubleFunction function) {
        return IntStream.range(0, count).mapToDouble(function).toArray();
    }

    /** Fixes the ends of the vertical axis; NaN leaves an end to the data. */
    public LineChart yRange(double smallest, double largest) {
        y = new Axis(smallest, largest, y.isLogarithmic());
        return this;
    }

    /** Gives a power of ten the same length everywhere on the horizontal axis. */
    public LineChart xLogarithmic() {
        x = new Axis(x.smallest(), x.largest(), true);
        return this;
    }

    /** Gives a power of ten the same length everywhere on the vertical axis. */
    public LineChart yLogarithmic() {
        y = new Axis(y.smallest(), y.largest(), true);
        return this;
    }

    private void add(String name, double[] xs, double[] ys, int color, int symbol, double width) {
        series.add(new Series(name, xs, ys, color, symbol, width));
    }

    /** Adds a line; all but the first of a chart have symbols. */
    public void line(String name, double[] xs, double[] ys) {
        line(series.size() % COLORS, name, xs, ys);
    }

    /** Adds a line with the color and the symbol of a number from 0 to 7: for lines that occur in several charts. */
    public void line(int number, String name, double[] xs, double[] ys) {
        add(name, xs, ys, number, number, 2);
    }

    /** Adds a line of a function of the numbers 0 … count - 1. */
    public void line(String name, int count, IntToDoubleFunction function) {
        line(name, each(count, i -> i), each(count, function));
    }

    /** Adds points without lines between them. */
    public void points(String name, double[] xs, double[] ys) {
        add(name, xs, ys, series.size() % COLORS, CIRCLE, 0);
    }

    /** Adds points, each in a horizontal line from a smallest number to a largest one. */
    public void ranges(String name, double[] xs, double[] ys, double[] smallest, double[] largest) {
        int number = series.size() % COLORS / 2; // each has two series
        add(name, xs, ys, number, number + CIRCLE, 0);
        double[] ends =
                each(3 * xs.length, i -> i % 3 == 0 ? smallest[i / 3] : i % 3 == 1 ? largest[i / 3] : Double.NaN);
        add("", ends, each(ends.length, i -> ys[i / 3]), number, 0, 1.5);
    }

    /** Adds hands, which are lines from a center to points, with a label for each beside its point; it may be empty. */
    public void hands(String name, double centerX, double centerY, double[] xs, double[] ys, String... texts) {
        double[] fromX = each(2 * xs.length, i -> i % 2 == 0 ? centerX : xs[i / 2]);
        add(name, fromX, each(2 * ys.length, i -> i % 2 == 0 ? centerY : ys[i / 2]), series.size() % COLORS, 0, 2);
        for (int i = 0; i < texts.length; i++) {
            // outside of the circle, also in a small chart and if the label is long
            double across = 1.35 + 0.09 * Math.max(0, texts[i].length() - 2);
            labels.add(new Label(texts[i], centerX + across * (xs[i] - centerX), centerY + 1.35 * (ys[i] - centerY)));
        }
    }

    /** Adds the circle around a center. */
    public void circle(String name, double centerX, double centerY, double radius) {
        double[] xs = each(181, i -> centerX + radius * Math.cos(Math.toRadians(2 * i)));
        add(name, xs, each(181, i -> centerY + radius * Math.sin(Math.toRadians(2 * i))), series.size() % COLORS, 0, 2);
    }

    /** Adds a thin gray line, which later lines are compared with. */
    public void behind(String name, double[] xs, double[] ys) {
        add(name, xs, ys, GRAY, 0, 0.5);
    }

    /** Adds a thin line without a name and symbols, one of many. */
    public void thin(int color, double[] xs, double[] ys) {
        add("", xs, ys, color, 0, 1);
    }

    /** Adds a dashed vertical line. */
    public void mark(String name, double at, double from, double to) {
        add(name, new double[] {at, at}, new double[] {from, to}, BLACK, 0, 1);
    }

    private DoubleStream numbers(Function<Series, double[]> data) {
        return series.stream().flatMapToDouble(each -> Arrays.stream(data.apply(each)));
    }

    private Axis x() {
        return x.fit(numbers(Series::x), rows.isEmpty() ? 0 : 0.05);
    }

    private Axis y() {
        return y.fit(numbers(Series::y), 0.05);
    }

    @Override
    boolean isSquare() {
        return isSquare;
    }

    @Override
    double smallestHeight() {
        return 1.3 * Svg.LINE * rows.size();
    }

    @Override
    List<Tick> rows(double height) {
        return rows.isEmpty()
                ? y().ticks(height / (1.8 * Svg.LETTER))
                : IntStream.range(0, rows.size())
                        .mapToObj(row -> new Tick(y.place(row), rows.get(row)))
                        .toList();
    }

    @Override
    List<Tick> columns(double width) {
        return x().ticks(width / (isSquare ? 40 : 70));
    }

    @Override
    void drawInside(Svg svg, Frame frame) {
        StringBuilder symbols = new StringBuilder();
        svg.add("<rect %s fill=\"none\" stroke=\"var(--line)\"/>", frame.attributes());
        // an inner drawing cuts off what is outside of the axes
        svg.add("<svg %s>", frame.attributes());
        for (Series each : series) {
            String path = path(each, frame, symbols);
            if (each.width > 0) {
                svg.add("%s", each.line(path));
            }
        }
        svg.add("</svg>%s", symbols);
        for (Label at : labels) {
            svg.text(frame.x(x.place(at.x)), frame.y(y.place(at.y)), at.text, Svg.MIDDLE + Svg.CENTRAL);
        }
    }

    /** Returns the path of a line in the frame, and adds its symbols in the drawing. */
    private String path(Series line, Frame frame, StringBuilder symbols) {
        Axis across = x();
        Axis up = y();
        StringBuilder path = new StringBuilder();
        String move = "M";
        double lastSymbol = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < line.x.length; i++) {
            double placeX = across.place(line.x[i]);
            double placeY = up.place(line.y[i]);
            if (!Double.isFinite(placeX) || !Double.isFinite(placeY)) {
                move = "M"; // a gap
                continue;
            }
            path.append(Svg.format("%s%s %s", move, frame.width() * placeX, frame.height() * (1 - placeY)));
            move = "L";
            double at = frame.x(placeX);
            boolean isInside = Math.abs(placeX - 0.5) < 0.501 && Math.abs(placeY - 0.5) < 0.501;
            if (line.symbol > 0 && isInside && (line.width == 0 || Math.abs(at - lastSymbol) >= SYMBOL_DISTANCE)) {
                symbols.append(line.symbol(at, frame.y(placeY)));
                lastSymbol = at;
            }
        }
        return path.toString();
    }

    /** Lines that end at the right are labelled there, unless there are too many. */
    @Override
    List<EndLabel> endLabels(double maxWidth) {
        if (isSquare || !rows.isEmpty()) {
            return List.of();
        }
        List<EndLabel> ends = new ArrayList<>();
        for (Series line : series) {
            int last = line.x.length - 1;
            boolean isNamed = line.width > 0 && !line.name.isEmpty();
            double place = isNamed && last > 0 && x().place(line.x[last]) > 0.97 ? y().place(line.y[last]) : -1;
            if (place > -0.01 && place < 1.01) {
                ends.add(new EndLabel(line.name, place, line.stroke()));
            }
        }
        boolean fits = ends.stream().allMatch(each -> Svg.length(each.name()) < maxWidth);
        return fits && ends.size() > 1 && ends.size() <= MOST_END_LABELS ? ends : List.of();
    }

    @Override
    List<Legend> legend() {
        return series.stream()
                .filter(each -> !each.name.isEmpty())
                .map(each -> new Legend(
                        (each.width > 0 ? each.line("M0 0h24") : "") + (each.symbol > 0 ? each.symbol(12, 0) : ""),
                        each.name))
                .toList();
    }
}
