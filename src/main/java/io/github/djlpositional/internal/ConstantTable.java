package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * A table of fixed rows, one for each position: created once for each engine, device and data type that it is used
 * with, and replaced by a longer one where a longer one is needed.
 *
 * <p>The arrays are not {@link ai.djl.nn.Parameter}s: {@code freezeParameters(false)} makes every parameter trainable,
 * and parameters are saved. They are attached to a child of the manager that the block was initialized or loaded with,
 * so closing the model frees them, and garbage collection does not. Where there is no such manager, or it is closed or
 * of another engine, they are attached to a manager of their own, which is closed by {@link #close} or after the table
 * was garbage collected: whoever uses such an array keeps the table reachable. A table that was replaced by a longer
 * one lives as long: lengths at least double, so all replaced tables together are no larger than the latest.
 *
 * <p>Any number of threads may use a table at once. {@link #close} and {@link #moveTo} must not run beside them.
 */
public final class ConstantTable implements Positions.Source, AutoCloseable {

    private static final Cleaner CLEANER = Cleaner.create();

    /** Single rows, of which each step of a decoder uses one, are cut in runs of this length. */
    private static final int RUN = 64;

    /** The number of kept views of several rows; runs of single rows are not counted. */
    private static final int MAX_RANGES = 64;

    /** The key of the view of a whole table. */
    private static final long BATCHED = -1;

    /** The bytes of kept rows where an engine copies them. */
    private static final long MAX_COPIED_BYTES = 64L << 20;

    private final Shape row;
    private final int limit;
    private final boolean isSymmetric;
    private final HostData.Rows rows;

    /** The rows of positions that are not in the table; null in a table of integers only. */
    private final Positions.Computed others;

    private final Copies copies = new Copies();
    private volatile int length;
    private NDManager owner;

    private ConstantTable(
            Shape row, int length, int limit, boolean isSymmetric, HostData.Rows rows, Positions.Computed others) {
        this.row = row;
        this.length = length;
        this.limit = limit;
        this.isSymmetric = isSymmetric;
        this.rows = rows;
        this.others = others;
        CLEANER.register(this, copies);
    }

    /**
     * Describes a table of the positions from 0, with rows of the given shape, that may grow from a length to a limit.
     */
    public static ConstantTable ofPositions(Shape row, int length, int limit, HostData.Rows rows) {
        return new ConstantTable(row, length, limit, false, rows, null);
    }

    /** The same with rows that can be computed for real positions too. */
    public static ConstantTable ofPositions(int length, int limit, Positions.Computed rows) {
        return new ConstantTable(new Shape(rows.width()), length, limit, false, rows, rows);
    }

    /** Describes a table of the relative positions from -(n - 1) to n - 1, where n is its length. */
    public static ConstantTable ofDistances(Shape row, int length, int limit, HostData.Rows rows) {
        return new ConstantTable(row, length, limit, true, rows, null);
    }

    /** Returns the number of positions that the table has now. */
    public int length() {
        return length;
    }

    /** Returns the greatest number of positions that the table may have. */
    public int limit() {
        return limit;
    }

    /**
     * Names the manager that the arrays live with from now on, and closes those that live with another one. A table of
     * positions is allocated there in the data type, unless that is null; if this fails, nothing has changed.
     */
    public synchronized void moveTo(NDManager manager, DataType type) {
        boolean isSame = owner == manager;
        Place place = new Place(manager.getEngine(), manager.getDevice(), type);
        boolean isNeeded = type != null && !isSymmetric && !(isSame && copies.find(place, 0) != null);
        Copy created = isNeeded ? created(manager.newSubManager(), true, place, length) : null;
        if (!isSame) {
            close();
            owner = manager;
        }
        if (isNeeded) {
            copies.add(created);
        }
    }

    /** Returns the manager that the arrays live with, or null if there is none or it is closed. */
    public synchronized NDManager owner() {
        return owner != null && owner.isOpen() ? owner : null;
    }

    /**
     * Returns the whole table, (n, …) or (2n - 1, …) with n at least {@code least}, for use with another array. It
     * belongs to this object. If the machine has no memory for it, it stays as it was.
     */
    public NDArray table(int least, NDArray like, DataType type) {
        return copy(Place.of(like, type), least).array;
    }

    /**
     * Returns the whole table on the owner's device as (1, n, …), which belongs to this object; null if there is no
     * owner.
     */
    public NDArray batched(DataType type) {
        NDManager manager = owner();
        return manager == null
                ? null
                : copy(new Place(manager.getEngine(), manager.getDevice(), type), length)
                        .batched();
    }

    @Override
    public NDArray rows(Temporaries temporaries, Positions tokens, NDArray like, DataType type) {
        NDArray positions = tokens.positions();
        if (positions == null) {
            int first = tokens.first();
            int least = isSymmetric ? Math.max(1 - first, tokens.end()) : tokens.end();
            Copy copy = copy(Place.of(like, type), least);
            return copy.rows(temporaries, isSymmetric ? first + copy.length - 1 : first, tokens.length());
        }
        return positions.getDataType().isInteger() && positions.size() > 0
                ? temporaries.add(Indices.lookUpGiven(
                        positions, table(Math.min(tokens.end(), limit), like, type), like.getManager()))
                : others.rows(temporaries, tokens, like, type);
    }

    /** Returns the rows of consecutive positions within {@link Temporaries#result}, which closes those not kept. */
    public NDArray rows(int first, int count, NDArray like, DataType type) {
        return rows(new Temporaries(), Positions.of(first, count), like, type);
    }

    /**
     * Computes the rows of any positions, which need not fit into the table: (1, count, …), a new array on the manager
     * of another array.
     */
    public NDArray computed(int[] positions, NDArray like, DataType type) {
        HostData.Rows each = (first, count, format, out) -> {
            int bytes = Math.toIntExact(row.size()) * format.bytes();
            for (int i = 0; i < count; i++) {
                rows.write(
                        positions[first + i],
                        1,
                        format,
                        out.slice(i * bytes, bytes).order(out.order()));
            }
        };
        Shape shape = new Shape(positions.length).addAll(row);
        try (NDArray computed = HostData.computed(like.getManager(), like.getDevice(), shape, type, each)) {
            return computed.expandDims(0);
        }
    }

    private Copy copy(Place place, int least) {
        Copy found = copies.find(place, least);
        return found != null ? found : create(place, least);
    }

    private synchronized Copy create(Place place, int least) {
        Copy found = copies.find(place, least);
        if (found != null) {
            return found;
        }
        int needed = least <= length ? length : (int) Math.max(least, Math.min(2L * length, limit));
        NDManager open = owner();
        boolean isOwned = open != null && open.getEngine() == place.engine;
        NDManager manager = isOwned ? open.newSubManager(place.device) : place.engine.newBaseManager(place.device);
        Copy created = created(manager, isOwned, place, needed);
        copies.add(created);
        length = needed;
        return created;
    }

    private Copy created(NDManager manager, boolean isOwned, Place place, int needed) {
        Shape shape = new Shape(isSymmetric ? 2L * needed - 1 : needed).addAll(row);
        int origin = isSymmetric ? needed - 1 : 0;
        HostData.Rows fromOrigin = (first, count, format, out) -> rows.write(first - origin, count, format, out);
        try {
            NDArray array = HostData.computed(manager, place.device, shape, place.type, fromOrigin);
            NDScope.unregister(array);
            return new Copy(place, needed, manager, isOwned, array);
        } catch (RuntimeException | Error e) {
            manager.close();
            throw e;
        }
    }

    /** Frees all arrays. They are created again when they are needed. */
    @Override
    public synchronized void close() {
        copies.close(copy -> true);
    }

    /** What a table is created once for. */
    private record Place(Engine engine, Device device, DataType type) {
        static Place of(NDArray like, DataType type) {
            return new Place(like.getManager().getEngine(), like.getDevice(), type);
        }
    }

    /** The table in one place, and the views of it that are kept. */
    private static final class Copy {
        private final Place place;
        private final int length;
        private final NDManager manager;
        private final boolean isOwned;
        private final NDArray array;
        private final boolean copiesViews;

        /** Runs of single rows by their first row and 0, and ranges, each alone, by first row and number of rows. */
        private final ConcurrentHashMap<Long, NDArray[]> views = new ConcurrentHashMap<>();

        private int ranges;
        private long copiedBytes;

        Copy(Place place, int length, NDManager manager, boolean isOwned, NDArray array) {
            this.place = place;
            this.length = length;
            this.manager = manager;
            this.isOwned = isOwned;
            this.array = array;
            copiesViews = !Arithmetic.isPyTorch(array);
        }

        NDArray batched() {
            // never the view of a forward: the caller of a getter might close it
            return views.compute(
                            BATCHED,
                            (key, view) -> view == null || view[0].isReleased()
                                    ? new NDArray[] {kept(array.expandDims(0))}
                                    : view)[0];
        }

        /**
         * Rows by their index in the array, with a leading axis of size 1: an engine need not broadcast over a batch of
         * 1.
         */
        NDArray rows(Temporaries temporaries, int first, int count) {
            int start = count == 1 ? first - first % RUN : first;
            long key = (long) start << Integer.SIZE | (count == 1 ? 0 : count);
            NDArray[] kept = views.get(key);
            if (kept == null) {
                kept = keep(key, start, count);
            }
            return kept != null ? kept[first - start] : temporaries.add(cut(first, count));
        }

        /** Returns null where no further views may be kept. */
        private synchronized NDArray[] keep(long key, int start, int count) {
            boolean isRange = count > 1;
            int rows = isRange ? count : (int) Math.min(RUN, array.getShape().get(0) - start);
            long bytes = copiesViews ? rows * array.getShape().slice(1).size() * place.type.getNumOfBytes() : 0;
            if (!views.containsKey(key)
                    && !(isRange && ranges == MAX_RANGES)
                    && copiedBytes + bytes <= MAX_COPIED_BYTES) {
                views.put(key, isRange ? new NDArray[] {kept(cut(start, count))} : singles(start, rows));
                copiedBytes += bytes;
                ranges += isRange ? 1 : 0;
            }
            return views.get(key);
        }

        private NDArray[] singles(int start, int count) {
            NDArray[] singles = new NDArray[count];
            try (NDArray run = array.get(NDIndex.sliceAxis(0, start, (long) start + count));
                    NDList each = count == 1 ? new NDList(run.duplicate()) : run.split(count, 0)) {
                for (int i = 0; i < count; i++) {
                    singles[i] = kept(each.get(i).expandDims(0));
                }
            }
            return singles;
        }

        private NDArray cut(int first, int count) {
            try (NDArray part = array.get(NDIndex.sliceAxis(0, first, (long) first + count))) {
                return part.expandDims(0);
            }
        }

        private static NDArray kept(NDArray view) {
            NDScope.unregister(view);
            return view;
        }
    }

    /** The copies, without a reference to the table, so that they can be freed after it was garbage collected. */
    private static final class Copies implements Runnable {

        /** Replaced, never changed, so that readers need no lock. The longest come first. */
        private volatile List<Copy> list = List.of();

        Copy find(Place place, int least) {
            for (Copy copy : list) {
                if (copy.length >= least && copy.place.equals(place) && !copy.array.isReleased()) {
                    return copy;
                }
            }
            return null;
        }

        void add(Copy copy) {
            List<Copy> living = new ArrayList<>(List.of(copy));
            list.stream().filter(other -> !other.array.isReleased()).forEach(living::add);
            list = List.copyOf(living);
        }

        void close(Predicate<Copy> isClosed) {
            List<Copy> before = list;
            list = before.stream().filter(isClosed.negate()).toList();
            before.stream().filter(isClosed).forEach(copy -> copy.manager.close());
        }

        /** After the table was garbage collected: arrays of a user's manager may still be in use. */
        @Override
        public void run() {
            close(copy -> !copy.isOwned);
        }
    }
}
