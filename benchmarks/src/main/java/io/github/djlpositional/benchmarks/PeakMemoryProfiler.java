package io.github.djlpositional.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/** The most memory that the process has needed so far. */
public final class PeakMemoryProfiler implements InternalProfiler {

    static final String NAME = "peakMemory";

    @Override
    public String getDescription() {
        return "The most memory that the process has needed";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        // the system counts it from the start of the process
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        try {
            return List.of(new ScalarResult(NAME, ProcessMemory.peakMegabytes(), "MB", AggregationPolicy.MAX));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
