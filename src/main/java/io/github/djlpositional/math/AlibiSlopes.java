package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Check;

/**
 * The slope of each attention head in ALiBi, by which the score of a key decreases with each step of its distance from
 * the query.
 *
 * <p>After Press, Smith and Lewis, <em>Train Short, Test Long: Attention with Linear Biases Enables Input Length
 * Extrapolation</em> (2022), section 3, and the authors' published code. If the number of heads N is a power of two,
 * the slope of head h = 1 … N is 2<sup>-8h/N</sup>. Otherwise, with m the largest power of two below N, the first m
 * slopes are those of m heads, and the others are every second slope of 2m heads, starting with the first:
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

    private AlibiSlopes(int heads) {
        int power = Integer.highestOneBit(heads);
        slopes = new DoubleDouble[heads];
        for (int head = 0; head < heads; head++) {
            // -8 (head + 1) / m, and for the heads beyond m the odd multiples of -8 / 2m
            long halfSteps = head < power ? 2L * (head + 1) : 2L * (head - power) + 1;
            slopes[head] = DoubleDouble.LN_2.times(-4.0 * halfSteps / power).exp();
        }
    }

    /**
     * {@return the slopes of a number of heads}
     *
     * @param heads N, from 1 to 65,536
     * @throws IllegalArgumentException if the number is outside its range
     */
    public static AlibiSlopes of(int heads) {
        Check.between("head count", heads, 1, MAX_HEADS);
        return new AlibiSlopes(heads);
    }

    /** {@return the number of heads, N} */
    public int heads() {
        return slopes.length;
    }

    /**
     * Returns the double nearest to a head's slope.
     *
     * @param head the head, counted from 0
     * @return score per step, in (0, 1)
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
