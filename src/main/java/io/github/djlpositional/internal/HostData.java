package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.engine.EngineException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.math.FloatFormat;
import io.github.djlpositional.options.Check;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Copies numbers between Java and an engine, and checks that there is memory for them. */
public final class HostData {

    /**
     * An array that Java cannot write to directly is copied in pieces of about this size, so that it is never held
     * twice.
     */
    private static final int PIECE_BYTES = 8 << 20;

    /** The bytes of a buffer that every engine accepts. */
    public static final int LARGEST_BUFFER = 1 << 30;

    /** Smaller arrays need no check: reading the available memory takes some hundred microseconds. */
    private static final long CHECKED_BYTES = 64L << 20;

    private static final Path LINUX_MEMORY = Path.of("/proc/meminfo");

    private static volatile LongSupplier availableBytes = HostData::readAvailableBytes;

    private HostData() {}

    /** Replaces the reading of the available bytes, for tests; null restores it. */
    static void detectMemoryBy(LongSupplier other) {
        availableBytes = other == null ? HostData::readAvailableBytes : other;
    }

    /**
     * Checks that an array of 64 MB or more fits into the memory of the machine: Linux promises memory that it does not
     * have, and kills the process when the array is written. The memory of a GPU is not checked.
     */
    public static void requireRoomFor(Shape shape, DataType type, Device device) {
        long needed = shape.size() * type.getNumOfBytes();
        if (isHost(device) && needed >= CHECKED_BYTES) {
            long found = availableBytes.getAsLong();
            Check.that(
                    needed <= found,
                    () -> "a table of shape " + shape + " in " + type + " needs " + needed
                            + " bytes of memory: expected at most the " + found
                            + " that are available; check positions and sizes for mistakes, use smaller ones, or free memory");
        }
    }

    private static long readAvailableBytes() {
        try (Stream<String> lines = Files.exists(LINUX_MEMORY) ? Files.lines(LINUX_MEMORY) : Stream.empty()) {
            long kilobytes = lines.filter(line -> line.startsWith("MemAvailable:") || line.startsWith("SwapFree:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
            return kilobytes == 0 ? Long.MAX_VALUE : kilobytes << 10;
        } catch (IOException e) {
            // only an estimate: without it, the engine reports a failed allocation
            return Long.MAX_VALUE;
        }
    }

    /** Computes the rows of an array, which are its parts along the first axis. */
    @FunctionalInterface
    public interface Rows {
        /** Writes rows first … first + count - 1, row-major, from the start of the buffer. */
        void write(int first, int count, FloatFormat format, ByteBuffer out);

        /** Returns rows of a number of values, which are a function of the indices of row and column. */
        static Rows of(int width, Value value) {
            return (first, count, format, out) -> IntStream.range(0, count)
                    .parallel()
                    .forEach(row -> {
                        for (int column = 0; column < width; column++) {
                            format.put(out, row * width + column, value.at(first + row, column));
                        }
                    });
        }
    }

    /** A value by its indices. */
    @FunctionalInterface
    public interface Value {
        /** Returns the value in a row and a column, both counted from 0. */
        double at(int row, int column);
    }

    /**
     * Creates an array, of rank 1 or more, from computed rows, in memory of the engine. Throws
     * {@link IllegalArgumentException} if the machine has no memory for it, and {@link EngineException} if the engine
     * has none.
     */
    public static NDArray computed(NDManager manager, Device device, Shape shape, DataType type, Rows rows) {
        FloatFormat format = DataTypes.formatOf(type);
        int height = Math.toIntExact(shape.get(0));
        long bytes = Math.max(1, shape.slice(1).size()) * format.bytes();
        Check.that(
                bytes <= LARGEST_BUFFER,
                () -> "a table of shape " + shape + " has rows of " + bytes + " bytes: expected at most "
                        + LARGEST_BUFFER + "; encode it in parts");
        int rowBytes = (int) bytes;
        requireRoomFor(shape, type, device);
        String engine = manager.getEngine().getEngineName();
        Check.that(
                shape.size() <= Integer.MAX_VALUE || !"MXNet".equals(engine),
                () -> "a table of shape " + shape + " has " + shape.size() + " values: expected at most "
                        + Integer.MAX_VALUE + " on MXNet; use fewer positions");
        NDArray array = allocated(manager, device, shape, type);
        // a scope of this method: in the caller's, the temporary pieces would pile up
        try (NDScope scope = new NDScope()) {
            scope.suppressNotUsedWarning();
            write(array, height, rowBytes, format, rows);
            return array;
        } catch (RuntimeException | Error e) {
            array.close();
            throw e;
        }
    }

    private static void write(NDArray array, int height, int rowBytes, FloatFormat format, Rows rows) {
        boolean isDirect = isHost(array.getDevice()) && Arithmetic.isPyTorch(array);
        int pieceHeight = Math.max(1, Math.min(height, (isDirect ? LARGEST_BUFFER : PIECE_BYTES) / rowBytes));
        NDManager manager = array.getManager();
        ByteBuffer buffer = isDirect ? null : manager.allocateDirect(pieceHeight * rowBytes);
        for (int first = 0; first < height; first += pieceHeight) {
            int count = Math.min(pieceHeight, height - first);
            NDIndex index = NDIndex.sliceAxis(0, first, (long) first + count);
            try (Temporaries temporaries = new Temporaries()) {
                if (isDirect) {
                    rows.write(
                            first,
                            count,
                            format,
                            temporaries.add(array.get(index)).toByteBuffer(true));
                    continue;
                }
                rows.write(first, count, format, buffer.clear());
                Shape shape = new Shape(count).addAll(array.getShape().slice(1));
                NDArray piece =
                        temporaries.add(shared(manager, buffer.limit(count * rowBytes), shape, array.getDataType()));
                array.set(index, temporaries.addUnless(piece, piece.toDevice(array.getDevice(), false)));
                // an engine that runs asynchronously would otherwise keep all pieces until it has copied them
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
                    "a table of shape " + shape + " in " + type + " needs " + shape.size() * type.getNumOfBytes()
                            + " bytes, which " + manager.getEngine().getEngineName() + " cannot allocate on " + device
                            + " (" + reason + "): use fewer positions or smaller sizes, or free memory there",
                    e);
        }
    }

    /** Allocates a direct buffer for all values of an array. */
    public static ByteBuffer bufferFor(NDManager manager, Shape shape, DataType type) {
        long bytes = shape.size() * type.getNumOfBytes();
        Check.that(
                bytes <= Integer.MAX_VALUE,
                () -> "an array of shape " + shape + " in " + type + " has " + bytes + " bytes: expected at most "
                        + Integer.MAX_VALUE + "; use a smaller one");
        return manager.allocateDirect((int) bytes);
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
     * and attaches the copy to the array's manager: here that is one that is closed afterwards.
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

    /** Reads the values of an array after converting them to a data type. No gradient is recorded for that. */
    static <T> T read(NDArray array, DataType type, Function<NDArray, T> reader) {
        try (Temporaries temporaries = new Temporaries()) {
            return read(temporaries.addUnless(array, array.toType(type, false)), reader);
        }
    }

    /** Whether an array holds nothing but ones, which is not known of one on a GPU: nothing waits for that. */
    public static boolean areKnownOnes(NDArray array) {
        return isHost(array.getDevice()) && Arrays.stream(doubles(array)).allMatch(value -> value == 1);
    }

    /** Reads the values of an array, row-major. This waits for its device. */
    public static double[] doubles(NDArray array) {
        return read(array, DataType.FLOAT64, NDArray::toDoubleArray);
    }
}
