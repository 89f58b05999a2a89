package io.github.djlpositional.examples;

import java.awt.Color;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVPrinter;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.style.CategoryStyler;
import org.knowm.xchart.style.Styler.LegendLayout;
import org.knowm.xchart.style.Styler.LegendPosition;

/** What a comparison leaves: {@code runs.csv}, {@code comparison.csv} and {@code comparison.png}. */
final class ComparisonFiles {

    private static final CSVFormat CSV =
            CSVFormat.DEFAULT.builder().setRecordSeparator("\n").get();

    /** Twice what a screen has: sharp on dense ones too. */
    private static final int DOTS_PER_INCH = 144;

    private final Path folder;

    /** Makes the folder, so that what cannot be saved is known before it is computed. */
    ComparisonFiles(Path folder) {
        this.folder = folder;
        FolderUpdate.prepare(folder);
    }

    /** Writes every run that there is until now. */
    void saveRuns(List<ComparisonRun> runs) throws IOException {
        List<Object> header = new ArrayList<>(List.of("positions", "seed"));
        for (LengthClass length : LengthClass.values()) {
            header.add("accuracy " + length);
        }
        header.addAll(List.of("parameters", "training s", "inference ms per 1000"));
        FolderUpdate.of(folder, beside -> writeRuns(beside, header, runs));
    }

    private static void writeRuns(Path folder, List<Object> header, List<ComparisonRun> runs) throws IOException {
        try (CSVPrinter csv = printer(folder.resolve("runs.csv"))) {
            csv.printRecord(header);
            for (ComparisonRun run : runs) {
                List<Object> row = new ArrayList<>(List.of(run.encoding(), run.seed()));
                run.evaluations().values().forEach(each -> row.add(number(4, each.accuracy())));
                row.addAll(
                        List.of(run.parameters(), number(1, run.trainingSeconds()), number(1, run.inferenceMillis())));
                csv.printRecord(row);
            }
        }
    }

    /** Writes the table and draws it. */
    void save(List<ComparisonRow> rows) throws IOException {
        List<Object> header = new ArrayList<>(List.of("positions"));
        for (LengthClass length : LengthClass.values()) {
            header.addAll(List.of("mean " + length, "least " + length, "greatest " + length));
        }
        header.addAll(List.of("parameters", "training s", "inference ms per 1000"));
        FolderUpdate.of(folder, beside -> {
            writeRows(beside, header, rows);
            BitmapEncoder.saveBitmapWithDPI(
                    chart(rows),
                    beside.resolve("comparison.png").toString(),
                    BitmapEncoder.BitmapFormat.PNG,
                    DOTS_PER_INCH);
        });
    }

    private static void writeRows(Path folder, List<Object> header, List<ComparisonRow> rows) throws IOException {
        try (CSVPrinter csv = printer(folder.resolve("comparison.csv"))) {
            csv.printRecord(header);
            for (ComparisonRow row : rows) {
                List<Object> line = new ArrayList<>(List.of(row.encoding()));
                row.accuracies()
                        .values()
                        .forEach(each -> line.addAll(
                                List.of(number(4, each.mean()), number(4, each.least()), number(4, each.greatest()))));
                line.addAll(
                        List.of(row.parameters(), number(1, row.trainingSeconds()), number(1, row.inferenceMillis())));
                csv.printRecord(line);
            }
        }
    }

    private static CSVPrinter printer(Path file) throws IOException {
        Writer out = Files.newBufferedWriter(file);
        return new CSVPrinter(out, CSV);
    }

    private static String number(int digits, double value) {
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }

    private static CategoryChart chart(List<ComparisonRow> rows) {
        // drawn without a display
        HeadlessDrawing.prepare();
        CategoryChart chart = new CategoryChartBuilder()
                .width(1100)
                .height(560)
                .title("Trained on at most " + LengthClass.TRAINED_WORDS + " words, tested on others of "
                        + LengthClass.all())
                .xAxisTitle("kind of positions")
                .yAxisTitle("held-out accuracy, mean ± half of the range")
                .build();
        // told apart without colours too: each is darker than the one before
        Color[] colors = {new Color(0xA6CEE3), new Color(0x3F8FC4), new Color(0x12375C)};
        CategoryStyler style = chart.getStyler();
        style.setSeriesColors(colors)
                .setChartBackgroundColor(Color.WHITE)
                .setLegendPosition(LegendPosition.OutsideS)
                .setLegendLayout(LegendLayout.Horizontal);
        style.setYAxisMin(0.4).setYAxisMax(1.0).setPlotGridVerticalLinesVisible(false);
        List<String> kinds = rows.stream().map(row -> row.encoding().toString()).toList();
        for (LengthClass length : LengthClass.values()) {
            List<ComparisonRow.Spread> accuracies =
                    rows.stream().map(row -> row.accuracies().get(length)).toList();
            chart.addSeries(
                    length + " words",
                    kinds,
                    accuracies.stream().map(ComparisonRow.Spread::mean).toList(),
                    accuracies.stream().map(ComparisonRow.Spread::half).toList());
        }
        return chart;
    }
}
