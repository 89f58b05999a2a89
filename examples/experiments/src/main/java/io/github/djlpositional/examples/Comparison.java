package io.github.djlpositional.examples;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;

/** The table of a comparison: what was measured of each kind, as text, CSV and a picture. */
final class Comparison {

    /** The number of curves in a chart: the colors other than gray. */
    private static final int CURVES = 7;

    private final Experiment.Description description;
    private final Map<Encoding, Row> rows = new LinkedHashMap<>();

    /** The accuracies or losses with one kind over the seeds, by the sizes of the examples. */
    private record Row(long parameters, Map<String, DoubleSummaryStatistics> measured) {}

    Comparison(Experiment.Description description) {
        this.description = description;
    }

    /** Adds what was measured of a trained encoder. */
    void add(Encoding encoding, long parameters, Map<String, Double> measured) {
        Row row = rows.computeIfAbsent(encoding, kind -> new Row(parameters, new LinkedHashMap<>()));
        measured.forEach((size, number) -> row.measured
                .computeIfAbsent(size, any -> new DoubleSummaryStatistics())
                .accept(number));
    }

    private Set<String> sizes() {
        return rows.values().iterator().next().measured.keySet();
    }

    private static double halfRange(DoubleSummaryStatistics numbers) {
        return (numbers.getMax() - numbers.getMin()) / 2;
    }

    void print(PrintWriter out) {
        out.printf("%nheld-out %s, mean ± half of the range over the seeds%n%-20s", description.measure(), "positions");
        sizes().forEach(size -> out.printf(" %15s", size + " " + description.unit()));
        out.printf(" %10s%n", "parameters");
        rows.forEach((encoding, row) -> {
            out.printf("%-20s", encoding);
            row.measured
                    .values()
                    .forEach(each -> out.printf(Locale.ROOT, "   %.3f ± %.3f", each.getAverage(), halfRange(each)));
            out.printf(Locale.ROOT, " %,10d%n", row.parameters);
        });
    }

    void save(Path file) throws IOException {
        StringBuilder csv = new StringBuilder("positions");
        sizes().forEach(size -> csv.append(String.format(",mean %1$s,least %1$s,greatest %1$s", size)));
        csv.append(",parameters\n");
        rows.forEach((encoding, row) -> {
            csv.append(encoding);
            for (DoubleSummaryStatistics each : row.measured.values()) {
                csv.append(
                        String.format(Locale.ROOT, ",%.4f,%.4f,%.4f", each.getAverage(), each.getMin(), each.getMax()));
            }
            csv.append(',').append(row.parameters).append('\n');
        });
        AtomicFile.write(file, out -> out.write(csv.toString().getBytes(StandardCharsets.UTF_8)));
    }

    void draw(Path file) throws IOException {
        (description.measure().equals("accuracy") ? new Figure(1, List.of(points())) : new Figure(2, curves()))
                .save(file);
    }

    /** A row for each kind: a point for its accuracy at each size, and half of the range beside it. */
    private LineChart points() {
        LineChart chart = LineChart.ofRows(
                description.title() + ": mean ± half of the range",
                "accuracy (chance: 0.5)",
                "positions",
                rows.keySet().stream().map(Encoding::title).toList());
        List<String> sizes = List.copyOf(sizes());
        for (int i = 0; i < sizes.size(); i++) {
            String size = sizes.get(i);
            // one above the other
            double place = (i - (sizes.size() - 1) / 2.0) / (sizes.size() + 1);
            chart.ranges(
                    size + " " + description.unit(),
                    each(size, DoubleSummaryStatistics::getAverage),
                    LineChart.each(rows.size(), row -> row + place),
                    each(size, accuracy -> accuracy.getAverage() - halfRange(accuracy)),
                    each(size, accuracy -> accuracy.getAverage() + halfRange(accuracy)));
        }
        return chart;
    }

    private double[] each(String size, ToDoubleFunction<DoubleSummaryStatistics> number) {
        return rows.values().stream()
                .map(row -> row.measured.get(size))
                .mapToDouble(number)
                .toArray();
    }

    /** A curve of the loss of each kind over the sizes, in as many charts as their colors need. */
    private List<LineChart> curves() {
        double[] x = sizes().stream().mapToDouble(Comparison::middle).toArray();
        List<LineChart> charts = new ArrayList<>();
        int curves = 0;
        for (Map.Entry<Encoding, Row> row : rows.entrySet()) {
            if (curves++ % CURVES == 0) {
                charts.add(LineChart.of(description.title(), "position, in " + description.unit(), "loss, in nats"));
            }
            double[] means = row.getValue().measured.values().stream()
                    .mapToDouble(DoubleSummaryStatistics::getAverage)
                    .toArray();
            charts.get(charts.size() - 1).line(row.getKey().title(), x, means);
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
