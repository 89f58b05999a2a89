package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.Json;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Nightly;
import io.github.djlpositional.support.OnPyTorch;
import io.github.djlpositional.support.Sampled;
import java.io.IOException;
import java.nio.DoubleBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares each model type with the classes of transformers, for about a hundred configurations of each: missing keys,
 * nulls, and keys that the type reads or does not read. {@code make_model_types.py} describes the file. On one engine,
 * since reading a configuration does not depend on it.
 */
@Sampled(oneIn = 2)
class ModelTypesTest extends OnPyTorch {

    private static final String MISSING = "missing";
    private static final int TOKENS = 12;
    private static final int FAR = 1_000_000;

    /**
     * transformers computes angles, cosines and sines in float32: an angle of at most 12 has an error of 2^-20, which
     * changes a score of at most 10 by 1e-5; a sum has up to 768 outputs of about 1, and random signs.
     */
    private static final double ERROR = 1e-3;

    /** Types whose rope_theta versions of transformers disagree about, so that it must be given. */
    private static final Set<String> UNKNOWN_BASE =
            Set.of("cohere", "falcon_h1", "olmo3", "qwen3_vl_text", "qwen3_vl_moe_text");

    /** Keys that are not read for layers without a window or a norm. */
    private static final Set<String> READ_IN_SOME_LAYERS = Set.of("use_sliding_window", "rms_norm_eps");

    /** The numbers of attentions and rotations by their description, which types share. */
    private static final Map<String, double[]> COMPUTED = new ConcurrentHashMap<>();

    /** Changes of a base configuration, and the lines of each type. */
    private static String[] lines() throws IOException {
        return Files.readString(ModelTable.CONFIGURATIONS.resolve("model_types.txt"))
                .split("\ntype ", -1);
    }

    static List<String> names() throws IOException {
        return Stream.of(lines()).skip(1).map(lines -> words(lines)[0]).toList();
    }

    private static String[] words(String text) {
        return text.split(" ", -1);
    }

