package io.github.djlpositional.examples;

import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;

/** Checks of options and of values in files. A failed check says what was given, what is expected, and what to do. */
public final class Check {

    private Check() {}

    /** Checks any condition. The message says what was given, what is expected and what to do. */
    public static void that(boolean holds, Supplier<String> message) {
        if (!holds) {
            throw new IllegalArgumentException(message.get());
        }
    }

    /** Checks that a count is at least 1. */
    public static void positive(String name, int value) {
        between(name, value, 1, Integer.MAX_VALUE);
    }

    /** Checks a whole number; a largest number of {@link Integer#MAX_VALUE} is no limit. */
    public static void between(String name, int value, int smallest, int largest) {
        String range = smallest + (largest == Integer.MAX_VALUE ? " or more" : " to " + largest);
        that(
                value >= smallest && value <= largest,
                () -> name + " " + value + ": expected " + range + "; set " + name + " to a number in this range");
    }

    /**
     * Returns a value of a map from properties or JSON, or null if there is none.
     *
     * @param expected what the value should be, for the message
     * @param parse reads the value from its text
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

    /** Returns a value after checking that it is there. */
    public static <T> T present(String name, T value) {
        that(value != null, () -> name + " is missing: expected a value; set it");
        return value;
    }
}
