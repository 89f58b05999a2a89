package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.options.Check;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Which keys the queries of a forward see. A key is hidden from a query by the {@link Order}, by a mask of keys, which
 * a cache stores, or by the mask of the forward. Tokens are counted by their indices in the whole sequence; all arrays
 * begin with the first query and the first key of the forward.
 */
final class Visibility {

    /**
     * The keys that the order of tokens lets a query see: those of its chunk, from {@code before} tokens before it to
     * {@code after} tokens after it. Hidden tokens are not counted.
     *
     * @param causal whether keys with a larger index are hidden
     * @param before {@link #ALL} for all earlier keys
     * @param after {@link #ALL} for all later keys
     * @param chunkSize the number of positions in a chunk; null for one chunk
     * @param byPosition whether {@code before} and {@code after} are differences of positions, not numbers of tokens
     */
    record Order(boolean causal, int before, int after, Integer chunkSize, boolean byPosition) {

        static final int ALL = ForwardParameters.UNLIMITED;

        static Order of(boolean causal, Integer window, Integer chunkSize, boolean byPosition) {
            int half = window == null ? ALL : window / 2;
            int before = causal && window != null ? window - 1 : half;
            return new Order(causal, before, causal ? 0 : half, chunkSize, byPosition);
        }

        /**
         * The number of keys, up to and including its own, that a query may see if none is hidden; null for all. With
         * explicit positions, any number of tokens may be in a chunk, or in a window of positions.
         */
        Integer reach(boolean hasPositions) {
            if (hasPositions && (chunkSize != null || byPosition)) {
                return null;
            }
            return chunkSize != null ? chunkSize : before == ALL ? null : Integer.valueOf(before + 1);
        }

        /** Whether there is a window. */
        boolean hasWindow() {
            return before < ALL;
        }

        /** Whether hidden tokens are not counted in the window. */
        boolean countsTokens() {
            return hasWindow() && !byPosition;
        }

        /** The same order without its window. */
        Order withoutWindow() {
            return of(causal, null, chunkSize, false);
        }

        /** Whether a query sees all keys up to its own, and no others. */
        boolean isCausalOnly() {
            return causal && before == ALL && chunkSize == null;
        }

        /** Whether keys may be hidden because of their distance. */
        boolean isByDistance() {
            return before < ALL || after < ALL;
        }

        /**
         * The range of keys of a call that any of some queries may see if no key is hidden: the index of the first key,
         * and one more than that of the last. Empty if the first number is not less than the second.
         */
        int[] range(AttentionCall call, int from, int count) {
            int first = call.queries().first() + from;
            int last = first + count - 1;
            int firstKey = call.keys().first();
            boolean isByIndex = !(byPosition && call.hasPositions());
            int start = isByIndex ? Math.max(firstKey, first - before) : firstKey;
            int end = firstKey + call.keys().count();
            end = isByIndex || causal ? Math.min(end, last + after + 1) : end;
            if (chunkSize != null && !call.hasPositions()) {
                start = Math.max(start, first / chunkSize * chunkSize);
                end = (int) Math.min(end, (last / chunkSize + 1L) * chunkSize);
            }
            return new int[] {start, end};
        }

        /** Whether every query is known to see all keys of a call, except those that masks hide. */
        boolean seesAll(AttentionCall call) {
            int[] first = range(call, 0, 1);
            int[] last = range(call, call.queries().count() - 1, 1);
            int firstKey = call.keys().first();
            return !((chunkSize != null || byPosition) && call.hasPositions())
                    && Math.max(first[0], last[0]) == firstKey
                    && Math.min(first[1], last[1]) == firstKey + call.keys().count();
        }

        /** Where the window or the causal order hides a key, by their indices, INT32; null without both. */
        private NDArray isFar(NDArray keys, NDArray queries) {
            NDArray isLater = causal ? keys.gt(queries) : null;
            return hasWindow() ? or(isLater, isOutside(keys, queries)) : isLater;
        }

        /** Where a key is not in the window of a query, by what the window counts, INT32 or FLOAT64. */
        private NDArray isOutside(NDArray keys, NDArray queries) {
            NDArray isBefore = keys.lt(Arithmetic.add(queries, -before));
            return causal ? isBefore : or(isBefore, keys.gt(Arithmetic.add(queries, after)));
        }
    }

