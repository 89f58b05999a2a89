package io.github.djlpositional.examples;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.font.FontRenderContext;
import java.awt.image.BufferedImage;
import java.awt.image.IndexColorModel;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.HeatMapSeries;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.markers.Marker;

/**
 * One chart as SVG. XChart paints text as outlines; here text is text, and colors are variables of the page. The layout
 * has space for letters of {@link #LETTER}, which a page may make smaller.
 */
final class SvgChart {

    /** Width of a chart alone or in a pair. */
    private static final int WIDE = 480;

    /** Width of one of many charts. */
    private static final int SMALL = 240;

    /** The height of the largest letters. */
    private static final double LETTER = 17;

    private static final double LINE = 1.3 * LETTER;
    /** Text whose middle is at its place, whatever the size of its letters. */
    private static final String CENTRAL = " dominant-baseline=\"central\"";

    private static final double SYMBOL_DISTANCE = 40;
    private static final int COVER_WIDTH = 180;
    private static final int COVER_HEIGHT = 110;
    private static final FontRenderContext FONTS = new FontRenderContext(null, true, true);

    /** Blue for negative numbers and red for positive ones, transparent at 0: the page shines through. */
    private static final IndexColorModel COLORS = colors();

    private static final int ZERO = 127;

    private final AxesChart<?, ?> chart;
    private final AxesChartStyler styler;
    private final StringBuilder svg = new StringBuilder();
    private double left;
    private double top;
    private double width;
    private double height;

    private SvgChart(AxesChart<?, ?> chart) {
        this.chart = chart;
        this.styler = chart.getStyler();
    }

    /**
     * Draws a chart.
     *
     * @param isSmall true if it is one of many
     */
    static Svg of(AxesChart<?, ?> chart, boolean isSmall) {
        return new SvgChart(chart).draw(isSmall ? SMALL : WIDE);
    }

    /** Draws the inside of a chart, without text. */
    static Svg cover(AxesChart<?, ?> chart) {
        SvgChart cover = new SvgChart(chart);
        cover.height = COVER_HEIGHT - 8;
        cover.width = cover.isSquare() ? cover.height : COVER_WIDTH - 8;
        cover.left = (COVER_WIDTH - cover.width) / 2;
        cover.top = 4;
        if (chart instanceof HeatMapChart map) {
            cover.cells(map);
        } else {
            XYChart lines = (XYChart) chart;
            cover.lines(lines, Axis.x(lines), Axis.y(lines), true);
        }
        return new Svg(COVER_WIDTH, COVER_HEIGHT, cover.svg.toString());
    }

    /**
     * A drawing.
     *
     * @param width its width in its own units
     * @param height its height in its own units
     * @param content its elements
     */
    record Svg(double width, double height, String content) {

        /** Returns the element with more attributes. */
        String element(String attributes) {
            return String.format(
                    Locale.ROOT,
                    "<svg viewBox=\"0 0 %.0f %.0f\" font-family=\"system-ui, sans-serif\" %s>%s</svg>",
                    width,
                    height,
                    attributes,
                    content);
        }
    }

    /**
     * The numbers of an axis.
     *
     * @param isLogarithmic true if a power of ten has the same length everywhere
     */
    private record Axis(double least, double greatest, boolean isLogarithmic) {

        static Axis x(XYChart chart) {
            AxesChartStyler styler = chart.getStyler();
            return of(
                    chart,
                    styler.getXAxisMin(),
                    styler.getXAxisMax(),
                    styler.isXAxisLogarithmic(),
                    XYSeries::getXData,
                    0);
        }

        static Axis y(XYChart chart) {
            AxesChartStyler styler = chart.getStyler();
            return of(
                    chart,
                    styler.getYAxisMin(),
                    styler.getYAxisMax(),
                    styler.isYAxisLogarithmic(),
                    XYSeries::getYData,
                    0.05);
        }

        private static Axis of(
                XYChart chart,
                Double min,
                Double max,
                boolean isLogarithmic,
                Function<XYSeries, double[]> data,
                double margin) {
            double[] numbers = chart.getSeriesCollection().stream()
                    .flatMapToDouble(series -> Arrays.stream(data.apply(series)))
                    .filter(number -> Double.isFinite(number) && (!isLogarithmic || number > 0))
                    .sorted()
                    .toArray();
            double least = numbers[0];
            double greatest = numbers[numbers.length - 1];
            double space = isLogarithmic ? 0 : margin * (greatest - least);
            // a line of one height is in the middle
            space = least == greatest ? 1 : space;
            return new Axis(min == null ? least - space : min, max == null ? greatest + space : max, isLogarithmic);
        }

