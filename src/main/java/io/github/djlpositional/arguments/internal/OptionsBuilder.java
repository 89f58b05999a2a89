package io.github.djlpositional.arguments.internal;

import io.github.djlpositional.arguments.HasArguments;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A builder of an object that {@linkplain HasArguments has arguments}: each method sets the option of its name.
 * Defaults and checks are those of the record of settings.
 *
 * @param <T> what is built
 * @param <B> the builder
 */
public abstract class OptionsBuilder<T, B extends OptionsBuilder<T, B>> {

    /** Marks a method of a builder that sets no option of its own name. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    public @interface WithoutOption {}

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

    private final Set<String> names = new LinkedHashSet<>();
    private final Function<Map<String, Object>, T> create;
    private final Map<String, Object> options = new LinkedHashMap<>();

    /** Options that belong to what is built, by name, and whether something has been built with them. */
    private final Map<String, Boolean> children = new HashMap<>();

    /** Starts without any option. The function creates the object from the record of the options. */
    protected <R extends Record> OptionsBuilder(Class<R> settings, Function<R, T> create) {
        this(settings, options -> create.apply(Records.create(settings, options)), new String[0]);
    }

    /**
     * Starts without any option. The function creates the object from the options by name: the components of the
     * record, and others, such as a block within the one that is built.
     */
    protected OptionsBuilder(
            Class<? extends Record> settings, Function<Map<String, Object>, T> create, String... others) {
        this.create = create;
        Stream.of(settings.getRecordComponents()).map(RecordComponent::getName).forEach(names::add);
        names.addAll(List.of(others));
        NAMED_BY_METHODS.get(getClass()).forEach(this::requireOption);
    }

    private void requireOption(String name) {
        if (!names.contains(name)) {
            throw new IllegalStateException(getClass().getName() + " has no option '" + name + "': expected one of "
                    + names + "; correct the name, or mark a method without an option of its name with @WithoutOption");
        }
    }

    /** Sets an option to a value of its type. */
    @SuppressWarnings("unchecked") // B is the class of this object
    protected final B set(String name, Object value) {
        requireOption(name);
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
