package io.github.djlpositional.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;

/**
 * What this process holds of the machine's memory over time, native memory included, as Linux tells it. On other
 * systems nothing is known.
 */
final class ResidentMemory {

    private static final Path STATUS = Path.of("/proc/self/status");
    private static final String RESIDENT = "VmRSS:";
    private static final double MEGABYTE = 1024 * 1024;

    /** Enough for a slope, and few enough for the slopes between any two of their half. Even. */
    private static final int MOST = 512;

    private final double[] minutes = new double[MOST];
    private final double[] megabytes = new double[MOST];
    private int kept;
    private long keptEvery = 1;
    private long added;
    private double latest = Double.NaN;

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

    /** Adds a sample that was taken, in equal distances of time. Over a long run fewer and fewer of them are kept. */
    void add(double minute, double megabyte) {
        latest = megabyte;
        if (added % keptEvery == 0) {
            if (kept == MOST) {
                keepEveryOther();
            }
            minutes[kept] = minute;
            megabytes[kept] = megabyte;
            kept++;
        }
        added++;
    }

    private void keepEveryOther() {
        kept = MOST / 2;
        for (int i = 0; i < kept; i++) {
            minutes[i] = minutes[2 * i];
            megabytes[i] = megabytes[2 * i];
        }
        keptEvery *= 2;
    }

    /** The latest sample, in MB. */
    String latest() {
        return Double.isNaN(latest) ? "unknown" : String.format(Locale.ROOT, "%.0f MB", latest);
    }

    /**
     * How it grew over the second half of the samples, in MB per minute, or NaN if there are too few: the median of the
     * slopes between any two of them (Theil and Sen), which a few that stand out do not move.
     */
    double growthPerMinute() {
        int from = kept / 2;
        int count = kept - from;
        double[] slopes = new double[count * (count - 1) / 2];
        int next = 0;
        for (int i = from; i < kept; i++) {
            for (int j = i + 1; j < kept; j++) {
                slopes[next++] = (megabytes[j] - megabytes[i]) / (minutes[j] - minutes[i]);
            }
        }
        Arrays.sort(slopes);
        // the middle one, of an even number the upper
        return slopes.length == 0 ? Double.NaN : slopes[slopes.length / 2];
    }

    /** That growth, and beside it what a median does not show: the last sample of that half minus the first. */
    String growth() {
        double perMinute = growthPerMinute();
        return Double.isNaN(perMinute)
                ? "unknown"
                : String.format(
                        Locale.ROOT,
                        "%+.1f MB per minute; from first to last %+.0f MB",
                        perMinute,
                        megabytes[kept - 1] - megabytes[kept / 2]);
    }
}