        /** Returns 0 for the least number and 1 for the greatest. */
        double place(double number) {
            return isLogarithmic
                    ? Math.log(number / least) / Math.log(greatest / least)
                    : (number - least) / (greatest - least);
        }

        /**
         * Returns round numbers whose labels are at least a distance apart.
         *
         * @param length the length of the axis
         * @param space the space that the label of a number needs
         */
        double[] ticks(double length, ToDoubleFunction<String> space) {
            int power = (int) Math.floor(Math.log10((greatest - least) / 100));
            for (int i = 0; ; i++) {
                double[] ticks = isLogarithmic ? powers(i + 1) : multiples(roundStep(power, i));
                double widest = Arrays.stream(ticks)
                        .mapToObj(this::label)
                        .mapToDouble(space)
                        .max()
                        .orElse(0);
                if (ticks.length < 2 || widest * (ticks.length - 1) < length) {
                    return ticks;
                }
            }
        }

        /** Returns 1, 2 or 5 times a power of ten. */
        private static double roundStep(int power, int i) {
            return new double[] {1, 2, 5}[i % 3] * Math.pow(10, power + Math.floorDiv(i, 3));
        }

        private double[] multiples(double step) {
            long first = (long) Math.ceil(least / step - 1e-9);
            long last = (long) Math.floor(greatest / step + 1e-9);
            return LongStream.rangeClosed(first, last)
                    .mapToDouble(n -> step >= 1 ? n * step : n / Math.rint(1 / step))
                    .toArray();
        }

        private double[] powers(int step) {
            int first = (int) Math.ceil(Math.log10(least) - 1e-9);
            int last = (int) Math.floor(Math.log10(greatest) + 1e-9);
            return IntStream.rangeClosed(first, last)
                    .filter(power -> Math.floorMod(power, step) == 0)
                    .mapToDouble(power -> Math.pow(10, power))
                    .toArray();
        }

        String label(double number) {
            if (isLogarithmic && (number < 1e-3 || number > 1e5)) {
                String power = Long.toString(Math.round(Math.log10(number)));
                return "10"
                        + power.chars()
                                .mapToObj(c -> c == '-' ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹".substring(c - '0', c - '0' + 1))
                                .collect(Collectors.joining());
            }
            String text = String.format(Locale.ROOT, "%,.6f", number);
            text = text.contains(".") ? text.replaceFirst("\\.?0+$", "") : text;
            return text.replace("-", "−");
        }
    }

    private Svg draw(double wholeWidth) {
        double end = 0;
        for (String line : wrapped(chart.getTitle(), 0.88 * wholeWidth)) {
            text(0, end + LETTER, line, "font-weight=\"bold\"");
            end += LINE;
        }
        for (String line : wrapped(chart.getYAxisTitle(), wholeWidth)) {
            text(0, end + LETTER, line, "");
            end += LINE;
        }
        top = end + 0.5 * LETTER;
        end = chart instanceof HeatMapChart map ? drawMap(map, wholeWidth) : drawLines((XYChart) chart, wholeWidth);
        for (String line : wrapped(chart.getXAxisTitle(), wholeWidth)) {
            text(left + width / 2, end + LETTER, line, "text-anchor=\"middle\"");
            end += LINE;
        }
        if (styler.isLegendVisible()) {
            end = chart instanceof HeatMapChart map
                    ? scale(map, end + 0.5 * LETTER)
                    : legend((XYChart) chart, wholeWidth, end + 0.3 * LETTER);
        }
        return new Svg(wholeWidth, Math.ceil(end + 0.3 * LETTER), svg.toString());
    }

