package io.github.djlpositional.math;

import java.util.Arrays;

/**
 * The slope of each attention head in ALiBi: how much a key's score falls with each step of its distance from the query.
 *
 * <p>After Press, Smith and Lewis, <em>Train Short, Test Long: Attention with Linear Biases Enables Input Length
 * Extrapolation</em> (2022), section 3, and the authors' published code. For n heads, n a power of two, they are
 * 2<sup>-8/n</sup>, 2<sup>-16/n</sup>, … 2<sup>-8</sup>. For another n they are those of the power of two m below it,
 * followed by every other one of those of 2m, from the first: 2<sup>-4/m</sup>, 2<sup>-12/m</sup>, …
 *
 * <p>Immutable. Each slope is kept as a sum of two doubles, so that a bias at any distance is rounded once.
 */
public final class AlibiSlopes {

    /** More than any attention has; a greater number, from a file perhaps, is refused before there is room for it. */
    private static final int MOST = 1 << 16;

    private static final DoubleDouble LN_2 = DoubleDouble.of(2).log();

    private final DoubleDouble[] slopes;

    private AlibiSlopes(DoubleDouble[] slopes) {
        this.slopes = slopes;
    }

    /**
     * Returns the slopes of a number of heads.
     *
     * @param heads N, from 1 to 65,536
     * @return the slopes
     * @throws IllegalArgumentException if the number is not positive, or above 65,536
     */
    public static AlibiSlopes of(int heads) {
        if (heads < 1 || heads > MOST) {
            throw new IllegalArgumentException(
                    "head count " + heads + " is outside 1 to " + MOST + ": give that of the attention");
        }
        int power = Integer.highestOneBit(heads);
        DoubleDouble[] slopes = new DoubleDouble[heads];
        for (int head = 0; head < heads; head++) {
            // -8 (h + 1) / m, and for the heads beyond m the odd multiples of -8 / 2m
            long halfSteps = head < power ? 2L * (head + 1) : 2L * (head - power) + 1;
            slopes[head] = powerOfTwo(-4.0 * halfSteps / power);
        }
        return new AlibiSlopes(slopes);
    }

    /** 2 to a power that is a whole number or an exact fraction. */
    private static DoubleDouble powerOfTwo(double exponent) {
        return exponent == Math.rint(exponent)
                ? DoubleDouble.of(Math.scalb(1.0, (int) exponent))
                : LN_2.times(exponent).exp();
    }

    /**
     * Returns the number of heads.
     *
     * @return N
     */
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
     * Returns what a head adds to the score of a key.
     *
     * @param head the head, counted from 0
     * @param distance steps between query and key; the sign does not matter
     * @return {@code -slope · |distance|}, the nearest double
     * @throws ArrayIndexOutOfBoundsException if there is no such head
     */
    public double bias(int head, long distance) {
        return slopes[head].times(-Math.abs((double) distance)).high();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof AlibiSlopes that && slopes.length == that.slopes.length;
    }

    @Override
    public int hashCode() {
        return slopes.length;
    }

    /** Returns the slopes as doubles. */
    @Override
    public String toString() {
        return "AlibiSlopes"
                + Arrays.toString(
                        Arrays.stream(slopes).mapToDouble(DoubleDouble::high).toArray());
    }
}
