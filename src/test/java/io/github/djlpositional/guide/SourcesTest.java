package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Compares docs/sources.csv and docs/encodings.md with the encodings of the library and the papers in their Javadoc.
 */
class SourcesTest {

    /** Blocks without an encoding of their own. */
    private static final Set<String> OTHERS = Set.of(
            "FeedForwardBlock",
            "HuggingFaceBlockFactory",
            "InputEmbeddingBlock",
            "LayerNormBlock",
            "PatchEmbeddingBlock",
            "PoolingBlock",
            "ProjectionBlock",
            "SavedBlockFactory",
            "MultiHeadAttentionBlock",
            "RmsNormBlock",
            "TransformerLayerBlock",
            "TransformerStackBlock",
            "VisionTransformerBlock");

    private static final Pattern PAPER = Pattern.compile("https://arxiv\\.org/abs/([0-9.]+)");

    private static List<Map<String, String>> rows() throws IOException {
        return Tables.csv("docs/sources.csv");
    }

    /** The sources of each encoding that the page lists: SinusoidalEncoding.fairseq for `fairseq(4)`. */
    private static Map<String, String> sources() throws IOException {
        return Tables.rows("docs/encodings.md", "source").stream()
                .collect(Collectors.toMap(SourcesTest::nameOf, row -> row.get("source"), (a, b) -> a + b));
    }

    private static String nameOf(Map<String, String> row) {
        String column = row.keySet().iterator().next();
        String type = column.startsWith("`") ? column.replaceAll("[`…]", "") : "";
        return type + row.get(column).replaceFirst("`(\\w+).*", "$1");
    }

    @Test
    void everyEncodingHasARow() throws IOException {
        Set<String> encodings = Files.readAllLines(Path.of("src/test/resources/api.txt")).stream()
                .filter(line -> line.contains(": public final class of ") && line.contains(" ai.djl.nn.Block"))
                .map(line -> line.replaceFirst(":.*", "").replaceFirst(".*\\.", ""))
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(encodings).containsAll(OTHERS);
        encodings.removeAll(OTHERS);
        Stream.of(SinusoidalEncoding.class, GridEncoding.class, FourierFeatures.class, RotaryScaling.class)
                .forEach(type -> addFactories(encodings, type, type));
        addFactories(encodings, RotaryPresets.class, RotaryEmbeddingBlock.Builder.class);
        assertThat(rows().stream().map(row -> row.get("in code"))).containsExactlyInAnyOrderElementsOf(encodings);
    }

    private static void addFactories(Set<String> names, Class<?> type, Class<?> result) {
        Stream.of(type.getDeclaredMethods())
                .filter(method -> Modifier.isStatic(method.getModifiers()) && Modifier.isPublic(method.getModifiers()))
                .filter(method -> result.isAssignableFrom(method.getReturnType()))
                .map(Method::getName)
                .filter(name -> !name.equals("fromArguments"))
                .forEach(name -> names.add(type.getSimpleName() + "." + name));
    }

    @Test
    void everyRowHasCodeOrAPaper() throws IOException {
        for (Map<String, String> row : rows()) {
            boolean hasCode = !row.get("published code").isEmpty();
            for (String javadoc : javadocs(row.get("in code"))) {
                if (!hasCode) {
                    assertThat(papers(javadoc)).as("%s", row).isNotEmpty();
                }
            }
        }
    }

    @Test
    void thePageLinksThePapersOfTheJavadoc() throws IOException {
        Map<String, String> sources = sources();
        assertThat(rows()).extracting(row -> row.get("in code")).containsAll(sources.keySet());
        assertThat(sources).hasSizeGreaterThan(40);
        for (String name : sources.keySet()) {
            for (String javadoc : javadocs(name)) {
                assertThat(papers(sources.get(name))).as(name).isEqualTo(papers(javadoc));
            }
        }
    }

    private static Set<String> papers(String text) {
        return PAPER.matcher(text).results().map(match -> match.group(1)).collect(Collectors.toSet());
    }

    /** The comments of a class, or of all methods of a class that have a name, or of the record that they create. */
    private static List<String> javadocs(String name) throws IOException {
        String[] parts = name.split("\\.", -1);
        Path source;
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            source = files.filter(file -> file.endsWith(parts[0] + ".java"))
                    .findFirst()
                    .orElseThrow();
        }
        String declaration = parts.length == 1
                ? "public [a-z ]*(?:class|interface) " + name + "\\b"
                : "(?:public )?static [\\w.]+ " + parts[1] + "\\(";
        String record = "record " + Character.toUpperCase(parts[parts.length - 1].charAt(0))
                + parts[parts.length - 1].substring(1) + "\\(";
        String code = Files.readString(source);
        List<String> comments =
                comments(code, Pattern.compile(record).matcher(code).find() ? record : declaration);
        assertThat(comments).as(name).isNotEmpty();
        return comments;
    }

    private static List<String> comments(String code, String declaration) {
        return Pattern.compile("/\\*\\*((?:(?!\\*/).)*)\\*/\\s*" + declaration, Pattern.DOTALL)
                .matcher(code)
                .results()
                .map(match -> match.group(1))
                .toList();
    }
}
