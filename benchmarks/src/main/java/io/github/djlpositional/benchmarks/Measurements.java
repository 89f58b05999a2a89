package io.github.djlpositional.benchmarks;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Times of cases that take turns: each round measures every case once, so that other load on the machine affects all of
 * them. A ratio is taken within each round.
 */
final class Measurements {

    /** As little time as a case can be run for, in seconds. */
    private static final double MOMENT = 0.001;

    private final double seconds;
    private final PythonPeers python;
    private final Map<Case, List<Double>> values = new LinkedHashMap<>();

    Measurements(double seconds, PythonPeers python) {
        this.seconds = seconds;
        this.python = python;
    }

    /** Measures the time of every case once. */
    void times(Collection<Case> cases) throws IOException, RunnerException {
        for (Case each : cases) {
            double time = each.isPython()
                    ? python.time(each, seconds)
                    : run(options(each, values.containsKey(each) ? 1 : 3, seconds)
                                    .forks(0))
                            .getPrimaryResult()
                            .getScore();
            add(each, time);
        }
        System.err.println();
    }

    /** Measures the peak memory of every case, each in a process of its own. */
    void peakMemory(Collection<Case> cases) throws IOException, RunnerException {
        for (Case each : cases) {
            add(each, each.isPython() ? pythonPeak(each) : ownPeak(each));
        }
        System.err.println();
    }

    private void add(Case measured, double value) {
        values.computeIfAbsent(measured, key -> new ArrayList<>()).add(value);
        System.err.print('.');
    }

    private double pythonPeak(Case measured) throws IOException {
        try (PythonPeers process = PythonPeers.start(python.python(), python.threads())) {
            process.time(measured, MOMENT);
            return ProcessMemory.peakMegabytes(process.process().pid());
        }
    }

    private static double ownPeak(Case measured) throws RunnerException {
        return secondary(
                run(options(measured, 1, MOMENT).forks(1).addProfiler(ProcessMemory.class)), ProcessMemory.PEAK);
    }

    /**
     * What a call costs beside its time.
     *
     * @param garbage bytes of Java objects
     * @param freshPages pages of memory that the system maps
     */
    record Cost(double garbage, double freshPages) {}

    Cost cost(Case measured) throws RunnerException {
        RunResult result = run(options(measured, 1, seconds)
                .forks(0)
                .addProfiler(GCProfiler.class)
                .addProfiler(ProcessMemory.class));
        return new Cost(secondary(result, "gc.alloc.rate.norm"), secondary(result, ProcessMemory.FRESH_PAGES));
    }

    private static double secondary(RunResult result, String name) {
        return result.getSecondaryResults().get(name).getScore();
    }

    private static RunResult run(ChainedOptionsBuilder options) throws RunnerException {
        return new Runner(options.build()).runSingle();
    }

    private static ChainedOptionsBuilder options(Case measured, int warmUps, double seconds) {
        return new OptionsBuilder()
                .include(CaseBenchmark.class.getName())
                .param("measured", measured.toString())
                .operationsPerInvocation(measured.operation().calls())
                .warmupIterations(warmUps)
                .warmupTime(TimeValue.milliseconds(Math.max(1, (long) (500 * seconds))))
                .measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(Math.max(1, (long) (1000 * seconds))))
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT);
    }

    boolean has(Case measured) {
        return values.containsKey(measured);
    }

    /** The median time, in microseconds, or the peak memory, in megabytes. */
    double median(Case measured) {
        return median(values.get(measured));
    }

    /** The median over the rounds of one time over another. */
    double ratio(Case measured, Case to) {
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < values.get(measured).size(); round++) {
            ratios.add(values.get(measured).get(round) / values.get(to).get(round));
        }
        return median(ratios);
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = Math.floorDiv(sorted.size(), 2);
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
