package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.InPlace;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.math.PairLayout;

/**
 * Turns pairs of dimensions by given cosines and sines: x · C + x' · S on the rotated ones, where x' has the halves of each
 * pair exchanged; see {@link io.github.djlpositional.math.RotaryTable} for C and S.
 *
 * @param headSize H
 * @param rotarySize r, the rotated dimensions
 * @param layout where the halves of a pair are
 */
record Rotation(int headSize, int rotarySize, PairLayout layout) {

    /**
     * A large input is turned in parts of about this size, which with what is made of them stay in a core's cache: in one
     * piece each of the five passes over it would wait for the memory.
     */
    private static final long PART_BYTES = 2 << 20;

    /**
     * Turns an array.
     *
     * @param x (B, N, T, H)
     * @param rows [C | S] of each position: (T, 2r), or (B, T, 2r)
     * @return a new array like x, on its manager
     */
    NDArray apply(NDArray x, NDArray rows) {
        boolean isOfEachSequence = rows.getShape().dimension() == 3;
        try (Temporaries temporaries = new Temporaries()) {
            NDArray wide = isOfEachSequence ? temporaries.add(rows.expandDims(1)) : rows;
            int last = wide.getShape().dimension() - 1;
            NDArray cosines = temporaries.add(wide.get(NDIndex.sliceAxis(last, 0, rotarySize)));
            NDArray sines = temporaries.add(wide.get(NDIndex.sliceAxis(last, rotarySize, 2L * rotarySize)));
            return !isOfEachSequence && isWorthParts(x) ? inParts(x, cosines, sines) : whole(x, cosines, sines);
        }
    }

    /** Only where nothing is recorded for gradients: a record of every part would cost more than it saves. */
    private static boolean isWorthParts(NDArray x) {
        return bytes(x) > 2 * PART_BYTES && !x.getDevice().isGpu() && InPlace.isSafe(x) && !x.hasGradient();
    }

    private static long bytes(NDArray x) {
        return x.getShape().size() * x.getDataType().getNumOfBytes();
    }

    private NDArray inParts(NDArray x, NDArray cosines, NDArray sines) {
        Shape shape = x.getShape();
        long batch = shape.get(0);
        long heads = shape.get(1);
        long headsAtOnce = Math.max(1, PART_BYTES * batch * heads / bytes(x));
        long batchesAtOnce = Math.max(1, Math.floorDiv(headsAtOnce, heads));
        NDArray turned = x.getManager().create(shape, x.getDataType(), x.getDevice());
        try {
            for (long row = 0; row < batch; row += batchesAtOnce) {
                for (long head = 0; head < heads; head += headsAtOnce) {
                    NDIndex part = new NDIndex()
                            .addSliceDim(row, Math.min(batch, row + batchesAtOnce))
                            .addSliceDim(head, Math.min(heads, head + headsAtOnce))
                            .addAllDim(2);
                    try (NDArray given = x.get(part);
                            NDArray made = whole(given, cosines, sines)) {
                        turned.set(part, made);
                    }
                }
            }
            return turned;
        } catch (RuntimeException e) {
            turned.close();
            throw e;
        }
    }

    private NDArray whole(NDArray x, NDArray cosines, NDArray sines) {
        if (rotarySize == headSize) {
            return turned(x, cosines, sines);
        }
        try (NDArray part = x.get(NDIndex.sliceAxis(3, 0, rotarySize));
                NDArray rotated = turned(part, cosines, sines);
                NDArray kept = x.get(NDIndex.sliceAxis(3, rotarySize, headSize))) {
            return NDArrays.concat(new NDList(rotated, kept), 3);
        }
    }

    private NDArray turned(NDArray x, NDArray cosines, NDArray sines) {
        NDArray turned = x.mul(cosines);
        if (InPlace.isSafe(x)) {
            for (int half = 0; half < 2; half++) {
                addAcross(turned, x, sines, half);
            }
            return turned;
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray across =
                    temporaries.add(temporaries.add(exchanged(temporaries, x)).mul(sines));
            return temporaries.add(turned).add(across);
        }
    }

    /** Adds to one half of the pairs the other one times the sines: half an array is all that this needs. */
    private void addAcross(NDArray turned, NDArray x, NDArray sines, int half) {
        try (NDArray other = x.get(half(x, 1 - half));
                NDArray sine = sines.get(half(sines, half));
                NDArray across = other.mul(sine);
                NDArray target = turned.get(half(turned, half))) {
            target.addi(across);
        }
    }

    /** The first (0) or the second (1) half of every pair along the last axis. */
    private NDIndex half(NDArray array, int half) {
        NDIndex index = new NDIndex().addAllDim(array.getShape().dimension() - 1);
        return layout == PairLayout.CONCATENATED
                ? index.addSliceDim(half * rotarySize / 2, (half + 1) * rotarySize / 2)
                : index.addSliceDim(half, rotarySize, 2);
    }

    /** The halves of each pair exchanged, (B, N, T, r). */
    private NDArray exchanged(Temporaries temporaries, NDArray x) {
        int pairs = rotarySize / 2;
        if (layout == PairLayout.CONCATENATED) {
            NDArray first = temporaries.add(x.get(half(x, 0)));
            NDArray second = temporaries.add(x.get(half(x, 1)));
            return NDArrays.concat(new NDList(second, first), 3);
        }
        Shape shape = x.getShape();
        NDArray paired = temporaries.add(x.reshape(shape.get(0), shape.get(1), shape.get(2), pairs, 2));
        return temporaries.add(paired.flip(4)).reshape(shape);
    }
}
