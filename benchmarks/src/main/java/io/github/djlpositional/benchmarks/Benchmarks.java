package io.github.djlpositional.benchmarks;

import ai.djl.engine.Engine;
import io.github.djlpositional.examples.Check;
import io.github.djlpositional.examples.Program;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.openjdk.jmh.runner.RunnerException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Measures this library and what it is compared with, with every {@link Allocator}, and prints tables. */
@Command(
        name = "benchmarks",
        mixinStandardHelpOptions = true,
        versionProvider = Program.class,
        sortOptions = false,
        showDefaultValues = true,
        description = "Measure this library and its alternatives in turns, and print tables.")
public final class Benchmarks implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(names = "--rounds", description = "How often every case is measured, in turns.")
    private int rounds = 9;

    @Option(names = "--seconds", description = "How long each case is measured in a round.")
    private double seconds = 0.3;

    @Option(names = "--threads", description = "The number of threads of the engines and of Python.")
    private int threads = 2;

    @Option(names = "--python", description = "A Python with torch; without it, its columns are omitted.")
    private String python = "python3";

    @Option(names = "--only", split = ",", description = "The tables to measure: ${COMPLETION-CANDIDATES}.")
    private List<Table> only = List.of(Table.values());

    @Option(names = "--row", description = "A text in the first cell of the rows to measure, such as fire or 1024.")
    private String row = "";

    @Option(names = "--allocator", split = ",", description = "The allocators: ${COMPLETION-CANDIDATES}.")
    private List<Allocator> allocators = List.of(Allocator.values());

    @Option(names = "--csv", description = "A folder for a CSV of each table, in a folder for each allocator.")
    private Path folder;

    @Option(names = "--quick", description = "Runs every case briefly with small shapes; the times mean nothing.")
    private boolean quick;

    @Option(
            names = "--in-this-process",
            description = "Measure in this process, with its allocator; set"
                    + " MXNET_ENGINE_TYPE=NaiveEngine, or MXNet returns before it has computed the result.")
    private boolean inThisProcess;

    /**
     * Runs the program.
     *
     * @param args its options; {@code --help} lists them
     */
    public static void main(String[] args) {
        Program.optOutOfTracking();
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return Program.commandLine(new Benchmarks());
    }

    @Override
    public Integer call() throws Exception {
        Program.checkOptions(spec, this::checkOptions);
        PrintWriter out = spec.commandLine().getOut();
        if (inThisProcess) {
            measure(out);
            return 0;
        }
        int status = 0;
        for (Allocator allocator : allocators) {
            out.printf("%n### %s%n%n", allocator.title());
            status = Math.max(status, child(allocator));
        }
        return status;
    }

    private void checkOptions() {
        Check.positive("--rounds", rounds);
        Check.positive("--threads", threads);
        // an hour is more than anyone waits for, and less than what a time can hold
        Check.that(
                seconds > 0 && seconds <= 3600,
                () -> "--seconds " + seconds + ": expected more than 0 and at most 3600; set it to 0.3, for example");
    }

    private int child(Allocator allocator) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-cp",
                System.getProperty("java.class.path"),
                "-Dallocator=" + allocator.name().toLowerCase(Locale.ROOT),
                Benchmarks.class.getName(),
                "--in-this-process"));
        command.addAll(spec.commandLine().getParseResult().originalArgs());
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        allocator.applyTo(builder.environment());
        // without it MXNet returns before it has computed
        builder.environment().put("MXNET_ENGINE_TYPE", "NaiveEngine");
        builder.environment().put("OMP_NUM_THREADS", Integer.toString(threads));
        return builder.start().waitFor();
    }

    private void measure(PrintWriter out) throws IOException, RunnerException {
        if (quick) {
            rounds = 1;
            seconds = 0.001;
        }
        try (PythonPeers peers = PythonPeers.start(python, threads)) {
            out.printf(
                    Locale.ROOT,
                    "%s %s, %d threads, JDK %s; PyTorch %s, %s; %s; median of %d rounds of %.1f s, in µs%n",
                    System.getProperty("os.name"),
                    System.getProperty("os.arch"),
                    threads,
                    Runtime.version(),
                    Engine.getEngine(Case.PYTORCH).getVersion(),
                    Setting.hasMxnet() ? "MXNet " + Engine.getEngine(Case.MXNET).getVersion() : "no MXNet",
                    peers == null ? python + " has no torch: its columns are omitted" : peers.version(),
                    rounds,
                    seconds);
            for (Table table : only) {
                measure(table, peers, out);
            }
        }
    }

    private void measure(Table table, PythonPeers peers, PrintWriter out) throws IOException, RunnerException {
        if (table.needsGpu() && !quick && !Setting.hasGpu()) {
            out.printf("%nPyTorch finds no GPU: the table %s is omitted%n", table);
            return;
        }
        if (table.isMemory() && !ProcessMemory.isKnown()) {
            out.printf("%nPeak memory is measured on Linux only: the table %s is omitted%n", table);
            return;
        }
        List<Row> rows = quick ? table.quickRows() : table.rows(row);
        Set<Case> cases = rows.stream()
                .flatMap(Row::cases)
                .filter(each -> peers != null || !each.isPython())
                .filter(each -> Setting.hasMxnet() || !each.engine().equals(Case.MXNET))
                .collect(Collectors.toCollection(LinkedHashSet::new));
        if (cases.isEmpty()) {
            return;
        }
        Measurements measurements = new Measurements(seconds, peers);
        if (table.isMemory()) {
            measurements.peakMemory(cases);
        } else {
            for (int round = 0; round < rounds; round++) {
                measurements.times(cases);
            }
        }
        Report report = Report.of(table, rows, measurements);
        out.printf("%n#### %s%n%n%s", table.title(), report.markdown());
        if (folder != null) {
            Path ofAllocator = folder.resolve(System.getProperty("allocator", ""));
            Files.writeString(Files.createDirectories(ofAllocator).resolve(table.name() + ".csv"), report.csv());
        }
        if (ProcessMemory.isKnown() && !table.isMemory()) {
            out.printf(Locale.ROOT, "%nResident memory: %d MB%n", ProcessMemory.residentMegabytes());
        }
    }
}
