package io.github.djlpositional.examples.book;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.github.djlpositional.examples.Figure;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.Program;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import jdk.jshell.JShell;
import jdk.jshell.Snippet;
import jdk.jshell.SnippetEvent;
import jdk.jshell.SourceCodeAnalysis;
import jdk.jshell.execution.LocalExecutionControlProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The page and the notebook of a small chapter with each kind of part, and what the chapters of the book have in
 * common.
 */
class BookTest {

    private static final String MARKDOWN = """
            # Every <kind> & more

            All *and* each.

            > **Question.** Is $a < b$?

            ## A "section", too

            See [that](Other.html#here) and [the source](https://example.org/a).

            {{code numbers}}

            $$\\frac{a}{b}$$

            {{play bits}}

            {{play playground rotary}}

            {{code picture}}
            {{picture A "line"}}

            | a | b |
            | - | - |
            | 1 | 2 |
            """;

    private static final String PROGRAM = """
            import java.util.List;

            /** A chapter. */
            public final class EveryKind {

                public static void main(String... args) throws Exception {
                    Notebook out = Notebook.open();
                    // %% numbers
                    int a = 2 < 3 ? 12 : 0; // "comment" & more
                    out.print("a < %d", ONE);
                    // %% picture
                    out.print("shown");
                    // ...
                    out.picture(chart);
                }

                private static final int ONE = 1;
            }
            """;

    private static List<Notebook.Output> outputs() {
        LineChart chart = LineChart.of("A line", "x", "y");
        chart.line("line", 20, x -> x);
        return List.of(
                new Notebook.Output("numbers", "a < 1", null),
                new Notebook.Output("picture", "after", null),
                new Notebook.Output("picture", "", new Figure(1, List.of(chart))));
    }

    private static Chapter everyKind() {
        return Chapter.of("EveryKind", MARKDOWN, PROGRAM, outputs());
    }

    @Test
    void partsOfAPageAreInOrder() {
        Chapter other = new Chapter("Other", "Another & one", "…", List.of(), "", "");
        assertThat(Page.of(everyKind(), Optional.of(other), Optional.empty()))
                .containsSubsequence(
                        "content=\"All and each.\"",
                        "<title>Every &lt;kind> &amp; more · ",
                        "<a rel=\"prev\" href=\"Other.html\">← Another &amp; one</a>",
                        "<h1>Every &lt;kind> &amp; more</h1>",
                        "<p>All <em>and</em> each.</p>",
                        "<a href=\"#a-section-too\">A",
                        "<blockquote>",
                        "<strong>Question.</strong> Is <math",
                        "<h2 id=\"a-section-too\">",
                        "<a href=\"Other.html#here\">that</a>",
                        "<span class=\"comment\">// &quot;comment&quot; &amp; more</span>",
                        "<pre class=\"output\" style=\"--columns: 5\">a &lt; 1\n</pre>",
                        "<div class=\"play\" data-play=\"bits\"></div>",
                        "<div class=\"play\" data-play=\"playground\" data-encoding=\"rotary\"></div>",
                        "after\n</pre>",
                        "<figcaption>A &quot;line&quot;</figcaption>",
                        "<details><summary>More of the code</summary>",
                        "out.picture(",
                        "<td>1</td>",
                        "Imports, constants and methods",
                        "ONE = <span class=\"number\">1</span>;",
                        "play/play.js",
                        "play/playground.js")
                .doesNotContain("main(");
    }

    @Test
    void pageLoadsNothingFromANetwork() {
        String page = Page.of(everyKind(), Optional.empty(), Optional.empty());
        String loaded = page.replaceAll("xmlns=\"[^\"]*\"|<a href=\"https://example.org/", "");
        assertThat(loaded + PlayScript.resource("/site/style.css"))
                .doesNotContain("http:", "https:", "url(", "@import");
        for (String script : Book.SCRIPTS) {
            assertThat(PlayScript.resource("/site/play/" + script + ".js")).doesNotContain("http", "fetch(", "import ");
        }
    }

    @Test
    void notebookHasTheSameParts() throws Exception {
        String notebook = Jupyter.of(everyKind());
        List<JsonObject> cells = cells(notebook);
        String sources =
                cells.stream().map(cell -> cell.get("source").getAsString()).collect(Collectors.joining("\n"));
        assertThat(cells).hasSize(10);
        assertThat(sources)
                .startsWith(
                        "# Every <kind> & more\n\n*All *and* each.*\n%maven io.github.djlpositional:djl-positional-book:")
                .containsSubsequence("import java.util.List;", "static final int ONE = 1;", "Notebook out = ", "## A")
                .containsSubsequence("[that](Other.ipynb#here)", "(https://example.org/a)", "int a = 2 < 3", "$$\\frac")
                .containsSubsequence("EveryKind.html", "out.print(\"shown\");", "out.picture(", "| a | b |")
                .doesNotContain("main(");
        assertThat(cells.get(8).toString()).contains("\"source_hidden\":true", "[A \\\"line\\\"]");
        assertThat(nbformat().validate(notebook, InputFormat.JSON)).isEmpty();
        // the schema is in force
        assertThat(nbformat().validate(notebook.replace("\"id\"", "\"identity\""), InputFormat.JSON))
                .isNotEmpty();
    }

