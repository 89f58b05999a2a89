package io.github.djlpositional.examples;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Reproducible damage to files. {@code -Dfuzz.seed} chooses another seed, {@code -Dfuzz.cases} another number of cases,
 * and {@code -Dfuzz.first} the first of them. By default, every build runs the same cases.
 */
public final class FileDamage {

    private static final long SEED = Long.getLong("fuzz.seed", 2017);
    private static final int LONGEST_PIECE = 40;

    /** The check of one case. */
    @FunctionalInterface
    public interface Check {

        /**
         * Checks a case.
         *
         * @param random chooses the damage
         * @throws Exception if the case fails
         */
        void of(SplittableRandom random) throws Exception;
    }

    private FileDamage() {}

    /**
     * Checks many cases.
     *
     * @param defaultCount the default number of cases
     * @param check throws if a case fails
     */
    public static void check(int defaultCount, Check check) {
        int cases = Integer.getInteger("fuzz.cases", defaultCount);
        for (int number = Integer.getInteger("fuzz.first", 0); number < cases; number++) {
            try {
                check.of(new SplittableRandom(SEED ^ Long.reverse(number)).split());
            } catch (Exception | Error e) {
                String options = "-Dfuzz.seed=" + SEED + " -Dfuzz.first=" + number + " -Dfuzz.cases=" + (number + 1);
                throw new AssertionError("case " + options + ": " + e, e);
            }
        }
    }

    /**
     * Damages a file in one to three places: flips a bit, writes a digit or a harmful number, truncates it, or removes
     * or repeats a piece.
     *
     * @param random chooses the damage
     * @param whole the file; not changed
     * @return the damaged file
     */
    public static byte[] of(SplittableRandom random, byte... whole) {
        byte[] file = whole.clone();
        for (int count = random.nextInt(1, 4); count > 0 && file.length > 0; count--) {
            int at = random.nextInt(file.length);
            switch (random.nextInt(6)) {
                case 0 -> file[at] ^= (byte) (1 << random.nextInt(8));
                case 1 -> file[at] = (byte) ('0' + random.nextInt(10));
                case 2 ->
                    Arrays.fill(file, at, Math.min(at + 4, file.length), (byte) (random.nextBoolean() ? 0xff : 0));
                case 3 -> file = Arrays.copyOf(file, at);
                case 4 -> file = joined(file, at, Math.min(at + random.nextInt(LONGEST_PIECE), file.length));
                default -> file = joined(file, at, Math.max(at - random.nextInt(LONGEST_PIECE), 0));
            }
        }
        return file;
    }

    /** The bytes before one index, followed by the bytes from another index. */
    private static byte[] joined(byte[] file, int to, int from) {
        byte[] joined = Arrays.copyOf(file, to + file.length - from);
        System.arraycopy(file, from, joined, to, file.length - from);
        return joined;
    }
}
