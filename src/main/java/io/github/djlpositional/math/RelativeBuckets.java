package io.github.djlpositional.math;

import java.math.BigInteger;

/**
 * The buckets of relative positions in T5: near distances have one each, farther ones share them, ever more to a bucket.
 *
 * <p>After Raffel et al., <em>Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer</em> (2020),
 * section 2.1, and the published code. Of n buckets for a direction the first ⌊n/2⌋ = e are of one distance each; distance d
 * from e on is in bucket e + ⌊(n - e) · ln(d / e) / ln(maxDistance / e)⌋, at most n - 1. With two directions each has half of
 * the buckets, keys after the query the second half; with one, all keys after the query are in bucket 0.
 *
 * <p>Immutable. Where the logarithm is a whole number, or nearly so, the bucket is decided by integer arithmetic, not by its
 * rounding.
 */
public final class RelativeBuckets {

    /** Enough for anyone; the exact integers that decide a bucket grow with their number. */
    private static final int MOST = 4096;

    /**
     * A bound on the relative error of a boundary in double, and so how near to a whole number it must be for integers to
     * decide. The quotient, the exponent and the power's last bit are right to 2^-52 each; a logarithm of up to 21.5 makes 22
     * times that of the exponent's, all in all below 1e-14.
     */
    private static final double BOUNDARY_ERROR = 1e-12;

    private final boolean bidirectional;
    private final int buckets;
    private final int maxDistance;

    /** The least distance of each bucket of one direction. */
    private final int[] first;

    private RelativeBuckets(boolean bidirectional, int buckets, int maxDistance) {
        this.bidirectional = bidirectional;
        this.buckets = buckets;
        this.maxDistance = maxDistance;
        int own = bidirectional ? buckets / 2 : buckets;
        int exact = own / 2;
        first = new int[own];
        for (int bucket = 0; bucket < own; bucket++) {
            first[bucket] = bucket <= exact ? bucket : firstDistance(bucket - exact, own - exact, exact, maxDistance);
        }
    }

    /** The least distance that is no less than exact · (maxDistance / exact)^(step / steps). */
    private static int firstDistance(int step, int steps, int exact, int maxDistance) {
        double boundary = exact * StrictMath.pow((double) maxDistance / exact, (double) step / steps);
        int distance = (int) Math.ceil(boundary * (1 - BOUNDARY_ERROR));
        int last = (int) Math.ceil(boundary * (1 + BOUNDARY_ERROR));
        while (distance < last && !isEnough(distance, step, steps, exact, maxDistance)) {
            distance++;
        }
        return distance;
    }

    /** The same without roots: distance^steps ≥ maxDistance^step · exact^(steps - step). */
    private static boolean isEnough(int distance, int step, int steps, int exact, int maxDistance) {
        BigInteger bound = BigInteger.valueOf(maxDistance)
                .pow(step)
                .multiply(BigInteger.valueOf(exact).pow(steps - step));
        return BigInteger.valueOf(distance).pow(steps).compareTo(bound) >= 0;
    }

    /**
     * Returns buckets.
     *
     * @param bidirectional whether keys before and after the query are told apart, as in an encoder; false for a decoder
     * @param buckets their number, from 2 to 4096; of two directions even and at least 4; T5's is 32
     * @param maxDistance from here on all distances share the last bucket; more than the number of distances that have a
     *     bucket of their own; T5's is 128
     * @return the buckets
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static RelativeBuckets of(boolean bidirectional, int buckets, int maxDistance) {
        if (buckets < (bidirectional ? 4 : 2) || buckets > MOST || (bidirectional && buckets % 2 != 0)) {
            throw new IllegalArgumentException(
                    buckets + " buckets for " + (bidirectional ? "two directions" : "one direction") + ": allowed is "
                            + (bidirectional ? "an even number from 4" : "from 2") + " to " + MOST
                            + "; give another number, T5 has 32");
        }
        int exact = (bidirectional ? buckets / 2 : buckets) / 2;
        if (maxDistance <= exact) {
            throw new IllegalArgumentException("maximum distance " + maxDistance + " is not above the " + exact
                    + " distances that have a bucket of their own: give a greater one, T5's is 128, or fewer buckets");
        }
        return new RelativeBuckets(bidirectional, buckets, maxDistance);
    }

    /**
     * Returns the number of buckets, of both directions.
     *
     * @return the number of buckets
     */
    public int size() {
        return buckets;
    }

    /**
     * Returns the bucket of a relative position.
     *
     * @param relative the position of the key less that of the query
     * @return the bucket, counted from 0
     */
    public int bucket(long relative) {
        if (relative > 0) {
            return bidirectional ? first.length + ofDistance(relative) : 0;
        }
        return ofDistance(-relative);
    }

    private int ofDistance(long distance) {
        int bucket = 0;
        while (bucket + 1 < first.length && first[bucket + 1] <= distance) {
            bucket++;
        }
        return bucket;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RelativeBuckets that
                && bidirectional == that.bidirectional
                && buckets == that.buckets
                && maxDistance == that.maxDistance;
    }

    @Override
    public int hashCode() {
        return (buckets * 31 + maxDistance) * 2 + (bidirectional ? 1 : 0);
    }

    /** Returns every setting. */
    @Override
    public String toString() {
        return "RelativeBuckets(" + buckets + ", maxDistance=" + maxDistance
                + (bidirectional ? ", two directions)" : ", one direction)");
    }
}
