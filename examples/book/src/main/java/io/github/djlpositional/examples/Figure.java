package io.github.djlpositional.examples;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * One picture of one or several charts as SVG.
 *
 * @param columns the number of charts side by side on a large screen
 * @param charts at least one, all of the same kind
 */
public record Figure(int columns, List<? extends Chart> charts) {

    private static final double WIDE = 480;
    private static final double SMALL = 240;

    /** The space between charts of a file. */
    private static final double GAP = 16;

    /** The colors of a file; the pages of the book have the same variables. */
    private static final String STYLE = """
            <style>
            .charts-file { color: #1b1f24; --page: #ffffff; --line: #d0d7de; --line-0: #0072b2; --line-1: #d55e00;
              --line-2: #00815d; --line-3: #b5548a; --line-4: #b87f00; --line-5: #2f93cc; --line-7: #8c8c8c }
            @media (prefers-color-scheme: dark) {
              .charts-file { color: #e4e7ea; --page: #0d1117; --line: #3a4149; --line-0: #4ea3e0; --line-1: #f0803c;
                --line-2: #2fbf95; --line-3: #d98fb8; --line-4: #e6a817; --line-5: #56b4e9 }
            }
            </style>
            <rect width="100%" height="100%" fill="var(--page)"/>
            """;

    /** An element with a color that is a variable. */
    private static final Pattern TAG = Pattern.compile("<[^<>]*\"var\\([^<>]*>");

    private static final Pattern VARIABLE = Pattern.compile("(fill|stroke)=\"var\\((--[a-z0-9-]+)\\)\"");

    /** Returns false if a phone shows each chart in its whole width, and a screen at most two beside each other. */
    private boolean isSmall() {
        return columns > 2 || (columns == 2 && charts.size() > 3);
    }

    private Svg draw(Chart chart) {
        return chart.draw(isSmall() ? SMALL : WIDE);
    }

    private static String label(Chart chart) {
        return " role=\"img\" aria-label=\"" + Svg.escaped(chart.title()) + "\"";
    }

    /**
     * Returns the charts for a page, one element for each. The style sheet arranges them and chooses their colors and
     * the size of their letters.
     */
    public String html() {
        String classes = (isSmall() ? " small" : columns > 1 ? " pair" : "") + (charts.size() <= 3 ? " few" : "");
        return charts.stream()
                .map(chart -> {
                    Svg svg = draw(chart);
                    boolean isHigh = svg.height() > 0.95 * svg.width;
                    return svg.element(label(chart) + (isHigh ? " class=\"high\"" : "")) + "\n";
                })
                .collect(Collectors.joining(
                        "",
                        "<div class=\"charts%s\" style=\"--columns: %d\">\n".formatted(classes, columns),
                        "</div>\n"));
    }

    /** Returns a document with its own colors, which are dark where the reader prefers it. */
    public String svg() {
        StringBuilder content = new StringBuilder(STYLE);
        double width = 0;
        double top = GAP;
        for (int row = 0; row < charts.size(); row += columns) {
            double left = GAP;
            double height = 0;
            for (Chart chart : charts.subList(row, Math.min(row + columns, charts.size()))) {
                Svg svg = draw(chart);
                Chart.Frame frame = new Chart.Frame(left, top, svg.width, svg.height());
                content.append(svg.element(label(chart) + " " + frame.attributes()));
                left += svg.width + GAP;
                height = Math.max(height, svg.height());
            }
            top += height + GAP;
            width = Math.max(width, left);
        }
        return Svg.format(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"charts-file\" viewBox=\"0 0 %1$s %2$s\""
                        + " width=\"%1$s\" height=\"%2$s\" font-size=\"%3$d\">\n%4$s</svg>\n",
                width, top, isSmall() ? 13 : 14, withLiterals(content));
    }

    /** Adds the light color before each variable, for viewers without variables, which would draw black. */
    private static String withLiterals(CharSequence content) {
        return TAG.matcher(content).replaceAll(tag -> {
            List<String> style = new ArrayList<>();
            String literal = VARIABLE.matcher(tag.group()).replaceAll(match -> {
                style.add(match.group(1) + ": var(" + match.group(2) + ")");
                int value =
                        STYLE.indexOf(match.group(2) + ": ") + match.group(2).length() + 2;
                return match.group(1) + "=\"" + STYLE.substring(value, value + "#000000".length()) + "\"";
            });
            return literal.replaceFirst("(?=/?>$)", " style=\"" + String.join("; ", style) + "\"");
        });
    }

    /** Returns the inside of the first chart, for a page of contents. */
    public String cover() {
        return charts.get(0).cover().element(" aria-hidden=\"true\"");
    }

    /** Replaces a file by the document. */
    public void save(Path file) throws IOException {
        AtomicFile.write(file, out -> out.write(svg().getBytes(StandardCharsets.UTF_8)));
    }
}
