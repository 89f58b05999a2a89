package io.github.djlpositional.weights;

import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.internal.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the published code of a model type fixes, and the values that it takes where a configuration has none: a line of
 * the file {@code model-types.jsonc}, which explains its columns and all facts.
 */
final class ModelType {

    static final String FULL = "full_attention";
    static final String SLIDING = "sliding_attention";
    static final String CHUNKED = "chunked_attention";

    private static final String FILE = "model-types.jsonc";
    private static final Set<String> COLUMNS =
            Set.of("like", "defaults", "fixed", "names", "required", "requiredInAttention");

    /** Model types of text and images, whose configuration has that of the text as {@code text_config}. */
    static final List<?> WITH_TEXT_CONFIG;

    private static final Map<String, ModelType> ALL = new TreeMap<>();

    static {
        Map<String, Object> file = read();
        WITH_TEXT_CONFIG = (List<?>) file.get("text_config");
        ModelType every = new ModelType(null, (Map<?, ?>) file.get("every"));
        ((Map<?, ?>) file.get("types")).forEach((name, value) -> {
            Map<?, ?> line = (Map<?, ?>) value;
            ModelType like = line.containsKey("like") ? of(line.get("like")) : every;
            ModelType type = new ModelType(like, line);
            Check.that(
                    COLUMNS.containsAll(line.keySet()) && every.values.keySet().equals(type.values.keySet()),
                    () -> name + " in " + FILE + " has " + line + ": expected the columns " + COLUMNS
                            + " and the facts " + every.values.keySet() + "; correct the line");
            ALL.put(String.valueOf(name), type);
        });
    }

    private final Map<Object, Object> values = new HashMap<>();
    private final Set<Object> fixed = new HashSet<>();
    private final Map<Object, Object> names = new HashMap<>();
    private final Map<Object, Object> required = new HashMap<>();
    private final Map<Object, Object> requiredInAttention = new HashMap<>();

    /** Reads a line. Facts that it does not have are those of another type. */
    private ModelType(ModelType like, Map<?, ?> line) {
        if (like != null) {
            values.putAll(like.values);
            fixed.addAll(like.fixed);
            names.putAll(like.names);
            required.putAll(like.required);
            requiredInAttention.putAll(like.requiredInAttention);
        }
        Map<?, ?> defaults = column(line, "defaults");
        values.putAll(defaults);
        fixed.removeAll(defaults.keySet());
        values.putAll(column(line, "fixed"));
        fixed.addAll(column(line, "fixed").keySet());
        names.putAll(column(line, "names"));
        required.putAll(column(line, "required"));
        requiredInAttention.putAll(column(line, "requiredInAttention"));
    }

    private static Map<?, ?> column(Map<?, ?> line, String name) {
        return (Map<?, ?>) Objects.requireNonNullElse(line.get(name), Map.of());
    }

    private static Map<String, Object> read() {
        try (InputStream in = ModelType.class.getResourceAsStream(FILE)) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return Json.read(text.replaceAll("(?m)^ *//.*", "").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns a type by its name in configurations, or null if it is not known. */
    static ModelType of(Object name) {
        return name == null ? null : ALL.get(name.toString());
    }

    /** Returns the names of all types, sorted. */
    static Set<String> names() {
        return ALL.keySet();
    }

    /** The key of a fact in configurations of this type. */
    String keyOf(String fact) {
        return String.valueOf(names.getOrDefault(fact, fact));
    }

    /** Whether this type has a fact, which the value null in a configuration does not take away. */
    boolean has(String fact) {
        return values.get(fact) != null;
    }

    /** Returns a fact, or null for none. A key with the value null is not the same as no key. */
    Object value(String fact, Map<String, ?> config) {
        boolean isGiven = !fixed.contains(fact) && config.containsKey(keyOf(fact));
        return isGiven ? config.get(keyOf(fact)) : values.get(fact);
    }

    /** The only values of some keys that the rotary encoding is known for. */
    Map<Object, Object> required() {
        return required;
    }

    /** The only values of some keys that the attention block supports. */
    Map<Object, Object> requiredInAttention() {
        return requiredInAttention;
    }
}