    private static Map<String, Object> json(String line) throws IOException {
        return Json.read(line.substring(line.indexOf('{')).getBytes(StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @MethodSource("names")
    void computesAsTransformers(String type) throws Exception {
        String[] all = lines();
        String text = all[1 + names().indexOf(type)];
        Map<String, Object> base =
                new LinkedHashMap<>(json(text.lines().findFirst().orElseThrow()));
        base.put("model_type", type);
        Map<String, Map<String, Object>> changes = new LinkedHashMap<>();
        Map<String, String> expected = new HashMap<>();
        for (String line : (all[0] + "\n" + text).split("\n", -1)) {
            if (line.startsWith("change ")) {
                changes.put(line.substring("change ".length(), line.indexOf('{') - 1), json(line));
            } else {
                String[] parts = line.split(" [|] ", -1);
                Stream.of(parts[parts.length - 1].split(", ", -1)).forEach(name -> expected.put(name, parts[0]));
            }
        }
        List<String> differences = new ArrayList<>();
        assertThat(text).contains("\nsizes " + sizes(type) + "\n");
        changes.forEach((name, change) -> {
            // in a build, one type in three for each change that has no effect
            boolean isChosen = expected.containsKey(name) || Math.floorMod((type + name).hashCode(), 3) == 0;
            if (!Nightly.RUNS && !isChosen) {
                return;
            }
            Map<String, Object> config = new LinkedHashMap<>(base);
            config.putAll(change);
            config.values().removeIf(MISSING::equals);
            String result = expected.getOrDefault(name, expected.get("base"));
            String difference = result.equals("error")
                    ? (isUnreadableNull(type, name) ? accepted(config) : null)
                    : difference(manager, config, result);
            if (difference != null
                    && !isKnown(type, name, difference)
                    && keys(change).noneMatch(difference.replaceAll("[:,].*", "")::contains)) {
                differences.add(name + " expected " + result + " but " + difference);
            }
        });
        assertThat(differences).isEmpty();
    }

    static List<String> rotations() throws IOException {
        return Files.readAllLines(ModelTable.CONFIGURATIONS.resolve("rotations.txt")).stream()
                .skip(1)
                .toList();
    }

    /** Configurations that are easily read in another way; {@code make_rotations.py} describes the file. */
    @ParameterizedTest
    @MethodSource("rotations")
    void rotatesTheLayersThatTransformersRotates(String line) throws Exception {
        String[] parts = line.split(" [|] ?", -1);
        HuggingFaceConfig config = HuggingFaceConfig.of(json(parts[0]));
        Set<Integer> rotated = new TreeSet<>();
        for (String group : parts[1].isEmpty() ? new String[0] : parts[1].split("; ", -1)) {
            int end = group.indexOf(": ");
            double[] expected = Stream.of(words(group.substring(end + 2)))
                    .mapToDouble(Double::parseDouble)
                    .toArray();
            for (String layer : words(group.substring(0, end))) {
                ModelAttention attention = new ModelAttention(config, Integer.parseInt(layer));
                assertThat(result(manager, config, attention, expected))
                        .as("layer %s", layer)
                        .containsExactly(expected, within(ERROR));
                rotated.add(Integer.parseInt(layer));
            }
        }
        assertThat(IntStream.range(0, 6).filter(config::isRotated).boxed()).containsExactlyElementsOf(rotated);
        if (rotated.isEmpty()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(config::rotary)
                    .withMessageContaining("optRelativeEncoding");
        }
    }

    /** Values that versions of transformers disagree about, or that fit no other sizes, and a mistake of version 5. */
    private static boolean isKnown(String type, String change, String difference) {
        return difference.startsWith("mrope_section [")
                || (UNKNOWN_BASE.contains(type) && difference.startsWith("rope_theta is missing"))
                // truncate is looked for beside the sections of the layer types, where it cannot be
                || (type.matches("gemma3n?_text") && change.equals("yarn exactly"))
                // the expected attention is called without the biases; peers has the whole model
                || (type.equals("falcon") && change.equals("alibi true"));
    }

    /** Whether a change that transformers refuses is a null in place of a default that this library reads. */
    private static boolean isUnreadableNull(String name, String change) {
        ModelType type = ModelType.of(name);
        String key = change.startsWith("null ") ? change.substring("null ".length()) : null;
        return key != null
                && !READ_IN_SOME_LAYERS.contains(key)
                && type.keyOf(key).equals(key)
                && type.reads(key)
                && !type.isNullable(key)
                && type.value(key, Map.of()) != null;
    }

    /** Null for a configuration that is refused. */
    private static String accepted(Map<String, Object> config) {
        try {
            HuggingFaceConfig read = HuggingFaceConfig.of(config);
            read.attention(0, read.facts.requireInt("max_position_embeddings")).build();
            return "accepted";
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** The keys that a change sets. */
    private static Stream<String> keys(Map<?, ?> change) {
        return change.entrySet().stream()
                .filter(entry -> entry.getValue() != null && !entry.getValue().equals(MISSING))
                .flatMap(entry -> Stream.concat(
                        Stream.of(entry.getKey().toString()),
                        entry.getValue() instanceof Map<?, ?> inner ? keys(inner) : Stream.of()));
    }

    /** What configurations without keys mean. */
    private static String sizes(String name) {
        ModelType type = ModelType.of(name);
        Object[] sizes =
                ModelType.SIZES.stream().map(each -> type.value(each, Map.of())).toArray();
        sizes[3] = sizes[3] == null ? sizes[2] : sizes[3];
        Stream<Object> parts =
                Stream.of("qk_nope_head_dim", "qk_rope_head_dim").map(each -> type.value(each, Map.of()));
        int latent = parts.mapToInt(each -> each == null ? 0 : ((Number) each).intValue())
                .sum();
        if (latent > 0) {
            sizes[4] = latent;
        } else if (sizes[4] == null) {
            sizes[4] = ((Number) sizes[0]).intValue() / ((Number) sizes[2]).intValue();
        }
        return Stream.of(sizes).map(String::valueOf).collect(Collectors.joining(" "));
    }

    private static String difference(NDManager manager, Map<String, Object> config, String expected) {
        try {
            HuggingFaceConfig rope = HuggingFaceConfig.of(config);
            Map<String, double[]> results = new HashMap<>();
            for (String group : expected.split("; ", -1)) {
                int end = group.indexOf(": ");
                double[] numbers = Stream.of(words(group.substring(end + 2)))
                        .mapToDouble(Double::parseDouble)
                        .toArray();
                for (String layer : words(group.substring(0, end))) {
                    ModelAttention attention = new ModelAttention(rope, Integer.parseInt(layer));
                    double[] actual = results.computeIfAbsent(
                            attention.kind(), kind -> result(manager, rope, attention, numbers));
                    if (IntStream.range(0, numbers.length).anyMatch(i -> !(Math.abs(actual[i] - numbers[i]) < ERROR))) {
                        return "layer " + layer + ": " + Arrays.toString(actual);
                    }
                }
            }
            return null;
        } catch (IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    private static double[] result(
            NDManager manager, HuggingFaceConfig config, ModelAttention attention, double... expected) {
        if (expected.length > 3) {
            RotaryEmbeddingBlock rotary =
                    config.rotary(attention.layerType(), TOKENS).build();
            int size = (int) expected[2];
            double[] sums =
                    COMPUTED.computeIfAbsent(rotary + " " + size, description -> rotated(manager, rotary, size));
            return new double[] {sums[0], sums[1], size, config.getScale()};
        }
        MultiHeadAttentionBlock block = attention.builder(TOKENS).build();
        boolean hasNorm = block.getArguments().get("queryNorm") != null
                && !config.toString().contains("llama4"); // normalizes without weights
        boolean hasResult = !config.toString().contains("roformer"); // is compared without the last projection
        return COMPUTED.computeIfAbsent(
                block + " " + hasNorm + " " + hasResult, description -> attended(manager, block, hasNorm, hasResult));
    }

    /** Two sums over the rotated numbers of a head, or of its last dimensions. */
    private static double[] rotated(NDManager manager, RotaryEmbeddingBlock block, int size) {
        int headSize = block.getHeadSize();
        try (NDManager sub = manager.newSubManager()) {
            double[] heads = values(TOKENS * headSize, i -> number(1, Math.max(0, i % headSize - (headSize - size))));
            double[] all = Forward.infer(sub, block, sub.create(heads, new Shape(1, 1, TOKENS, headSize)))
                    .toDoubleArray();
            double[] out = values(TOKENS * size, i -> all[i / size * headSize + headSize - size + i % size]);
            return new double[] {sum(out, 8), sum(out, 9)};
        } finally {
            block.clear();
        }
    }

    /** Two sums over the outputs, and how far a late token sees; -1 for all tokens. */
    private static double[] attended(
            NDManager manager, MultiHeadAttentionBlock block, boolean hasNorm, boolean hasResult) {
        try (NDManager sub = manager.newSubManager()) {
            int size = block.getEmbeddingSize();
            block.setInitializer(Initializer.ZEROS, Parameter.Type.WEIGHT);
            block.initialize(sub, DataType.FLOAT64, new Shape(1, TOKENS, size));
            fill(block, hasNorm, hasResult);
            NDArray x = sub.create(values(TOKENS * size, i -> 2 * number(1, i)), new Shape(1, TOKENS, size));
            double[] out = Forward.infer(sub, block, x).toDoubleArray();
            return new double[] {sum(out, 8), sum(out, 9), reach(block.getArguments())};
        } finally {
            block.clear();
        }
    }

    private static int reach(Map<String, Object> arguments) {
        if (arguments.get("chunkSize") != null) {
            return FAR % (int) arguments.get("chunkSize");
        }
        if (arguments.get("window") == null) {
            return -1;
        }
        int window = (int) arguments.get("window");
        return (boolean) arguments.get("causal") ? window - 1 : window / 2;
    }

    private static void fill(MultiHeadAttentionBlock block, boolean hasNorm, boolean hasResult) {
        int size = block.getEmbeddingSize();
        block.getParameters().forEach(entry -> {
            String name = entry.getKey();
            NDArray array = entry.getValue().getArray();
            int seed = name.endsWith("bias") ? 10 : 0;
            if (name.contains("queryProjection") || name.contains("keyProjection")) {
                set(array, seed + (name.contains("query") ? 2 : 3), hasNorm ? 0.01 : 1.5, 0);
            } else if (name.contains("valueProjection") || (name.contains("resultProjection") && hasResult)) {
                set(array, seed + (name.contains("value") ? 4 : 5), 1, 0);
            } else if (name.contains("resultProjection")) {
                array.set(DoubleBuffer.wrap(
                        values((int) array.size(), i -> seed == 0 && i / size == i % size ? 1 : 0)));
            } else if (name.contains("Norm")) {
                set(array, name.contains("query") ? 6 : 7, hasNorm ? 1 : 0, 1);
            } else {
                set(array, 8, 4, 0);
            }
        });
    }

    private static void set(NDArray array, int seed, double factor, double added) {
        array.set(DoubleBuffer.wrap(values((int) array.size(), i -> number(seed, i))));
        array.muli(factor).addi(added);
    }

    private static double[] values(int count, IntToDoubleFunction function) {
        return IntStream.range(0, count).mapToDouble(function).toArray();
    }

    private static double sum(double[] values, int seed) {
        return Arrays.stream(values(values.length, i -> values[i] * number(seed, i)))
                .sum();
    }

    /** A number from -0.5 to 0.5, as in the program that wrote the file. */
    private static double number(int seed, int i) {
        int h = (i + seed * 1_000_003) * (int) 2_654_435_769L;
        h ^= h >>> 15;
        h *= (int) 2_246_822_519L;
        h ^= h >>> 13;
        return Integer.toUnsignedLong(h) / 0x1p32 - 0.5;
    }
}
