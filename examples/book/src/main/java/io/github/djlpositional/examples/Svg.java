package io.github.djlpositional.examples;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A drawing: text is text, and colors are variables of the page. There is space for letters of {@link #LETTER}, which a
 * page may make smaller.
 */
final class Svg {

    /** The height of the largest letters. */
    static final double LETTER = 17;

    static final double LINE = 1.3 * LETTER;
    static final String MIDDLE = " text-anchor=\"middle\"";
    static final String END = " text-anchor=\"end\"";

    /** Text whose middle is at its place, whatever the size of its letters. */
    static final String CENTRAL = " dominant-baseline=\"central\"";

    final double width;
    private double height;
    private final StringBuilder content = new StringBuilder();

    Svg(double width) {
        this.width = width;
    }

    /** Sets the height of a drawing that is done. */
    Svg ofHeight(double newHeight) {
        height = newHeight;
        return this;
    }

    double height() {
        return height;
    }

    /** Returns the drawing as an element with more attributes. */
    String element(String attributes) {
        return format(
                "<svg viewBox=\"0 0 %s %s\" font-family=\"system-ui, sans-serif\"%s>%s</svg>",
                width, height, attributes, content);
    }

    /** Formats elements; a number has one decimal at most. */
    static String format(String format, Object... values) {
        Object[] rounded = Arrays.stream(values)
                .map(value -> value instanceof Double number
                        ? String.format(Locale.ROOT, "%.1f", number).replaceFirst("\\.0$", "")
                        : value)
                .toArray();
        return String.format(Locale.ROOT, format, rounded);
    }

    void add(String format, Object... values) {
        content.append(format(format, values));
    }

    void text(double x, double y, String text, String attributes) {
        add("<text x=\"%s\" y=\"%s\" fill=\"currentColor\"%s>%s</text>", x, y, attributes, escaped(text));
    }

    /** Adds words in as many lines as they need, and returns their lower end. */
    double paragraph(String text, double x, double y, double available, String attributes) {
        List<String> lines = new ArrayList<>();
        for (String word : text.split(" ", -1)) {
            int last = lines.size() - 1;
            if (last >= 0 && length(lines.get(last) + " " + word) <= available) {
                lines.set(last, lines.get(last) + " " + word);
            } else {
                lines.add(word);
            }
        }
        for (int i = 0; i < lines.size(); i++) {
            text(x, y + i * LINE + LETTER, lines.get(i), attributes);
        }
        return y + lines.size() * LINE;
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
    }

    /** Returns about the length of a text in DejaVu Sans, the widest of the fonts of usual systems. */
    static double length(String text) {
        return LETTER
                * text.chars()
                        .mapToDouble(c ->
                                "fijlrtI.,:;'|!()- ".indexOf(c) >= 0 ? 0.36 : "mwMW−".indexOf(c) >= 0 ? 0.88 : 0.63)
                        .sum();
    }
}
