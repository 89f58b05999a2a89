package io.github.djlpositional.examples;

import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.font.FontRenderContext;
import java.awt.image.BufferedImage;
import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.Locale;
import java.util.stream.Stream;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.internal.series.MarkerSeries;
import org.knowm.xchart.internal.series.Series;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.HeatMapStyler;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The colors, the fonts and the size of one chart in a picture. */
final class ChartStyle {

    private static final FontRenderContext FONTS = new FontRenderContext(null, true, true);

    /** The greatest width of a chart with the same scale on both axes, which would be too high for a screen. */
    private static final int SQUARE_WIDTH = 480;

    private static final int LEGEND_PADDING = 10;
    private static final String POWER = "0E0";
    private static final String WHOLE = "#,##0";
    private static final String NUMBER = "#,##0.######";

    private final AxesChart<?, ?> chart;
    private final AxesChartStyler styler;
    private final Look look;
    private final int inRow;
    private final double aspect;
    private final int width;
    private final Font font;

    ChartStyle(AxesChart<?, ?> chart, Look look, int inRow, double aspect) {
        this.chart = chart;
        this.look = look;
        this.inRow = inRow;
        this.aspect = aspect;
        styler = chart.getStyler();
        int available = Math.floorDiv(look.width(), inRow);
        width = isSquare() ? Math.min(available, SQUARE_WIDTH) : available;
        font = new Font(Font.SANS_SERIF, Font.PLAIN, width < 200 ? 9 : width < 400 ? 11 : 13);
    }

    /** Returns the width in CSS pixels. */
    int width() {
        return width;
    }

