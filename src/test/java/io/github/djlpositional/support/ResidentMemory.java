package io.github.djlpositional.support;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The memory of this process, including native memory. */
public final class ResidentMemory {

    private static final Path STATUS = Path.of("/proc/self/status");

    private ResidentMemory() {}

    /**
     * Bytes of anonymous memory, after a collection of garbage; 0 where the system does not say (it is Linux that
     * does).
     */
    public static long bytes() throws IOException {
        System.gc();
        if (!Files.isReadable(STATUS)) {
            return 0;
        }
        return field("RssAnon:");
    }

    /** Begins a new measurement of the peak; returns the bytes that are resident now. */
    public static long resetPeak() throws IOException {
        System.gc();
        Files.writeString(Path.of("/proc/self/clear_refs"), "5");
        return field("VmRSS:");
    }

    /** The most bytes that were resident since {@link #resetPeak}. */
    public static long peak() throws IOException {
        return field("VmHWM:");
    }

    private static long field(String name) throws IOException {
        return Files.readAllLines(STATUS).stream()
                .filter(line -> line.startsWith(name))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                .findFirst()
                .orElse(0);
    }
}
