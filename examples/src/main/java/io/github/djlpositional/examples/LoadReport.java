package io.github.djlpositional.examples;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.Locale;
import org.HdrHistogram.Histogram;

/** The table of a run under load: a row for each interval, and one for all. */
final class LoadReport {

    private static final double NANOS_PER_MILLI = 1e6;

    private final PrintWriter out;
    private final Histogram all = new Histogram(LoadClients.DIGITS);
    private BatchCount reported = new BatchCount(0, 0);

    LoadReport(PrintWriter out) {
        this.out = out;
        out.printf(
                "%-6s %10s %8s %8s %8s %8s %8s %8s %6s %9s%n",
                "time", "answers", "per s", "p50 ms", "p95 ms", "p99 ms", "p99.9 ms", "max ms", "batch", "memory");
        out.flush();
    }

    /**
     * Prints what an interval gave.
     *
     * @param elapsed since the start
     * @param seconds the length of the interval
     * @param latencies of the interval
     * @param batches since the start
     * @param memory until now
     */
    void addInterval(Duration elapsed, double seconds, Histogram latencies, BatchCount batches, ResidentMemory memory) {
        all.add(latencies);
        printRow(MinutesAndSeconds.of(elapsed), seconds, latencies, batches.since(reported), memory);
        reported = batches;
    }

    /** Prints what all gave, and ends the table. */
    void printAll(double seconds, ResidentMemory memory) {
        printRow("all", seconds, all, reported, memory);
    }

    private void printRow(String name, double seconds, Histogram latencies, BatchCount batches, ResidentMemory memory) {
        out.printf(
                Locale.ROOT,
                "%-6s %,10d %,8.0f %8.2f %8.2f %8.2f %8.2f %8.2f %6.1f %9s%n",
                name,
                latencies.getTotalCount(),
                latencies.getTotalCount() / seconds,
                latencies.getValueAtPercentile(50) / NANOS_PER_MILLI,
                latencies.getValueAtPercentile(95) / NANOS_PER_MILLI,
                latencies.getValueAtPercentile(99) / NANOS_PER_MILLI,
                latencies.getValueAtPercentile(99.9) / NANOS_PER_MILLI,
                latencies.getMaxValue() / NANOS_PER_MILLI,
                batches.meanSize(),
                memory.latest());
        out.flush();
    }
}
