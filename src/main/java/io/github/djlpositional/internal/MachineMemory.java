package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * How much memory the machine has for a table. One that it has no room for is refused before it is tried: Linux would promise
 * the memory, and end the process while the table is written.
 *
 * <p>A GPU's memory is its engine's to count.
 */
public final class MachineMemory {

    /** Tables below this are not worth the question, which takes some hundred microseconds. */
    private static final long WORTH_ASKING = 64L << 20;

    private static final Path LINUX = Path.of("/proc/meminfo");

    /** Who tells; a test says that there is little. */
    private static volatile LongSupplier source = MachineMemory::read;

    private MachineMemory() {}

    /** Lets another tell how many bytes can be had; null for the machine. */
    static void toldBy(LongSupplier other) {
        source = other == null ? MachineMemory::read : other;
    }

    /** The bytes of an array's values. */
    static long bytes(Shape shape, DataType type) {
        return shape.size() * type.getNumOfBytes();
    }

    /** Whether there is room for a table; on a GPU, as far as is known. */
    static boolean hasRoomFor(Shape shape, DataType type, Device device) {
        return bytes(shape, type) <= availableFor(shape, type, device);
    }

    /** The bytes that there are for a table, asked once; all that there can be where the question is not worth it. */
    private static long availableFor(Shape shape, DataType type, Device device) {
        boolean isAsked = HostData.isHost(device) && bytes(shape, type) >= WORTH_ASKING;
        return isAsked ? available() : Long.MAX_VALUE;
    }

    /**
     * Refuses the table of a parameter that there is no room for. One that is there already needs none.
     *
     * @param parameter the parameter
     * @param shape its shape
     * @param type its data type
     * @param device where it is to be made
     * @throws IllegalArgumentException if the machine's memory is too small for it
     */
    public static void requireRoomFor(Parameter parameter, Shape shape, DataType type, Device device) {
        if (!parameter.isInitialized() || parameter.getArray().isReleased()) {
            requireRoomFor(shape, type, device);
        }
    }

    /**
     * Refuses a table that there is no room for.
     *
     * @param shape its shape
     * @param type its data type
     * @param device where it is to be made
     * @throws IllegalArgumentException if the machine's memory is too small for it
     */
    public static void requireRoomFor(Shape shape, DataType type, Device device) {
        long needed = bytes(shape, type);
        long found = availableFor(shape, type, device);
        if (needed > found) {
            throw new IllegalArgumentException("a table of shape " + shape + " in " + type + " needs " + needed
                    + " bytes of memory: available are " + found
                    + "; look whether a position or a size is a mistake, ask for fewer or smaller ones, or take a machine"
                    + " with more memory");
        }
    }

    /** Bytes that can be had now. */
    static long available() {
        return source.getAsLong();
    }

    /** Without what a container is denied; where the system does not tell, all that it has. */
    private static long read() {
        if (!(ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system)) {
            return availableOnLinux();
        }
        long all = system.getTotalMemorySize() + Math.max(0, system.getTotalSwapSpaceSize());
        return Math.min(all, availableOnLinux());
    }

    private static long availableOnLinux() {
        if (!Files.isReadable(LINUX)) {
            return Long.MAX_VALUE;
        }
        try {
            List<String> lines = Files.readAllLines(LINUX);
            long free = kilobytes(lines, "MemAvailable:");
            return free == 0 ? Long.MAX_VALUE : (free + kilobytes(lines, "SwapFree:")) << 10;
        } catch (IOException e) {
            // a forward must not fail for want of an estimate: the engine will say if there is no room
            return Long.MAX_VALUE;
        }
    }

    private static long kilobytes(List<String> lines, String name) {
        return lines.stream()
                .filter(line -> line.startsWith(name))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElse(0);
    }
}
