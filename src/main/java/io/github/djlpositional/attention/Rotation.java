package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.math.PairLayout;

/**
 * A rotation of pairs of dimensions of queries and keys, by angles that depend on their positions.
 *
 * @param start the first rotated dimension
 * @param size r, the number of rotated dimensions, which are consecutive
 * @param layout where the two dimensions of a pair are, counted from the first rotated dimension
 * @param angles the cosines and sines of the angles
 */
public record Rotation(int start, int size, PairLayout layout, Angles angles) {

    /** The cosines and sines of the angles of queries or keys. */
    @FunctionalInterface
    public interface Angles {

        /**
         * Returns a cosine and a sine for each pair, where its two dimensions are: (1, n, r) or (1 or B, 1 or N, n, r)
         * for the tokens of x. All arrays that the method creates, including the result, are closed after the rotation;
         * to use an array again, unregister it from its {@link ai.djl.ndarray.NDScope}.
         *
         * @param call all queries of the forward, or the forward of these keys
         * @param x the queries (B, N, n, H), or the keys (B, K, n, H)
         * @param areKeys whether x are keys
         */
        NDArray rows(AttentionCall call, NDArray x, boolean areKeys);
    }

    /** Rotates queries or keys for an encoding: a new array. */
    NDArray of(RelativeEncoding encoding, AttentionCall call, NDArray x, boolean areKeys) {
        return Temporaries.result(() -> {
            NDArray rows = angles.rows(call, x, areKeys);
            Shape shape = x.getShape();
            Shape of = rows.getShape();
            boolean fits = of.dimension() >= 3
                    && Encodings.broadcasts(of, Shape.update(shape, 3, size))
                    && of.get(of.dimension() - 2) == shape.get(2)
                    && of.getLastDimension() == size;
            Encodings.require(encoding, "rotation", rows, fits, "(1 or B, 1 or N, " + shape.get(2) + ", " + size + ")");
            return apply(x, rows, call.training());
        });
    }

    /**
     * Rotates an array.
     *
     * @param x (…, H)
     * @param rows a cosine and a sine for each pair, (…, r), which broadcasts over x
     * @param training whether gradients are recorded; PyTorch's function for concatenated pairs is slower then
     * @return a new array like x, on its manager
     */
    public NDArray apply(NDArray x, NDArray rows, boolean training) {
        long headSize = x.getShape().getLastDimension();
        TorchFunctions functions = training && layout == PairLayout.CONCATENATED ? null : TorchFunctions.of(x);
        if (functions != null && start == 0) {
            return functions.rotate(x, rows, layout);
        }
        int end = start + size;
        return Temporaries.result(() -> {
            NDArray part = size == headSize ? x : x.get(NDIndex.sliceAxis(3, start, end));
            NDList parts = new NDList(functions == null ? product(part, rows) : functions.rotate(part, rows, layout));
            if (start > 0) {
                parts.add(0, x.get(NDIndex.sliceAxis(3, 0, start)));
            }
            if (end < headSize) {
                parts.add(x.get(NDIndex.sliceAxis(3, end, headSize)));
            }
            return parts.size() == 1 ? parts.head() : NDArrays.concat(parts, 3);
        });
    }

    /** The products of complex numbers: (a + bi) · (cos φ + i sin φ). */
    private NDArray product(NDArray x, NDArray rows) {
        NDList pair = halves(x);
        NDList angle = halves(rows);
        NDArray first = pair.get(0).mul(angle.get(0)).sub(pair.get(1).mul(angle.get(1)));
        NDArray second = pair.get(1).mul(angle.get(0)).add(pair.get(0).mul(angle.get(1)));
        return NDArrays.concat(new NDList(first, second), axisOfHalves(x)).reshape(x.getShape());
    }

    /** The first and the second dimensions of all pairs, (…, 1, r / 2) or (…, r / 2, 1). */
    private NDList halves(NDArray array) {
        Shape shape = array.getShape();
        Shape pairs = layout == PairLayout.CONCATENATED ? new Shape(2, size / 2) : new Shape(size / 2, 2);
        Shape split = shape.slice(0, shape.dimension() - 1).addAll(pairs);
        // a split records one array of gradients, whereas slices would record one each
        return array.reshape(split).split(2, axisOfHalves(array));
    }

    /** The axis of the two dimensions of a pair, after the last axis of an array is divided into pairs. */
    private int axisOfHalves(NDArray array) {
        int last = array.getShape().dimension() - 1;
        return layout == PairLayout.CONCATENATED ? last : last + 1;
    }
}
