package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Temporaries;

/**
 * What hides keys from queries.
 *
 * @param visible 1 where a key is visible and 0 where it is hidden, in the data type of the scores, (B or 1, N or 1, T
 *     or 1, F or 1); null if all are visible
 * @param offset added to the scores, in their data type, of the same sizes; null for nothing
 * @param visibility what a query sees by its index
 * @param isSelf whether each query has a key of its own, which the visibility never hides
 * @param type the data type of the scores
 */
record AttentionMask(NDArray visible, NDArray offset, Visibility visibility, boolean isSelf, DataType type) {

    /**
     * A mask for some of the queries.
     *
     * @param bias added to the scores; null for nothing
     * @param hasKey 1 for a query that sees a key and 0 for one that sees none, (B or 1, N or 1, T or 1, 1); null if
     *     all queries see a key
     */
    record Part(NDArray bias, NDArray hasKey) {}

    /**
     * Reads a mask.
     *
     * @param temporaries closes what is created here
     * @param mask null, or an array of one of the shapes that {@link MultiHeadAttentionBlock} documents
     * @param call all queries
     * @param queries (B, N, T, H), on the device of the scores
     * @param type the data type of the scores
     */
    static AttentionMask of(
            Temporaries temporaries,
            NDArray mask,
            AttentionCall call,
            NDArray queries,
            DataType type,
            Visibility visibility,
            boolean isSelf) {
        if (mask == null) {
            return new AttentionMask(null, null, visibility, isSelf, type);
        }
        Shape shape = mask.getShape();
        long batch = queries.getShape().get(0);
        long length = call.queries().length();
        // a mask is also given for the tokens that a window has dropped
        long keys = call.keys().first() + call.keys().length();
        Shape ofKeys = new Shape(batch, keys);
        Shape ofQueries = new Shape(batch, length, keys);
        Shape ofScores = new Shape(batch, queries.getShape().get(1), length, keys);
        boolean isOfScores = shape.dimension() == 4;
        Check.that(
                isOfScores ? broadcasts(shape, ofScores) : shape.equals(ofKeys) || shape.equals(ofQueries),
                () -> "mask of shape " + shape + " does not fit " + batch + " sequences of " + length + " queries and "
                        + keys + " keys, those of the cache included: expected " + ofKeys + " or " + ofQueries
                        + " with 1 for visible keys, or " + ofScores
                        + ", any size of which may be 1, to be added to the scores; give one of these");
        DataTypes.requireSameEngine(mask, queries, "queries");
        boolean isOffset = isOfScores && mask.getDataType() != DataType.BOOLEAN;
        Check.that(
                !isOffset || mask.getDataType() == queries.getDataType(),
                () -> "mask " + shape + " has data type " + mask.getDataType() + ": expected "
                        + queries.getDataType()
                        + ", the data type of the queries, for numbers that are added to the scores,"
                        + " or boolean, true for visible keys; convert it with toType");
        NDArray here = temporaries.addUnless(mask, mask.toDevice(queries.getDevice(), false));
        if (HostData.isHost(here.getDevice()) && length > 1) {
            requirePlausible(here, isOffset);
        }
        if (isOffset) {
            return new AttentionMask(null, bounded(temporaries, here, type), visibility, isSelf, type);
        }
        NDArray isVisible = here.getDataType() == DataType.BOOLEAN ? here : temporaries.add(here.neq(0));
        NDArray numbers = temporaries.add(isVisible.toType(type, true));
        return new AttentionMask(
                isOfScores
                        ? numbers
                        : temporaries.add(numbers.reshape(batch, 1, shape.dimension() == 2 ? 1 : length, keys)),
                null,
                visibility,
                isSelf,
                type);
    }

    private static boolean broadcasts(Shape shape, Shape to) {
        for (int axis = 0; axis < to.dimension(); axis++) {
            if (shape.get(axis) != 1 && shape.get(axis) != to.get(axis)) {
                return false;
            }
        }
        return true;
    }

    /** Refuses token ids in place of a mask, and a mask of visible keys in place of numbers to add. */
    private static void requirePlausible(NDArray mask, boolean isOffset) {
        if (mask.getDataType() == DataType.BOOLEAN) {
            return;
        }
        if (isOffset) {
            try (NDArray greatest = mask.max()) {
                Check.that(
                        HostData.doubles(greatest)[0] != 1 || !isZerosAndOnes(mask),
                        () -> "mask " + mask.getShape() + " holds nothing but 0 and 1, which would be added to the"
                                + " scores: expected 0 for visible keys and -infinity for hidden ones, or a boolean array;"
                                + " give mask.neq(0) if 1 means visible");
            }
            return;
        }
        Check.that(
                isZerosAndOnes(mask),
                () -> "mask " + mask.getShape() + " holds other numbers than 0 and 1: expected 1 for visible keys and 0"
                        + " for hidden ones; make it of token ids with ids.neq(padding), or give numbers to be added to"
                        + " the scores four axes");
    }

