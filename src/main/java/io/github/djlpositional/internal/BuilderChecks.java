package io.github.djlpositional.internal;

/** What several builders refuse. */
public final class BuilderChecks {

    private BuilderChecks() {}

    /**
     * Refuses a size below 1.
     *
     * @param what what it is, for the message
     * @param value the size
     * @param setter the builder's method, for the message
     * @throws IllegalArgumentException if it is not positive
     */
    public static void requirePositive(String what, int value, String setter) {
        if (value < 1) {
            throw new IllegalArgumentException(
                    what + " " + value + " is not positive: allowed is 1 or more; set it with " + setter);
        }
    }

    /**
     * Refuses a dropout rate outside [0, 1).
     *
     * @param rate the rate
     * @throws IllegalArgumentException if it is below 0, 1 or more, or NaN
     */
    public static void requireDropoutRate(float rate) {
        if (!(rate >= 0 && rate < 1)) {
            throw new IllegalArgumentException("dropout rate " + rate
                    + " is outside [0, 1): give the part to drop with optDropoutRate(float), 0 for none");
        }
    }

    /**
     * Refuses the last axis as that of a sequence.
     *
     * @param axis the axis, negative from the end
     * @throws IllegalArgumentException if it is -1
     */
    public static void requireSequenceAxis(int axis) {
        if (axis == -1) {
            throw new IllegalArgumentException(
                    "sequence axis -1 is the embedding's: allowed is 0 or more, or -2 or less;"
                            + " give the axis of the positions with optSequenceAxis(int)");
        }
    }
}
