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
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Compares the README and the guide with the code: every {@linkplain Fragments fragment} is what the code and the
 * measured numbers are, and the versions are those of the build. The site checks links. {@code mvn test
 * -Dtest=DocumentationTest -Dguide.write=true} writes the fragments into the pages.
 */
class DocumentationTest {

    /** A comment, and the block of Java, the table or the part of a line that it describes. */
    private static final Pattern FRAGMENT = Pattern.compile(
            "(<!-- (\\w+): ([^>]+) -->)(?:\\n```java\\n(?:.*?\\n)??```\\n|((?:\\n\\|[^\\n]*)+)|([^\\n]*?)<!-- end -->)",
            Pattern.DOTALL);

    /** An artifact and its version, in XML or for Gradle. */
    private static final Pattern ARTIFACT =
            Pattern.compile("(?:<artifactId>|:)([\\w-]+)(?:</artifactId>\\s*<version>|:)([^<:'`\\s]+)");

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
                .doesNotContainPattern("(?<!`)<!-- \\w+: |`\\w+\\.builder\\(\\)[^`]*build\\(\\)`");
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
            List<Map<String, String>> old = Tables.table(fragment.group(4));
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

    /** The site checks links; these are in messages of the library. */
    @Test
    void everySectionInAMessageExists() throws IOException {
        Pattern section = Pattern.compile("see (docs/[\\w-]+\\.md)#([\\w-]+)");
        List<MatchResult> sections = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                section.matcher(Files.readString(file)).results().forEach(sections::add);
            }
        }
        assertThat(sections).hasSizeGreaterThan(5);
        for (MatchResult found : sections) {
            Stream<String> anchors = Files.readString(Path.of(found.group(1)))
                    .lines()
                    .filter(line -> line.startsWith("#"))
                    .map(line -> line.toLowerCase(Locale.ROOT).replaceAll("^#+ |[^\\w\\s-]", ""))
                    .map(heading -> heading.replace(' ', '-'));
            assertThat(anchors).as("%s", found.group()).contains(found.group(2));
        }
    }

    /** In snippets, also of an SLF4J provider, without which warnings vanish. */
    @Test
    void everyArtifactHasTheVersionOfTheBuild() throws IOException {
        String build = Files.readString(Path.of("parent/pom.xml"));
        String library = property(build, "revision");
        String djl = property(build, "djl.version");
        String pytorch = property(build, "pytorch.version");
        Map<String, String> versions = Map.of(
                "djl-positional", library,
                "bom", djl,
                "pytorch-engine", djl,
                "pytorch-jni", pytorch + "-" + djl,
                "pytorch-native-cpu", pytorch,
                "mxnet-engine", djl,
                "mxnet-native-mkl", property(build, "mxnet.version"),
                "slf4j-simple", build.replaceAll("(?s).*>slf4j-simple</artifactId><version>(.*?)<.*", "$1"));
        Map<String, Set<String>> artifacts = Map.of(
                "README.md", Set.of("djl-positional", "bom", "slf4j-simple"),
                "docs/compatibility.md", Set.of("djl-positional", "pytorch-native-cpu", "slf4j-simple"),
                "docs/PositionTable.java", Set.of("djl-positional", "pytorch-native-cpu"),
                "docs/position-table.jsh", Set.of("djl-positional"),
                "examples/book/src/main/resources/chapters/Model.md", Set.of("djl-positional"));
        for (String page : artifacts.keySet()) {
            Map<String, Set<String>> found = ARTIFACT.matcher(Files.readString(Path.of(page)))
                    .results()
                    .filter(artifact -> versions.containsKey(artifact.group(1)))
                    .collect(Collectors.groupingBy(
                            artifact -> artifact.group(1),
                            Collectors.mapping(artifact -> artifact.group(2), Collectors.toSet())));
            assertThat(found.keySet()).as(page).containsAll(artifacts.get(page));
            found.forEach((artifact, all) ->
                    assertThat(all).as("%s in %s", artifact, page).containsExactly(versions.get(artifact)));
        }
        String release = library.replace("-SNAPSHOT", "");
        assertThat(Files.readString(Path.of("CHANGELOG.md")))
                .contains(release.equals(library) ? "## [" + release + "]" : "## [Unreleased] " + release + "\n");
    }

    private static String property(String pom, String name) {
        return pom.replaceAll("(?s).*<" + name + ">(.*?)<.*", "$1");
    }
}
