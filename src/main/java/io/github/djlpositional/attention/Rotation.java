package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.PairLayout;

/**
 * A rotation of pairs of dimensions of queries and keys, by angles that depend on their positions.
 *
 * @param start the first rotated dimension
 * @param size r, the number of rotated dimensions, which are consecutive
 * @param layout where the two dimensions of a pair are, counted from the first rotated dimension
 * @param angles the cosines and sines of the angles
 */
public record Rotation(int start, int size, PairLayout layout, Angles angles) implements Term {

    public Rotation {
        Check.that(
                layout != PairLayout.CONCATENATED_HALVES || size % 4 == 0,
                () -> "rotary size " + size + " with layout CONCATENATED_HALVES: expected a multiple of 4; set another"
                        + " size or layout");
    }

    /** The cosines and sines of the angles of queries or keys. */
    @FunctionalInterface
    public interface Angles {

        /**
         * Returns a cosine and a sine for each pair, where its two dimensions are: (1 or B, n, r) for n tokens, or (1
         * or B, N, n, r) if they differ by head, or with a divisor of N if groups of heads share them. Instead of r
         * values, 2r are a cosine for each dimension, then a sine for each; see {@link #apply}. All arrays that the
         * method creates, including the result, are closed after the rotation; to use an array again, unregister it
         * from its {@link ai.djl.ndarray.NDScope}.
         *
         * @param call all queries of the forward, or the forward of these keys
         * @param like an array with the data type, device and manager of the rows; it belongs to the attention
         * @param areKeys whether keys are rotated
         */
        NDArray rows(AttentionCall call, NDArray like, boolean areKeys);
    }

    /** Rotates queries or keys for an encoding: a new array. */
    NDArray of(RelativeEncoding encoding, AttentionCall call, NDArray x, boolean areKeys) {
        return Temporaries.result(() -> {
            NDArray rows = rows(encoding, call, x, areKeys, x.getShape());
            Shape shape = rows.getShape();
            boolean isByBatch = shape.dimension() == 3 && shape.get(0) > 1;
            return apply(x, isByBatch ? rows.expandDims(1) : rows, call.training());
        });
    }

    /**
     * Undoes the rotation of keys for an encoding, or rotates them, in their data type; the rows are those of the
     * cached ones: a new array.
     *
     * @param x the keys, (B, K, n, H), FLOAT32 for a cache of half precision, so that they are rounded once
     * @param like an array of the data type of the cache
     */
    NDArray again(RelativeEncoding encoding, AttentionCall call, NDArray x, NDArray like, boolean isUndone) {
        return Temporaries.result(() -> {
            NDArray own = rows(encoding, call, like, true, x.getShape());
            Check.that(
                    !isByDimension(own),
                    () -> Settings.classOf(encoding) + " turns each dimension by its own angle, which cannot be undone:"
                            + " expected a rotation of pairs, to move the positions of cached tokens; clear() the cache and"
                            + " process the tokens again");
            NDArray rows = Arithmetic.toType(own, x.getDataType());
            Shape shape = rows.getShape();
            boolean isByBatch = shape.dimension() == 3 && shape.get(0) > 1;
            NDArray applied = isUndone ? inverse(rows) : rows;
            return apply(x, isByBatch ? applied.expandDims(1) : applied, false);
        });
    }

    /** The rows that undo a rotation: (cos φ, -sin φ) / m², if cos φ and sin φ have a factor m. */
    private NDArray inverse(NDArray rows) {
        NDList angle = halves(rows);
        NDArray squares = angle.get(0).square().add(angle.get(1).square());
        NDArray cosines = angle.get(0).div(squares);
        NDArray sines = angle.get(1).neg().div(squares);
        return NDArrays.concat(new NDList(cosines, sines), axisOfHalves(rows)).reshape(rows.getShape());
    }

