package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;

/**
 * Converts between scores by relative position and scores by key.
 *
 * <p>By relative position, (B, N, T, W), column c of every row belongs to the keys that are {@code c + first} after the
 * query, where {@code first} is the first key's index minus the last query's. By key, (B, N, T, F), column j belongs to
 * key j. Row i by key is row i by relative position, moved by i columns. In memory these are the same values in rows of
 * W - 1 instead of W, as in Huang et al., <em>Music Transformer</em> (2018), section 3.4.1, and Dai et al.,
 * <em>Transformer-XL</em> (2019), appendix B. So no array of the shape (T, F, H) is needed.
 *
 * <p>Intermediate arrays are closed by {@link Temporaries#result}, which the methods are called in.
 */
public final class RelativeShift {

    private RelativeShift() {}

    /**
     * Converts scores by relative position to scores by key. In a causal call, the scores of keys after the query are
     * finite but have no meaning.
     *
     * @param byPosition (B, N, T, W), contiguous; not closed here
     * @param keyLength F
     * @return (B, N, T, F), a new array; for one query it may be a view of the input
     */
    public static NDArray toKeys(NDArray byPosition, int keyLength) {
        Shape shape = byPosition.getShape();
        long rows = shape.get(2);
        long columns = shape.get(3);
        if (rows == 1) {
            return byPosition.get(NDIndex.sliceAxis(3, 0, keyLength));
        }
        TorchFunctions torch = TorchFunctions.of(byPosition);
        if (torch != null) {
            return torch.toKeys(byPosition, keyLength);
        }
        NDArray flat = byPosition.reshape(shape.get(0), shape.get(1), rows * columns);
        // without the first and the last elements, the rest is rows of W - 1
        NDArray whole = flat.get(NDIndex.sliceAxis(2, rows - 1, rows * columns))
                .get(NDIndex.sliceAxis(2, 0, rows * (columns - 1)));
        NDArray lines = whole.reshape(shape.get(0), shape.get(1), rows, columns - 1);
        return lines.get(NDIndex.sliceAxis(3, 0, keyLength));
    }

    /**
     * Multiplies queries by a column for each relative position, and converts the scores to scores by key.
     *
     * @param queries (B, N, T, H) with T &gt; 1; not closed here
     * @param columns (1, N, H, W); not closed here
     * @param keyLength F
     * @return (B, N, T, F), a new array
     */
    public static NDArray products(NDArray queries, NDArray columns, int keyLength) {
        TorchFunctions torch = TorchFunctions.of(queries);
        return torch == null
                ? toKeys(queries.matMul(columns), keyLength)
                : torch.productsByKey(queries, columns, keyLength);
    }

    /**
     * Converts weights by key to weights by all relative positions; a weight is 0 where there is no key.
     *
     * @param byKey (B, N, T, F); not closed here
     * @return (B, N, T, F + T - 1), a new array; for one query it may be a view of the input
     */
    public static NDArray toPositions(NDArray byKey) {
        Shape shape = byKey.getShape();
        long batch = shape.get(0);
        long heads = shape.get(1);
        long rows = shape.get(2);
        long columns = shape.get(3) + rows - 1;
        if (rows == 1) {
            return byKey.reshape(shape);
        }
        TorchFunctions torch = TorchFunctions.of(byKey);
        if (torch != null) {
            return torch.toPositions(byKey);
        }
        NDArray before = zeros(byKey, new Shape(batch, heads, rows - 1));
        NDArray after = zeros(byKey, new Shape(batch, heads, 1));
        NDArray lines = byKey;
        if (rows > 2) {
            NDArray end = zeros(byKey, new Shape(batch, heads, rows, rows - 2));
            lines = NDArrays.concat(new NDList(byKey, end), 3);
        }
        NDArray flat = lines.reshape(batch, heads, rows * (columns - 1));
        return NDArrays.concat(new NDList(before, flat, after), 2).reshape(batch, heads, rows, columns);
    }

    private static NDArray zeros(NDArray like, Shape shape) {
        NDManager manager = like.getManager();
        Device device = like.getDevice();
        if (like.getDataType() != DataType.FLOAT16) {
            return manager.zeros(shape, like.getDataType(), device);
        }
        // MXNet cannot create zeros in FLOAT16, but can convert them
        return Arithmetic.toType(manager.zeros(shape, DataType.FLOAT32, device), DataType.FLOAT16);
    }
}
