package org.knowm.xchart.internal.chartpart;

import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.List;

/** The labels of the axes of a chart as it was last painted, which only this package of XChart can read. */
public final class PaintedAxes {

    /**
     * A label of an axis.
     *
     * @param label its text, not empty
     * @param pixel its place from the left or the top of the chart
     */
    public record Tick(String label, double pixel) {}

    private PaintedAxes() {}

    /** Returns the labels of the horizontal axis. */
    public static List<Tick> x(AxesChart<?, ?> chart) {
        Axis_<?, ?> axis = chart.axisPair.getXAxis();
        Rectangle2D bounds = axis.getBounds();
        return ticks(axis, 1, bounds.getX());
    }

    /** Returns the labels of the vertical axis. */
    public static List<Tick> y(AxesChart<?, ?> chart) {
        Axis_<?, ?> axis = chart.axisPair.getYAxis();
        Rectangle2D bounds = axis.getBounds();
        return ticks(axis, -1, bounds.getY() + bounds.getHeight());
    }

    private static List<Tick> ticks(Axis_<?, ?> axis, int direction, double origin) {
        List<String> labels = axis.getAxisTickCalculator().getTickLabels();
        List<Double> locations = axis.getAxisTickCalculator().getTickLocations();
        List<Tick> ticks = new ArrayList<>();
        for (int i = 0; i < labels.size(); i++) {
            if (!labels.get(i).isBlank()) {
                ticks.add(new Tick(labels.get(i), origin + direction * locations.get(i)));
            }
        }
        return ticks;
    }
}
