package io.github.djlpositional.examples;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** The table of a run under load: one row for each interval, and one for the whole run. */
final class LoadReport {

    private final PrintWriter out;
    private final Histogram all = new Histogram(LoadClients.DIGITS);
    private final Histogram allBatches = new Histogram(LoadClients.DIGITS);

    LoadReport(PrintWriter out) {
        this.out = out;
        out.printf(
                "%-6s %10s %8s %8s %8s %8s %8s %8s %6s %9s%n",
                "time", "answers", "per s", "p50 ms", "p95 ms", "p99 ms", "p99.9 ms", "max ms", "batch", "memory");
    }

    /** Prints the row of an interval, with its latencies in nanoseconds and the sizes of its batches. */
    void addInterval(
            Duration elapsed, double seconds, Histogram latencies, Histogram batchSizes, ResidentMemory memory) {
        all.add(latencies);
        allBatches.add(batchSizes);
        printRow(Progress.minutesAndSeconds(elapsed), seconds, latencies, batchSizes, memory);
    }

    /** Prints the row of the whole run. */
    void printAll(double seconds, ResidentMemory memory) {
        printRow("all", seconds, all, allBatches, memory);
    }

    private void printRow(
            String name, double seconds, Histogram latencies, Histogram batchSizes, ResidentMemory memory) {
        long answers = latencies.getTotalCount();
        out.printf(Locale.ROOT, "%-6s %,10d %,8.0f", name, answers, answers / seconds);
        for (double percentile : new double[] {50, 95, 99, 99.9, 100}) {
            out.printf(Locale.ROOT, " %8.2f", latencies.getValueAtPercentile(percentile) / 1e6);
        }
        out.printf(Locale.ROOT, " %6.1f %9s%n", batchSizes.getMean(), memory.latest());
    }
}
