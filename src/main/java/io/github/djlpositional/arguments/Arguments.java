package io.github.djlpositional.arguments;

import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * Reads a map of plain values, and refuses keys that nobody asked for and values of another type by name.
 *
 * <pre>{@code
 * Arguments given = Arguments.of(MyBlock.class, arguments);
 * MyBlock.Builder builder = MyBlock.builder();
 * builder.setHeadCount(given.getInt("headCount"));
 * given.optFloat("dropoutRate").ifPresent(builder::optDropoutRate);
 * given.requireNoOthers();
 * return builder.build();
 * }</pre>
 *
 * <p>Numbers may be of any {@link Number} type, as readers of JSON differ in theirs; numbers, true and false may also be
 * text, as properties are. What a value means is checked by what it is given to.
 *
 * <p>Every {@code get} and {@code opt} method throws {@link IllegalArgumentException}, which names the key, for a value of
 * another type, and {@code get} also where the map has none. Not for several threads.
 */
public final class Arguments {

    /** Of a number as text; what is longer is none that a builder takes. */
    private static final int LONGEST = 100;

    private final String owner;
    private final Map<String, Object> values = new LinkedHashMap<>();
    private final Set<String> asked = new LinkedHashSet<>();

    private Arguments(String owner) {
        this.owner = owner;
    }

    /**
     * Begins to read a map.
     *
     * @param owner what the map describes, for messages
     * @param values the map, copied here
     * @return the reader
     * @throws IllegalArgumentException if a key is no text or a value is null
     */
    public static Arguments of(Class<?> owner, Map<?, ?> values) {
        return of(owner.getSimpleName(), values);
    }

    /**
     * Begins to read a map within a map.
     *
     * @param owner what the map describes, for messages, such as {@code positionalEncoding of InputEmbeddingBlock}
     * @param values the map, copied here
     * @return the reader
     * @throws IllegalArgumentException if a key is no text or a value is null
     */
    public static Arguments of(String owner, Map<?, ?> values) {
        Arguments arguments = new Arguments(owner);
        values.forEach((key, value) -> {
            if (!(key instanceof String name)) {
                throw new IllegalArgumentException(
                        "the key " + key + " for " + arguments.owner + " is no text: give each argument by its name");
            }
            if (value == null) {
                throw new IllegalArgumentException("argument '" + name + "' of " + arguments.owner
                        + " is null: allowed is a value; leave the key out for none");
            }
            arguments.values.put(name, value);
        });
        return arguments;
    }

    /**
     * Returns a whole number.
     *
     * @param key the argument's name
     * @return the number, or nothing where the map has none
     */
    public OptionalInt optInt(String key) {
        Object value = find(key);
        return value == null ? OptionalInt.empty() : OptionalInt.of(int32(key, value));
    }

    /**
     * Returns a whole number that must be there.
     *
     * @param key the argument's name
     * @return the number
     */
    public int getInt(String key) {
        return int32(key, required(key, "a whole number"));
    }

    /**
     * Returns a whole number of up to 64 bits that must be there.
     *
     * @param key the argument's name
     * @return the number
     */
    public long getLong(String key) {
        return wholeNumber(key, required(key, "a whole number"));
    }

    private int int32(String key, Object value) {
        long number = wholeNumber(key, value);
        if (number != (int) number) {
            throw refused(key, "a whole number of 32 bits");
        }
        return (int) number;
    }

    private long wholeNumber(String key, Object value) {
        if ((value instanceof Number || value instanceof String)
                && value.toString().length() <= LONGEST) {
            try {
                return new BigDecimal(value.toString()).longValueExact();
            } catch (ArithmeticException | NumberFormatException e) {
                throw refused(key, "a whole number", e);
            }
        }
        throw refused(key, "a whole number");
    }

    /**
     * Returns a number.
     *
     * @param key the argument's name
     * @return the number, or nothing where the map has none
     */
    public OptionalDouble optDouble(String key) {
        Object value = find(key);
        return value == null ? OptionalDouble.empty() : OptionalDouble.of(number(key, value));
    }

    /**
     * Returns a number that must be there.
     *
     * @param key the argument's name
     * @return the number
     */
    public double getDouble(String key) {
        return number(key, required(key, "a number"));
    }

    /**
     * Returns a number as a float.
     *
     * @param key the argument's name
     * @return the float nearest to the number, or nothing where the map has none
     */
    public Optional<Float> optFloat(String key) {
        Object value = find(key);
        return value == null ? Optional.empty() : Optional.of((float) number(key, value));
    }

    /** Through its text: a float's double is another number than the one that was written. */
    private double number(String key, Object value) {
        if ((value instanceof Number || value instanceof String)
                && value.toString().length() <= LONGEST) {
            try {
                return Double.parseDouble(value.toString());
            } catch (NumberFormatException e) {
                throw refused(key, "a number", e);
            }
        }
        throw refused(key, "a number");
    }

    /**
     * Returns true or false.
     *
     * @param key the argument's name
     * @return the value, or nothing where the map has none
     */
    public Optional<Boolean> optFlag(String key) {
        Object value = find(key);
        return value == null ? Optional.empty() : Optional.of(flag(key, value));
    }

    /**
     * Returns true or false, which must be there.
     *
     * @param key the argument's name
     * @return the value
     */
    public boolean getFlag(String key) {
        return flag(key, required(key, "true or false"));
    }

