package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.Chart;
import io.github.djlpositional.examples.Figure;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;

/** What the program of a chapter prints and draws. It is shown at once, and recorded with the piece of the program. */
public final class Notebook {

    /** What a piece of a program has printed and drawn. */
    record Output(StringBuilder printed, List<Figure> figures) {

        Output() {
            this(new StringBuilder(), new ArrayList<>());
        }
    }

    private static final String PACKAGE = Notebook.class.getPackageName() + ".";

    /** The notebook of the chapter that is being run for a page. */
    private static volatile Notebook current;

    private final PrintStream out;
    private final Path folder;
    private final Map<String, Output> outputs = new HashMap<>();

    private Notebook(PrintStream out, Path folder) {
        this.out = out;
        this.folder = folder;
    }

    /** Returns the notebook of the running chapter; outside of the book, it saves in the folder {@code pictures}. */
    public static Notebook open() {
        return Objects.requireNonNullElseGet(current, () -> new Notebook(System.out, Path.of("pictures")));
    }

    /** Runs the program of a chapter, and returns its outputs by the names of the chapter and the piece. */
    static Map<String, Output> record(Callable<?> program, PrintStream out, Path folder) throws Exception {
        Notebook notebook = new Notebook(out, folder);
        current = notebook;
        try {
            program.call();
        } finally {
            current = null;
        }
        return notebook.outputs;
    }

    /** Prints a line, with the arguments of {@link String#format(Locale, String, Object...)}. */
    public void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values) + "\n";
        outputs.computeIfAbsent(place(), piece -> new Output()).printed().append(line);
        out.print(line);
    }

    /** Draws a chart and saves it as SVG. */
    public void picture(Chart chart) throws IOException {
        pictures(1, chart);
    }

    /**
     * Draws charts of the same kind side by side as one picture, and saves it as SVG.
     *
     * @param columns the number of charts side by side on a large screen; a phone shows two, and up to three charts
     *     below each other
     */
    public void pictures(int columns, Chart... charts) throws IOException {
        pictures(columns, List.of(charts));
    }

    /** Draws the charts of a list like {@link #pictures(int, Chart...)}. */
    public void pictures(int columns, List<? extends Chart> charts) throws IOException {
        String place = place();
        List<Figure> figures =
                outputs.computeIfAbsent(place, piece -> new Output()).figures();
        figures.add(new Figure(columns, charts));
        String number = figures.size() == 1 ? "" : "-" + figures.size();
        String name = (place + number).replaceAll("(?<=[a-z])(?=[A-Z])", "-");
        Path file = folder.resolve(name.toLowerCase(Locale.ROOT) + ".svg");
        Files.createDirectories(folder);
        Files.writeString(file, new Figure(columns, charts).svg());
        out.println("[" + file + "]");
    }

    /** Returns the names of the chapter that is running and of its piece; in JShell there is no class of a chapter. */
    private static String place() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(frame -> frame.getMethodName().equals("main")
                                && frame.getClassName().startsWith(PACKAGE))
                        .findFirst()
                        .map(frame ->
                                Chapter.place(frame.getClassName().substring(PACKAGE.length()), frame.getLineNumber()))
                        .orElse("notebook"));
    }
}
