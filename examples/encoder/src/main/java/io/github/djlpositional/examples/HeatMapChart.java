package io.github.djlpositional.examples;

import java.util.List;
import java.util.stream.IntStream;

/** Numbers in rows and columns as colors: blue below 0, red above the least number; row 0 is at the top. */
public final class HeatMapChart extends Chart {

    /** The colors of one sign. */
    static final int SHADES = 50;

    final List<String> rows;
    final List<String> columns;
    private final double[][] values;
    private double least = -1;
    private double greatest = 1;

    /** The values of a heat map. */
    @FunctionalInterface
    public interface Cells {

        /** Returns the value of a cell. */
        double value(int row, int column);
    }

    private HeatMapChart(
            String title, String xTitle, String yTitle, List<String> rows, List<String> columns, Cells cells) {
        super(title, xTitle, yTitle);
        this.rows = rows;
        this.columns = columns;
        values = IntStream.range(0, rows.size())
                .mapToObj(row -> LineChart.each(columns.size(), column -> cells.value(row, column)))
                .toArray(double[][]::new);
    }

    /** Creates a heat map of values from -1 to 1. */
    public static HeatMapChart of(String title, String xTitle, String yTitle, int rows, int columns, Cells cells) {
        return new HeatMapChart(title, xTitle, yTitle, numbers(rows), numbers(columns), cells);
    }

    /** Creates a heat map of words by words. */
    public static HeatMapChart ofWords(String title, String xTitle, String yTitle, List<String> words, Cells cells) {
        return new HeatMapChart(title, xTitle, yTitle, numbered(words), numbered(words), cells);
    }

    /** Creates a heat map with a word for each row. */
    public static HeatMapChart ofWordRows(String title, String xTitle, List<String> words, int columns, Cells cells) {
        return new HeatMapChart(title, xTitle, "word", numbered(words), numbers(columns), cells);
    }

    /** Sets the least value, transparent or the negative of the greatest one, and the greatest. */
    public HeatMapChart range(double least, double greatest) {
        this.least = least;
        this.greatest = greatest;
        return this;
    }

    private static List<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).toList();
    }

    private static List<String> numbered(List<String> words) {
        return IntStream.range(0, words.size())
                .mapToObj(i -> i + " " + words.get(i))
                .toList();
    }

    /** Returns true if labels are words with their numbers. */
    static boolean areWords(List<String> labels) {
        return labels.get(0).contains(" ");
    }

    /** Returns the labels of the rows: their numbers, or with a word behind. */
    public List<String> rows() {
        return rows;
    }

    /** Returns the labels of the columns: their numbers, or with a word behind. */
    public List<String> columns() {
        return columns;
    }

    public double value(int row, int column) {
        return values[row][column];
    }

    double least() {
        return least;
    }

    public double greatest() {
        return greatest;
    }

    /** Returns the strength of the color of a cell: 0 is transparent, negative numbers are blue. */
    int shade(int row, int column) {
        double number = value(row, column);
        double part = least < 0 ? number / greatest : (number - least) / (greatest - least);
        return (int) Math.round(SHADES * Math.min(Math.max(part, -1), 1));
    }

    @Override
    boolean isSquare() {
        return rows.size() == columns.size();
    }
}