    /** Styles the chart, and returns the height that it needs in CSS pixels. */
    int apply() {
        color();
        double least = inRow > 1 ? 0.85 : look.isNarrow() ? 0.75 : 0;
        int height = (int) Math.round(width * Math.max(aspect, least)) + placeLegend();
        styler.setChartPadding(10)
                .setChartTitleFont(fitted(font.deriveFont(Font.BOLD, font.getSize() + 1f), chart.getTitle(), width))
                .setLegendFont(font)
                .setAnnotationTextFont(font)
                .setMarkerSize(width < 400 ? 5 : 8)
                .setLocale(Locale.ROOT);
        styler.setAxisTickLabelsFont(font)
                .setAxisTitleFont(
                        fitted(fitted(font, chart.getXAxisTitle(), 0.8 * width), chart.getYAxisTitle(), 0.65 * height))
                .setXAxisTickMarkSpacingHint(5 * font.getSize())
                .setYAxisTickMarkSpacingHint((isSquare() ? 5 : 3) * font.getSize())
                .setPlotMargin(4)
                .setAxisTitlePadding(6);
        // XChart leaves out the zero of 0.5 otherwise; equal labels make it choose another step
        styler.setXAxisDecimalPattern(!styler.isXAxisLogarithmic() && isWholeX() ? WHOLE : NUMBER);
        styler.setYAxisDecimalPattern(styler.isYAxisLogarithmic() && leastY() < 1e-5 ? POWER : NUMBER);
        if (chart instanceof XYChart xy) {
            roundTicks(xy);
        }
        // XChart uses the size of the title of the last painting, and another height may change the width of labels
        Graphics2D unused = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB).createGraphics();
        for (int i = 0; i < 3; i++) {
            chart.paint(unused, width, height);
            height += isSquare() ? missingHeight() : 0;
        }
        unused.dispose();
        return height;
    }

    /** Colors the chart for the page. */
    void color() {
        styler.setChartBackgroundColor(look.page())
                .setPlotBackgroundColor(look.page())
                .setLegendBackgroundColor(look.page())
                .setLegendBorderColor(look.page())
                .setPlotBorderColor(look.line())
                .setChartFontColor(look.text())
                .setChartTitleFontColor(look.text())
                .setAnnotationTextFontColor(look.text());
        styler.setAxisTickLabelsColor(look.text())
                .setAxisTickMarksColor(look.line())
                .setPlotGridLinesColor(look.line())
                .setErrorBarsColor(look.text());
        styler.setSeriesColors(
                Arrays.stream(styler.getSeriesColors()).map(look::of).toArray(Color[]::new));
        for (Series series : chart.getSeriesCollection()) {
            // null before the first painting
            if (series instanceof MarkerSeries line && line.getLineColor() != null) {
                line.setLineColor(look.of(line.getLineColor()));
                line.setFillColor(look.of(line.getFillColor()));
                line.setMarkerColor(look.of(line.getMarkerColor()));
            }
        }
        if (styler instanceof HeatMapStyler map) {
            map.setRangeColors(Arrays.stream(map.getRangeColors()).map(look::of).toArray(Color[]::new));
        }
    }

    /** Places the legend, and returns the additional height that it needs. */
    private int placeLegend() {
        if (!styler.isLegendVisible()) {
            return 0;
        }
        styler.setLegendPadding(LEGEND_PADDING).setLegendSeriesLineLength(2 * font.getSize());
        if (styler instanceof HeatMapStyler map) {
            boolean isBeside = width >= 400;
            map.setLegendPosition(isBeside ? LegendPosition.OutsideE : LegendPosition.OutsideS);
            map.setLegendLayout(isBeside ? LegendLayout.Vertical : LegendLayout.Horizontal);
            map.setGradientColorColumnWeight(isBeside ? 20 : 6)
                    .setGradientColorColumnHeight(isBeside ? 200 : Math.floorDiv(width, 2));
            return isBeside ? 0 : 4 * font.getSize();
        }
        double length = labels().mapToDouble(label -> length(font, label) + 2.0 * font.getSize() + 2 * LEGEND_PADDING)
                .sum();
        boolean fits = length < width - 20;
        boolean isBeside = !fits && width >= 400 && !isSquare();
        styler.setLegendPosition(isBeside ? LegendPosition.OutsideE : LegendPosition.OutsideS)
                .setLegendLayout(fits ? LegendLayout.Horizontal : LegendLayout.Vertical);
        return fits || isBeside ? 0 : (int) labels().count() * (font.getSize() + LEGEND_PADDING);
    }

    private Stream<String> labels() {
        return chart.getSeriesCollection().stream().map(Series::getLabel);
    }

    private static double length(Font font, String text) {
        return font.getStringBounds(text, FONTS).getWidth();
    }

    /** Returns a font that is small enough for a text. */
    private static Font fitted(Font font, String text, double available) {
        return font.deriveFont((float) (font.getSize2D() * Math.min(1, available / length(font, text))));
    }

    /**
     * XChart puts ticks at every few values of x if those are at equal distances: 0, 7, 14 for 50 positions. With an
     * axis that begins a little before the first value it chooses round numbers.
     */
    private static void roundTicks(XYChart chart) {
        DoubleSummaryStatistics x = chart.getSeriesCollection().stream()
                .flatMapToDouble(series -> Arrays.stream(series.getXData()))
                .summaryStatistics();
        if (chart.getStyler().getXAxisMin() == null && !chart.getStyler().isXAxisLogarithmic()) {
            chart.getStyler().setXAxisMin(x.getMin() - (x.getMax() - x.getMin()) / 1000);
        }
    }

    private double leastY() {
        return chart.getSeriesCollection().stream()
                .flatMapToDouble(series -> Arrays.stream(((XYSeries) series).getYData()))
                .min()
                .orElseThrow();
    }

    /** Returns true if all values of x are whole numbers, such as positions. */
    private boolean isWholeX() {
        return chart instanceof XYChart xy
                && !isSquare()
                && xy.getSeriesCollection().stream()
                        .flatMapToDouble(series -> Arrays.stream(series.getXData()))
                        .allMatch(x -> x == Math.rint(x));
    }

    /** Returns true if both axes have the same fixed length. */
    boolean isSquare() {
        Double left = styler.getXAxisMin();
        Double right = styler.getXAxisMax();
        Double bottom = styler.getYAxisMin();
        Double top = styler.getYAxisMax();
        return Stream.of(left, right, bottom, top).allMatch(limit -> limit != null)
                && Math.abs((right - left) - (top - bottom)) < 1e-9;
    }

    /** Returns the difference between the width and the height of the inside of the chart. */
    private int missingHeight() {
        double across =
                chart.getScreenXFromChart(styler.getXAxisMax()) - chart.getScreenXFromChart(styler.getXAxisMin());
        double down = chart.getScreenYFromChart(styler.getYAxisMin()) - chart.getScreenYFromChart(styler.getYAxisMax());
        return (int) Math.round(across - down);
    }
}
