package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import com.sun.management.OperatingSystemMXBean;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.math.Rows;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;
import java.util.function.IntUnaryOperator;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Copies values between Java and an engine, and checks that there is memory for them. */
public final class HostData {

    /**
     * An array that Java cannot write to directly is copied in pieces of about this size, so that it is never in memory
     * twice.
     */
    private static final int PIECE_BYTES = 8 << 20;

    /** The size in bytes of a buffer that every engine accepts. */
    public static final int LARGEST_BUFFER = 1 << 30;

    /** Smaller arrays need no check: reading the available memory takes a few hundred microseconds. */
    private static final long CHECKED_BYTES = 64L << 20;

    private static final Path LINUX_MEMORY = Path.of("/proc/meminfo");

    private static volatile LongSupplier availableBytes = HostData::readAvailableBytes;

    private HostData() {}

    /** Replaces the detection of available memory in tests; null restores it. */
    static void detectMemoryBy(LongSupplier other) {
        availableBytes = other == null ? HostData::readAvailableBytes : other;
    }

    /**
     * Checks that an array of 64 MB or more fits into the memory of the machine: Linux and macOS promise memory that
     * they do not have, and kill the process when the array is written. The memory of a GPU is not checked.
     */
    public static void requireRoomFor(Shape shape, DataType type, Device device) {
        requireRoomFor(bytes(shape, type), device, () -> "a table of shape " + shape + " in " + type);
    }

    /** Checks that so many bytes fit into the memory of the machine, as for an array. */
    public static void requireRoomFor(long needed, Device device, Supplier<String> what) {
        if (isHost(device) && needed >= CHECKED_BYTES) {
            long found = availableBytes.getAsLong();
            Check.that(
                    needed <= found,
                    () -> what.get() + " needs " + needed
                            + " bytes of memory: expected at most the " + found
                            + " that are available; check positions and sizes for mistakes, use smaller ones, or free memory");
        }
    }

    /** Returns the size of an array in bytes, at most {@link Long#MAX_VALUE}. */
    public static long bytes(Shape shape, DataType type) {
        boolean isEmpty = Arrays.stream(shape.getShape()).anyMatch(size -> size == 0);
        long bytes = isEmpty ? 0 : type.getNumOfBytes();
        for (long size : shape.getShape()) {
            bytes = bytes > Long.MAX_VALUE / Math.max(1, size) ? Long.MAX_VALUE : bytes * size;
        }
        return bytes;
    }

    private static long readAvailableBytes() {
        return availableBytes(LINUX_MEMORY);
    }

    /** Elsewhere than on Linux, all memory of the machine: what is free there does not include what can be freed. */
    static long availableBytes(Path linuxMemory) {
        if (Files.notExists(linuxMemory)) {
            return ModuleLayer.boot().findModule("jdk.management").isPresent() ? totalBytes() : Long.MAX_VALUE;
        }
        try (Stream<String> lines = Files.lines(linuxMemory)) {
            long kilobytes = lines.filter(line -> line.startsWith("MemAvailable:") || line.startsWith("SwapFree:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
            return kilobytes == 0 ? Long.MAX_VALUE : kilobytes << 10;
        } catch (IOException e) {
            // only an estimate: without it, the engine reports a failed allocation
            return Long.MAX_VALUE;
        }
    }

    private static long totalBytes() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                ? system.getTotalMemorySize() + system.getTotalSwapSpaceSize()
                : Long.MAX_VALUE;
    }

    /**
     * Creates an array, of rank 1 or more, from the rows of the positions 0, 1, … in memory of the engine. Throws
     * {@link IllegalArgumentException} if the machine has no memory for it, and {@link EngineException} if the engine
     * has none.
     *
     * @param shape the shape of all rows together
     */
    public static NDArray computed(NDManager manager, Device device, Shape shape, DataType type, Rows rows) {
        return computed(manager, device, shape, type, rows, index -> index);
    }

    /**
     * Creates an array like {@link #computed}, from the rows of any positions.
     *
     * @param position the position of a row, by its index
     */
    static NDArray computed(
            NDManager manager, Device device, Shape shape, DataType type, Rows rows, IntToDoubleFunction position) {
        FloatFormat format = DataTypes.formatOf(type);
        long bytes = (long) rows.width() * format.bytes();
        Check.that(
                bytes <= LARGEST_BUFFER,
                () -> "a table of shape " + shape + " has rows of " + bytes + " bytes: expected at most "
                        + LARGEST_BUFFER + "; encode slices of it");
        requireRoomFor(shape, type, device);
        String engine = manager.getEngine().getEngineName();
        Check.that(
                shape.size() <= Integer.MAX_VALUE || !"MXNet".equals(engine),
                () -> "a table of shape " + shape + " has " + shape.size() + " values: expected at most "
                        + Integer.MAX_VALUE + " on MXNet; use fewer positions");
        Shape byRow = new Shape(shape.size() / rows.width(), rows.width());
        NDArray array = allocated(manager, device, byRow, type);
        // its own scope: in the scope of the caller, the temporary pieces would accumulate
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            write(array, format, rows, position);
        } catch (RuntimeException | Error e) {
            array.close();
            throw e;
        }
        if (shape.equals(byRow)) {
            return array;
        }
        try (array) {
            return array.reshape(shape);
        }
    }

