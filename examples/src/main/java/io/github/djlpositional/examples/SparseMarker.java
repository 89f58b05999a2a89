package io.github.djlpositional.examples;

import java.awt.Graphics2D;
import org.knowm.xchart.style.markers.Marker;

/** A symbol at some of the points of a line, so that lines differ without colors too. */
final class SparseMarker extends Marker {

    /** The least distance between two symbols of a line in CSS pixels. */
    private static final double DISTANCE = 60;

    private final Marker symbol;
    private double lastX = Double.POSITIVE_INFINITY;
    private double lastY;

    SparseMarker(Marker symbol) {
        this.symbol = symbol;
    }

    Marker symbol() {
        return symbol;
    }

    /** Called for each point from left to right, and then for the legend. */
    @Override
    public void paint(Graphics2D graphics, double x, double y, int size) {
        if (x < lastX || Math.hypot(x - lastX, y - lastY) >= DISTANCE) {
            symbol.paint(graphics, x, y, size);
            lastX = x;
            lastY = y;
        }
    }
}
