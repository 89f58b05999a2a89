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
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.Rows;
import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The {@link Rows} of integer positions as an array. It is created once for each engine, device and data type, and
 * replaced by a longer one when needed.
 *
 * <p>The arrays are not {@link ai.djl.nn.Parameter}s: {@code freezeParameters(false)} makes every parameter trainable,
 * and parameters are saved. They are attached to a child of the manager that the block was initialized or loaded with,
 * so closing the model frees them, and garbage collection does not. Where there is no such manager, or it is closed or
 * of another engine, they are attached to a manager of their own, which is closed by {@link #close} or after the table
 * was garbage collected: a user of such an array must hold a reference to the table. Replaced arrays live as long as
 * the latest: lengths at least double, so all of them together are no larger than it.
 *
 * <p>Any number of threads may use a table at once. {@link #close} and {@link #moveTo} must not run beside them.
 */
public final class ConstantTable implements AutoCloseable {

    private static final Cleaner CLEANER = Cleaner.create();

    private final Rows rows;
    private final int limit;
    private final boolean isSymmetric;
    private final Map<Place, Table> tables = new ConcurrentHashMap<>();

    /** The managers of arrays that live with the owner. */
    private final Managers owned = new Managers();

    /** The managers of other arrays. They do not refer to this table, whose garbage collection closes them. */
    private final Managers others = new Managers();

    private volatile int length;
    private NDManager owner;

    private ConstantTable(Rows rows, int length, int limit, boolean isSymmetric) {
        this.rows = rows;
        this.length = length;
        this.limit = limit;
        this.isSymmetric = isSymmetric;
        CLEANER.register(this, others);
    }

    /** Describes a table of the positions from 0 that may grow from a length to a limit. */
    public static ConstantTable ofPositions(Rows rows, int length, int limit) {
        return new ConstantTable(rows, length, limit, false);
    }

    /** Describes a table of the distances from -(n - 1) to n - 1, where n is its length. */
    public static ConstantTable ofDistances(Rows rows, int length, int limit) {
        return new ConstantTable(rows, length, limit, true);
    }

    /** Returns the number of positions that the table has now. */
    public int length() {
        return length;
    }

    /** Returns the largest number of positions that the table may have. */
    public int limit() {
        return limit;
    }

    /**
     * Sets the manager that owns the arrays from now on, and closes the arrays of the previous one. A table of
     * positions is allocated in the data type, unless it is null; if this fails, nothing has changed.
     *
     * @param manager null for none, without a data type
     */
    public synchronized void moveTo(NDManager manager, DataType type) {
        boolean isSame = owner == manager;
        Place place = type == null ? null : new Place(manager.getEngine(), manager.getDevice(), type);
        boolean isNeeded = type != null && !isSymmetric && !(isSame && find(place, 0) != null);
        Table created = isNeeded ? created(manager.newSubManager(), place, length) : null;
        if (!isSame) {
            close();
            owner = manager;
        }
        if (isNeeded) {
            owned.add(created.array.getManager());
            tables.put(place, created);
        }
    }

    /** Returns the whole table, (n, W) or (2n - 1, W), for use with another array. It belongs to this object. */
    public NDArray array(NDArray like, DataType type) {
        return table(Place.of(like, type), 0).array;
    }

    /**
     * Returns the whole table on the owner's device, (1, n, W), which belongs to this object; null without an owner.
     */
    public synchronized NDArray batched(DataType type) {
        return hasOwner()
                ? table(new Place(owner.getEngine(), owner.getDevice(), type), 0)
                        .batched()
                : null;
    }

    /**
     * Returns the rows of consecutive positions, (1, count, W), within {@link Temporaries#result}: a view, which it
     * closes, or for one position an array of this object.
     */
    public NDArray slice(int first, int count, NDArray like, DataType type) {
        Table table = table(Place.of(like, type), Math.max(first + count, isSymmetric ? 1 - first : 0));
        int from = first - table.first;
        return count == 1
                ? table.row(from)
                : table.array
                        .get(like.getManager(), NDIndex.sliceAxis(0, from, (long) from + count))
                        .expandDims(0);
    }

    /**
     * Returns the rows of an array of positions, its shape + (W): a new array.
     *
     * @param end one more than the largest position
     */
    public NDArray lookUp(NDArray positions, int end, NDArray like, DataType type) {
        NDArray array = table(Place.of(like, type), Math.min(end, limit)).array;
        return Indices.lookUpOrNaN(positions, array, like.getManager());
    }

    /**
     * Returns the rows of tokens, for use with an array: (1, n, W) of indices, or else the shape of the positions +
     * (W). It is called in {@link Temporaries#result}.
     */
    public NDArray rows(TokenPositions tokens, NDArray like, DataType type) {
        return rows(tokens, null, like, type);
    }

    /**
     * Like {@link #rows(TokenPositions, NDArray, DataType)}, also for negative integers: the row of -p is the row of p
     * times signs.
     *
     * @param signs a table with one row of W signs; null if integers are not negative
     */
    public NDArray rows(TokenPositions tokens, ConstantTable signs, NDArray like, DataType type) {
        NDArray positions = tokens.array();
        if (positions == null) {
            return slice(tokens.first(), tokens.count(), like, type);
        }
        Shape shape = positions.getShape().add(rows.width());
        if (shape.size() == 0) {
            return like.getManager().create(shape, type, like.getDevice());
        }
        if (!positions.getDataType().isInteger()) {
            return compute(tokens.toDoubles(), like, type).reshape(shape);
        }
        if (signs == null || !tokens.mayBeNegative()) {
            return lookUp(positions, tokens.end(), like, type);
        }
        NDArray array = table(Place.of(like, type), Math.min(tokens.reach(), limit)).array;
        return Indices.lookUpSigned(positions, array, signs.array(like, type), like.getManager());
    }

    /**
     * Returns the rows of tokens, in the data type of an array (…, T, …, W) and in a shape that broadcasts over it.
     *
     * @param axis the axis of T
     */
    public NDArray broadcastRows(TokenPositions tokens, NDArray x, int axis) {
        NDArray positions = tokens.array();
        Check.that(
                positions == null || positions.getShape().dimension() < 3,
                () -> ForwardParameters.POSITIONS + " of shape " + positions.getShape()
                        + ": expected (T) or (B, T); pass one position for each token");
        return broadcast(rows(tokens, x, x.getDataType()), x, axis);
    }

    /** Returns rows (T, W), (1 or B, T, W) or (T, B, W) with axes of size 1 for all others of an array. */
    public static NDArray broadcast(NDArray rows, NDArray x, int axis) {
        Shape shape = rows.getShape();
        Shape input = x.getShape();
        int rank = input.dimension();
        long batch = shape.dimension() == 3 ? shape.get(0) : 1;
        boolean fits = axis == rank - 2 && (shape.dimension() == 2 || (batch == 1 && rank > 2));
        boolean isSame = rank == 3 && shape.dimension() == 3 && batch == input.get(0) && shape.get(1) == input.get(1);
        if (fits || isSame) {
            return rows;
        }
        long[] sizes = new long[rank];
        Arrays.fill(sizes, 1);
        sizes[0] = batch;
        sizes[axis] = input.get(axis);
        sizes[rank - 1] = shape.getLastDimension();
        return rows.reshape(sizes);
    }

    /** Computes the rows of any positions, (n, W): a new array. */
    public NDArray compute(double[] positions, NDArray like, DataType type) {
        return HostData.computed(
                like.getManager(),
                like.getDevice(),
                new Shape(positions.length, rows.width()),
                type,
                rows,
                index -> positions[index]);
    }

    private Table find(Place place, int end) {
        Table table = tables.get(place);
        return table != null && table.end >= end && !table.array.isReleased() ? table : null;
    }

    private Table table(Place place, int end) {
        Table found = find(place, end);
        return found != null ? found : grown(place, end);
    }

    private synchronized Table grown(Place place, int end) {
        Table found = find(place, end);
        if (found != null) {
            return found;
        }
        int needed = end <= length ? length : (int) Math.max(end, Math.min(2L * length, limit));
        boolean isOwned = hasOwner() && owner.getEngine() == place.engine;
        NDManager manager = isOwned ? owner.newSubManager(place.device) : place.engine.newBaseManager(place.device);
        Table created = created(manager, place, needed);
        (isOwned ? owned : others).add(manager);
        tables.put(place, created);
        length = needed;
        return created;
    }

    private boolean hasOwner() {
        return owner != null && owner.isOpen();
    }

    private Table created(NDManager manager, Place place, int end) {
        int first = isSymmetric ? 1 - end : 0;
        Shape shape = new Shape((long) end - first, rows.width());
        try {
            NDArray array =
                    HostData.computed(manager, place.device, shape, place.type, rows, index -> (double) first + index);
            NDScope.unregister(array);
            return new Table(first, end, array);
        } catch (RuntimeException | Error e) {
            manager.close();
            throw e;
        }
    }

    /** Frees all arrays. They are created again when they are needed. */
    @Override
    public synchronized void close() {
        tables.clear();
        owned.run();
        others.run();
    }

    /** The key of a table. */
    private record Place(Engine engine, Device device, DataType type) {
        static Place of(NDArray like, DataType type) {
            return new Place(like.getManager().getEngine(), like.getDevice(), type);
        }
    }

    /** The rows of a range of positions. */
    private static final class Table {

        /** Single rows, one for each step of a decoder, are split from runs of this length. */
        private static final int RUN = 64;

        private final int first;
        private final int end;
        private final NDArray array;
        private NDArray batched;
        private final Map<Integer, NDArray[]> runs = new ConcurrentHashMap<>();

        Table(int first, int end, NDArray array) {
            this.first = first;
            this.end = end;
            this.array = array;
        }

        /** All rows, (1, n, W); on MXNet a copy. It is created again if the caller of a getter has closed it. */
        NDArray batched() {
            if (batched == null || batched.isReleased()) {
                batched = array.expandDims(0);
                NDScope.unregister(batched);
            }
            return batched;
        }

        /** A row by its index, (1, 1, W). */
        NDArray row(int index) {
            return runs.computeIfAbsent(index / RUN, this::run)[index % RUN];
        }

        private NDArray[] run(int number) {
            long from = (long) number * RUN;
            int count = (int) Math.min(RUN, array.getShape().get(0) - from);
            try (NDArray run = array.get(NDIndex.sliceAxis(0, from, from + count));
                    NDArray batchedRun = run.expandDims(0)) {
                NDList rows = count == 1 ? new NDList(batchedRun.duplicate()) : batchedRun.split(count, 1);
                NDScope.unregister(rows);
                return rows.toArray(NDArray[]::new);
            }
        }
    }

    private static final class Managers implements Runnable {
        private final List<NDManager> open = new ArrayList<>();

        void add(NDManager manager) {
            open.add(manager);
        }

        @Override
        public void run() {
            open.forEach(NDManager::close);
            open.clear();
        }
    }
}