    private double drawLines(XYChart lines, double wholeWidth) {
        Axis x = Axis.x(lines);
        Axis y = Axis.y(lines);
        height = (isSquare() ? 0.8 : wholeWidth == SMALL ? 0.75 : 0.55) * wholeWidth;
        double[] rows = y.ticks(height, label -> 1.8 * LETTER);
        left = Arrays.stream(rows)
                        .mapToObj(y::label)
                        .mapToDouble(SvgChart::length)
                        .max()
                        .orElse(0)
                + 8;
        double[] columns = x.ticks(wholeWidth - left, label -> length(label) + LETTER);
        // half of the last label may be beyond the axis
        double beyond = Arrays.stream(columns)
                .map(column -> length(x.label(column)) / 2 - (1 - x.place(column)) * (wholeWidth - left))
                .max()
                .orElse(0);
        width = wholeWidth - left - Math.max(2, beyond);
        height = isSquare() ? width : height;
        for (double row : rows) {
            double at = top + height * (1 - y.place(row));
            element("path", "d=\"M%s %sh%s\" stroke=\"var(--line, #d0d7de)\"".formatted(n(left), n(at), n(width)));
            text(left - 6, at, y.label(row), "text-anchor=\"end\"" + CENTRAL);
        }
        for (double column : columns) {
            double at = left + width * x.place(column);
            element("path", "d=\"M%s %sv5\" stroke=\"var(--line, #d0d7de)\"".formatted(n(at), n(top + height)));
            text(at, top + height + 0.3 * LETTER + LETTER, x.label(column), "text-anchor=\"middle\"");
        }
        lines(lines, x, y, false);
        for (Drawing.Label label : Drawing.labels(lines)) {
            text(
                    left + width * x.place(label.x()),
                    top + height * (1 - y.place(label.y())),
                    label.text(),
                    "text-anchor=\"middle\"" + CENTRAL);
        }
        return top + height + 0.3 * LETTER + LINE;
    }

    /** Draws the lines and the symbols inside of the axes; a cover has symbols only for points without lines. */
    private void lines(XYChart lines, Axis x, Axis y, boolean isCover) {
        frame(left, top, width, height);
        StringBuilder symbols = new StringBuilder();
        // an inner drawing cuts off what is outside of the axes
        svg.append("<svg ").append(rectangle(left, top, width, height)).append('>');
        int index = 0;
        for (XYSeries series : lines.getSeriesCollection()) {
            String color = color(series, index);
            boolean isScatter = isScatter(series);
            StringBuilder path = new StringBuilder();
            double[] xs = series.getXData();
            double[] ys = series.getYData();
            double lastX = Double.NaN;
            double lastY = Double.NaN;
            double symbolX = Double.NaN;
            double symbolY = Double.NaN;
            for (int i = 0; i < xs.length; i++) {
                double atX = width * x.place(xs[i]);
                double atY = height * (1 - y.place(ys[i]));
                if (!Double.isFinite(atX) || !Double.isFinite(atY)) {
                    lastX = Double.NaN;
                    continue;
                }
                // too near to differ from the last point
                boolean isNear = Math.abs(atX - lastX) < 0.2 && Math.abs(atY - lastY) < 0.2 && i < xs.length - 1;
                if (!isNear) {
                    path.append(Double.isNaN(lastX) ? 'M' : 'L')
                            .append(n(atX))
                            .append(' ')
                            .append(n(atY));
                    lastX = atX;
                    lastY = atY;
                }
                boolean isInside = atX > -1 && atX < width + 1 && atY > -1 && atY < height + 1;
                boolean isFar = !(series.getMarker() instanceof SparseMarker)
                        || !(Math.hypot(atX - symbolX, atY - symbolY) < SYMBOL_DISTANCE && atX >= symbolX);
                if (isInside && isFar && (!isCover || isScatter)) {
                    symbols.append(symbol(series, left + atX, top + atY, color));
                    symbolX = atX;
                    symbolY = atY;
                }
            }
            if (!isScatter) {
                element("path", "d=\"%s\" fill=\"none\" stroke=\"%s\" %s".formatted(path, color, stroke(series)));
            }
            index++;
        }
        svg.append("</svg>").append(symbols);
    }

    private static boolean isScatter(XYSeries series) {
        return series.getXYSeriesRenderStyle()
                .filter(style -> style.equals(XYSeries.XYSeriesRenderStyle.Scatter))
                .isPresent();
    }

    private static String stroke(XYSeries series) {
        BasicStroke stroke = series.getLineStyle();
        String width = "stroke-width=\"" + n(stroke == null ? 2 : stroke.getLineWidth()) + "\"";
        return stroke == null || stroke.getDashArray() == null ? width : width + " stroke-dasharray=\"6 4\"";
    }

    private static String color(XYSeries series, int index) {
        return Drawing.variable(
                series.getLineColor() != null ? series.getLineColor() : Drawing.COLORS[index % Drawing.COLORS.length]);
    }

    private static String symbol(XYSeries series, double x, double y, String color) {
        Marker marker = series.getMarker() instanceof SparseMarker sparse ? sparse.symbol() : series.getMarker();
        String path = Drawing.outline(marker);
        return path.isEmpty()
                ? ""
                : String.format(
                        "<path transform=\"translate(%s %s)\" d=\"%s\" fill=\"%s\" stroke=\"%4$s\"/>",
                        n(x), n(y), path, color);
    }

