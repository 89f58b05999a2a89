package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.Chart;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** What a chapter printed and drew in a test, with the checks that all chapters have in common. */
record ChapterRun(String printed, Notebook notebook) {

    private static final Pattern NUMBER = Pattern.compile("[-+]?\\d+(\\.\\d+)?([eE][-+]?\\d+)?");

    static ChapterRun of(Chapter.Author chapter, Path folder) {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        Optional<Path> model = Optional.of(folder.resolve("model.zip")).filter(Files::exists);
        Notebook notebook =
                new Notebook(new PrintStream(printed, true, StandardCharsets.UTF_8), folder, model, false, 600);
        Book.write(chapter, notebook);
        requireNarrowRows(notebook);
        requirePictures(notebook);
        // throws an exception for LaTeX that the page cannot display
        for (Part part : notebook.parts()) {
            if (part instanceof Part.Formula formula) {
                MathMl.of(formula.latex());
            }
        }
        return new ChapterRun(printed.toString(StandardCharsets.UTF_8), notebook);
    }

    /** Longer rows would slide sideways on a phone; results may. */
    private static void requireNarrowRows(Notebook notebook) {
        assertThat(notebook.parts().stream()
                        .filter(Part.Output.class::isInstance)
                        .map(part -> ((Part.Output) part).text())
                        .filter(text -> !text.contains("\n  -> ")))
                .allMatch(row -> row.length() <= 57, "at most 57 characters");
    }

    /** Each picture is a file with a drawing for each of its charts, and a page of text and pictures is small. */
    private static void requirePictures(Notebook notebook) {
        assertThat(notebook.pictures()).isNotEmpty();
        int letters = 0;
        for (Part.Picture each : notebook.pictures()) {
            Path file = notebook.folder().resolve(each.file() + ".svg");
            try {
                NodeList drawn = DocumentBuilderFactory.newInstance()
                        .newDocumentBuilder()
                        .parse(file.toFile())
                        .getElementsByTagName("svg");
                assertThat(drawn.getLength())
                        .as(each.file())
                        .isGreaterThan(each.charts().size());
                String svg = Files.readString(file);
                assertThat(svg).as(each.file()).contains("<path").doesNotContain("NaN", "Infinity");
                letters += svg.length();
            } catch (IOException | ParserConfigurationException | SAXException e) {
                throw new AssertionError(file.toString(), e);
            }
        }
        assertThat(letters).as("bytes of all pictures").isLessThan(500_000);
    }

    /** Returns the first numbers that are printed after a text. */
    double[] after(String text, int count) {
        assertThat(printed).contains(text);
        double[] numbers = NUMBER.matcher(printed.substring(printed.indexOf(text) + text.length()))
                .results()
                .limit(count)
                .map(MatchResult::group)
                .mapToDouble(Double::parseDouble)
                .toArray();
        assertThat(numbers).as(text).hasSize(count);
        return numbers;
    }

    /** Returns the first number that is printed after a text. */
    double after(String text) {
        return after(text, 1)[0];
    }

    /** Returns the charts of a picture. */
    private List<? extends Chart> charts(String file) {
        List<? extends Chart> charts = notebook.pictures().stream()
                .filter(picture -> picture.file().equals(file))
                .flatMap(picture -> picture.charts().stream())
                .toList();
        assertThat(charts).as(file).isNotEmpty();
        return charts;
    }

    /** Returns the lines of a picture. */
    LineChart lines(String file, String title) {
        return (LineChart) titled(file, title);
    }

    /** Returns a heat map of a picture. */
    HeatMapChart map(String file, String title) {
        return (HeatMapChart) titled(file, title);
    }

    private Chart titled(String file, String title) {
        return charts(file).stream()
                .filter(chart -> chart.title().equals(title))
                .findAny()
                .orElseThrow(() -> new AssertionError("no chart '" + title + "' in " + file));
    }

    /** Returns the value of a cell of a heat map; its labels must name its row and column. */
    static double value(HeatMapChart map, int row, int column) {
        assertNames(map.rows().get(row), row);
        assertThat(column).isLessThan(map.columns());
        return map.value(row, column);
    }

    /** A label is a number, or the number of a word and the word. */
    private static void assertNames(String label, int index) {
        assertThat(label.replaceFirst(" .*", "")).isEqualTo(Integer.toString(index));
    }
}
