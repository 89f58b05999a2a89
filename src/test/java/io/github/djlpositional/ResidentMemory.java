package io.github.djlpositional;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** How much memory this process has, native memory included. */
final class ResidentMemory {

    private static final Path STATUS = Path.of("/proc/self/status");

    private ResidentMemory() {}

    /** Bytes of anonymous memory, after a collection of garbage; 0 where the system does not say (it is Linux that does). */
    static long bytes() throws IOException {
        System.gc();
        if (!Files.isReadable(STATUS)) {
            return 0;
        }
        return Files.readAllLines(STATUS).stream()
                .filter(line -> line.startsWith("RssAnon:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) << 10)
                .findFirst()
                .orElse(0);
    }
}
