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
import org.knowm.xchart.internal.series.Series;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;

/** The colors, the fonts and the size of a chart of lines or columns that XChart paints. */
final class ChartStyle {

    private static final FontRenderContext FONTS = new FontRenderContext(null, true, true);

    /** The width of a chart in CSS pixels. */
    static final int WIDTH = 800;

    private static final Color TEXT = new Color(0x1B1F24);
    private static final Color LINE = new Color(0xD0D7DE);

    private static final int LEGEND_PADDING = 10;
    private static final String POWER = "0E0";
    private static final String WHOLE = "#,##0";
    private static final String NUMBER = "#,##0.######";

    private final AxesChart<?, ?> chart;
    private final AxesChartStyler styler;
    private final double aspect;
    private final Font font;

    ChartStyle(AxesChart<?, ?> chart, double aspect) {
        this.chart = chart;
        this.aspect = aspect;
        styler = chart.getStyler();
        font = new Font(Font.SANS_SERIF, Font.PLAIN, 13);
    }

    /** Styles the chart, and returns the height that it needs in CSS pixels. */
    int apply() {
        color();
        placeLegend();
        int height = (int) Math.round(WIDTH * aspect);
        styler.setChartPadding(10)
                .setChartTitleFont(fitted(font.deriveFont(Font.BOLD, font.getSize() + 1f), chart.getTitle(), WIDTH))
                .setLegendFont(font)
                .setMarkerSize(8)
                .setLocale(Locale.ROOT);
        styler.setAxisTickLabelsFont(font)
                .setAxisTitleFont(
                        fitted(fitted(font, chart.getXAxisTitle(), 0.8 * WIDTH), chart.getYAxisTitle(), 0.65 * height))
                .setXAxisTickMarkSpacingHint(5 * font.getSize())
                .setYAxisTickMarkSpacingHint(3 * font.getSize())
                .setPlotMargin(4)
                .setAxisTitlePadding(6);
        // XChart leaves out the zero of 0.5 otherwise; equal labels make it choose another step
        styler.setXAxisDecimalPattern(!styler.isXAxisLogarithmic() && isWholeX() ? WHOLE : NUMBER);
        styler.setYAxisDecimalPattern(styler.isYAxisLogarithmic() && leastY() < 1e-5 ? POWER : NUMBER);
        if (chart instanceof XYChart xy) {
            roundTicks(xy);
        }
        // XChart uses the size of the title of the last painting
        Graphics2D unused = new BufferedImage(1, 1, BufferedImage.TYPE_INT_RGB).createGraphics();
        chart.paint(unused, WIDTH, height);
        unused.dispose();
        return height;
    }

    private void color() {
        styler.setChartBackgroundColor(Color.WHITE)
                .setPlotBackgroundColor(Color.WHITE)
                .setLegendBackgroundColor(Color.WHITE)
                .setLegendBorderColor(Color.WHITE)
                .setPlotBorderColor(LINE)
                .setChartFontColor(TEXT)
                .setChartTitleFontColor(TEXT);
        styler.setAxisTickLabelsColor(TEXT)
                .setAxisTickMarksColor(LINE)
                .setPlotGridLinesColor(LINE)
                .setErrorBarsColor(TEXT);
    }

    private void placeLegend() {
        styler.setLegendPadding(LEGEND_PADDING).setLegendSeriesLineLength(2 * font.getSize());
        double length = labels().mapToDouble(label -> length(font, label) + 2.0 * font.getSize() + 2 * LEGEND_PADDING)
                .sum();
        boolean fits = length < WIDTH - 20;
        styler.setLegendPosition(fits ? LegendPosition.OutsideS : LegendPosition.OutsideE)
                .setLegendLayout(fits ? LegendLayout.Horizontal : LegendLayout.Vertical);
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
                && xy.getSeriesCollection().stream()
                        .flatMapToDouble(series -> Arrays.stream(series.getXData()))
                        .allMatch(x -> x == Math.rint(x));
    }
}
