package io.github.djlpositional.examples.encoder;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The notebooks that {@code notebook.py} makes of programs, and of the texts and programs of the book. */
class NotebookTest {

    private static final Path EXAMPLES = Path.of("").toAbsolutePath().getParent();

    /**
     * What a notebook leaves out: the frames of a class and of its main method, marks, and comments before the class.
     */
    private static final Pattern FRAME = Pattern.compile(
            "package .*|public final class .*|public static void main.*|private \\w+\\(\\) \\{}|}|// %% .*|/?\\*.*|"
                    + "// \\.\\.\\.|@SuppressWarnings.*|import static .*\\.display;|import .*\\.book\\.\\*;|");

    private static final Path BOOK = EXAMPLES.resolveSibling("docs/book");

    private static List<Path> files(Path folder, String extension) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(extension))
                    .sorted()
                    .toList();
        }
    }

    static List<Path> chapters() throws IOException {
        return files(EXAMPLES.resolve("book/src/main/resources/chapters"), ".md");
    }

    static List<Path> notebooks() throws IOException {
        return Stream.of(files(EXAMPLES.resolve("notebooks"), ".ipynb"), files(BOOK, ".ipynb"))
                .flatMap(List::stream)
                .toList();
    }

    /** Returns the sources of the cells of a type. */
    private static List<String> cells(Path notebook, String type) throws IOException {
        JsonObject json = JsonParser.parseString(Files.readString(notebook)).getAsJsonObject();
        return json.getAsJsonArray("cells").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .filter(cell -> cell.get("cell_type").getAsString().equals(type))
                .map(cell -> cell.getAsJsonArray("source").asList().stream()
                        .map(JsonElement::getAsString)
                        .collect(Collectors.joining()))
                .toList();
    }

    private static List<String> code(Path notebook) throws IOException {
        return cells(notebook, "code").stream()
                .flatMap(String::lines)
                .map(String::strip)
                .toList();
    }

    private static List<String> program(Path notebook) throws IOException {
        String name = notebook.getFileName().toString().replace(".ipynb", ".java");
        try (Stream<Path> files = Files.walk(EXAMPLES)) {
            Path program = files.filter(file -> file.endsWith(name)).findFirst().orElseThrow();
            return Files.readAllLines(program).stream()
                    .map(line -> line.strip().replaceFirst("^// (?=%maven )|^// > ", ""))
                    .toList();
        }
    }

    private static List<String> withoutFrames(List<String> lines) {
        return lines.stream()
                .filter(line -> !FRAME.matcher(line).matches())
                .sorted()
                .toList();
    }

    @ParameterizedTest
    @MethodSource("notebooks")
    void hasTheCodeOfItsProgram(Path notebook) throws IOException {
        assertThat(withoutFrames(code(notebook)))
                .as("write it again: python examples/notebooks/notebook.py " + notebook)
                .isEqualTo(withoutFrames(program(notebook)));
    }

    @ParameterizedTest
    @MethodSource("chapters")
    void hasTheTextOfItsChapter(Path chapter) throws IOException {
        Path notebook = BOOK.resolve(chapter.getFileName().toString().replace(".md", ".ipynb"));
        List<String> text = Pattern.compile("(?m)^<!-- code: .* -->$")
                .splitAsStream(Files.readString(chapter))
                .map(String::strip)
                .filter(part -> !part.isEmpty())
                .toList();
        assertThat(cells(notebook, "markdown"))
                .as("write it again: python examples/notebooks/notebook.py " + notebook)
                .isEqualTo(text);
    }

    /** The versions in the parent's POM, as {@code <artifactId>name</artifactId><version>version</version>}. */
    private static String versions() throws IOException {
        String pom = Files.readString(EXAMPLES.resolveSibling("parent/pom.xml")).replaceAll("\\s+", "");
        String versions = pom.replace("${project.version}", "${revision}");
        for (MatchResult property : Pattern.compile("<([a-z.]+)>([^<]+)</\\1>")
                .matcher(pom)
                .results()
                .toList()) {
            versions = versions.replace("${" + property.group(1) + "}", property.group(2));
        }
        return versions;
    }

    @ParameterizedTest
    @MethodSource("notebooks")
    void namesTheVersionsOfTheBuild(Path notebook) throws IOException {
        String versions = versions();
        List<String> artifacts = code(notebook).stream()
                .filter(line -> line.startsWith("%maven "))
                .toList();
        assertThat(artifacts).isNotEmpty().allSatisfy(artifact -> {
            String[] parts = artifact.split(":", -1);
            // the notebooks have the silent provider of SLF4J
            String name = parts[1].replace("slf4j-nop", "slf4j-simple");
            assertThat(versions)
                    .contains(
                            "<artifactId>" + name + "</artifactId><version>" + parts[parts.length - 1] + "</version>");
        });
    }
}
