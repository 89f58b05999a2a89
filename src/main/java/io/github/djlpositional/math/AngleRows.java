package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.stream.IntStream;

/** Rows of sines and cosines of angles that are proportional to the position. */
abstract sealed class AngleRows implements Rows permits SinusoidalEncoding, RotaryRows {

    /**
     * Error of a rotated value. The four factors of a sum like sin a · cos b + cos a · sin b are accurate to 2^-51
     * each: one ulp for {@code Math.sin} and {@code Math.cos}, by their specification, plus the error of their
     * correction. Since |sin| + |cos| is at most √2 on both sides, they contribute 2√2 · 2^-51 < 2^-49.4, the two
     * products and the sum 2^-52: below 2^-49. Doubled as a safety margin, which also covers the rounding of the
     * anchor's product with a factor.
     */
    private static final double ERROR = 0x1p-48;

    final Frequencies frequencies;

    /** The factor of every value. */
    final double factor;

    /**
     * The value of each column: with p pairs, the sine of a pair (0 … p - 1), its cosine (p … 2p - 1), or a zero (2p).
     */
    final int[] columns;

    /** The number of values that the columns refer to. */
    private final int valueCount;

    AngleRows(Frequencies frequencies, double factor, int... columns) {
        this.frequencies = frequencies;
        this.factor = factor;
        this.columns = columns;
        valueCount = 1 + 2 * frequencies.size();
    }

    @Override
    public int width() {
        return columns.length;
    }

    /**
     * {@inheritDoc} Rows of consecutive integers are written in FLOAT16 and FLOAT32 at a fraction of the cost of
     * others.
     *
     * @param positions n finite numbers, integers or not
     */
    @Override
    public void write(double[] positions, FloatFormat format, ByteBuffer out) {
        Rows.requireRoom(positions.length, columns.length, format, out);
        checkFinite(positions);
        // a rotated value is never certain to round to the nearest double
        if (format != FloatFormat.FLOAT64 && canRotate() && areConsecutive(positions)) {
            FloatBuffer floats = out.duplicate().position(0).order(out.order()).asFloatBuffer();
            writeConsecutive(
                    (int) positions[0], positions.length, format, out, format == FloatFormat.FLOAT32 ? floats : null);
            return;
        }
        IntStream.range(0, positions.length).parallel().forEach(row -> {
            double[] values = new double[valueCount];
            for (int half = 0; half < 2 * frequencies.size(); half++) {
                values[half] = exactly(positions[row], half);
            }
            put(values, row, format, out);
        });
    }

    /** Whether the row of a sum of two positions is a rotation of their rows. */
    boolean canRotate() {
        return true;
    }

    private static boolean areConsecutive(double... positions) {
        int last = positions.length - 1;
        boolean areIntegers =
                last >= 0 && positions[0] == (int) positions[0] && positions[last] == (int) positions[last];
        return areIntegers && IntStream.range(0, last).allMatch(i -> positions[i + 1] == positions[i] + 1);
    }

    /**
     * Writes consecutive rows, most of them computed by rotation.
     *
     * <p>Only every n-th position (an anchor) and n offsets from it are computed from the definition. The others follow
     * from the angle sum sin(a + b) = sin a · cos b + cos a · sin b at a fraction of the cost: for n² positions, 2n are
     * computed and the others are rotated.
     *
     * <p>The error of a rotated value is bounded. Both ends of the error interval are rounded. If the results differ,
     * the value is computed from the definition (Ziv's rounding test: Ziv, <em>Fast evaluation of elementary
     * mathematical functions with correctly rounded last bit</em>, ACM TOMS 17, 1991). The result is therefore the
     * same, bit for bit, as if every value were computed from the definition.
     *
     * @param floats the destination in floats, where writing whole rows is faster; or null
     */
    void writeConsecutive(int start, int length, FloatFormat format, ByteBuffer out, FloatBuffer floats) {
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
            double[] values = new double[valueCount];
            float[] line = new float[columns.length];
            int rows = Math.min(stride, length - firstRow);
            for (int i = 0; i < rows; i++) {
                int row = firstRow + i;
                rotate(from, offsets[i], values);
                if (floats == null || !roundSafelyToFloat(values, from.length, error)) {
                    for (int half = 0; half < from.length; half++) {
                        if (!roundsSafely(values[half], error, format)) {
                            values[half] = exactly((double) start + row, half);
                        }
                    }
                }
                if (floats == null) {
                    put(values, row, format, out);
                } else {
                    for (int column = 0; column < line.length; column++) {
                        line[column] = (float) values[columns[column]];
                    }
                    floats.put(row * line.length, line);
                }
            }
        });
    }

    /** The sine or the cosine of a pair, times the factor; see {@link Frequencies#half}. */
    double exactly(double position, int half) {
        return frequencies.half(position, half) * factor;
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

    /** Whether everything within the error of a value rounds to the same value of the format. */
    private static boolean roundsSafely(double value, double error, FloatFormat format) {
        // compared with their signs: the ends of an interval around zero may round to zeros of different signs
        return Double.compare(format.round(value - error), format.round(value + error)) == 0;
    }

    /** Like {@link #roundsSafely} for all values of a row in FLOAT32, in a loop without branches. */
    private static boolean roundSafelyToFloat(double[] values, int count, double error) {
        boolean areSafe = true;
        for (int half = 0; half < count; half++) {
            int lower = Float.floatToRawIntBits((float) (values[half] - error));
            areSafe &= lower == Float.floatToRawIntBits((float) (values[half] + error));
        }
        return areSafe;
    }

    private void put(double[] values, int row, FloatFormat format, ByteBuffer out) {
        for (int column = 0; column < columns.length; column++) {
            format.put(out, row * columns.length + column, values[columns[column]]);
        }
    }

    static void checkFinite(double... positions) {
        for (double position : positions) {
            Check.that(
                    Double.isFinite(position),
                    () -> "position " + position + ": expected a finite number; correct the position");
        }
    }
}
