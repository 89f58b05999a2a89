package io.github.djlpositional.examples;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * One chart as SVG: text is text, and colors are variables of the page. The layout has space for letters of
 * {@link #LETTER}, which a page may make smaller.
 */
final class SvgChart {

    /** Width of a chart alone or in a pair. */
    private static final int WIDE = 480;

    /** Width of one of many charts. */
    private static final int SMALL = 240;

    /** The height of the largest letters. */
    private static final double LETTER = 17;

    private static final double LINE = 1.3 * LETTER;
    private static final double SYMBOL_DISTANCE = 40;
    private static final int COVER_WIDTH = 180;
    private static final int COVER_HEIGHT = 110;

    private static final String MIDDLE = " text-anchor=\"middle\"";
    private static final String END = " text-anchor=\"end\"";

    /** Text whose middle is at its place, whatever the size of its letters. */
    private static final String CENTRAL = " dominant-baseline=\"central\"";

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

    private final double wholeWidth;
    private final StringBuilder svg = new StringBuilder();
    private double left;
    private double top;
    private double width;
    private double height;

    private SvgChart(double wholeWidth) {
        this.wholeWidth = wholeWidth;
    }

    /**
     * A drawing.
     *
     * @param title what it shows; empty for an ornament
     */
    record Svg(String title, double width, double height, String content) {

        /** Returns the element with more attributes. */
        String element(String attributes) {
            String label = title.isEmpty() ? "" : " role=\"img\" aria-label=\"" + escaped(title) + "\"";
            return String.format(
                    Locale.ROOT,
                    "<svg viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui, sans-serif\"%s%s>%s</svg>",
                    width,
                    height,
                    label,
                    attributes,
                    content);
        }
    }

    /**
     * Draws a chart.
     *
     * @param isSmall true if it is one of many
     */
    static Svg of(Chart chart, boolean isSmall) {
        return new SvgChart(isSmall ? SMALL : WIDE).draw(chart);
    }

    /** Draws the inside of a chart, without text. */
    static Svg cover(Chart chart) {
        SvgChart cover = new SvgChart(COVER_WIDTH);
        cover.height = COVER_HEIGHT - 8;
        cover.width = chart.isSquare() ? cover.height : COVER_WIDTH - 8;
        cover.left = (COVER_WIDTH - cover.width) / 2;
        cover.top = 4;
        if (chart instanceof HeatMapChart map) {
            cover.cells(map, cover.left, cover.top, cover.width, cover.height);
        } else {
            cover.series((LineChart) chart, true);
        }
        return new Svg("", COVER_WIDTH, COVER_HEIGHT, cover.svg.toString());
    }

    private Svg draw(Chart chart) {
        double end = paragraph(chart.title(), 0, 0, 0.88 * wholeWidth, " font-weight=\"bold\"");
        end = paragraph(chart.yTitle(), 0, end, wholeWidth, "");
        top = end + 0.5 * LETTER;
        end = chart instanceof HeatMapChart map ? map(map) : lines((LineChart) chart);
        end = paragraph(chart.xTitle(), left + width / 2, end, wholeWidth, MIDDLE);
        if (chart.hasLegend()) {
            end = chart instanceof HeatMapChart map
                    ? scale(map, end + 0.5 * LETTER)
                    : legend((LineChart) chart, end + 0.3 * LETTER);
        }
        return new Svg(chart.title(), wholeWidth, Math.ceil(end + 0.3 * LETTER), svg.toString());
    }

    /** Draws the axes of lines, and returns the lower end, as the methods below. */
    private double lines(LineChart chart) {
        Axis x = chart.x();
        Axis y = chart.y();
        List<String> names = chart.rows;
        height = names.isEmpty() ? (wholeWidth == SMALL ? 0.75 : 0.55) * wholeWidth : 1.3 * LINE * names.size();
        height = chart.isSquare() ? 0.8 * wholeWidth : height;
        double[] rows =
                names.isEmpty() ? y.ticks(height, label -> 1.8 * LETTER) : LineChart.each(names.size(), row -> row);
        Function<Double, String> label = row -> names.isEmpty() ? y.label(row) : names.get(row.intValue());
        left = 8
                + Arrays.stream(rows).map(row -> length(label.apply(row))).max().orElse(0);
        double[] columns = x.ticks(wholeWidth - left, text -> length(text) + LETTER);
        // half of the last label may be beyond the axis
        double beyond = Arrays.stream(columns)
                .map(column -> length(x.label(column)) / 2 - (1 - x.place(column)) * (wholeWidth - left))
                .max()
                .orElse(0);
        width = wholeWidth - left - Math.max(2, beyond);
        height = chart.isSquare() ? width : height;
        for (double row : rows) {
            double at = top + height * (1 - y.place(row));
            element("path", "d=\"M%s %sh%s\" stroke=\"var(--line)\"".formatted(n(left), n(at), n(width)));
            text(left - 6, at, label.apply(row), END + CENTRAL);
        }
        for (double column : columns) {
            double at = left + width * x.place(column);
            String mark = names.isEmpty() ? "5" : n(-height);
            element("path", "d=\"M%s %sv%s\" stroke=\"var(--line)\"".formatted(n(at), n(top + height), mark));
            text(at, top + height + 1.3 * LETTER, x.label(column), MIDDLE);
        }
        series(chart, false);
        for (LineChart.Label at : chart.labels) {
            text(left + width * x.place(at.x()), top + height * (1 - y.place(at.y())), at.text(), MIDDLE + CENTRAL);
        }
        return top + height + 0.3 * LETTER + LINE;
    }

    /** Draws the lines and the symbols inside of the axes; a cover has symbols only for points without lines. */
    private void series(LineChart chart, boolean isCover) {
        frame(left, top, width, height);
        Axis x = chart.x();
        Axis y = chart.y();
        StringBuilder symbols = new StringBuilder();
        // an inner drawing cuts off what is outside of the axes
        svg.append("<svg ").append(rectangle(left, top, width, height)).append('>');
        for (LineChart.Series series : chart.series()) {
            boolean isLine = series.width() > 0;
            StringBuilder path = new StringBuilder();
            boolean isGap = true;
            double symbolX = Double.NaN;
            double symbolY = Double.NaN;
            for (int i = 0; i < series.x().length; i++) {
                double atX = width * x.place(series.x()[i]);
                double atY = height * (1 - y.place(series.y()[i]));
                if (!Double.isFinite(atX) || !Double.isFinite(atY)) {
                    isGap = true;
                    continue;
                }
                path.append(isGap ? "M" : "L").append(n(atX)).append(' ').append(n(atY));
                isGap = false;
                boolean isInside = atX > -1 && atX < width + 1 && atY > -1 && atY < height + 1;
                boolean isFar = !(Math.hypot(atX - symbolX, atY - symbolY) < SYMBOL_DISTANCE && atX >= symbolX);
                if (isInside && (!isLine || (isFar && !isCover))) {
                    symbols.append(symbol(series, left + atX, top + atY));
                    symbolX = atX;
                    symbolY = atY;
                }
            }
            if (isLine) {
                line(series, path.toString());
            }
        }
        svg.append("</svg>").append(symbols);
    }

    private void line(LineChart.Series series, String path) {
        element(
                "path",
                "d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s"
                        .formatted(
                                path,
                                color(series),
                                n(series.width()),
                                series.isDashed() ? " stroke-dasharray=\"6 4\"" : ""));
    }

    private static String color(LineChart.Series series) {
        return series.color() == LineChart.BLACK ? "currentColor" : "var(--line-" + series.color() + ")";
    }

    private static String symbol(LineChart.Series series, double x, double y) {
        return series.symbol() == 0
                ? ""
                : String.format(
                        "<path transform=\"translate(%s %s)\" d=\"%s\" fill=\"%s\" stroke=\"%4$s\"/>",
                        n(x), n(y), SYMBOLS.get(series.symbol()), color(series));
    }

    /** Draws the names of the lines, as many in a row as fit. */
    private double legend(LineChart chart, double start) {
        double x = 0;
        double y = start;
        for (LineChart.Series series : chart.series()) {
            if (series.name().isEmpty()) {
                continue;
            }
            double needed = 34 + length(series.name());
            if (x > 0 && x + needed > wholeWidth) {
                x = 0;
                y += LINE;
            }
            double middle = y + 0.65 * LETTER;
            if (series.width() > 0) {
                line(series, "M%s %sh24".formatted(n(x), n(middle)));
            }
            svg.append(symbol(series, x + 12, middle));
            text(x + 30, middle, series.name(), CENTRAL);
            x += needed + LETTER;
        }
        return y + LINE;
    }

    private double map(HeatMapChart map) {
        List<String> rows = map.rows;
        List<String> columns = map.columns;
        left = longest(rows) + 8;
        width = wholeWidth - left - 2;
        double words = HeatMapChart.areWords(rows) ? rows.size() * 1.2 * LETTER : 0;
        height = map.isSquare() ? width : Math.max((wholeWidth == SMALL ? 0.75 : 0.55) * width, words);
        cells(map, left, top, width, height);
        for (int row : labeled(rows.size(), height, 1.2 * LETTER)) {
            text(left - 6, top + (row + 0.5) * height / rows.size(), rows.get(row), END + CENTRAL);
        }
        boolean isRotated = HeatMapChart.areWords(columns);
        double end = top + height + 0.3 * LETTER;
        for (int column : labeled(columns.size(), width, isRotated ? LETTER : longest(columns) + LETTER)) {
            double at = left + (column + 0.5) * width / columns.size();
            if (isRotated) {
                String turn = " transform=\"rotate(-90 %s %s)\"".formatted(n(at), n(end));
                text(at, end, columns.get(column), END + CENTRAL + turn);
            } else {
                text(at, end + LETTER, columns.get(column), MIDDLE);
            }
        }
        return end + (isRotated ? longest(columns) : LINE);
    }

    /** Returns every first, second, fifth, tenth … number below a count, as many as have space beside each other. */
    private static int[] labeled(int count, double length, double space) {
        double least = space * count / length;
        int step = IntStream.iterate(0, i -> i + 1)
                .map(i -> (int) Axis.roundStep(0, i))
                .filter(each -> each >= least)
                .findFirst()
                .orElseThrow();
        return IntStream.iterate(0, i -> i < count, i -> i + step).toArray();
    }

    /** Draws the cells of a heat map: a path for each color, one wide line for equal cells of a row. */
    private void cells(HeatMapChart map, double x, double y, double cellsWidth, double cellsHeight) {
        int columns = map.columns.size();
        int rows = map.rows.size();
        Map<Integer, StringBuilder> paths = new TreeMap<>();
        for (int row = 0; row < rows; row++) {
            int end;
            for (int column = 0; column < columns; column = end) {
                int shade = map.shade(row, column);
                end = column + 1;
                while (end < columns && map.shade(row, end) == shade) {
                    end++;
                }
                paths.computeIfAbsent(shade, unused -> new StringBuilder())
                        .append("M%d %dh%d".formatted(column, row, end - column));
            }
        }
        svg.append("<svg %s viewBox=\"0 -0.5 %d %d\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">"
                .formatted(rectangle(x, y, cellsWidth, cellsHeight), columns, rows));
        paths.remove(0);
        paths.forEach((shade, path) -> element(
                "path",
                "d=\"%s\" stroke=\"%s\" stroke-opacity=\"%s\""
                        .formatted(
                                path,
                                shade < 0 ? "#2a7fc8" : "#d03a3a",
                                (double) Math.abs(shade) / HeatMapChart.SHADES)));
        svg.append("</svg>");
        frame(x, y, cellsWidth, cellsHeight);
    }

    /** Draws the colors of a heat map with their numbers. */
    private double scale(HeatMapChart map, double y) {
        double least = map.least();
        double greatest = map.greatest();
        double start = left + width / 4;
        int steps = least < 0 ? 41 : 21;
        HeatMapChart.Cells colors = (row, i) -> least + i * (greatest - least) / (steps - 1);
        cells(
                HeatMapChart.of("scale", "x", "y", 1, steps, colors).range(least, greatest),
                start,
                y,
                width / 2,
                0.6 * LETTER);
        Axis axis = new Axis(least, greatest, false);
        for (double number : least < 0 ? new double[] {least, 0, greatest} : new double[] {least, greatest}) {
            text(start + width / 2 * axis.place(number), y + 1.7 * LETTER, axis.label(number), MIDDLE);
        }
        return y + 0.7 * LETTER + LINE;
    }

    private void element(String name, String attributes) {
        svg.append('<').append(name).append(' ').append(attributes).append("/>");
    }

    private void frame(double x, double y, double frameWidth, double frameHeight) {
        element("rect", "%s fill=\"none\" stroke=\"var(--line)\"".formatted(rectangle(x, y, frameWidth, frameHeight)));
    }

    static String rectangle(double x, double y, double width, double height) {
        return "x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"".formatted(n(x), n(y), n(width), n(height));
    }

    private void text(double x, double y, String text, String attributes) {
        svg.append("<text x=\"%s\" y=\"%s\" fill=\"currentColor\"%s>".formatted(n(x), n(y), attributes))
                .append(escaped(text))
                .append("</text>");
    }

    /** Draws words in as many lines as they need. */
    private double paragraph(String text, double x, double y, double available, String attributes) {
        List<String> lines = new ArrayList<>();
        for (String word : text.split(" ", -1)) {
            int last = lines.size() - 1;
            if (last >= 0 && length(lines.get(last) + " " + word) <= available) {
                lines.set(last, lines.get(last) + " " + word);
            } else {
                lines.add(word);
            }
        }
        for (int i = 0; i < lines.size(); i++) {
            text(x, y + i * LINE + LETTER, lines.get(i), attributes);
        }
        return y + lines.size() * LINE;
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }

    private static double longest(List<String> texts) {
        return texts.stream().mapToDouble(SvgChart::length).max().orElse(0);
    }

    /** Returns about the length of a text in DejaVu Sans, the widest of the fonts of usual systems. */
    private static double length(String text) {
        return LETTER
                * text.chars()
                        .mapToDouble(c ->
                                "fijlrtI.,:;'|!()- ".indexOf(c) >= 0 ? 0.36 : "mwMW−".indexOf(c) >= 0 ? 0.88 : 0.63)
                        .sum();
    }

    /** Returns a number with one decimal at most. */
    private static String n(double number) {
        double rounded = Math.rint(10 * number) / 10;
        return rounded == Math.rint(rounded) ? Long.toString((long) rounded) : Double.toString(rounded);
    }
}
