package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Chart;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.Figure;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Records a chapter while it runs, and prints it: text, results and pictures, one after the other.
 *
 * <p>A page shows the code after each piece of prose, below its pictures. The code from the first statement that draws
 * is folded, so the statements that explain something come before it.
 */
public final class Notebook {

    /** The shipped numbers are of trainings with so many definitions. */
    static final int GLOSSES = 20_000;

    private final PrintStream out;
    private final Path folder;
    private final Optional<Path> model;
    private final boolean isTraining;
    private final int glosses;
    private final Map<List<Encoding>, Path> trained = new HashMap<>();
    private final List<Part> parts = new ArrayList<>();

    /**
     * Creates a notebook without parts.
     *
     * @param folder the folder of the pictures, which exists
     * @param model the file of a trained model, which is shown instead of the shipped numbers
     * @param isTraining true if models are trained, false for the shipped numbers
     * @param glosses the number of definitions for training
     */
    Notebook(PrintStream out, Path folder, Optional<Path> model, boolean isTraining, int glosses) {
        this.out = out;
        this.folder = folder;
        this.model = model;
        this.isTraining = isTraining;
        this.glosses = glosses;
    }

    /**
     * Creates a notebook that prints to the standard output, for the kernel of a Jupyter notebook or for JShell.
     *
     * @param folder the folder of the pictures; created if it does not exist
     * @return a new notebook
     * @throws IOException if the folder cannot be created
     */
    public static Notebook in(Path folder) throws IOException {
        Files.createDirectories(folder);
        return new Notebook(System.out, folder, Optional.empty(), false, GLOSSES);
    }

    PrintStream out() {
        return out;
    }

    Path folder() {
        return folder;
    }

    Optional<Path> model() {
        return model;
    }

    boolean isTraining() {
        return isTraining;
    }

    /** Returns the model with these positions, which is trained the first time. */
    Path trained(List<Encoding> encodings, Supplier<Path> training) {
        return trained.computeIfAbsent(encodings, unused -> training.get());
    }

    int glosses() {
        return glosses;
    }

    /** Returns what was recorded, in order. */
    List<Part> parts() {
        return Collections.unmodifiableList(parts);
    }

    List<Part.Picture> pictures() {
        return parts.stream()
                .filter(Part.Picture.class::isInstance)
                .map(Part.Picture.class::cast)
                .toList();
    }

    /**
     * Writes the title of the chapter; call this first.
     *
     * @param text the subject
     * @param line what the chapter shows, in one line, also for the page of contents
     */
    public void title(String text, String line) {
        parts.add(new Part.Title(text, line));
        out.printf("%n%s%n%s%n%n%s%n", text, "=".repeat(text.length()), line);
    }

    /**
     * Writes the question that the chapter answers; call this after the title.
     *
     * @param markdown Markdown
     */
    public void question(String markdown) {
        prose(new Part.Question(markdown.strip()), "Question: " + markdown.strip());
    }

    /**
     * Writes the heading of a section.
     *
     * @param text the heading, without Markdown
     */
    public void heading(String text) {
        prose(new Part.Heading(text), text + "\n" + "-".repeat(text.length()));
    }

    /**
     * Writes what to remember of the chapter.
     *
     * @param markdown one sentence of Markdown
     */
    public void recap(String markdown) {
        prose(new Part.Recap(markdown.strip()), "In one sentence: " + markdown.strip());
    }

    /**
     * Writes an exercise. The answer is folded on the page and in the Jupyter notebook.
     *
     * @param markdown the task, in Markdown
     * @param answerMarkdown the answer, in Markdown
     */
    public void exercise(String markdown, String answerMarkdown) {
        prose(
                new Part.Exercise(markdown.strip(), answerMarkdown.strip()),
                "Exercise: " + markdown.strip() + "\n\nAnswer: " + answerMarkdown.strip());
    }

    /**
     * Writes where the facts of the chapter come from.
     *
     * @param links Markdown, usually {@code [Authors, Title (year)](https://...)}
     */
    public void sources(String... links) {
        prose(new Part.Sources(List.of(links)), "Sources: " + String.join("; ", links));
    }

    private void prose(Part.Prose part, String printed) {
        parts.add(part);
        out.printf("%n%s%n", printed);
    }

    /**
     * Writes paragraphs.
     *
     * @param markdown Markdown, also with tables
     */
    public void text(String markdown) {
        prose(new Part.Text(markdown.strip()), markdown.strip());
    }

    /**
     * Writes a displayed formula.
     *
     * @param latex LaTeX, without dollar signs
     */
    public void formula(String latex) {
        prose(new Part.Formula(latex.strip()), "    " + latex.strip());
    }

    /**
     * Puts sliders on the page of the chapter.
     *
     * @param script the name of their script
     */
    public void play(String script) {
        prose(new Part.Play(script), "  [sliders on the page: " + script + "]");
    }

    /**
     * Prints a result with its code.
     *
     * @param code what was computed
     * @param value the result
     */
    public void result(String code, Object value) {
        print(code + "\n  -> " + value);
    }

    /**
     * Prints a row of a table.
     *
     * @param format as for {@link String#format(Locale, String, Object...)}
     * @param values its arguments
     */
    public void row(String format, Object... values) {
        print(String.format(Locale.ROOT, format, values));
    }

    private void print(String text) {
        parts.add(new Part.Output(text));
        out.println(text.indent(2).stripTrailing());
    }

    /**
     * Draws a picture, and saves it as SVG.
     *
     * @param file the name of the file, without the extension
     * @param caption a sentence that describes the picture
     * @param chart a chart
     * @throws IOException if the file cannot be written
     */
    public void picture(String file, String caption, Chart chart) throws IOException {
        pictures(file, caption, 1, List.of(chart));
    }

    /**
     * Draws small charts side by side as one picture, and saves it as SVG.
     *
     * @param file the name of the file, without the extension
     * @param caption a sentence that describes the picture
     * @param columns the number of charts side by side on a large screen; a phone shows two, and up to three charts
     *     below each other
     * @param charts charts of the same kind
     * @throws IOException if the file cannot be written
     */
    public void pictures(String file, String caption, int columns, List<? extends Chart> charts) throws IOException {
        Figure figure = new Figure(columns, charts);
        parts.add(new Part.Picture(file, caption, figure));
        Path svg = Files.writeString(folder.resolve(file + ".svg"), figure.svg());
        out.printf("  [%s] %s%n", svg, caption);
    }
}
