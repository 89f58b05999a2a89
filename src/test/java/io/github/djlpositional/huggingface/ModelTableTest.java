package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.util.JsonUtils;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares docs/models.csv with the library: a model of which a layer is named with what {@link HuggingFaceConfig}
 * reads from its published configuration, the others with the block that their encoding is.
 */
class ModelTableTest {

    private static final String OPTIONS = "scaling or options";
    private static final String UNKNOWN = "-";

    static Stream<Map<String, String>> others() throws IOException {
        return ModelTable.models().stream().filter(row -> row.get("layer").isEmpty());
    }

    @Test
    void everyConfigurationHasARow() throws IOException {
        assertThat(ModelTable.configured().stream().map(row -> row.get("model")).collect(Collectors.toSet()))
                .isEqualTo(ModelTable.published());
    }

    /**
     * With the classes of transformers or a published configuration, as a whole model in {@code peers}, or it is the
     * same as a type that is. Those of vision towers are in HuggingFaceConfigTest.
     */
    @ParameterizedTest
    @MethodSource("io.github.djlpositional.huggingface.ModelTable#configured")
    void aConfigurationIsReadAsTheTableSays(Map<String, String> row) throws Exception {
        HuggingFaceConfig config =
                HuggingFaceConfig.read(ModelTable.CONFIGURATIONS.resolve(row.get("model") + ".json"));
        ModelAttention layer = new ModelAttention(config, Integer.parseInt(row.get("layer")));
        Map<String, String> actual = new LinkedHashMap<>(row);
        actual.put("model_type", config.config.get("model_type").toString());
        RotaryEmbeddingBlock rotary;
        if (row.get("window").equals(UNKNOWN)) {
            rotary = config.rotary(layer.layerType(), 1).build();
        } else {
            MultiHeadAttentionBlock attention = layer.builder(config.facts.requireInt("max_position_embeddings"))
                    .build();
            Map<String, Object> arguments = attention.getArguments();
            rotary = attention.getRelativeEncodings().stream()
                    .map(RotaryEmbeddingBlock.class::cast)
                    .findFirst()
                    .orElse(null);
            Object chunk = arguments.get("chunkSize");
            actual.put("encoding", rotary == null ? "none" : "rotary");
            actual.put("heads", "" + attention.getHeadCount());
            actual.put("head size", "" + attention.getHeadSize());
            actual.put("window", chunk == null ? text(arguments.get("window")) : chunk + " (chunks)");
            // an epsilon is a power of ten
            actual.put(
                    "norm",
                    arguments.get("queryNorm") instanceof Map<?, ?> norm
                            ? "1e" + Math.round(Math.log10((double) norm.get("epsilon")))
                            : "");
        }
        if (rotary != null) {
            putAll(actual, rotary.getArguments());
        }
        assertThat(actual).isEqualTo(row);
        String scale = row.get("scale");
        assertThat(config.getScale())
                .isCloseTo(
                        scale.isEmpty()
                                ? 1 / Math.sqrt(Integer.parseInt(row.get("head size")))
                                : Double.parseDouble(scale),
                        within(1e-12));
    }

    private static void putAll(Map<String, String> row, Map<String, Object> rotary) {
        Object limit = rotary.getOrDefault("autoExtend", rotary.get("maxSequenceLength"));
        assertThat(rotary.get("maxSequenceLength")).isEqualTo(Math.min((int) limit, 4096));
        row.put("head size", text(rotary.get("headSize")));
        row.put("layout", text(rotary.get("layout")).toLowerCase(Locale.ROOT));
        row.put("context", text(limit));
        if (rotary.get("frequencies") instanceof Map<?, ?> proportional) {
            double share = (double) proportional.get("share");
            row.put("rotated", text(share * (int) rotary.get("headSize")));
        } else {
            row.put("rotated", text(rotary.get("rotarySize")));
            row.put("θ", text(rotary.get("base")));
        }
        row.put(OPTIONS, scaling(rotary));
    }

    private static String text(Object value) {
        return value instanceof Double number && number == number.longValue()
                ? "" + number.longValue()
                : value == null ? "" : value.toString();
    }

