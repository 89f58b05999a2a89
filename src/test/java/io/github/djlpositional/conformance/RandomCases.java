package io.github.djlpositional.conformance;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.function.ThrowingConsumer;

/**
 * Reproducible random cases: a failure names the seed and the case. {@code -Dfuzz.seed} chooses another seed,
 * {@code -Dfuzz.cases} another number of cases. By default, every build runs the same cases.
 */
public final class RandomCases {

    private static final long SEED = Long.getLong("fuzz.seed", 2017);

    private RandomCases() {}

    /** Chooses an element. */
    public static <T> T one(SplittableRandom random, List<T> several) {
        return several.get(random.nextInt(several.size()));
    }

    /**
     * Checks many cases.
     *
     * @param defaultCount the default number of cases
     * @param check throws if a case fails
     */
    public static void check(int defaultCount, ThrowingConsumer<SplittableRandom> check) {
        int cases = Integer.getInteger("fuzz.cases", defaultCount);
        for (int number = Integer.getInteger("fuzz.first", 0); number < cases; number++) {
            // each case has its own seed, so it does not depend on the numbers drawn by the cases before it
            long seed = new SplittableRandom(SEED ^ Long.reverse(number)).nextLong();
            try {
                check.accept(new SplittableRandom(seed));
            } catch (Throwable e) {
                throw new AssertionError(
                        "case -Dfuzz.seed=" + SEED + " -Dfuzz.first=" + number + " -Dfuzz.cases=" + (number + 1) + ": "
                                + e,
                        e);
            }
        }
    }
}
