package io.github.djlpositional.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/** Reports the most memory that a fork has had, in MB, including the JVM and the engine; on Linux only. */
public final class PeakMemory implements InternalProfiler {

    private static final Path STATUS = Path.of("/proc/self/status");

    @Override
    public String getDescription() {
        return "Peak of the resident memory of the process";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        // the peak is that of the process, from its start
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        return Files.isReadable(STATUS)
                ? List.of(new ScalarResult("peakMemory", megabytes("VmHWM"), "MB", AggregationPolicy.MAX))
                : List.of();
    }

    /** A line of the status of this process, in MB. */
    static double megabytes(String name) {
        try {
            return Files.readAllLines(STATUS).stream()
                    .filter(line -> line.startsWith(name + ":"))
                    .mapToDouble(line -> Double.parseDouble(line.replaceAll("\\D", "")) / 1024)
                    .sum();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
