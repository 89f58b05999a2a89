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
 * Compares the README and the guide with the code: every block of Java comes from a test, every link has a target, and
 * the versions are those of the build.
 *
 * <p>A block of Java follows a comment such as {@code <!-- code: ReadmeCodeTest#pairing -->} and equals the lines
 * between {@code tag::pairing[]} and {@code end::pairing[]} in that test. {@code mvn test -Dtest=DocumentationTest
 * -Dguide.write=true} copies the lines into the pages.
 */
class DocumentationTest {

    /** The classes that blocks of Java come from. */
    private static final List<Path> CODE = List.of(
            Path.of("src/test/java/io/github/djlpositional/guide"),
            Path.of("examples/src/test/java/io/github/djlpositional/examples"));

    private static final Pattern BLOCK =
            Pattern.compile("(?:<!-- code: (\\w+)#([\\w-]+) -->\\n)?```java\\n(.*?)```\\n", Pattern.DOTALL);

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]+)?(#[^)]+)?\\)");

    private static List<Path> pages() throws IOException {
        try (Stream<Path> docs = Files.list(Path.of("docs"))) {
            return Stream.concat(
                            Stream.of(
                                            "README.md",
                                            "CONTRIBUTING.md",
                                            "CHANGELOG.md",
                                            "benchmarks/README.md",
                                            "benchmarks/results.md",
                                            "examples/README.md")
                                    .map(Path::of),
                            docs.filter(page -> page.toString().endsWith(".md")))
                    .sorted()
                    .toList();
        }
    }

    @TestFactory
    Stream<DynamicTest> everyBlockOfJavaComesFromATest() throws IOException {
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

    /** The lines between all pairs of a tag, without the indentation of the first one. */
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
    void everyLinkHasATarget() throws IOException {
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

    private static final Pattern LIBRARY_VERSION =
            Pattern.compile("<artifactId>djl-positional[a-z-]*</artifactId>\\s*<version>([^$<]+)<"
                    + "|<djl-positional\\.version>([^<]+)<|djlpositional:djl-positional:([^']+)'");

    @Test
    void theVersionIsTheSameEverywhere() throws IOException {
        List<String> found = new ArrayList<>();
        for (String file : List.of(
                "pom.xml",
                "examples/pom.xml",
                "examples/spark/pom.xml",
                "benchmarks/pom.xml",
                "README.md",
                "docs/compatibility.md")) {
            found.addAll(versions(LIBRARY_VERSION, Path.of(file)));
        }
        assertThat(found).hasSize(10).containsOnly(found.get(0));
        String version = found.get(0);
        assertThat(Files.readString(Path.of("CHANGELOG.md")))
                .contains(
                        version.endsWith("-SNAPSHOT")
                                ? "## [Unreleased] " + version.replace("-SNAPSHOT", "") + "\n"
                                : "## [" + version + "]");
    }

    @Test
    void snippetsUseTheEnginesOfTheBuild() throws IOException {
        Path build = Path.of("pom.xml");
        String djl = versions(Pattern.compile("<djl\\.version>([^<]+)<"), build).get(0);
        String pytorch =
                versions(Pattern.compile("<pytorch\\.version>([^<]+)<"), build).get(0);
        String mxnet =
                versions(Pattern.compile("<mxnet\\.version>([^<]+)<"), build).get(0);
        Pattern xml = Pattern.compile("<artifactId>((?:pytorch|mxnet)-[a-z-]+)</artifactId>\\s*<version>([^<]+)<");
        Pattern gradle = Pattern.compile("ai\\.djl\\.\\w+:((?:pytorch|mxnet)-[a-z-]+):([^:']+)");
        for (Path page : List.of(Path.of("README.md"), Path.of("docs/compatibility.md"))) {
            String text = Files.readString(page);
            List<String> found = Stream.of(xml, gradle)
                    .flatMap(pattern -> pattern.matcher(text).results())
                    .map(match -> match.group(1) + " " + match.group(2))
                    .distinct()
                    .toList();
            assertThat(found)
                    .as("%s", page)
                    .isNotEmpty()
                    .isSubsetOf(
                            "pytorch-engine " + djl,
                            "pytorch-jni " + pytorch + "-" + djl,
                            "pytorch-native-cpu " + pytorch,
                            "mxnet-engine " + djl,
                            "mxnet-native-mkl " + mxnet);
        }
    }

    /** The groups that match, one of each occurrence. */
    private static List<String> versions(Pattern version, Path file) throws IOException {
        return version.matcher(Files.readString(file))
                .results()
                .map(match -> Stream.iterate(1, group -> group + 1)
                        .limit(match.groupCount())
                        .map(match::group)
                        .filter(Objects::nonNull)
                        .findFirst()
                        .orElseThrow())
                .toList();
    }
}
