package io.github.djlpositional.math;

import java.nio.ByteBuffer;

/** What may be asked of a table with one row of values for each position. */
final class TableBounds {

    private TableBounds() {}

    static void requireFinite(double position) {
        if (!Double.isFinite(position)) {
            throw new IllegalArgumentException("position " + position + " is not finite: give a finite number");
        }
    }

    static void requireAllFinite(double... positions) {
        for (double position : positions) {
            requireFinite(position);
        }
    }

    /**
     * Refuses rows that no array or buffer can hold.
     *
     * @param length the number of rows
     * @param width the values of a row
     * @param bytes those of a value; 1 for an array
     */
    static void requireLength(int length, int width, int bytes) {
        if (length < 0) {
            throw new IllegalArgumentException("length " + length + " is negative: give 0 or more positions");
        }
        if ((long) length * width * bytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("length " + length + " with " + width
                    + " values for each position exceeds what one Java array or buffer can hold: ask for at most "
                    + Integer.MAX_VALUE / bytes / width + " positions at a time");
        }
    }

    /** Refuses rows that a buffer has no room for from its start. */
    static void requireRoom(int length, int width, FloatFormat format, ByteBuffer out) {
        requireLength(length, width, format.bytes());
        requireRoom(
                length + " positions with " + width + " values each in " + format,
                (long) length * width * format.bytes(),
                out);
    }

    /** Refuses what a buffer has no room for from its start. */
    static void requireRoom(String what, long bytes, ByteBuffer out) {
        if (out.limit() < bytes) {
            throw new IllegalArgumentException("buffer of " + out.limit() + " bytes is too small for " + what
                    + ": allowed are " + bytes + " bytes or more; give a larger one, or write fewer rows");
        }
    }
}
