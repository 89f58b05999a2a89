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

    /** How it grew over the second half of the samples: the slope of the line of least squares through them. */
    String growth() {
        List<Sample> half = samples.subList(samples.size() / 2, samples.size());
        if (half.size() < 2) {
            return "unknown";
        }
        double meanMinutes =
                half.stream().mapToDouble(Sample::minutes).average().orElseThrow();
        double meanMegabytes =
                half.stream().mapToDouble(Sample::megabytes).average().orElseThrow();
        double covariance = half.stream()
                .mapToDouble(each -> (each.minutes - meanMinutes) * (each.megabytes - meanMegabytes))
                .sum();
        double variance = half.stream()
                .mapToDouble(each -> Math.pow(each.minutes - meanMinutes, 2))
                .sum();
        return String.format(Locale.ROOT, "%+.1f MB per minute", covariance / variance);
    }
}
