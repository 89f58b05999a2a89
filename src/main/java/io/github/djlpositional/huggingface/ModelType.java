package io.github.djlpositional.huggingface;

import io.github.djlpositional.internal.Json;
import io.github.djlpositional.internal.options.Check;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The facts that the published code of a model type fixes, and its default values: a line of the file
 * {@code model-types.jsonc}, which explains its columns and all facts.
 *
 * @param like the type whose line has the entries that this line lacks; null for the line of every type
 */
record ModelType(ModelType like, Map<?, ?> line) {

    static final String FULL = "full_attention";
    static final String SLIDING = "sliding_attention";
    static final String CHUNKED = "chunked_attention";

    /** The types of layers that have an attention. */
    static final Set<String> ATTENTIONS = Set.of(FULL, SLIDING, CHUNKED);

    /** Types whose {@code text_config} configures the text model, and the type of that configuration by default. */
    static final Map<?, ?> WITH_TEXT_CONFIG;

    /** Types of which a {@code text_config} has other defaults than its own type, and these. */
    static final Map<?, ?> TEXT_DEFAULTS;

    /** Other names of the types of layers, in {@code layer_types} and in rope sections. */
    private static final Map<?, ?> LABELS;

    /** Types of which it is known that they have no rotary encoding. */
    static final List<?> WITHOUT_ROTARY;

    /** Why some types are not known, or what has their encoding. */
    private static final Map<?, ?> NOT_KNOWN;

    /** Types of models with an encoder and a decoder, and the type of the decoder. */
    static final Map<?, ?> WITH_DECODER;

    /** Types of models of pictures with stages of layers of several sizes, and the type of a stage. */
    static final Map<?, ?> WITH_STAGES;

    /** Types with a {@code vision_config}, and its type. */
    static final Map<?, ?> WITH_VISION_CONFIG;

    private static final String FILE = "model-types.jsonc";
    private static final Set<String> COLUMNS =
            Set.of("like", "defaults", "fixed", "nullable", "names", "also", "required", "built");

    /** The facts of the column sizes, which stands for defaults. */
    static final List<String> SIZES = List.of(
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "max_position_embeddings");

    private static final Map<String, ModelType> ALL;

    static {
        Map<String, Object> file = Json.resource(ModelType.class, FILE);
        WITH_TEXT_CONFIG = (Map<?, ?>) file.get("text_config");
        TEXT_DEFAULTS = (Map<?, ?>) file.get("text_defaults");
        LABELS = (Map<?, ?>) file.get("labels");
        WITHOUT_ROTARY = (List<?>) file.get("without_rotary");
        NOT_KNOWN = (Map<?, ?>) file.get("not_known");
        WITH_DECODER = (Map<?, ?>) file.get("decoder");
        WITH_STAGES = (Map<?, ?>) file.get("stage");
        WITH_VISION_CONFIG = (Map<?, ?>) file.get("vision_config");
        ALL = types(file);
    }

    /** Returns the types of a file by name. */
    static Map<String, ModelType> types(Map<String, Object> file) {
        Map<String, ModelType> types = new TreeMap<>();
        ModelType every = new ModelType(null, (Map<?, ?>) file.get("every"));
        ((Map<?, ?>) file.get("types")).forEach((name, value) -> {
            Map<?, ?> line = withoutSizes((Map<?, ?>) value);
            ModelType type = new ModelType(line.containsKey("like") ? types.get(line.get("like")) : every, line);
            Check.that(
                    type.like != null
                            && COLUMNS.containsAll(line.keySet())
                            && every.facts().containsAll(type.facts()),
                    () -> "model type " + name + " has " + line + ": expected the columns " + COLUMNS + ", the facts "
                            + every.facts() + " and a type further up; correct the line");
            types.put(String.valueOf(name), type);
        });
        return types;
    }

    /** Returns the type of layers that a configuration calls so, which may be one without an attention. */
    static String layerType(Object label) {
        String name = String.valueOf(label);
        return LABELS.containsKey(name) ? LABELS.get(name).toString() : name;
    }

    /** Returns why a type is not known, as the end of a message; empty if it is not known why. */
    static String whyNotKnown(Object name) {
        return NOT_KNOWN.containsKey(name) ? "; of this one: " + NOT_KNOWN.get(name) : "";
    }

    private static Map<?, ?> withoutSizes(Map<?, ?> line) {
        Map<Object, Object> copy = new LinkedHashMap<>(line);
        if (copy.remove("sizes") instanceof List<?> sizes) {
            Map<Object, Object> defaults = new LinkedHashMap<>((Map<?, ?>) copy.getOrDefault("defaults", Map.of()));
            for (int i = 0; i < sizes.size(); i++) {
                defaults.put(SIZES.get(i), sizes.get(i));
            }
            copy.put("defaults", defaults);
        }
        return copy;
    }

    /** Returns a type by its name in configurations, or null if it is not known. */
    static ModelType of(Object name) {
        return name == null ? null : ALL.get(name.toString());
    }

    /** Returns the names of all types, sorted. */
    static Set<String> names() {
        return ALL.keySet();
    }

    /** Returns the names of all facts of the file of this type. */
    Set<Object> facts() {
        Set<Object> facts = new HashSet<>(column("defaults").keySet());
        facts.addAll(column("fixed").keySet());
        facts.addAll(column("names").keySet());
        facts.addAll(column("also").keySet());
        return facts;
    }

    /** Returns a column of this type, including inherited entries. */
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
        Object key = own("names").get(fact);
        return key != null ? key.toString() : like == null ? fact : like.keyOf(fact);
    }

    /** Returns the keys of a configuration that the code of this type reads. */
    Set<Object> keys() {
        Set<Object> keys = new HashSet<>(column("required").keySet());
        keys.addAll(column("built").keySet());
        keys.addAll(column("also").values());
        facts().stream().map(Object::toString).filter(this::reads).forEach(fact -> keys.add(keyOf(fact)));
        return keys;
    }

    /** Returns the key that has a fact in a configuration: the usual one, unless only another one is present. */
    String keyOf(String fact, Map<String, ?> config) {
        String key = keyOf(fact);
        Object other = column("also").get(fact);
        return other == null || config.containsKey(key) || !config.containsKey(other.toString())
                ? key
                : other.toString();
    }

    /** Returns a fact, or null for none. A key with the value null differs from a missing key. */
    Object value(String fact, Map<String, ?> config) {
        return value(fact, keyOf(fact, config), config);
    }

    private Object value(String fact, String key, Map<String, ?> config) {
        if (own("fixed").containsKey(fact)) {
            return own("fixed").get(fact);
        }
        if (!own("defaults").containsKey(fact)) {
            return like.value(fact, key, config);
        }
        Object defaultValue = own("defaults").get(fact);
        if (!config.containsKey(key)) {
            return defaultValue;
        }
        Check.that(
                config.get(key) != null || defaultValue == null || isNullable(fact),
                () -> key + " null of model_type " + config.get("model_type")
                        + ": expected a value; leave the key out for the default, " + defaultValue);
        return config.get(key);
    }

    boolean isNullable(String fact) {
        return (line.get("nullable") instanceof List<?> facts && facts.contains(fact))
                || (like != null && like.isNullable(fact));
    }

    /** Returns whether the code of this type reads a fact from the configuration. */
    boolean reads(String fact) {
        return !own("fixed").containsKey(fact)
                && (own("defaults").containsKey(fact) || (like != null && like.reads(fact)));
    }
}