    /** Draws the names of the lines, as many in a row as fit, and returns the lower end. */
    private double legend(XYChart lines, double wholeWidth, double start) {
        double x = 0;
        double y = start;
        int index = 0;
        for (XYSeries series : lines.getSeriesCollection()) {
            double needed = 34 + length(series.getLabel());
            if (x > 0 && x + needed > wholeWidth) {
                x = 0;
                y += LINE;
            }
            double middle = y + 0.65 * LETTER;
            String color = color(series, index);
            if (!isScatter(series)) {
                element("path", "d=\"M%s %sh24\" stroke=\"%s\" %s".formatted(n(x), n(middle), color, stroke(series)));
            }
            svg.append(symbol(series, x + 12, middle, color));
            text(x + 30, middle, series.getLabel(), CENTRAL.strip());
            x += needed + LETTER;
            index++;
        }
        return y + LINE;
    }

    private double drawMap(HeatMapChart map, double wholeWidth) {
        HeatMapSeries series = map.getHeatMapSeries();
        List<String> columns = labels(series.getXData());
        List<String> rows = labels(series.getYData());
        left = rows.stream().mapToDouble(SvgChart::length).max().orElse(0) + 8;
        width = wholeWidth - left - 2;
        double lines = rows.stream().filter(label -> !label.isEmpty()).count() * 1.2 * LETTER;
        height = isSquare() ? width : Math.max((wholeWidth == SMALL ? 0.75 : 0.55) * width, lines);
        cells(map);
        for (int row : fitting(rows, height, label -> 1.2 * LETTER)) {
            double at = top + height - (row + 0.5) * height / rows.size();
            text(left - 6, at, rows.get(row), "text-anchor=\"end\"" + CENTRAL);
        }
        boolean isRotated = styler.getXAxisLabelRotation() == 90;
        double end = top + height + 0.3 * LETTER;
        for (int column : fitting(columns, width, label -> isRotated ? LETTER : length(label) + LETTER)) {
            double at = left + (column + 0.5) * width / columns.size();
            if (isRotated) {
                text(
                        0,
                        0,
                        columns.get(column),
                        String.format(
                                "text-anchor=\"end\" transform=\"translate(%s %s) rotate(-90)\"%s",
                                n(at), n(end), CENTRAL));
            } else {
                text(at, end + LETTER, columns.get(column), "text-anchor=\"middle\"");
            }
        }
        return end
                + (isRotated
                        ? columns.stream().mapToDouble(SvgChart::length).max().orElse(0)
                        : LINE);
    }

    private static List<String> labels(List<?> labels) {
        return labels.stream().map(Object::toString).toList();
    }

    /** Returns the indices of labels, all of them or regularly chosen ones, which have space beside each other. */
    private static List<Integer> fitting(List<String> labels, double length, ToDoubleFunction<String> space) {
        // the first label is at the end of the list in an axis that points upwards
        List<Integer> named = IntStream.range(0, labels.size())
                .filter(i -> !labels.get(i).isEmpty())
                .boxed()
                .sorted(Comparator.comparingInt(i -> labels.get(0).isEmpty() ? -i : i))
                .toList();
        double widest = labels.stream().mapToDouble(space).max().orElse(0);
        int step = 1;
        while (named.size() > step && widest * labels.size() > length * Math.abs(named.get(step) - named.get(0))) {
            step++;
        }
        int chosen = step;
        return IntStream.range(0, named.size())
                .filter(i -> i % chosen == 0)
                .mapToObj(named::get)
                .toList();
    }

    /** Draws the cells of a heat map as one image with a pixel for each. */
    private void cells(HeatMapChart map) {
        HeatMapSeries series = map.getHeatMapSeries();
        int rows = series.getYData().size();
        int columns = series.getXData().size();
        BufferedImage image = new BufferedImage(columns, rows, BufferedImage.TYPE_BYTE_INDEXED, COLORS);
        double least = map.getStyler().getMin();
        double greatest = map.getStyler().getMax();
        for (Number[] cell : series.getHeatData()) {
            int index = index(cell[2].doubleValue(), least, greatest);
            image.getRaster().setSample(cell[0].intValue(), rows - 1 - cell[1].intValue(), 0, index);
        }
        image(image, left, top, width, height);
    }

    /** Returns the index of the color of a number: from blue to red if there are negative numbers. */
    private static int index(double number, double least, double greatest) {
        double part = least < 0 ? number / greatest : (number - least) / (greatest - least);
        return (int) Math.round(ZERO + ZERO * Math.min(Math.max(part, -1), 1));
    }

