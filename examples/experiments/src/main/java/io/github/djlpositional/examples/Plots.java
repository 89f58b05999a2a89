package io.github.djlpositional.examples;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.geom.Ellipse2D;
import java.awt.geom.Rectangle2D;
import java.awt.image.BufferedImage;
import java.text.NumberFormat;
import java.util.List;
import java.util.Locale;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import org.jfree.chart.ChartRenderingInfo;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.annotations.XYShapeAnnotation;
import org.jfree.chart.annotations.XYTextAnnotation;
import org.jfree.chart.axis.AxisLocation;
import org.jfree.chart.axis.LogAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.axis.SymbolAxis;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.block.BlockBorder;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.LookupPaintScale;
import org.jfree.chart.renderer.xy.XYBlockRenderer;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.title.PaintScaleLegend;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.RectangleInsets;
import org.jfree.data.xy.DefaultXYZDataset;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;

/** Charts: those of JFreeChart, in one style. */
public final class Plots {

    /** Colors that differ for color-blind readers too. */
    private static final List<Color> COLORS = IntStream.of(
                    0x0072b2, 0xd55e00, 0x00815d, 0xb5548a, 0xb87f00, 0x2f93cc, 0x1b1f24, 0x8c8c8c)
            .mapToObj(Color::new)
            .toList();

    private static final Color BLACK = COLORS.get(6);
    private static final Color GRID = new Color(0xd0d7de);
    private static final Color BLUE = new Color(0x2a7fc8);
    private static final Color RED = new Color(0xd03a3a);
    private static final Font FONT = new Font(Font.SANS_SERIF, Font.PLAIN, 13);

    /** The width of charts with equal scales, and of others. */
    private static final int NARROW = 330;

    private static final int WIDE = 620;

    /** The pixels of a picture for each of a chart, for screens with small pixels. */
    private static final int SCALE = 2;

    /** The colors of a heat map on each side of 0. */
    private static final int SHADES = 50;

    private Plots() {}

    /** The values of a heat map. */
    @FunctionalInterface
    public interface Cells {
        double value(int row, int column);
    }

    /** Returns the values of a function of the numbers 0 … count - 1. */
    public static double[] each(int count, IntToDoubleFunction function) {
        return IntStream.range(0, count).mapToDouble(function).toArray();
    }

    /** Creates a chart without lines. */
    public static JFreeChart lines(String title, String xTitle, String yTitle) {
        return lines(title, numbers(xTitle), numbers(yTitle));
    }

    /** Creates a chart in which both axes have the same scale and reach equally far from a center. */
    public static JFreeChart plane(String title, String xTitle, String yTitle, double x, double y, double reach) {
        JFreeChart chart = lines(title, xTitle, yTitle);
        chart.getXYPlot().getDomainAxis().setRange(x - reach, x + reach);
        chart.getXYPlot().getRangeAxis().setRange(y - reach, y + reach);
        return chart;
    }

    /** Creates a chart with a row for each name: 0 is at the top, 1 below it. */
    public static JFreeChart rows(String title, String xTitle, List<String> names) {
        ValueAxis rows = names("", names);
        rows.setInverted(true);
        return lines(title, numbers(xTitle), rows);
    }

    private static JFreeChart lines(String title, ValueAxis x, ValueAxis y) {
        XYPlot plot = new XYPlot(new XYSeriesCollection(), x, y, new XYLineAndShapeRenderer(true, false));
        JFreeChart chart = chart(title, plot);
        chart.getLegend().setItemFont(FONT);
        chart.getLegend().setItemPaint(BLACK);
        chart.getLegend().setFrame(BlockBorder.NONE);
        return chart;
    }

    /** Creates a heat map with numbered rows, from the top, and columns, from the left. */
    public static JFreeChart heatMap(
            String title,
            String xTitle,
            String yTitle,
            double smallest,
            double largest,
            int rows,
            int columns,
            Cells cells) {
        ValueAxis x = integers(xTitle, columns);
        ValueAxis y = integers(yTitle, rows);
        return heatMap(title, x, y, smallest, largest, rows, columns, cells);
    }