    /**
     * What is added to the scores of a slice of the queries.
     *
     * @param bias added to the scores: -infinity for a hidden key, but 0 for all keys of a query that sees none,
     *     because its softmax would be NaN; null for none
     * @param withoutKey where a query sees no key, (B or 1, N or 1, T or 1, 1); null if every query sees a key
     */
    record Slice(NDArray bias, NDArray withoutKey) {

        /** Replaces the results of queries that see no key with zeros, so that their gradients are zero too. */
        NDArray maskQueriesWithoutKeys(Temporaries temporaries, NDArray result) {
            return withoutKey == null
                    ? result
                    : temporaries.addResult(() -> where(result.getShape(), withoutKey, number(result, 0), result));
        }
    }

    private final Order order;

    /** What the window counts; null for indices. */
    private final Ordinals ordinals;

    /** All queries and keys of the forward. */
    private final AttentionCall whole;

    /** Whether each query has a key of its own, which the order never hides. */
    private final boolean isSelf;

    /** Which keys a mask of keys hides, (B, F), as {@link #hiddenKeys} returns it; null for none. */
    private final NDArray hiddenKeys;

    /** Where the mask of the forward hides a key, (B or 1, N or 1, T or 1, F or 1); null for none. */
    private final NDArray hiddenPairs;

    /** A mask that is added to the scores, of the same shape, in the data type of the queries; null for none. */
    private final NDArray added;

    /**
     * Reads the masks of a forward.
     *
     * @param temporaries closes the arrays of the masks
     * @param order hides keys by their index
     * @param whole all queries and keys
     * @param isSelf whether queries and keys are the same tokens
     * @param hiddenKeys which keys a mask of keys hides, (B, F), as {@link #hiddenKeys} returns it; null for none
     * @param mask another mask, (B, T, F) or (B, N, T, F), any size of which may be 1; null for none
     * @param queries (B, N, T, H), on the device of the scores
     */
    Visibility(
            Temporaries temporaries,
            Order order,
            AttentionCall whole,
            boolean isSelf,
            NDArray hiddenKeys,
            NDArray mask,
            NDArray queries) {
        this.order = order;
        this.whole = whole;
        this.isSelf = isSelf;
        this.hiddenKeys = hiddenKeys;
        requireOneAxis(whole.queries());
        requireOneAxis(whole.keys());
        ordinals = Ordinals.of(temporaries, order, whole, hiddenKeys, queries);
        NDArray moved = mask == null ? null : moved(temporaries, mask, queries);
        boolean isAdded = mask != null && isAdded(mask);
        added = isAdded ? temporaries.addResult(moved, () -> withInfinity(moved)) : null;
        hiddenPairs = mask == null || isAdded
                ? null
                : temporaries.addResult(() -> withHeads(moved).logicalNot());
    }

    /** Chunks and windows of positions need one position for each token. */
    private void requireOneAxis(Positions tokens) {
        NDArray explicit = tokens.array();
        boolean isNeeded = order.chunkSize() != null || order.byPosition();
        Check.that(
                !isNeeded || explicit == null || explicit.getShape().dimension() == 2,
                () -> "positions of shape " + explicit.getShape() + " with "
                        + (order.chunkSize() != null ? "chunkSize " + order.chunkSize() : "windowByPosition true")
                        + ": expected (T) or (B, T); pass one position for each token");
    }

    /** Checks a mask, and returns it for the keys of the forward, on the device of the queries. */
    private NDArray moved(Temporaries temporaries, NDArray mask, NDArray queries) {
        requireFits(mask, queries.getShape(), whole);
        DataTypes.requireSameEngine(mask, queries, "queries");
        Check.that(
                !isAdded(mask) || mask.getDataType() == queries.getDataType(),
                () -> "mask " + mask.getShape() + " has data type " + mask.getDataType() + ": expected "
                        + queries.getDataType()
                        + ", the data type of the queries, for a mask that is added to the scores,"
                        + " or boolean, true for visible keys; pass mask.neq(0) if 1 means visible, or convert it"
                        + " with toType");
        NDArray moved = temporaries.addUnless(mask, mask.toDevice(queries.getDevice(), false));
        // without the keys that the cache of a window has dropped
        int first = whole.keys().first();
        long end = mask.getShape().getLastDimension();
        int axis = mask.getShape().dimension() - 1;
        return end == 1 || first == 0 ? moved : temporaries.add(moved.get(NDIndex.sliceAxis(axis, first, end)));
    }

