package io.github.djlpositional.arguments.internal;

import io.github.djlpositional.arguments.HasArguments;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
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

    /** Creates a record of a class, or of a sealed interface of records, from a map of values by component name. */
    public static <R> R read(Class<R> type, Map<?, ?> values) {
        return read(type, values, 0);
    }

    private static <R> R read(Class<R> type, Map<?, ?> values, int depth) {
        String owner = nameOf(type);
        Check.that(
                depth <= MAX_DEPTH,
                () -> "the arguments of " + owner + " are maps nested more than " + MAX_DEPTH
                        + " deep: expected fewer; check whether a map contains itself");
        if (!type.isSealed()) {
            Class<? extends Record> record = type.asSubclass(Record.class);
            return type.cast(create(record, options(record, values, depth)));
        }
        Class<?>[] records = type.getPermittedSubclasses();
        List<String> kinds = Stream.of(records).map(Records::kindOf).toList();
        Class<? extends Record> record =
                records[indexOf(owner, KIND, values.get(KIND), kinds)].asSubclass(Record.class);
        return type.cast(create(record, options(record, values, depth, KIND)));
    }

    /**
     * Converts the values of a map to the types of a record's components, for {@link #create}. The values of the other
     * keys that the map may have are returned as they are.
     */
    public static Map<String, Object> options(Class<? extends Record> type, Map<?, ?> values, String... others) {
        return options(type, values, 0, others);
    }

    private static Map<String, Object> options(
            Class<? extends Record> type, Map<?, ?> values, int depth, String... others) {
        String owner = nameOf(type);
        Map<String, Type> types = new LinkedHashMap<>();
        for (RecordComponent component : type.getRecordComponents()) {
            types.put(component.getName(), component.getGenericType());
        }
        for (String other : others) {
            types.put(other, Object.class);
        }
        Map<String, Object> options = new LinkedHashMap<>();
        for (Object key : values.keySet()) {
            Check.that(
                    types.containsKey(key),
                    owner + " has no argument '" + shortened(key) + "': expected " + types.keySet()
                            + "; correct the name, or remove it");
            String name = (String) key;
            options.put(name, value(owner, values, name, types.get(name), depth));
        }
        return options;
    }

    /**
     * Returns one value of a map, converted as for a component of the type, or null if the map does not have it.
     * Messages name the owner, the class that the map describes.
     */
    public static <T> T value(Class<?> owner, Map<?, ?> values, String key, Class<T> type) {
        return type.cast(value(nameOf(owner), values, key, type, 0));
    }

    private static Object value(String owner, Map<?, ?> values, String key, Type type, int depth) {
        Object value = values.get(key);
        Check.that(
                value != null || !values.containsKey(key),
                () -> "argument '" + key + "' of " + owner
                        + " is null: expected a value; leave the key out for the default");
        return value == null ? null : converted(owner, key, value, type, depth);
    }

    /** Creates a record from the values of components by name, each of the component's type; others are ignored. */
    public static <R extends Record> R create(Class<R> type, Map<String, ?> options) {
        RecordComponent[] components = type.getRecordComponents();
        for (RecordComponent component : components) {
            String name = component.getName();
            Check.that(
                    options.get(name) != null || !component.getType().isPrimitive(),
                    () -> "argument '" + name + "' of " + nameOf(type)
                            + " is missing: expected a value; set it, in a builder with set"
                            + Character.toUpperCase(name.charAt(0)) + name.substring(1));
        }
        try {
            var constructor = type.getDeclaredConstructor(
                    Stream.of(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
            constructor.setAccessible(true);
            return constructor.newInstance(Stream.of(components)
                    .map(component -> options.get(component.getName()))
                    .toArray());
        } catch (ReflectiveOperationException e) {
            throw unwrapped(e);
        }
    }

    /**
     * Creates an object from a map with the name of a type under {@value #TYPE} and the arguments of that type, by the
     * function of that name. Messages use {@code name} for what the map describes.
     */
    public static <T> T ofType(String name, Map<?, ?> values, Map<String, Function<Map<?, ?>, ? extends T>> types) {
        Object type = values.get(TYPE);
        indexOf(name, TYPE, type, types.keySet().stream().sorted().toList());
        Map<Object, Object> arguments = new LinkedHashMap<>(values);
        arguments.remove(TYPE);
        return types.get(type).apply(arguments);
    }

    /**
     * Returns a value of a map that is an object, given itself or as a map of its arguments; null if the map does not
     * have it.
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
     * Returns the values of a record as an unmodifiable map of plain values, from which {@link #read} creates it again:
     * in the order of the components, without those that are null.
     */
    public static Map<String, Object> write(Record settings) {
        Map<String, Object> values = new LinkedHashMap<>();
        if (isKind(settings.getClass())) {
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

    /** Returns the values of a record's components by name, in their order; null for those that were not set. */
    static Map<String, Object> components(Record settings) {
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
     * Describes a record for messages, for example {@code linear(factor=4.0)}, by its name and the components that are
     * not null; long lists are shortened.
     */
    public static String describe(Record settings) {
        String name = isKind(settings.getClass()) ? kindOf(settings.getClass()) : nameOf(settings.getClass());
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
        Class<?> described = isKind(type) ? type.getInterfaces()[0] : type;
        Class<?> outer = described.getEnclosingClass();
        return outer != null && (described.isRecord() || described.isSealed())
                ? outer.getSimpleName()
                : described.getSimpleName();
    }

    /** Whether a record is one of a sealed interface, which is then the first that it implements. */
    private static boolean isKind(Class<?> type) {
        return type.isRecord() && Stream.of(type.getInterfaces()).limit(1).anyMatch(Class::isSealed);
    }

    private static String kindOf(Class<?> type) {
        String name = type.getSimpleName();
        return Character.toLowerCase(name.charAt(0)) + name.substring(1);
    }
}
