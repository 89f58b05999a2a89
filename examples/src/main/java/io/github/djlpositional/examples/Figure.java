package io.github.djlpositional.examples;

import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.internal.series.Series;
import org.knowm.xchart.style.AxesChartStyler;

/** One picture of one or several charts, which can be painted for every {@link Look}. */
public final class Figure {

    /** Pixels for each CSS pixel. */
    private static final int SCALE = 2;

    private static final int COVER_WIDTH = 180;
    private static final int COVER_HEIGHT = 110;

    private final int columns;
    private final List<AxesChart<?, ?>> charts;

    /** What was painted before: a page, the page of contents and a Jupyter notebook have the same pictures. */
    private final Map<Look, byte[]> files = new EnumMap<>(Look.class);

    /** Height divided by width as the first chart was created; painting changes its size. */
    private final double aspect;

    /**
     * Creates a picture.
     *
     * @param columns the number of charts side by side on a large screen; a phone shows two, and up to three charts
     *     below each other
     * @param charts charts that {@link Drawing} created, at least one, all of the same kind
     * @throws IllegalArgumentException if a title or the name of a series is missing or not in words
     */
    public Figure(int columns, List<? extends Chart<?, ?>> charts) {
        this.columns = columns;
        this.charts = charts.stream()
                .<AxesChart<?, ?>>map(chart -> (AxesChart<?, ?>) chart)
                .toList();
        this.charts.forEach(Figure::requireWords);
        Chart<?, ?> first = charts.get(0);
        aspect = (double) first.getHeight() / first.getWidth();
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

    /**
     * Paints the picture.
     *
     * @param look the page
     * @return a picture with two pixels for each CSS pixel
     */
    public BufferedImage paint(Look look) {
        int inRow = !look.isNarrow() ? columns : charts.size() <= 3 ? 1 : Math.min(columns, 2);
        int rows = -Math.floorDiv(-charts.size(), inRow);
        List<ChartStyle> styles = charts.stream()
                .map(chart -> new ChartStyle(chart, look, inRow, aspect))
                .toList();
        int width = styles.get(0).width();
        int height = styles.stream().mapToInt(ChartStyle::apply).max().orElseThrow();
        BufferedImage image =
                new BufferedImage(SCALE * inRow * width, SCALE * rows * height, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.scale(SCALE, SCALE);
        graphics.setColor(look.page());
        graphics.fillRect(0, 0, inRow * width, rows * height);
        for (int i = 0; i < charts.size(); i++) {
            Graphics2D cell =
                    (Graphics2D) graphics.create(i % inRow * width, Math.floorDiv(i, inRow) * height, width, height);
            charts.get(i).paint(cell, width, height);
            cell.dispose();
        }
        graphics.dispose();
        return image;
    }

    /**
     * Paints the inside of the first chart, for a page of contents.
     *
     * @param look the page
     * @return the bytes of a PNG file with two pixels for each CSS pixel
     * @throws IOException if the picture cannot be encoded
     */
    public byte[] cover(Look look) throws IOException {
        AxesChart<?, ?> chart = charts.get(0);
        AxesChartStyler styler = chart.getStyler();
        boolean hasLegend = styler.isLegendVisible();
        ChartStyle style = new ChartStyle(chart, look, 1, 1);
        style.color();
        styler.setAxisTicksVisible(false).setAxisTitlesVisible(false);
        styler.setChartTitleVisible(false).setLegendVisible(false).setChartPadding(4);
        BufferedImage image = new BufferedImage(SCALE * COVER_WIDTH, SCALE * COVER_HEIGHT, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.scale(SCALE, SCALE);
        graphics.setColor(look.page());
        graphics.fillRect(0, 0, COVER_WIDTH, COVER_HEIGHT);
        int width = style.isSquare() ? COVER_HEIGHT : COVER_WIDTH;
        graphics.translate(Math.floorDiv(COVER_WIDTH - width, 2), 0);
        chart.paint(graphics, width, COVER_HEIGHT);
        graphics.dispose();
        styler.setAxisTicksVisible(true).setAxisTitlesVisible(true);
        styler.setChartTitleVisible(true).setLegendVisible(hasLegend);
        return png(image);
    }

    private static byte[] png(BufferedImage image) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ImageIO.write(image, "png", out);
        return out.toByteArray();
    }

    /**
     * Paints the picture as a PNG file, once for each page.
     *
     * @param look the page
     * @return the bytes of the file
     * @throws IOException if the picture cannot be encoded
     */
    public byte[] png(Look look) throws IOException {
        if (!files.containsKey(look)) {
            files.put(look, png(paint(look)));
        }
        return files.get(look);
    }
}
