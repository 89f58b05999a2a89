package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.nio.ByteBuffer;
import java.util.stream.IntStream;

/**
 * A row of W values for each position: sinusoids, the cosines and sines of a rotation, the biases of a distance. Values
 * are computed in double and rounded once. Implementations are immutable and safe to share.
 */
public interface Rows {

    /** {@return W, the number of values in a row} */
    int width();

    /**
     * Writes the rows of positions.
     *
     * @param positions n numbers, integers or not
     * @param format the format that values are rounded to
     * @param out the destination, row-major (n, W) from the start of the buffer; its position does not change
     * @throws IllegalArgumentException if there is no row for a position, or the buffer is too small
     */
    void write(double[] positions, FloatFormat format, ByteBuffer out);

    /** One value of a row. */
    @FunctionalInterface
    interface Value {
        /**
         * {@return a value}
         *
         * @param position the position of the row
         * @param column the place in the row, 0 … W - 1
         */
        double at(double position, int column);
    }

    /**
     * {@return rows of a function of position and column}
     *
     * @param width W
     * @param value the function, which several threads may call at once, and which does not throw
     */
    static Rows of(int width, Value value) {
        return new Rows() {
            @Override
            public int width() {
                return width;
            }

            @Override
            public void write(double[] positions, FloatFormat format, ByteBuffer out) {
                requireRoom(positions.length, width, format, out);
                IntStream.range(0, positions.length).parallel().forEach(row -> {
                    for (int column = 0; column < width; column++) {
                        format.put(out, row * width + column, value.at(positions[row], column));
                    }
                });
            }
        };
    }

    /**
     * {@return the rows of a table: the row i for the position i, a whole number}
     *
     * @param width W
     * @param table the rows, row-major (n, W)
     */
    static Rows of(int width, double... table) {
        return of(width, (row, column) -> table[((int) row) * width + column]);
    }

    /**
     * Checks that a buffer has room for rows, from its start.
     *
     * @param count the number of rows
     * @param width W
     * @param format the format of the values
     * @param out the buffer
     * @throws IllegalArgumentException if the buffer is too small
     */
    static void requireRoom(int count, int width, FloatFormat format, ByteBuffer out) {
        long bytes = (long) count * width * format.bytes();
        Check.that(
                out.limit() >= bytes,
                () -> "buffer of " + out.limit() + " bytes for " + count + " rows of " + width + " values in " + format
                        + ": expected " + bytes + " bytes or more; use a larger buffer, or write fewer rows");
    }
}
