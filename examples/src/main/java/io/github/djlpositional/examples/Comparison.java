package io.github.djlpositional.examples;

import ai.djl.nn.Block;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.XYChart;

/** The result of a comparison: its runs as {@code runs.csv}, and a summary as text, CSV and a picture. */
public final class Comparison {

    private static final CSVFormat CSV =
            CSVFormat.DEFAULT.builder().setRecordSeparator("\n").get();

    /** The number of curves in a chart: the colors other than gray. */
    private static final int CURVES = 7;

    private Comparison() {}

    /** A kind of positional encoding; its text is the name that a command line has for it. */
    public interface Kind {

        /**
         * Returns the name in words, for pictures.
         *
         * @return for example {@code Transformer-XL}
         */
        String title();
    }

    /**
     * One encoder that was trained and measured.
     *
     * @param kind the kind of positional encoding
     * @param seed the seed of the training
     * @param measured the accuracy or the loss, by the sizes of the examples, the same sizes for all runs
     * @param parameters the number of trained numbers
     * @param training the duration of the training
     * @param inferenceMillis the mean time of the forwards for 1000 examples, in milliseconds
     */
    public record Run(
            Kind kind,
            int seed,
            Map<String, Double> measured,
            long parameters,
            Duration training,
            double inferenceMillis) {

        /**
         * Creates a run of a classifier.
         *
         * @param kind the kind of positional encoding
         * @param seed the seed of the training
         * @param evaluations the evaluations, by the sizes of the examples
         * @param parameters the number of trained numbers
         * @param training the duration of the training
         * @return the run
         */
        public static Run of(
                Kind kind, int seed, Map<String, Evaluation> evaluations, long parameters, Duration training) {
            Map<String, Double> accuracies = new LinkedHashMap<>();
            double nanos = 0;
            long examples = 0;
            for (Map.Entry<String, Evaluation> each : evaluations.entrySet()) {
                accuracies.put(each.getKey(), each.getValue().accuracy());
                nanos += each.getValue().time().toNanos();
                examples += each.getValue().examples();
            }
            return new Run(kind, seed, accuracies, parameters, training, nanos / 1e3 / examples);
        }

        double trainingSeconds() {
            return training.toNanos() / 1e9;
        }

        @Override
        public String toString() {
            String numbers =
                    measured.values().stream().map(each -> number(4, each)).collect(Collectors.joining(" "));
            return String.format(
                    Locale.ROOT, "%-20s seed %d: %s, %s s", kind, seed, numbers, number(0, trainingSeconds()));
        }
    }

    /** What was measured. */
    public enum Measure {
        /** The fraction of correct answers. */
        ACCURACY,

        /** The mean cross entropy of a token, in nats. */
        LOSS;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** The runs with one kind of positional encoding. */
    record Row(Kind kind, List<Run> runs) {

        DoubleSummaryStatistics measured(String size) {
            return runs.stream().mapToDouble(run -> run.measured.get(size)).summaryStatistics();
        }

        /** Returns the upper median; other load on the machine during one run does not change it. */
        double median(ToDoubleFunction<Run> number) {
            return runs.stream().mapToDouble(number).sorted().toArray()[Math.floorDiv(runs.size(), 2)];
        }
    }

    /**
     * Returns the number of trained numbers.
     *
     * @param block an initialized block
     * @return the sum of the sizes of its parameters
     */
    public static long parametersOf(Block block) {
        return block.getParameters().stream()
                .mapToLong(entry -> entry.getValue().getArray().size())
                .sum();
    }

    static double halfRange(DoubleSummaryStatistics numbers) {
        return (numbers.getMax() - numbers.getMin()) / 2;
    }

    /** Groups runs by their kinds, in the order of the first run of each kind. */
    static List<Row> rows(List<Run> runs) {
        Map<Kind, List<Run>> groups =
                runs.stream().collect(Collectors.groupingBy(Run::kind, LinkedHashMap::new, Collectors.toList()));
        return groups.entrySet().stream()
                .map(group -> new Row(group.getKey(), group.getValue()))
                .toList();
    }

    private static Set<String> sizes(List<Row> rows) {
        return rows.get(0).runs.get(0).measured.keySet();
    }

    /** Prints the summary as a table. */
    private static void print(PrintWriter out, Measure measure, List<Row> rows, String unit) {
        out.printf("%nheld-out %s, mean ± half of the range over the seeds%n%-20s", measure, "positions");
        for (String size : sizes(rows)) {
            out.printf(" %15s", size + " " + unit);
        }
        out.printf(" %10s %11s %18s%n", "parameters", "training", "inference of 1000");
        for (Row row : rows) {
            out.printf("%-20s", row.kind);
            for (String size : sizes(rows)) {
                DoubleSummaryStatistics numbers = row.measured(size);
                out.printf(Locale.ROOT, "   %.3f ± %.3f", numbers.getAverage(), halfRange(numbers));
            }
            out.printf(
                    Locale.ROOT,
                    " %,10d %9.1f s %15.1f ms%n",
                    row.runs.get(0).parameters,
                    row.median(Run::trainingSeconds),
                    row.median(Run::inferenceMillis));
        }
    }

