package io.github.djlpositional.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What Linux says of this process's memory; elsewhere nothing is known. */
final class ProcessMemory {

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path STAT = Path.of("/proc/self/stat");

    /**
     * Of what follows the command's name in {@code stat}, the number of pages that were mapped without reading a disk.
     */
    private static final int MINOR_FAULTS = 7;

    private ProcessMemory() {}

    static boolean isKnown() {
        return Files.isReadable(STATUS) && Files.isReadable(STAT);
    }

    /** How many pages the process has been given so far. */
    static long pageFaults() throws IOException {
        String text = Files.readString(STAT);
        String afterName = text.substring(text.lastIndexOf(')') + 2);
        return Long.parseLong(afterName.split(" ", -1)[MINOR_FAULTS]);
    }

    /** The megabytes that are resident now. */
    static long residentMegabytes() throws IOException {
        return megabytes(STATUS, "VmRSS");
    }

    /** The most megabytes that were resident at a time in this process. */
    static long peakMegabytes() throws IOException {
        return megabytes(STATUS, "VmHWM");
    }

    /** The most megabytes that were resident at a time in another process, which still runs. */
    static long peakMegabytes(long processId) throws IOException {
        return megabytes(Path.of("/proc/" + processId + "/status"), "VmHWM");
    }

    private static long megabytes(Path status, String name) throws IOException {
        Matcher matcher = Pattern.compile(name + ":\\s+(\\d+)").matcher(Files.readString(status));
        if (!matcher.find()) {
            throw new IOException(status + " has no " + name);
        }
        return Long.parseLong(matcher.group(1)) >> 10;
    }
}