    /** Creates a heat map with the names of rows, from the top, and of columns, from the left. */
    public static JFreeChart heatMap(
            String title,
            String xTitle,
            String yTitle,
            double smallest,
            double largest,
            List<String> rows,
            List<String> columns,
            Cells cells) {
        ValueAxis x = names(xTitle, columns);
        return heatMap(title, x, names(yTitle, rows), smallest, largest, rows.size(), columns.size(), cells);
    }

    private static JFreeChart heatMap(
            String title,
            ValueAxis x,
            ValueAxis y,
            double smallest,
            double largest,
            int rows,
            int columns,
            Cells cells) {
        double[] xs = each(rows * columns, i -> i % columns);
        double[] ys = each(rows * columns, i -> Math.floorDiv(i, columns));
        double[] values = each(rows * columns, i -> {
            double value = cells.value(i / columns, i % columns);
            return Math.min(Math.max(value, smallest), largest);
        });
        DefaultXYZDataset data = new DefaultXYZDataset();
        data.addSeries(title, new double[][] {xs, ys, values});
        XYBlockRenderer blocks = new XYBlockRenderer();
        LookupPaintScale colors = colors(smallest, largest);
        blocks.setPaintScale(colors);
        y.setInverted(true);
        JFreeChart chart = chart(title, new XYPlot(data, x, y, blocks));
        chart.removeLegend();
        NumberAxis scale = numbers("");
        scale.setTickLabelInsets(new RectangleInsets(2, 14, 2, 14));
        PaintScaleLegend legend = new PaintScaleLegend(colors, scale);
        legend.setPosition(RectangleEdge.BOTTOM);
        legend.setAxisLocation(AxisLocation.BOTTOM_OR_LEFT);
        legend.setStripWidth(10);
        legend.setSubdivisionCount(2 * SHADES);
        legend.setBackgroundPaint(Color.WHITE);
        legend.setMargin(new RectangleInsets(8, 60, 4, 40));
        chart.addSubtitle(legend);
        return chart;
    }

    /** Colors from white, or from blue if the smallest number is negative, to red. */
    private static LookupPaintScale colors(double smallest, double largest) {
        LookupPaintScale colors = new LookupPaintScale(smallest, largest, Color.WHITE);
        int first = smallest < 0 ? -SHADES : 0;
        for (int shade = first; shade <= SHADES; shade++) {
            double start = smallest + (largest - smallest) * (shade - first) / (SHADES + 1 - first);
            colors.add(start, mixed(shade < 0 ? BLUE : RED, Math.abs(shade) / (float) SHADES));
        }
        return colors;
    }

    /** Mixes a color with white. */
    private static Color mixed(Color color, float share) {
        float[] rgb = color.getRGBColorComponents(null);
        return new Color(1 - share * (1 - rgb[0]), 1 - share * (1 - rgb[1]), 1 - share * (1 - rgb[2]));
    }

    /** Adds a line. */
    public static void line(JFreeChart chart, String name, double[] xs, double[] ys) {
        XYSeriesCollection data = (XYSeriesCollection) chart.getXYPlot().getDataset();
        int number = data.getSeriesCount();
        XYSeries line = new XYSeries(name, false, true);
        for (int i = 0; i < xs.length; i++) {
            line.add(xs[i], ys[i]);
        }
        data.addSeries(line);
        XYLineAndShapeRenderer renderer = renderer(chart);
        renderer.setSeriesPaint(number, COLORS.get(number % COLORS.size()));
        renderer.setSeriesStroke(number, new BasicStroke(2, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND));
    }

    /** Adds a line of a function of the numbers 0 … count - 1. */
    public static void line(JFreeChart chart, String name, int count, IntToDoubleFunction function) {
        line(chart, name, each(count, i -> i), each(count, function));
    }

