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
 * @param rotarySize r, the number of rotated dimensions
 * @param layout where the two dimensions of a pair are
 */
record Rotation(int headSize, int rotarySize, PairLayout layout) {

    /**
     * A large input is rotated in parts of about this size, which stay in the caches of the processor together with the
     * intermediate results. In one piece, each of the five passes over it would wait for the memory.
     */
    private static final long PART_BYTES = 2 << 20;

    /**
     * Rotates an array.
     *
     * @param x (B, N, T, H)
     * @param rows [C | S] of each position, (T, 2r) or (1, T, 2r), or of each sequence (B, 1, T, 2r)
     * @return a new array like x, on its manager
     */
    NDArray apply(NDArray x, NDArray rows) {
        if (rows.getShape().dimension() < 4 && isWorthParts(x)) {
            return inParts(x, rows);
        }
        try (Temporaries temporaries = new Temporaries()) {
            return whole(x, new Angles(temporaries, rows));
        }
    }

    /**
     * The cosines of all rotated dimensions, the sines of the first and of the second dimensions, and where those are.
     */
    private final class Angles {
        final NDArray cosines;
        final NDArray sines;
        final NDArray[] sinesOfHalf = new NDArray[2];
        final NDIndex[] half = {halfOf(4, 0), halfOf(4, 1)};

        Angles(Temporaries temporaries, NDArray rows) {
            int rank = rows.getShape().dimension();
            cosines = temporaries.add(rows.get(NDIndex.sliceAxis(rank - 1, 0, rotarySize)));
            sines = temporaries.add(rows.get(NDIndex.sliceAxis(rank - 1, rotarySize, 2L * rotarySize)));
            if (Arithmetic.isInPlaceSafe(rows)) {
                for (int i = 0; i < 2; i++) {
                    sinesOfHalf[i] = temporaries.add(sines.get(halfOf(rank, i)));
                }
            }
        }
    }

    /** Not while gradients are recorded: recording each part would cost more than it saves. */
    private static boolean isWorthParts(NDArray x) {
        return x.getShape().size() * x.getDataType().getNumOfBytes() > 2 * PART_BYTES
                && HostData.isHost(x.getDevice())
                && Arithmetic.isInPlaceSafe(x)
                && !x.hasGradient();
    }

    /** Parts of several heads, or of one long head. */
    private NDArray inParts(NDArray x, NDArray rows) {
        Shape shape = x.getShape();
        long heads = shape.get(1);
        long steps = shape.get(2);
        long stepsOfPart =
                Math.max(1, PART_BYTES / (shape.get(3) * x.getDataType().getNumOfBytes()));
        long stepsAtOnce = Math.min(steps, stepsOfPart);
        long headsAtOnce = Math.min(heads, stepsOfPart / stepsAtOnce);
        long batchesAtOnce = stepsOfPart / stepsAtOnce / headsAtOnce;
        int sequenceAxis = rows.getShape().dimension() - 2;
        NDArray rotated = x.getManager().create(shape, x.getDataType(), x.getDevice());
        try {
            for (long step = 0; step < steps; step += stepsAtOnce) {
                long lastStep = Math.min(steps, step + stepsAtOnce);
                try (Temporaries temporaries = new Temporaries()) {
                    NDArray some = temporaries.add(rows.get(NDIndex.sliceAxis(sequenceAxis, step, lastStep)));
                    Angles angles = new Angles(temporaries, some);
                    for (long row = 0; row < shape.get(0); row += batchesAtOnce) {
                        for (long head = 0; head < heads; head += headsAtOnce) {
                            NDIndex part = new NDIndex()
                                    .addSliceDim(row, Math.min(shape.get(0), row + batchesAtOnce))
                                    .addSliceDim(head, Math.min(heads, head + headsAtOnce))
                                    .addSliceDim(step, lastStep)
                                    .addAllDim();
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
        try (NDArray part = x.get(NDIndex.sliceAxis(3, 0, rotarySize));
                NDArray rotated = rotated(part, angles);
                NDArray kept = x.get(NDIndex.sliceAxis(3, rotarySize, headSize))) {
            return NDArrays.concat(new NDList(rotated, kept), 3);
        }
    }

    private NDArray rotated(NDArray x, Angles angles) {
        NDArray rotated = x.mul(angles.cosines);
        if (Arithmetic.isInPlaceSafe(x)) {
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
            NDArray exchanged = temporaries.add(exchanged(temporaries, x, angles));
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
    private NDArray exchanged(Temporaries temporaries, NDArray x, Angles angles) {
        if (layout == PairLayout.CONCATENATED) {
            NDArray first = temporaries.add(x.get(angles.half[0]));
            NDArray second = temporaries.add(x.get(angles.half[1]));
            return NDArrays.concat(new NDList(second, first), 3);
        }
        Shape shape = x.getShape();
        NDArray paired = temporaries.add(x.reshape(shape.get(0), shape.get(1), shape.get(2), rotarySize / 2, 2));
        return temporaries.add(paired.flip(4)).reshape(shape);
    }
}
