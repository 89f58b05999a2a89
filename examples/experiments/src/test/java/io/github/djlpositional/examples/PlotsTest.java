package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.awt.Color;
import java.awt.Rectangle;
import java.awt.image.BufferedImage;
import java.util.List;
import org.jfree.chart.JFreeChart;
import org.junit.jupiter.api.Test;

/** What the pixels of a picture show. */
class PlotsTest {

    private static final Color BLUE = new Color(0x2a7fc8);
    private static final Color RED = new Color(0xd03a3a);

    /** The first color of lines. */
    private static final Color LINE = new Color(0x0072b2);

    /** Returns the smallest rectangle with all pixels of a color. */
    private static Rectangle bounds(BufferedImage picture, Color color) {
        Rectangle bounds = new Rectangle(-1, -1);
        for (int x = 0; x < picture.getWidth(); x++) {
            for (int y = 0; y < picture.getHeight(); y++) {
                if (picture.getRGB(x, y) == color.getRGB()) {
                    bounds.add(new Rectangle(x, y, 1, 1));
                }
            }
        }
        return bounds;
    }

    @Test
    void aCircleIsRound() {
        JFreeChart chart = Plots.plane("plane", "x", "y", 3, -2, 1.5);
        chart.removeLegend();
        Plots.circle(chart, "circle", 3, -2, 1);
        Rectangle circle = bounds(Plots.picture(chart), LINE);
        assertThat(circle.getWidth()).isGreaterThan(100).isCloseTo(circle.getHeight(), within(3.0));
    }

    @Test
    void aHeatMapHasItsFirstCellAtTheTopLeftAndIsBlueBelowZero() {
        double[][] cells = {{1, 0}, {0, -7}};
        JFreeChart chart = Plots.heatMap("map", "x", "y", -1, 1, 2, 2, (row, column) -> cells[row][column]);
        // without the scale
        chart.getSubtitle(0).setVisible(false);
        BufferedImage picture = Plots.picture(chart);
        Rectangle red = bounds(picture, RED);
        Rectangle blue = bounds(picture, BLUE);
        assertThat(red.getMaxX()).isCloseTo(blue.getMinX(), within(1.0));
        assertThat(red.getMaxY()).isCloseTo(blue.getMinY(), within(1.0));
        assertThat(red.getWidth()).isGreaterThan(100).isCloseTo(red.getHeight(), within(2.0));
    }

    @Test
    void rowsAreInOrderFromTheTop() {
        JFreeChart chart = Plots.rows("rows", "x", List.of("first", "second", "third"));
        double[] rows = {0};
        Plots.points(chart, "point", new double[] {5}, rows);
        chart.removeLegend();
        BufferedImage picture = Plots.picture(chart);
        assertThat(bounds(picture, LINE).getCenterY()).isLessThan(picture.getHeight() / 2.0);
    }
}
