package io.github.djlpositional.examples;

import static io.github.djlpositional.examples.Svg.CENTRAL;
import static io.github.djlpositional.examples.Svg.END;
import static io.github.djlpositional.examples.Svg.LETTER;
import static io.github.djlpositional.examples.Svg.LINE;
import static io.github.djlpositional.examples.Svg.MIDDLE;

import io.github.djlpositional.examples.Axis.Tick;
import java.util.Comparator;
import java.util.List;

/** A chart with the titles of its axes; a {@link Figure} draws it. */
public abstract sealed class Chart permits LineChart, HeatMapChart {

    private static final double COVER_WIDTH = 180;
    private static final double COVER_HEIGHT = 110;

    private final String title;
    private final String xTitle;
    private final String yTitle;
    private boolean hasLegend = true;

    Chart(String title, String xTitle, String yTitle) {
        this.title = title;
        this.xTitle = xTitle;
        this.yTitle = yTitle;
    }

    public final String title() {
        return title;
    }

    /** Leaves out the names of the lines, or the scale of the colors. */
    public final void hideLegend() {
        hasLegend = false;
    }

    /** The inside of the axes. */
    record Frame(double left, double top, double width, double height) {

        double x(double place) {
            return left + width * place;
        }

        double y(double place) {
            return top + height * (1 - place);
        }

        String attributes() {
            return Svg.format("x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"", left, top, width, height);
        }
    }

    /** A name, and what it stands for, drawn around (12, 0). */
    record Legend(String mark, String name) {}

    /** A name at the right end of a line, at a place from 0 to 1 of the height. */
    record EndLabel(String name, double place, String color) {}

    /** Returns true if both axes have the same scale. */
    abstract boolean isSquare();

    /** Returns the smallest height of the axes. */
    abstract double smallestHeight();

    abstract List<Tick> rows(double height);

    abstract List<Tick> columns(double width);

    abstract void drawInside(Svg svg, Frame frame);

    abstract List<Legend> legend();

    /** Returns names that are beside the ends of their lines, or none if they need more than a width. */
    abstract List<EndLabel> endLabels(double maxWidth);

    final Svg draw(double wholeWidth) {
        Svg svg = new Svg(wholeWidth);
        double end = svg.paragraph(title, 0, 0, 0.88 * wholeWidth, " font-weight=\"bold\"");
        double top = svg.paragraph(yTitle, 0, end, wholeWidth, "") + 0.5 * LETTER;
        double height = isSquare() ? 0.8 * wholeWidth : Math.max(smallestHeight(), Math.max(180, 0.55 * wholeWidth));
        List<Tick> rows = rows(height);
        double left = 8 + longest(rows);
        List<Tick> columns = columns(wholeWidth - left);
        List<EndLabel> ends = hasLegend ? endLabels(0.3 * wholeWidth) : List.of();
        double longestEnd = ends.stream()
                .mapToDouble(label -> 10 + Svg.length(label.name))
                .max()
                .orElse(0);
        // half of the last label may be beyond the axis
        double width = wholeWidth - left - Math.max(longestEnd, longest(columns) / 2);
        Frame frame = new Frame(left, top, width, isSquare() ? width : height);
        for (Tick row : rows) {
            double y = frame.y(row.place());
            svg.add("<path d=\"M%s %sh%s\" stroke=\"var(--line)\"/>", left, y, width);
            svg.text(left - 6, y, row.label(), END + CENTRAL);
        }
        double below = frame.y(0) + 0.3 * LETTER;
        for (Tick column : columns) {
            double x = frame.x(column.place());
            svg.add("<path d=\"M%s %sv5\" stroke=\"var(--line)\"/>", x, frame.y(0));
            svg.text(x, below + LETTER, column.label(), MIDDLE);
        }
        drawInside(svg, frame);
        drawEnds(svg, frame, ends);
        end = svg.paragraph(xTitle, frame.x(0.5), below + LINE, wholeWidth, MIDDLE);
        if (hasLegend) {
            List<Legend> others = legend().stream()
                    .filter(entry -> ends.stream().noneMatch(label -> label.name.equals(entry.name)))
                    .toList();
            end = others.isEmpty() ? end : drawLegend(svg, end + 0.3 * LETTER, others);
        }
        return svg.ofHeight(Math.ceil(end + 0.3 * LETTER));
    }

    private static double longest(List<Tick> ticks) {
        return ticks.stream()
                .mapToDouble(tick -> Svg.length(tick.label()))
                .max()
                .orElse(0);
    }

    /** Draws the names beside the ends of their lines, from the highest down, without overlap. */
    private static void drawEnds(Svg svg, Frame frame, List<EndLabel> ends) {
        List<EndLabel> downwards = ends.stream()
                .sorted(Comparator.comparingDouble(label -> -label.place))
                .toList();
        double below = frame.y(0) - LINE * (downwards.size() - 1);
        double next = Double.NEGATIVE_INFINITY;
        for (EndLabel label : downwards) {
            // space for the names that follow
            double y = Math.max(next, Math.min(below, frame.y(label.place)));
            svg.text(frame.x(1) + 8, y, label.name, CENTRAL + " style=\"fill: " + label.color + "\"");
            next = y + LINE;
            below += LINE;
        }
    }

    /** Draws the names, as many in a row as fit. */
    private static double drawLegend(Svg svg, double start, List<Legend> legend) {
        double x = 0;
        double y = start;
        for (Legend entry : legend) {
            double needed = 34 + Svg.length(entry.name);
            if (x > 0 && x + needed > svg.width) {
                x = 0;
                y += LINE;
            }
            double middle = y + 0.65 * LETTER;
            svg.add("<g transform=\"translate(%s %s)\">%s</g>", x, middle, entry.mark);
            svg.text(x + 30, middle, entry.name, CENTRAL);
            x += needed + LETTER;
        }
        return y + LINE;
    }

    /** Draws the inside, without text. */
    final Svg cover() {
        Svg svg = new Svg(COVER_WIDTH).ofHeight(COVER_HEIGHT);
        double height = COVER_HEIGHT - 8;
        double width = isSquare() ? height : COVER_WIDTH - 8;
        drawInside(svg, new Frame((COVER_WIDTH - width) / 2, 4, width, height));
        return svg;
    }
}
