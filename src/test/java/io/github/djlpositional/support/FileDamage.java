package io.github.djlpositional.support;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Random damage to a file. */
public final class FileDamage {

    /** Harmful counts, sizes and lengths: zero, too small, huge, and negative. */
    private static final int[] EXTREMES = {
        0, -1, 1, 2, Integer.MAX_VALUE, Integer.MIN_VALUE, 0x7fff, 0xffff, 0x10000, 0x7f00_0000, 1 << 30
    };

    private FileDamage() {}

    /**
     * Damages a file in one to four places, or replaces it by random bytes.
     *
     * @param random chooses the damage
     * @param whole the file; not changed
     * @return the damaged file
     */
    public static byte[] of(SplittableRandom random, byte... whole) {
        byte[] file = whole.clone();
        for (int count = random.nextInt(1, 5); count > 0; count--) {
            file = once(random, file);
        }
        return file;
    }

    private static byte[] once(SplittableRandom random, byte... file) {
        int at = random.nextInt(file.length + 1);
        switch (random.nextInt(8)) {
            case 0 -> {
                byte[] others = new byte[random.nextInt(600)];
                random.nextBytes(others);
                return others;
            }
            case 1 -> {
                return Arrays.copyOf(file, at);
            }
            case 2 -> {
                return joined(file, at, Math.min(file.length, at + random.nextInt(40)));
            }
            case 3 -> {
                // a piece is repeated or skipped, as if two writers collided
                return joined(file, at, random.nextInt(file.length + 1));
            }
            case 4, 5 -> {
                return overwritten(random, at, file);
            }
            default -> {
                if (at < file.length) {
                    file[at] ^= (byte) (1 << random.nextInt(8));
                }
                return file;
            }
        }
    }

    /** The bytes before one index, followed by the bytes from another index. */
    private static byte[] joined(byte[] file, int to, int again) {
        byte[] joined = Arrays.copyOf(file, to + file.length - again);
        System.arraycopy(file, again, joined, to, file.length - again);
        return joined;
    }

    /** Replaces four bytes by a harmful number, in either byte order. */
    private static byte[] overwritten(SplittableRandom random, int at, byte... file) {
        int extreme = EXTREMES[random.nextInt(EXTREMES.length)];
        int number = random.nextBoolean() ? extreme : Integer.reverseBytes(extreme);
        for (int i = 0; i < Integer.BYTES && at + i < file.length; i++) {
            file[at + i] = (byte) (number >>> (24 - 8 * i));
        }
        return file;
    }
}
