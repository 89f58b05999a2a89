package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.nio.ByteBuffer;
import java.util.stream.IntStream;

/**
 * The rows that rotary embeddings rotate with. The row of a position has r values, where r is the number of rotated
 * dimensions: the cosine and the sine of each pair's angle, in the places of the two halves of the pair.
 *
 * <p>Su et al., <em>RoFormer: Enhanced Transformer with Rotary Position Embedding</em> (2021), equation 34: with the
 * two halves (a, b) of a pair and the angle φ = position · frequency, the rotated pair is (a · cos φ - b · sin φ, b ·
 * cos φ + a · sin φ): the product of the complex numbers a + bi and cos φ + i sin φ.
 */
public final class RotaryRows extends AngleRows {

    /** XPos's scale of each pair as a logarithm, for one position; null without XPos. */
    private final DoubleDouble[] logScales;

    /**
     * Creates rows.
     *
     * @param frequencies one for each pair
     * @param layout the layout of the pairs
     * @param factor the factor of every value, positive and finite; see {@link RotaryScaling#attentionFactor}
     * @throws IllegalArgumentException if the factor is not positive and finite
     */
    public RotaryRows(Frequencies frequencies, PairLayout layout, double factor) {
        super(frequencies, factor, columns(layout, frequencies.size()));
        Check.positive("attention factor", factor, "1 for none");
        logScales = null;
    }

    private RotaryRows(Frequencies frequencies, double factor, int[] columns, DoubleDouble... logScales) {
        super(frequencies, factor, columns);
        this.logScales = logScales;
    }

    /**
     * {@return rows of 2r values, for dimensions with an angle each: their cosines, then their sines} With the angles φ
     * and ψ of the two dimensions, a pair (a, b) becomes (a · cos φ - b · sin φ, b · cos ψ + a · sin ψ).
     *
     * @param frequencies one for each dimension, or one for each pair, whose dimensions then have the same angle
     * @param layout the layout of the pairs
     * @param size r, the number of dimensions, even
     * @param factor the factor of every value, positive and finite; see {@link RotaryScaling#attentionFactor}
     * @throws IllegalArgumentException if there are neither r nor r / 2 frequencies, or the factor is not positive and
     *     finite
     */
    public static RotaryRows byDimension(Frequencies frequencies, PairLayout layout, int size, double factor) {
        Check.positive("attention factor", factor, "1 for none");
        int count = frequencies.size();
        Check.that(
                size > 0 && size % 2 == 0 && (count == size || count == size / 2),
                () -> count + " frequencies for " + size
                        + " dimensions: expected one for each dimension or each pair; pass as many");
        int[] columns = new int[2 * size];
        for (int dimension = 0; dimension < size; dimension++) {
            int frequency = count == size ? dimension : layout.pair(dimension, count);
            columns[dimension] = count + frequency;
            columns[size + dimension] = frequency;
        }
        return new RotaryRows(frequencies, factor, columns, (DoubleDouble[]) null);
    }

    /**
     * Returns these rows for XPos: Sun et al., <em>A Length-Extrapolatable Transformer</em> (2022), algorithm 1. At
     * position p, the values of pair k of n are also multiplied by ζ<sub>k</sub><sup>p / scaleBase</sup> with
     * ζ<sub>k</sub> = (k / n + 0.4) / 1.4. The keys need rows with the negative scale base, so that their products with
     * the queries depend only on the distance. The published code counts positions from the middle of the sequence,
     * which gives the same products; here they are not centered, so that the values of a key do not change when the
     * sequence becomes longer.
     *
     * <p>The factors of late positions exceed the range of a format. They must be at most 2<sup>14</sup> for the keys
     * and at least 2<sup>-14</sup> for the queries in FLOAT16, 2<sup>±126</sup> in FLOAT32 and 2<sup>±1000</sup> in
     * FLOAT64: with the scale base 512, that are |positions| up to 3966, 35,694 and 283,286. {@link #write} throws
     * {@link IllegalArgumentException} for others.
     *
     * @param scaleBase positive and finite for queries, negative and finite for keys; 512 in the paper
     * @return new rows, whose values are within three double ulps before they are rounded to a format
     * @throws IllegalArgumentException if the scale base is 0, infinite or NaN, or there are no pairs
     */
    public RotaryRows withXpos(double scaleBase) {
        Check.that(
                scaleBase != 0 && Double.isFinite(scaleBase),
                () -> "XPos scale base " + scaleBase
                        + ": expected a finite number other than 0; use 512 as in the paper");
        int pairs = frequencies.size();
        Check.positive("number of pairs", pairs);
        return new RotaryRows(
                frequencies,
                factor,
                columns,
                IntStream.range(0, pairs)
                        .mapToObj(pair -> DoubleDouble.of(5.0 * pair)
                                .dividedBy(pairs)
                                .plus(2)
                                .dividedBy(7)
                                .log()
                                .dividedBy(scaleBase))
                        .toArray(DoubleDouble[]::new));
    }

    @Override
    boolean canRotate() {
        return logScales == null;
    }

    @Override
    public void write(double[] positions, FloatFormat format, ByteBuffer out) {
        if (logScales != null) {
            requireRange(format, positions);
        }
        super.write(positions, format, out);
    }

    private void requireRange(FloatFormat format, double... positions) {
        int powers = switch (format) {
            case FLOAT16 -> 14;
            case FLOAT32 -> 126;
            case FLOAT64 -> 1000;
        };
        // the first pair has the smallest scale
        double limit = powers * DoubleDouble.LN_2.high() / Math.abs(logScales[0].high());
        for (double position : positions) {
            Check.that(
                    Math.abs(position) <= limit,
                    () -> "position " + position + " with XPos in " + format + ": expected at most " + (long) limit
                            + "; limit the positions, or use a larger scale base or a wider format");
        }
    }

    @Override
    double exactly(double position, int half) {
        double value = super.exactly(position, half);
        return logScales == null
                ? value
                : value
                        * logScales[half % frequencies.size()]
                                .times(position)
                                .exp()
                                .high();
    }

    private static int[] columns(PairLayout layout, int pairs) {
        int[] columns = new int[2 * pairs];
        for (int pair = 0; pair < pairs; pair++) {
            columns[layout.firstIndex(pair, pairs)] = pairs + pair;
            columns[layout.secondIndex(pair, pairs)] = pair;
        }
        return columns;
    }
}
