package io.github.djlpositional.internal;

import ai.djl.util.PairList;

/** The forward parameter that says which position a sequence begins at. */
public final class StartPosition {

    /** The parameter's key. */
    public static final String KEY = "startPosition";

    /** The limit where there is no table that ends: so that two sequences' lengths can be added. */
    public static final int UNLIMITED = 1 << 29;

    private StartPosition() {}

    /**
     * Reads the parameter.
     *
     * @param params the forward's parameters; may be null
     * @param length T, the number of consecutive positions from there
     * @param limit one more than the greatest position that is allowed
     * @return the first position, 0 where none is given
     * @throws IllegalArgumentException if it is no whole number, or a position is outside 0 … limit - 1
     */
    public static int of(PairList<String, Object> params, long length, int limit) {
        Object start = params == null ? null : params.get(KEY);
        long first = 0;
        if (start != null) {
            if (!(start instanceof Integer || start instanceof Long)) {
                throw new IllegalArgumentException(
                        KEY + " is the " + start.getClass().getSimpleName() + " " + start
                                + ": allowed is an Integer or a Long; give the number of the first position");
            }
            first = ((Number) start).longValue();
        }
        if (first < 0 || first > limit) {
            throw new IllegalArgumentException(
                    KEY + " " + first + " is outside 0 to " + limit + ": " + Indices.remedyFor(first < 0, limit));
        }
        requireLength(length, first, limit);
        return (int) first;
    }

    /**
     * Refuses the parameter where the position of every step is given.
     *
     * @param params the forward's parameters; may be null
     * @throws IllegalArgumentException if it is there
     */
    public static void requireNone(PairList<String, Object> params) {
        Object start = params == null ? null : params.get(KEY);
        if (start != null) {
            throw new IllegalArgumentException("both positions and " + KEY + "=" + start
                    + " were given: give the positions of all steps, or where they start, not both");
        }
    }

    /**
     * Refuses a sequence that is longer than the table.
     *
     * @param length T
     * @param start the first position
     * @param limit one more than the greatest position
     * @throws IllegalArgumentException if a position would be beyond it
     */
    public static void requireLength(long length, long start, int limit) {
        if (start + length > limit) {
            throw new IllegalArgumentException("sequence length " + length + " at start position " + start
                    + " exceeds the maximum " + limit
                    + (Indices.isLongest(limit) || start + length > Integer.MAX_VALUE
                            ? ": split the sequence"
                            : ": build the block with optMaxSequenceLength(" + (start + length) + ") or more"));
        }
    }
}
