package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.util.Arrays;
import java.util.function.IntFunction;

/**
 * The slope of each attention head in ALiBi: the score of a key decreases by the slope for each step of its distance
 * from the query.
 *
 * <p>After Press, Smith and Lewis, <em>Train Short, Test Long: Attention with Linear Biases Enables Input Length
 * Extrapolation</em> (2022), section 3, and the authors' published code. If the number of heads N is a power of two,
 * the slope of head h = 1 … N is 2<sup>-8h/N</sup>. Otherwise, with m the largest power of two below N, the first m
 * slopes equal the slopes of m heads, and the others are every second slope of 2m heads, starting with the first:
 * 2<sup>-4/m</sup>, 2<sup>-12/m</sup>, …
 *
 * <p>Immutable. Each slope is stored as a sum of two doubles, so that a bias at any distance is rounded only once.
 */
public final class AlibiSlopes {

    /**
     * More than the heads of any model; a larger number, from a file perhaps, is rejected before memory is allocated.
     */
    private static final int MAX_HEADS = 1 << 16;

    private final DoubleDouble[] slopes;

    private AlibiSlopes(int heads, IntFunction<DoubleDouble> slope) {
        slopes = new DoubleDouble[heads];
        Arrays.setAll(slopes, slope);
    }

    /**
     * {@return the published slopes of a number of heads}
     *
     * @param heads N, from 1 to 65,536
     * @throws IllegalArgumentException if the number is outside its range
     */
    public static AlibiSlopes of(int heads) {
        return of(heads, 8);
    }

    /**
     * {@return the slopes with a number other than 8 in the exponent} MPT calls it {@code alibi_bias_max}.
     *
     * @param heads N, from 1 to 65,536
     * @param maximum positive and finite
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static AlibiSlopes of(int heads, double maximum) {
        requireValid(heads, maximum);
        int power = Integer.highestOneBit(heads);
        // -maximum (head + 1) / m, and for the heads beyond m the odd multiples of -maximum / 2m
        return new AlibiSlopes(heads, head -> {
            int exponent = head < power ? 2 * (head + 1) : 2 * (head - power) + 1;
            return powerOfTwo(DoubleDouble.of(-maximum / 2).times(exponent), power);
        });
    }

    /**
     * {@return the slopes 2<sup>-maximum · h / N</sup> for any number of heads} OLMo uses them; they differ from
     * {@link #of(int, double)} where N is not a power of two.
     *
     * @param heads N, from 1 to 65,536
     * @param maximum positive and finite; 8 in OLMo
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static AlibiSlopes geometric(int heads, double maximum) {
        requireValid(heads, maximum);
        return new AlibiSlopes(
                heads, head -> powerOfTwo(DoubleDouble.of(-maximum).times(head + 1), heads));
    }

    /**
     * {@return the specified slopes}
     *
     * @param slopes one for each head, 0 or more and finite; with 0 the head has no bias
     * @throws IllegalArgumentException if there is none, or one is outside its range
     */
    public static AlibiSlopes custom(double... slopes) {
        Check.between("head count", slopes.length, 1, MAX_HEADS);
        for (int head = 0; head < slopes.length; head++) {
            double slope = slopes[head];
            String name = "slope of head " + head;
            Check.that(
                    slope >= 0 && Double.isFinite(slope),
                    () -> name + " is " + slope + ": expected 0 or more and finite; use 0 for a head without bias");
        }
        return new AlibiSlopes(slopes.length, head -> DoubleDouble.of(slopes[head]));
    }

    private static void requireValid(int heads, double maximum) {
        Check.between("head count", heads, 1, MAX_HEADS);
        Check.positive("maximum", maximum, "usually 8");
    }

    private static DoubleDouble powerOfTwo(DoubleDouble dividend, int divisor) {
        return DoubleDouble.LN_2.times(dividend.dividedBy(divisor)).exp();
    }

    /** {@return the number of heads, N} */
    public int heads() {
        return slopes.length;
    }

    /**
     * Returns the double nearest to a head's slope.
     *
     * @param head the head, counted from 0
     * @return score per step
     * @throws ArrayIndexOutOfBoundsException if there is no such head
     */
    public double get(int head) {
        return slopes[head].high();
    }

    /**
     * Returns the bias that a head adds to the score of a key.
     *
     * @param head the head, counted from 0
     * @param distance steps between query and key; its sign is ignored
     * @return {@code -slope · |distance|}, the nearest double
     * @throws ArrayIndexOutOfBoundsException if there is no such head
     */
    public double bias(int head, long distance) {
        return slopes[head].times(-Math.abs((double) distance)).high();
    }
}
