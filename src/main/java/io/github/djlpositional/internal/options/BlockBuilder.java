package io.github.djlpositional.internal.options;

import io.github.djlpositional.options.HasArguments;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A builder of an object that {@linkplain HasArguments has arguments}: each method {@code setX} or {@code optX} sets
 * the option {@code x}. The record of options has the defaults and ranges; see {@link Settings}.
 *
 * @param <T> the class of the built object
 * @param <B> the builder
 */
public abstract class BlockBuilder<T, B extends BlockBuilder<T, B>> {

    /** The options that the methods of a class of builders are named after. */
    private static final ClassValue<List<String>> NAMED_BY_METHODS = new ClassValue<>() {
        @Override
        protected List<String> computeValue(Class<?> builder) {
            return Stream.of(builder.getMethods())
                    .filter(method -> !method.isAnnotationPresent(WithoutOption.class))
                    .map(Method::getName)
                    .filter(name -> name.matches("(set|opt)[A-Z].*"))
                    .map(name -> Character.toLowerCase(name.charAt(3)) + name.substring(4))
                    .toList();
        }
    };

    private final List<String> names;

    /** The types of the options, in the order of their names. */
    private final List<Class<?>> types;

    private final Function<Map<String, Object>, T> create;
    private final Map<String, Object> options = new LinkedHashMap<>();

    /** Options that become children of the built block, by name, and whether an object was built with them. */
    private final Map<String, Boolean> children = new HashMap<>();

    /**
     * Starts without any option.
     *
     * @param type the record of options
     * @param create creates the object from the record
     * @param <R> the record
     */
    protected <R extends Record> BlockBuilder(Class<R> type, Function<R, T> create) {
        this.create = values -> create.apply(Settings.create(type, values));
        RecordComponent[] components = Settings.COMPONENTS.get(type);
        names = Stream.of(components).map(RecordComponent::getName).toList();
        types = Stream.of(components).<Class<?>>map(RecordComponent::getType).toList();
        NAMED_BY_METHODS.get(getClass()).forEach(this::requireOption);
    }

    private void requireOption(String name) {
        if (!names.contains(name)) {
            throw new IllegalStateException(getClass().getName() + " has no option '" + name + "': expected one of "
                    + names + "; correct the name, or mark a method without an option of its name with @WithoutOption");
        }
    }

    /**
     * Sets an option.
     *
     * @param name the name of the component
     * @param value a value of its type, a plain value as in a map of arguments, or a {@link Supplier} that each
     *     {@link #build} calls
     * @return this builder
     * @throws NullPointerException if the value is null
     */
    @SuppressWarnings("unchecked") // B is the class of this object
    protected final B set(String name, Object value) {
        requireOption(name);
        if (value == null) {
            throw new NullPointerException(name + " is null: expected a value of the type "
                    + types.get(names.indexOf(name)).getSimpleName() + "; pass one, or leave out the call for none or"
                    + " the default");
        }
        options.put(name, value);
        children.remove(name);
        return (B) this;
    }

    /** Sets an option that becomes a child of the built block, so only one block may be built with it. */
    protected final B setChild(String name, Object value) {
        B builder = set(name, value);
        children.put(name, false);
        return builder;
    }

    /** {@return the options that were set, by name} */
    protected final Map<String, Object> options() {
        return Collections.unmodifiableMap(options);
    }

    /** Sets the options of a map of plain values. */
    final void setAll(Map<?, ?> arguments) {
        arguments.forEach((name, value) -> options.put(String.valueOf(name), value));
    }

    /**
     * Builds the object. A table is created when a block is initialized, or at its first forward.
     *
     * @return the object
     * @throws IllegalArgumentException if a required option was not set, an option is unknown, of another type or out
     *     of range, or options contradict each other
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
        Map<String, Object> values = new LinkedHashMap<>(options);
        values.replaceAll((name, value) -> value instanceof Supplier<?> supplier ? supplier.get() : value);
        T built = create.apply(values);
        children.replaceAll((name, isBuilt) -> true);
        return built;
    }
}
