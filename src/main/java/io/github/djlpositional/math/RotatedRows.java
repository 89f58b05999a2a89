package io.github.djlpositional.math;

import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * The sines and cosines of many consecutive positions, most of them by rotation.
 *
 * <p>Only every so-many-th position (an anchor) and the short offsets from it are computed from the definition. The rest
 * follow from the angle sum, sin(a + b) = sin a · cos b + cos a · sin b, at a fraction of the cost: for n positions about
 * 2√n are computed and the others rotated.
 *
 * <p>The error of a rotated value has a bound. A receiver that rounds it tries both ends of that interval; where
 * they round differently it asks for the exact value (Ziv's rounding test: Ziv, <em>Fast evaluation of elementary
 * mathematical functions with correctly rounded last bit</em>, ACM TOMS 17, 1991). So what is stored is the same, bit for
 * bit, as if every value had been computed on its own.
 */
final class RotatedRows {

    /**
     * Error of a rotated value. The four factors of a sum like sin a · cos b + cos a · sin b are right to 2^-51 each: one ulp
     * of {@code Math.sin} and {@code Math.cos}, by their specification, and what their correction adds. Since
     * |sin| + |cos| is at most √2 on both sides, they bring 2√2 · 2^-51 < 2^-49.4, the two products and the sum 2^-52: below
     * 2^-49. Doubled for good measure.
     */
    static final double ERROR = 0x1p-48;

    /** Receives one position's values. */
    @FunctionalInterface
    interface Receiver {

        /**
         * Takes one row.
         *
         * @param row counted from 0 at the first position
         * @param values the sines of all pairs, then their cosines, each right to {@link #ERROR}; reused for the next row
         */
        void accept(int row, double[] values);
    }

    private final Frequencies frequencies;

    RotatedRows(Frequencies frequencies) {
        this.frequencies = frequencies;
    }

    /**
     * Sends the rows of positions start … start + length - 1 to receivers, in any order, on all cores. One thread at a time
     * calls a receiver, so that it may keep what it works with.
     */
    void forEach(int start, int length, Supplier<Receiver> receivers) {
        int stride = Math.max(1, (int) Math.ceil(Math.sqrt(length)));
        double[][] offsets = new double[Math.min(stride, length)][];
        IntStream.range(0, offsets.length).parallel().forEach(i -> offsets[i] = frequencies.halves(i));
        int anchors = (int) (((long) length + stride - 1) / stride);
        IntStream.range(0, anchors).parallel().forEach(anchor -> {
            int firstRow = anchor * stride;
            double[] from = frequencies.halves((double) start + firstRow);
            double[] values = new double[from.length];
            Receiver receiver = receivers.get();
            int rows = Math.min(stride, length - firstRow);
            for (int i = 0; i < rows; i++) {
                rotate(from, offsets[i], values);
                receiver.accept(firstRow + i, values);
            }
        });
    }

    private static void rotate(double[] from, double[] by, double[] values) {
        int pairs = values.length / 2;
        for (int pair = 0; pair < pairs; pair++) {
            values[pair] = from[pair] * by[pairs + pair] + from[pairs + pair] * by[pair];
        }
        for (int pair = 0; pair < pairs; pair++) {
            values[pairs + pair] = from[pairs + pair] * by[pairs + pair] - from[pair] * by[pair];
        }
    }
}