    /**
     * Saves the runs so far.
     *
     * @param folder the folder, for {@code runs.csv}
     * @param measure what was measured
     * @param runs at least one
     * @throws IOException if the file cannot be written
     */
    public static void saveRuns(Path folder, Measure measure, List<Run> runs) throws IOException {
        write(folder.resolve("runs.csv"), runs, (run, line) -> {
            line.put("positions", run.kind);
            line.put("seed", run.seed);
            run.measured.forEach((size, each) -> line.put(measure + " " + size, number(4, each)));
            putCosts(line, run.parameters, run.trainingSeconds(), run.inferenceMillis);
        });
    }

    /**
     * Prints the summary as a table, and saves it as {@code comparison.csv} and {@code comparison.png}.
     *
     * @param out prints
     * @param folder the folder for the files
     * @param measure what was measured
     * @param title the title of the picture
     * @param unit what the sizes of the examples count
     * @param runs at least one
     * @throws IOException if a file cannot be written
     */
    public static void publish(PrintWriter out, Path folder, Measure measure, String title, String unit, List<Run> runs)
            throws IOException {
        List<Row> rows = rows(runs);
        print(out, measure, rows, unit);
        write(folder.resolve("comparison.csv"), rows, (row, line) -> {
            line.put("positions", row.kind);
            for (String size : sizes(rows)) {
                DoubleSummaryStatistics numbers = row.measured(size);
                line.put("mean " + size, number(4, numbers.getAverage()));
                line.put("least " + size, number(4, numbers.getMin()));
                line.put("greatest " + size, number(4, numbers.getMax()));
            }
            putCosts(
                    line,
                    row.runs.get(0).parameters,
                    row.median(Run::trainingSeconds),
                    row.median(Run::inferenceMillis));
        });
        String explained = title + ": mean ± half of the range";
        Drawing.save(
                measure == Measure.ACCURACY ? List.of(columns(explained, unit, rows)) : curves(title, unit, rows),
                folder.resolve("comparison.png"));
        out.printf("%nSaved to %s%n", folder);
    }

    private static void putCosts(Map<String, Object> line, long parameters, double seconds, double millis) {
        line.put("parameters", parameters);
        line.put("training s", number(1, seconds));
        line.put("inference ms per 1000", number(1, millis));
    }

    /** Writes one line for each value, and a header with the names of the columns. */
    private static <T> void write(Path file, List<T> values, BiConsumer<T, Map<String, Object>> columns)
            throws IOException {
        AtomicFile.write(file, out -> {
            Writer writer = new OutputStreamWriter(out, StandardCharsets.UTF_8);
            CSVPrinter csv = new CSVPrinter(writer, CSV);
            for (int i = 0; i < values.size(); i++) {
                Map<String, Object> line = new LinkedHashMap<>();
                columns.accept(values.get(i), line);
                if (i == 0) {
                    csv.printRecord(line.keySet());
                }
                csv.printRecord(line.values());
            }
            writer.flush();
        });
    }

    private static String number(int digits, double value) {
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }

    /** Draws a column for the accuracy of each kind at each size. */
    private static CategoryChart columns(String title, String unit, List<Row> rows) {
        CategoryChart chart = Drawing.columns(title, "positions", "accuracy, from 0.4 (chance: 0.5)");
        chart.getStyler().setYAxisMin(0.4).setYAxisMax(1.0).setPlotGridVerticalLinesVisible(false);
        // otherwise XChart leaves labels out
        chart.getStyler().setXAxisLabelRotation(45).setXAxisMaxLabelCount(rows.size());
        List<String> kinds = rows.stream().map(row -> row.kind.title()).toList();
        for (String size : sizes(rows)) {
            List<DoubleSummaryStatistics> accuracies =
                    rows.stream().map(row -> row.measured(size)).toList();
            chart.addSeries(
                    size + " " + unit,
                    kinds,
                    accuracies.stream().map(DoubleSummaryStatistics::getAverage).toList(),
                    accuracies.stream().map(Comparison::halfRange).toList());
        }
        return chart;
    }

    /** Draws a curve of the loss of each kind over the sizes, in as many charts as their colors need. */
    private static List<XYChart> curves(String title, String unit, List<Row> rows) {
        double[] x = sizes(rows).stream().mapToDouble(Comparison::middle).toArray();
        List<XYChart> charts = new ArrayList<>();
        for (int first = 0; first < rows.size(); first += CURVES) {
            XYChart chart = Drawing.lines(title, "position, in " + unit, "loss, in nats");
            for (Row row : rows.subList(first, Math.min(rows.size(), first + CURVES))) {
                Drawing.line(
                        chart,
                        row.kind.title(),
                        x,
                        sizes(rows).stream()
                                .mapToDouble(size -> row.measured(size).getAverage())
                                .toArray());
            }
            charts.add(chart);
        }
        return charts;
    }

    private static double middle(String range) {
        return Arrays.stream(range.split("-", 2))
                .mapToInt(Integer::parseInt)
                .average()
                .orElseThrow();
    }
}
