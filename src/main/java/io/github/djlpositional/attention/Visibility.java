package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.Temporaries;

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
        int first = call.queries().first() + from;
        int last = first + count - 1;
        int least = call.keys().first();
        int end = least + call.keys().length();
        if (chunkSize != null && !call.hasPositions()) {
            least = Math.max(least, first / chunkSize * chunkSize);
        } else if (window != null) {
            least = Math.max(least, first - reach() + 1);
        }
        if (isCausal) {
            end = Math.min(end, last + 1);
        } else if (window != null) {
            end = Math.min(end, last + window / 2 + 1);
        }
        // a query that sees nothing still needs a key
        return least < end
                ? new int[] {least, end}
                : new int[] {call.keys().first(), call.keys().first() + 1};
    }

    /** Whether every query of a self-attention is known to see all keys of a call. */
    private boolean seesAll(AttentionCall call) {
        int first = call.queries().first();
        int last = first + call.queries().length() - 1;
        int least = call.keys().first();
        int end = least + call.keys().length();
        boolean seesLater = isCausal ? first >= end - 1 : window == null || first + window / 2 >= end - 1;
        boolean seesEarlier = window == null || last - reach() < least;
        boolean seesChunk =
                chunkSize == null || (!call.hasPositions() && least / chunkSize == Math.max(last, end - 1) / chunkSize);
        return seesLater && seesEarlier && seesChunk;
    }

    /**
     * Returns 1 for a key that a query sees and 0 for others, (1 or B, 1, T, F); null if each sees all.
     *
     * @param temporaries closes what is created here
     * @param call some or all queries and keys of the forward
     * @param like an array on the device of the scores
     * @param type the data type of the scores
     */
    NDArray of(Temporaries temporaries, AttentionCall call, NDArray like, DataType type) {
        if (seesAll(call)) {
            return null;
        }
        NDArray keys = indices(temporaries, call.keys(), like, 1);
        NDArray queries = indices(temporaries, call.queries(), like, 2);
        NDArray visible = isCausal || window != null ? near(temporaries, temporaries.add(keys.sub(queries))) : null;
        if (chunkSize != null) {
            NDArray ofKeys = chunks(temporaries, call.keys(), keys, 1);
            NDArray ofQueries = chunks(temporaries, call.queries(), queries, 2);
            visible = and(temporaries, visible, temporaries.add(ofKeys.eq(ofQueries)));
        }
        return temporaries.add(visible.toType(type, true));
    }

    /** Whether distances, the key's index less the query's, are in the window, and are not of later keys if causal. */
    private NDArray near(Temporaries temporaries, NDArray distances) {
        NDArray visible = null;
        if (isCausal) {
            visible = temporaries.add(distances.lte(0));
        }
        if (window != null) {
            visible = and(temporaries, visible, temporaries.add(distances.gt(-reach())));
            if (!isCausal) {
                visible = and(temporaries, visible, temporaries.add(distances.lte(window / 2)));
            }
        }
        return visible;
    }

    /** Whether any key may be hidden from a query. */
    boolean hidesAny() {
        return isCausal || window != null || chunkSize != null;
    }

    /** Returns 1 for a distance at which a key is visible and 0 for others, (1, T + F - 1); null if all are visible. */
    NDArray ofDistances(Temporaries temporaries, AttentionCall call, NDArray like, DataType type) {
        if (!isCausal && window == null) {
            return null;
        }
        int least = RelativeShift.least(call);
        int count = call.keys().length() + call.queries().length() - 1;
        NDArray distances =
                temporaries.add(like.getManager().arange(least, least + count, 1, DataType.INT32, like.getDevice()));
        NDArray row = temporaries.add(distances.expandDims(0));
        return temporaries.add(near(temporaries, row).toType(type, true));
    }

    /** Not with logicalAnd, which leaves arrays of its own open on MXNet. */
    private static NDArray and(Temporaries temporaries, NDArray one, NDArray other) {
        return one == null ? other : temporaries.add(numbers(temporaries, one).mul(numbers(temporaries, other)));
    }

    private static NDArray numbers(Temporaries temporaries, NDArray conditions) {
        return temporaries.addUnless(conditions, conditions.toType(DataType.INT32, false));
    }

    /** The indices of tokens, as (1, 1, 1, F) for keys, axis 1 from the end, or (1, 1, T, 1) for queries. */
    private static NDArray indices(Temporaries temporaries, Span span, NDArray like, int axisFromEnd) {
        NDArray indices = temporaries.add(like.getManager()
                .arange(span.first(), span.first() + span.length(), 1, DataType.INT32, like.getDevice()));
        return temporaries.add(indices.reshape(shape(1, span.length(), axisFromEnd)));
    }

    private static Shape shape(long batch, int length, int axisFromEnd) {
        return axisFromEnd == 1 ? new Shape(batch, 1, 1, length) : new Shape(batch, 1, length, 1);
    }

    /** The chunk of each token: its position divided by the size, rounded down. */
    private NDArray chunks(Temporaries temporaries, Span span, NDArray indices, int axisFromEnd) {
        NDArray positions = indices;
        if (span.positions() != null) {
            Check.that(
                    span.positions().getShape().dimension() == 2,
                    () -> "positions of shape " + span.positions().getShape() + " with chunks of " + chunkSize
                            + ": expected (T) or (B, T); give one position for each token");
            positions = temporaries.add(
                    span.positions().reshape(shape(span.positions().getShape().get(0), span.length(), axisFromEnd)));
        }
        // exact: the quotient of whole numbers is farther from the next whole number than doubles round
        NDArray real = temporaries.addUnless(positions, positions.toType(DataType.FLOAT64, false));
        NDArray whole = temporaries.add(real.floor());
        NDArray size = temporaries.add(real.getManager().full(new Shape(1), chunkSize, DataType.FLOAT64));
        NDArray here = temporaries.addUnless(size, size.toDevice(real.getDevice(), false));
        return temporaries.add(temporaries.add(whole.div(here)).floor());
    }
}
