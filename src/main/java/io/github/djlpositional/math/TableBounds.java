package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Check;
import java.nio.ByteBuffer;

/** Checks the arguments of a table with one row of values for each position. */
final class TableBounds {

    private TableBounds() {}

    static void checkFinite(double... positions) {
        for (double position : positions) {
            Check.that(
                    Double.isFinite(position),
                    () -> "position " + position + ": expected a finite number; correct the position");
        }
    }

    /**
     * Checks that an array or buffer can hold rows of so many values and so many bytes for each; 1 byte for an array.
     */
    static void checkLength(int length, int width, int bytes) {
        Check.between("length", length, 0, Integer.MAX_VALUE);
        Check.that(
                (long) length * width * bytes <= Integer.MAX_VALUE,
                () -> "length " + length + " with " + width + " values for each position: expected at most "
                        + (Integer.MAX_VALUE / bytes / Math.max(1, width)) + " positions; write them in several parts");
    }

    /** Checks that a buffer has room for rows, from its start. */
    static void checkRoom(int length, int width, FloatFormat format, ByteBuffer out) {
        checkLength(length, width, format.bytes());
        long bytes = (long) length * width * format.bytes();
        Check.that(
                out.limit() >= bytes,
                () -> "buffer of " + out.limit() + " bytes for " + length + " rows of " + width + " values in " + format
                        + ": expected " + bytes + " bytes or more; use a larger buffer, or write fewer rows");
    }
}
