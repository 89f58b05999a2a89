package io.github.djlpositional.internal;

import ai.djl.Device;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.internal.Check;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * The memory that is available for a table on the CPU. Linux promises memory that it does not have, and kills the
 * process when the table is written; so a table that does not fit is refused before it is allocated.
 */
public final class MachineMemory {

    /** Smaller tables are not checked: reading the available memory takes some hundred microseconds. */
    private static final long CHECKED_BYTES = 64L << 20;

    private static final Path LINUX = Path.of("/proc/meminfo");

    private static volatile LongSupplier available = MachineMemory::read;

    private MachineMemory() {}

    /** Replaces the reading of the available bytes, for tests; null restores it. */
    static void detectedBy(LongSupplier other) {
        available = other == null ? MachineMemory::read : other;
    }

    /**
     * Checks that an array of 64 MB or more fits into the memory of the machine. The memory of a GPU is not checked.
     */
    public static void requireRoomFor(Shape shape, DataType type, Device device) {
        long needed = shape.size() * type.getNumOfBytes();
        if (HostData.isHost(device) && needed >= CHECKED_BYTES) {
            long found = available.getAsLong();
            Check.that(
                    needed <= found,
                    () -> "a table of shape " + shape + " in " + type + " needs " + needed
                            + " bytes of memory: expected at most the " + found
                            + " that are available; check positions and sizes for mistakes, use smaller ones, or free memory");
        }
    }

    private static long read() {
        try (Stream<String> lines = Files.exists(LINUX) ? Files.lines(LINUX) : Stream.empty()) {
            long kilobytes = lines.filter(line -> line.startsWith("MemAvailable:") || line.startsWith("SwapFree:"))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                    .sum();
            return kilobytes == 0 ? Long.MAX_VALUE : kilobytes << 10;
        } catch (IOException e) {
            // only an estimate: without it, the engine reports a failed allocation
            return Long.MAX_VALUE;
        }
    }
}
