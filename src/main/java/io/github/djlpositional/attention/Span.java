package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import java.util.Arrays;

/**
 * Consecutive tokens of a sequence, and their positions.
 *
 * @param first the index of the first token, from 0
 * @param length the number of tokens, n
 * @param positions the positions that were given for them: (1 or B, n), or (axes, 1 or B, n), INT32 or FLOAT64, on the
 *     device of the tokens, the attention's to close; null if each token's position is its index
 * @param end one more than the greatest position, or a greater number
 */
public record Span(int first, int length, NDArray positions, int end) {

    /** Returns tokens whose positions are their indices. */
    static Span of(int first, int length) {
        return new Span(first, length, null, first + length);
    }

    /**
     * Returns tokens with the positions that a forward is given for them, or with their indices.
     *
     * @param temporaries closes what is created here
     * @param params the parameters of the forward
     * @param first the index of the first token
     * @param tokens an array (B, …) on the device of the tokens
     * @param length the number of tokens
     * @param isRead whether integer positions on another device than the CPU are read to find their end
     */
    static Span given(
            Temporaries temporaries,
            PairList<String, Object> params,
            int first,
            NDArray tokens,
            int length,
            boolean isRead) {
        NDArray given = Positions.given(null, params);
        if (given == null) {
            return of(first, length);
        }
        Shape shape = given.getShape();
        int rank = shape.dimension();
        long batch = tokens.getShape().get(0);
        Check.that(
                rank >= 1
                        && rank <= 3
                        && shape.get(rank - 1) == length
                        && (rank == 1 || shape.get(rank - 2) == 1 || shape.get(rank - 2) == batch),
                () -> Positions.POSITIONS + " of shape " + shape + " do not fit " + batch + " sequences of " + length
                        + " tokens: expected (" + length + "), (" + batch + ", " + length + ") or (axes, " + batch
                        + ", " + length + "); give a position for each token of the forward");
        DataTypes.requireSameEngine(given, tokens, "embeddings");
        boolean isInteger = given.getDataType().isInteger();
        int end = Positions.UNLIMITED;
        if (isInteger && (isRead || HostData.isHost(given.getDevice()))) {
            end = 1 + Indices.requireBelow(given, Positions.UNLIMITED, "position", "count positions from 0");
        } else if (!isInteger) {
            end = endOf(given);
        }
        NDArray typed =
                temporaries.addUnless(given, Arithmetic.toType(given, isInteger ? DataType.INT32 : DataType.FLOAT64));
        NDArray here = temporaries.addUnless(typed, typed.toDevice(tokens.getDevice(), false));
        return new Span(first, length, rank == 1 ? temporaries.add(here.expandDims(0)) : here, end);
    }

    /** One more than the whole part of the greatest real position. */
    private static int endOf(NDArray positions) {
        DataTypes.requireEmbedding(positions, "the array of positions");
        double greatest = -1;
        for (double position : HostData.doubles(positions)) {
            Check.that(
                    Double.isFinite(position) && Math.abs(position) < Positions.UNLIMITED,
                    () -> "position " + position + ": expected a finite number below " + Positions.UNLIMITED
                            + "; correct the positions");
            greatest = Math.max(greatest, Math.floor(position));
        }
        return (int) greatest + 1;
    }

    /** The length of each sequence, or of all together: one more than the greatest position. */
    static long[] lengths(Span... spans) {
        long[] lengths = {0};
        for (Span span : spans) {
            lengths = longer(lengths, span.positions == null ? new long[] {span.end} : lengths(span.positions));
        }
        return lengths;
    }

    /** The greater length of each sequence, where a single length is that of all. */
    static long[] longer(long[] some, long[] others) {
        long[] longer = new long[Math.max(some.length, others.length)];
        Arrays.setAll(longer, i -> Math.max(some[i % some.length], others[i % others.length]));
        return longer;
    }

    private static long[] lengths(NDArray positions) {
        Shape shape = positions.getShape();
        int steps = (int) shape.getLastDimension();
        int batch = (int) shape.get(shape.dimension() - 2);
        long[] lengths = new long[batch];
        double[] values = HostData.doubles(positions);
        for (int i = 0; i < values.length; i++) {
            int sequence = i / steps % batch;
            lengths[sequence] = Math.max(lengths[sequence], (long) Math.floor(values[i]) + 1);
        }
        return lengths;
    }

    /** The rows of a table for these tokens, (1 or B, 1, n, W), for use with an array (B, N, n, …). */
    NDArray rows(Temporaries temporaries, NDArray array, Positions.Source table) {
        if (positions == null) {
            return Positions.consecutive(array, 2, first, Positions.UNLIMITED).rows(temporaries, table);
        }
        return Positions.explicit(array, 2, positions, end, false).rows(temporaries, table);
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
