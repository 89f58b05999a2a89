package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.nio.ByteBuffer;
import java.util.function.Function;

/** Numbers on their way between Java and an engine. */
public final class HostData {

    /** The bytes of a buffer that every engine takes. */
    public static final int LARGEST_BUFFER = 1 << 30;

    private HostData() {}

    /**
     * Makes a buffer for all values of an array.
     *
     * @param manager makes the buffer
     * @param shape the array's shape
     * @param type the array's data type
     * @return a direct buffer
     * @throws IllegalArgumentException if one buffer cannot hold them
     */
    public static ByteBuffer bufferFor(NDManager manager, Shape shape, DataType type) {
        long bytes = MachineMemory.bytes(shape, type);
        if (bytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "the values of an array of shape " + shape + " in " + type + " are " + bytes
                            + " bytes: allowed are " + Integer.MAX_VALUE
                            + " where they are computed in Java; encode positions in parts, or give whole ones as integers, or"
                            + " build a table of fewer");
        }
        return manager.allocateDirect((int) bytes);
    }

    /**
     * Makes an array in memory of the engine's own. One that {@code manager.create(buffer, …)} makes shares the buffer on
     * PyTorch, which Java frees with the array, and a view of it would outlive it.
     *
     * @param manager what the array is attached to
     * @param device where it is made
     * @param buffer the numbers, direct, row-major from its start
     * @param shape the array's shape
     * @param type the array's data type
     * @return a new array
     */
    public static NDArray toArray(NDManager manager, Device device, ByteBuffer buffer, Shape shape, DataType type) {
        try (NDArray shared = manager.create(buffer, shape, type)) {
            NDArray own = shared.getDevice().equals(device) ? shared.duplicate() : shared.toDevice(device, true);
            own.attach(manager);
            return own;
        }
    }

    /** Makes an array of one number, without axes, FLOAT64, in memory of the engine's own. */
    static NDArray number(NDManager manager, Device device, double value) {
        try (NDArray shared = manager.create(value)) {
            return shared.getDevice().equals(device) ? shared.duplicate() : shared.toDevice(device, true);
        }
    }

    /** Whether a device works in step with the program, in memory that is the program's too. Apple's GPU is no {@code isGpu()}. */
    static boolean isHost(Device device) {
        return Device.Type.CPU.equals(device.getDeviceType());
    }

    /**
     * Reads an array's values. PyTorch's engine makes a copy of a view that is not contiguous, such as a column, and leaves it to
     * the array's manager: here to one that is closed.
     *
     * @param array any array
     * @param reader reads the values of what it is given
     * @return what it has read
     */
    static <T> T read(NDArray array, Function<NDArray, T> reader) {
        if (array.size() <= 1) {
            return reader.apply(array);
        }
        try (NDManager own = array.getManager().newSubManager()) {
            NDArray same = array.reshape(array.getShape());
            same.attach(own);
            return reader.apply(same);
        }
    }

    /**
     * Reads an array's values in a data type.
     *
     * @param array any array
     * @param type what they are converted to
     * @param reader reads the values of what it is given
     * @return what it has read
     */
    static <T> T read(NDArray array, DataType type, Function<NDArray, T> reader) {
        NDArray converted = array.toType(type, false);
        try {
            return read(converted, reader);
        } finally {
            if (converted != array) {
                converted.close();
            }
        }
    }

    /**
     * Reads an array's values, and so waits for its device.
     *
     * @param array any shape, any data type of numbers
     * @return the values, row-major
     */
    public static double[] doubles(NDArray array) {
        return read(array, DataType.FLOAT64, NDArray::toDoubleArray);
    }

    /** Whether an array's own memory can be reached from Java: PyTorch's on the CPU. MXNet gives a copy. */
    static boolean isReachable(NDArray array) {
        return isHost(array.getDevice()) && PyTorch.isEngineOf(array);
    }

    /** Waits until what was written to a row of an array is there. */
    static void awaitRow(NDArray array, int row) {
        try (NDArray written = array.get(NDIndex.sliceAxis(0, row, row + 1L))) {
            written.toByteBuffer();
        }
    }

    /**
     * Returns an array's own memory.
     *
     * @param array contiguous and {@linkplain #isReachable reachable}, of less than 2 GB; the buffer is not to be used after it
     *     is closed
     * @return its numbers, row-major
     */
    static ByteBuffer memoryOf(NDArray array) {
        return array.toByteBuffer(true);
    }
}
