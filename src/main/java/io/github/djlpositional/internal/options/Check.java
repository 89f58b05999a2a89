package io.github.djlpositional.internal.options;

import java.util.function.Supplier;

/**
 * Checks of arguments, one line each. A failed check says what was given, what is expected, and what to do, as an
 * {@link IllegalArgumentException}.
 */
public final class Check {

    private Check() {}

    /** Checks any condition. The message says what was given, what is expected and what to do. */
    public static void that(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }

    /** Checks any condition. The message is built only if the condition does not hold. */
    public static void that(boolean holds, Supplier<String> message) {
        if (!holds) {
            throw new IllegalArgumentException(message.get());
        }
    }

    /** Checks that a size or a count is 1 or more. */
    public static void positive(String name, int value) {
        between(name, value, 1, Integer.MAX_VALUE);
    }

    /** Checks that a whole number is in a range; {@link Integer#MAX_VALUE} stands for no upper limit. */
    public static void between(String name, long value, long smallest, long largest) {
        that(
                value >= smallest && value <= largest,
                () -> name + " " + value + ": expected " + smallest
                        + (largest == Integer.MAX_VALUE ? " or more" : " to " + largest) + "; set " + name
                        + " to a number in this range");
    }

    /** Checks that one size divides another. */
    public static void divides(String name, int divisor, String ofName, int size) {
        that(
                size % divisor == 0,
                () -> ofName + " " + size + " with " + name + " " + divisor + ": expected a " + name
                        + " that divides the " + ofName + "; change one of them");
    }

    /**
     * Checks that a number, such as a base, a factor or a scale, is positive and finite. The message suggests a usual
     * value.
     */
    public static void positive(String name, double value, String usual) {
        that(
                value > 0 && Double.isFinite(value),
                () -> name + " " + value + ": expected a positive finite number, " + usual + "; set another " + name);
    }

    /**
     * Checks that an argument is not null, and returns it.
     *
     * @throws NullPointerException if it is
     */
    public static <T> T notNull(String name, T value, String expected) {
        if (value == null) {
            throw new NullPointerException(name + " is null: expected " + expected + "; pass one");
        }
        return value;
    }

    /** Checks that a required argument was set, and returns it. */
    public static <T> T present(String name, T value) {
        that(value != null, () -> name + " is missing: expected a value; set it");
        return value;
    }

    /** Whether two sizes of shapes are the same, or one is unknown, -1. */
    public static boolean agree(long one, long other) {
        return one == other || one == -1 || other == -1;
    }
}
