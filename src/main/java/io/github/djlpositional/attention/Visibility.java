package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.options.Check;

/**
 * The keys that a query sees by its index, or by its position in the case of chunks.
 *
 * @param isCausal whether keys after the query are hidden
 * @param window the number of keys up to the query's own if causal, or of both sides together; null for all
 * @param chunkSize the size of the chunks of positions, between which nothing is seen; null for one chunk
 */
record Visibility(boolean isCausal, Integer window, Integer chunkSize) {

    /** The number of keys, up to and including its own, that a query reaches back to; null for all. */
    Integer reach() {
        if (chunkSize != null) {
            return chunkSize;
        }
        return window == null || isCausal ? window : Integer.valueOf(window / 2 + 1);
    }

    /** The keys that any of some queries may see: their indices, from the first to one more than the last. */
    int[] range(AttentionCall call, int from, int count) {
        int[] range = seen(call, from, count);
        int least = call.keys().first();
        // a query that sees nothing still needs a key
        return range[0] < range[1] ? range : new int[] {least, least + 1};
    }

    /** The same, but nothing if the first index is not less than the last. */
    int[] seen(AttentionCall call, int from, int count) {
        int first = call.queries().first() + from;
        int last = first + count - 1;
        int least = call.keys().first();
        int end = least + call.keys().length();
        if (chunkSize != null && !call.hasPositions()) {
            least = Math.max(least, first / chunkSize * chunkSize);
            end = (int) Math.min(end, (last / chunkSize + 1L) * chunkSize);
        } else if (window != null) {
            least = Math.max(least, first - reach() + 1);
            end = isCausal ? end : Math.min(end, last + window / 2 + 1);
        }
        return new int[] {least, isCausal ? Math.min(end, last + 1) : end};
    }

    /** Whether every query is known to see all keys of a call. */
    boolean seesAll(AttentionCall call) {
        int[] first = seen(call, 0, 1);
        int[] last = seen(call, call.queries().length() - 1, 1);
        int least = call.keys().first();
        int end = least + call.keys().length();
        boolean isChunkOfIndices = chunkSize == null || !call.hasPositions();
        return isChunkOfIndices && Math.max(first[0], last[0]) == least && Math.min(first[1], last[1]) == end;
    }

    /**
     * Returns the keys that are hidden from a query, (1 or B, 1, T, F), within {@link Temporaries#result}; null if each
     * query sees all.
     *
     * @param call some or all queries and keys of the forward
     * @param like an array on the device of the scores
     */
    NDArray hidden(AttentionCall call, NDArray like) {
        if (seesAll(call)) {
            return null;
        }
        NDArray keys = indices(call.keys(), like, 1);
        NDArray queries = indices(call.queries(), like, 2);
        NDArray hidden = hidden(keys, queries);
        if (chunkSize != null) {
            NDArray ofKeys = chunks(call.keys(), keys, 1);
            NDArray ofQueries = chunks(call.queries(), queries, 2);
            hidden = or(hidden, ofKeys.neq(ofQueries));
        }
        return hidden;
    }

    /** Whether keys are outside the window of a query, or after it if causal; null if none can be. */
    private NDArray hidden(NDArray keys, NDArray queries) {
        NDArray hidden = null;
        if (hidesDistances()) {
            int after = isCausal ? 0 : window / 2;
            NDArray last = after == 0 ? queries : Arithmetic.add(queries, after);
            hidden = keys.gt(last);
        }
        if (window != null) {
            NDArray before = Arithmetic.add(queries, -reach());
            hidden = or(hidden, keys.lte(before));
        }
        return hidden;
    }

    /** Whether any key may be hidden from a query. */
    boolean hidesAny() {
        return hidesDistances() || chunkSize != null;
    }

    /** Whether keys may be hidden by their distance. */
    boolean hidesDistances() {
        return isCausal || window != null;
    }

    /** Returns the distances at which keys are hidden, (1, T + F - 1), within {@link Temporaries#result}. */
    NDArray hiddenDistances(AttentionCall call, NDArray like) {
        int least = RelativeShift.firstDistance(call);
        int count = call.keys().length() + call.queries().length() - 1;
        NDArray distances = like.getManager().arange(least, least + count, 1, DataType.INT32, like.getDevice());
        NDArray row = distances.expandDims(0);
        return hidden(row, Arithmetic.number(row, 0));
    }

    /**
     * Returns where one of two conditions holds; a condition that is null never does. DJL's {@code logicalOr} leaves
     * arrays open on MXNet.
     */
    static NDArray or(NDArray one, NDArray other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return numbers(one).maximum(numbers(other));
    }

    /** A condition in a data type that the engine computes with: MXNet does not with booleans. */
    static NDArray numbers(NDArray condition) {
        return Arithmetic.isPyTorch(condition) ? condition : Arithmetic.toType(condition, DataType.INT32);
    }

    /** The indices of tokens, as (1, 1, 1, F) for keys, axis 1 from the end, or (1, 1, T, 1) for queries. */
    private static NDArray indices(Positions span, NDArray like, int axisFromEnd) {
        NDArray indices = like.getManager()
                .arange(span.first(), span.first() + span.length(), 1, DataType.INT32, like.getDevice());
        return indices.reshape(shape(1, span.length(), axisFromEnd));
    }

    private static Shape shape(long batch, int length, int axisFromEnd) {
        return axisFromEnd == 1 ? new Shape(batch, 1, 1, length) : new Shape(batch, 1, length, 1);
    }

    /** The chunk of each token: its position divided by the size, rounded down. */
    private NDArray chunks(Positions span, NDArray indices, int axisFromEnd) {
        NDArray positions = indices;
        if (span.positions() != null) {
            Check.that(
                    span.positions().getShape().dimension() == 2,
                    () -> "positions of shape " + span.positions().getShape() + " with chunks of " + chunkSize
                            + ": expected (T) or (B, T); give one position for each token");
            positions =
                    span.positions().reshape(shape(span.positions().getShape().get(0), span.length(), axisFromEnd));
        }
        // exact: the quotient of whole numbers is farther from the next whole number than doubles round
        NDArray real = Arithmetic.toType(positions, DataType.FLOAT64);
        NDArray whole = real.floor();
        NDArray size = Arithmetic.number(real, chunkSize);
        return whole.div(size).floor();
    }
}
