package io.github.djlpositional.benchmarks;

import ai.djl.engine.Engine;
import io.github.djlpositional.benchmarks.Measurements.Case;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.openjdk.jmh.runner.RunnerException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures this library beside its peers, with every {@link Allocator}, and prints tables. */
@Command(
        name = "benchmarks",
        mixinStandardHelpOptions = true,
        versionProvider = BenchmarksVersion.class,
        sortOptions = false,
        description = "Measure this library beside what a user would pick instead.")
public final class Benchmarks implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "9",
            description = "How often everything is measured, in turns (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--seconds",
            paramLabel = "S",
            defaultValue = "0.3",
            description = "How long each thing is measured in a round (default: ${DEFAULT-VALUE}).")
    private double seconds;

    @Option(
            names = "--threads",
            paramLabel = "N",
            defaultValue = "2",
            description = "The engines' threads, and Python's (default: ${DEFAULT-VALUE}).")
    private int threads;

    @Option(
            names = "--python",
            paramLabel = "COMMAND",
            description = {
                "A Python that has torch (default: the first python3 on the path that has it).",
                "Without one, the columns of Python are left out."
            })
    private String python;

    @Option(
            names = "--only",
            paramLabel = "GROUP",
            split = ",",
            description = "Of ${COMPLETION-CANDIDATES}, those to measure (default: all).")
    private List<Table> only;

    @Option(
            names = "--shape",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "Only rows whose shape and kind contain the text, such as 1x1024x512:fire (default: all).")
    private String shape;

    @Option(
            names = "--allocator",
            paramLabel = "SETTING",
            split = ",",
            description = "Of ${COMPLETION-CANDIDATES}, those to measure with (default: all).")
    private List<Allocator> allocators;

    @Option(
            names = "--smoke",
            description =
                    "Everything once, for a moment, and smaller: shows that it runs, and says nothing about speed.")
    private boolean smoke;

    @Option(
            names = "--in-this-process",
            description = {
                "Measure here and now, with the allocator as it is, instead of in a process for each setting.",
                "Without MXNET_ENGINE_TYPE=NaiveEngine in the environment, the times of MXNet mean nothing:",
                "it returns before it has computed."
            })
    private boolean inThisProcess;

    /**
     * Runs the program.
     *
     * @param args its options; {@code --help} lists them
     */
    public static void main(String[] args) {
        System.setProperty("OPT_OUT_TRACKING", "true");
        System.exit(commandLine(args).execute(args));
    }

    static CommandLine commandLine(String... args) {
        Benchmarks benchmarks = new Benchmarks();
        benchmarks.args = List.of(args);
        return new CommandLine(benchmarks).setCaseInsensitiveEnumValuesAllowed(true);
    }

    private List<String> args = List.of();

    @Override
    public Integer call() throws Exception {
        require(rounds >= 1, "--rounds " + rounds + " is too small: give 1 or more");
        require(threads >= 1, "--threads " + threads + " is too small: give 1 or more");
        // an hour is more than anyone waits for, and less than what a time can hold
        require(seconds > 0 && seconds <= 3600, "--seconds " + seconds + " is outside (0, 3600]: give such as 0.3");
        if (inThisProcess) {
            measure(System.out, System.err);
            return 0;
        }
        int status = 0;
        for (Allocator allocator : allocators == null ? List.of(Allocator.values()) : allocators) {
            System.out.printf("%n### %s%n%n", allocator.title());
            status = Math.max(status, child(allocator));
        }
        return status;
    }

    private void require(boolean holds, String message) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), message);
        }
    }

    private int child(Allocator allocator) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-cp",
                System.getProperty("java.class.path"),
                Benchmarks.class.getName(),
                "--in-this-process"));
        command.addAll(args);
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        allocator.applyTo(builder.environment());
        // without it MXNet returns before it has computed
        builder.environment().put("MXNET_ENGINE_TYPE", "NaiveEngine");
        builder.environment().put("OMP_NUM_THREADS", Integer.toString(threads));
        return builder.start().waitFor();
    }

    private void measure(PrintStream out, PrintStream progress) throws IOException, RunnerException {
        if (smoke) {
            rounds = 1;
            seconds = 0.001;
        }
        Engine.getEngine("PyTorch");
        try (PythonPeers peers = python == null
                ? PythonPeers.startFirst(System.getenv("PATH"), threads)
                : PythonPeers.start(python, threads)) {
            if (peers == null) {
                out.printf(
                        "%s: the columns of Python are left out%n",
                        python == null ? "no python3 on the path has torch" : python + " has no torch");
            }
            out.printf(
                    Locale.ROOT,
                    "%s %s, %d threads, %s; PyTorch %s, %s; %s; median of %d rounds of %.1f s, in µs%n",
                    System.getProperty("os.name"),
                    System.getProperty("os.arch"),
                    threads,
                    "JDK " + Runtime.version(),
                    Engine.getEngine("PyTorch").getVersion(),
                    Setting.hasMxnet() ? "MXNet " + Engine.getEngine("MXNet").getVersion() : "no MXNet",
                    peers == null ? "no Python" : peers.version(),
                    rounds,
                    seconds);
            for (Table table : only == null ? List.of(Table.values()) : only) {
                if (table.needsGpu() && !smoke && !Setting.hasGpu("PyTorch")) {
                    out.printf("%nPyTorch finds no GPU here: the table %s is left out%n", table);
                    continue;
                }
                if (table.isMemory() && !ProcessMemory.isKnown()) {
                    out.printf("%nOnly Linux says how much memory a process needs: the table %s is left out%n", table);
                    continue;
                }
                Measurements measurements = new Measurements(seconds, peers, progress);
                List<Case> cases = table.cases(smoke, shape).stream()
                        .filter(each -> peers != null || !each.isPython())
                        .filter(each -> Setting.hasMxnet() || !each.engine().equals("MXNet"))
                        .toList();
                if (cases.isEmpty()) {
                    continue;
                }
                if (table.isMemory()) {
                    measurements.peakMemory(cases);
                }
                for (int round = 0; round < rounds && !table.isMemory(); round++) {
                    measurements.round(cases);
                }
                table.print(out, measurements, smoke, shape);
                if (ProcessMemory.isKnown() && !table.isMemory()) {
                    out.printf(Locale.ROOT, "%nResident memory: %d MB%n", ProcessMemory.residentMegabytes());
                }
                out.flush();
            }
        }
    }
}
