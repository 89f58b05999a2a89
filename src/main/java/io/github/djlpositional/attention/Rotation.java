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
 * Rotates pairs of dimensions by given cosines and sines: x · C + x' · S on the rotated ones, where x' has the two
 * dimensions of each pair exchanged; see {@link io.github.djlpositional.math.RotaryTable} for C and S.
 *
 * @param headSize H
 * @param start the first rotated dimension
 * @param rotarySize r, the number of rotated dimensions
 * @param layout where the two dimensions of a pair are, counted from the first rotated dimension
 */
record Rotation(int headSize, int start, int rotarySize, PairLayout layout) {

    /**
     * Rotates an array.
     *
     * @param x (B, N, T, H), or (B, T, N, H)
     * @param rows [C | S] of each position: for (B, N, T, H) (1, T, 2r), or of each sequence (B, 1, T, 2r); for (B, T,
     *     N, H) (1 or B, T, 1, 2r)
     * @param training whether the forward is one of training
     * @return a new array like x, on its manager
     */
    NDArray apply(NDArray x, NDArray rows, boolean training) {
        // recording operations in place for their gradients would cost more than they save
        TorchFunctions functions = training ? null : TorchFunctions.of(x);
        if (functions != null) {
            boolean isHalves = layout == PairLayout.CONCATENATED;
            return functions.rotate(x, rows, start, isHalves ? rotarySize / 2 : 1, isHalves ? 1 : 2);
        }
        int end = start + rotarySize;
        try (Temporaries own = new Temporaries()) {
            NDArray part = rotarySize == headSize ? x : own.add(x.get(NDIndex.sliceAxis(3, start, end)));
            NDArray rotated = own.add(rotated(own, part, rows));
            NDList parts = new NDList();
            if (start > 0) {
                parts.add(own.add(x.get(NDIndex.sliceAxis(3, 0, start))));
            }
            parts.add(rotated);
            if (end < headSize) {
                parts.add(own.add(x.get(NDIndex.sliceAxis(3, end, headSize))));
            }
            return parts.size() == 1 ? own.keep(rotated) : NDArrays.concat(parts, 3);
        }
    }

    private NDArray rotated(Temporaries own, NDArray x, NDArray rows) {
        int rank = rows.getShape().dimension();
        NDArray cosines = own.add(rows.get(NDIndex.sliceAxis(rank - 1, 0, rotarySize)));
        NDArray sines = own.add(rows.get(NDIndex.sliceAxis(rank - 1, rotarySize, 2L * rotarySize)));
        NDArray exchanged = own.add(exchanged(own, x));
        return own.add(x.mul(cosines)).add(own.add(exchanged.mul(sines)));
    }

    /** x' with the two dimensions of each pair exchanged, of the shape of x. */
    private NDArray exchanged(Temporaries own, NDArray x) {
        if (layout == PairLayout.CONCATENATED) {
            // a split has one array of gradients, where slices would have one each
            NDList halves = x.split(2, 3);
            halves.forEach(own::add);
            return NDArrays.concat(new NDList(halves.get(1), halves.get(0)), 3);
        }
        Shape shape = x.getShape();
        NDArray paired = own.add(x.reshape(shape.get(0), shape.get(1), shape.get(2), rotarySize / 2, 2));
        return own.add(paired.flip(4)).reshape(shape);
    }
}