    private static boolean isZerosAndOnes(NDArray mask) {
        try (NDArray squares = mask.mul(mask);
                NDArray differ = squares.neq(mask);
                NDArray count = differ.countNonzero()) {
            return HostData.doubles(count)[0] == 0;
        }
    }

    /** Replaces -infinity, and the least finite number of FLOAT16, by the offset of a hidden key. */
    private static NDArray bounded(Temporaries temporaries, NDArray offset, DataType type) {
        NDArray least = temporaries.add(
                offset.getManager().full(new Shape(1, 1, 1, 1), (float) hidden(type), DataType.FLOAT32));
        NDArray bound = temporaries.addUnless(least, least.toType(type, false));
        if (offset.getDataType() == type) {
            return temporaries.add(offset.maximum(bound));
        }
        NDArray wide = temporaries.add(offset.toType(type, true));
        NDArray isHidden = temporaries.add(wide.lte(-65504));
        NDArray hidden =
                temporaries.add(temporaries.add(isHidden.toType(type, true)).mul(bound));
        return temporaries.add(temporaries.add(wide.maximum(bound)).add(hidden));
    }

    /**
     * What is added to the score of a hidden key: finite, so that a query that sees no key does not become NaN, and so
     * low that the key has the weight 0 beside any visible one. The sum of two is still finite.
     */
    private static double hidden(DataType type) {
        return type == DataType.FLOAT64 ? -0x1p+1021 : -0x1p+125;
    }

    /**
     * Returns the mask for some of the queries and keys.
     *
     * @param temporaries closes what is created here
     * @param call the queries and keys
     * @param from the number of the first of the queries in the forward
     * @param like an array on the device of the scores
     */
    Part part(Temporaries temporaries, AttentionCall call, int from, NDArray like) {
        NDArray seen = visibility.of(temporaries, call, like, type);
        if (offset != null) {
            NDArray bias = part(temporaries, offset, call, from);
            if (seen != null) {
                bias = temporaries.add(bias.add(bias(temporaries, seen)));
            }
            NDArray greatest = temporaries.add(bias.max(new int[] {3}, true));
            NDArray hasKey = temporaries.add(greatest.gt(hidden(type) / 2));
            return new Part(bias, temporaries.add(hasKey.toType(type, true)));
        }
        if (visible != null) {
            NDArray tokens = part(temporaries, visible, call, from);
            seen = seen == null ? tokens : temporaries.add(tokens.mul(seen));
        }
        if (seen == null) {
            return new Part(null, null);
        }
        boolean seesOne = visible == null && isSelf;
        return new Part(bias(temporaries, seen), seesOne ? null : temporaries.add(seen.max(new int[] {3}, true)));
    }

    /** Whether a mask was given. */
    boolean isGiven() {
        return visible != null || offset != null;
    }

    /** Whether the mask that was given differs between heads. */
    boolean isByHead() {
        return offset != null && offset.getShape().get(1) > 1
                || visible != null && visible.getShape().get(1) > 1;
    }

    /** How many numbers a part of the mask has for each of its queries and keys. */
    long numbers() {
        if (!isGiven()) {
            return visibility.hidesAny() ? 1 : 0;
        }
        Shape shape = (visible == null ? offset : visible).getShape();
        return shape.get(0) * shape.get(1);
    }

    /**
     * Returns 0 for the distances at which a key is visible, and the offset of a hidden key for others: (1, T + F - 1),
     * by the key's index less the query's; null if all are visible.
     */
    NDArray ofDistances(Temporaries temporaries, AttentionCall call, NDArray like) {
        NDArray seen = visibility.ofDistances(temporaries, call, like, type);
        return seen == null ? null : bias(temporaries, seen);
    }

    /** 0 for a visible key, and the offset of a hidden one. */
    private static NDArray bias(Temporaries temporaries, NDArray visible) {
        return temporaries.add(Arithmetic.multiply(temporaries.add(visible.sub(1)), -hidden(visible.getDataType())));
    }

    /** The part of a mask, whose rows are the forward's queries and whose columns are all keys from index 0 on. */
    private static NDArray part(Temporaries temporaries, NDArray mask, AttentionCall call, int from) {
        NDArray rows = part(temporaries, mask, 2, from, call.queries().length());
        return part(temporaries, rows, 3, call.keys().first(), call.keys().length());
    }

    private static NDArray part(Temporaries temporaries, NDArray mask, int axis, int from, int count) {
        long size = mask.getShape().get(axis);
        return size == 1 || size == count
                ? mask
                : temporaries.add(mask.get(NDIndex.sliceAxis(axis, from, (long) from + count)));
    }
}
