package io.github.djlpositional.relative;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.math.PairLayout;

/**
 * Rotates pairs of dimensions by given angles.
 *
 * @param headSize H
 * @param start the first rotated dimension
 * @param rotarySize r, the number of rotated dimensions
 * @param layout where the two halves of a pair are, counted from the first rotated dimension
 */
record Rotation(int headSize, int start, int rotarySize, PairLayout layout) {

    /**
     * Rotates an array.
     *
     * @param x (B, N, T, H), or (B, T, N, H)
     * @param rows the rows of a {@link io.github.djlpositional.math.RotaryRows} for each position: for (B, N, T, H) (1,
     *     T, r), or of each sequence (B, 1, T, r); for (B, T, N, H) (1 or B, T, 1, r)
     * @param training whether gradients are recorded; PyTorch's function of halves is slower then
     * @return a new array like x, on its manager
     */
    NDArray apply(NDArray x, NDArray rows, boolean training) {
        TorchFunctions functions = training && layout == PairLayout.CONCATENATED ? null : TorchFunctions.of(x);
        if (functions != null && start == 0) {
            return functions.rotate(x, rows, layout);
        }
        int end = start + rotarySize;
        return Temporaries.result(() -> {
            NDArray part = rotarySize == headSize ? x : x.get(NDIndex.sliceAxis(3, start, end));
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

    /** The first and the second halves of all pairs, (…, 1, r / 2) or (…, r / 2, 1). */
    private NDList halves(NDArray array) {
        Shape shape = array.getShape();
        Shape pairs = layout == PairLayout.CONCATENATED ? new Shape(2, rotarySize / 2) : new Shape(rotarySize / 2, 2);
        Shape split = shape.slice(0, shape.dimension() - 1).addAll(pairs);
        // a split has one array of gradients, where slices would have one each
        return array.reshape(split).split(2, axisOfHalves(array));
    }

    /** The axis of the two halves, where the last axis of an array is divided into pairs. */
    private int axisOfHalves(NDArray array) {
        int last = array.getShape().dimension() - 1;
        return layout == PairLayout.CONCATENATED ? last : last + 1;
    }
}
