package io.github.djlpositional;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The memory of this process over time: its slope and its scatter in the second half. */
final class SoakMemory {

    private record Sample(double minutes, double megabytes) {}

    private static final double MEGABYTE = 1 << 20;

    private final long start = System.nanoTime();
    private final List<Sample> samples = new ArrayList<>();

    /** Takes a sample after a garbage collection. */
    void sample() throws IOException {
        double minutes = (System.nanoTime() - start) / 60e9;
        add(minutes, ResidentMemory.bytes() / MEGABYTE);
    }

    void add(double minutes, double megabytes) {
        samples.add(new Sample(minutes, megabytes));
    }

    private List<Sample> secondHalf() {
        return samples.subList(samples.size() / 2, samples.size());
    }

    /**
     * The slope in MB per minute: the median of the slopes between all pairs of samples (Theil and Sen), which is
     * robust to outliers.
     */
    double slope() {
        List<Sample> half = secondHalf();
        List<Double> slopes = new ArrayList<>();
        for (int i = 0; i < half.size(); i++) {
            for (int j = i + 1; j < half.size(); j++) {
                Sample from = half.get(i);
                Sample to = half.get(j);
                slopes.add((to.megabytes - from.megabytes) / (to.minutes - from.minutes));
            }
        }
        return median(slopes);
    }

    /** The MB by which memory grows over the second half. */
    double rise() {
        List<Sample> half = secondHalf();
        return slope() * (half.get(half.size() - 1).minutes - half.get(0).minutes);
    }

    /** The MB between the samples that are farthest above and below the line through the second half. */
    double scatter() {
        double slope = slope();
        double[] off = secondHalf().stream()
                .mapToDouble(sample -> sample.megabytes - slope * sample.minutes)
                .sorted()
                .toArray();
        return off[off.length - 1] - off[0];
    }

    /** The latest sample, in MB. */
    double latest() {
        return samples.get(samples.size() - 1).megabytes;
    }

    private static double median(List<Double> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }
}
