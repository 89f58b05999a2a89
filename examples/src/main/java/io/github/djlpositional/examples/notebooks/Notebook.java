package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.ExamplesVersion;
import io.github.djlpositional.examples.HeadlessDrawing;
import io.github.djlpositional.examples.UserError;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.ChartEncoder;
import org.knowm.xchart.internal.chartpart.Chart;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** What a notebook writes to: text, results and pictures, one after the other. */
public final class Notebook {

    /** A program that reads from top to bottom like a notebook. */
    @FunctionalInterface
    interface Page {
        void write(Notebook notebook) throws Exception;
    }

    /**
     * A picture that was drawn.
     *
     * @param file its name without ending: there is a PNG and an SVG of it
     * @param caption what it shows
     */
    record Picture(String file, String caption) {}

    private static final int DOTS_PER_INCH = 144;

    private final PrintStream out;
    private final Path folder;
    private final Path model;
    private final List<Picture> pictures = new ArrayList<>();

    /**
     * Begins one.
     *
     * @param out where the text goes
     * @param folder where the pictures go
     * @param model where {@code train-encoder} saved a model, if it did
     */
    Notebook(PrintStream out, Path folder, Path model) {
        this.out = out;
        this.folder = folder;
        this.model = model;
    }

    /** The options of every notebook. */
    @Command(mixinStandardHelpOptions = true, versionProvider = ExamplesVersion.class)
    private static final class Run implements Runnable {
        private final Page page;

        @Option(
                names = "--out",
                paramLabel = "FOLDER",
                defaultValue = "notebooks",
                description = "Where the pictures go (default: ${DEFAULT-VALUE}).")
        private Path folder;

        @Option(
                names = "--model",
                paramLabel = "FOLDER",
                defaultValue = "model",
                description = "What train-encoder saved, for the notebook that looks into it; without, it trains a"
                        + " smaller one (default: ${DEFAULT-VALUE}).")
        private Path model;

        Run(Page page) {
            this.page = page;
        }

        @Override
        public void run() {
            write(page, new Notebook(System.out, folder, model));
        }
    }

    /** Runs a notebook as a program. */
    static void main(Page page, Class<?> program, String... args) {
        System.setProperty("OPT_OUT_TRACKING", "true");
        CommandLine line = UserError.inOneLine(new CommandLine(new Run(page)).setCommandName(program.getSimpleName()));
        System.exit(line.execute(args));
    }

    /** Writes a notebook. */
    static void write(Page page, Notebook notebook) {
        HeadlessDrawing.prepare();
        try {
            Files.createDirectories(notebook.folder);
        } catch (IOException e) {
            throw new UserError(
                    "output folder '" + notebook.folder + "' cannot be made (" + e + "): name another with --out", e);
        }
        try {
            page.write(notebook);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("the notebook could not be written", e);
        }
    }

    /** A heading. */
    void title(String text) {
        out.printf("%n%s%n%s%n", text, "=".repeat(text.length()));
    }

    /** Text between results. */
    void text(String text) {
        out.printf("%n%s%n", text.strip());
    }

    /** A result, with the code that gives it. */
    void result(String code, Object value) {
        out.printf("  %s%n    -> %s%n", code, value);
    }

    /** A line of a table. */
    void row(String format, Object... values) {
        out.println("  " + String.format(Locale.ROOT, format, values));
    }

    /** A picture, as PNG and as SVG. */
    void picture(String file, String caption, Chart<?, ?> chart) throws IOException {
        Path path = folder.resolve(file);
        BitmapEncoder.saveBitmapWithDPI(chart, path.toString(), BitmapFormat.PNG, DOTS_PER_INCH);
        ChartEncoder.saveChart(chart, path.toString(), "svg");
        pictures.add(new Picture(file, caption));
        out.printf("  [%s.png and .svg] %s%n", path, caption);
    }

    /** The pictures until now. */
    List<Picture> pictures() {
        return List.copyOf(pictures);
    }

    PrintStream out() {
        return out;
    }

    Path folder() {
        return folder;
    }

    Path model() {
        return model;
    }
}