    private void image(BufferedImage image, double x, double y, double imageWidth, double imageHeight) {
        ByteArrayOutputStream png = new ByteArrayOutputStream();
        try {
            ImageIO.write(image, "png", png);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        element(
                "image",
                rectangle(x, y, imageWidth, imageHeight)
                        + " preserveAspectRatio=\"none\" style=\"image-rendering: pixelated\""
                        + " href=\"data:image/png;base64,"
                        + Base64.getEncoder().encodeToString(png.toByteArray()) + "\"");
        frame(x, y, imageWidth, imageHeight);
    }

    /** Draws the colors of a heat map with their numbers, and returns the lower end. */
    private double scale(HeatMapChart map, double y) {
        double least = map.getStyler().getMin();
        double greatest = map.getStyler().getMax();
        int first = least < 0 ? 0 : ZERO;
        BufferedImage image = new BufferedImage(2 * ZERO + 1 - first, 1, BufferedImage.TYPE_BYTE_INDEXED, COLORS);
        for (int i = 0; i < image.getWidth(); i++) {
            image.getRaster().setSample(i, 0, 0, first + i);
        }
        double length = width / 2;
        double start = left + length / 2;
        image(image, start, y, length, 0.6 * LETTER);
        double end = y + 0.7 * LETTER;
        Axis axis = new Axis(least, greatest, false);
        for (double number : least < 0 ? new double[] {least, 0, greatest} : new double[] {least, greatest}) {
            text(start + length * axis.place(number), end + LETTER, axis.label(number), "text-anchor=\"middle\"");
        }
        return end + LINE;
    }

    /** Returns true if the axes have the same scale, or the heat map as many rows as columns. */
    boolean isSquare() {
        if (chart instanceof HeatMapChart map) {
            HeatMapSeries series = map.getHeatMapSeries();
            return series.getXData().size() == series.getYData().size();
        }
        return Drawing.isSquare(styler);
    }

    private static IndexColorModel colors() {
        byte[][] channels = new byte[4][2 * 127 + 1];
        for (int i = 0; i < channels[0].length; i++) {
            Color color = i < 127 ? new Color(0x2A7FC8) : new Color(0xD03A3A);
            channels[0][i] = (byte) color.getRed();
            channels[1][i] = (byte) color.getGreen();
            channels[2][i] = (byte) color.getBlue();
            channels[3][i] = (byte) Math.round(255 * Math.abs(i - 127) / 127.0);
        }
        return new IndexColorModel(8, channels[0].length, channels[0], channels[1], channels[2], channels[3]);
    }

    private void element(String name, String attributes) {
        svg.append('<').append(name).append(' ').append(attributes).append("/>");
    }

    private void frame(double x, double y, double frameWidth, double frameHeight) {
        element("rect", rectangle(x, y, frameWidth, frameHeight) + " fill=\"none\" stroke=\"var(--line, #d0d7de)\"");
    }

    private static String rectangle(double x, double y, double width, double height) {
        return "x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"".formatted(n(x), n(y), n(width), n(height));
    }

    private void text(double x, double y, String text, String attributes) {
        String place = x == 0 && y == 0 ? "" : String.format(" x=\"%s\" y=\"%s\"", n(x), n(y));
        svg.append("<text").append(place).append(attributes.isEmpty() ? "" : " " + attributes);
        svg.append(" fill=\"currentColor\">").append(escaped(text)).append("</text>");
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;");
    }

    /** Returns lines of words, each short enough. */
    private static List<String> wrapped(String text, double available) {
        List<String> lines = new ArrayList<>(List.of(""));
        for (String word : text.split(" ", -1)) {
            String last = lines.get(lines.size() - 1);
            if (last.isEmpty() || length(last + " " + word) <= 0.95 * available) {
                lines.set(
                        lines.size() - 1,
                        Stream.of(last, word).filter(part -> !part.isEmpty()).collect(Collectors.joining(" ")));
            } else {
                lines.add(word);
            }
        }
        return lines;
    }

    /** Returns the length of a text in the fonts of usual systems: DejaVu Sans is wider than Liberation Sans. */
    private static double length(String text) {
        return 1.125
                * new Font(Font.SANS_SERIF, Font.PLAIN, 17)
                        .getStringBounds(text, FONTS)
                        .getWidth();
    }

    /** Returns a number with one decimal at most. */
    private static String n(double number) {
        double rounded = Math.rint(10 * number) / 10;
        return rounded == Math.rint(rounded) ? Long.toString((long) rounded) : Double.toString(rounded);
    }
}
