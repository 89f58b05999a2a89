package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import io.github.djlpositional.internal.Temporaries;

/**
 * Consecutive tokens of a sequence, and their positions.
 *
 * @param first the index of the first token, from 0
 * @param length the number of tokens, n
 * @param positions the positions that were given for them: (1 or B, n), or (axes, 1 or B, n), INT32 or FLOAT64, on the
 *     device of the tokens, the attention's to close; null if each token's position is its index
 * @param end one more than the greatest position, or a greater number if the positions were not read
 */
public record Span(int first, int length, NDArray positions, int end) {

    /** Returns tokens whose positions are their indices. */
    static Span of(int first, int length) {
        return new Span(first, length, null, first + length);
    }

    /** Returns some of these tokens. */
    Span part(Temporaries temporaries, int from, int count) {
        if (positions == null) {
            return of(first + from, count);
        }
        int axis = positions.getShape().dimension() - 1;
        NDArray some = count == length
                ? positions
                : temporaries.add(positions.get(NDIndex.sliceAxis(axis, from, (long) from + count)));
        return new Span(first + from, count, some, end);
    }
}
