package io.github.djlpositional.examples;

import io.github.djlpositional.examples.Axis.Tick;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** Numbers in rows and columns as colors: blue below 0, red above the smallest number; row 0 is at the top. */
public final class HeatMapChart extends Chart {

    /** The colors of one sign. */
    private static final int SHADES = 50;

    private List<String> rows;
    private final int columns;
    private final double[][] values;
    private double smallest = -1;
    private double largest = 1;
    private int first;
    private String marks = "";

    /** The values of a heat map. */
    @FunctionalInterface
    public interface Cells {
        double value(int row, int column);
    }

    private HeatMapChart(String title, String xTitle, String yTitle, List<String> rows, int columns, Cells cells) {
        super(title, xTitle, yTitle);
        this.rows = rows;
        this.columns = columns;
        values = IntStream.range(0, rows.size())
                .mapToObj(row -> LineChart.each(columns, column -> cells.value(row, column)))
                .toArray(double[][]::new);
    }

    /** Creates a heat map of values from -1 to 1. */
    public static HeatMapChart of(String title, String xTitle, String yTitle, int rows, int columns, Cells cells) {
        return new HeatMapChart(title, xTitle, yTitle, numbers(0, rows), columns, cells);
    }

    /** Creates a heat map with a word for each row. */
    public static HeatMapChart ofWordRows(String title, String xTitle, List<String> words, int columns, Cells cells) {
        List<String> numbered = IntStream.range(0, words.size())
                .mapToObj(i -> i + " " + words.get(i))
                .toList();
        return new HeatMapChart(title, xTitle, "word", numbered, columns, cells);
    }

    /** Sets the smallest value, transparent or the negative of the largest one, and the largest. */
    public HeatMapChart range(double newSmallest, double newLargest) {
        smallest = newSmallest;
        largest = newLargest;
        return this;
    }

    /** Numbers rows and columns from 1 instead of 0. */
    public HeatMapChart fromOne() {
        first = 1;
        rows = numbers(first, rows.size());
        return this;
    }

    /** Draws a frame around a cell. */
    public HeatMapChart mark(int row, int column) {
        marks += Svg.format("M%d %sh1v1h-1z", column, row - 0.5);
        return this;
    }

    private static List<String> numbers(int first, int count) {
        return IntStream.range(first, first + count).mapToObj(Integer::toString).toList();
    }

    /** Returns the strength of a color: 0 is transparent, negative numbers are blue. */
    private int shade(double number) {
        double part = smallest < 0 ? number / largest : (number - smallest) / (largest - smallest);
        return (int) Math.round(SHADES * Math.min(Math.max(part, -1), 1));
    }

    private static String color(int shade) {
        return shade < 0 ? "#2a7fc8" : "#d03a3a";
    }

    private static String opacity(int shade) {
        return Double.toString((double) Math.abs(shade) / SHADES);
    }

    @Override
    boolean isSquare() {
        return rows.size() == columns;
    }

    @Override
    double smallestHeight() {
        return rows.get(0).contains(" ") ? rows.size() * 1.2 * Svg.LETTER : 0;
    }

    @Override
    List<Tick> rows(double height) {
        return labeled(rows, height / (1.2 * Svg.LETTER)).stream()
                .map(tick -> new Tick(1 - tick.place(), tick.label()))
                .toList();
    }

    @Override
    List<Tick> columns(double width) {
        return labeled(numbers(first, columns), width / (Svg.length(Integer.toString(columns)) + Svg.LETTER));
    }

    /** Returns every first, second, fifth, tenth … label. */
    private static List<Tick> labeled(List<String> labels, double most) {
        int step = (int) Math.max(1, Axis.roundStep(labels.size() / most));
        return IntStream.iterate(0, i -> i < labels.size(), i -> i + step)
                .mapToObj(i -> new Tick((i + 0.5) / labels.size(), labels.get(i)))
                .toList();
    }

    /** Draws a path for each color, one wide line for equal cells of a row. */
    @Override
    void drawInside(Svg svg, Frame frame) {
        Map<Integer, StringBuilder> paths = new TreeMap<>();
        for (int row = 0; row < rows.size(); row++) {
            int end;
            for (int column = 0; column < columns; column = end) {
                int shade = shade(values[row][column]);
                end = column + 1;
                while (end < columns && shade(values[row][end]) == shade) {
                    end++;
                }
                paths.computeIfAbsent(shade, unused -> new StringBuilder())
                        .append(Svg.format("M%d %dh%d", column, row, end - column));
            }
        }
        paths.remove(0);
        // hides the lines of the labels
        svg.add("<rect %s fill=\"var(--page)\" stroke=\"var(--line)\"/>", frame.attributes());
        svg.add(
                "<svg %s viewBox=\"0 -0.5 %d %d\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">",
                frame.attributes(), columns, rows.size());
        paths.forEach((shade, path) ->
                svg.add("<path d=\"%s\" stroke=\"%s\" stroke-opacity=\"%s\"/>", path, color(shade), opacity(shade)));
        if (!marks.isEmpty()) {
            svg.add(
                    "<path d=\"%s\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\""
                            + " vector-effect=\"non-scaling-stroke\"/>",
                    marks);
        }
        svg.add("</svg>");
    }

    @Override
    List<EndLabel> endLabels(double maxWidth) {
        return List.of();
    }

    /** The colors of the ends of the range, and of the middle between blue and red. */
    @Override
    List<Legend> legend() {
        return (smallest < 0 ? DoubleStream.of(smallest, 0, largest) : DoubleStream.of(smallest, largest))
                .mapToObj(number -> {
                    int shade = shade(number);
                    String box = "<rect x=\"4\" y=\"-8\" width=\"16\" height=\"16\" stroke=\"var(--line)\""
                            + " fill=\"%s\" fill-opacity=\"%s\"/>";
                    return new Legend(Svg.format(box, color(shade), opacity(shade)), Axis.label(number));
                })
                .toList();
    }
}
