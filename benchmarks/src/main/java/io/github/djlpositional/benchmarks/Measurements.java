package io.github.djlpositional.benchmarks;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.profile.Profiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Times of many things, taken in turns: each round measures everything once, so that whatever else the machine does
 * falls on all of them alike. A ratio is taken within each round.
 */
final class Measurements {

    /** As little time as a thing can be run for, in seconds. */
    private static final double MOMENT = 0.001;

    private final double seconds;
    private final PythonPeers python;
    private final PrintStream progress;
    private final Map<Case, List<Double>> times = new LinkedHashMap<>();

    Measurements(double seconds, PythonPeers python, PrintStream progress) {
        this.seconds = seconds;
        this.python = python;
        this.progress = progress;
    }

    /**
     * One thing to measure.
     *
     * @param group a JMH class of this package, or {@code python}
     * @param name its method, or the peer's case
     * @param engine the engine; none for Python
     * @param shape the shape; none where there is but one
     */
    record Case(String group, String name, String engine, String shape) {

        boolean isPython() {
            return group.equals("python");
        }
    }

    /** Measures everything once. */
    void round(List<Case> cases) throws RunnerException {
        for (Case each : cases) {
            double time = each.isPython()
                    ? python.time(each.name(), each.shape(), seconds)
                    : run(each).getPrimaryResult().getScore();
            times.computeIfAbsent(each, key -> new ArrayList<>()).add(time);
            progress.print('.');
            progress.flush();
        }
        progress.println();
    }

    /** Measures the peak memory of everything, each in a process of its own. */
    void peakMemory(List<Case> cases) throws IOException, RunnerException {
        for (Case each : cases) {
            double megabytes = each.isPython() ? pythonPeak(each) : ownPeak(each);
            times.put(each, List.of(megabytes));
            progress.print('.');
            progress.flush();
        }
        progress.println();
    }

    private double pythonPeak(Case of) throws IOException {
        try (PythonPeers process = python.another()) {
            process.time(of.name(), of.shape(), MOMENT);
            return process.peakMegabytes();
        }
    }

    private static double ownPeak(Case of) throws RunnerException {
        ChainedOptionsBuilder options = options(of, 1, MOMENT).forks(1).addProfiler(PeakMemoryProfiler.class);
        RunResult result = new Runner(options.build()).runSingle();
        return result.getSecondaryResults().get(PeakMemoryProfiler.NAME).getScore();
    }

    /**
     * What a call costs beside its time.
     *
     * @param garbage bytes of Java objects
     * @param pageFaults fresh pages of memory
     */
    record Cost(double garbage, double pageFaults) {}

    Cost cost(Case of) throws RunnerException {
        RunResult result = run(of, GCProfiler.class, PageFaultProfiler.class);
        return new Cost(
                result.getSecondaryResults().get("gc.alloc.rate.norm").getScore(),
                result.getSecondaryResults().get(PageFaultProfiler.NAME).getScore());
    }

    @SafeVarargs
    private RunResult run(Case of, Class<? extends Profiler>... profilers) throws RunnerException {
        boolean isFirst = !times.containsKey(of);
        ChainedOptionsBuilder options = options(of, isFirst ? 3 : 1, seconds).forks(0);
        for (Class<? extends Profiler> profiler : profilers) {
            options.addProfiler(profiler);
        }
        return new Runner(options.build()).runSingle();
    }

    private static ChainedOptionsBuilder options(Case of, int warmUps, double seconds) {
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("^" + Pattern.quote(AddBenchmark.class.getPackageName() + "." + of.group() + "." + of.name())
                        + "$")
                .param("engine", of.engine())
                .warmupIterations(warmUps)
                .warmupTime(TimeValue.milliseconds(Math.max(1, (long) (500 * seconds))))
                .measurementIterations(1)
                .measurementTime(TimeValue.milliseconds(Math.max(1, (long) (1000 * seconds))))
                .shouldFailOnError(true)
                .verbosity(VerboseMode.SILENT);
        if (!of.shape().isEmpty()) {
            options.param("shape", of.shape());
        }
        return options;
    }

    boolean has(Case of) {
        return times.containsKey(of);
    }

    /** The median time, in microseconds, or the peak memory, in megabytes. */
    double median(Case of) {
        return median(times.get(of));
    }

    /** The median over the rounds of one time over another. */
    double ratio(Case of, Case to) {
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < times.get(of).size(); round++) {
            ratios.add(times.get(of).get(round) / times.get(to).get(round));
        }
        return median(ratios);
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = Math.floorDiv(sorted.size(), 2);
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
