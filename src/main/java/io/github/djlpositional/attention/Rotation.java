package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Temporaries;
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
     * A large input is rotated in parts of about this size, which stay in the caches of the processor together with the
     * intermediate results. In one piece, each of the five passes over it would wait for the memory.
     */
    private static final long PART_BYTES = 2 << 20;

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
        // recording parts and operations in place for their gradients would cost more than they save
        boolean inPlace = !training && Arithmetic.isInPlaceSafe(x);
        if (inPlace && rows.getShape().get(0) == 1 && isWorthParts(x)) {
            return inParts(x, rows);
        }
        try (Temporaries temporaries = new Temporaries()) {
            return whole(x, new Angles(temporaries, rows, inPlace));
        }
    }

    /**
     * The cosines and sines of all rotated dimensions, and, to add in place, the sines of the first and of the second
     * dimensions, and where those are.
     */
    private final class Angles {
        final NDArray cosines;
        final NDArray sines;
        final NDArray[] sinesOfHalf = new NDArray[2];
        final NDIndex[] half = {halfOf(4, 0), halfOf(4, 1)};

        Angles(Temporaries temporaries, NDArray rows, boolean inPlace) {
            int rank = rows.getShape().dimension();
            cosines = temporaries.add(rows.get(NDIndex.sliceAxis(rank - 1, 0, rotarySize)));
            sines = temporaries.add(rows.get(NDIndex.sliceAxis(rank - 1, rotarySize, 2L * rotarySize)));
            if (inPlace) {
                for (int i = 0; i < 2; i++) {
                    sinesOfHalf[i] = temporaries.add(sines.get(halfOf(rank, i)));
                }
            }
        }
    }

    private static boolean isWorthParts(NDArray x) {
        return x.getShape().size() * x.getDataType().getNumOfBytes() > 2 * PART_BYTES && HostData.isHost(x.getDevice());
    }

    /** Parts of several heads, or of one long head; of several steps, where the heads of a step are side by side. */
    private NDArray inParts(NDArray x, NDArray rows) {
        Shape shape = x.getShape();
        int stepAxis = rows.getShape().dimension() == 3 ? 2 : 1;
        int headAxis = 3 - stepAxis;
        long most = Math.max(1, PART_BYTES / (shape.get(3) * x.getDataType().getNumOfBytes()));
        long inner = Math.min(shape.get(2), most);
        long middle = Math.min(shape.get(1), most / inner);
        long stepsAtOnce = stepAxis == 2 ? inner : middle;
        long headsAtOnce = stepAxis == 2 ? middle : inner;
        long batchesAtOnce = most / inner / middle;
        NDArray rotated = x.getManager().create(shape, x.getDataType(), x.getDevice());
        try {
            for (long step = 0; step < shape.get(stepAxis); step += stepsAtOnce) {
                long lastStep = Math.min(shape.get(stepAxis), step + stepsAtOnce);
                try (Temporaries temporaries = new Temporaries()) {
                    // the second axis of the rows is T
                    NDArray some = temporaries.add(rows.get(NDIndex.sliceAxis(1, step, lastStep)));
                    Angles angles = new Angles(temporaries, some, true);
                    for (long row = 0; row < shape.get(0); row += batchesAtOnce) {
                        for (long head = 0; head < shape.get(headAxis); head += headsAtOnce) {
                            long lastHead = Math.min(shape.get(headAxis), head + headsAtOnce);
                            NDIndex part = new NDIndex().addSliceDim(row, Math.min(shape.get(0), row + batchesAtOnce));
                            if (stepAxis == 2) {
                                part.addSliceDim(head, lastHead).addSliceDim(step, lastStep);
                            } else {
                                part.addSliceDim(step, lastStep).addSliceDim(head, lastHead);
                            }
                            part.addAllDim();
                            try (NDArray given = x.get(part);
                                    NDArray result = whole(given, angles)) {
                                rotated.set(part, result);
                            }
                        }
                    }
                }
            }
            return rotated;
        } catch (RuntimeException e) {
            rotated.close();
            throw e;
        }
    }

    private NDArray whole(NDArray x, Angles angles) {
        if (rotarySize == headSize) {
            return rotated(x, angles);
        }
        int end = start + rotarySize;
        try (Temporaries temporaries = new Temporaries()) {
            NDList parts = new NDList();
            if (start > 0) {
                parts.add(temporaries.add(x.get(NDIndex.sliceAxis(3, 0, start))));
            }
            NDArray part = temporaries.add(x.get(NDIndex.sliceAxis(3, start, end)));
            parts.add(temporaries.add(rotated(part, angles)));
            if (end < headSize) {
                parts.add(temporaries.add(x.get(NDIndex.sliceAxis(3, end, headSize))));
            }
            return NDArrays.concat(parts, 3);
        }
    }

    private NDArray rotated(NDArray x, Angles angles) {
        NDArray rotated = x.mul(angles.cosines);
        if (angles.sinesOfHalf[0] != null) {
            for (int half = 0; half < 2; half++) {
                // with halves, the intermediate result is half as large as with an exchanged copy of x
                try (NDArray other = x.get(angles.half[1 - half]);
                        NDArray product = other.mul(angles.sinesOfHalf[half]);
                        NDArray target = rotated.get(angles.half[half])) {
                    target.addi(product);
                }
            }
            return rotated;
        }
        try (Temporaries temporaries = new Temporaries()) {
            NDArray exchanged = temporaries.add(exchanged(temporaries, x));
            return temporaries.add(rotated).add(temporaries.add(exchanged.mul(angles.sines)));
        }
    }

    /** The first (0) or the second (1) dimension of every pair, along the last axis. */
    private NDIndex halfOf(int rank, int half) {
        NDIndex index = new NDIndex().addAllDim(rank - 1);
        return layout == PairLayout.CONCATENATED
                ? index.addSliceDim(half * rotarySize / 2, (half + 1) * rotarySize / 2)
                : index.addSliceDim(half, rotarySize, 2);
    }

    /** x' with the two dimensions of each pair exchanged, (B, N, T, r). */
    private NDArray exchanged(Temporaries temporaries, NDArray x) {
        if (layout == PairLayout.CONCATENATED) {
            // a split has one array of gradients, where slices would have one each
            NDList halves = x.split(2, 3);
            halves.forEach(temporaries::add);
            return NDArrays.concat(new NDList(halves.get(1), halves.get(0)), 3);
        }
        Shape shape = x.getShape();
        NDArray paired = temporaries.add(x.reshape(shape.get(0), shape.get(1), shape.get(2), rotarySize / 2, 2));
        return temporaries.add(paired.flip(4)).reshape(shape);
    }
}
