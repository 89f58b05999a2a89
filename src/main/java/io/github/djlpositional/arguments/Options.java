package io.github.djlpositional.arguments;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The options of a builder: the components of a record of settings, by name. Defaults and checks are those of the
 * record's constructor.
 *
 * @param <R> the record
 * @param <B> the builder
 */
public final class Options<R extends Record, B> {

    private final Class<R> type;
    private final B builder;
    private final Map<String, Object> values = new LinkedHashMap<>();

    /**
     * Starts without any option.
     *
     * @param type the record
     * @param builder the builder, which {@link #set} returns
     */
    public Options(Class<R> type, B builder) {
        this.type = type;
        this.builder = builder;
    }

    /**
     * Sets an option.
     *
     * @param name the name of a component
     * @param value its value
     * @return the builder
     * @throws NullPointerException if the value is null
     */
    public B set(String name, Object value) {
        values.put(name, Objects.requireNonNull(value, name));
        return builder;
    }

    /**
     * Creates the record.
     *
     * @return the record
     * @throws IllegalArgumentException if a required option was not set, or a value is not valid
     */
    public R build() {
        return build(Map.of());
    }

    /**
     * Creates the record, with other defaults than those of its constructor.
     *
     * @param defaults the values of options that were not set, by name
     * @return the record
     * @throws IllegalArgumentException if a required option was not set, or a value is not valid
     */
    public R build(Map<String, Object> defaults) {
        Map<String, Object> all = new LinkedHashMap<>(defaults);
        all.putAll(values);
        return Records.read(type, all);
    }
}
