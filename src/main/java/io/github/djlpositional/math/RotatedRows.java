package io.github.djlpositional.math;

import java.util.stream.IntStream;

/**
 * The sines and cosines of many consecutive positions, most of them by rotation.
 *
 * <p>Only every so-many-th position (an anchor) and the short offsets from it are computed from the definition. The rest
 * follow from the angle sum, sin(a + b) = sin a · cos b + cos a · sin b, at a fraction of the cost: for n positions about
 * 2√n are computed and the others rotated.
 *
 * <p>A rotated value comes with a bound on its error. A receiver that rounds it tries both ends of that interval; where
 * they round differently it asks for the exact value (Ziv's rounding test: Ziv, <em>Fast evaluation of elementary
 * mathematical functions with correctly rounded last bit</em>, ACM TOMS 17, 1991). So what is stored is the same, bit for
 * bit, as if every value had been computed on its own.
 */
final class RotatedRows {

    /**
     * Error of a rotated value, as a part of |sin a · cos b| + |cos a · sin b|. The four factors are right to 2^-51.5
     * each, two products and a sum add 2^-52: below 2^-49 in all, doubled for good measure.
     */
    static final double ERROR = 0x1p-48;

    /** Receives one position's values. It may be called by several threads at once, for different rows. */
    @FunctionalInterface
    interface Receiver {

        /**
         * Takes one row.
         *
         * @param row counted from 0 at the first position
         * @param values the sines of all pairs, then their cosines; reused for the next row
         * @param errors a bound on the error of each value; reused for the next row
         */
        void accept(int row, double[] values, double[] errors);
    }

    private final Frequencies frequencies;

    RotatedRows(Frequencies frequencies) {
        this.frequencies = frequencies;
    }

    /** Sends the rows of positions start … start + length - 1 to the receiver, in any order, on all cores. */
    void forEach(int start, int length, Receiver receiver) {
        int stride = Math.max(1, (int) Math.ceil(Math.sqrt(length)));
        double[][] offsets = new double[Math.min(stride, length)][];
        IntStream.range(0, offsets.length).parallel().forEach(i -> offsets[i] = exact(i));
        int anchors = (length + stride - 1) / stride;
        IntStream.range(0, anchors).parallel().forEach(anchor -> {
            int firstRow = anchor * stride;
            double[] from = exact((double) start + firstRow);
            double[] values = new double[from.length];
            double[] errors = new double[from.length];
            for (int i = 0; i < stride && firstRow + i < length; i++) {
                rotate(from, offsets[i], values, errors);
                receiver.accept(firstRow + i, values, errors);
            }
        });
    }

    private double[] exact(double position) {
        double[] values = new double[2 * frequencies.size()];
        for (int half = 0; half < values.length; half++) {
            values[half] = frequencies.half(position, half);
        }
        return values;
    }

    private static void rotate(double[] from, double[] by, double[] values, double[] errors) {
        int pairs = values.length / 2;
        for (int pair = 0; pair < pairs; pair++) {
            double sinCos = from[pair] * by[pairs + pair];
            double cosSin = from[pairs + pair] * by[pair];
            double cosCos = from[pairs + pair] * by[pairs + pair];
            double sinSin = from[pair] * by[pair];
            values[pair] = sinCos + cosSin;
            values[pairs + pair] = cosCos - sinSin;
            errors[pair] = ERROR * (Math.abs(sinCos) + Math.abs(cosSin));
            errors[pairs + pair] = ERROR * (Math.abs(cosCos) + Math.abs(sinSin));
        }
    }
}
