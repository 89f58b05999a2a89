package io.github.djlpositional.arguments;

import java.util.Locale;

/** Checks of arguments, one line each. A failed check says what was given, what is expected, and what to do. */
public final class Check {

    private Check() {}

    /**
     * Checks any condition.
     *
     * @param holds the condition
     * @param message what was given, what is expected and what to do, in the syntax of {@link String#format}; it is only
     *     formatted if the condition does not hold
     * @param values the values in the message
     * @throws IllegalArgumentException if the condition does not hold
     */
    public static void that(boolean holds, String message, Object... values) {
        if (!holds) {
            throw new IllegalArgumentException(String.format(Locale.ROOT, message, values));
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
        String range = greatest == Integer.MAX_VALUE ? least + " or more" : least + " to " + greatest;
        that(
                value >= least && value <= greatest,
                "%s %d: expected %s; set %1$s to a number in this range",
                name,
                value,
                range);
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
                "%s %s: expected a positive finite number; set %1$s to one, %s",
                name,
                value,
                usual);
    }

    /**
     * Checks a dropout rate.
     *
     * @param name the argument's name
     * @param rate the fraction of values that is dropped in training
     * @throws IllegalArgumentException if it is outside [0, 1) or NaN
     */
    public static void rate(String name, float rate) {
        that(rate >= 0 && rate < 1, "%s %s: expected 0 or more and less than 1; use 0 for no dropout", name, rate);
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
        that(value != null, "%s is missing: expected a value; set it", name);
        return value;
    }
}
