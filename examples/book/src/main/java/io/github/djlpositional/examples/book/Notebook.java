package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Chart;
import io.github.djlpositional.examples.Figure;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What the program of a chapter prints and draws. It is shown at once, and recorded with the line of the program. */
public final class Notebook {

    /**
     * Something that was printed or drawn.
     *
     * @param line the line of the program
     * @param text what was printed, or the caption of the picture
     * @param file the name of the picture's file without extension; null for printed text
     * @param figure the picture; null for printed text
     */
    record Output(int line, String text, String file, Figure figure) {}

    private final PrintStream out;
    private final Path folder;
    private final List<Output> outputs = new ArrayList<>();

    Notebook(PrintStream out, Path folder) {
        this.out = out;
        this.folder = folder;
    }

    /**
     * Returns a notebook that prints to the standard output.
     *
     * @param folder the folder of the pictures; created if it does not exist
     * @throws IOException if the folder cannot be created
     */
    public static Notebook in(Path folder) throws IOException {
        Files.createDirectories(folder);
        return new Notebook(System.out, folder);
    }

    List<Output> outputs() {
        return List.copyOf(outputs);
    }

    /** Prints a line, with the arguments of {@link String#format(Locale, String, Object...)}. */
    public void print(String format, Object... values) {
        String text = String.format(Locale.ROOT, format, values);
        outputs.add(new Output(line(), text, null, null));
        out.println(text);
    }

    /**
     * Draws a chart and saves it as SVG.
     *
     * @param file the name of the file, without the extension
     * @param caption a sentence that says what the picture shows
     */
    public void picture(String file, String caption, Chart chart) throws IOException {
        pictures(file, caption, 1, List.of(chart));
    }

    /**
     * Draws charts of the same kind side by side as one picture, and saves it as SVG.
     *
     * @param columns the number of charts side by side on a large screen; a phone shows two, and up to three charts
     *     below each other
     */
    public void pictures(String file, String caption, int columns, List<? extends Chart> charts) throws IOException {
        Figure figure = new Figure(columns, charts);
        outputs.add(new Output(line(), caption, file, figure));
        figure.save(folder.resolve(file + ".svg"));
        out.println("[" + folder.resolve(file + ".svg") + "] " + caption);
    }

    /** Returns the line of the chapter's method {@code write} that is running, or 0 outside of one. */
    private static int line() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(frame -> frame.getMethodName().equals("write")
                                && frame.getClassName().startsWith(Notebook.class.getPackageName()))
                        .findFirst()
                        .map(StackWalker.StackFrame::getLineNumber)
                        .orElse(0));
    }
}