    private static void write(NDArray array, FloatFormat format, Rows rows, IntToDoubleFunction position) {
        int height = Math.toIntExact(array.getShape().get(0));
        int rowBytes = rows.width() * format.bytes();
        boolean isDirect = isHost(array.getDevice()) && Arithmetic.isPyTorch(array);
        int pieceHeight = Math.max(1, Math.min(height, (isDirect ? LARGEST_BUFFER : PIECE_BYTES) / rowBytes));
        NDManager manager = array.getManager();
        ByteBuffer buffer = isDirect ? null : manager.allocateDirect(pieceHeight * rowBytes);
        for (int first = 0; first < height; first += pieceHeight) {
            int end = Math.min(first + pieceHeight, height);
            double[] positions =
                    IntStream.range(first, end).mapToDouble(position).toArray();
            NDIndex index = NDIndex.sliceAxis(0, first, end);
            try (Temporaries temporaries = new Temporaries()) {
                if (isDirect) {
                    rows.write(
                            positions, format, temporaries.add(array.get(index)).toByteBuffer(true));
                    continue;
                }
                rows.write(positions, format, buffer.clear());
                Shape shape = new Shape(end - first, rows.width());
                NDArray piece = temporaries.add(
                        shared(manager, buffer.limit((end - first) * rowBytes), shape, array.getDataType()));
                array.set(index, temporaries.addUnless(piece, piece.toDevice(array.getDevice(), false)));
                // otherwise an asynchronous engine would hold all pieces until it has copied them
                temporaries
                        .add(array.get(NDIndex.sliceAxis(0, first, first + 1L)))
                        .toByteBuffer();
            }
        }
    }

    private static NDArray allocated(NDManager manager, Device device, Shape shape, DataType type) {
        try {
            return manager.create(shape, type, device);
        } catch (EngineException e) {
            String reason = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
            throw new EngineException(
                    "a table of shape " + shape + " in " + type + " needs " + bytes(shape, type)
                            + " bytes, which " + manager.getEngine().getEngineName() + " cannot allocate on " + device
                            + " (" + reason + "): use fewer positions or smaller sizes, or free memory there",
                    e);
        }
    }

    /** Allocates a direct buffer for all values of an array. */
    public static ByteBuffer bufferFor(NDManager manager, Shape shape, DataType type) {
        requireBuffer(shape, type);
        return manager.allocateDirect((int) bytes(shape, type));
    }

    /** Checks that a buffer can have all values of an array. */
    static void requireBuffer(Shape shape, DataType type) {
        long bytes = bytes(shape, type);
        Check.that(
                bytes <= Integer.MAX_VALUE,
                () -> "an array of shape " + shape + " in " + type + " has " + bytes + " bytes: expected at most "
                        + Integer.MAX_VALUE + "; use a smaller one");
    }

