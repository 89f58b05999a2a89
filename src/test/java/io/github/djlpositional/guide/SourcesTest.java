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
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Compares docs/sources.csv with the encodings of the library. */
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
        assertThat(Tables.csv("docs/sources.csv"))
                .extracting(row -> row.get("in code"))
                .containsExactlyInAnyOrderElementsOf(encodings);
    }

    private static void addFactories(Set<String> names, Class<?> type, Class<?> result) {
        Stream.of(type.getDeclaredMethods())
                .filter(method -> Modifier.isStatic(method.getModifiers()) && Modifier.isPublic(method.getModifiers()))
                .filter(method -> result.isAssignableFrom(method.getReturnType()))
                .map(Method::getName)
                .filter(name -> !name.equals("fromArguments"))
                .forEach(name -> names.add(type.getSimpleName() + "." + name));
    }
}
