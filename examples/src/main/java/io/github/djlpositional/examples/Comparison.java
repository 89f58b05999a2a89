package io.github.djlpositional.examples;

import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;
import org.knowm.xchart.CategoryChart;

/** The result of a comparison: its runs as {@code runs.csv}, and a summary as text, CSV and a picture. */
final class Comparison {

    private static final CSVFormat CSV =
            CSVFormat.DEFAULT.builder().setRecordSeparator("\n").get();

    private Comparison() {}

    /**
     * One encoder that was trained and measured.
     *
     * @param parameters the number of trained numbers
     * @param training the duration of the training
     */
    record Run(
            Encoding encoding, int seed, Map<LengthClass, Evaluation> evaluations, long parameters, Duration training) {

        /** Returns the mean time of the forwards for 1000 sentences, in milliseconds. */
        double inferenceMillis() {
            double nanos = 0;
            long sentences = 0;
            for (Evaluation each : evaluations.values()) {
                nanos += each.time().toNanos();
                sentences += each.sentences();
            }
            return nanos / 1e3 / sentences;
        }

        double trainingSeconds() {
            return training.toNanos() / 1e9;
        }

        @Override
        public String toString() {
            String accuracies = evaluations.values().stream()
                    .map(each -> number(4, each.accuracy()))
                    .collect(Collectors.joining(" "));
            return String.format(
                    Locale.ROOT, "%-14s seed %d: %s, %s s", encoding, seed, accuracies, number(0, trainingSeconds()));
        }
    }

    /** The runs with one kind of positional encoding. */
    record Row(Encoding encoding, List<Run> runs) {

        DoubleSummaryStatistics accuracy(LengthClass length) {
            return runs.stream()
                    .mapToDouble(run -> run.evaluations.get(length).accuracy())
                    .summaryStatistics();
        }

        /** Returns the upper median; other load on the machine during one run does not change it. */
        double median(ToDoubleFunction<Run> number) {
            return runs.stream().mapToDouble(number).sorted().toArray()[Math.floorDiv(runs.size(), 2)];
        }
    }

    static double halfRange(DoubleSummaryStatistics numbers) {
        return (numbers.getMax() - numbers.getMin()) / 2;
    }

    /** Groups runs by their encodings, in the order of the first run of each encoding. */
    static List<Row> rows(List<Run> runs) {
        Map<Encoding, List<Run>> groups =
                runs.stream().collect(Collectors.groupingBy(Run::encoding, LinkedHashMap::new, Collectors.toList()));
        return groups.entrySet().stream()
                .map(group -> new Row(group.getKey(), group.getValue()))
                .toList();
    }

    /** Prints the summary as a table. */
    static void print(PrintWriter out, List<Row> rows) {
        out.printf("%nheld-out accuracy, mean ± half of the range over the seeds%n%-14s", "positions");
        for (LengthClass length : LengthClass.values()) {
            out.printf(" %15s", length + " words");
        }
        out.printf(" %10s %11s %18s%n", "parameters", "training", "inference of 1000");
        for (Row row : rows) {
            out.printf("%-14s", row.encoding);
            for (LengthClass length : LengthClass.values()) {
                DoubleSummaryStatistics accuracy = row.accuracy(length);
                out.printf(Locale.ROOT, "   %.3f ± %.3f", accuracy.getAverage(), halfRange(accuracy));
            }
            out.printf(
                    Locale.ROOT,
                    " %,10d %9.1f s %15.1f ms%n",
                    row.runs.get(0).parameters,
                    row.median(Run::trainingSeconds),
                    row.median(Run::inferenceMillis));
        }
    }

    /** Saves the runs so far. */
    static void saveRuns(Path file, List<Run> runs) throws IOException {
        write(file, runs, (run, line) -> {
            line.put("positions", run.encoding);
            line.put("seed", run.seed);
            run.evaluations.forEach((length, each) -> line.put("accuracy " + length, number(4, each.accuracy())));
            putCosts(line, run.parameters, run.trainingSeconds(), run.inferenceMillis());
        });
    }

    /** Saves the summary. */
    static void saveRows(Path file, List<Row> rows) throws IOException {
        write(file, rows, (row, line) -> {
            line.put("positions", row.encoding);
            for (LengthClass length : LengthClass.values()) {
                DoubleSummaryStatistics accuracy = row.accuracy(length);
                line.put("mean " + length, number(4, accuracy.getAverage()));
                line.put("least " + length, number(4, accuracy.getMin()));
                line.put("greatest " + length, number(4, accuracy.getMax()));
            }
            putCosts(
                    line,
                    row.runs.get(0).parameters,
                    row.median(Run::trainingSeconds),
                    row.median(Run::inferenceMillis));
        });
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

    /** Draws the summary. */
    static void draw(Path file, List<Row> rows) throws IOException {
        CategoryChart chart = Drawing.columns(
                "Trained on at most " + LengthClass.TRAINED_WORDS + " words, tested on others",
                "positions",
                "held-out accuracy, mean ± half of the range");
        chart.getStyler().setYAxisMin(0.4).setYAxisMax(1.0).setPlotGridVerticalLinesVisible(false);
        List<String> kinds = rows.stream().map(row -> row.encoding.toString()).toList();
        for (LengthClass length : LengthClass.values()) {
            List<DoubleSummaryStatistics> accuracies =
                    rows.stream().map(row -> row.accuracy(length)).toList();
            chart.addSeries(
                    length + " words",
                    kinds,
                    accuracies.stream().map(DoubleSummaryStatistics::getAverage).toList(),
                    accuracies.stream().map(Comparison::halfRange).toList());
        }
        Drawing.save(chart, file);
    }
}