    /**
     * Creates an array in memory of the engine from a direct buffer. An array that {@code manager.create(buffer, …)}
     * returns shares the buffer on PyTorch, so that a view of it may outlive its memory.
     */
    public static NDArray toArray(NDManager manager, Device device, ByteBuffer buffer, Shape shape, DataType type) {
        try (NDArray shared = shared(manager, buffer, shape, type)) {
            NDArray own = shared.getDevice().equals(device) ? shared.duplicate() : shared.toDevice(device, true);
            own.attach(manager);
            return own;
        }
    }

    /** Creates an array of integers, INT32, in memory of the engine, from functions of their index. */
    public static NDArray integers(NDManager manager, Device device, Shape shape, IntUnaryOperator value) {
        ByteBuffer buffer = bufferFor(manager, shape, DataType.INT32);
        for (int i = 0; i < shape.size(); i++) {
            buffer.putInt(value.applyAsInt(i));
        }
        return toArray(manager, device, buffer.rewind(), shape, DataType.INT32);
    }

    /**
     * Creates an array that shares a direct buffer, or on MXNet a copy. DJL's MXNet engine copies from an address,
     * while the garbage collector may already free the buffer; it also does that with the buffer that it creates for a
     * Java array, so no array is created from a Java array here.
     */
    private static NDArray shared(NDManager manager, ByteBuffer buffer, Shape shape, DataType type) {
        try {
            return manager.create(buffer, shape, type);
        } finally {
            Reference.reachabilityFence(buffer);
        }
    }

    /** Creates a scalar, FLOAT64, in memory of the engine. */
    static NDArray number(NDManager manager, Device device, double value) {
        Shape scalar = new Shape();
        ByteBuffer buffer = bufferFor(manager, scalar, DataType.FLOAT64).putDouble(0, value);
        return toArray(manager, device, buffer, scalar, DataType.FLOAT64);
    }

    /**
     * Returns whether a device shares memory with Java and runs synchronously. {@code Device.isGpu} is false for
     * Apple's GPU.
     */
    public static boolean isHost(Device device) {
        return Device.Type.CPU.equals(device.getDeviceType());
    }

    /**
     * Reads the values of an array. DJL's PyTorch engine copies a view that is not contiguous, and an array on a GPU,
     * and attaches the copy to the array's manager: here a manager that is closed afterwards.
     */
    static <T> T read(NDArray array, Function<NDArray, T> reader) {
        if (array.size() <= 1 && isHost(array.getDevice())) {
            return reader.apply(array);
        }
        try (NDManager temporary = array.getManager().newSubManager()) {
            NDArray same = array.reshape(array.getShape());
            same.attach(temporary);
            return reader.apply(same);
        }
    }

    /** Reads the values of an array, converted to a data type, without recording gradients. */
    static <T> T read(NDArray array, DataType type, Function<NDArray, T> reader) {
        try (Temporaries temporaries = new Temporaries()) {
            return read(temporaries.addUnless(array, array.toType(type, false)), reader);
        }
    }

    /** Whether an array is known to contain only ones; false for an array on a GPU, which is not read. */
    public static boolean areKnownOnes(NDArray array) {
        return isHost(array.getDevice()) && Arrays.stream(doubles(array)).allMatch(value -> value == 1);
    }

    /**
     * Copies the values of an array, row-major, which take 4 bytes each, or 8 in FLOAT64. This waits for its device.
     */
    public static IntToDoubleFunction copied(NDArray array) {
        if (array.getDataType() == DataType.FLOAT64) {
            double[] doubles = doubles(array);
            return index -> doubles[index];
        }
        float[] floats = read(array, DataType.FLOAT32, NDArray::toFloatArray);
        return index -> floats[index];
    }

    /** Reads the values of an array, row-major. This waits for its device. */
    public static double[] doubles(NDArray array) {
        return read(array, DataType.FLOAT64, NDArray::toDoubleArray);
    }

    /** Reads the integers of an array, row-major. This waits for its device. */
    public static long[] longs(NDArray array) {
        return read(array, DataType.INT64, NDArray::toLongArray);
    }
}
