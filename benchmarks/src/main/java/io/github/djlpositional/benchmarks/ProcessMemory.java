package io.github.djlpositional.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/** What Linux says of a process's memory; elsewhere it is unknown, and all numbers are 0. */
public final class ProcessMemory implements InternalProfiler {

    static final String FRESH_PAGES = "freshPages";
    static final String PEAK = "peakMemory";

    /** In {@code stat}, what follows the command's name, of which the 8th is the number of minor page faults. */
    private static final Pattern FAULTS = Pattern.compile("(?s).*\\)(?: \\S+){7} (\\d+).*");

    private long before;

    static boolean isKnown() {
        return Files.isReadable(Path.of("/proc/self/stat"));
    }

    /** How many pages this process has been given without reading a disk. */
    private static long pageFaults() {
        return number("/proc/self/stat", FAULTS);
    }

    static long residentMegabytes() {
        return number("/proc/self/status", Pattern.compile("(?s).*VmRSS:\\s+(\\d+).*")) >> 10;
    }

    /** The most megabytes that were resident at a time in a process, which still runs. */
    static long peakMegabytes(long processId) {
        return number("/proc/" + processId + "/status", Pattern.compile("(?s).*VmHWM:\\s+(\\d+).*")) >> 10;
    }

    private static long number(String file, Pattern pattern) {
        try {
            Matcher matcher = pattern.matcher(isKnown() ? Files.readString(Path.of(file)) : "");
            return matcher.matches() ? Long.parseLong(matcher.group(1)) : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public String getDescription() {
        return "The fresh pages of a call, and the peak memory of the process";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = pageFaults();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        double pages = pageFaults() - before;
        long peak = peakMegabytes(ProcessHandle.current().pid());
        return List.of(
                new ScalarResult(FRESH_PAGES, pages / result.getMetadata().getAllOps(), "pages", AggregationPolicy.AVG),
                new ScalarResult(PEAK, peak, "MB", AggregationPolicy.MAX));
    }
}
