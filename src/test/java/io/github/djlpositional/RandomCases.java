package io.github.djlpositional;

import java.util.List;
import java.util.SplittableRandom;

/**
 * Random cases that come again: the same seed gives the same ones, and a failure names the seed and the case.
 * {@code -Dfuzz.seed} chooses another seed, {@code -Dfuzz.cases} another number of cases. Without them a build tries
 * the same cases every time, so that it fails for nobody whose change is not at fault.
 */
public final class RandomCases {

    private static final long SEED = Long.getLong("fuzz.seed", 2017);

    /** What is asked of one case. */
    @FunctionalInterface
    public interface Check {
        void of(SplittableRandom random) throws Exception;
    }

    private RandomCases() {}

    /** One of several. */
    public static <T> T one(SplittableRandom random, List<T> several) {
        return several.get(random.nextInt(several.size()));
    }

    /**
     * Checks many cases.
     *
     * @param usual how many, where nobody chooses
     * @param check throws where a case is not as it must be
     */
    public static void check(int usual, Check check) {
        int cases = Integer.getInteger("fuzz.cases", usual);
        for (int number = 0; number < cases; number++) {
            // each case has a seed of its own: it is the same however many numbers those before it drew
            long seed = new SplittableRandom(SEED ^ Long.reverse(number)).nextLong();
            try {
                check.of(new SplittableRandom(seed));
            } catch (Exception | Error e) {
                throw new AssertionError(
                        "case " + number + " of -Dfuzz.seed=" + SEED + " -Dfuzz.cases=" + cases + ": " + e, e);
            }
        }
    }
}
