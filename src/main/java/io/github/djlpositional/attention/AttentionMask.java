package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.options.Check;

/**
 * What hides keys from queries.
 *
 * @param hidden the condition that the given mask hides a key, (B or 1, N or 1, T or 1, F or 1); null if no mask was
 *     given, or one that is added
 * @param offset the given mask if it is added to the scores, of the same shape, in the data type of the queries; null
 *     for nothing
 * @param padding the condition that a mask of keys hides a key, (B, 1, 1, n), of the keys of the forward; null for none
 * @param firstKey the index of the first of these keys
 * @param visibility what a query sees by its index
 * @param isSelf whether each query has a key of its own, which the visibility never hides
 */
record AttentionMask(
        NDArray hidden, NDArray offset, NDArray padding, int firstKey, Visibility visibility, boolean isSelf) {

    /**
     * A mask for some of the queries.
     *
     * @param bias added to the scores: -infinity for a hidden key, but 0 for each key of a query that sees none, whose
     *     softmax would be NaN; null for nothing
     * @param withoutKey the condition that a query sees no key, (B or 1, N or 1, T or 1, 1); null if all queries see
     *     one
     */
    record Part(NDArray bias, NDArray withoutKey) {

        /** Zeros for queries that see no key, whose gradients are zeros too; the result itself if all see one. */
        NDArray maskQueriesWithoutKeys(Temporaries own, NDArray result) {
            return withoutKey == null
                    ? result
                    : own.add(
                            Temporaries.result(() -> where(result.getShape(), withoutKey, number(result, 0), result)));
        }
    }

    /**
     * Reads a mask.
     *
     * @param temporaries closes what is created here
     * @param mask null, or an array of one of the shapes that {@link MultiHeadAttentionBlock} documents
     * @param ofKeys which of the keys of the call are visible, (B, n), as a cache holds it; null for all
     * @param call all queries
     * @param queries (B, N, T, H), on the device of the scores
     */
    static AttentionMask of(
            Temporaries temporaries,
            NDArray mask,
            NDArray ofKeys,
            AttentionCall call,
            NDArray queries,
            MultiHeadAttentionBlock attention,
            boolean isSelf) {
        Visibility visibility = attention.visibility();
        int first = call.keys().first();
        NDArray padding = ofKeys == null
                ? null
                : temporaries.add(Temporaries.result(
                        () -> ofKeys.logicalNot().reshape(-1, 1, 1, call.keys().length())));
        if (mask == null) {
            return new AttentionMask(null, null, padding, first, visibility, isSelf);
        }
        Shape shape = mask.getShape();
        long batch = queries.getShape().get(0);
        long length = call.queries().length();
        // a mask is also given for the tokens that a window has dropped
        long keys = (long) call.keys().first() + call.keys().length();
        Shape byKey = new Shape(batch, keys);
        Shape ofQueries = new Shape(batch, length, keys);
        Shape ofScores = new Shape(batch, queries.getShape().get(1), length, keys);
        boolean isOfScores = shape.dimension() == 4;
        Check.that(
                isOfScores ? broadcasts(shape, ofScores) : shape.equals(byKey) || shape.equals(ofQueries),
                () -> "mask of shape " + shape + " does not fit " + batch + " sequences of " + length + " queries and "
                        + keys + " keys, those of the cache included: expected " + byKey + " or " + ofQueries
                        + " with 1 for visible keys, or " + ofScores
                        + ", any size of which may be 1, to be added to the scores; give one of these");
        DataTypes.requireSameEngine(mask, queries, "queries");
        boolean isOffset = isAdded(mask);
        Check.that(
                !isOffset || mask.getDataType() == queries.getDataType(),
                () -> "mask " + shape + " has data type " + mask.getDataType() + ": expected "
                        + queries.getDataType()
                        + ", the data type of the queries, for numbers that are added to the scores,"
                        + " or boolean, true for visible keys; give mask.neq(0) if 1 means visible, or convert numbers to"
                        + " add with toType");
        NDArray moved = temporaries.addUnless(mask, mask.toDevice(queries.getDevice(), false));
        if (isOffset) {
            NDArray offset = temporaries.addResult(moved, () -> withInfinity(moved));
            return new AttentionMask(null, offset, padding, first, visibility, isSelf);
        }
        Shape byScore = isOfScores ? shape : new Shape(batch, 1, shape.dimension() == 2 ? 1 : length, keys);
        NDArray hidden =
                temporaries.add(Temporaries.result(() -> moved.logicalNot().reshape(byScore)));
        return new AttentionMask(hidden, null, padding, first, visibility, isSelf);
    }

    /** Whether a mask is one of keys, which a cache holds: (B, T) or (B, F). */
    static boolean isOfKeys(NDArray mask) {
        return mask != null && mask.getShape().dimension() == 2;
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

    private static boolean broadcasts(Shape shape, Shape to) {
        for (int axis = 0; axis < to.dimension(); axis++) {
            if (shape.get(axis) != 1 && shape.get(axis) != to.get(axis)) {
                return false;
            }
        }
        return true;
    }

    /** Where numbers that are added to scores hide the key: -infinity, or the least finite number. */
    static NDArray isHidden(NDArray added) {
        double least = added.getDataType() == DataType.FLOAT16 ? -65504 : -Float.MAX_VALUE;
        return added.lte(Arithmetic.number(added, least));
    }

    /** Numbers in which -infinity replaces the least finite number of FLOAT16, which is not low among scores. */
    private static NDArray withInfinity(NDArray added) {
        return added.getDataType() != DataType.FLOAT16
                ? added
                : where(added.getShape(), isHidden(added), number(added, Double.NEGATIVE_INFINITY), added);
    }

    /**
     * Returns what is added to the scores of some queries and keys: numbers, and -infinity for hidden keys; null for
     * nothing.
     *
     * @param own closes what is created here
     * @param call the queries and keys
     * @param from the number of the first of the queries in the forward
     * @param like an array on the device and in the data type of the scores
     */
    NDArray bias(Temporaries own, AttentionCall call, int from, NDArray like) {
        return !isGiven() && visibility.seesAll(call) ? null : own.addResult(offset, () -> bias(call, from, like));
    }

    private NDArray bias(AttentionCall call, int from, NDArray like) {
        NDArray all = visibility.hidden(call, like);
        if (hidden != null) {
            all = Visibility.or(all, part(hidden, call, from));
        }
        if (padding != null) {
            int column = call.keys().first() - firstKey;
            all = Visibility.or(all, part(padding, 3, column, call.keys().length()));
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

    /**
     * Returns the bias with 0 for the keys of queries that see none, whose softmax would be NaN, and which these are.
     */
    Part part(Temporaries own, AttentionCall call, int from, NDArray like) {
        NDArray bias = bias(own, call, from, like);
        if (bias == null || !mayHideAll()) {
            return new Part(bias, null);
        }
        NDArray withoutKey = own.add(Temporaries.result(() -> isHidden(bias.max(new int[] {3}, true))));
        return new Part(
                own.add(Temporaries.result(() -> bias.maximum(where(
                        withoutKey.getShape(), withoutKey, number(like, 0), number(like, Double.NEGATIVE_INFINITY))))),
                withoutKey);
    }

    /** A value where a condition holds, and another elsewhere. A product with 0 would be NaN for infinite numbers. */
    static NDArray where(Shape shape, NDArray condition, NDArray value, NDArray other) {
        NDArray conditions = broadcast(Visibility.numbers(condition), shape);
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
        return isGiven() || !isSelf;
    }

    /** Whether a mask was given. */
    boolean isGiven() {
        return given() != null || padding != null;
    }

    private NDArray given() {
        return hidden == null ? offset : hidden;
    }

    /** Whether the mask that was given differs between heads. */
    boolean isByHead() {
        return given() != null && given().getShape().get(1) > 1;
    }

    /** How many numbers a part of the mask has for each of its queries and keys. */
    long numbers() {
        if (!isGiven()) {
            return visibility.hidesAny() ? 1 : 0;
        }
        long ofPadding = padding == null ? 1 : padding.getShape().get(0);
        return given() == null
                ? ofPadding
                : Math.max(ofPadding, given().getShape().get(0))
                        * given().getShape().get(1);
    }

    /**
     * Returns 0 for the distances at which a key is visible, and -infinity for others: (1, T + F - 1), by the key's
     * index less the query's; null if all are visible.
     */
    NDArray ofDistances(Temporaries own, AttentionCall call, NDArray like) {
        return visibility.hidesDistances()
                ? own.add(Temporaries.result(() -> infinityWhere(visibility.hiddenDistances(call, like), like)))
                : null;
    }

    /** The part of a mask, whose rows are the forward's queries and whose columns are all keys from index 0 on. */
    private static NDArray part(NDArray mask, AttentionCall call, int from) {
        NDArray rows = part(mask, 2, from, call.queries().length());
        return part(rows, 3, call.keys().first(), call.keys().length());
    }

    private static NDArray part(NDArray mask, int axis, int from, int count) {
        long size = mask.getShape().get(axis);
        return size == 1 || size == count ? mask : mask.get(NDIndex.sliceAxis(axis, from, (long) from + count));
    }
}
