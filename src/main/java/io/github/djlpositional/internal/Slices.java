package io.github.djlpositional.internal;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The latest slices of an array, with a leading axis of size 1: then an engine need not broadcast over a batch of one.
 * Cutting one costs as much as a small addition, so they are kept: one of any length, and single rows by runs of 64, which one
 * call cuts at once. On an engine whose slices are views they cost no memory but their handles; where they are copies, that of
 * one slice and of the runs in use.
 */
final class Slices {

    private static final int RUN = 64;

    /** A power of two: a run has one place, where it replaces what was there. */
    private static final int RUNS = 64;

    private final NDArray array;
    private final AtomicReferenceArray<Kept> runs = new AtomicReferenceArray<>(RUNS);
    private volatile Kept latest;

    Slices(NDArray array) {
        this.array = array;
    }

    /** What is kept, and which rows it is. */
    private record Kept(int first, int count, Slice slice) {

        boolean serves(int wantedFirst, int wantedCount) {
            return first == wantedFirst && count == wantedCount && slice.isOpen();
        }

        /** Gives it up: it is freed with its last user. */
        void release() {
            if (slice.isOpen()) {
                slice.close();
            }
        }
    }

    /** Which part of a slice has the rows that were asked for. */
    static int part(int first, int count) {
        return count == 1 ? first % RUN : 0;
    }

    /** A slice with the rows in its {@link #part}, kept here and not yet counted for the caller. */
    Slice get(int first, int count) {
        if (count == 1) {
            int start = first - first % RUN;
            int length = (int) Math.min(RUN, array.getShape().get(0) - start);
            Kept run = runs.get(place(start));
            return run != null && run.serves(start, length) ? run.slice : newRun(start, length);
        }
        Kept kept = latest;
        return kept != null && kept.serves(first, count) ? kept.slice : newSlice(first, count);
    }

    private static int place(int start) {
        return start / RUN % RUNS;
    }

    private synchronized Slice newSlice(int first, int count) {
        Kept before = latest;
        if (before != null && before.serves(first, count)) {
            return before.slice;
        }
        Slice slice;
        try (NDArray rows = cut(first, count)) {
            slice = new Slice(unregistered(rows.expandDims(0)));
        }
        latest = new Kept(first, count, slice);
        if (before != null) {
            before.release();
        }
        return slice;
    }

    private synchronized Slice newRun(int start, int length) {
        Kept before = runs.get(place(start));
        if (before != null && before.serves(start, length)) {
            return before.slice;
        }
        NDArray[] rows = new NDArray[length];
        try (NDArray together = cut(start, length)) {
            NDList each = length == 1 ? new NDList(together.duplicate()) : together.split(length, 0);
            try (each) {
                for (int row = 0; row < length; row++) {
                    rows[row] = unregistered(each.get(row).expandDims(0));
                }
            }
        }
        Slice slice = new Slice(rows);
        runs.set(place(start), new Kept(start, length, slice));
        if (before != null) {
            before.release();
        }
        return slice;
    }

    private NDArray cut(int first, int count) {
        return array.get(NDIndex.sliceAxis(0, first, (long) first + count));
    }

    private static NDArray unregistered(NDArray made) {
        NDScope.unregister(made);
        return made;
    }
}
