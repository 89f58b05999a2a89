package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Check;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The table that rotary embeddings multiply with: a cosine and a signed sine for each position and dimension.
 *
 * <p>Su et al., <em>RoFormer: Enhanced Transformer with Rotary Position Embedding</em> (2021), equation 34: with the
 * two halves (a, b) of a pair and the angle φ = position · frequency, the rotated pair is (a · cos φ - b · sin φ, b ·
 * cos φ + a · sin φ). Hence a row x becomes x · C + x' · S, where x' is x with the halves of each pair exchanged, C has
 * cos φ for both halves, and S has -sin φ for the first half and sin φ for the second.
 *
 * <p>Immutable. Every value is computed in double and rounded once.
 */
public final class RotaryTable {

    private final Frequencies frequencies;
    private final PairLayout layout;
    private final double factor;

    /**
     * Creates a table. Its values are computed when they are written.
     *
     * @param frequencies one for each pair
     * @param layout the layout of the pairs
     * @param factor the factor of every value, positive and finite; see {@link RotaryScaling#attentionFactor}
     * @throws IllegalArgumentException if the factor is not positive and finite
     * @throws NullPointerException if frequencies or layout is null
     */
    public RotaryTable(Frequencies frequencies, PairLayout layout, double factor) {
        this.frequencies = Objects.requireNonNull(frequencies, "frequencies");
        this.layout = Objects.requireNonNull(layout, "layout");
        Check.positive("attention factor", factor, "1 for none");
        this.factor = factor;
    }

    /** {@return the number of dimensions that are rotated, r} */
    public int size() {
        return 2 * frequencies.size();
    }

    /**
     * Writes the rows of consecutive positions. Each value is computed in double and rounded to the nearest number of
     * the format.
     *
     * @param start the first position
     * @param length the number of positions, at least 0
     * @param format the format that values are rounded to
     * @param out the destination, row-major (length, 2, r) from the start of the buffer, C, then S; its position does
     *     not change
     * @throws IllegalArgumentException if the length is negative or the buffer is too small
     */
    public void write(int start, int length, FloatFormat format, ByteBuffer out) {
        TableBounds.checkRoom(length, 2 * size(), format, out);
        RotatedRows.forEach(frequencies, start, length, factor, format, () -> (row, values) -> {
            for (int half = 0; half < size(); half++) {
                put(out, format, row, half, values[half]);
            }
        });
    }

    /**
     * Writes the rows of any positions. Each value is computed in double and rounded to the nearest number of the
     * format.
     *
     * @param positions n finite numbers, integers or not
     * @param format the format that values are rounded to
     * @param out the destination, row-major (n, 2, r) from the start of the buffer, C, then S; its position does not
     *     change
     * @throws IllegalArgumentException if a position is not finite or the buffer is too small
     */
    public void write(double[] positions, FloatFormat format, ByteBuffer out) {
        TableBounds.checkRoom(positions.length, 2 * size(), format, out);
        TableBounds.checkFinite(positions);
        IntStream.range(0, positions.length).parallel().forEach(row -> {
            for (int half = 0; half < size(); half++) {
                put(out, format, row, half, frequencies.half(positions[row], half) * factor);
            }
        });
    }

    /** Stores a sine (half below the number of pairs) or a cosine for both halves of its pair. */
    private void put(ByteBuffer out, FloatFormat format, int row, int half, double value) {
        int pairs = frequencies.size();
        boolean isSine = half < pairs;
        int pair = isSine ? half : half - pairs;
        int line = (2 * row + (isSine ? 1 : 0)) * size();
        format.put(out, line + layout.firstIndex(pair, pairs), isSine ? -value : value);
        format.put(out, line + layout.secondIndex(pair, pairs), value);
    }
}
