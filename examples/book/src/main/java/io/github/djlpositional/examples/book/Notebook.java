package io.github.djlpositional.examples.book;

import io.github.djlpositional.examples.AtomicFile;
import io.github.djlpositional.examples.Chart;
import io.github.djlpositional.examples.Figure;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What the program of a chapter prints and draws. It is shown at once, and recorded with the piece of the program. */
public final class Notebook {

    /**
     * Something that was printed or drawn.
     *
     * @param piece the name of the piece of the program
     * @param text what was printed, or the caption of the picture, which the Markdown has
     * @param figure the picture; null for printed text
     */
    record Output(String piece, String text, Figure figure) {

        Output withText(String other) {
            return new Output(piece, other, figure);
        }
    }

    /** The notebook of the chapter that is being run for a page. */
    private static volatile Notebook current;

    private final PrintStream out;
    private final Path folder;
    private final List<Output> outputs = new ArrayList<>();

    private Notebook(PrintStream out, Path folder) {
        this.out = out;
        this.folder = folder;
    }

    /**
     * Returns the notebook of a chapter: a program that runs alone prints to the standard output, and saves its
     * pictures in the folder {@code pictures}.
     */
    public static Notebook open() {
        Notebook opened = current;
        return opened == null ? new Notebook(System.out, Path.of("pictures")) : opened;
    }

    /** Runs the program of a chapter, and returns what it printed and drew. */
    static List<Output> record(Chapter.Program program, PrintStream out, Path folder) throws Exception {
        Notebook notebook = new Notebook(out, folder);
        current = notebook;
        try {
            program.main();
        } finally {
            current = null;
        }
        return List.copyOf(notebook.outputs);
    }

    /** Prints a line, with the arguments of {@link String#format(Locale, String, Object...)}. */
    public void print(String format, Object... values) {
        String text = String.format(Locale.ROOT, format, values);
        outputs.add(new Output(place()[1], text, null));
        out.println(text);
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
        String[] place = place();
        long before = outputs.stream()
                .filter(output -> output.figure() != null && output.piece().equals(place[1]))
                .count();
        Figure figure = new Figure(columns, charts);
        outputs.add(new Output(place[1], "", figure));
        String name = String.join("-", place) + (before == 0 ? "" : "-" + (before + 1));
        Path file = folder.resolve(name.replaceAll("(?<=[a-z])(?=[A-Z])", "-").toLowerCase(Locale.ROOT) + ".svg");
        AtomicFile.prepare(file);
        figure.save(file);
        out.println("[" + file + "]");
    }

    /** Returns the chapter that is running and its piece; something else in JShell, where no class is the chapter. */
    private static String[] place() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(frame -> frame.getMethodName().equals("main")
                                && frame.getClassName().startsWith(Notebook.class.getPackageName()))
                        .findFirst()
                        .map(frame -> {
                            String chapter = frame.getClassName()
                                    .substring(Notebook.class.getPackageName().length() + 1);
                            return new String[] {chapter, Chapter.piece(chapter, frame.getLineNumber())};
                        })
                        .orElse(new String[] {"notebook", "picture"}));
    }
}
