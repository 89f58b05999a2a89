package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.Program;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.execution.LocalExecutionControlProvider;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The pages and Jupyter notebooks of a chapter with every kind of part, and of some chapters of the book. */
class BookTest {

    @TempDir
    private static Path folder;

    private static String page;

    private static Notebook everyKindOfPart() throws Exception {
        Notebook notebook = new Notebook(
                new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8),
                folder,
                Optional.empty(),
                false,
                1);
        LineChart chart = LineChart.of("A line", "x", "y");
        chart.line("line", 20, x -> x);
        notebook.title("Every <kind>", "All & each.");
        notebook.question("Is *this* & that < there?");
        notebook.heading("A <section>");
        notebook.text("Some *prose* & a table.\n\n| a | b |\n| - | - |\n| 1 | 2 |");
        notebook.formula("\\frac{a}{b}");
        notebook.row("a < %d", 1);
        notebook.picture("every-kind", "A \"line\" < 20", chart);
        notebook.row("after the picture");
        notebook.recap("All & *some*.");
        notebook.exercise("Add 1 & 1.", "It is *2*.");
        notebook.sources("[A & B](https://example.org/a)", "[C](https://example.org/c)");
        return notebook;
    }

    @BeforeAll
    static void writeAChapter() throws Exception {
        ChapterSource source = ChapterSource.parse("EveryKind", """
                final class EveryKind {

                    private static final int ONE = 1;

                    static void write(Notebook notebook) throws Exception {
                        notebook.title("Every <kind>", "All & each.");
                        notebook.question("…");
                        notebook.heading("…");
                        notebook.text("…");
                        notebook.formula("…");
                        int a = 2 < 3 ? 12 : 0; // "comment" & more
                        notebook.row("a < %d", ONE);
                        LineChart chart = LineChart.of("A line", "x", "y");
                        notebook.recap("…");
                        notebook.exercise("…", "…");
                        notebook.sources("…", "…");
                    }
                }
                """);
        Chapter chapter = Chapter.of("EveryKind", everyKindOfPart().parts(), source);
        Chapter other =
                new Chapter("Other", "Another chapter", "Some prose & a table.", List.of(), List.of(), chapter.cells());
        assertThat(Book.write(folder, List.of(other, chapter), true))
                .containsExactly(
                        folder.resolve("Other.html"), folder.resolve("EveryKind.html"), folder.resolve("index.html"));
        page = Files.readString(folder.resolve("EveryKind.html"));
    }

    @Test
    void partsAreInOrder() {
        assertThat(page)
                .containsSubsequence(
                        "<nav aria-label=\"Chapters, at the top\">",
                        "<h1>Every &lt;kind></h1>",
                        "<p class=\"line\">All &amp; each.</p>",
                        "<div class=\"question\">\n<p>Is <em>this</em> &amp; that &lt; there?</p>\n</div>",
                        "<h2>A &lt;section></h2>",
                        "<p>Some <em>prose</em> &amp; a table.</p>",
                        "<td>1</td>",
                        "<math",
                        "<mfrac>",
                        "<figure>",
                        "<figcaption>A &quot;line&quot; &lt; 20</figcaption>",
                        "<pre class=\"code\">",
                        "<pre class=\"output\" style=\"--columns: 17\">a &lt; 1\nafter the picture\n</pre>",
                        "<details><summary>Code of the picture</summary>\n<pre class=\"code\"><code>LineChart chart",
                        "<div class=\"recap\">\n<p><strong>In one sentence.</strong> All &amp; <em>some</em>.</p>",
                        "<div class=\"exercise\">\n<p><strong>Exercise.</strong> Add 1 &amp; 1.</p>",
                        "<details><summary>Answer</summary>\n<p>It is <em>2</em>.</p>\n</details>",
                        "<li><a href=\"https://example.org/a\">A &amp; B</a></li>",
                        "<details><summary>Constants and methods of this chapter</summary>",
                        "ONE = <span class=\"number\">1</span>;",
                        "<nav aria-label=\"Chapters, at the end\">");
    }

    @Test
    void codeIsThatOfTheSource() {
        String code = page.substring(page.indexOf("<pre class=\"code\">"), page.indexOf("</pre>"));
        assertThat(code).contains("<span class=\"comment\">// &quot;comment&quot; &amp; more</span>");
        assertThat(code.replaceAll("<[^>]*>", "")
                        .replace("&lt;", "<")
                        .replace("&quot;", "\"")
                        .replace("&amp;", "&"))
                .isEqualTo("int a = 2 < 3 ? 12 : 0; // \"comment\" & more\nnotebook.row(\"a < %d\", ONE);");
    }

    @Test
    void pageNeedsNoNetworkAndNoOtherFile() {
        // names of XML are not loaded, and links only when followed
        String loaded = page.replace("xmlns=\"http://www.w3.org/1998/Math/MathML\"", "")
                .replace("<a href=\"https://example.org/", "");
        assertThat(loaded).doesNotContain("http:", "https:", "<link", "<script", "url(", " src=\"");
        assertThat(loaded).contains("prefers-color-scheme: dark", "width=device-width");
        assertThat(Pattern.compile("href=\"([^\"]*)\"").matcher(page).results().map(link -> link.group(1)))
                .containsOnly("index.html", "Other.html", "https://example.org/a", "https://example.org/c");
    }

    @Test
    void pictureTakesTheColorsOfThePage() {
        String picture = page.substring(page.indexOf("<figure>"), page.indexOf("</figure>"));
        assertThat(picture)
                .contains(
                        "<div class=\"charts few\" style=\"--columns: 1\">",
                        "stroke=\"var(--line-0)\"",
                        "<text",
                        "role=\"img\" aria-label=\"A line\"")
                .doesNotContain("<img", "<picture");
        assertThat(page).contains("--line-0: #0072b2", "--line-0: #4ea3e0");
    }

    @Test
    void slidersNeedOnlyTheirScripts() throws Exception {
        List<Chapter.Cell> cells = List.of(new Chapter.Cell(new Part.Play("bits"), "", "", List.of()));
        Chapter chapter = new Chapter("Sliders", "Sliders", "", List.of(), List.of(), cells);
        String sliders = Page.of(chapter, Optional.empty(), Optional.empty());
        assertThat(sliders)
                .containsSubsequence(
                        "<div class=\"play\" data-play=\"bits\"></div>",
                        "<noscript><p>The sliders here need JavaScript.</p></noscript>",
                        "var play = {",
                        "play.start(\"bits\"")
                .doesNotContain("play.start(\"rotary\"", " src=");
    }

    @Test
    void contentsListTheAppendixApart() throws Exception {
        List<Chapter> chapters = Stream.of("RotaryPairs", "Conventions", "Precision")
                .map(name -> new Chapter(name, "Title of " + name, "Line.", List.of(), List.of(), List.of()))
                .toList();
        assertThat(Page.contents(chapters))
                .containsSubsequence(
                        "<strong>8. Title of RotaryPairs</strong>",
                        "<h2>Appendix</h2>",
                        "<strong>A. Title of Conventions</strong>",
                        "<strong>B. Title of Precision</strong>");
        assertThat(Page.of(chapters.get(1), Optional.of(chapters.get(0)), Optional.of(chapters.get(2))))
                .contains(
                        "<title>A. Title of Conventions</title>",
                        "<a rel=\"prev\" href=\"RotaryPairs.html\">← 8. Title of RotaryPairs</a>",
                        "<a rel=\"next\" href=\"Precision.html\">→ B. Title of Precision</a>");
    }

    @Test
    void contentsLinkToEveryChapterWithAPicture() throws Exception {
        String contents = Files.readString(folder.resolve("index.html"));
        assertThat(contents)
                .containsSubsequence(
                        "<a href=\"Other.html\"><svg ",
                        "<strong>Another chapter</strong><br>Some prose &amp; a table.",
                        "<a href=\"EveryKind.html\"><svg ",
                        "<strong>Every &lt;kind></strong>");
    }

    @Test
    void jupyterNotebookHasTheSameParts() throws Exception {
        JsonObject notebook = JsonParser.parseString(Files.readString(folder.resolve("EveryKind.ipynb")))
                .getAsJsonObject();
        List<String> sources = StreamSupport.stream(
                        notebook.getAsJsonArray("cells").spliterator(), false)
                .map(cell -> cell.getAsJsonObject().get("source").getAsString())
                .toList();
        assertThat(sources).hasSize(11);
        assertThat(sources.get(0)).isEqualTo("# Every <kind>\n\n*All & each.*");
        assertThat(sources.get(1))
                .startsWith("%maven io.github.djlpositional:djl-positional-book:")
                .contains("private static final int ONE = 1;");
        assertThat(sources.get(2)).isEqualTo("> Is *this* & that < there?");
        assertThat(sources.get(3)).isEqualTo("## A <section>");
        assertThat(sources.get(5)).isEqualTo("$$\n\\frac{a}{b}\n$$");
        assertThat(sources.get(6)).startsWith("int a = 2 < 3").doesNotContain("LineChart");
        assertThat(sources.get(7)).startsWith("LineChart chart = ");
        assertThat(sources.get(8)).isEqualTo("**In one sentence.** All & *some*.");
        assertThat(sources.get(9))
                .isEqualTo(
                        "**Exercise.** Add 1 & 1.\n\n<details><summary>Answer</summary>\n\nIt is *2*.\n\n</details>");
        assertThat(sources.get(10))
                .isEqualTo("**Sources.**\n\n- [A & B](https://example.org/a)\n- [C](https://example.org/c)");
        JsonObject drawing = notebook.getAsJsonArray("cells").get(7).getAsJsonObject();
        assertThat(drawing.getAsJsonObject("metadata").toString()).isEqualTo("{\"jupyter\":{\"source_hidden\":true}}");
        JsonObject picture = notebook.getAsJsonArray("cells")
                .get(7)
                .getAsJsonObject()
                .getAsJsonArray("outputs")
                .get(1)
                .getAsJsonObject()
                .getAsJsonObject("data");
        assertThat(picture.get("image/svg+xml").getAsString())
                .isEqualTo(Files.readString(folder.resolve("every-kind.svg")))
                .startsWith("<svg xmlns=\"http://www.w3.org/2000/svg\"");
        assertThat(picture.get("text/plain").getAsString()).isEqualTo("A \"line\" < 20");
    }

    private static Schema nbformat() throws Exception {
        try (InputStream in = BookTest.class.getResourceAsStream("/nbformat/nbformat.v4.5.schema.json")) {
            return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_4)
                    .getSchema(in);
        }
    }

    @Test
    void jupyterNotebookIsValid() throws Exception {
        String notebook = Files.readString(folder.resolve("EveryKind.ipynb"));
        assertThat(nbformat().validate(notebook, InputFormat.JSON)).isEmpty();
        // the schema is in force
        assertThat(nbformat().validate(notebook.replace("\"id\"", "\"identity\""), InputFormat.JSON))
                .isNotEmpty();
    }

    static Set<String> chapters() {
        return Book.CHAPTERS.keySet();
    }

    @Tag("slow")
    @ParameterizedTest
    @MethodSource("chapters")
    void jupyterNotebooksOfAllChaptersAreValidAndRun(String name) throws Exception {
        assertThat(Program.commandLine(new Book()).execute("--out", folder.toString(), name))
                .isZero();
        String notebook = Files.readString(folder.resolve(name + ".ipynb"));
        assertThat(nbformat().validate(notebook, InputFormat.JSON)).isEmpty();
        List<String> code = new ArrayList<>();
        for (JsonElement cell :
                JsonParser.parseString(notebook).getAsJsonObject().getAsJsonArray("cells")) {
            if (cell.getAsJsonObject().get("cell_type").getAsString().equals("code")) {
                code.add(cell.getAsJsonObject().get("source").getAsString());
            }
        }
        assertThat(code).hasSizeGreaterThan(1);
        // a kernel loads the artifact; here it is on the class path
        code.set(0, code.get(0).replaceFirst("%maven .*", "").replace("\"notebooks\"", "\"" + folder + "\""));
        runInJShell(code);
    }

    private static void runInJShell(List<String> cells) {
        try (JShell shell = JShell.builder()
                .executionEngine(new LocalExecutionControlProvider(), Map.of())
                .compilerOptions("-classpath", System.getProperty("java.class.path"))
                .build()) {
            for (String cell : cells) {
                for (String rest = cell; !rest.isBlank(); ) {
                    SourceCodeAnalysis.CompletionInfo next =
                            shell.sourceCodeAnalysis().analyzeCompletion(rest);
                    assertThat(next.completeness().isComplete()).as(rest).isTrue();
                    for (SnippetEvent event : shell.eval(next.source())) {
                        assertThat(event.status())
                                .as(
                                        "%s: %s",
                                        next.source(),
                                        shell.diagnostics(event.snippet())
                                                .map(problem -> problem.getMessage(null))
                                                .toList())
                                // a method may call one that is declared after it
                                .isIn(
                                        Snippet.Status.VALID,
                                        Snippet.Status.OVERWRITTEN,
                                        Snippet.Status.RECOVERABLE_DEFINED);
                        assertThat(event.exception()).as(next.source()).isNull();
                    }
                    rest = next.remaining();
                }
            }
        }
    }

    @Test
    void rejectsAnUnknownChapter() {
        StringWriter err = new StringWriter();
        assertThat(Program.commandLine(new Book())
                        .setErr(new PrintWriter(err))
                        .execute("--out", folder.toString(), "Unknown"))
                .isEqualTo(1);
        assertThat(err.toString()).startsWith("error: unknown chapter 'Unknown': choose from WhyOrderIsLost, ");
    }
}
