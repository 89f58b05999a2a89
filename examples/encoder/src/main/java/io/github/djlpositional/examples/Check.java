package io.github.djlpositional.examples;

import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/** Checks of options and of values in files. A failed check says what was given, what is expected, and what to do. */
public final class Check {

    private Check() {}

    /**
     * Checks any condition.
     *
     * @param holds the condition
     * @param message returns what was given, what is expected and what to do
     */
    public static void that(boolean holds, Supplier<String> message) {
        if (!holds) {
            throw new IllegalArgumentException(message.get());
        }
    }

    /**
     * Checks a count.
     *
     * @param name its name
     * @param value at least 1
     */
    public static void positive(String name, int value) {
        between(name, value, 1, Integer.MAX_VALUE);
    }

    /**
     * Checks a whole number.
     *
     * @param name its name
     * @param value the number
     * @param least the smallest number expected
     * @param greatest the greatest number expected; {@link Integer#MAX_VALUE} for no limit
     */
    public static void between(String name, int value, int least, int greatest) {
        String range = least + (greatest == Integer.MAX_VALUE ? " or more" : " to " + greatest);
        that(
                value >= least && value <= greatest,
                () -> name + " " + value + ": expected " + range + "; set " + name + " to a number in this range");
    }

    /**
     * Checks a dropout rate.
     *
     * @param name its name
     * @param rate at least 0, below 1
     */
    public static void rate(String name, float rate) {
        that(
                rate >= 0 && rate < 1,
                () -> name + " " + rate + ": expected 0 or more and less than 1; use 0 for no dropout");
    }

    /**
     * Returns a value of a map from properties or JSON.
     *
     * @param values the map
     * @param key the key
     * @param expected what the value should be, for the message
     * @param parse reads the value from its text
     * @param <T> the type of the value
     * @return the value, or null if there is none
     */
    public static <T> T value(Map<String, ?> values, String key, String expected, Function<String, T> parse) {
        Object value = values.get(key);
        try {
            return value == null ? null : parse.apply(value.toString());
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IllegalArgumentException(
                    "argument '" + key + "' is " + value + ": expected " + expected + "; correct it", e);
        }
    }

    /**
     * Checks that a value is there.
     *
     * @param name its name
     * @param value the value
     * @param <T> its type
     * @return the value
     */
    public static <T> T given(String name, T value) {
        that(value != null, () -> name + " is missing: expected a value; set it");
        return value;
    }
}
