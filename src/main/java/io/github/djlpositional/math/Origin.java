package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Arguments;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How a value object was made: as text for messages and model files, in which a long list stands as a 32-bit hash, and as plain
 * values, which tell it from all others and from which it is made again.
 */
final class Origin {

    private final String text;
    private final Map<String, Object> arguments = new LinkedHashMap<>();

    /**
     * Begins with the kind.
     *
     * @param kind the argument that says which of the class' factories made it
     * @param text the whole as text
     */
    Origin(String kind, String text) {
        this.text = text;
        arguments.put("kind", kind);
    }

    /** Adds an argument of the factory. */
    Origin with(String key, Object value) {
        arguments.put(key, Arguments.plain(value));
        return this;
    }

    Map<String, Object> arguments() {
        return Collections.unmodifiableMap(arguments);
    }

    @Override
    public String toString() {
        return text;
    }
}
