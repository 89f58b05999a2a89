package io.github.djlpositional.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The resident memory of this process over time, native memory included. Only Linux reports it. */
final class ResidentMemory {

    private static final Path STATUS = Path.of("/proc/self/status");

    /** Enough samples for a slope, and few enough to compare every pair. */
    private static final int COMPARED = 256;

    private record Sample(double minute, double megabytes) {}

    private final List<Sample> samples = new ArrayList<>();

    /** Takes a sample, if the system reports the resident memory. */
    void sample(long nanosSinceStart) throws IOException {
        if (Files.isReadable(STATUS)) {
            for (String line : Files.readAllLines(STATUS)) {
                // "VmRSS:     123456 kB"
                if (line.startsWith("VmRSS:")) {
                    add(nanosSinceStart / 60e9, Long.parseLong(line.replaceAll("\\D", "")) / 1024.0);
                }
            }
        }
    }

    /** Adds a sample. */
    void add(double minute, double megabytes) {
        samples.add(new Sample(minute, megabytes));
    }

    /** Returns the latest sample as text, in MB. */
    String latest() {
        return samples.isEmpty()
                ? "unknown"
                : String.format(Locale.ROOT, "%.0f MB", samples.get(samples.size() - 1).megabytes);
    }

    /**
     * Returns the growth over the second half of the samples in MB per minute, or NaN if there are too few samples: the
     * median of the slopes between any two of them (Theil and Sen), which a few outliers do not change.
     */
    double growthPerMinute() {
        List<Sample> half = samples.subList(samples.size() / 2, samples.size());
        int step = Math.max(1, half.size() / COMPARED);
        List<Double> slopes = new ArrayList<>();
        for (int i = 0; i < half.size(); i += step) {
            for (int j = i + step; j < half.size(); j += step) {
                Sample from = half.get(i);
                Sample to = half.get(j);
                slopes.add((to.megabytes - from.megabytes) / (to.minute - from.minute));
            }
        }
        slopes.sort(null);
        return slopes.isEmpty() ? Double.NaN : slopes.get(slopes.size() / 2);
    }

    /** Returns the growth as text, with the difference between the last and the first sample of the second half. */
    String growth() {
        double perMinute = growthPerMinute();
        return Double.isNaN(perMinute)
                ? "unknown"
                : String.format(
                        Locale.ROOT,
                        "%+.1f MB per minute; from first to last %+.0f MB",
                        perMinute,
                        samples.get(samples.size() - 1).megabytes - samples.get(samples.size() / 2).megabytes);
    }
}