    /** Checks the shape of a mask. It also covers the tokens that the cache of a window has dropped. */
    static void requireFits(NDArray mask, Shape queries, AttentionCall call) {
        Shape shape = mask.getShape();
        long batch = queries.get(0);
        long length = call.queries().count();
        long keys = (long) call.keys().first() + call.keys().count();
        Shape ofKeys = new Shape(batch, keys);
        Shape ofQueries = new Shape(batch, length, keys);
        Shape ofScores = new Shape(batch, queries.get(1), length, keys);
        Check.that(
                shape.dimension() == 4
                        ? Terms.broadcasts(shape, ofScores)
                        : shape.equals(ofKeys) || shape.equals(ofQueries),
                () -> "mask of shape " + shape + " does not fit " + batch + " sequences of " + length + " queries and "
                        + keys + " keys, including cached ones: expected " + ofKeys + " or " + ofQueries
                        + " with 1 for visible keys, or " + ofScores
                        + ", any size of which may be 1, to be added to the scores; pass one of these");
    }

    private static NDArray withHeads(NDArray mask) {
        return mask.getShape().dimension() == 3 ? mask.expandDims(1) : mask;
    }

    /** Which keys a mask of keys hides, (B, n), INT32: 1 for each hidden key, and 0 for others. */
    static NDArray hiddenKeys(Temporaries temporaries, NDArray mask, NDArray like) {
        return temporaries.addResult(
                () -> Arithmetic.toType(mask.toDevice(like.getDevice(), false).logicalNot(), DataType.INT32));
    }

    /** Checks the shape of a mask of keys, (B, n), which must have one of the lengths. */
    static void requireOfKeys(NDArray mask, NDArray queries, long... lengths) {
        Shape shape = mask.getShape();
        long batch = queries.getShape().get(0);
        DataTypes.requireSameEngine(mask, queries, "queries");
        Check.that(
                shape.get(0) == batch && Arrays.stream(lengths).anyMatch(length -> length == shape.get(1)),
                () -> "mask of shape " + shape + " for " + batch + " sequences: expected "
                        + Arrays.stream(lengths)
                                .distinct()
                                .mapToObj(length -> new Shape(batch, length).toString())
                                .collect(Collectors.joining(" for the tokens of the step, or "))
                        + ", with 0 for each hidden token; pass one number for each token");
    }

    /** Whether a mask is added to the scores. */
    static boolean isAdded(NDArray mask) {
        return mask.getShape().dimension() == 4 && mask.getDataType() != DataType.BOOLEAN;
    }

    /** Where an added mask hides the key: -infinity, or the smallest finite number. */
    private static NDArray isHidden(NDArray mask) {
        double lowest = mask.getDataType() == DataType.FLOAT16 ? -65504 : -Float.MAX_VALUE;
        return mask.lte(Arithmetic.number(mask, lowest));
    }

    /** Replaces the smallest finite number of FLOAT16, which scores in FLOAT32 may reach, with -infinity. */
    private static NDArray withInfinity(NDArray mask) {
        return mask.getDataType() != DataType.FLOAT16
                ? mask
                : where(mask.getShape(), isHidden(mask), number(mask, Double.NEGATIVE_INFINITY), mask);
    }

    Order order() {
        return order;
    }

    /** Whether one query sees the keys of a range, except those that {@link #hiddenFromOne} hides. */
    boolean isRangeOfKeys() {
        return pairs() == null && (order.chunkSize() == null || !whole.hasPositions());
    }

    /**
     * Which keys masks and the window hide from the only query, (1 or B, F): the mask of keys, or a new array; null if
     * it sees all keys of its range.
     */
    NDArray hiddenFromOne(Temporaries temporaries) {
        return ordinals == null
                ? hiddenKeys
                : temporaries.addResult(() -> {
                    NDArray isOutside = order.isOutside(ordinals.ofKeys(whole), ordinals.ofQueries(whole));
                    NDArray shaped = isOutside.reshape(isOutside.getShape().get(0), -1);
                    return or(hiddenKeys, shaped);
                });
    }

