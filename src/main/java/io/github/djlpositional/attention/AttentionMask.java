package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;

/**
 * What hides keys from queries.
 *
 * @param visible 1 where a key is visible and 0 where it is hidden, (B, 1, 1, F) or (B, 1, T, F); null if all are
 *     visible
 * @param offset added to the scores as it is, (B or 1, N or 1, T or 1, F or 1); null for nothing
 */
record AttentionMask(NDArray visible, NDArray offset) {

    /**
     * Reads a mask.
     *
     * @param temporaries closes what is created here
     * @param mask null, or an array of one of the shapes that {@link MultiHeadAttentionBlock} documents
     * @param call all queries
     * @param queries (B, N, T, H), on the device and in the data type of the scores
     */
    static AttentionMask of(Temporaries temporaries, NDArray mask, AttentionCall call, NDArray queries) {
        if (mask == null) {
            return new AttentionMask(null, null);
        }
        Shape shape = mask.getShape();
        long batch = queries.getShape().get(0);
        long length = call.queryLength();
        long keys = call.keyLength();
        Shape ofKeys = new Shape(batch, keys);
        Shape ofQueries = new Shape(batch, length, keys);
        Shape ofScores = new Shape(batch, queries.getShape().get(1), length, keys);
        boolean isOffset = shape.dimension() == 4;
        Check.that(
                isOffset ? broadcasts(shape, ofScores) : shape.equals(ofKeys) || shape.equals(ofQueries),
                () -> "mask of shape " + shape + " does not fit " + batch + " sequences of " + length + " queries and "
                        + keys + " keys, those of the cache included: expected " + ofKeys + " or " + ofQueries
                        + " with 1 for visible keys, or " + ofScores
                        + ", any size of which may be 1, to be added to the scores; give one of these");
        DataType type = queries.getDataType();
        Check.that(
                !isOffset || mask.getDataType() == type,
                () -> "mask " + shape + " has data type " + mask.getDataType() + ": expected " + type
                        + ", the data type of the queries, for a mask with four axes; convert it with toType");
        NDArray here = temporaries.addUnless(mask, mask.toDevice(queries.getDevice(), false));
        if (isOffset) {
            return new AttentionMask(null, here);
        }
        NDArray numbers = temporaries.addUnless(here, here.toType(type, false));
        NDArray visible = numbers.reshape(batch, 1, shape.dimension() == 2 ? 1 : length, keys);
        return new AttentionMask(temporaries.add(visible), null);
    }

    private static boolean broadcasts(Shape shape, Shape to) {
        for (int axis = 0; axis < to.dimension(); axis++) {
            if (shape.get(axis) != 1 && shape.get(axis) != to.get(axis)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Masks scores.
     *
     * @param scores (B, N, T, F), of some of the queries; not closed here
     * @param rows those queries
     * @param from the first of them
     * @return a new array, or the scores themselves if nothing is masked
     */
    NDArray applyTo(NDArray scores, AttentionCall rows, int from) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray masked = scores;
            NDArray seen = visible(temporaries, rows, from, scores);
            if (seen != null) {
                // 0 for a visible key, and the score of a masked one for a hidden key
                double hidden = ScoreTermBlock.maskedScore(DataTypes.formatOf(scores.getDataType()));
                NDArray scaled = temporaries.add(Arithmetic.multiply(seen, -hidden));
                masked = temporaries.add(masked.add(temporaries.add(scaled.add(hidden))));
            }
            if (offset != null) {
                masked = temporaries.add(masked.add(rows(temporaries, offset, rows, from)));
            }
            return temporaries.keep(masked);
        }
    }

    private NDArray visible(Temporaries temporaries, AttentionCall rows, int from, NDArray scores) {
        NDArray given = visible == null ? null : rows(temporaries, visible, rows, from);
        // the first query sees the fewest keys
        if (!rows.causal() || rows.firstQuery() >= rows.keyLength() - 1) {
            return given;
        }
        NDArray past = temporaries.add(past(rows, scores));
        return given == null ? past : temporaries.add(given.mul(past));
    }

    /** 1 for keys up to the query, 0 for later ones, (1, 1, T, F). */
    private static NDArray past(AttentionCall rows, NDArray scores) {
        try (Temporaries temporaries = new Temporaries()) {
            NDArray keys = temporaries.add(range(0, rows.keyLength(), scores));
            NDArray positions =
                    temporaries.add(range(rows.firstQuery(), rows.firstQuery() + rows.queryLength(), scores));
            NDArray queries = temporaries.add(positions.reshape(rows.queryLength(), 1));
            NDArray isPast = temporaries.add(keys.lte(queries));
            NDArray numbers = temporaries.add(isPast.toType(scores.getDataType(), false));
            return numbers.reshape(1, 1, rows.queryLength(), rows.keyLength());
        }
    }

    private static NDArray range(int from, int to, NDArray like) {
        return like.getManager().arange(from, to, 1, DataType.INT32, like.getDevice());
    }

    private static NDArray rows(Temporaries temporaries, NDArray array, AttentionCall rows, int from) {
        return array.getShape().get(2) <= rows.queryLength()
                ? array
                : temporaries.add(array.get(NDIndex.sliceAxis(2, from, (long) from + rows.queryLength())));
    }
}