    /** Adds points without lines between them. */
    public static void points(JFreeChart chart, String name, double[] xs, double[] ys) {
        line(chart, name, xs, ys);
        int last = chart.getXYPlot().getSeriesCount() - 1;
        renderer(chart).setSeriesLinesVisible(last, false);
        renderer(chart).setSeriesShapesVisible(last, true);
        renderer(chart).setSeriesShape(last, new Ellipse2D.Double(-4, -4, 8, 8));
    }

    /** Adds points, each in a horizontal line from a smallest number to a largest one; NaN is left out. */
    public static void ranges(
            JFreeChart chart, String name, double[] xs, double[] ys, double[] smallest, double[] largest) {
        points(chart, name, xs, ys);
        double[] ends =
                each(3 * xs.length, i -> i % 3 == 0 ? smallest[i / 3] : i % 3 == 1 ? largest[i / 3] : Double.NaN);
        line(chart, name + ", range", ends, each(ends.length, i -> ys[i / 3]));
        int last = chart.getXYPlot().getSeriesCount() - 1;
        renderer(chart).setSeriesPaint(last, renderer(chart).getSeriesPaint(last - 1));
        renderer(chart).setSeriesVisibleInLegend(last, false);
    }

    /** Adds a dashed vertical line. */
    public static void mark(JFreeChart chart, String name, double at, double from, double to) {
        line(chart, name, new double[] {at, at}, new double[] {from, to});
        int last = chart.getXYPlot().getSeriesCount() - 1;
        renderer(chart).setSeriesPaint(last, BLACK);
        float[] dashes = {6, 4};
        renderer(chart)
                .setSeriesStroke(last, new BasicStroke(1, BasicStroke.CAP_BUTT, BasicStroke.JOIN_BEVEL, 1, dashes, 0));
    }

    /** Draws a frame around a cell of a heat map. */
    public static JFreeChart frame(JFreeChart heatMap, int row, int column) {
        Rectangle2D cell = new Rectangle2D.Double(column - 0.5, row - 0.5, 1, 1);
        heatMap.getXYPlot().addAnnotation(new XYShapeAnnotation(cell, new BasicStroke(2), BLACK));
        return heatMap;
    }

    /** Adds the circle around a center. */
    public static void circle(JFreeChart chart, String name, double centerX, double centerY, double radius) {
        double[] xs = each(181, i -> centerX + radius * Math.cos(Math.toRadians(2 * i)));
        line(chart, name, xs, each(181, i -> centerY + radius * Math.sin(Math.toRadians(2 * i))));
    }

    /** Adds hands, which are lines from a center to points, with a label for each beside its point; it may be empty. */
    public static void hands(
            JFreeChart chart, String name, double centerX, double centerY, double[] xs, double[] ys, String... labels) {
        double[] fromX = each(2 * xs.length, i -> i % 2 == 0 ? centerX : xs[i / 2]);
        line(chart, name, fromX, each(2 * ys.length, i -> i % 2 == 0 ? centerY : ys[i / 2]));
        for (int i = 0; i < labels.length; i++) {
            // outside of the circle, also if the label is long
            double across = 1.25 + 0.09 * Math.max(0, labels[i].length() - 2);
            double x = centerX + across * (xs[i] - centerX);
            XYTextAnnotation label = new XYTextAnnotation(labels[i], x, centerY + 1.25 * (ys[i] - centerY));
            label.setFont(FONT);
            label.setPaint(BLACK);
            chart.getXYPlot().addAnnotation(label);
        }
    }

    /** Gives a power of ten the same length everywhere on the horizontal axis. */
    public static void logarithmicX(JFreeChart chart) {
        chart.getXYPlot().setDomainAxis(logarithmic(chart.getXYPlot().getDomainAxis()));
    }

    /** Gives a power of ten the same length everywhere on the vertical axis. */
    public static void logarithmicY(JFreeChart chart) {
        chart.getXYPlot().setRangeAxis(logarithmic(chart.getXYPlot().getRangeAxis()));
    }

