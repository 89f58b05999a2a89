package io.github.djlpositional.arguments.internal;

import io.github.djlpositional.arguments.HasArguments;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * A builder of an object that {@linkplain HasArguments has arguments}: each method sets the argument of its name.
 * Defaults and checks are those of {@code fromArguments}.
 *
 * @param <T> what is built
 * @param <B> the builder
 */
public abstract class OptionsBuilder<T, B extends OptionsBuilder<T, B>> {

    private final Function<Map<?, ?>, T> fromArguments;
    private final Map<String, Object> options = new LinkedHashMap<>();

    /**
     * Starts without any option.
     *
     * @param fromArguments creates the object
     */
    protected OptionsBuilder(Function<Map<?, ?>, T> fromArguments) {
        this.fromArguments = fromArguments;
    }

    /**
     * Sets an option.
     *
     * @param name the name of an argument
     * @param value its value
     * @return this builder
     * @throws NullPointerException if the value is null
     */
    @SuppressWarnings("unchecked") // B is the class of this object
    protected final B set(String name, Object value) {
        options.put(name, Objects.requireNonNull(value, name));
        return (B) this;
    }

    /** {@return the options that were set, by name} */
    protected final Map<String, Object> options() {
        return Collections.unmodifiableMap(options);
    }

    /**
     * Builds the object. A table is created when a block is initialized, or at its first forward.
     *
     * @return the object
     * @throws IllegalArgumentException if a required option was not set, an option is out of range, or options
     *     contradict each other
     */
    public T build() {
        return fromArguments.apply(options);
    }
}
