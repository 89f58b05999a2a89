package io.github.djlpositional.examples.book;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.github.djlpositional.examples.Figure;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.UserError;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import jdk.jshell.JShell;
import jdk.jshell.Snippet.Status;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.execution.LocalExecutionControlProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The page and the notebook of a small chapter with each kind of part, and what all chapters have in common. */
class BookTest {

    private static final String MARKDOWN = Book.read("/every-kind.md");
    private static final Schema NBFORMAT = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_4)
            .getSchema(Book.read("/nbformat/nbformat.v4.5.schema.json"));

    private static Chapter everyKind(String markdown) {
        LineChart chart = LineChart.of("A line", "x", "y");
        chart.line("line", 20, x -> x);
        Map<String, Notebook.Output> outputs = Map.of(
                "EveryKind-numbers", new Notebook.Output(new StringBuilder("a < 1\n"), List.of()),
                "EveryKind-picture",
                        new Notebook.Output(new StringBuilder("after\n"), List.of(new Figure(1, List.of(chart)))));
        return Chapter.of("EveryKind", markdown, Book.read("/every-kind.txt"), outputs);
    }

    private static String page() {
        Chapter chapter = everyKind(MARKDOWN);
        return Page.of(chapter, List.of(new Chapter("Other", "Another & one", "…", List.of(), ""), chapter));
    }

    @ParameterizedTest
    @ValueSource(strings = {"page", "notebook"})
    void partsAreInOrder(String form) {
        String[] parts = Book.read("/every-kind-" + form + ".txt").lines().toArray(String[]::new);
        assertThat(form.equals("page") ? page() : Jupyter.of(everyKind(MARKDOWN)))
                .containsSubsequence(parts)
                .doesNotContain("main(", "@Suppress", "    out.print("); // not indented
    }

    @Test
    void pageLoadsNothingFromANetwork() {
        assertThat(page().replaceAll("xmlns=\"[^\"]*\"|<a href=\"https://example.org/", "")
                        + Book.read("/site/style.css"))
                .doesNotContain("http:", "https:", "url(", "@import");
        assertThat(PlayScript.all())
                .allSatisfy(script -> assertThat(Book.read("/site/play/" + script + ".js"))
                        .doesNotContain("http", "fetch(", "import "));
    }

    private static String valid(String notebook) {
        assertThat(NBFORMAT.validate(notebook, InputFormat.JSON)).isEmpty();
        return notebook;
    }

    @Test
    void notebookHasTheFormat() {
        String notebook = valid(Jupyter.of(everyKind(MARKDOWN)));
        // the schema is in force
        assertThat(NBFORMAT.validate(notebook.replace("\"id\"", "\"identity\""), InputFormat.JSON))
                .isNotEmpty();
    }

    /** A part of the Markdown, what replaces it, and what the message has. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "# Every | Every | begins without #",
                "{{code picture}} | '' | [numbers]: expected all of [numbers, picture]",
                "{{picture A \"line\"}} | '' | 0 captions after {{code picture}}: expected one for each of 1",
                "{{picture A \"line\"}} | '{{picture A}}\n{{picture line}}' | 2 captions after {{code picture}}",
                "\\frac{a}{b} | \\unknown{x} | formula \\unknown{x}"
            })
    void rejectsWrongMarkdown(String part, String wrong, String message) {
        String markdown = MARKDOWN.replace(part, wrong);
        assertThatThrownBy(() -> Page.of(everyKind(markdown), List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    @Test
    void formulasAreMathMlThatBrowsersDisplay() {
        assertThat(MathMl.of("\\sin \\frac{t}{x'^{2m/d}}"))
                .startsWith("<math")
                .containsSubsequence("display=\"block\"", "sin", "<mfrac>", "<msup>", "\u2032")
                .doesNotContain("span", "frac{");
        assertThat(MathMl.of("a = b \\qquad c = d").split("<math", -1)).hasSize(3);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MathMl.inline("\\fraction"))
                .withMessageStartingWith("formula \\fraction: expected ");
    }

    @Test
    void rejectsAnUnknownChapter(@TempDir Path folder) {
        assertThatThrownBy(() -> Book.run("Unknown", System.out, folder))
                .isInstanceOf(UserError.class)
                .hasMessageStartingWith("unknown chapter 'Unknown': choose from ");
    }

    @Test
    void linksBetweenPagesHaveATarget() {
        List<Chapter> chapters =
                Book.CHAPTERS.stream().map(name -> Chapter.of(name, Map.of())).toList();
        Map<String, String> pages = new TreeMap<>();
        chapters.forEach(each -> pages.put(each.name() + ".html", Page.of(each, chapters)));
        pages.put("index.html", Page.contents(Book.index(), chapters));
        List<String> broken = new ArrayList<>();
        Pattern link = Pattern.compile("<a [^>]*href=\"(?!https?:)([^\"#]*)(?:#([^\"]*))?\"");
        pages.forEach((file, page) -> link.matcher(page).results().forEach(match -> {
            String target = pages.get(match.group(1).isEmpty() ? file : match.group(1));
            if (target == null || (match.group(2) != null && !target.contains("id=\"" + match.group(2) + "\""))) {
                broken.add(file + ": " + match.group());
            }
        }));
        assertThat(broken).isEmpty();
        assertThat(pages).allSatisfy((file, page) -> assertThat(page).doesNotContainPattern("\\{\\{[a-z]+ "));
    }

    @Tag("slow")
    @ParameterizedTest
    @FieldSource("io.github.djlpositional.examples.book.Book#CHAPTERS")
    void notebookRuns(String name, @TempDir Path folder) throws Exception {
        // beside its class, the source would be compiled instead
        assertThat(Book.class.getResource(name + ".java")).isNull();
        try (JShell shell = JShell.builder()
                .executionEngine(new LocalExecutionControlProvider(), Map.of())
                .compilerOptions("-classpath", System.getProperty("java.class.path"))
                .build()) {
            List<JsonElement> cells = JsonParser.parseString(valid(Jupyter.of(Chapter.of(name, Map.of()))))
                    .getAsJsonObject()
                    .getAsJsonArray("cells")
                    .asList();
            Callable<?> program = Executors.callable(() -> cells.forEach(cell -> run(shell, cell.getAsJsonObject())));
            Notebook.record(program, new PrintStream(OutputStream.nullOutputStream(), false, UTF_8), folder);
        }
    }

    /**
     * Runs a cell as a kernel does, which reads all of it; JShell's tool would end a statement before {@code .build()}.
     */
    private static void run(JShell shell, JsonObject cell) {
        boolean isCode = cell.get("cell_type").getAsString().equals("code");
        // a kernel loads the artifact; here it is on the class path
        String code = isCode ? cell.get("source").getAsString().replaceFirst("%maven .*", "") : "";
        while (!code.isBlank()) {
            SourceCodeAnalysis.CompletionInfo next = shell.sourceCodeAnalysis().analyzeCompletion(code);
            assertThat(next.completeness().isComplete()).as(code).isTrue();
            assertThat(shell.eval(next.source())).as(next.source()).allSatisfy(event -> {
                // a method may call one that is declared after it
                assertThat(event.status()).isIn(Status.VALID, Status.OVERWRITTEN, Status.RECOVERABLE_DEFINED);
                assertThat(event.exception()).isNull();
            });
            code = next.remaining();
        }
    }
}
