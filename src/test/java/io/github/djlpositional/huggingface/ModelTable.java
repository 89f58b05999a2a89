package io.github.djlpositional.huggingface;

import io.github.djlpositional.guide.Tables;
import io.github.djlpositional.internal.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The tables of docs/models.md. The rows of docs/model-types.csv follow from the facts of a model type and from what it
 * is compared with; the rows of docs/models.csv are the models that {@link ModelTableTest} tests.
 */
public final class ModelTable {

    static final Path CONFIGURATIONS = Path.of("src/test/resources/configurations");

    private static final Map<String, Object> MEANINGS = Json.resource(ModelTable.class, "meanings.jsonc");

    private ModelTable() {}

    /** Returns the models with their numbers. */
    public static List<Map<String, String>> models() throws IOException {
        return Tables.csv("docs/models.csv");
    }

    /** Returns the models that have a configuration: those of which a layer is named. */
    static List<Map<String, String>> configured() throws IOException {
        return models().stream().filter(row -> !row.get("layer").isEmpty()).toList();
    }

    /** Returns the model types that {@link HuggingFaceConfig} reads. */
    public static List<Map<String, String>> types() throws IOException {
        Set<String> compared = compared();
        List<Map<String, String>> rows = new ArrayList<>();
        for (String name : ofText()) {
            ModelType type = ModelType.of(name);
            Map<String, String> row = new LinkedHashMap<>();
            row.put("model_type", name);
            boolean isRotated = !Set.of("learned", "alibi", "none")
                    .contains(String.valueOf(type.value("position_embedding_type", Map.of())));
            row.put("layout", !isRotated ? "" : isInterleaved(name) ? "interleaved" : "concatenated");
            row.put("known", known(type));
            row.put("attention", meaning(type));
            row.put("only", only(ModelType.of(name)));
            String configurations = configured().stream()
                    .filter(model -> model.get("model_type").equals(name))
                    .map(model -> model.get("model"))
                    .distinct()
                    .collect(Collectors.joining(", "));
            String same = isOnlyLike(type) ? "as " + type.line().get("like") : "";
            boolean isLive = known(type).equals("model") || (same.isEmpty() && configurations.isEmpty());
            row.put("compared with transformers", compared.contains(name) ? "yes" : isLive ? "in peers" : same);
            row.put("compared configurations", configurations);
            rows.add(row);
        }
        return rows;
    }

    /** Returns the model types of a layout, as text. */
    public static String interleaved() {
        return ofText().stream()
                .filter(ModelTable::isInterleaved)
                .map(name -> "`" + name + "`")
                .collect(Collectors.joining(", "));
    }

    private static boolean isInterleaved(String type) {
        return Boolean.TRUE.equals(ModelType.of(type).value("rope_interleave", Map.of()));
    }

    /** Returns the model types without those of vision towers, and of stages of a model. */
    static List<String> ofText() {
        return ModelType.names().stream()
                .filter(name -> !ModelType.WITH_STAGES.containsValue(name))
                .filter(name -> ModelType.of(name).value("vision_axes", Map.of()) == null)
                .toList();
    }

    /** Returns the types that are compared with the classes of transformers. */
    static Set<String> compared() throws IOException {
        return Files.readAllLines(CONFIGURATIONS.resolve("model_types.txt")).stream()
                .filter(line -> line.startsWith("type "))
                .map(line -> line.split(" ", -1)[1])
                .collect(Collectors.toSet());
    }

    /** Returns how many there are of something. */
    public static long count(String what) throws IOException {
        return switch (what) {
            case "model types" -> ofText().size();
            case "whole models" ->
                ofText().stream()
                        .filter(name -> known(ModelType.of(name)).equals("model"))
                        .count();
            case "types compared with transformers" -> compared().size();
            case "published configurations" -> published().size();
            case "rotations from papers" ->
                Tables.csv(CONFIGURATIONS + "/expected.csv").stream()
                        .map(row -> row.get("model"))
                        .distinct()
                        .count();
            default -> throw new IllegalArgumentException(what);
        };
    }

    /** Returns the names of the models whose configurations are test files. */
    static Set<String> published() throws IOException {
        try (Stream<Path> files = Files.list(CONFIGURATIONS)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".json"))
                    .map(name -> name.replace(".json", ""))
                    .collect(Collectors.toSet());
        }
    }

    /** Returns what can be built: the whole model, its attentions, or only their rotary encodings. */
    static String known(ModelType type) {
        return type.value("tensors", Map.of()) != null
                ? "model"
                : type.value("other_attention", Map.of()) == null ? "attention" : "rotary";
    }

    /** The values of keys that are not rejected. */
    private static String only(ModelType type) {
        return type.column("required").entrySet().stream()
                .map(entry -> entry.getKey() + " " + entry.getValue())
                .collect(Collectors.joining(", "));
    }

    /** Whether a type has all facts of another type, of whose attention it may have the rotary encoding only. */
    private static boolean isOnlyLike(ModelType type) {
        boolean isOnlyRotary = type.line().get("fixed") instanceof Map<?, ?> fixed
                && fixed.keySet().equals(Set.of("other_attention"));
        return type.line().keySet().equals(isOnlyRotary ? Set.of("like", "fixed") : Set.of("like"));
    }

    private static String meaning(ModelType type) {
        return MEANINGS.entrySet().stream()
                .filter(entry -> isUsed(type, entry.getKey().toString()))
                .filter(entry -> !entry.getKey().equals("result_bias")
                        || !Boolean.TRUE.equals(type.value("result_bias", Map.of())))
                .map(entry ->
                        text(type, entry).formatted(type.value(entry.getKey().toString(), Map.of())))
                .distinct()
                .collect(Collectors.joining("; "));
    }

    /** What a fact means if a configuration says it, or if the code of the type does. */
    private static String text(ModelType type, Map.Entry<?, ?> meaning) {
        return meaning.getValue() instanceof List<?> both
                ? both.get(type.reads(meaning.getKey().toString()) ? 0 : 1).toString()
                : meaning.getValue().toString();
    }

    /** Whether the value of a fact differs from the value of most types, or a configuration may have another value. */
    private static boolean isUsed(ModelType type, String fact) {
        ModelType every = type;
        while (every.like() != null) {
            every = every.like();
        }
        Object usual = every.value(fact, Map.of());
        boolean isOptional = (usual == null || usual.equals(false)) && type.reads(fact) && !every.reads(fact);
        return isOptional || !Objects.equals(type.value(fact, Map.of()), usual);
    }
}
