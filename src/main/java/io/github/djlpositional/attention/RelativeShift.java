package io.github.djlpositional.attention;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Temporaries;

/**
 * The way between scores by relative position and scores by key.
 *
 * <p>By relative position, (B, N, T, W), column c of every row belongs to the keys that are {@code c + least} after the
 * query, where {@code least = -(firstQuery + T - 1)}. By key, (B, N, T, F), column j belongs to key j. Row i of the one is
 * row i of the other, moved by i: in memory that is the same numbers in lines of W - 1 instead of W, as in Huang et al.,
 * <em>Music Transformer</em> (2018), section 3.4.1, and Dai et al., <em>Transformer-XL</em> (2019), appendix B. So nothing of
 * the size (T, F, H) is ever made.
 */
final class RelativeShift {

    private RelativeShift() {}

    /** The relative position, key less query, of column 0. */
    static int least(AttentionCall call) {
        return -(call.firstQuery() + call.queryLength() - 1);
    }

    /** W: as many columns as there are relative positions, or where the attention is causal, as are seen. */
    static int columns(AttentionCall call) {
        int all = call.keyLength() + call.queryLength() - 1;
        return call.causal() ? Math.min(all, Math.max(call.keyLength() + 1, 1 - least(call))) : all;
    }

    /**
     * Scores by relative position to scores by key. In a causal call, what is left of columns that were not given is finite
     * but means nothing.
     *
     * @param byPosition (B, N, T, W), contiguous; not closed here
     * @param keyLength F
     * @return (B, N, T, F), a new array, which for one query may be a view of what was given
     */
    static NDArray toKeys(NDArray byPosition, int keyLength) {
        Shape shape = byPosition.getShape();
        long rows = shape.get(2);
        long columns = shape.get(3);
        if (rows == 1) {
            return byPosition.get(NDIndex.sliceAxis(3, 0, keyLength));
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray flat = temporaries.add(byPosition.reshape(shape.get(0), shape.get(1), rows * columns));
            NDArray moved = temporaries.add(flat.get(NDIndex.sliceAxis(2, rows - 1, rows * columns)));
            // one element is left over at the end
            NDArray whole = temporaries.add(moved.get(NDIndex.sliceAxis(2, 0, rows * (columns - 1))));
            NDArray lines = temporaries.add(whole.reshape(shape.get(0), shape.get(1), rows, columns - 1));
            return lines.get(NDIndex.sliceAxis(3, 0, keyLength));
        }
    }

    /**
     * Attention by key to attention by relative position, all of them, 0 where there is no key.
     *
     * @param byKey (B, N, T, F); not closed here
     * @return (B, N, T, F + T - 1), a new array, which for one query may be a view of what was given
     */
    static NDArray toPositions(NDArray byKey) {
        Shape shape = byKey.getShape();
        long batch = shape.get(0);
        long heads = shape.get(1);
        long rows = shape.get(2);
        long columns = shape.get(3) + rows - 1;
        if (rows == 1) {
            return byKey.reshape(shape);
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray before = temporaries.add(zeros(byKey, new Shape(batch, heads, rows - 1)));
            NDArray after = temporaries.add(zeros(byKey, new Shape(batch, heads, 1)));
            NDArray lines = byKey;
            if (rows > 2) {
                NDArray end = temporaries.add(zeros(byKey, new Shape(batch, heads, rows, rows - 2)));
                lines = temporaries.add(NDArrays.concat(new NDList(byKey, end), 3));
            }
            NDArray flat = temporaries.add(lines.reshape(batch, heads, rows * (columns - 1)));
            NDArray moved = temporaries.add(NDArrays.concat(new NDList(before, flat, after), 2));
            return moved.reshape(batch, heads, rows, columns);
        }
    }

    /**
     * The same bias for every query, by relative position, to a bias by key.
     *
     * @param byPosition (W, N); not closed here
     * @param call the call
     * @return (1, N, T, F), a new array, which for one query may be a view of what was given
     */
    static NDArray spread(NDArray byPosition, AttentionCall call) {
        Shape shape = byPosition.getShape();
        try (Temporaries temporaries = new Temporaries()) {
            NDArray heads = temporaries.add(byPosition.transpose(1, 0));
            NDArray row = temporaries.add(heads.reshape(1, shape.get(1), 1, shape.get(0)));
            NDArray rows = temporaries.add(row.broadcast(new Shape(1, shape.get(1), call.queryLength(), shape.get(0))));
            return toKeys(rows, call.keyLength());
        }
    }

    private static NDArray zeros(NDArray like, Shape shape) {
        NDManager manager = like.getManager();
        Device device = like.getDevice();
        if (like.getDataType() != DataType.FLOAT16) {
            return manager.zeros(shape, like.getDataType(), device);
        }
        // MXNet has no zeros in float16, but converts them
        try (NDArray floats = manager.zeros(shape, DataType.FLOAT32, device)) {
            return floats.toType(DataType.FLOAT16, true);
        }
    }
}
