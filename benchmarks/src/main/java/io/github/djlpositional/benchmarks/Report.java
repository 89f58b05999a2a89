package io.github.djlpositional.benchmarks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.openjdk.jmh.runner.RunnerException;

/**
 * What was measured for a table, as text: a CSV, and the same as Markdown.
 *
 * @param header the names of the columns
 * @param lines the cells of each row; an empty one for what was not measured
 */
record Report(List<String> header, List<List<String>> lines) {

    private static final String OWN = "this library";

    static Report of(Table table, List<Row> rows, Measurements measurements) throws RunnerException {
        List<String> peers = rows.stream()
                .flatMap(row -> row.peers().entrySet().stream())
                .filter(peer -> measurements.has(peer.getValue()))
                .map(peer -> peer.getKey())
                .distinct()
                .toList();
        List<String> header = new ArrayList<>(List.of("shape"));
        header.addAll(peers);
        header.add(OWN);
        peers.forEach(peer -> header.add("÷ " + peer));
        if (!table.isMemory()) {
            header.addAll(List.of("garbage, bytes", "fresh pages"));
        }
        List<List<String>> lines = new ArrayList<>();
        String format = table.isMemory() ? "%.0f" : "%.1f";
        for (Row row : rows) {
            List<String> line = new ArrayList<>(List.of(row.own().label()));
            List<Case> cases = peers.stream().map(row.peers()::get).toList();
            cases.forEach(each -> line.add(each == null ? "" : text(format, measurements.median(each))));
            line.add(text(format, measurements.median(row.own())));
            cases.forEach(each -> line.add(each == null ? "" : ratio(measurements.ratio(row.own(), each))));
            if (!table.isMemory()) {
                Measurements.Cost cost = measurements.cost(row.own());
                line.add(text("%.0f", cost.garbage()));
                line.add(ProcessMemory.isKnown() ? text("%.0f", cost.freshPages()) : "");
            }
            lines.add(line);
        }
        return new Report(header, lines);
    }

    private static String ratio(double ratio) {
        // two figures that say something
        return text(ratio < 0.095 ? "%.3f" : "%.2f", ratio);
    }

    private static String text(String format, double value) {
        return String.format(Locale.ROOT, format, value);
    }

    String csv() {
        return Stream.concat(Stream.of(header), lines.stream())
                .map(line -> line.stream().map(cell -> '"' + cell + '"').collect(Collectors.joining(",", "", "\n")))
                .collect(Collectors.joining());
    }

    String markdown() {
        int own = header.indexOf(OWN);
        List<String> rule = Collections.nCopies(header.size(), "---");
        return Stream.of(Stream.of(header), Stream.of(rule), lines.stream())
                .flatMap(each -> each)
                .map(line -> {
                    List<String> cells = new ArrayList<>(line);
                    cells.replaceAll(cell -> cell.isEmpty() ? "–" : cell);
                    if (line != rule) {
                        cells.set(own, "**" + cells.get(own) + "**");
                    }
                    return "| " + String.join(" | ", cells) + " |\n";
                })
                .collect(Collectors.joining());
    }
}
