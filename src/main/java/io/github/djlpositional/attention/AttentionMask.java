package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Product;
import io.github.djlpositional.internal.Temporaries;

/** What is added to the scores so that queries do not see what they must not see. */
final class AttentionMask implements AutoCloseable {

    private final Temporaries temporaries = new Temporaries();
    private final DataType type;

    /** 1 where a key is seen and 0 where not, (B, 1, 1, F) or (B, 1, T, F); null where all are. */
    private final NDArray visible;

    /** Added as it is, (B or 1, N or 1, T or 1, F or 1); null for nothing. */
    private final NDArray offset;

    /**
     * Reads a mask.
     *
     * @param mask null, or one of the shapes that {@link MultiHeadAttentionBlock} knows
     * @param batch B
     * @param heads N
     * @param call all queries
     * @param queries on the device and in the data type of the scores
     */
    AttentionMask(NDArray mask, long batch, int heads, AttentionCall call, NDArray queries) {
        type = queries.getDataType();
        if (mask == null) {
            visible = null;
            offset = null;
            return;
        }
        Shape shape = mask.getShape();
        long length = call.queryLength();
        long keys = call.keyLength();
        boolean isOffset = shape.dimension() == 4;
        boolean fits = isOffset
                ? isOneOr(shape.get(0), batch)
                        && isOneOr(shape.get(1), heads)
                        && isOneOr(shape.get(2), length)
                        && isOneOr(shape.get(3), keys)
                : shape.equals(new Shape(batch, keys)) || shape.equals(new Shape(batch, length, keys));
        if (!fits) {
            throw new IllegalArgumentException(
                    "mask of shape " + shape + " does not fit " + batch + " sequences of " + length
                            + " queries and " + keys + " keys, those of the cache included: allowed are "
                            + new Shape(batch, keys)
                            + " and " + new Shape(batch, length, keys) + " with 1 for what is seen, and "
                            + new Shape(batch, heads, length, keys)
                            + ", any size of which may be 1, for what is added to the scores; give one of these");
        }
        if (isOffset && mask.getDataType() != type) {
            throw new IllegalArgumentException("mask " + shape + " has data type " + mask.getDataType()
                    + ": allowed for a mask of four axes is " + type
                    + ", the data type of the queries; convert it with toType");
        }
        NDArray here = temporaries.addUnless(mask, mask.toDevice(queries.getDevice(), false));
        if (isOffset) {
            visible = null;
            offset = here;
        } else {
            NDArray numbers = temporaries.addUnless(here, here.toType(type, false));
            visible = temporaries.add(
                    shape.dimension() == 2
                            ? numbers.reshape(batch, 1, 1, keys)
                            : numbers.reshape(batch, 1, length, keys));
            offset = null;
        }
    }

    private static boolean isOneOr(long size, long wanted) {
        return size == 1 || size == wanted;
    }

    /**
     * Masks scores.
     *
     * @param scores (B, N, T, F), of some of the queries; not closed here
     * @param rows those queries
     * @param from the first of them
     * @return a new array, or the scores themselves where nothing is masked
     */
    NDArray applyTo(NDArray scores, AttentionCall rows, int from) {
        try (Temporaries made = new Temporaries()) {
            NDArray masked = scores;
            NDArray seen = visible(made, rows, from, scores);
            if (seen != null) {
                double fall = MaskedScore.in(DataTypes.formatOf(type));
                NDArray rise = made.add(Product.of(seen, -fall));
                masked = made.add(masked.add(made.add(rise.add(fall))));
            }
            if (offset != null) {
                masked = made.add(masked.add(rows(made, offset, rows, from)));
            }
            return made.keep(masked);
        }
    }

    private NDArray visible(Temporaries made, AttentionCall rows, int from, NDArray scores) {
        NDArray given = visible == null ? null : rows(made, visible, rows, from);
        // the first of the queries sees least
        if (!rows.causal() || rows.firstQuery() >= rows.keyLength() - 1) {
            return given;
        }
        NDArray past = made.add(past(rows, scores));
        return given == null ? past : made.add(given.mul(past));
    }

    /** 1 for keys up to the query, 0 for those after it, (1, 1, T, F). */
    private NDArray past(AttentionCall rows, NDArray scores) {
        try (Temporaries made = new Temporaries()) {
            NDArray keys = made.add(range(0, rows.keyLength(), scores));
            NDArray from = made.add(range(rows.firstQuery(), rows.firstQuery() + rows.queryLength(), scores));
            NDArray queries = made.add(from.reshape(rows.queryLength(), 1));
            NDArray isPast = made.add(keys.lte(queries));
            NDArray numbers = made.add(isPast.toType(type, false));
            return numbers.reshape(1, 1, rows.queryLength(), rows.keyLength());
        }
    }

    private static NDArray range(int from, int to, NDArray like) {
        return like.getManager().arange(from, to, 1, DataType.INT32, like.getDevice());
    }

    private static NDArray rows(Temporaries made, NDArray array, AttentionCall rows, int from) {
        return array.getShape().get(2) <= rows.queryLength()
                ? array
                : made.add(array.get(NDIndex.sliceAxis(2, from, (long) from + rows.queryLength())));
    }

    @Override
    public void close() {
        temporaries.close();
    }
}
