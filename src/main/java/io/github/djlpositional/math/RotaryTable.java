package io.github.djlpositional.math;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * What rotary embeddings multiply with: for each position and dimension a cosine, and a sine with its sign.
 *
 * <p>Su et al., <em>RoFormer: Enhanced Transformer with Rotary Position Embedding</em> (2021), equation 34: with the two
 * halves (a, b) of a pair and the angle φ = position · frequency, the rotated pair is
 * (a · cos φ - b · sin φ, b · cos φ + a · sin φ). So a row x becomes x · C + x' · S, where x' is x with the halves of each pair
 * exchanged, C has cos φ in both places, and S has -sin φ in the first half's place and sin φ in the second's.
 *
 * <p>Immutable. Every value is computed in double and rounded once.
 */
public final class RotaryTable {

    private final Frequencies frequencies;
    private final PairLayout layout;
    private final double factor;

    /**
     * Describes a table.
     *
     * @param frequencies one for each pair
     * @param layout where a pair's halves sit
     * @param factor what every value is multiplied by, positive and finite; 1 without a {@link RotaryScaling#attentionFactor}
     * @throws IllegalArgumentException if the factor is not positive or not finite
     * @throws NullPointerException if frequencies or layout are null
     */
    public RotaryTable(Frequencies frequencies, PairLayout layout, double factor) {
        this.frequencies = Objects.requireNonNull(frequencies, "frequencies");
        this.layout = Objects.requireNonNull(layout, "layout");
        Frequencies.requirePositive("attention factor", factor, "1 for none");
        this.factor = factor;
    }

    /**
     * Returns the number of dimensions that are rotated.
     *
     * @return r
     */
    public int size() {
        return 2 * frequencies.size();
    }

    /**
     * Writes the rows of consecutive positions: of each value, computed in double, the nearest number of the format.
     *
     * @param start the first position
     * @param length the number of positions, at least 0
     * @param format what the values are rounded to
     * @param out where they go, row-major (length, 2, r) from the buffer's start: C, then S; its position stays
     * @throws IllegalArgumentException if the length is negative or the buffer is too small
     */
    public void write(int start, int length, FloatFormat format, ByteBuffer out) {
        TableBounds.requireRoom(length, 2 * size(), format, out);
        int pairs = frequencies.size();
        new RotatedRows(frequencies).forEach(start, length, () -> (row, values) -> {
            for (int half = 0; half < 2 * pairs; half++) {
                double value = values[half] * factor;
                double error = RotatedRows.ERROR * factor;
                double nearest = format.round(value - error);
                // compared as numbers with a sign: in half precision both ends of a zero's interval are zeros
                if (Double.compare(nearest, format.round(value + error)) != 0) {
                    nearest = format.round(frequencies.half((double) start + row, half) * factor);
                }
                put(out, format, row, half, nearest);
            }
        });
    }

    /**
     * Writes the rows of any positions: of each value, computed in double, the nearest number of the format.
     *
     * @param positions n finite numbers, integers or not
     * @param format what the values are rounded to
     * @param out where they go, row-major (n, 2, r) from the buffer's start: C, then S; its position stays
     * @throws IllegalArgumentException if a position is not finite or the buffer is too small
     */
    public void write(double[] positions, FloatFormat format, ByteBuffer out) {
        TableBounds.requireRoom(positions.length, 2 * size(), format, out);
        TableBounds.requireAllFinite(positions);
        IntStream.range(0, positions.length).parallel().forEach(row -> {
            for (int half = 0; half < size(); half++) {
                put(out, format, row, half, frequencies.half(positions[row], half) * factor);
            }
        });
    }

    /** Stores a sine (half below the number of pairs) or a cosine in both places. */
    private void put(ByteBuffer out, FloatFormat format, int row, int half, double value) {
        int pairs = frequencies.size();
        boolean isSine = half < pairs;
        int pair = isSine ? half : half - pairs;
        int line = (2 * row + (isSine ? 1 : 0)) * size();
        format.put(out, line + layout.firstIndex(pair, pairs), isSine ? -value : value);
        format.put(out, line + layout.secondIndex(pair, pairs), value);
    }
}
