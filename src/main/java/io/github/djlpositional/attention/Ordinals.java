package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Temporaries;
import java.util.Arrays;

/**
 * What a window counts, where it does not count indices: positions, or the tokens of a sequence that a mask of keys
 * does not hide. All arrays are of the whole forward.
 */
final class Ordinals {

    /** From this number on, computing all pairs of queries and keys takes longer than waiting for a GPU. */
    private static final int PAIRS_TO_WAIT_FOR = 1 << 24;

    private final AttentionCall whole;

    /** (1 or B, F), INT32 or FLOAT64. */
    private final NDArray ofKeys;

    /** (1 or B, T). */
    private final NDArray ofQueries;

    /** The ranges of keys that each query sees in some row; null if they are not known. */
    private final Ranges ranges;

    private Ordinals(AttentionCall whole, NDArray ofKeys, NDArray ofQueries, Ranges ranges) {
        this.whole = whole;
        this.ofKeys = ofKeys;
        this.ofQueries = ofQueries;
        this.ranges = ranges;
    }

    /** The first key that a query sees in any row, and one more than the last, as columns, (T). */
    @SuppressWarnings("ArrayRecordComponent") // nothing compares them
    private record Ranges(int[] starts, int[] ends) {}

    /** What a window counts; null for indices. */
    static Ordinals of(
            Temporaries temporaries, Visibility.Order order, AttentionCall whole, NDArray hiddenKeys, NDArray like) {
        if (!order.hasWindow() || order.seesAll(whole)) {
            return null;
        }
        if (order.byPosition()) {
            return whole.hasPositions() ? ofPositions(temporaries, whole, like) : null;
        }
        return hiddenKeys == null ? null : ofTokens(temporaries, order, whole, hiddenKeys);
    }

    private static Ordinals ofPositions(Temporaries temporaries, AttentionCall whole, NDArray like) {
        DataType type = whole.hasRealPositions() ? DataType.FLOAT64 : DataType.INT32;
        return new Ordinals(
                whole,
                positions(temporaries, whole.keys(), like, type),
                positions(temporaries, whole.queries(), like, type),
                null);
    }

    private static NDArray positions(Temporaries temporaries, Positions tokens, NDArray like, DataType type) {
        return temporaries.addUnless(tokens.array(), tokens.toArray(like, type));
    }

    /**
     * The ordinals of tokens. A hidden key has that of the token before it, and a hidden query that of a visible one.
     * Hidden tokens after the last visible one are counted, so that queries there, which may be those of longer
     * sequences, have windows of their own.
     */
    private static Ordinals ofTokens(
            Temporaries temporaries, Visibility.Order order, AttentionCall whole, NDArray hidden) {
        NDArray isCounted = temporaries.addResult(() -> {
            NDArray isVisible = Arithmetic.toType(hidden.logicalNot(), DataType.INT32);
            NDArray indices = Indices.range(hidden, 1, whole.keys().count(), DataType.INT32)
                    .reshape(1, -1);
            NDArray last = isVisible.mul(indices).max(new int[] {1}, true);
            return isVisible.maximum(Arithmetic.toType(indices.gt(last), DataType.INT32));
        });
        NDArray ofKeys = temporaries.addResult(() -> Arithmetic.toType(isCounted.cumSum(1), DataType.INT32));
        int keys = whole.keys().count();
        int from = Math.min(whole.queries().first() - whole.keys().first(), keys);
        int to = Math.min(from + whole.queries().count(), keys);
        int after = whole.queries().first() - whole.keys().first() - from;
        int missing = whole.queries().count() - (to - from);
        NDArray ofQueries = temporaries.addResult(() -> {
            NDArray found = Arithmetic.add(columns(ofKeys, from, to).sub(columns(isCounted, from, to)), 1);
            if (missing == 0) {
                return found;
            }
            NDArray later = columns(ofKeys, keys - 1, keys)
                    .add(Indices.range(hidden, after + 1, missing, DataType.INT32)
                            .reshape(1, missing));
            // MXNet cannot concatenate nothing
            return from == to ? later : NDArrays.concat(new NDList(found, later), 1);
        });
        // slices of the queries need not have all keys
        int queries = whole.queries().count();
        boolean isLong = queries > 1 && keys > 2L * order.reach(false);
        boolean isRead = isLong && (HostData.isHost(hidden.getDevice()) || (long) queries * keys >= PAIRS_TO_WAIT_FOR);
        return new Ordinals(whole, ofKeys, ofQueries, isRead ? ranges(order, ofKeys, ofQueries, from + after) : null);
    }

    private static Ranges ranges(Visibility.Order order, NDArray ofKeys, NDArray ofQueries, int firstColumn) {
        int batch = (int) ofKeys.getShape().get(0);
        int keyCount = (int) ofKeys.getShape().get(1);
        int queryCount = (int) ofQueries.getShape().get(1);
        double[] keys = HostData.doubles(ofKeys);
        double[] queries = HostData.doubles(ofQueries);
        int[] starts = new int[queryCount];
        int[] ends = new int[queryCount];
        Arrays.fill(starts, keyCount);
        for (int row = 0; row < batch; row++) {
            int start = 0;
            int end = 0;
            for (int i = 0; i < queryCount; i++) {
                int column = firstColumn + i;
                double query = queries[row * queryCount + i];
                while (start < keyCount && keys[row * keyCount + start] < Math.max(1, query - order.before())) {
                    start++;
                }
                while (end < keyCount && keys[row * keyCount + end] <= query + order.after()) {
                    end++;
                }
                // encodings expect no keys that are all after the query
                starts[i] = Math.min(starts[i], Math.min(start, column));
                ends[i] = Math.max(ends[i], order.causal() ? Math.min(end, column + 1) : end);
            }
        }
        return new Ranges(starts, ends);
    }

    /** Whether queries are known to see only keys near them. */
    boolean areNear() {
        return ranges != null;
    }

    /**
     * The range of keys that any of some queries may see: the index of the first key, and one more than that of the
     * last. Empty if the first number is not less than the second.
     */
    int[] range(int from, int count) {
        int first = whole.keys().first();
        return ranges == null
                ? new int[] {first, first + whole.keys().count()}
                : new int[] {
                    first
                            + Arrays.stream(ranges.starts, from, from + count)
                                    .min()
                                    .orElseThrow(),
                    first + Arrays.stream(ranges.ends, from, from + count).max().orElseThrow()
                };
    }

    private static NDArray columns(NDArray array, int from, int to) {
        return from == 0 && to == array.getShape().get(1) ? array : array.get(NDIndex.sliceAxis(1, from, to));
    }

    /** The ordinals of the keys of a call, (1 or B, 1, 1, F). */
    NDArray ofKeys(AttentionCall call) {
        return slice(ofKeys, call.keys(), whole.keys()).expandDims(1).expandDims(1);
    }

    /** The ordinals of the queries of a call, (1 or B, 1, T, 1). */
    NDArray ofQueries(AttentionCall call) {
        return slice(ofQueries, call.queries(), whole.queries()).expandDims(1).expandDims(3);
    }

    private static NDArray slice(NDArray array, Positions some, Positions all) {
        int from = some.first() - all.first();
        return columns(array, from, from + some.count());
    }
}
