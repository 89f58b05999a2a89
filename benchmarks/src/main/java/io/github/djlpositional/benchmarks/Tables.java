package io.github.djlpositional.benchmarks;

import ai.djl.util.JsonUtils;
import com.google.gson.reflect.TypeToken;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.openjdk.jmh.util.ListStatistics;

/**
 * Writes the results of JMH, and those of {@code peers.py} in the same form, as tables: one for each class, with a row
 * for each combination of parameters and a column for each method.
 *
 * <p>A process is one observation: the mean of its iterations. Intervals are Student's, of 95 %, over the processes;
 * that of a ratio is over the logarithms of the ratios of processes that ran in the same turn.
 *
 * @param tables the tables by the name of the class
 */
record Tables(Map<String, Table> tables) {

    private static final String LIBRARY = "library";
    private static final String SHAPE = "shape";
    private static final double CONFIDENCE = 0.95;

    /** A result in a file of JMH. */
    private record Result(
            String benchmark, Map<String, String> params, Metric primaryMetric, Map<String, Metric> secondaryMetrics) {

        String[] names() {
            String[] names = benchmark.split("\\.", -1);
            return new String[] {names[names.length - 2], names[names.length - 1]};
        }

        boolean isLibrary() {
            return names()[1].equals(LIBRARY);
        }
    }

    /** Values by process and iteration. */
    private record Metric(double score, List<List<Double>> rawData) {}

    /** The processes of a method with some parameters: the mean time of each, and the other metrics of the last one. */
    private record Cell(List<Double> times, Map<String, Metric> others) {

        String time() {
            ListStatistics statistics = statistics(times.stream());
            double error = statistics.getMeanErrorAt(CONFIDENCE);
            String time = text("%,.1f", statistics.getMean());
            return Double.isNaN(error) ? time : time + text(" ± %.0f %%", 100 * error / statistics.getMean());
        }

        Ratio over(Cell other) {
            List<Double> logarithms = new ArrayList<>();
            for (int turn = 0; turn < Math.min(times.size(), other.times.size()); turn++) {
                logarithms.add(Math.log(times.get(turn) / other.times.get(turn)));
            }
            ListStatistics statistics = statistics(logarithms.stream());
            return new Ratio(statistics.getMean(), statistics.getMeanErrorAt(CONFIDENCE));
        }

        String other(String name) {
            Metric metric = others == null ? null : others.get(name);
            return metric == null ? "" : text("%.0f", metric.score());
        }
    }

    /** A mean of logarithms, and the error of the mean; NaN where there are too few. */
    private record Ratio(double mean, double error) {

        boolean isAbove1() {
            return mean > (Double.isNaN(error) ? 0 : error);
        }

        @Override
        public String toString() {
            String ratio = text("%.2f", Math.exp(mean));
            String interval =
                    Double.isNaN(error) ? "" : text(" (%.2f–%.2f)", Math.exp(mean - error), Math.exp(mean + error));
            return (isAbove1() ? "**" + ratio + "**" : ratio) + interval;
        }
    }

    /**
     * A table.
     *
     * @param params the names of the parameters that are shown
     * @param rows the cells by the values of these parameters and by the method
     */
    private record Table(List<String> params, Map<List<String>, Map<String, Cell>> rows) {

        static Table of(List<Result> results) {
            Map<String, Set<String>> values = new LinkedHashMap<>();
            results.forEach(result -> result.params()
                    .forEach((name, value) ->
                            values.computeIfAbsent(name, key -> new TreeSet<>()).add(value)));
            List<String> params = values.keySet().stream()
                    .filter(name -> values.get(name).size() > 1 || name.equals(SHAPE))
                    .toList();
            Map<List<String>, Map<String, Cell>> rows = new LinkedHashMap<>();
            // JMH's order of the parameters of the library's method
            Stream.concat(
                            results.stream().filter(Result::isLibrary),
                            results.stream().filter(result -> !result.isLibrary()))
                    .forEach(result -> {
                        List<String> row = params.stream()
                                .map(name -> label(result.params().get(name)))
                                .toList();
                        Cell cell = rows.computeIfAbsent(row, key -> new TreeMap<>())
                                .computeIfAbsent(
                                        result.names()[1],
                                        key -> new Cell(new ArrayList<>(), result.secondaryMetrics()));
                        result.primaryMetric()
                                .rawData()
                                .forEach(iterations -> cell.times()
                                        .add(statistics(iterations.stream()).getMean()));
                    });
            return new Table(params, rows);
        }

        /** 8x256 as 8 × 256, and TRANSFORMER_XL as transformer xl. */
        private static String label(String value) {
            return value.replaceAll("(?<=\\d)x(?=\\d)", " × ").replace('_', ' ').toLowerCase(Locale.ROOT);
        }

