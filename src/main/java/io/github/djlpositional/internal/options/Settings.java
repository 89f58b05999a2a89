package io.github.djlpositional.internal.options;

import io.github.djlpositional.options.HasArguments;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.StringJoiner;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Converts between records of options and maps of plain values, with the defaults and ranges of {@link Default} and
 * {@link Range}.
 *
 * <pre>{@code
 * record Options(@Range(min = 1) int headCount, @NotSaved @Default("0") @Range(min = 0, below = 1) float dropoutRate) {}
 *
 * Options options = Settings.create(Options.class, Map.of("headCount", 8));
 * Map<String, Object> map = Settings.toMap(options);               // {headCount=8, dropoutRate=0.0}
 * }</pre>
 *
 * <p>An option is a number, a boolean, a string, a constant of an enum or of another class, a list of these, a record,
 * a sealed interface whose implementations are records, or an object that {@linkplain HasArguments has arguments}, such
 * as a block within the block. In a map, the key {@value #TYPE} names the class of such a record or object: its simple
 * name. The constructor of the record checks how options depend on each other.
 *
 * <p>Numbers may have any {@link Number} type, because JSON readers differ; numbers and booleans may also be strings,
 * as in properties files. {@link IllegalArgumentException} is thrown for an unknown key, a missing required value, a
 * value of another type, and one out of range; the message names the key.
 */
public final class Settings {

    /** The key of the simple name of a class. */
    public static final String TYPE = "type";

    /** The maximum length of a number in a string, and of a value in a message. */
    private static final int MAX_TEXT = 100;

    /** The maximum depth of nested maps: a map could contain itself. */
    private static final int MAX_DEPTH = 32;

    /** The maximum depth of nested arrays that a message shows. */
    private static final int MAX_ARRAYS = 4;

    private static final ThreadLocal<Integer> DEPTH = ThreadLocal.withInitial(() -> 0);

    /** The number of elements of a list that a description shows. */
    private static final int SHOWN_ELEMENTS = 8;

    /** The components of each record class; their annotations are parsed once. */
    static final ClassValue<RecordComponent[]> COMPONENTS = new ClassValue<>() {
        @Override
        protected RecordComponent[] computeValue(Class<?> type) {
            return type.getRecordComponents();
        }
    };

    /**
     * The constants of a class by their names: those of an enum, or else the public ones that the class has of itself,
     * which may also have other objects, without a name.
     */
    private static final ClassValue<Map<String, Object>> CONSTANTS = new ClassValue<>() {
        @Override
        protected Map<String, Object> computeValue(Class<?> type) {
            Map<String, Object> constants = new LinkedHashMap<>();
            if (type.isEnum()) {
                Stream.of(type.getEnumConstants()).forEach(each -> constants.put(((Enum<?>) each).name(), each));
                return constants;
            }
            for (Field field : type.getFields()) {
                if (Modifier.isStatic(field.getModifiers()) && field.getType() == type) {
                    try {
                        constants.put(field.getName(), field.get(null));
                    } catch (IllegalAccessException e) {
                        throw OptionTypes.unwrap(e);
                    }
                }
            }
            return constants;
        }
    };

    private Settings() {}

    /**
     * {@return an object with the options in a map}
     *
     * @param builder a new builder
     * @param arguments a result of {@link HasArguments#getArguments}; {@code type} may be missing
     */
    public static <T> T build(BlockBuilder<T, ?> builder, Map<?, ?> arguments) {
        builder.setAll(arguments);
        return builder.build();
    }

    /** {@return a record of the options in a map} */
    public static <R extends Record> R create(Class<R> type, Map<?, ?> options) {
        String owner = nameOf(type);
        RecordComponent[] components = COMPONENTS.get(type);
        List<String> names = Stream.of(components).map(RecordComponent::getName).toList();
        for (Object key : options.keySet()) {
            Check.that(
                    names.contains(key) || TYPE.equals(key),
                    () -> owner + " has no argument '" + shown(key) + "': expected " + names
                            + "; correct the name, or remove it");
        }
        if (options.containsKey(TYPE) && !nameOf(type).equals(options.get(TYPE))) {
            throw invalid(owner, TYPE, options.get(TYPE), owner);
        }
        Object[] values = values(owner, components, options);
        try {
            Constructor<R> constructor = type.getDeclaredConstructor(
                    Stream.of(components).map(RecordComponent::getType).toArray(Class<?>[]::new));
            constructor.setAccessible(true);
            return constructor.newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw OptionTypes.unwrap(e);
        }
    }

    private static Object[] values(String owner, RecordComponent[] components, Map<?, ?> options) {
        int depth = DEPTH.get();
        Check.that(
                depth < MAX_DEPTH,
                () -> "the arguments of " + owner + " are maps nested more than " + MAX_DEPTH
                        + " deep: expected fewer; check whether a map contains itself");
        DEPTH.set(depth + 1);
        try {
            return Stream.of(components)
                    .map(component -> option(owner, component, options))
                    .toArray();
        } finally {
            DEPTH.set(depth);
        }
    }

    private static Object option(String owner, RecordComponent component, Map<?, ?> options) {
        String name = component.getName();
        Object value = value(owner, options, name, component.getGenericType());
        Default otherwise = component.getAnnotation(Default.class);
        if (value == null && otherwise != null) {
            return convert(owner, name, otherwise.value(), component.getGenericType());
        }
        Check.that(
                value != null || !component.getType().isPrimitive(),
                () -> "argument '" + name + "' of " + owner
                        + " is missing: expected a value; set it, in a builder with set"
                        + Character.toUpperCase(name.charAt(0)) + name.substring(1));
        requireInRange(name, value, component.getAnnotation(Range.class));
        return value;
    }

    private static void requireInRange(String name, Object value, Range range) {
        if (range == null || value == null) {
            return;
        }
        if (value instanceof List<?> list) {
            list.forEach(each -> requireInRange(name, each, range));
            return;
        }
        double number = ((Number) value).doubleValue();
        Check.that(
                Double.isFinite(number)
                        && number >= range.min()
                        && number <= range.max()
                        && number > range.above()
                        && number < range.below(),
                () -> name + " " + value + ": expected " + describe(range) + "; set " + name
                        + " to a number in this range");
    }

    private static String describe(Range range) {
        StringJoiner ends = new StringJoiner(" and ");
        if (range.min() > Double.NEGATIVE_INFINITY && range.max() < Double.POSITIVE_INFINITY) {
            ends.add(plain(range.min()) + " to " + plain(range.max()));
        } else if (range.min() > Double.NEGATIVE_INFINITY) {
            ends.add(plain(range.min()) + " or more");
        } else if (range.max() < Double.POSITIVE_INFINITY) {
            ends.add("at most " + plain(range.max()));
        }
        if (range.above() > Double.NEGATIVE_INFINITY) {
            ends.add("more than " + plain(range.above()));
        }
        if (range.below() < Double.POSITIVE_INFINITY) {
            ends.add("less than " + plain(range.below()));
        }
        return ends.length() == 0 ? "a finite number" : ends.toString();
    }

    private static String plain(double end) {
        return BigDecimal.valueOf(end).stripTrailingZeros().toPlainString();
    }

    /**
     * Returns one value of a map, converted as for a component of the type, or null if it is missing. Messages name the
     * owner, the class that the map describes.
     */
    public static <T> T value(Class<?> owner, Map<?, ?> values, String key, Class<T> type) {
        return type.cast(value(nameOf(owner), values, key, type));
    }

    private static Object value(String owner, Map<?, ?> values, String key, Type type) {
        Object value = values.get(key);
        Check.that(
                value != null || !values.containsKey(key),
                () -> "argument '" + key + "' of " + owner
                        + " is null: expected a value; leave the key out for the default");
        return value == null ? null : convert(owner, key, value, type);
    }

    private static Object convert(String owner, String key, Object value, Type type) {
        if (type instanceof ParameterizedType list) {
            Type element = list.getActualTypeArguments()[0];
            boolean isOne = value instanceof Map || (element instanceof Class<?> of && of.isInstance(value));
            List<?> elements = isOne ? List.of(value) : value instanceof List<?> several ? several : null;
            if (elements == null) {
                throw invalid(owner, key, value, "a list");
            }
            return elements.stream()
                    .map(each -> convert(owner, key, each, element))
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
        Map<String, Object> constants = CONSTANTS.get(wanted);
        if (!constants.isEmpty()) {
            List<String> names = List.copyOf(constants.keySet());
            return constants.get(names.get(indexOf(owner, key, value, names)));
        }
        if (wanted == String.class || wanted == List.class) {
            throw invalid(owner, key, value, wanted == String.class ? "a string" : "a list");
        }
        if (!(value instanceof Map<?, ?> map)) {
            throw invalid(owner, key, value, "a map or a " + wanted.getSimpleName());
        }
        if (wanted.isRecord()) {
            return create(wanted.asSubclass(Record.class), map);
        }
        return wanted.isSealed() ? createOneOf(wanted, map) : OptionTypes.create(owner, key, wanted, map);
    }

    /**
     * {@return one of the records that implement a sealed interface: the one that the map names under {@value #TYPE}}
     */
    public static <R> R createOneOf(Class<R> type, Map<?, ?> options) {
        Class<?>[] records = type.getPermittedSubclasses();
        List<String> names = Stream.of(records).map(Class::getSimpleName).toList();
        int index = indexOf(type.getSimpleName(), TYPE, options.get(TYPE), names);
        return type.cast(create(records[index].asSubclass(Record.class), options));
    }

    private static int indexOf(String owner, String key, Object value, List<String> names) {
        int index = value == null ? -1 : names.indexOf(value);
        if (index < 0) {
            throw invalid(owner, key, value, "one of " + names);
        }
        return index;
    }

    private static Object number(String owner, String key, Object value, Class<?> type) {
        // through the text: converting a float to the nearest double would change the number that was written
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

    static IllegalArgumentException invalid(String owner, String key, Object value, String expected) {
        String actual = value == null ? "missing" : "the " + classOf(value) + " " + shown(value);
        return new IllegalArgumentException(
                "argument '" + key + "' of " + owner + " is " + actual + ": expected " + expected + "; correct it");
    }

    /**
     * {@return the text of a value for a message: one line of limited length} Lists and arrays are shown by their first
     * elements. Maps and nested lists are not shown: they may contain themselves.
     */
    public static String shown(Object value) {
        String text = value instanceof Collection<?> elements
                ? elements.stream()
                        .limit(SHOWN_ELEMENTS)
                        .map(each -> flat(each, MAX_ARRAYS))
                        .toList()
                        .toString()
                : flat(value, MAX_ARRAYS);
        String bounded = text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "…";
        return bounded.replaceAll("\\R|\\p{Cntrl}", " ");
    }

    private static String flat(Object value, int depth) {
        if (value instanceof Map || value instanceof Collection) {
            return "{…}";
        }
        if (value == null || !value.getClass().isArray()) {
            return String.valueOf(value);
        }
        int length = Array.getLength(value);
        return depth == 0
                ? "[…]"
                : IntStream.range(0, Math.min(length, SHOWN_ELEMENTS))
                        .mapToObj(i -> flat(Array.get(value, i), depth - 1))
                        .collect(Collectors.joining(", ", "[", length > SHOWN_ELEMENTS ? ", …]" : "]"));
    }

    /**
     * {@return the simple name of the class of an object, for messages and model files} An anonymous class and a lambda
     * have none: the result is the class that they extend, or else the interface that they implement.
     */
    public static String classOf(Object object) {
        Class<?> type = object.getClass();
        while (type.isAnonymousClass() || type.isHidden()) {
            Class<?>[] interfaces = type.getInterfaces();
            boolean isNamedByInterface = type.getSuperclass() == Object.class && interfaces.length > 0;
            type = isNamedByInterface ? interfaces[0] : type.getSuperclass();
        }
        return type.getSimpleName();
    }

    /**
     * {@return the options of an object as {@link HasArguments#getArguments} describes them}
     *
     * @param described the object
     * @param options its options
     */
    public static Map<String, Object> arguments(HasArguments described, Record options) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put(TYPE, described.getClass().getSimpleName());
        arguments.putAll(toMap(options));
        return Collections.unmodifiableMap(arguments);
    }

    /**
     * {@return the options of a record as plain values, from which {@link #create} creates it again: in the order of
     * its components, except null ones}
     */
    public static Map<String, Object> toMap(Record options) {
        Map<String, Object> values = new LinkedHashMap<>();
        if (isOneOfSeveral(options.getClass())) {
            values.put(TYPE, options.getClass().getSimpleName());
        }
        String owner = nameOf(options.getClass());
        components(options).forEach((name, value) -> values.put(name, plain(owner, value)));
        return Collections.unmodifiableMap(values);
    }

    private static Object plain(String owner, Object value) {
        if (value instanceof HasArguments described) {
            return described.getArguments();
        }
        if (value instanceof Record nested) {
            return toMap(nested);
        }
        if (value instanceof List<?> list) {
            return list.stream().map(each -> plain(owner, each)).toList();
        }
        if (value instanceof Number || value instanceof Boolean || value instanceof String) {
            return value;
        }
        Map<String, Object> constants = constantsLike(value);
        return constants.entrySet().stream()
                .filter(constant -> constant.getValue() == value)
                .map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow(
                        () -> new UnsupportedOperationException(value.getClass().getName() + " within " + owner
                                + " has no arguments: expected "
                                + (constants.isEmpty()
                                        ? "a block of this library, or one that implements HasArguments"
                                        : "one of " + constants.keySet())
                                + "; create the outer block with its builder, in a BlockFactory of your own"));
    }

    /** The constants of the class of a value. */
    private static Map<String, Object> constantsLike(Object value) {
        return CONSTANTS.get(value instanceof Enum<?> choice ? choice.getDeclaringClass() : value.getClass());
    }

    /** Whether a value has no name, unlike the constants of its class. */
    private static boolean isUnnamed(Object value) {
        Map<String, Object> constants = constantsLike(value);
        return !constants.isEmpty() && !constants.containsValue(value);
    }

    /**
     * {@return the options that a model file has, as plain values}
     *
     * @param options the record
     * @param hasSection whether an option has its own section in the file, so that this section only has its class, as
     *     for an object without a name
     */
    public static Map<String, Object> saved(Record options, Predicate<Object> hasSection) {
        Map<String, Object> saved = new LinkedHashMap<>();
        Map<String, Object> values = components(options);
        for (RecordComponent component : COMPONENTS.get(options.getClass())) {
            Object value = values.get(component.getName());
            NotSaved notSaved = component.getAnnotation(NotSaved.class);
            boolean isSaved = notSaved == null
                    || (!notSaved.onlyIf().isEmpty() && !notSaved.onlyIf().equals(text(value)));
            if (value != null && isSaved) {
                saved.put(component.getName(), saved(value, hasSection));
            }
        }
        return saved;
    }

    private static Object saved(Object value, Predicate<Object> hasSection) {
        if (hasSection.test(value) || isUnnamed(value)) {
            return classOf(value);
        }
        return value instanceof List<?> list
                ? list.stream().map(each -> saved(each, hasSection)).toList()
                : plain("", value);
    }

    /**
     * {@return the name of the first option in which a record differs from the map of a model file; null for none}
     *
     * @param options the record
     * @param file a result of {@link #saved}, with numbers of any type
     * @param hasSection as for {@link #saved}
     */
    public static String difference(Record options, Map<?, ?> file, Predicate<Object> hasSection) {
        Map<String, Object> own = saved(options, hasSection);
        for (RecordComponent component : COMPONENTS.get(options.getClass())) {
            String name = component.getName();
            boolean isMissing = !file.containsKey(name);
            boolean mayDiffer = isMissing && component.isAnnotationPresent(NotSaved.class);
            Object value = isMissing ? defaultOf(component) : file.get(name);
            if (!mayDiffer && !isSame(own.get(name), value)) {
                return name;
            }
        }
        return file.keySet().stream()
                .map(String::valueOf)
                .filter(name -> !own.containsKey(name))
                .findFirst()
                .orElse(null);
    }

    /** The value of an option in a file that was saved before the option existed: its default. */
    private static Object defaultOf(RecordComponent component) {
        Default otherwise = component.getAnnotation(Default.class);
        return otherwise == null
                ? null
                : plain("", convert("", component.getName(), otherwise.value(), component.getGenericType()));
    }

    private static boolean isSame(Object own, Object file) {
        if (own instanceof Map<?, ?> one && file instanceof Map<?, ?> other) {
            return one.keySet().equals(other.keySet())
                    && one.keySet().stream().allMatch(key -> isSame(one.get(key), other.get(key)));
        }
        if (own instanceof List<?> one && file instanceof List<?> other) {
            return one.size() == other.size()
                    && IntStream.range(0, one.size()).allMatch(i -> isSame(one.get(i), other.get(i)));
        }
        if (own instanceof Number && file instanceof Number number) {
            return Double.parseDouble(own.toString()) == number.doubleValue();
        }
        return Objects.equals(own, file);
    }

    /** The values of a record's components by name, in their order, except null ones. */
    private static Map<String, Object> components(Record options) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (RecordComponent component : COMPONENTS.get(options.getClass())) {
            try {
                Method accessor = component.getAccessor();
                accessor.setAccessible(true);
                Object value = accessor.invoke(options);
                if (value != null) {
                    values.put(component.getName(), value);
                }
            } catch (ReflectiveOperationException e) {
                throw OptionTypes.unwrap(e);
            }
        }
        return values;
    }

    /**
     * Describes a record for messages, for example {@code AlibiBiasBlock(headCount=8)}, by its name and the components
     * that are not null; lists are shortened.
     */
    public static String describe(Record options) {
        return components(options).entrySet().stream()
                .map(component -> component.getKey() + "=" + text(component.getValue()))
                .collect(Collectors.joining(", ", nameOf(options.getClass()) + "(", ")"));
    }

    private static String text(Object value) {
        if (value instanceof Record nested) {
            return describe(nested);
        }
        if (value instanceof List<?> list) {
            return text(list);
        }
        boolean isPlain = value instanceof Number
                || value instanceof Boolean
                || value instanceof String
                || value instanceof HasArguments
                || (value != null && !constantsLike(value).isEmpty());
        return isPlain ? value.toString() : value == null ? "null" : classOf(value);
    }

    /** Lists of numbers are shortened, and equal objects, such as the layers of a stack, are counted. */
    private static String text(List<?> list) {
        Map<String, Long> counts =
                list.stream().collect(Collectors.groupingBy(Settings::text, LinkedHashMap::new, Collectors.counting()));
        if (list.size() > 1 && counts.size() == 1) {
            return "[" + list.size() + " × " + text(list.get(0)) + "]";
        }
        String shown = list.stream().limit(SHOWN_ELEMENTS).map(Settings::text).collect(Collectors.joining(", "));
        return "[" + shown + (list.size() > SHOWN_ELEMENTS ? ", … " + list.size() + " values]" : "]");
    }

    /** A record named Options describes the class that it is nested in, and one named XOptions the class X. */
    private static String nameOf(Class<?> type) {
        Class<?> outer = type.getEnclosingClass();
        String name = type.getSimpleName();
        if (!name.endsWith("Options")) {
            return name;
        }
        return outer != null ? outer.getSimpleName() : name.substring(0, name.length() - "Options".length());
    }

    /** Whether a record implements a sealed interface; its name is then used as it is. */
    private static boolean isOneOfSeveral(Class<?> type) {
        return Stream.of(type.getInterfaces()).anyMatch(Class::isSealed);
    }
}