    /** The number of keys near a query that it sees, if they are known to be near; otherwise null. */
    Integer reach() {
        return ordinals == null || ordinals.areNear() ? order.reach(whole.hasPositions()) : null;
    }

    /**
     * The range of keys that any of some queries may see: the index of the first key, and one more than that of the
     * last; at least one key, which a query that sees nothing still needs.
     */
    int[] range(int from, int count) {
        int[] range = ordinals == null ? order.range(whole, from, count) : ordinals.range(from, count);
        int firstKey = whole.keys().first();
        return range[0] < range[1] ? range : new int[] {firstKey, firstKey + 1};
    }

    boolean isSelf() {
        return isSelf;
    }

    /** Whether there is a mask, of this forward or in the cache. */
    boolean hasMask() {
        return hiddenKeys != null || pairs() != null;
    }

    /** The mask of the forward; null for none. */
    private NDArray pairs() {
        return added == null ? hiddenPairs : added;
    }

    /** Whether all keys of a query may be hidden. */
    boolean mayHideAll() {
        return hasMask() || !isSelf;
    }

    /** Whether a mask differs between heads. */
    boolean isByHead() {
        return pairs() != null && pairs().getShape().get(1) > 1;
    }

    /** How many elements the bias has for each query and key. */
    long sizePerQueryAndKey() {
        long ofKeys = hiddenKeys == null ? 1 : hiddenKeys.getShape().get(0);
        if (pairs() != null) {
            return Math.max(ofKeys, pairs().getShape().get(0))
                    * pairs().getShape().get(1);
        }
        return hiddenKeys != null ? ofKeys : order.isByDistance() || order.chunkSize() != null ? 1 : 0;
    }

    /** Where a key of a call is hidden from a query, (1 or B, 1 or N, 1 or T, 1 or F); null if all are visible. */
    private NDArray hidden(AttentionCall call, NDArray like) {
        NDArray all = hiddenByOrder(call, like);
        if (hiddenPairs != null) {
            all = or(all, slice(hiddenPairs, call));
        }
        if (hiddenKeys != null) {
            all = or(
                    all,
                    slice(condition(hiddenKeys).reshape(hiddenKeys.getShape().get(0), 1, 1, -1), call));
        }
        return all;
    }

    /** Where the order hides a key from a query, (1 or B, 1, T, F); null if each query sees all. */
    private NDArray hiddenByOrder(AttentionCall call, NDArray like) {
        if (order.seesAll(call)) {
            return null;
        }
        NDArray keys = indices(call.keys(), like, 3);
        NDArray queries = indices(call.queries(), like, 2);
        if (order.chunkSize() != null) {
            NDArray isOther = chunks(call.keys(), keys, 3).neq(chunks(call.queries(), queries, 2));
            return or(order.isFar(keys, queries), isOther);
        }
        if (ordinals == null) {
            return order.isFar(keys, queries);
        }
        NDArray isOutside = order.isOutside(ordinals.ofKeys(call), ordinals.ofQueries(call));
        return order.causal() ? or(keys.gt(queries), isOutside) : isOutside;
    }

    private static NDArray indices(Positions tokens, NDArray like, int axis) {
        return onAxis(Indices.range(like, tokens.first(), tokens.count(), DataType.INT32), tokens, axis);
    }

    /** Positions or indices, (n) or (1 or B, n), with four axes. */
    private static NDArray onAxis(NDArray positions, Positions tokens, int axis) {
        Shape all = positions.getShape();
        Shape shape = new Shape(all.dimension() == 1 ? 1 : all.get(0), 1, 1, 1);
        return positions.reshape(Shape.update(shape, axis, tokens.count()));
    }

    /** The chunk of each token: its position divided by the size, rounded down. */
    private NDArray chunks(Positions tokens, NDArray indices, int axis) {
        NDArray explicit = tokens.array();
        // exact: a non-integer quotient differs from any integer by more than the rounding error of a double
        NDArray doubles =
                Arithmetic.toType(explicit == null ? indices : onAxis(explicit, tokens, axis), DataType.FLOAT64);
        NDArray whole = doubles.floor();
        return whole.div(Arithmetic.number(doubles, order.chunkSize())).floor();
    }

