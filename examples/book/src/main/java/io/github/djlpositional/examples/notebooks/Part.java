package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Chart;
import io.github.djlpositional.examples.Figure;
import java.util.List;
import java.util.Locale;

/** A part of a chapter. */
sealed interface Part {

    /** Begins a cell: the code of the cell follows the call in the source file. */
    sealed interface Prose extends Part {

        /** Returns the name of the method of {@link Notebook} that wrote it. */
        default String call() {
            return getClass().getSimpleName().toLowerCase(Locale.ROOT);
        }
    }

    /** The title of the chapter, with one line for the page of contents. */
    record Title(String text, String line) implements Prose {}

    /** The question that the chapter answers, in Markdown. */
    record Question(String markdown) implements Prose {}

    /** The heading of a section. */
    record Heading(String text) implements Prose {}

    /** Paragraphs of Markdown. */
    record Text(String markdown) implements Prose {}

    /** A displayed formula. */
    record Formula(String latex) implements Prose {}

    /** Sliders to play with, which a script in {@code resources/play} draws. */
    record Play(String script) implements Prose {}

    /** What to remember of the chapter, one sentence of Markdown. */
    record Recap(String markdown) implements Prose {}

    /** An exercise and its answer, both in Markdown. */
    record Exercise(String markdown, String answer) implements Prose {}

    /** Where the chapter's facts come from: links in Markdown. */
    record Sources(List<String> links) implements Prose {}

    /** Printed output. */
    record Output(String text) implements Part {}

    /**
     * A picture.
     *
     * @param file the name of its SVG file, without the extension
     */
    record Picture(String file, String caption, Figure figure) implements Part {

        List<? extends Chart> charts() {
            return figure.charts();
        }
    }
}