        private Collection<String> peers() {
            Set<String> methods = new TreeSet<>();
            rows.values().forEach(cells -> methods.addAll(cells.keySet()));
            methods.remove(LIBRARY);
            return methods;
        }

        String markdown() {
            Collection<String> peers = peers();
            List<String> header = new ArrayList<>(params);
            peers.forEach(header::add);
            header.add("**" + LIBRARY + "**");
            peers.forEach(peer -> header.add("÷ " + peer));
            header.addAll(List.of("garbage, bytes", "peak, MB"));
            List<List<String>> lines = new ArrayList<>(List.of(header, Collections.nCopies(header.size(), "---")));
            rows.forEach((values, cells) -> {
                Cell own = cells.get(LIBRARY);
                List<String> line = new ArrayList<>(values);
                peers.forEach(peer ->
                        line.add(cells.containsKey(peer) ? cells.get(peer).time() : ""));
                line.add(own == null ? "" : own.time());
                peers.forEach(peer -> line.add(
                        own == null || !cells.containsKey(peer)
                                ? ""
                                : own.over(cells.get(peer)).toString()));
                line.add(own == null ? "" : own.other("gc.alloc.rate.norm"));
                line.add(own == null ? "" : own.other("peakMemory"));
                lines.add(line);
            });
            return Tables.markdown(lines);
        }

        /** A line for each ratio above 1: the table, its row, the other column and the ratio. */
        Stream<List<String>> slower(String title) {
            return rows.entrySet().stream().flatMap(row -> {
                Map<String, Cell> cells = row.getValue();
                return cells.keySet().stream()
                        .filter(peer -> !peer.equals(LIBRARY) && cells.containsKey(LIBRARY))
                        .filter(peer -> cells.get(LIBRARY).over(cells.get(peer)).isAbove1())
                        .map(peer -> List.of(
                                title,
                                String.join(", ", row.getKey()),
                                peer,
                                cells.get(LIBRARY).over(cells.get(peer)).toString()));
            });
        }
    }

    /** Reads files of results; those of a turn come before those of the next one. */
    static Tables of(List<Path> files) throws IOException {
        Map<String, List<Result>> results = new TreeMap<>();
        for (Path file : files) {
            for (Result result : JsonUtils.GSON.fromJson(Files.readString(file), new TypeToken<List<Result>>() {})) {
                results.computeIfAbsent(result.names()[0], key -> new ArrayList<>())
                        .add(result);
            }
        }
        Map<String, Table> tables = new LinkedHashMap<>();
        results.forEach((name, all) -> tables.put(name, Table.of(all)));
        return new Tables(tables);
    }

    /** The tables as Markdown. */
    String text() {
        StringBuilder text = new StringBuilder();
        tables.forEach((name, table) ->
                text.append("\n### ").append(title(name)).append("\n\n").append(table.markdown()));
        List<List<String>> slower = new ArrayList<>(
                List.of(List.of("benchmark", "row", "compared with", "ratio"), Collections.nCopies(4, "---")));
        tables.forEach((name, table) -> table.slower(title(name)).forEach(slower::add));
        return text + "\n## Where the library is slower\n\n"
                + (slower.size() == 2 ? "Nowhere by more than the interval.\n" : markdown(slower));
    }

    /** AttentionTrainingBenchmark as Attention training. */
    private static String title(String name) {
        String words = name.replace("Benchmark", "").replaceAll("(?<=[a-z])(?=[A-Z])", " ");
        return words.charAt(0) + words.substring(1).toLowerCase(Locale.ROOT);
    }

    private static String markdown(List<List<String>> lines) {
        return lines.stream()
                .map(cells -> cells.stream()
                        .map(cell -> cell.isEmpty() ? " |" : " " + cell + " |")
                        .collect(Collectors.joining("", "|", "\n")))
                .collect(Collectors.joining());
    }

    private static ListStatistics statistics(Stream<Double> values) {
        return new ListStatistics(values.mapToDouble(Double::doubleValue).toArray());
    }

    private static String text(String format, Object... values) {
        return String.format(Locale.ROOT, format, values);
    }

    /**
     * Prints the page of results of a run.
     *
     * @param args the folder that {@code benchmarks/run} has written
     */
    public static void main(String[] args) throws IOException {
        Path folder = Path.of(args[0]);
        try (Stream<Path> files = Files.walk(folder)) {
            Tables tables = of(files.filter(file -> file.toString().endsWith("Benchmark.java.json")
                            || file.toString().endsWith("Benchmark.python.json"))
                    .sorted()
                    .toList());
            System.out.printf(
                    "# Benchmark results%n%nWritten by `benchmarks/run`; [Benchmarks](README.md) explains the columns, and"
                            + " [Notes](notes.md) the causes. Times are in µs.%n%n```%n%s```%n%n## Tables%n%s",
                    Files.readString(folder.resolve("machine.txt")), tables.text());
        }
    }
}