    /**
     * Returns what is added to the scores of a call: the added mask, and -infinity for hidden keys; null if nothing is
     * added.
     *
     * @param temporaries closes the result
     * @param call the queries and keys
     * @param like an array on the device and in the data type of the scores
     */
    NDArray bias(Temporaries temporaries, AttentionCall call, NDArray like) {
        return !hasMask() && order.seesAll(call)
                ? null
                : temporaries.addResult(added, () -> {
                    NDArray isHidden = hidden(call, like);
                    NDArray bias = isHidden == null ? null : infinityWhere(isHidden, like);
                    if (added == null) {
                        return bias;
                    }
                    NDArray mask = Arithmetic.toType(slice(added, call), like.getDataType());
                    return bias == null ? mask : mask.add(bias);
                });
    }

    /** Returns the bias, with 0 for all keys of a query that sees none, and which queries these are. */
    Slice sliceOf(Temporaries temporaries, AttentionCall call, NDArray like) {
        NDArray bias = bias(temporaries, call, like);
        if (bias == null || !mayHideAll()) {
            return new Slice(bias, null);
        }
        NDArray withoutKey = temporaries.addResult(() -> isHidden(bias.max(new int[] {3}, true)));
        return new Slice(
                temporaries.addResult(() -> bias.maximum(where(
                        withoutKey.getShape(), withoutKey, number(like, 0), number(like, Double.NEGATIVE_INFINITY)))),
                withoutKey);
    }

    /**
     * Returns 0 for the distances at which a key is visible, and -infinity for others: (1, T + F - 1), by the key's
     * index minus the query's; null if all are visible.
     */
    NDArray biasByDistance(Temporaries temporaries, AttentionCall call, NDArray like) {
        return !order.isByDistance()
                ? null
                : temporaries.addResult(() -> {
                    NDArray row =
                            call.allDistances(like).toArray(DataType.INT32).expandDims(0);
                    return infinityWhere(order.isFar(row, Arithmetic.number(row, 0)), like);
                });
    }

    /** The slice of a mask for a call. */
    private NDArray slice(NDArray mask, AttentionCall call) {
        NDArray rows = tokens(mask, 2, call.queries(), whole.queries());
        return tokens(rows, 3, call.keys(), whole.keys());
    }

    /** The columns of a mask for some of all tokens. */
    private static NDArray tokens(NDArray mask, int axis, Positions tokens, Positions all) {
        long size = mask.getShape().get(axis);
        int from = tokens.first() - all.first();
        return size == 1 || size == tokens.count()
                ? mask
                : mask.get(NDIndex.sliceAxis(axis, from, (long) from + tokens.count()));
    }

    /** -infinity where a condition holds, and 0 elsewhere. */
    private static NDArray infinityWhere(NDArray condition, NDArray like) {
        return where(condition.getShape(), condition, number(like, Double.NEGATIVE_INFINITY), number(like, 0));
    }

    /** A value where a condition holds, and another elsewhere. Multiplying infinite numbers by 0 would give NaN. */
    private static NDArray where(Shape shape, NDArray condition, NDArray value, NDArray other) {
        return NDArrays.where(broadcast(condition(condition), shape), broadcast(value, shape), other);
    }

    private static NDArray broadcast(NDArray array, Shape shape) {
        return array.getShape().equals(shape) ? array : array.broadcast(shape);
    }

    private static NDArray number(NDArray like, double value) {
        return Arithmetic.toType(Arithmetic.number(like, value), like.getDataType());
    }

    /**
     * Returns where at least one of two conditions holds; null never holds. DJL's {@code logicalOr} leaves arrays open
     * on MXNet.
     */
    private static NDArray or(NDArray one, NDArray other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return condition(one).maximum(condition(other));
    }

    /** A condition in a data type that the engine can compute with: MXNet cannot compute with booleans. */
    private static NDArray condition(NDArray array) {
        return Arithmetic.toType(array, Arithmetic.isPyTorch(array) ? DataType.BOOLEAN : DataType.INT32);
    }
}
