package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.FloatFormat;
import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * The life of a constant array: made once for each (engine, device, data type) that asks for it, never a parameter, never
 * saved, freed with its owner.
 *
 * <p>It is no {@link ai.djl.nn.Parameter}: {@code freezeParameters(false)} makes every parameter trainable, and a parameter
 * is written to the model file. It is attached neither to a predictor's nor to a trainer's manager, which die before the
 * block does, but to a child of the manager that the block was initialized or loaded with: closing the model frees it.
 * Before there is such an owner, or after it is closed, a copy hangs on a manager of its own, which is closed with
 * {@link #close} or once the block is garbage. A copy that was closed from outside is made anew.
 *
 * <p>Any number of threads may ask for it at once. To close it, or to name another owner, while an array of it is in use is
 * the caller's mistake, as it is with every array of DJL.
 */
public final class ConstantArray implements AutoCloseable {

    /** Computes some rows of the array: its parts along the first axis. */
    @FunctionalInterface
    public interface Rows {
        /** Writes rows first … first + count - 1 to the start of the buffer, row-major. */
        void write(int first, int count, FloatFormat format, ByteBuffer out);
    }

    private static final Cleaner CLEANER = Cleaner.create();

    /** The array goes to the device in pieces of about this size, so that it never stands twice in memory. */
    private static final int PIECE_BYTES = 8 << 20;

    private final Shape shape;
    private final Rows rows;
    private final Copies copies = new Copies();
    private NDManager owner;
    private int users;
    private boolean isDropped;

    /**
     * Describes an array; nothing is made yet.
     *
     * @param shape its shape, of rank 1 or more
     * @param rows computes its parts along the first axis
     */
    public ConstantArray(Shape shape, Rows rows) {
        this.shape = shape;
        this.rows = rows;
        CLEANER.register(this, copies);
    }

    /**
     * Names the manager with which this array lives from now on. What was made for another one is closed.
     *
     * @param manager the new owner
     */
    public synchronized void ownedBy(NDManager manager) {
        if (owner != manager) {
            copies.run();
            owner = manager;
        }
    }

    /**
     * Makes the array with another owner, and then closes what was made for the one before. Should it fail, nothing has
     * changed.
     *
     * @param manager the owner from now on; the array is made on its device
     * @param type FLOAT16, FLOAT32 or FLOAT64
     */
    public synchronized void moveTo(NDManager manager, DataType type) {
        if (owner == manager) {
            on(manager.getEngine(), manager.getDevice(), type);
            return;
        }
        Copy made = made(manager.newSubManager(), manager.getEngine(), manager.getDevice(), type);
        ownedBy(manager);
        copies.add(made);
    }

    /** Returns the manager named last, or null where there is none or it is closed. */
    public synchronized NDManager owner() {
        return owner != null && owner.isOpen() ? owner : null;
    }

    /**
     * Returns the array where it is wanted, making it where this is the first call for the place and the data type.
     *
     * @param engine the engine of the arrays it will meet
     * @param device the device of the arrays it will meet
     * @param type FLOAT16, FLOAT32 or FLOAT64
     * @return the array; this object's own
     * @throws IllegalArgumentException if the machine has no memory for it
     */
    public NDArray on(Engine engine, Device device, DataType type) {
        return copy(engine, device, type).array;
    }

    /**
     * Returns the array with a leading axis of size 1. It shares the array's memory on PyTorch; MXNet copies.
     *
     * @param engine as for {@link #on}
     * @param device as for {@link #on}
     * @param type as for {@link #on}
     * @return the array (1, …); this object's own
     * @throws IllegalArgumentException if the machine has no memory for it
     */
    public NDArray batchedOn(Engine engine, Device device, DataType type) {
        Copy copy = copy(engine, device, type);
        synchronized (this) {
            if (copy.batched == null || copy.batched.isReleased()) {
                copy.batched = copy.array.expandDims(0);
                NDScope.unregister(copy.batched);
            }
            return copy.batched;
        }
    }

    /**
     * Returns consecutive parts along the first axis. The latest ones are kept, and of single parts those around them: a
     * decoder's steps and a batch of the same length cost no slicing.
     *
     * @param first the first part
     * @param count how many, at least 1
     * @param engine as for {@link #on}
     * @param device as for {@link #on}
     * @param type as for {@link #on}
     * @return what has the parts, (1, count, …), in its {@link Slices#part}, in use until it is closed
     */
    Slice slice(int first, int count, Engine engine, Device device, DataType type) {
        while (true) {
            Slice slice = copy(engine, device, type).slices.get(first, count);
            // false where another thread has just replaced it
            if (slice.acquire()) {
                return slice;
            }
        }
    }

    private Copy copy(Engine engine, Device device, DataType type) {
        Copy found = copies.find(engine, device, type);
        return found != null ? found : make(engine, device, type);
    }

    private synchronized Copy make(Engine engine, Device device, DataType type) {
        Copy found = copies.find(engine, device, type);
        if (found != null) {
            return found;
        }
        NDManager open = owner();
        NDManager manager =
                open != null && open.getEngine() == engine ? open.newSubManager(device) : engine.newBaseManager(device);
        Copy made = made(manager, engine, device, type);
        copies.add(made);
        return made;
    }

    private Copy made(NDManager manager, Engine engine, Device device, DataType type) {
        try {
            return new Copy(engine, device, type, manager, array(manager, type));
        } catch (RuntimeException | Error e) {
            manager.close();
            throw e;
        }
    }

    /** Whether the machine has room for the array; on a GPU, as far as is known. */
    boolean hasRoom(Device device, DataType type) {
        return MachineMemory.hasRoomFor(shape, type, device);
    }

    private NDArray array(NDManager manager, DataType type) {
        FloatFormat format = DataTypes.formatOf(type);
        int height = Math.toIntExact(shape.get(0));
        int rowBytes = rowBytes(format);
        // an own scope: a user's would close the array, and the pieces' temporaries would pile up in it
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            NDArray array = allocated(manager, type);
            NDScope.unregister(array);
            if (HostData.isReachable(array)) {
                writeInto(array, height, rowBytes, format);
                return array;
            }
            int pieceHeight = Math.max(1, Math.min(height, PIECE_BYTES / rowBytes));
            ByteBuffer buffer = manager.allocateDirect(pieceHeight * rowBytes);
            for (int first = 0; first < height; first += pieceHeight) {
                int count = Math.min(pieceHeight, height - first);
                buffer.clear();
                rows.write(first, count, format, buffer);
                buffer.limit(count * rowBytes);
                // copied into memory of the engine's own: an array made of the buffer would share it with Java's heap,
                // and a view of it would outlive it
                try (NDArray piece = manager.create(buffer, new Shape(count).addAll(shape.slice(1)), type)) {
                    array.set(NDIndex.sliceAxis(0, first, (long) first + count), piece);
                    // an engine that works behind would else keep all pieces until it comes to write them
                    HostData.awaitRow(array, first);
                }
            }
            return array;
        }
    }

    /** A row goes through one buffer. */
    private int rowBytes(FloatFormat format) {
        long bytes = shape.slice(1).size() * format.bytes();
        if (bytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException("a table of shape " + shape + " has rows of " + bytes
                    + " bytes: allowed are " + Integer.MAX_VALUE + "; encode it in parts");
        }
        return (int) bytes;
    }

    private NDArray allocated(NDManager manager, DataType type) {
        MachineMemory.requireRoomFor(shape, type, manager.getDevice());
        try {
            return manager.create(shape, type);
        } catch (EngineException e) {
            throw new EngineException(
                    "a table of shape " + shape + " in " + type + " needs " + MachineMemory.bytes(shape, type)
                            + " bytes, which " + manager.getEngine().getEngineName() + " does not give on "
                            + manager.getDevice() + " (" + firstLine(e)
                            + "): ask for fewer positions or smaller sizes, or free memory there",
                    e);
        }
    }

    /** Engines go on with their stack. */
    private static String firstLine(EngineException e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }

    /** Writes all rows straight into the array's own memory, in as few pieces as a buffer can be long. */
    private void writeInto(NDArray array, int height, int rowBytes, FloatFormat format) {
        int pieceHeight = Math.max(1, Math.min(height, HostData.LARGEST_BUFFER / rowBytes));
        for (int first = 0; first < height; first += pieceHeight) {
            int count = Math.min(pieceHeight, height - first);
            try (NDArray piece = array.get(NDIndex.sliceAxis(0, first, (long) first + count))) {
                rows.write(first, count, format, HostData.memoryOf(piece));
            }
        }
    }

    /**
     * Begins a use, during which {@link #drop} frees nothing.
     *
     * @return false if it is dropped already
     */
    public synchronized boolean retain() {
        users += isDropped ? 0 : 1;
        return !isDropped;
    }

    /** Ends a use that {@link #retain} began. */
    public synchronized void release() {
        users--;
        closeIfUnused();
    }

    /** Frees every copy for good, now or with the last use. */
    public synchronized void drop() {
        isDropped = true;
        closeIfUnused();
    }

    private void closeIfUnused() {
        if (isDropped && users == 0) {
            copies.run();
        }
    }

    /** Frees every copy. A later call makes them anew. */
    @Override
    public synchronized void close() {
        copies.run();
    }

    /** The array on one device in one data type. */
    private static final class Copy {
        private final Engine engine;
        private final Device device;
        private final DataType type;
        private final NDManager manager;
        private final NDArray array;
        private final Slices slices;
        private NDArray batched;

        Copy(Engine engine, Device device, DataType type, NDManager manager, NDArray array) {
            this.engine = engine;
            this.device = device;
            this.type = type;
            this.manager = manager;
            this.array = array;
            slices = new Slices(array);
        }

        boolean serves(Engine wantedEngine, Device wantedDevice, DataType wantedType) {
            return type == wantedType && engine == wantedEngine && device.equals(wantedDevice) && !array.isReleased();
        }
    }

    /** The copies, apart from the array that they belong to, so that they can be freed once it is garbage. */
    private static final class Copies implements Runnable {

        /** Replaced, never changed: readers take no lock. */
        private volatile List<Copy> list = List.of();

        Copy find(Engine engine, Device device, DataType type) {
            for (Copy copy : list) {
                if (copy.serves(engine, device, type)) {
                    return copy;
                }
            }
            return null;
        }

        void add(Copy copy) {
            List<Copy> living = new ArrayList<>(list);
            living.removeIf(other -> other.array.isReleased());
            living.add(copy);
            list = List.copyOf(living);
        }

        @Override
        public void run() {
            List<Copy> closing = list;
            list = List.of();
            closing.forEach(copy -> copy.manager.close());
        }
    }
}