    private static ValueAxis logarithmic(ValueAxis axis) {
        LogAxis logarithmic = new LogAxis(axis.getLabel());
        logarithmic.setBaseSymbol("10");
        logarithmic.setTickUnit(new NumberTickUnit(1));
        return styled(logarithmic);
    }

    /** Returns numbers as names. */
    public static List<String> numbers(int first, int count) {
        return IntStream.range(first, first + count).mapToObj(Integer::toString).toList();
    }

    /** Returns words with their numbers before them. */
    public static List<String> numbered(List<String> words) {
        return IntStream.range(0, words.size())
                .mapToObj(i -> i + " " + words.get(i))
                .toList();
    }

    /** Draws a chart. */
    public static BufferedImage picture(JFreeChart chart) {
        XYPlot plot = chart.getXYPlot();
        double x = plot.getDomainAxis().getRange().getLength();
        double y = plot.getRangeAxis().getRange().getLength();
        boolean isSquare = x == y;
        boolean hasNames = plot.getRangeAxis() instanceof SymbolAxis;
        int width = isSquare && x < 50 ? NARROW + (hasNames ? 90 : 0) : WIDE;
        int height = hasNames ? (int) (120 + 24 * y) : 380;
        if (isSquare) {
            ChartRenderingInfo info = new ChartRenderingInfo();
            draw(chart, width, height, info);
            Rectangle2D inside = info.getPlotInfo().getDataArea();
            height += (int) Math.round(inside.getWidth() - inside.getHeight());
        }
        return draw(chart, width, height, null);
    }

    private static BufferedImage draw(JFreeChart chart, int width, int height, ChartRenderingInfo info) {
        BufferedImage picture = new BufferedImage(SCALE * width, SCALE * height, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = picture.createGraphics();
        graphics.scale(SCALE, SCALE);
        chart.draw(graphics, new Rectangle2D.Double(0, 0, width, height), info);
        graphics.dispose();
        return picture;
    }

    private static XYLineAndShapeRenderer renderer(JFreeChart chart) {
        return (XYLineAndShapeRenderer) chart.getXYPlot().getRenderer();
    }

    private static JFreeChart chart(String title, XYPlot plot) {
        JFreeChart chart = new JFreeChart(title, FONT.deriveFont(Font.BOLD), plot, true);
        chart.setBackgroundPaint(Color.WHITE);
        chart.setPadding(new RectangleInsets(8, 8, 8, 14));
        chart.getTitle().setPaint(BLACK);
        plot.setBackgroundPaint(Color.WHITE);
        plot.setOutlinePaint(GRID);
        plot.setRangeGridlinePaint(GRID);
        plot.setRangeGridlineStroke(new BasicStroke(1));
        plot.setDomainGridlinesVisible(false);
        plot.setAxisOffset(RectangleInsets.ZERO_INSETS);
        return chart;
    }

    private static NumberAxis numbers(String title) {
        NumberAxis axis = new NumberAxis(title);
        axis.setAutoRangeIncludesZero(false);
        axis.setNumberFormatOverride(NumberFormat.getInstance(Locale.ROOT));
        return styled(axis);
    }

    private static NumberAxis integers(String title, int count) {
        NumberAxis axis = numbers(title);
        axis.setStandardTickUnits(NumberAxis.createIntegerTickUnits());
        axis.setRange(-0.5, count - 0.5);
        return axis;
    }

    private static SymbolAxis names(String title, List<String> names) {
        SymbolAxis axis = new SymbolAxis(title, names.toArray(new String[0]));
        axis.setGridBandsVisible(false);
        return styled(axis);
    }

    private static <A extends ValueAxis> A styled(A axis) {
        axis.setLabelFont(FONT);
        axis.setTickLabelFont(FONT);
        axis.setLabelPaint(BLACK);
        axis.setTickLabelPaint(BLACK);
        axis.setAxisLineVisible(false);
        axis.setTickMarkPaint(GRID);
        return axis;
    }
}