    private static String scaling(Map<String, Object> rotary) {
        if (rotary.get("frequencies") != null) {
            return text(((Map<?, ?>) rotary.get("frequencies")).get("type")).toLowerCase(Locale.ROOT);
        }
        if (rotary.get("axes") != null) {
            List<?> axes = (List<?>) ((Map<?, ?>) rotary.get("axes")).get("axes");
            return "axes "
                    + IntStream.range(0, 3)
                            .mapToObj(axis -> ""
                                    + axes.stream()
                                            .filter(each -> each.equals(axis))
                                            .count())
                            .collect(Collectors.joining(" "));
        }
        Map<?, ?> scaling = (Map<?, ?>) rotary.get("scaling");
        return switch (scaling.get("type").toString()) {
            case "None" -> "";
            case "LongRope" -> "longRope " + (int) scaling.get("maxLength") / (int) scaling.get("originalLength");
            default -> {
                String type = text(scaling.get("type")); // the name of a factory begins with a small letter
                yield Character.toLowerCase(type.charAt(0)) + type.substring(1) + " " + text(scaling.get("factor"));
            }
        };
    }

    @ParameterizedTest
    @MethodSource("others")
    void anEncodingIsTheBlockThatTheTableSays(Map<String, String> row) {
        int heads = Integer.parseInt(row.get("heads"));
        int headSize = Integer.parseInt(row.get("head size"));
        int size = heads * headSize;
        String options = row.get(OPTIONS);
        String context = row.get("context");
        switch (row.get("encoding")) {
            case "learned" -> {
                Map<String, Object> arguments = new HashMap<>(Map.of("embeddingSize", size));
                arguments.put(
                        options.isEmpty() ? "maxSequenceLength" : "grid",
                        options.isEmpty() ? Integer.valueOf(context) : map(options));
                LearnedPositionalEncodingBlock block = LearnedPositionalEncodingBlock.fromArguments(arguments);
                assertThat(block.getArguments().get("maxSequenceLength")).hasToString(context);
            }
            case "sinusoidal" -> {
                PositionalEncodingBlock block = PositionalEncodingBlock.builder()
                        .setEmbeddingSize(size)
                        .optEncoding(sinusoids(options, size))
                        .optMaxSequenceLength(Integer.parseInt(context))
                        .build();
                assertThat(block.getArguments().get("maxSequenceLength")).hasToString(context);
            }
            default -> {
                RelativeEncoding encoding = RelativeEncoding.named(row.get("encoding"), heads, headSize, map(options));
                MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(size)
                        .setHeadCount(heads)
                        .optRelativeEncoding(encoding)
                        .build();
                assertThat(attention.getHeadSize()).isEqualTo(headSize);
                Map<String, Object> arguments = ((HasArguments) encoding).getArguments();
                assertThat(map(options))
                        .allSatisfy((name, value) -> assertThat(arguments.get(name))
                                .hasToString(value.toString().replace(".0", "")));
            }
        }
    }

    private static SinusoidalEncoding sinusoids(String name, int size) {
        return switch (name) {
            case "tensor2tensor" -> SinusoidalEncoding.tensor2tensor(size, 1, 10_000);
            case "xTransformers" -> SinusoidalEncoding.xTransformers(size);
            default -> throw new IllegalArgumentException(name);
        };
    }

    @ParameterizedTest
    @MethodSource("layers")
    void aWholeLayerHasTheOptionsThatTheTableSays(String options) {
        Map<Object, Object> arguments = new HashMap<>(map(options));
        Map<Object, Object> feedForward = new HashMap<>(Map.of("embeddingSize", 8, "hiddenSize", 16));
        feedForward.putAll((Map<?, ?>) arguments.getOrDefault("feedForward", Map.of()));
        arguments.put("feedForward", feedForward);
        arguments.put("attention", Map.of("embeddingSize", 8, "headCount", 2));
        Map<String, Object> actual =
                TransformerLayerBlock.fromArguments(arguments).getArguments();
        assertThat(map(options)).isNotEmpty().allSatisfy((name, value) -> requireSame(actual.get(name), value));
    }

    /** Compares the text of values. The options of a block within the layer may have more entries. */
    private static void requireSame(Object actual, Object expected) {
        if (expected instanceof Map<?, ?> options) {
            options.forEach((name, value) -> requireSame(((Map<?, ?>) actual).get(name), value));
        } else {
            assertThat(actual).hasToString(expected.toString());
        }
    }

    static Stream<String> layers() throws IOException {
        return ModelTable.models().stream()
                .map(row -> row.get("whole layer"))
                .filter(options -> !options.startsWith("no: "))
                .distinct();
    }

    /** Options as JSON, with semicolons between them. */
    private static Map<?, ?> map(String options) {
        return JsonUtils.GSON.fromJson("{" + options.replace(';', ',') + "}", Map.class);
    }
}
