package io.github.djlpositional.examples;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.internal.series.Series;

/** One picture of one or several charts: SVG for pages and notebooks, PNG for commands. */
public final class Figure {

    /** Pixels for each CSS pixel. */
    private static final int SCALE = 2;

    /** The space between charts of a file. */
    private static final int GAP = 16;

    private final int columns;
    private final List<AxesChart<?, ?>> charts;

    /**
     * Creates a picture.
     *
     * @param columns the number of charts side by side on a large screen
     * @param charts charts that {@link Drawing} created, at least one, all of the same kind
     * @throws IllegalArgumentException if a title or the name of a series is missing or not in words
     */
    public Figure(int columns, List<? extends Chart<?, ?>> charts) {
        this.columns = columns;
        this.charts = charts.stream()
                .<AxesChart<?, ?>>map(chart -> (AxesChart<?, ?>) chart)
                .toList();
        this.charts.forEach(Figure::requireWords);
    }

    private static void requireWords(AxesChart<?, ?> chart) {
        List<String> titles = List.of(chart.getTitle(), chart.getXAxisTitle(), chart.getYAxisTitle());
        Stream.concat(titles.stream(), chart.getSeriesCollection().stream().map(Series::getLabel))
                .filter(text -> text.isBlank() || text.contains("_"))
                .findAny()
                .ifPresent(text -> {
                    throw new IllegalArgumentException(String.format(
                            "chart '%s' has the text '%s': expected words for its title, its axes and its series; do"
                                    + " not leave them out, and do not use identifiers",
                            chart.getTitle(), text));
                });
    }

    /**
     * Returns the charts.
     *
     * @return the charts in the order of the picture
     */
    public List<AxesChart<?, ?>> charts() {
        return charts;
    }

    /** Returns false if a phone shows each chart in its whole width, and a screen at most two beside each other. */
    private boolean isSmall() {
        return columns > 2 || (columns == 2 && charts.size() > 3);
    }

    /**
     * Returns the charts for a page, one element for each. The style sheet arranges them and chooses their colors and
     * the size of their letters.
     *
     * @return HTML
     */
    public String html() {
        return charts.stream()
                .map(chart -> {
                    SvgChart.Svg svg = SvgChart.of(chart, isSmall());
                    String title = chart.getTitle().replace("&", "&amp;").replace("\"", "&quot;");
                    String kind = svg.height() > 0.95 * svg.width() ? " class=\"high\"" : "";
                    return svg.element("role=\"img\" aria-label=\"" + title + "\"" + kind) + "\n";
                })
                .collect(Collectors.joining(
                        "",
                        String.format(
                                "<div class=\"charts%s%s\" style=\"--columns: %d\">%n",
                                isSmall() ? " small" : columns > 1 ? " pair" : "",
                                charts.size() <= 3 ? " few" : "",
                                columns),
                        "</div>\n"));
    }

    /**
     * Draws the picture for a file.
     *
     * @return an SVG document
     */
    public String svg() {
        StringBuilder content = new StringBuilder();
        double width = 0;
        double top = 0;
        for (int row = 0; row < charts.size(); row += columns) {
            double left = 0;
            double height = 0;
            for (AxesChart<?, ?> chart : charts.subList(row, Math.min(row + columns, charts.size()))) {
                SvgChart.Svg svg = SvgChart.of(chart, isSmall());
                content.append(svg.element(String.format(
                        Locale.ROOT,
                        "x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"",
                        left + GAP,
                        top + GAP,
                        svg.width(),
                        svg.height())));
                left += svg.width() + GAP;
                height = Math.max(height, svg.height());
            }
            top += height + GAP;
            width = Math.max(width, left);
        }
        return String.format(
                Locale.ROOT,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %1$.0f %2$.0f\" width=\"%1$.0f\""
                        + " font-size=\"%3$d\"><rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>%4$s</svg>%n",
                width + GAP,
                top + GAP,
                isSmall() ? 13 : 14,
                content);
    }

    /**
     * Draws the inside of the first chart, for a page of contents.
     *
     * @return an element of SVG
     */
    public String cover() {
        return SvgChart.cover(charts.get(0)).element("aria-hidden=\"true\"");
    }

    /**
     * Paints charts of lines or columns.
     *
     * @return a picture with two pixels for each CSS pixel, one chart below the other
     */
    public BufferedImage paint() {
        double aspect = (double) charts.get(0).getHeight() / charts.get(0).getWidth();
        List<ChartStyle> styles =
                charts.stream().map(chart -> new ChartStyle(chart, aspect)).toList();
        int width = ChartStyle.WIDTH;
        int height = styles.stream().mapToInt(ChartStyle::apply).max().orElseThrow();
        BufferedImage image =
                new BufferedImage(SCALE * width, SCALE * charts.size() * height, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.scale(SCALE, SCALE);
        graphics.setColor(Color.WHITE);
        graphics.fillRect(0, 0, width, charts.size() * height);
        for (int i = 0; i < charts.size(); i++) {
            Graphics2D cell = (Graphics2D) graphics.create(0, i * height, width, height);
            charts.get(i).paint(cell, width, height);
            cell.dispose();
        }
        graphics.dispose();
        return image;
    }

    /**
     * Paints charts of lines or columns as a PNG file.
     *
     * @return the bytes of the file
     * @throws IOException if the picture cannot be encoded
     */
    public byte[] png() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ImageIO.write(paint(), "png", out);
        return out.toByteArray();
    }
}
