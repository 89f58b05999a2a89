package io.github.djlpositional.arguments;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The options of a builder: the components of a record of settings, by name. Defaults and checks are those of the record's
 * constructor.
 *
 * @param <R> the record
 */
public final class Options<R extends Record> {

    private final Class<R> type;
    private final Map<String, Object> values = new LinkedHashMap<>();

    /**
     * Starts without any option.
     *
     * @param type the record
     */
    public Options(Class<R> type) {
        this.type = type;
    }

    /**
     * Sets an option.
     *
     * @param name the name of a component
     * @param value its value
     * @throws NullPointerException if the value is null
     */
    public void set(String name, Object value) {
        values.put(name, Objects.requireNonNull(value, name));
    }

    /**
     * Returns an option as it was set.
     *
     * @param name the name of a component
     * @return its value, or null if it was not set
     */
    public Object get(String name) {
        return values.get(name);
    }

    /**
     * Creates the record.
     *
     * @return the record
     * @throws IllegalArgumentException if a required option was not set, or a value is not valid
     */
    public R build() {
        List<String> names = Records.names(type);
        Object[] components = names.stream().map(values::get).toArray();
        for (int i = 0; i < components.length; i++) {
            String name = names.get(i);
            Check.that(
                    components[i] != null
                            || !type.getRecordComponents()[i].getType().isPrimitive(),
                    "%s of %s is missing: expected a value; set it with set%s%s",
                    name,
                    Records.nameOf(type),
                    Character.toUpperCase(name.charAt(0)),
                    name.substring(1));
        }
        return Records.create(type, components);
    }
}