    /** The rows of an encoding for queries or keys of a shape, (B, N, n, H), within {@link Temporaries#result}. */
    NDArray rows(RelativeEncoding encoding, AttentionCall call, NDArray like, boolean areKeys, Shape rotated) {
        NDArray byGroup = angles.rows(call, like, areKeys);
        long heads = byGroup.getShape().dimension() == 4 ? byGroup.getShape().get(1) : 1;
        boolean areShared = heads > 1 && heads < rotated.get(1) && rotated.get(1) % heads == 0;
        NDArray rows = areShared ? byGroup.repeat(1, rotated.get(1) / heads) : byGroup;
        Shape shape = rows.getShape();
        int width = isByDimension(rows) ? 2 * size : size;
        Shape expected = Shape.update(rotated, 3, width);
        Shape byToken = new Shape(rotated.get(0), rotated.get(2), width);
        boolean fits = (shape.dimension() == 4
                        ? Terms.broadcasts(shape, expected)
                        : shape.dimension() == 3 && Terms.broadcasts(shape, byToken))
                && shape.get(shape.dimension() - 2) == rotated.get(2)
                && shape.getLastDimension() == width;
        Terms.require(
                encoding,
                "rows of the rotation",
                rows,
                fits,
                "(1 or B, " + rotated.get(2) + ", " + size + "), or (1 or B, " + rotated.get(1) + ", " + rotated.get(2)
                        + ", " + size + "), with " + size + " or " + 2L * size + " values");
        return rows;
    }

    /** Whether rows are cosines and sines of each dimension. */
    boolean isByDimension(NDArray rows) {
        return rows.getShape().getLastDimension() == 2L * size;
    }

    /**
     * Rotates an array. With rows of pairs, a pair (a, b) with the angle φ becomes (a · cos φ - b · sin φ, b · cos φ +
     * a · sin φ). With rows of dimensions, whose angles are φ and ψ, it becomes (a · cos φ - b · sin φ, b · cos ψ + a ·
     * sin ψ), which is no rotation unless both angles are the same.
     *
     * @param x (…, H)
     * @param rows a cosine and a sine for each pair, (…, r), or the cosines and then the sines of the dimensions, (…,
     *     2r), which broadcasts over x
     * @param training whether gradients are recorded; PyTorch's functions for concatenated pairs are slower then
     * @return a new array like x, on its manager
     */
    public NDArray apply(NDArray x, NDArray rows, boolean training) {
        long headSize = x.getShape().getLastDimension();
        boolean isSlower = training && layout != PairLayout.INTERLEAVED && !isByDimension(rows);
        TorchFunctions functions = isSlower ? null : TorchFunctions.of(x);
        if (functions != null && start == 0) {
            return rotated(functions, x, rows);
        }
        int last = x.getShape().dimension() - 1;
        int end = start + size;
        return Temporaries.result(() -> {
            NDArray slice = size == headSize ? x : x.get(NDIndex.sliceAxis(last, start, end));
            NDList slices = new NDList(functions == null ? product(slice, rows) : rotated(functions, slice, rows));
            if (start > 0) {
                slices.add(0, x.get(NDIndex.sliceAxis(last, 0, start)));
            }
            if (end < headSize) {
                slices.add(x.get(NDIndex.sliceAxis(last, end, headSize)));
            }
            return slices.size() == 1 ? slices.head() : NDArrays.concat(slices, last);
        });
    }

    private NDArray rotated(TorchFunctions functions, NDArray x, NDArray rows) {
        return isByDimension(rows) ? functions.rotateByDimension(x, rows, layout) : functions.rotate(x, rows, layout);
    }

    /** The products of complex numbers: (a + bi) · (cos φ + i sin φ). */
    private NDArray product(NDArray x, NDArray rows) {
        NDList pair = halves(x);
        if (isByDimension(rows)) {
            NDList angles = rows.split(2, rows.getShape().dimension() - 1);
            NDArray across = NDArrays.concat(new NDList(pair.get(1).neg(), pair.get(0)), axisOfHalves(x));
            return x.mul(angles.get(0)).add(across.reshape(x.getShape()).mul(angles.get(1)));
        }
        NDList angle = halves(rows);
        NDArray first = pair.get(0).mul(angle.get(0)).sub(pair.get(1).mul(angle.get(1)));
        NDArray second = pair.get(1).mul(angle.get(0)).add(pair.get(0).mul(angle.get(1)));
        return NDArrays.concat(new NDList(first, second), axisOfHalves(x)).reshape(x.getShape());
    }

    /** The first and the second dimensions of all pairs, (…, 1, r / 2) or (…, r / 2, 1). */
    private NDList halves(NDArray array) {
        Shape shape = array.getShape();
        Shape pairs = switch (layout) {
            case INTERLEAVED -> new Shape(size / 2, 2);
            case CONCATENATED -> new Shape(2, size / 2);
            case CONCATENATED_HALVES -> new Shape(2, 2, size / 4);
        };
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
