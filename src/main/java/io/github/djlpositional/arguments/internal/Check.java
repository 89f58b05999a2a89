package io.github.djlpositional.arguments.internal;

import java.util.function.Supplier;

/** Checks of arguments, one line each. A failed check says what was given, what is expected, and what to do. */
public final class Check {

    private Check() {}

    /**
     * Checks any condition.
     *
     * @param holds the condition
     * @param message what was given, what is expected and what to do
     * @throws IllegalArgumentException if the condition does not hold
     */
    public static void that(boolean holds, String message) {
        if (!holds) {
            throw new IllegalArgumentException(message);
        }
    }

    /**
     * Checks any condition.
     *
     * @param holds the condition
     * @param message returns what was given, what is expected and what to do; called only if the condition does not
     *     hold
     * @throws IllegalArgumentException if the condition does not hold
     */
    public static void that(boolean holds, Supplier<String> message) {
        if (!holds) {
            throw new IllegalArgumentException(message.get());
        }
    }

    /**
     * Checks a size or a count.
     *
     * @param name the argument's name
     * @param value the size
     * @throws IllegalArgumentException if it is below 1
     */
    public static void positive(String name, int value) {
        between(name, value, 1, Integer.MAX_VALUE);
    }

    /**
     * Checks a whole number.
     *
     * @param name the argument's name
     * @param value the number
     * @param least the smallest number expected
     * @param greatest the greatest number expected; {@link Integer#MAX_VALUE} for no limit
     * @throws IllegalArgumentException if it is outside this range
     */
    public static void between(String name, long value, long least, long greatest) {
        that(
                value >= least && value <= greatest,
                () -> name + " " + value + ": expected " + least
                        + (greatest == Integer.MAX_VALUE ? " or more" : " to " + greatest) + "; set " + name
                        + " to a number in this range");
    }

    /**
     * Checks a real number that has to be positive, such as a base, a factor or a scale.
     *
     * @param name the argument's name
     * @param value the number
     * @param usual a usual value, which the message suggests
     * @throws IllegalArgumentException if it is zero, negative, infinite or NaN
     */
    public static void positive(String name, double value, String usual) {
        that(
                value > 0 && Double.isFinite(value),
                () -> name + " " + value + ": expected a positive finite number; set " + name + " to one, " + usual);
    }

    /**
     * Checks a dropout rate.
     *
     * @param name the argument's name
     * @param rate the fraction of values that is dropped in training
     * @throws IllegalArgumentException if it is outside [0, 1) or NaN
     */
    public static void rate(String name, float rate) {
        that(
                rate >= 0 && rate < 1,
                () -> name + " " + rate + ": expected 0 or more and less than 1; use 0 for no dropout");
    }

    /**
     * Checks that a required argument was set.
     *
     * @param name the argument's name
     * @param value the argument
     * @param <T> its type
     * @return the argument
     * @throws IllegalArgumentException if it is null
     */
    public static <T> T given(String name, T value) {
        that(value != null, () -> name + " is missing: expected a value; set it");
        return value;
    }
}
