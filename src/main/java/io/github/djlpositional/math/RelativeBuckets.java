package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.math.BigInteger;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * The buckets of relative positions in T5. Each small distance has its own bucket; larger distances share buckets,
 * which widen with the distance.
 *
 * <p>After Raffel et al., <em>Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer</em>
 * (2020), section 2.1, and the published code. With n buckets for a direction, the first ⌊n/2⌋ = e have one distance
 * each. A distance d of e or more is in bucket e + ⌊(n - e) · ln(d / e) / ln(maxDistance / e)⌋, at most n - 1. With two
 * directions, each has half of the buckets, and keys after the query the second half. With one direction, all keys
 * after the query are in bucket 0.
 *
 * <p>Distances may be real numbers; one below e is in bucket ⌊d⌋. Immutable. If a boundary is close to a whole number,
 * integer arithmetic determines the bucket, not rounding.
 */
public final class RelativeBuckets {

    /** The exact integers that determine a bucket grow with the number of buckets. */
    private static final int MAX_BUCKETS = 4096;

    /**
     * A bound on the relative error of a boundary in double. Boundaries that are closer than this to a whole number are
     * computed with integers. The relative errors of the quotient, the exponent and the power are below 2^-52 each; a
     * logarithm of up to 21.5 multiplies the error of the exponent by 22. The sum is below 1e-14.
     */
    private static final double BOUNDARY_ERROR = 1e-12;

    private final boolean bidirectional;

    /** The smallest distance of each bucket of one direction. */
    private final double[] first;

    private RelativeBuckets(boolean bidirectional, int count, int maxDistance) {
        this.bidirectional = bidirectional;
        int exact = count / 2;
        first = new double[count];
        for (int bucket = 0; bucket < count; bucket++) {
            first[bucket] = bucket <= exact ? bucket : firstDistance(bucket - exact, count - exact, exact, maxDistance);
        }
    }

    /** exact · (maxDistance / exact)^(step / steps), on the right side of a whole number. */
    private static double firstDistance(int step, int steps, int exact, int maxDistance) {
        double boundary = exact * StrictMath.pow((double) maxDistance / exact, (double) step / steps);
        int whole = (int) Math.rint(boundary);
        if (Math.abs(boundary - whole) > boundary * BOUNDARY_ERROR) {
            return boundary;
        }
        return isEnough(whole, step, steps, exact, maxDistance) ? whole : Math.nextUp((double) whole);
    }

    /** Whether distance^steps ≥ maxDistance^step · exact^(steps - step): the condition of a boundary in integers. */
    private static boolean isEnough(int distance, int step, int steps, int exact, int maxDistance) {
        BigInteger bound = BigInteger.valueOf(maxDistance)
                .pow(step)
                .multiply(BigInteger.valueOf(exact).pow(steps - step));
        return BigInteger.valueOf(distance).pow(steps).compareTo(bound) >= 0;
    }

    /**
     * {@return the buckets for a number of buckets and a maximum distance}
     *
     * @param bidirectional true to distinguish keys before and after the query, as in an encoder; false for a decoder
     * @param buckets the number of buckets, from 2 to 4096, or even and at least 4 for two directions; 32 in T5
     * @param maxDistance the distance from which on all distances share the last bucket; more than the number of
     *     distances with their own bucket; 128 in T5
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static RelativeBuckets of(boolean bidirectional, int buckets, int maxDistance) {
        int directions = bidirectional ? 2 : 1;
        int smallest = 2 * directions;
        Check.between("bucket count", buckets, smallest, MAX_BUCKETS);
        Check.that(
                buckets % directions == 0,
                () -> "bucket count " + buckets + " for two directions: expected an even number; use " + (buckets + 1)
                        + ", or 32 as in T5");
        Check.that(
                maxDistance > buckets / smallest,
                () -> "maximum distance " + maxDistance + " with " + buckets + " buckets: expected more than "
                        + (buckets / smallest) + "; use a larger one, such as T5's 128, or fewer buckets");
        return new RelativeBuckets(bidirectional, buckets / directions, maxDistance);
    }

    /** {@return the number of buckets of all directions} */
    public int size() {
        return bidirectional ? 2 * first.length : first.length;
    }

    /**
     * {@return the largest relative position of each bucket but one, ascending: a relative position above k of them is
     * in the bucket of the k-th, counted from 0, and one above all in the bucket of infinity}
     */
    public double[] boundaries() {
        DoubleStream before = IntStream.range(1, first.length).mapToDouble(i -> -first[first.length - i]);
        DoubleStream after =
                IntStream.range(0, first.length).mapToDouble(bucket -> bucket == 0 ? 0 : Math.nextDown(first[bucket]));
        return (bidirectional ? DoubleStream.concat(before, after) : before).toArray();
    }

    /**
     * Returns the bucket of a relative position.
     *
     * @param relative the position of the key minus the position of the query
     * @return the bucket, counted from 0
     */
    public int bucket(double relative) {
        if (relative > 0 && !bidirectional) {
            return 0;
        }
        int bucket = 0;
        while (bucket + 1 < first.length && first[bucket + 1] <= Math.abs(relative)) {
            bucket++;
        }
        return relative > 0 ? first.length + bucket : bucket;
    }
}
