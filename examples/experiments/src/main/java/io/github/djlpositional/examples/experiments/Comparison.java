package io.github.djlpositional.examples.experiments;

import io.github.djlpositional.examples.Plots;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
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
import javax.imageio.ImageIO;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;
import org.jfree.chart.JFreeChart;

/** The table of a comparison: what was measured of each kind, as text, CSV and a picture. */
final class Comparison {

    private final Experiment.Description description;
    private final Map<Encoding, Row> rows = new LinkedHashMap<>();

    /** The accuracies or losses with one kind over the seeds, by the sizes of the examples. */
    private record Row(long parameters, Map<String, DoubleSummaryStatistics> measured) {}

    Comparison(Experiment.Description description) {
        this.description = description;
    }

    /** Adds what was measured of a trained transformer. */
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
        List<List<?>> table = new ArrayList<>();
        List<Object> header = new ArrayList<>(List.of("positions"));
        sizes().forEach(size -> header.addAll(List.of("mean " + size, "least " + size, "greatest " + size)));
        header.add("parameters");
        table.add(header);
        rows.forEach((encoding, row) -> {
            List<Object> cells = new ArrayList<>(List.of(encoding));
            for (DoubleSummaryStatistics each : row.measured.values()) {
                for (double number : new double[] {each.getAverage(), each.getMin(), each.getMax()}) {
                    cells.add(String.format(Locale.ROOT, "%.4f", number));
                }
            }
            cells.add(row.parameters);
            table.add(cells);
        });
        save(file, table);
    }

    /** Writes rows as CSV. */
    static void save(Path file, List<? extends List<?>> table) throws IOException {
        CSVFormat format = CSVFormat.DEFAULT.builder().setRecordSeparator('\n').get();
        try (CSVPrinter csv = new CSVPrinter(Files.newBufferedWriter(file), format)) {
            csv.printRecords(table);
        }
    }

    void draw(Path file) throws IOException {
        JFreeChart chart = description.measure().equals("accuracy") ? points() : curves();
        ImageIO.write(Plots.picture(chart), "png", file.toFile());
    }

    /** A point for the accuracy of each kind at each size, with the range over the seeds. */
    private JFreeChart points() {
        List<String> kinds = rows.keySet().stream().map(Encoding::title).toList();
        JFreeChart chart = Plots.rows(description.title(), "accuracy (chance: 0.5), with the range", kinds);
        double[] places = Plots.each(kinds.size(), row -> row);
        for (String size : sizes()) {
            Plots.ranges(
                    chart,
                    size + " " + description.unit(),
                    each(size, DoubleSummaryStatistics::getAverage),
                    places,
                    each(size, DoubleSummaryStatistics::getMin),
                    each(size, DoubleSummaryStatistics::getMax));
        }
        return chart;
    }

    private double[] each(String size, ToDoubleFunction<DoubleSummaryStatistics> number) {
        return rows.values().stream()
                .mapToDouble(row -> number.applyAsDouble(row.measured.get(size)))
                .toArray();
    }

    /** A curve of the loss of each kind over the sizes. */
    private JFreeChart curves() {
        JFreeChart chart = Plots.lines(description.title(), "position, in " + description.unit(), "loss, in nats");
        double[] x = sizes().stream().mapToDouble(Comparison::middle).toArray();
        rows.forEach((encoding, row) -> Plots.line(
                chart,
                encoding.title(),
                x,
                row.measured.values().stream()
                        .mapToDouble(DoubleSummaryStatistics::getAverage)
                        .toArray()));
        return chart;
    }

    private static double middle(String range) {
        return Arrays.stream(range.split("-", 2))
                .mapToInt(Integer::parseInt)
                .average()
                .orElseThrow();
    }
}
