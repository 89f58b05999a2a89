package io.github.djlpositional.weights;

import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.internal.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the published code of a model type fixes, and the values that it takes where a configuration has none: a line of
 * the file {@code model-types.jsonc}, which explains its columns and all facts.
 *
 * @param like the type whose line holds for what this one does not say; null for the line of every type
 */
record ModelType(ModelType like, Map<?, ?> line) {

    static final String FULL = "full_attention";
    static final String SLIDING = "sliding_attention";
    static final String CHUNKED = "chunked_attention";

    /** Types of models of text and images, whose {@code text_config} is the configuration of the text. */
    static final List<?> WITH_TEXT_CONFIG;

    private static final String FILE = "model-types.jsonc";
    private static final Set<String> COLUMNS =
            Set.of("like", "defaults", "fixed", "names", "required", "requiredInAttention");
    private static final Map<String, ModelType> ALL = new TreeMap<>();

    static {
        Map<String, Object> file = read();
        WITH_TEXT_CONFIG = (List<?>) file.get("text_config");
        ModelType every = new ModelType(null, (Map<?, ?>) file.get("every"));
        ((Map<?, ?>) file.get("types")).forEach((name, value) -> {
            Map<?, ?> line = (Map<?, ?>) value;
            ModelType type = new ModelType(line.containsKey("like") ? of(line.get("like")) : every, line);
            Check.that(
                    type.like != null
                            && COLUMNS.containsAll(line.keySet())
                            && every.facts().containsAll(type.facts()),
                    () -> name + " in " + FILE + " has " + line + ": expected the columns " + COLUMNS + ", the facts "
                            + every.facts() + " and a type further up; correct the line");
            ALL.put(String.valueOf(name), type);
        });
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

    private Set<Object> facts() {
        Set<Object> facts = new HashSet<>(column("defaults").keySet());
        facts.addAll(column("fixed").keySet());
        facts.addAll(column("names").keySet());
        return facts;
    }

    /** Returns a column of this type, with the entries of the types that it is like. */
    Map<Object, Object> column(String name) {
        Map<Object, Object> entries = like == null ? new LinkedHashMap<>() : like.column(name);
        entries.putAll(own(name));
        return entries;
    }

    private Map<?, ?> own(String column) {
        return line.containsKey(column) ? (Map<?, ?>) line.get(column) : Map.of();
    }

    /** Returns the key of a fact in configurations of this type. */
    String keyOf(String fact) {
        return String.valueOf(column("names").getOrDefault(fact, fact));
    }

    /** Returns a fact, or null for none. A key with the value null is not the same as no key. */
    Object value(String fact, Map<String, ?> config) {
        return value(fact, keyOf(fact), config);
    }

    private Object value(String fact, String key, Map<String, ?> config) {
        if (own("fixed").containsKey(fact)) {
            return own("fixed").get(fact);
        }
        if (!own("defaults").containsKey(fact)) {
            return like.value(fact, key, config);
        }
        return config.containsKey(key) ? config.get(key) : own("defaults").get(fact);
    }

    /** Returns whether this type has a fact, which the value null in a configuration does not take away. */
    boolean has(String fact) {
        return value(fact, Map.of()) != null;
    }
}
