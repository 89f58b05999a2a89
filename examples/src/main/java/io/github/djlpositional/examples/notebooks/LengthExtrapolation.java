package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.examples.LengthClass;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Which encodings still work on sentences longer than the training sentences: the measured table, drawn. */
final class LengthExtrapolation {

    /** The table that {@code train-encoder.jar compare} created for the guide. */
    private static final String TABLE = "/comparison.csv";

    private static final CSVFormat CSV =
            CSVFormat.DEFAULT.builder().setHeader().setSkipHeaderRecord(true).get();

    private LengthExtrapolation() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("Beyond the trained length");
        notebook.text("""
                Nine small encoders learned word order from definitions of at most %d words, three times each. How often are
                they right about others, as short, longer, and much longer? (java -jar train-encoder.jar compare)""".formatted(LengthClass.TRAINED_WORDS));
        XYChart lines = Drawing.lines(
                "Trained on at most " + LengthClass.TRAINED_WORDS + " words",
                "words in the sentence",
                "held-out accuracy");
        LengthClass[] lengths = LengthClass.values();
        double[] x = Arrays.stream(lengths).mapToDouble(LengthClass::middle).toArray();
        notebook.row("%-16s %8s %8s %8s", "positions", lengths[0], lengths[1], lengths[2]);
        try (InputStream in = LengthExtrapolation.class.getResourceAsStream(TABLE)) {
            for (CSVRecord row : CSV.parse(new InputStreamReader(in, StandardCharsets.UTF_8))) {
                double[] means = column(row, "mean ");
                double[] least = column(row, "least ");
                double[] greatest = column(row, "greatest ");
                double[] halves = Drawing.each(lengths.length, i -> (greatest[i] - least[i]) / 2);
                notebook.row("%-16s %8.3f %8.3f %8.3f", row.get("positions"), means[0], means[1], means[2]);
                lines.addSeries(row.get("positions"), x, means, halves).setMarker(SeriesMarkers.CIRCLE);
            }
        }
        lines.getStyler().setYAxisMin(0.45).setYAxisMax(1.0);
        notebook.picture(
                "length-extrapolation",
                "Accuracy by the length of the sentences; bars are half the range of three seeds",
                lines);
    }

    private static double[] column(CSVRecord row, String name) {
        return Arrays.stream(LengthClass.values())
                .mapToDouble(length -> Double.parseDouble(row.get(name + length)))
                .toArray();
    }
}
