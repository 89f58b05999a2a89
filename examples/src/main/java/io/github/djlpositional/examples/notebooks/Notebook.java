package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Drawing;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.knowm.xchart.ChartEncoder;
import org.knowm.xchart.internal.chartpart.Chart;

/** The output of one notebook: text, results and pictures, one after the other. */
record Notebook(PrintStream out, Path folder, Path model, List<Picture> pictures) {

    /** A picture that was drawn; its files are PNG and SVG. */
    record Picture(String file, String caption, Chart<?, ?> chart) {}

    Notebook(PrintStream out, Path folder, Path model) {
        this(out, folder, model, new ArrayList<>());
    }

    /** Prints a heading. */
    void title(String text) {
        out.printf("%n%s%n%s%n", text, "=".repeat(text.length()));
    }

    /** Prints a paragraph. */
    void text(String text) {
        out.printf("%n%s%n", text.strip());
    }

    /** Prints a result with its code. */
    void result(String code, Object value) {
        out.printf("  %s%n    -> %s%n", code, value);
    }

    /** Prints a row of a table. */
    void row(String format, Object... values) {
        out.println("  " + String.format(Locale.ROOT, format, values));
    }

    /** Draws a picture as PNG and as SVG. */
    void picture(String file, String caption, Chart<?, ?> chart) throws IOException {
        Path path = folder.resolve(file);
        Drawing.save(chart, path);
        ChartEncoder.saveChart(chart, path.toString(), "svg");
        pictures.add(new Picture(file, caption, chart));
        out.printf("  [%s.png and .svg] %s%n", path, caption);
    }
}
