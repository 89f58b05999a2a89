package io.github.djlpositional.weights;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.math.PairLayout;

/** Changes the layout of the first {@code rotarySize} rows of each head to {@code layout} from the other one. */
record HeadPermutation(int headCount, int rotarySize, PairLayout layout) {

    HeadPermutation {
        Check.positive("headCount", headCount);
    }

    /** Checks that a tensor has the rows of such heads. */
    void requireFits(TensorPart part) {
        long rows = part.shape().get(0);
        Check.that(
                rows > 0 && rows % headCount == 0,
                () -> part + " has " + rows + " rows: expected a multiple of headCount " + headCount
                        + "; give the number of heads that it has");
        long headSize = rows / headCount;
        Check.that(
                rotarySize >= 2 && rotarySize % 2 == 0 && rotarySize <= headSize,
                () -> "rotarySize " + rotarySize + " of heads of size " + headSize + " in " + part
                        + ": expected an even number from 2 to the head size; give that of the model");
    }

    /** Returns the permuted rows, (N · H, …), attached to the manager of the given ones, which are closed. */
    NDArray permuted(NDArray rows) {
        Shape shape = rows.getShape();
        long headSize = shape.get(0) / headCount;
        long width = shape.size() / shape.get(0);
        boolean isConcatenated = layout == PairLayout.CONCATENATED;
        long pairs = rotarySize / 2L;
        try (NDManager temporary = rows.getManager().newSubManager()) {
            rows.attach(temporary);
            NDArray heads = rows.reshape(headCount, headSize, width);
            NDArray rotated = heads.get(NDIndex.sliceAxis(1, 0, rotarySize))
                    .reshape(headCount, isConcatenated ? pairs : 2, isConcatenated ? 2 : pairs, width)
                    .transpose(0, 2, 1, 3)
                    .reshape(headCount, rotarySize, width);
            NDArray others = heads.get(NDIndex.sliceAxis(1, rotarySize, headSize));
            NDArray all = rotarySize == headSize ? rotated : NDArrays.concat(new NDList(rotated, others), 1);
            NDArray permuted = all.reshape(shape);
            permuted.attach(temporary.getParentManager());
            return permuted;
        }
    }
}