    private static Schema nbformat() {
        return SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_4)
                .getSchema(PlayScript.resource("/nbformat/nbformat.v4.5.schema.json"));
    }

    private static List<JsonObject> cells(String notebook) {
        JsonObject root = JsonParser.parseString(notebook).getAsJsonObject();
        return StreamSupport.stream(root.getAsJsonArray("cells").spliterator(), false)
                .map(cell -> cell.getAsJsonObject())
                .toList();
    }

    @Test
    void rejectsMarkdownThatDoesNotNameAllPiecesInOrder() {
        String markdown = MARKDOWN.replace("{{code picture}}", "");
        assertThatThrownBy(() -> Chapter.of("EveryKind", markdown, PROGRAM, List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("EveryKind", "[numbers]", "[numbers, picture]");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{{picture A}}\n{{picture line}}"})
    void rejectsAPieceWithMoreOrFewerPicturesThanCaptions(String captions) {
        String markdown = MARKDOWN.replace("{{picture A \"line\"}}", captions);
        assertThatThrownBy(() -> Chapter.of("EveryKind", markdown, PROGRAM, outputs()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("EveryKind", captions.isEmpty() ? "0" : "2", "{{code picture}}");
    }

    @Test
    void rejectsAnUnknownChapter(@TempDir Path folder) {
        StringWriter err = new StringWriter();
        assertThat(Program.commandLine(new Book())
                        .setErr(new PrintWriter(err))
                        .execute("--out", folder.toString(), "Unknown"))
                .isEqualTo(1);
        assertThat(err.toString()).startsWith("error: unknown chapter 'Unknown': choose from ");
    }

    /** The pages of all chapters without their outputs, and the start page, by file name. */
    private static Map<String, String> pages() throws IOException {
        List<Chapter> chapters = new ArrayList<>();
        for (String name : Book.CHAPTERS.keySet()) {
            chapters.add(Chapter.of(name, List.of()));
        }
        Map<String, String> pages = new TreeMap<>();
        chapters.forEach(each -> pages.put(each.name() + ".html", Page.of(each, Optional.empty(), Optional.empty())));
        pages.put("index.html", Page.contents(PlayScript.resource("/chapters/index.md"), chapters));
        return pages;
    }

    @Test
    void linksBetweenPagesHaveATargetAndScriptsExist() throws Exception {
        Map<String, String> pages = pages();
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
        Pattern script = Pattern.compile("data-play=\"([^\"]*)\"");
        assertThat(script.matcher(String.join("", pages.values())).results().map(play -> play.group(1)))
                .isSubsetOf(Book.SCRIPTS);
    }

    static Set<String> chapters() {
        return Book.CHAPTERS.keySet();
    }

    @Tag("slow")
    @ParameterizedTest
    @MethodSource("chapters")
    void notebookRuns(String name, @TempDir Path folder) throws Exception {
        // beside its class, the source would be compiled instead
        assertThat(Book.class.getResource(name + ".java")).isNull();
        String notebook = Jupyter.of(Chapter.of(name, List.of()));
        assertThat(nbformat().validate(notebook, InputFormat.JSON)).isEmpty();
        List<String> code = cells(notebook).stream()
                .filter(cell -> cell.get("cell_type").getAsString().equals("code"))
                // a kernel loads the artifact; here it is on the class path
                .map(cell -> cell.get("source").getAsString().replaceFirst("%maven .*", ""))
                .toList();
        try (JShell shell = JShell.builder()
                .executionEngine(new LocalExecutionControlProvider(), Map.of())
                .compilerOptions("-classpath", System.getProperty("java.class.path"))
                .build()) {
            PrintStream unused = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
            Notebook.record(arguments -> code.forEach(cell -> run(shell, cell)), unused, folder);
        }
    }

    private static void run(JShell shell, String cell) {
        for (String rest = cell; !rest.isBlank(); ) {
            SourceCodeAnalysis.CompletionInfo next = shell.sourceCodeAnalysis().analyzeCompletion(rest);
            assertThat(next.completeness().isComplete()).as(rest).isTrue();
            for (SnippetEvent event : shell.eval(next.source())) {
                List<String> problems = shell.diagnostics(event.snippet())
                        .map(problem -> problem.getMessage(null))
                        .toList();
                assertThat(event.status())
                        .as("%s: %s", next.source(), problems)
                        // a method may call one that is declared after it
                        .isIn(Snippet.Status.VALID, Snippet.Status.OVERWRITTEN, Snippet.Status.RECOVERABLE_DEFINED);
                assertThat(event.exception()).as(next.source()).isNull();
            }
            rest = next.remaining();
        }
    }
}
