package io.github.djlpositional.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What this process holds of the machine's memory over time, native memory included, as Linux tells it. On other systems
 * nothing is known.
 */
final class ResidentMemory {

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String RESIDENT = "VmRSS:";
    private static final double MEGABYTE = 1024 * 1024;

    private record Sample(double minutes, double megabytes) {}

    private final List<Sample> samples = new ArrayList<>();

    /** Takes a sample, if the system tells. */
    void sample(long nanosSinceStart) throws IOException {
        if (Files.isReadable(STATUS)) {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith(RESIDENT)) {
                    // "VmRSS:     123456 kB"
                    long kilobytes = Long.parseLong(line.replaceAll("\\D", ""));
                    add(nanosSinceStart / 60e9, kilobytes * 1024 / MEGABYTE);
                }
            }
        }
    }

    /** Adds a sample that was taken. */
    void add(double minutes, double megabytes) {
        samples.add(new Sample(minutes, megabytes));
    }

    /** The latest sample, in MB. */
    String latest() {
        return samples.isEmpty()
                ? "unknown"
                : String.format(Locale.ROOT, "%.0f MB", samples.get(samples.size() - 1).megabytes);
    }

    /**
     * How it grew over the second half of the samples: the median of the slopes between any two of them (Theil and Sen), which a
     * few that stand out do not move.
     */
    String growth() {
        List<Sample> half = samples.subList(samples.size() / 2, samples.size());
        List<Double> slopes = new ArrayList<>();
        for (int i = 0; i < half.size(); i++) {
            for (int j = i + 1; j < half.size(); j++) {
                Sample from = half.get(i);
                Sample to = half.get(j);
                slopes.add((to.megabytes - from.megabytes) / (to.minutes - from.minutes));
            }
        }
        if (slopes.isEmpty()) {
            return "unknown";
        }
        slopes.sort(null);
        // the middle one, of an even number the upper
        return String.format(Locale.ROOT, "%+.1f MB per minute", slopes.get(slopes.size() / 2));
    }
}
