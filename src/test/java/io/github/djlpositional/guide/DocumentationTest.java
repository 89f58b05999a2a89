package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Keeps the README and the guide true: their Java is that of tests in this package, their links lead somewhere, and every
 * message that the library throws is explained.
 *
 * <p>A block of Java stands behind {@code <!-- code: ReadmeCodeTest#embedding -->} and is what is between {@code tag::embedding[]}
 * and {@code end::embedding[]} there. {@code mvn test -Dtest=DocumentationTest -Dguide.write=true} puts it in.
 */
class DocumentationTest {

    private static final Path SOURCES = Path.of("src/main/java");

    /** The guide's own code, and that of the examples' tests. */
    private static final List<Path> CODE = List.of(
            Path.of("src/test/java/io/github/djlpositional/guide"),
            Path.of("examples/src/test/java/io/github/djlpositional/examples"));

    private static final Pattern BLOCK =
            Pattern.compile("(?:<!-- code: (\\w+)#([\\w-]+) -->\\n)?```java\\n(.*?)```\\n", Pattern.DOTALL);

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]+)?(#[^)]+)?\\)");

    private static List<Path> pages() throws IOException {
        try (Stream<Path> docs = Files.list(Path.of("docs"))) {
            return Stream.concat(
                            Stream.of("README.md", "CONTRIBUTING.md", "benchmarks/README.md")
                                    .map(Path::of),
                            docs.filter(page -> page.toString().endsWith(".md")))
                    .sorted()
                    .toList();
        }
    }

    @TestFactory
    Stream<DynamicTest> everyBlockOfJavaIsThatOfATest() throws IOException {
        return pages().stream().map(page -> DynamicTest.dynamicTest(page.toString(), () -> requireTested(page)));
    }

    private static void requireTested(Path page) throws IOException {
        String text = Files.readString(page);
        StringBuilder tested = new StringBuilder();
        Matcher block = BLOCK.matcher(text);
        while (block.find()) {
            assertThat(block.group(1))
                    .as("a block of Java without the test that it comes from: %s", block.group(3))
                    .isNotNull();
            String code = codeOf(block.group(1), block.group(2));
            String whole = "<!-- code: " + block.group(1) + "#" + block.group(2) + " -->\n```java\n" + code + "```\n";
            block.appendReplacement(tested, Matcher.quoteReplacement(whole));
        }
        block.appendTail(tested);
        assertThat(tested.toString().split("```java", -1))
                .as("every block was found")
                .hasSize(text.split("```java", -1).length);
        if (Boolean.getBoolean("guide.write")) {
            Files.writeString(page, tested);
        }
        assertThat(Files.readString(page)).isEqualTo(tested.toString());
    }

    private static Path source(String test) {
        return CODE.stream()
                .map(folder -> folder.resolve(test + ".java"))
                .filter(Files::exists)
                .findFirst()
                .orElseThrow(() -> new AssertionError("there is no test " + test));
    }

    /** All that is marked with a tag, further pieces behind the first, without the first one's indentation. */
    private static String codeOf(String test, String tag) throws IOException {
        StringBuilder code = new StringBuilder();
        int indent = -1;
        boolean isInside = false;
        for (String line : Files.readAllLines(source(test))) {
            if (line.strip().equals("// tag::" + tag + "[]")) {
                isInside = true;
                indent = indent < 0 ? line.indexOf("//") : indent;
            } else if (line.strip().equals("// end::" + tag + "[]")) {
                isInside = false;
            } else if (isInside) {
                code.append(line.substring(Math.min(indent, line.length()))).append('\n');
            }
        }
        assertThat(code.toString()).as("%s#%s", test, tag).isNotEmpty();
        return code.toString();
    }

    @Test
    void everyLinkLeadsSomewhere() throws IOException {
        for (Path page : pages()) {
            Matcher link = LINK.matcher(Files.readString(page));
            while (link.find()) {
                Path target = link.group(1) == null
                        ? page
                        : page.resolveSibling(link.group(1)).normalize();
                assertThat(target).as("a link in %s", page).exists();
                if (link.group(2) != null) {
                    assertThat(anchors(target)).as("a link in %s", page).contains(link.group(2));
                }
            }
        }
    }

    /** The headings as GitHub links to them. */
    private static List<String> anchors(Path page) throws IOException {
        return Files.readAllLines(page).stream()
                .filter(line -> line.startsWith("#"))
                .map(line -> "#"
                        + line.replaceFirst("#+ ", "")
                                .toLowerCase(Locale.ROOT)
                                .replaceAll("[^\\w\\s-]", "")
                                .replace(' ', '-'))
                .toList();
    }

    /** The constructor of what is thrown; its message, of literals and values, follows. */
    private static final Pattern THROWN = Pattern.compile("new (?:\\w+)(?:Exception|Error)\\(");

    private static final Pattern LITERAL = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");

    @Test
    void everyMessageIsExplained() throws IOException {
        String explained = Files.readString(Path.of("docs/troubleshooting.md")).replaceAll("\\s+", " ");
        List<String> missing = new ArrayList<>();
        int found = 0;
        try (Stream<Path> files = Files.walk(SOURCES)) {
            for (Path file : files.filter(path -> path.toString().endsWith(".java"))
                    .sorted()
                    .toList()) {
                String text = Files.readString(file);
                Matcher thrown = THROWN.matcher(text);
                while (thrown.find()) {
                    String sign = longestLiteral(text.substring(thrown.end(), statementEnd(text, thrown.end())));
                    found += sign.isEmpty() ? 0 : 1;
                    if (!explained.contains(sign)) {
                        missing.add(file.getFileName() + ": " + sign);
                    }
                }
            }
        }
        assertThat(missing).isEmpty();
        assertThat(found).isGreaterThan(100);
    }

    private static int statementEnd(String text, int from) {
        Matcher end = Pattern.compile(";\\s*\\n").matcher(text);
        return end.find(from) ? end.start() : text.length();
    }

    /** What a message is known by: of its first sentence, before what is allowed, the longest piece that is always the same. */
    private static String longestLiteral(String arguments) {
        String longest = "";
        Matcher literal = LITERAL.matcher(arguments);
        while (literal.find()) {
            String piece = literal.group(1);
            int allowed = piece.indexOf(": ");
            String given = (allowed < 0 ? piece : piece.substring(0, allowed)).strip();
            if (given.length() > longest.length()) {
                longest = given;
            }
            if (allowed >= 0) {
                break;
            }
        }
        return longest;
    }

    /** In the projects' files, what they depend on, and what a reader is to write. */
    @Test
    void theVersionIsTheSameEverywhere() throws IOException {
        Pattern version = Pattern.compile("<artifactId>djl-positional[a-z-]*</artifactId>\\s*<version>([^$<]+)<"
                + "|<djl-positional\\.version>([^<]+)<|djlpositional:djl-positional:([^']+)'");
        List<String> found = new ArrayList<>();
        for (String file :
                List.of("pom.xml", "examples/pom.xml", "examples/spark/pom.xml", "benchmarks/pom.xml", "README.md")) {
            Matcher matcher = version.matcher(Files.readString(Path.of(file)));
            while (matcher.find()) {
                found.add(Stream.of(matcher.group(1), matcher.group(2), matcher.group(3))
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElseThrow());
            }
        }
        assertThat(found).hasSize(9).containsOnly(found.get(0));
        assertThat(Files.readString(Path.of("CHANGELOG.md")))
                .contains(found.get(0).endsWith("-SNAPSHOT") ? "## [Unreleased]" : "## [" + found.get(0) + "]");
    }
}
