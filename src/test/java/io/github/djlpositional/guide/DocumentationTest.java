package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.huggingface.ModelTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Compares the README and the guide with the code: every {@linkplain Fragments fragment} is what the code and the
 * measured numbers are, every link has a target, and the versions are those of the build. {@code mvn test
 * -Dtest=DocumentationTest -Dguide.write=true} writes the fragments into the pages.
 */
class DocumentationTest {

    /** A comment, and the block of Java, the table or the part of a line that it describes. */
    private static final Pattern FRAGMENT = Pattern.compile(
            "(<!-- (\\w+): ([^>]+) -->)(?:\\n```java\\n.*?\\n```\\n|((?:\\n\\|[^\\n]*)+)|([^\\n]*?)<!-- end -->)",
            Pattern.DOTALL);

    private static final Pattern LINK = Pattern.compile("\\]\\(([^)#:]+)?(#[^)]+)?\\)");

    /** An artifact of an engine and its version, in XML or for Gradle. */
    private static final Pattern ARTIFACT = Pattern.compile(
            "(?:<artifactId>|:)((?:pytorch|mxnet)-[a-z-]+|bom)(?:</artifactId>\\s*<version>|:)([^<:'\n]+)");

    @TestFactory
    Stream<DynamicTest> everyFragmentIsGenerated() throws IOException {
        return Pages.in(Path.of(".")).stream()
                .map(page -> DynamicTest.dynamicTest(page.toString(), () -> requireGenerated(page)));
    }

    private static void requireGenerated(Path page) throws IOException {
        String text = Files.readString(page);
        StringBuilder generated = new StringBuilder();
        Matcher fragment = FRAGMENT.matcher(text);
        while (fragment.find()) {
            fragment.appendReplacement(generated, Matcher.quoteReplacement(fragment.group(1) + generated(fragment)));
        }
        fragment.appendTail(generated);
        String others = FRAGMENT.matcher(text).replaceAll("");
        assertThat(others)
                .as("without generated fragments")
                .doesNotContain("```java", "<!-- end -->")
                .doesNotContainPattern("<!-- \\w+: |`\\w+\\.builder\\(\\)[^`]*build\\(\\)`");
        // Markdown takes a line that begins with a comment for HTML
        assertThat(text).doesNotContainPattern("(?m)^ *<!-- \\w+: .*<!-- end -->");
        requireText(page, generated.toString());
    }

    private static void requireText(Path file, String generated) throws IOException {
        if (Boolean.getBoolean("guide.write")) {
            Files.writeString(file, generated);
        }
        assertThat(Files.readString(file)).isEqualTo(generated);
    }

    private static String generated(MatchResult fragment) throws IOException {
        String kind = fragment.group(2);
        String argument = fragment.group(3);
        if (kind.equals("code")) {
            return "\n```java\n" + Fragments.code(argument) + "\n```\n";
        }
        if (kind.equals("table")) {
            List<Map<String, String>> old =
                    Tables.rows(fragment.group(4).lines().toList(), "");
            assertThat(Fragments.TABLES).containsKey(argument);
            return Tables.markdown(Fragments.table(argument, old));
        }
        assertThat(Fragments.VALUES).containsKey(kind);
        String[] parts = argument.split(": ", 2);
        String value = Fragments.VALUES.get(kind).text(parts[0], parts[parts.length - 1], fragment.group(5));
        return value + "<!-- end -->";
    }

    /** Written as the fragments are. */
    @Test
    void theTableOfModelTypesIsGenerated() throws IOException {
        requireText(Path.of("docs/model-types.csv"), Tables.csv(ModelTable.types()));
    }

    @Test
    void everyLinkHasATarget() throws IOException {
        for (Path page : Pages.in(Path.of("."))) {
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

    @Test
    void everySectionInAMessageExists() throws IOException {
        Pattern section = Pattern.compile("see (docs/[\\w-]+\\.md)(#?[\\w-]*)");
        List<MatchResult> sections = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                section.matcher(Files.readString(file)).results().forEach(sections::add);
            }
        }
        assertThat(sections).hasSizeGreaterThan(5);
        for (MatchResult found : sections) {
            assertThat(anchors(Path.of(found.group(1)))).contains(found.group(2));
        }
    }

    @Test
    void theVersionIsTheSameEverywhere() throws IOException {
        String version = "(?:<artifactId>djl-positional[a-z-]*</artifactId>\\s*<version>|<revision>"
                + "|djlpositional:djl-positional:)([^$<'`\n]+)[<'`\n]";
        List<String> found = new ArrayList<>();
        for (String file : List.of(
                "parent/pom.xml",
                "README.md",
                "docs/compatibility.md",
                "examples/book/src/main/resources/chapters/Model.md",
                "docs/PositionTable.java",
                "docs/position-table.jsh")) {
            found.addAll(matches(version, Path.of(file)));
        }
        assertThat(found).hasSizeGreaterThan(5).containsOnly(found.get(0));
        String release = found.get(0).replace("-SNAPSHOT", "");
        assertThat(Files.readString(Path.of("CHANGELOG.md")))
                .contains(release.equals(found.get(0)) ? "## [" + release + "]" : "## [Unreleased] " + release + "\n");
    }

    @Test
    void snippetsUseTheEnginesOfTheBuild() throws IOException {
        Path build = Path.of("parent/pom.xml");
        String djl = matches("<djl\\.version>([^<]+)<", build).get(0);
        String pytorch = matches("<pytorch\\.version>([^<]+)<", build).get(0);
        String mxnet = matches("<mxnet\\.version>([^<]+)<", build).get(0);
        for (Path page : Stream.of("README.md", "docs/compatibility.md", "docs/PositionTable.java")
                .map(Path::of)
                .toList()) {
            Stream<String> found = ARTIFACT.matcher(Files.readString(page))
                    .results()
                    .map(match -> match.group(1) + " " + match.group(2));
            assertThat(found)
                    .as("%s", page)
                    .isNotEmpty()
                    .isSubsetOf(
                            "bom " + djl,
                            "pytorch-engine " + djl,
                            "pytorch-jni " + pytorch + "-" + djl,
                            "pytorch-native-cpu " + pytorch,
                            "mxnet-engine " + djl,
                            "mxnet-native-mkl " + mxnet);
        }
    }

    /** Without a provider, warnings vanish. */
    @Test
    void snippetsHaveAnSlf4jProviderOfTheBuild() throws IOException {
        String provider = "slf4j-simple(?:</artifactId><version>|:)([^<']+)[<']";
        List<String> version = matches(provider, Path.of("parent/pom.xml"));
        for (String page : List.of("README.md", "docs/compatibility.md")) {
            assertThat(matches(provider, Path.of(page))).as(page).isEqualTo(version);
        }
    }

    /** The group of each occurrence of a pattern. */
    private static List<String> matches(String pattern, Path file) throws IOException {
        return Pattern.compile(pattern)
                .matcher(Files.readString(file))
                .results()
                .map(match -> match.group(1))
                .toList();
    }
}
