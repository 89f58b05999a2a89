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

/** Counts the fresh pages that a call makes the system map, and fill with zeros. */
public final class PageFaultProfiler implements InternalProfiler {

    static final String NAME = "pageFaults";

    private long before;

    @Override
    public String getDescription() {
        return "Fresh pages of memory for each call";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = faults();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        double faults = faults() - before;
        return List.of(
                new ScalarResult(NAME, faults / result.getMetadata().getAllOps(), "pages", AggregationPolicy.AVG));
    }

    private static long faults() {
        try {
            return ProcessMemory.isKnown() ? ProcessMemory.pageFaults() : 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
