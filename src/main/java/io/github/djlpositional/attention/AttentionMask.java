package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.options.Check;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Hides keys from queries: the explicit mask of a forward, cached masks of keys, causality, windows and chunks.
 *
 * @param hidden where the explicit mask hides a key, (B or 1, N or 1, T or 1, F or 1); null without such a mask, or if
 *     its numbers are added to the scores
 * @param offset the explicit mask if it is added to the scores, of the same shape, in the data type of the queries;
 *     null for none
 * @param padding where a mask of keys hides a key, (B, 1, 1, n), for the keys of the forward; null for none
 * @param firstKey the index of the first of these keys
 * @param options the options of the attention, which hide keys by their index
 * @param isSelf whether each query has a key of its own, which is never hidden by its index
 */
record AttentionMask(
        NDArray hidden,
        NDArray offset,
        NDArray padding,
        int firstKey,
        MultiHeadAttentionBlockOptions options,
        boolean isSelf) {

    /**
     * A mask for a part of the queries.
     *
     * @param bias added to the scores: -infinity for a hidden key, but 0 for all keys of a query that sees none,
     *     because its softmax would be NaN; null for none
     * @param withoutKey where a query sees no key, (B or 1, N or 1, T or 1, 1); null if every query sees a key
     */
    record Part(NDArray bias, NDArray withoutKey) {

        /** Replaces the results of queries that see no key with zeros, so that their gradients are zero too. */
        NDArray maskQueriesWithoutKeys(Temporaries temporaries, NDArray result) {
            return withoutKey == null
                    ? result
                    : temporaries.addResult(() -> where(result.getShape(), withoutKey, number(result, 0), result));
        }
    }

    /**
     * Reads a mask.
     *
     * @param temporaries closes the arrays of the mask
     * @param mask null, or an array of one of the shapes that {@link MultiHeadAttentionBlock} documents
     * @param visibleKeys which of the keys of the call are visible, (B, n), from a cache; null for all
     * @param call all queries
     * @param queries (B, N, T, H), on the device of the scores
     */
    static AttentionMask of(
            Temporaries temporaries,
            NDArray mask,
            NDArray visibleKeys,
            AttentionCall call,
            NDArray queries,
            MultiHeadAttentionBlockOptions options,
            boolean isSelf) {
        int first = call.keyPositions().first();
        NDArray padding = visibleKeys == null
                ? null
                : temporaries.addResult(() -> visibleKeys
                        .logicalNot()
                        .reshape(-1, 1, 1, call.keyPositions().length()));
        if (mask == null) {
            return new AttentionMask(null, null, padding, first, options, isSelf);
        }
        Shape shape = mask.getShape();
        long batch = queries.getShape().get(0);
        long length = call.queryPositions().length();
        // a mask also covers the tokens that the cache of a window has dropped
        long keys = (long) call.keyPositions().first() + call.keyPositions().length();
        Shape keyMaskShape = new Shape(batch, keys);
        Shape queryMaskShape = new Shape(batch, length, keys);
        Shape scoreMaskShape = new Shape(batch, queries.getShape().get(1), length, keys);
        boolean isScoreMask = shape.dimension() == 4;
        Check.that(
                isScoreMask
                        ? Encodings.broadcasts(shape, scoreMaskShape)
                        : shape.equals(keyMaskShape) || shape.equals(queryMaskShape),
                () -> "mask of shape " + shape + " does not fit " + batch + " sequences of " + length + " queries and "
                        + keys + " keys, including cached ones: expected " + keyMaskShape + " or " + queryMaskShape
                        + " with 1 for visible keys, or " + scoreMaskShape
                        + ", any size of which may be 1, to be added to the scores; pass one of these");
        DataTypes.requireSameEngine(mask, queries, "queries");
        boolean isOffset = isAdded(mask);
        Check.that(
                !isOffset || mask.getDataType() == queries.getDataType(),
                () -> "mask " + shape + " has data type " + mask.getDataType() + ": expected "
                        + queries.getDataType()
                        + ", the data type of the queries, for numbers that are added to the scores,"
                        + " or boolean, true for visible keys; pass mask.neq(0) if 1 means visible, or convert the"
                        + " numbers with toType");
        NDArray moved = temporaries.addUnless(mask, mask.toDevice(queries.getDevice(), false));
        if (isOffset) {
            NDArray offset = temporaries.addResult(moved, () -> withInfinity(moved));
            return new AttentionMask(null, offset, padding, first, options, isSelf);
        }
        Shape hiddenShape = isScoreMask ? shape : new Shape(batch, 1, shape.dimension() == 2 ? 1 : length, keys);
        NDArray hidden = temporaries.addResult(() -> moved.logicalNot().reshape(hiddenShape));
        return new AttentionMask(hidden, null, padding, first, options, isSelf);
    }

    /** See {@link MultiHeadAttentionBlock#packedMask}. */
    static NDArray packed(NDArray positions) {
        Shape shape = positions.getShape();
        Check.that(
                shape.dimension() == 2 && shape.size() > 0,
                () -> "positions of shape " + shape
                        + ": expected (B, T) with T of 1 or more; add the batch with expandDims(0)");
        return Temporaries.result(() -> {
            NDArray first = positions.get(NDIndex.sliceAxis(1, 0, 1));
            NDArray longer = NDArrays.concat(new NDList(first, positions), 1);
            NDArray shifted = longer.get(NDIndex.sliceAxis(1, 0, shape.get(1)));
            NDArray number =
                    Arithmetic.toType(positions.lte(shifted), DataType.INT32).cumSum(1);
            return number.expandDims(2).eq(number.expandDims(1));
        });
    }

    /** Whether a mask is a mask of keys, (B, T) or (B, F), which a cache stores. */
    static boolean isKeyMask(NDArray mask) {
        return mask != null && mask.getShape().dimension() == 2;
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

    /** Whether a mask may differ between several queries. */
    static boolean differsByQuery(NDArray mask) {
        int rank = mask == null ? 0 : mask.getShape().dimension();
        return rank > 2 && mask.getShape().get(rank - 2) > 1;
    }

    /** Whether the numbers of a mask are added to the scores. */
    static boolean isAdded(NDArray mask) {
        return mask.getShape().dimension() == 4 && mask.getDataType() != DataType.BOOLEAN;
    }

    /** Where numbers that are added to scores hide the key: -infinity, or the smallest finite number. */
    static NDArray isHidden(NDArray added) {
        double lowest = added.getDataType() == DataType.FLOAT16 ? -65504 : -Float.MAX_VALUE;
        return added.lte(Arithmetic.number(added, lowest));
    }

    /** Replaces the smallest finite number of FLOAT16, which scores in FLOAT32 may reach, with -infinity. */
    private static NDArray withInfinity(NDArray added) {
        return added.getDataType() != DataType.FLOAT16
                ? added
                : where(added.getShape(), isHidden(added), number(added, Double.NEGATIVE_INFINITY), added);
    }

    /**
     * Returns what is added to the scores of a call: numbers, and -infinity for hidden keys; null if nothing is added.
     *
     * @param temporaries closes the result
     * @param call the queries and keys
     * @param from the index of the first query within the forward
     * @param like an array on the device and in the data type of the scores
     */
    NDArray bias(Temporaries temporaries, AttentionCall call, int from, NDArray like) {
        return !hasExplicitMask() && options.seesAll(call)
                ? null
                : temporaries.addResult(offset, () -> bias(call, from, like));
    }

    private NDArray bias(AttentionCall call, int from, NDArray like) {
        NDArray all = hiddenByOrder(call, like);
        if (hidden != null) {
            all = or(all, part(hidden, call, from));
        }
        if (padding != null) {
            int column = call.keyPositions().first() - firstKey;
            all = or(all, part(padding, 3, column, call.keyPositions().length()));
        }
        NDArray bias = all == null ? null : infinityWhere(all, like);
        if (offset == null) {
            return bias;
        }
        NDArray added = Arithmetic.toType(part(offset, call, from), like.getDataType());
        return bias == null ? added : bias.add(added);
    }

    /** -infinity where a condition holds, and 0 elsewhere. */
    private static NDArray infinityWhere(NDArray condition, NDArray like) {
        return where(condition.getShape(), condition, number(like, Double.NEGATIVE_INFINITY), number(like, 0));
    }

    /** Returns the bias, with 0 for all keys of a query that sees none, and which queries these are. */
    Part part(Temporaries temporaries, AttentionCall call, int from, NDArray like) {
        NDArray bias = bias(temporaries, call, from, like);
        if (bias == null || !mayHideAll()) {
            return new Part(bias, null);
        }
        NDArray withoutKey = temporaries.addResult(() -> isHidden(bias.max(new int[] {3}, true)));
        return new Part(
                temporaries.addResult(() -> bias.maximum(where(
                        withoutKey.getShape(), withoutKey, number(like, 0), number(like, Double.NEGATIVE_INFINITY)))),
                withoutKey);
    }

    /** A value where a condition holds, and another elsewhere. Multiplying infinite numbers by 0 would give NaN. */
    static NDArray where(Shape shape, NDArray condition, NDArray value, NDArray other) {
        NDArray conditions = broadcast(computable(condition), shape);
        return NDArrays.where(conditions, broadcast(value, shape), other);
    }

    private static NDArray broadcast(NDArray array, Shape shape) {
        return array.getShape().equals(shape) ? array : array.broadcast(shape);
    }

    private static NDArray number(NDArray like, double value) {
        return Arithmetic.toType(Arithmetic.number(like, value), like.getDataType());
    }

    /** Whether all keys of a query may be hidden. */
    boolean mayHideAll() {
        return hasExplicitMask() || !isSelf;
    }

    /** Whether the forward has an explicit mask, or the cache has one. */
    boolean hasExplicitMask() {
        return explicitMask() != null || padding != null;
    }

    private NDArray explicitMask() {
        return hidden == null ? offset : hidden;
    }

    /** Whether the explicit mask differs between heads. */
    boolean isByHead() {
        return explicitMask() != null && explicitMask().getShape().get(1) > 1;
    }

    /** How many numbers a part of the mask has for each query and key. */
    long sizePerQueryAndKey() {
        if (!hasExplicitMask()) {
            return options.hidesByDistance() || options.chunkSize() != null ? 1 : 0;
        }
        long paddingBatch = padding == null ? 1 : padding.getShape().get(0);
        return explicitMask() == null
                ? paddingBatch
                : Math.max(paddingBatch, explicitMask().getShape().get(0))
                        * explicitMask().getShape().get(1);
    }

    /**
     * Returns 0 for the distances at which a key is visible, and -infinity for others: (1, T + F - 1), by the key's
     * index minus the query's; null if all are visible.
     */
    NDArray biasByDistance(Temporaries temporaries, AttentionCall call, NDArray like) {
        return options.hidesByDistance()
                ? temporaries.addResult(() -> infinityWhere(hiddenDistances(call, like), like))
                : null;
    }

    /** The part of a mask for a call. Rows are the forward's queries, and columns are all keys from index 0 on. */
    private static NDArray part(NDArray mask, AttentionCall call, int from) {
        NDArray rows = part(mask, 2, from, call.queryPositions().length());
        return part(rows, 3, call.keyPositions().first(), call.keyPositions().length());
    }

    private static NDArray part(NDArray mask, int axis, int from, int count) {
        long size = mask.getShape().get(axis);
        return size == 1 || size == count ? mask : mask.get(NDIndex.sliceAxis(axis, from, (long) from + count));
    }

    /**
     * Returns which keys order, window and chunks hide from each query, (1 or B, 1, T, F), within
     * {@link Temporaries#result}; null if each query sees all.
     *
     * @param call a part of the forward
     * @param like an array on the device of the scores
     */
    private NDArray hiddenByOrder(AttentionCall call, NDArray like) {
        if (options.seesAll(call)) {
            return null;
        }
        NDArray keys = indices(call.keyPositions(), like, 1);
        NDArray queries = indices(call.queryPositions(), like, 2);
        NDArray hidden = hiddenByDistance(keys, queries);
        if (options.chunkSize() != null) {
            NDArray keyChunks = chunks(call.keyPositions(), keys, 1);
            NDArray queryChunks = chunks(call.queryPositions(), queries, 2);
            hidden = or(hidden, keyChunks.neq(queryChunks));
        }
        return hidden;
    }

    /** Where a key is outside the window of a query, or after the query if causal; null without either option. */
    private NDArray hiddenByDistance(NDArray keys, NDArray queries) {
        NDArray hidden = null;
        if (options.hidesByDistance()) {
            int after = options.causal() ? 0 : options.window() / 2;
            NDArray last = after == 0 ? queries : Arithmetic.add(queries, after);
            hidden = keys.gt(last);
        }
        if (options.window() != null) {
            NDArray before = Arithmetic.add(queries, -options.reach());
            hidden = or(hidden, keys.lte(before));
        }
        return hidden;
    }

    /** Returns the distances at which keys are hidden, (1, T + F - 1), within {@link Temporaries#result}. */
    private NDArray hiddenDistances(AttentionCall call, NDArray like) {
        NDArray row = call.allDistances(like).toArray(DataType.INT32).expandDims(0);
        return hiddenByDistance(row, Arithmetic.number(row, 0));
    }

    /**
     * Returns where at least one of two conditions holds; null never holds. DJL's {@code logicalOr} leaves arrays open
     * on MXNet.
     */
    private static NDArray or(NDArray one, NDArray other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return computable(one).maximum(computable(other));
    }

    /** A condition in a data type that the engine can compute with: MXNet cannot compute with booleans. */
    private static NDArray computable(NDArray condition) {
        return Arithmetic.isPyTorch(condition) ? condition : Arithmetic.toType(condition, DataType.INT32);
    }

    /** The indices of tokens, as (1, 1, 1, F) for keys, axis 1 from the end, or (1, 1, T, 1) for queries. */
    private static NDArray indices(Positions span, NDArray like, int axisFromEnd) {
        return Indices.range(like, span.first(), span.length(), DataType.INT32)
                .reshape(shape(1, span.length(), axisFromEnd));
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
                    () -> "positions of shape " + span.positions().getShape() + " with chunkSize " + options.chunkSize()
                            + ": expected (T) or (B, T); pass one position for each token");
            positions =
                    span.positions().reshape(shape(span.positions().getShape().get(0), span.length(), axisFromEnd));
        }
        // exact: a non-integer quotient differs from any integer by more than the rounding error of a double
        NDArray doubles = Arithmetic.toType(positions, DataType.FLOAT64);
        NDArray whole = doubles.floor();
        NDArray size = Arithmetic.number(doubles, options.chunkSize());
        return whole.div(size).floor();
    }
}
