package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Check;

/**
 * The table that rotary embeddings multiply with: for each position a row (2, r) of cosines C and signed sines S, where
 * r is the number of dimensions that are rotated, two for each frequency.
 *
 * <p>Su et al., <em>RoFormer: Enhanced Transformer with Rotary Position Embedding</em> (2021), equation 34: with the
 * two halves (a, b) of a pair and the angle φ = position · frequency, the rotated pair is (a · cos φ - b · sin φ, b ·
 * cos φ + a · sin φ). Hence a row x becomes x · C + x' · S, where x' is x with the halves of each pair exchanged, C has
 * cos φ for both halves, and S has -sin φ for the first half and sin φ for the second.
 */
public final class RotaryTable extends PositionTable {

    /**
     * Creates a table.
     *
     * @param frequencies one for each pair
     * @param layout the layout of the pairs
     * @param factor the factor of every value, positive and finite; see {@link RotaryScaling#attentionFactor}
     * @throws IllegalArgumentException if the factor is not positive and finite
     */
    public RotaryTable(Frequencies frequencies, PairLayout layout, double factor) {
        super(frequencies, factor, columns(layout, frequencies.size()));
        Check.positive("attention factor", factor, "1 for none");
    }

    private static int[] columns(PairLayout layout, int pairs) {
        int[] columns = new int[4 * pairs];
        for (int pair = 0; pair < pairs; pair++) {
            int first = layout.firstIndex(pair, pairs);
            int second = layout.secondIndex(pair, pairs);
            columns[first] = pairs + pair;
            columns[second] = pairs + pair;
            columns[2 * pairs + first] = 2 * pairs + 1 + pair;
            columns[2 * pairs + second] = pair;
        }
        return columns;
    }
}
