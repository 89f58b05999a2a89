package io.github.djlpositional.examples.sentences;

import io.github.djlpositional.examples.HeadlessDrawing;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;

/** A chart of lines with points. */
final class LineChart {

    private static final int DOTS_PER_INCH = 144;

    private final XYChart chart;

    LineChart(String title, String xTitle, String yTitle) {
        HeadlessDrawing.prepare();
        chart = new XYChartBuilder()
                .width(900)
                .height(520)
                .title(title)
                .xAxisTitle(xTitle)
                .yAxisTitle(yTitle)
                .build();
        chart.getStyler()
                .setSeriesColors(
                        new Color[] {new Color(0x7F7F7F), new Color(0x3F8FC4), new Color(0x12375C), new Color(0xD95F02)
                        })
                .setChartBackgroundColor(Color.WHITE)
                .setLegendPosition(LegendPosition.OutsideS)
                .setLegendLayout(LegendLayout.Horizontal);
    }

    /** Adds a line. */
    void add(String name, List<? extends Number> x, List<? extends Number> y) {
        chart.addSeries(name, x, y);
    }

    /** Saves the chart as PNG. */
    void save(Path file) throws IOException {
        BitmapEncoder.saveBitmapWithDPI(chart, file.toString(), BitmapEncoder.BitmapFormat.PNG, DOTS_PER_INCH);
    }
}
