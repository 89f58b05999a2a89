package io.github.djlpositional.examples;

import java.util.function.Supplier;

/** Checks of options and files. A failed check is an {@link IllegalArgumentException}. */
public final class Check {

    private Check() {}

    /** Checks any condition. The message says what was given, what is expected and what to do. */
    public static void that(boolean holds, String message) {
        that(holds, () -> message);
    }

    /** Checks any condition. The message is built only if the condition does not hold. */
    public static void that(boolean holds, Supplier<String> message) {
        if (!holds) {
            throw new IllegalArgumentException(message.get());
        }
    }

    /** Checks that a count is 1 or more. */
    public static void positive(String name, int value) {
        between(name, value, 1, Integer.MAX_VALUE);
    }

    /** Checks that a number is in a range. */
    public static void between(String name, int value, int smallest, int largest) {
        that(
                value >= smallest && value <= largest,
                () -> name + " " + value + ": expected " + smallest
                        + (largest == Integer.MAX_VALUE ? " or more" : " to " + largest) + "; set another " + name);
    }

    /** Checks that a value was set, and returns it. */
    public static <T> T present(String name, T value) {
        that(value != null, () -> name + " is missing: expected a value; set it");
        return value;
    }
}
