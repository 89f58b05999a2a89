package io.github.djlpositional.arguments.internal;

import io.github.djlpositional.arguments.HasArguments;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Converts records of settings to maps of plain values and back, for example for JSON, properties, or a DJL
 * {@code BlockFactory}.
 *
 * <pre>{@code
 * record Settings(int headCount, Float dropoutRate) {
 *     Settings {
 *         Check.positive("headCount", headCount);
 *         dropoutRate = dropoutRate == null ? 0 : dropoutRate;     // the default
 *     }
 * }
 *
 * Settings settings = Records.read(Settings.class, Map.of("headCount", 8));
 * Map<String, Object> map = Records.write(settings);               // {headCount=8, dropoutRate=0.0}
 * }</pre>
 *
 * <p>A component is a number, a boolean, a string, an enum constant, a list of these, a record, a sealed interface
 * whose implementations are records, or a class that {@linkplain HasArguments has arguments} and a static method
 * {@code fromArguments(Map)}. A component of a primitive type is required. Any other is optional: the constructor gets
 * null where the map has no such key, and replaces it with the default. A record of a sealed interface is told from its
 * siblings by the key {@value #KIND}, its simple class name with a small first letter.
 *
 * <p>Numbers may have any {@link Number} type, because JSON readers differ; numbers and booleans may also be strings,
 * as they are in properties. All methods throw {@link IllegalArgumentException} for an unknown key, a missing required
 * value, or a value of another type; the message names the key.
 */
public final class Records {

    /** The key that tells records of a sealed interface apart. */
    public static final String KIND = "kind";

    /** The key that holds the type of a block within a block: its simple class name. */
    public static final String TYPE = "type";

    /** The greatest length of a number given as a string, and of a value in an error message. */
    private static final int MAX_TEXT = 100;

    /** The greatest depth of maps within maps: a map could contain itself. */
    private static final int MAX_DEPTH = 100;

    /** The number of elements of a list that a description shows. */
    private static final int SHOWN_ELEMENTS = 8;

    private Records() {}

    /**
     * Creates a record from a map.
     *
     * @param type a record class, or a sealed interface of records
     * @param values the values by component name
     * @param others further keys that the map may have, which the caller reads with {@link #value}
     * @param <R> the type
     * @return the record
     * @throws IllegalArgumentException if a key or a value is not valid
     */
    public static <R> R read(Class<R> type, Map<?, ?> values, String... others) {
        return read(type, values, 0, others);
    }

    private static <R> R read(Class<R> type, Map<?, ?> values, int depth, String... others) {
        String owner = nameOf(type);
        Check.that(
                depth <= MAX_DEPTH,
                () -> "the arguments of " + owner + " are maps nested more than " + MAX_DEPTH
                        + " deep: expected fewer; check whether a map contains itself");
        Class<? extends R> chosen = type;
        // not List.of: a map may have the key null
        List<String> ignored = Arrays.asList(others);
        if (type.isSealed()) {
            String kind = value(owner, values, KIND, String.class);
            List<String> kinds = Stream.of(type.getPermittedSubclasses())
                    .map(Records::kindOf)
                    .toList();
            chosen = type.getPermittedSubclasses()[indexOf(owner, KIND, kind, kinds)].asSubclass(type);
            ignored = Arrays.asList(KIND);
        }
        RecordComponent[] components = chosen.getRecordComponents();
        List<String> names = Stream.of(components).map(RecordComponent::getName).toList();
        for (Object key : values.keySet()) {
            Check.that(
                    names.contains(key) || ignored.contains(key),
                    owner + " has no argument '" + shortened(key) + "': expected "
                            + Stream.concat(names.stream(), ignored.stream()).toList()
                            + "; correct the name, or remove it");
        }
        Object[] converted = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            RecordComponent component = components[i];
            converted[i] = value(owner, values, component.getName(), component.getGenericType(), depth);
        }
        return create(chosen, converted);
    }

    /**
     * Returns one value of a map.
     *
     * @param owner the class that the map describes, for messages
     * @param values the map
     * @param key the key
     * @param type the type that the value is converted to, as for a component
     * @param <T> the type
     * @return the value, or null if the map does not have it
     * @throws IllegalArgumentException if the value is null or of another type
     */
    public static <T> T value(Class<?> owner, Map<?, ?> values, String key, Class<T> type) {
        return value(nameOf(owner), values, key, type);
    }

    private static <T> T value(String owner, Map<?, ?> values, String key, Class<T> type) {
        return type.cast(value(owner, values, key, type, 0));
    }

    private static Object value(String owner, Map<?, ?> values, String key, Type type, int depth) {
        Object value = values.get(key);
        Check.that(
                value != null || !values.containsKey(key),
                () -> "argument '" + key + "' of " + owner
                        + " is null: expected a value; leave the key out for the default");
        Check.that(
                value != null || !(type instanceof Class<?> primitive && primitive.isPrimitive()),
                () -> "argument '" + key + "' of " + owner
                        + " is missing: expected a value; set it, in a builder with set"
                        + Character.toUpperCase(key.charAt(0)) + key.substring(1));
        return value == null ? null : converted(owner, key, value, type, depth);
    }

    /**
     * Creates an object from a map that names its type.
     *
     * @param name what the map describes, for messages
     * @param values the name of a type under {@value #TYPE}, and the arguments of that type
     * @param types the functions that create an object from its arguments, by the name of its type
     * @param <T> the type of the object
     * @return the object
     * @throws IllegalArgumentException if the type is missing or unknown, or an argument is not valid
     */
    public static <T> T ofType(String name, Map<?, ?> values, Map<String, Function<Map<?, ?>, ? extends T>> types) {
        String type = value(name, values, TYPE, String.class);
        indexOf(name, TYPE, type, types.keySet().stream().sorted().toList());
        Map<Object, Object> arguments = new LinkedHashMap<>(values);
        arguments.remove(TYPE);
        return types.get(type).apply(arguments);
    }

    /**
     * Returns a value of a map that is an object: the object itself, or a map of its arguments.
     *
     * @param owner the class that the map describes, for messages
     * @param values the map
     * @param key the key
     * @param type the class of the object
     * @param fromArguments creates an object from its arguments
     * @param <T> the class of the object
     * @return the object, or null if the map does not have it
     * @throws IllegalArgumentException if the value is null or of another type, or an argument is not valid
     */
    public static <T> T child(
            Class<?> owner,
            Map<?, ?> values,
            String key,
            Class<T> type,
            Function<Map<?, ?>, ? extends T> fromArguments) {
        if (type.isInstance(values.get(key))) {
            return type.cast(values.get(key));
        }
        Map<?, ?> arguments = value(owner, values, key, Map.class);
        return arguments == null ? null : fromArguments.apply(arguments);
    }

    private static Object fromArguments(Class<?> type, Map<?, ?> arguments) {
        try {
            return type.getMethod("fromArguments", Map.class).invoke(null, arguments);
        } catch (ReflectiveOperationException e) {
            throw unwrapped(e);
        }
    }

    private static <R> R create(Class<R> type, Object... components) {
        try {
            Class<?>[] types = Stream.of(type.getRecordComponents())
                    .map(RecordComponent::getType)
                    .toArray(Class<?>[]::new);
            var constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(components);
        } catch (ReflectiveOperationException e) {
            throw unwrapped(e);
        }
    }

    private static RuntimeException unwrapped(ReflectiveOperationException e) {
        if (e instanceof InvocationTargetException && e.getCause() instanceof RuntimeException thrown) {
            return thrown;
        }
        return new IllegalStateException(e);
    }

    private static Object converted(String owner, String key, Object value, Type type, int depth) {
        if (type instanceof ParameterizedType list) {
            Type element = list.getActualTypeArguments()[0];
            if (!(value instanceof List<?> elements)) {
                throw invalid(owner, key, value, "a list");
            }
            return elements.stream()
                    .map(each -> converted(owner, key, each, element, depth))
                    .toList();
        }
        Class<?> wanted = MethodType.methodType((Class<?>) type).wrap().returnType();
        if (wanted.isInstance(value)) {
            return value;
        }
        if (wanted == Boolean.class) {
            if ("true".equals(value) || "false".equals(value)) {
                return "true".equals(value);
            }
            throw invalid(owner, key, value, "true or false");
        }
        if (Number.class.isAssignableFrom(wanted)) {
            return number(owner, key, value, wanted);
        }
        if (wanted.isEnum()) {
            Object[] constants = wanted.getEnumConstants();
            List<String> names =
                    Stream.of(constants).map(each -> ((Enum<?>) each).name()).toList();
            return constants[indexOf(owner, key, value, names)];
        }
        if (wanted == String.class || wanted == List.class) {
            throw invalid(owner, key, value, wanted == String.class ? "a string" : "a list");
        }
        if (!(value instanceof Map<?, ?> map)) {
            throw invalid(owner, key, value, "a map");
        }
        return wanted.isRecord() || wanted.isSealed() ? read(wanted, map, depth + 1) : fromArguments(wanted, map);
    }

    private static int indexOf(String owner, String key, Object value, List<String> names) {
        int index = value == null ? -1 : names.indexOf(value);
        if (index < 0) {
            throw invalid(owner, key, value, "one of " + names);
        }
        return index;
    }

    private static Object number(String owner, String key, Object value, Class<?> type) {
        // through the text: the double nearest to a float is another number than the one that was written
        String text = value instanceof Number || value instanceof String ? value.toString() : "";
        String bounded = text.length() > MAX_TEXT ? "" : text;
        try {
            if (type == Double.class) {
                return Double.valueOf(bounded);
            }
            if (type == Float.class) {
                return Float.valueOf(bounded);
            }
            BigDecimal number = new BigDecimal(bounded);
            return type == Long.class ? (Object) number.longValueExact() : (Object) number.intValueExact();
        } catch (ArithmeticException | NumberFormatException e) {
            boolean isReal = type == Double.class || type == Float.class;
            String expected = isReal ? "a number" : type == Long.class ? "a whole number" : "a whole number of 32 bits";
            throw (IllegalArgumentException)
                    invalid(owner, key, value, expected).initCause(e);
        }
    }

    private static IllegalArgumentException invalid(String owner, String key, Object value, String expected) {
        String given = value == null ? "missing" : "the " + value.getClass().getSimpleName() + " " + shortened(value);
        return new IllegalArgumentException(
                "argument '" + key + "' of " + owner + " is " + given + ": expected " + expected + "; correct it");
    }

    /** The text of a value on one line, without what maps and nested lists hold: they may contain themselves. */
    private static String shortened(Object value) {
        String text = value instanceof Collection<?> elements
                ? elements.stream()
                        .limit(SHOWN_ELEMENTS)
                        .map(Records::flat)
                        .toList()
                        .toString()
                : flat(value);
        String bounded = text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "…";
        return bounded.replaceAll("\\R|\\p{Cntrl}", " ");
    }

    private static String flat(Object value) {
        return value instanceof Map || value instanceof Collection ? "{…}" : String.valueOf(value);
    }

    /**
     * Returns the values of a record as a map of plain values, from which {@link #read} creates it again.
     *
     * @param settings the record
     * @return an unmodifiable map of {@link String}, {@link Boolean}, {@link Number}, {@link List} and {@link Map}, in
     *     the order of the components, without those that are null
     */
    public static Map<String, Object> write(Record settings) {
        Map<String, Object> values = new LinkedHashMap<>();
        if (isKind(settings)) {
            values.put(KIND, kindOf(settings.getClass()));
        }
        components(settings).forEach((name, value) -> {
            if (value != null) {
                values.put(name, plain(value));
            }
        });
        return Collections.unmodifiableMap(values);
    }

    private static Object plain(Object value) {
        if (value instanceof Record nested) {
            return write(nested);
        }
        if (value instanceof HasArguments described) {
            return described.getArguments();
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Records::plain).toList();
        }
        return value instanceof Enum<?> choice ? choice.name() : value;
    }

    /**
     * Returns the values of a record's components.
     *
     * @param settings the record
     * @return the values by name, in the order of the components; null for those that were not set
     */
    public static Map<String, Object> components(Record settings) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (RecordComponent component : settings.getClass().getRecordComponents()) {
            try {
                Method accessor = component.getAccessor();
                accessor.setAccessible(true);
                values.put(component.getName(), accessor.invoke(settings));
            } catch (ReflectiveOperationException e) {
                throw unwrapped(e);
            }
        }
        return values;
    }

    /**
     * Returns the record of an object that has arguments.
     *
     * @param configured a record, or an object with a field {@code settings} that holds its record
     * @return the record
     */
    public static Record settingsOf(HasArguments configured) {
        if (configured instanceof Record record) {
            return record;
        }
        try {
            Field settings = configured.getClass().getDeclaredField("settings");
            settings.setAccessible(true);
            return (Record) settings.get(configured);
        } catch (ReflectiveOperationException e) {
            throw unwrapped(e);
        }
    }

    /**
     * Describes a record for messages, for example {@code linear(factor=4.0)}.
     *
     * @param settings the record
     * @return its name, and the components that are not null; long lists are shortened
     */
    public static String describe(Record settings) {
        String name = isKind(settings) ? kindOf(settings.getClass()) : nameOf(settings.getClass());
        return components(settings).entrySet().stream()
                .filter(component -> component.getValue() != null)
                .map(component -> component.getKey() + "=" + text(component.getValue()))
                .collect(Collectors.joining(", ", name + "(", ")"));
    }

    private static String text(Object value) {
        if (value instanceof Record nested) {
            return describe(nested);
        }
        if (value instanceof List<?> list && list.size() > SHOWN_ELEMENTS) {
            String shown =
                    list.stream().limit(SHOWN_ELEMENTS).map(String::valueOf).collect(Collectors.joining(", "));
            return "[" + shown + ", … " + list.size() + " values]";
        }
        return value.toString();
    }

    /** A record of settings, or an interface of such records, has the name of the class that it is nested in. */
    private static String nameOf(Class<?> type) {
        Class<?> outer = type.getEnclosingClass();
        return outer != null && (type.isRecord() || type.isSealed()) ? outer.getSimpleName() : type.getSimpleName();
    }

    private static boolean isKind(Record settings) {
        return Stream.of(settings.getClass().getInterfaces()).anyMatch(Class::isSealed);
    }

    private static String kindOf(Class<?> type) {
        String name = type.getSimpleName();
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }

    /**
     * Returns what a component would be if it had not been set.
     *
     * @param settings the record
     * @param name the component's name
     * @return the default, which may depend on the other components; null if there is none
     */
    public static Object defaultOf(Record settings, String name) {
        Map<String, Object> values = components(settings);
        values.put(name, null);
        try {
            return components(create(settings.getClass(), values.values().toArray()))
                    .get(name);
        } catch (IllegalArgumentException e) {
            // the constructor needs the component
            return null;
        }
    }
}