    private boolean flag(String key, Object value) {
        if (value instanceof Boolean flag) {
            return flag;
        }
        if ("true".equals(value) || "false".equals(value)) {
            return "true".equals(value);
        }
        throw refused(key, "true or false");
    }

    /**
     * Returns text that must be there.
     *
     * @param key the argument's name
     * @return the text
     */
    public String getText(String key) {
        if (required(key, "text") instanceof String text) {
            return text;
        }
        throw refused(key, "text");
    }

    /**
     * Returns one of an enum's constants, given by its name.
     *
     * @param <E> the enum
     * @param key the argument's name
     * @param choices the enum
     * @return the constant, or nothing where the map has none
     */
    public <E extends Enum<E>> Optional<E> optChoice(String key, Class<E> choices) {
        Object value = find(key);
        return value == null ? Optional.empty() : Optional.of(choice(key, value, choices));
    }

    /**
     * Returns one of an enum's constants, given by its name, which must be there.
     *
     * @param <E> the enum
     * @param key the argument's name
     * @param choices the enum
     * @return the constant
     */
    public <E extends Enum<E>> E getChoice(String key, Class<E> choices) {
        return choice(key, required(key, oneOf(choices)), choices);
    }

    private <E extends Enum<E>> E choice(String key, Object value, Class<E> choices) {
        for (E choice : choices.getEnumConstants()) {
            if (choice.name().equals(value)) {
                return choice;
            }
        }
        throw refused(key, oneOf(choices));
    }

    private static <E extends Enum<E>> String oneOf(Class<E> choices) {
        return "one of " + Stream.of(choices.getEnumConstants()).map(Enum::name).toList();
    }

    /**
     * Returns a map within the map.
     *
     * @param key the argument's name
     * @return the map, or nothing where there is none
     */
    public Optional<Map<?, ?>> optMap(String key) {
        Object value = find(key);
        return value == null ? Optional.empty() : Optional.of(map(key, value));
    }

    /**
     * Returns a map within the map, which must be there.
     *
     * @param key the argument's name
     * @return the map
     */
    public Map<?, ?> getMap(String key) {
        return map(key, required(key, "a map"));
    }

    private Map<?, ?> map(String key, Object value) {
        if (value instanceof Map<?, ?> map) {
            return map;
        }
        throw refused(key, "a map of plain values");
    }

    /**
     * Returns numbers.
     *
     * @param key the argument's name
     * @return the numbers of the list, or nothing where the map has none
     */
    public Optional<double[]> optDoubles(String key) {
        Object value = find(key);
        return value == null ? Optional.empty() : Optional.of(numbers(key, value));
    }

    /**
     * Returns numbers that must be there.
     *
     * @param key the argument's name
     * @return the numbers of the list
     */
    public double[] getDoubles(String key) {
        return numbers(key, required(key, "a list of numbers"));
    }

    private double[] numbers(String key, Object value) {
        if (!(value instanceof List<?> list) || list.stream().anyMatch(Objects::isNull)) {
            throw refused(key, "a list of numbers");
        }
        return list.stream().mapToDouble(each -> number(key, each)).toArray();
    }

    /**
     * Returns all arguments but one, for what is described by the others; this reader stays as it is.
     *
     * @param key the argument's name
     * @return a new map
     */
    public Map<String, Object> without(String key) {
        Map<String, Object> others = new LinkedHashMap<>(values);
        others.remove(key);
        return others;
    }

    /**
     * Ends the reading.
     *
     * @throws IllegalArgumentException if the map has a key that nobody asked for
     */
    public void requireNoOthers() {
        for (String key : values.keySet()) {
            if (!asked.contains(key)) {
                throw new IllegalArgumentException(owner + " has no argument '" + key + "': allowed are " + asked
                        + "; correct it, or leave it out");
            }
        }
    }

    /**
     * Returns a value as a map of plain values holds it.
     *
     * @param value a plain value, an enum's constant, numbers, or what {@linkplain HasArguments has arguments}
     * @return the plain value
     */
    public static Object plain(Object value) {
        if (value instanceof HasArguments described) {
            return described.getArguments();
        }
        if (value instanceof Enum<?> choice) {
            return choice.name();
        }
        return value instanceof double[] numbers
                ? DoubleStream.of(numbers).boxed().toList()
                : value;
    }

    /**
     * Returns the error for a value that is none of those which are allowed.
     *
     * @param key the argument's name
     * @param allowed which are
     * @return the error, to be thrown
     */
    public IllegalArgumentException refused(String key, String allowed) {
        return refused(key, allowed, null);
    }

    private IllegalArgumentException refused(String key, String allowed, Exception cause) {
        Object value = values.get(key);
        String given = value == null ? "missing" : "the " + value.getClass().getSimpleName() + " " + shortened(value);
        return new IllegalArgumentException(
                "argument '" + key + "' of " + owner + " is " + given + ": allowed is " + allowed + "; correct it",
                cause);
    }

    private static String shortened(Object value) {
        String text = value.toString();
        return text.length() <= LONGEST ? text : text.substring(0, LONGEST) + "…";
    }

    private Object find(String key) {
        asked.add(key);
        return values.get(key);
    }

    private Object required(String key, String allowed) {
        Object value = find(key);
        if (value == null) {
            throw refused(key, allowed);
        }
        return value;
    }
}
