package io.github.djlpositional.arguments.internal;

import io.github.djlpositional.arguments.HasArguments;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * A builder of an object that {@linkplain HasArguments has arguments}: each method sets the option of its name.
 * Defaults and checks are those of the record of settings.
 *
 * @param <T> what is built
 * @param <B> the builder
 */
public abstract class OptionsBuilder<T, B extends OptionsBuilder<T, B>> {

    private final Function<Map<String, Object>, T> create;
    private final Map<String, Object> options = new LinkedHashMap<>();

    /** Options that belong to what is built, by name, and whether something has been built with them. */
    private final Map<String, Boolean> children = new HashMap<>();

    /** Starts without any option. The function creates the object from the options by name. */
    protected OptionsBuilder(Function<Map<String, Object>, T> create) {
        this.create = create;
    }

    /**
     * Sets an option: a component of the record, of the type of the component, or a block within the one that is built.
     */
    @SuppressWarnings("unchecked") // B is the class of this object
    protected final B set(String name, Object value) {
        options.put(name, Objects.requireNonNull(value, name));
        children.remove(name);
        return (B) this;
    }

    /** Sets an option that only one object may be built with, since it becomes a part of that object. */
    protected final B setChild(String name, Object value) {
        B builder = set(name, value);
        children.put(name, false);
        return builder;
    }

    /** Returns the options that were set, by name. */
    protected final Map<String, Object> options() {
        return Collections.unmodifiableMap(options);
    }

    /**
     * Builds the object. A table is created when a block is initialized, or at its first forward.
     *
     * @return the object
     * @throws IllegalArgumentException if a required option was not set, an option is out of range, or options
     *     contradict each other
     * @throws IllegalStateException if an object was built with the same child, such as an attention, which both would
     *     share
     */
    public T build() {
        children.forEach((name, isBuilt) -> {
            if (isBuilt) {
                throw new IllegalStateException("build() was called twice with the same " + name
                        + ", which both blocks would share: expected one block; use another builder, or set another "
                        + name);
            }
        });
        T built = create.apply(options);
        children.replaceAll((name, isBuilt) -> true);
        return built;
    }
}
