package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ChapterTest {

    private static final String SOURCE = """
            package io.github.djlpositional.examples.notebooks;

            import static java.lang.Math.max;

            import java.util.List;

            /** A chapter. */
            final class Small {

                /** Not too large. */
                private static final int SIZE = 4;

                private Small() {}

                static int twice(int number) {
                    return 2 * number;
                }

                static void write(Notebook notebook) throws Exception {
                    notebook.title("Small", "One line.");
                    notebook.text(\"""
                            One *sentence*. Another
                            one.\""");
                    int four = twice(2); // a comment

                    for (int i = 0; i < four; i++) {
                        notebook.row("%d", i);
                    }
                    notebook.formula("a^2");
                    // a comment before the code
                    notebook.result("four", four);
                }
            }
            """;

    private static final List<Part> RUN = List.of(
            new Part.Title("Small", "One line."),
            new Part.Text("One *sentence*. Another\none."),
            new Part.Output("0"),
            new Part.Output("1"),
            new Part.Formula("a^2"),
            new Part.Output("four\n  -> 4"));

    @Test
    void cellsHaveTheCodeBetweenTwoCallsThatWriteProse() throws Exception {
        ChapterSource source = ChapterSource.parse("Small", SOURCE);
        assertThat(source.cells())
                .containsExactly(
                        new ChapterSource.Cell("title", "", ""),
                        new ChapterSource.Cell("text", """
                                int four = twice(2); // a comment

                                for (int i = 0; i < four; i++) {
                                    notebook.row("%d", i);
                                }""", ""),
                        new ChapterSource.Cell("formula", """
                                // a comment before the code
                                notebook.result("four", four);""", ""));
    }

    @Test
    void codeFromTheFirstStatementThatDrawsIsApart() throws Exception {
        String source = SOURCE.replace("notebook.result(\"four\", four);", """
                notebook.result("four", four); // behind
                        // before
                        for (LineChart chart : charts) {
                            chart.line("line", four, x -> x);
                        }
                        notebook.row("after");
                """);
        assertThat(ChapterSource.parse("Small", source).cells().get(2))
                .isEqualTo(new ChapterSource.Cell("formula", """
                        // a comment before the code
                        notebook.result("four", four); // behind""", """
                        // before
                        for (LineChart chart : charts) {
                            chart.line("line", four, x -> x);
                        }
                        notebook.row("after");"""));
    }

    @Test
    void keepsImportsConstantsAndMethods() throws Exception {
        ChapterSource source = ChapterSource.parse("Small", SOURCE);
        assertThat(source.imports()).containsExactly("import static java.lang.Math.max;", "import java.util.List;");
        assertThat(source.members()).containsExactly("""
                /** Not too large. */
                private static final int SIZE = 4;""", """
                static int twice(int number) {
                    return 2 * number;
                }""");
    }

    @Test
    void outputsBelongToTheCellThatPrintedThem() throws Exception {
        Chapter chapter = Chapter.of("Small", RUN, ChapterSource.parse("Small", SOURCE));
        assertThat(chapter.title()).isEqualTo("Small");
        assertThat(chapter.line()).isEqualTo("One line.");
        assertThat(chapter.cells()).hasSize(3);
        assertThat(chapter.cells().get(1).outputs()).containsExactly(new Part.Output("0"), new Part.Output("1"));
        assertThat(chapter.cells().get(2).outputs()).containsExactly(new Part.Output("four\n  -> 4"));
    }

    @Test
    void rejectsProseThatTheSourceWritesInALoop() throws Exception {
        String source = SOURCE.replace(
                "notebook.formula(\"a^2\");", "for (int i = 0; i < 1; i++) { notebook.formula(\"a^2\"); }");
        assertThatThrownBy(() -> Chapter.of("Small", RUN, ChapterSource.parse("Small", source)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("Small", "[title, text, formula]", "[title, text]");
    }

    private static String sourceOf(String name) throws IOException {
        try (InputStream in = Book.class.getResourceAsStream(name + ".java")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void everyChapterWritesProseOnlyInStatementsOfItsMethodWrite() throws Exception {
        Pattern prose =
                Pattern.compile("notebook\\s*\\.(title|question|heading|text|formula|play|recap|exercise|sources)\\(");
        for (String name : Book.CHAPTERS.keySet()) {
            List<String> calls = prose.matcher(sourceOf(name))
                    .results()
                    .map(call -> call.group(1))
                    .toList();
            assertThat(ChapterSource.of(name).cells())
                    .as(name)
                    .hasSizeGreaterThan(1)
                    .extracting(ChapterSource.Cell::call)
                    .isEqualTo(calls)
                    .startsWith("title");
        }
    }
}
