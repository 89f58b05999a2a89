package io.github.djlpositional.refusals;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.JsonUtils;
import io.github.djlpositional.options.OptionTypes;
import java.lang.reflect.Array;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * An expression of a case file, which reads like Java without {@code new}, quotes of names, and types of arrays:
 *
 * <ul>
 *   <li>{@code Frequencies.of(1, NaN)}, calls of methods, {@code QueryScale.LogN(1)}, constructors
 *   <li>{@code AlibiBiasBlock{headCount: 2}}, an object created from its arguments
 *   <li>{@code [1, 2]}, a list or an array; {@code FLOAT32}, a constant of an enum; {@code 'text'}
 *   <li>{@code #2x3}, a shape; {@code @2x3} and {@code @2x3:INT32}, zeros of a shape; {@code @[0, 2]:INT32}, an array
 *   <li>{@code infer(block, @2x3x4)}, a method of {@link Calls}; {@code block}, a definition of the file
 * </ul>
 */
public final class Expression {

    private static final String LIBRARY = "io.github.djlpositional.";

    private static final List<String> PACKAGES = List.of(
            LIBRARY,
            LIBRARY + "attention.",
            LIBRARY + "huggingface.",
            LIBRARY + "math.",
            LIBRARY + "relative.",
            LIBRARY + "transformer.",
            LIBRARY + "weights.",
            "ai.djl.nn.",
            "ai.djl.nn.core.",
            "java.lang.",
            "java.nio.",
            "java.nio.file.",
            "java.util.");

    /** The classes that names stand for. */
    private static final Map<String, Optional<Class<?>>> CLASSES = new ConcurrentHashMap<>();

    private static final Pattern NAME = Pattern.compile("\\w*");
    private static final Pattern NUMBER = Pattern.compile("[-.0-9eE]*");
    private static final Pattern SIZES = Pattern.compile("[-x0-9]*");

    private static final Object NONE = new Object();

    /** The name of a constant, whose enum follows from the parameter. */
    private record Constant(String name) {}

    private final String text;
    private final Map<String, String> definitions;
    private final NDManager manager;
    private int at;
    private int arraysBeforeCall = -1;

    public Expression(String text, Map<String, String> definitions, NDManager manager) {
        this.text = text;
        this.definitions = definitions;
        this.manager = manager;
    }

    /**
     * Evaluates the expression.
     *
     * @throws Exception of the outermost call
     * @throws AssertionError if an argument of that call or the expression itself is wrong
     */
    public Object value() throws Exception {
        Object value = next();
        require(at == text.length(), "the end");
        return value;
    }

    /** The value of an expression that is not refused. */
    public static Object valueOf(String text, Map<String, String> definitions, NDManager manager) {
        try {
            return new Expression(text, definitions, manager).value();
        } catch (Exception e) {
            throw new AssertionError("cannot evaluate " + text, e);
        }
    }

    /** The value of an expression without definitions and arrays. */
    public static Object valueOf(String text) {
        return valueOf(text, Map.of(), null);
    }

    /** The number of the manager's arrays before the outermost call of a method of {@link Calls}; -1 for another. */
    int arraysBeforeCall() {
        return arraysBeforeCall;
    }

    private void require(boolean isRight, String expected) {
        if (!isRight) {
            throw new AssertionError("expected " + expected + " at " + at + " of: " + text);
        }
    }

    private boolean takes(String token) {
        boolean isNext = text.startsWith(token, at);
        at += isNext ? token.length() : 0;
        return isNext;
    }

    /** The characters from here that match. */
    private String take(Pattern pattern) {
        Matcher matcher = pattern.matcher(text).region(at, text.length());
        require(matcher.lookingAt(), pattern.pattern());
        at = matcher.end();
        return matcher.group();
    }

    private Object next() throws Exception {
        Object value = primary();
        while (takes(".")) {
            String name = take(NAME);
            value = takes("(") ? call(value, name, list(")")) : member((Class<?>) value, name);
        }
        return value;
    }

    private Object primary() throws Exception {
        for (String quote : List.of("'", "`")) {
            if (takes(quote)) {
                int from = at;
                at = text.indexOf(quote, from) + 1;
                require(at > 0, quote);
                return text.substring(from, at - 1);
            }
        }
        if (takes("[")) {
            return list("]");
        }
        if (takes("@")) {
            return array();
        }
        if (takes("#")) {
            return shape();
        }
        boolean isNegative = takes("-");
        String number = at < text.length() && Character.isDigit(text.charAt(at)) ? take(NUMBER) : "";
        if (number.isEmpty()) {
            return named(take(NAME), isNegative ? -1 : 1);
        }
        String signed = (isNegative ? "-" : "") + number;
        return number.matches("[0-9]+") ? whole(Long.parseLong(signed)) : (Object) Double.parseDouble(signed);
    }

    private static Object whole(long number) {
        return (int) number == number ? (Object) (int) number : (Object) number;
    }

    private Object named(String name, int sign) throws Exception {
        if (name.equals("NaN") || name.equals("Infinity")) {
            return sign * Double.parseDouble(name);
        }
        if (List.of("null", "true", "false").contains(name)) {
            return name.equals("null") ? null : Boolean.valueOf(name);
        }
        if (definitions.containsKey(name)) {
            return valueOf(definitions.get(name), definitions, manager); // a mistake in it is not the refusal
        }
        Optional<Class<?>> type = CLASSES.computeIfAbsent(name, Expression::find);
        if (takes("(")) {
            List<Object> arguments = list(")");
            return type.isPresent() ? call(type.get(), "", arguments) : call(new Calls(manager), name, arguments);
        }
        if (text.startsWith("{", at)) {
            require(type.isPresent(), "a class instead of " + name);
            return OptionTypes.create(type.get(), map());
        }
        return type.isPresent() ? type.get() : new Constant(name);
    }

    private static Optional<Class<?>> find(String name) {
        for (String prefix : PACKAGES) {
            try {
                return Optional.of(Class.forName(prefix + name));
            } catch (ClassNotFoundException | NoClassDefFoundError e) {
                // in another package
            }
        }
        return Optional.empty();
    }

    private List<Object> list(String end) {
        List<Object> values = new ArrayList<>();
        while (!takes(end)) {
            try {
                values.add(text.startsWith("{", at) ? map() : next());
            } catch (Exception e) {
                throw new AssertionError("cannot evaluate the argument that ends at " + at + " of: " + text, e);
            }
            require(takes(", ") || text.startsWith(end, at), end);
        }
        return values;
    }

    private Map<?, ?> map() {
        int from = at;
        int depth = 0;
        do {
            require(at < text.length(), "}");
            depth += text.charAt(at) == '{' ? 1 : text.charAt(at) == '}' ? -1 : 0;
            at++;
        } while (depth > 0);
        return JsonUtils.GSON.fromJson(text.substring(from, at), Map.class);
    }

    private Shape shape() {
        String sizes = take(SIZES);
        return sizes.isEmpty()
                ? new Shape()
                : new Shape(Stream.of(sizes.split("x", -1))
                        .mapToLong(Long::parseLong)
                        .toArray());
    }

    private NDArray array() {
        if (!takes("[")) {
            Shape shape = shape();
            DataType type = takes(":") ? DataType.valueOf(take(NAME)) : DataType.FLOAT32;
            return manager.zeros(shape, DataType.FLOAT64).toType(type, false);
        }
        List<Object> values = list("]");
        List<Long> sizes = new ArrayList<>();
        while (values.stream().anyMatch(List.class::isInstance)) {
            sizes.add((long) values.size());
            values = values.stream()
                    .<Object>flatMap(each -> ((List<?>) each).stream())
                    .toList();
        }
        long rows = sizes.stream().reduce(1L, (a, b) -> a * b);
        sizes.add(values.size() / rows);
        double[] numbers = values.stream()
                .mapToDouble(each -> ((Number) each).doubleValue())
                .toArray();
        Shape shape = new Shape(sizes);
        boolean isReal = Arrays.stream(numbers).anyMatch(each -> each != Math.rint(each));
        DataType type = takes(":")
                ? DataType.valueOf(take(NAME))
                : isReal || numbers.length == 0 ? DataType.FLOAT32 : DataType.INT64;
        // a double holds the whole numbers of the case files, but converting NaN to a whole number is undefined
        return manager.create(numbers, shape).toType(type, false);
    }

    private static Optional<Class<?>> nested(Class<?> type, String name) {
        return Stream.of(type.getDeclaredClasses())
                .filter(each -> each.getSimpleName().equals(name))
                .findFirst();
    }

    private static Object member(Class<?> type, String name) throws ReflectiveOperationException {
        Optional<Class<?>> nested = nested(type, name);
        if (nested.isPresent()) {
            return nested.get();
        }
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(null);
    }

    private Object call(Object on, String name, List<Object> values) throws Exception {
        Class<?> type = on instanceof Class<?> named ? named : on.getClass();
        Optional<Class<?>> nested = nested(type, name);
        Stream<? extends Executable> candidates = nested.isPresent() || name.isEmpty()
                ? Stream.of(nested.orElse(type).getDeclaredConstructors())
                : methods(type).filter(each -> each.getName().equals(name));
        Executable best = null;
        Object[] arguments = null;
        for (Executable each : candidates.toList()) {
            Object[] converted = converted(each, values);
            boolean isBetter = converted != null
                    && (best == null || (best.isVarArgs() && !each.isVarArgs()) || isExact(each, values));
            if (isBetter && each.trySetAccessible()) {
                best = each;
                arguments = converted;
            }
        }
        require(best != null, "a method " + name + " of " + type + " for " + values);
        arraysBeforeCall = on instanceof Calls && manager != null
                ? manager.getManagedArrays().size()
                : -1;
        try {
            return best instanceof Method method
                    ? method.invoke(on, arguments)
                    : ((java.lang.reflect.Constructor<?>) best).newInstance(arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw new AssertionError(text, e.getCause());
        }
    }

    private static Stream<Method> methods(Class<?> type) {
        return type == null
                ? Stream.of()
                : Stream.concat(
                        Stream.concat(Stream.of(type.getDeclaredMethods()), methods(type.getSuperclass())),
                        Stream.of(type.getMethods()));
    }

    private static boolean isExact(Executable method, List<Object> values) {
        Class<?>[] types = method.getParameterTypes();
        return types.length == values.size()
                && Stream.iterate(0, i -> i < types.length, i -> i + 1)
                        .allMatch(i -> values.get(i) instanceof Integer == (types[i] == int.class));
    }

    /** The arguments of a method; null if the values are not those of its parameters. */
    private static Object[] converted(Executable method, List<Object> values) {
        Class<?>[] types = method.getParameterTypes();
        List<Object> all = values;
        int last = types.length - 1;
        if (method.isVarArgs()
                && values.size() >= last
                && !(values.size() == types.length && converted(values.get(last), types[last]) != NONE)) {
            all = new ArrayList<>(values.subList(0, last));
            all.add(values.subList(last, values.size()));
        }
        if (all.size() != types.length) {
            return null;
        }
        Object[] converted = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            converted[i] = converted(all.get(i), types[i]);
            if (converted[i] == NONE) {
                return null;
            }
        }
        return converted;
    }

    private static Object converted(Object value, Class<?> type) {
        if (value instanceof Constant constant && type.isEnum()) {
            return Stream.<Object>of(type.getEnumConstants())
                    .filter(each -> ((Enum<?>) each).name().equals(constant.name))
                    .findFirst()
                    .orElse(NONE);
        }
        if (value instanceof List<?> list && type.isArray()) {
            Object array = Array.newInstance(type.getComponentType(), list.size());
            for (int i = 0; i < list.size(); i++) {
                Object element = converted(list.get(i), type.getComponentType());
                if (element == NONE) {
                    return NONE;
                }
                Array.set(array, i, element);
            }
            return array;
        }
        if (value instanceof Number number && type.isPrimitive()) {
            return type == double.class
                    ? number.doubleValue()
                    : type == float.class
                            ? (Object) number.floatValue()
                            : type == long.class && !(number instanceof Double)
                                    ? (Object) number.longValue()
                                    : type == int.class && number instanceof Integer ? number : NONE;
        }
        boolean isFitting = value == null
                ? !type.isPrimitive()
                : type.isInstance(value) || (type == boolean.class && value instanceof Boolean);
        return isFitting ? value : NONE;
    }
}
