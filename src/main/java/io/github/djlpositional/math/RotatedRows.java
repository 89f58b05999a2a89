package io.github.djlpositional.math;

import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * Rounded sines and cosines of many consecutive positions, most of them computed by rotation.
 *
 * <p>Only every n-th position (an anchor) and the n offsets from it are computed from the definition. The others follow
 * from the angle sum sin(a + b) = sin a · cos b + cos a · sin b at a fraction of the cost: for n² positions, 2n are
 * computed and the others are rotated.
 *
 * <p>The error of a rotated value is bounded. Both ends of the error interval are rounded. If the results differ, the
 * value is computed from the definition (Ziv's rounding test: Ziv, <em>Fast evaluation of elementary mathematical
 * functions with correctly rounded last bit</em>, ACM TOMS 17, 1991). The result is therefore the same, bit for bit, as
 * if every value were computed from the definition.
 */
final class RotatedRows {

    /**
     * Error of a rotated value. The four factors of a sum like sin a · cos b + cos a · sin b are accurate to 2^-51
     * each: one ulp for {@code Math.sin} and {@code Math.cos}, by their specification, plus the error of their
     * correction. Since |sin| + |cos| is at most √2 on both sides, they contribute 2√2 · 2^-51 < 2^-49.4, the two
     * products and the sum 2^-52: below 2^-49. Doubled as a safety margin, which also covers the rounding of the
     * anchor's product with a factor.
     */
    private static final double ERROR = 0x1p-48;

    /** Receives the values of one position. */
    @FunctionalInterface
    interface Receiver {

        /**
         * Receives a row.
         *
         * @param row the row, counted from 0 at the first position
         * @param values the sines of all pairs, then their cosines, then a zero; each rounds to the nearest number of
         *     the format; reused for the next row
         */
        void accept(int row, double[] values);
    }

    private RotatedRows() {}

    /**
     * Computes the values of the positions start to start + length - 1, in any order and on all cores.
     *
     * @param frequencies one for each pair
     * @param start the first position
     * @param length the number of positions
     * @param factor the factor of every value
     * @param format the format that the values are rounded to
     * @param receivers creates receivers; each is called by one thread at a time
     */
    static void forEach(
            Frequencies frequencies,
            int start,
            int length,
            double factor,
            FloatFormat format,
            Supplier<Receiver> receivers) {
        int stride = Math.max(1, (int) Math.ceil(Math.sqrt(length)));
        double[][] offsets = new double[Math.min(stride, length)][];
        IntStream.range(0, offsets.length).parallel().forEach(i -> offsets[i] = frequencies.halves(i));
        double error = ERROR * factor;
        int anchors = (int) (((long) length + stride - 1) / stride);
        IntStream.range(0, anchors).parallel().forEach(anchor -> {
            int firstRow = anchor * stride;
            double[] from = frequencies.halves((double) start + firstRow);
            for (int half = 0; half < from.length; half++) {
                from[half] *= factor;
            }
            double[] values = new double[from.length + 1];
            Receiver receiver = receivers.get();
            int rows = Math.min(stride, length - firstRow);
            for (int i = 0; i < rows; i++) {
                rotate(from, offsets[i], values);
                if (format != FloatFormat.FLOAT32 || !roundSafelyToFloat(values, error)) {
                    for (int half = 0; half < from.length; half++) {
                        if (!roundsSafely(values[half], error, format)) {
                            values[half] = frequencies.half((double) start + firstRow + i, half) * factor;
                        }
                    }
                }
                receiver.accept(firstRow + i, values);
            }
        });
    }

    private static void rotate(double[] from, double[] by, double[] values) {
        int pairs = from.length / 2;
        for (int pair = 0; pair < pairs; pair++) {
            values[pair] = from[pair] * by[pairs + pair] + from[pairs + pair] * by[pair];
        }
        for (int pair = 0; pair < pairs; pair++) {
            values[pairs + pair] = from[pairs + pair] * by[pairs + pair] - from[pair] * by[pair];
        }
    }

    /** Whether all numbers within the error of a value round to the same number of the format. */
    private static boolean roundsSafely(double value, double error, FloatFormat format) {
        // compared with their signs: the ends of an interval around zero may round to zeros of different signs
        return Double.compare(format.round(value - error), format.round(value + error)) == 0;
    }

    /** The same for all values of a row and the most frequent format, in a loop without branches. */
    private static boolean roundSafelyToFloat(double[] values, double error) {
        boolean areSafe = true;
        for (int half = 0; half < values.length - 1; half++) {
            int least = Float.floatToRawIntBits((float) (values[half] - error));
            areSafe &= least == Float.floatToRawIntBits((float) (values[half] + error));
        }
        return areSafe;
    }
}
