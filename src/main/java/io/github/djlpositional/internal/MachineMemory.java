package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

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

    private MachineMemory() {}

    /** The bytes of an array's values. */
    static long bytes(Shape shape, DataType type) {
        return shape.size() * type.getNumOfBytes();
    }

    /** Whether there is room for a table; on a GPU, as far as is known. */
    static boolean hasRoomFor(Shape shape, DataType type, Device device) {
        long needed = bytes(shape, type);
        return !HostData.isHost(device) || needed < WORTH_ASKING || needed <= available();
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
        if (!hasRoomFor(shape, type, device)) {
            throw new IllegalArgumentException("a table of shape " + shape + " in " + type + " needs "
                    + bytes(shape, type) + " bytes of memory: available are " + available()
                    + "; look whether a position or a size is a mistake, ask for fewer or smaller ones, or take a machine"
                    + " with more memory");
        }
    }

    /** Bytes that can be had now, without what a container is denied; where the system does not tell, all that it has. */
    static long available() {
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
