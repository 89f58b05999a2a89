package io.github.djlpositional.huggingface;

import io.github.djlpositional.internal.Json;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * The keys of {@code config-keys.jsonc}, by which any model type of transformers describes a rotation or the size of a
 * head. They are rejected where a model type does not read them, unless they change nothing.
 */
final class UnreadKeys {

    /** The fact that each key stands for, a list of harmless values, or null. */
    private static final Map<?, ?> KEYS =
            (Map<?, ?>) Json.resource(ModelType.class, "config-keys.jsonc").get("keys");

    private UnreadKeys() {}

    /** Returns the fact that a key stands for, or null if no other type has it. */
    static String factOf(String key) {
        return KEYS.get(key) instanceof String fact ? fact : null;
    }

    /** Returns whether a value of a key says something about the rotation or the size of a head. */
    static boolean says(String key, Object value) {
        Object known = KEYS.get(key);
        boolean isEmpty = value == null
                || (value instanceof Collection<?> list && list.isEmpty())
                || (value instanceof Map<?, ?> map && map.isEmpty());
        boolean isHarmless = known instanceof List<?> harmless && harmless.contains(value);
        return KEYS.containsKey(key) && !isEmpty && !isHarmless && (known instanceof String || !value.equals(false));
    }
}
