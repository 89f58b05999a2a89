package io.github.djlpositional.huggingface;

import static io.github.djlpositional.internal.InvalidFileException.quoted;
import static io.github.djlpositional.internal.InvalidFileException.shown;

import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * The facts of a model type with the values of a configuration.
 *
 * @param type the model type
 * @param config the values of a {@code config.json}
 */
record Facts(ModelType type, Map<String, ?> config) {

    /** What JSON calls the values that are converted to a class. */
    private static final Map<Class<?>, String> EXPECTED = Map.of(
            Integer.class, "a whole number of at most " + Integer.MAX_VALUE,
            Double.class, "a finite number",
            Boolean.class, "true or false",
            String.class, "a string",
            List.class, "an array (a list in brackets)",
            Map.class, "an object (keys and values in braces)");

    /** Returns a fact, or null for none. */
    Object value(String fact) {
        return type.value(fact, config);
    }

    /** Returns whether the type has a fact, which the value null in a configuration does not take away. */
    boolean has(String fact) {
        return type.value(fact, Map.of()) != null;
    }

    <T> T get(String fact, Class<T> wanted) {
        Object value = value(fact);
        return value == null ? null : converted(type.keyOf(fact, config), value, wanted);
    }

    Integer whole(String fact) {
        return get(fact, Integer.class);
    }

    /** Returns a size or a count, which must be present and positive. */
    int requireInt(String fact) {
        String name = type.keyOf(fact, config);
        int value = Check.present(name, whole(fact));
        Check.positive(name, value);
        return value;
    }

    double number(String fact) {
        return Check.present(type.keyOf(fact, config), get(fact, Double.class));
    }

    /** Older configurations have numbers instead of some booleans: 0 is false. */
    boolean isOn(String fact) {
        return value(fact) instanceof Number number
                ? number.doubleValue() != 0
                : Boolean.TRUE.equals(get(fact, Boolean.class));
    }

    /** Converts a value of a configuration. Numbers and booleans may be strings. */
    static <T> T converted(String key, Object value, Class<T> wanted) {
        try {
            return Settings.value(HuggingFaceConfig.class, Collections.singletonMap(key, value), key, wanted);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "'" + key + "' is " + inJson(value) + ": expected " + EXPECTED.get(wanted)
                            + "; correct the configuration",
                    e);
        }
    }

    private static String inJson(Object value) {
        if (value instanceof Map) {
            return "the object " + shown(value);
        }
        if (value instanceof List) {
            return "the array " + shown(value);
        }
        return value instanceof String ? "the string " + quoted(value) : shown(value);
    }

    static boolean isSame(Object value, Object other) {
        return (value instanceof Number one && other instanceof Number two)
                ? one.doubleValue() == two.doubleValue()
                : value.equals(other);
    }
}
