package io.github.djlpositional.examples.notebooks;

import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Which kinds of positions still work on sentences longer than those they were trained on: the measured table, drawn. */
public final class LengthExtrapolation {

    /** The table that {@code train-encoder.jar compare} made for the guide. */
    private static final String TABLE = "/comparison.csv";

    private static final List<String> LENGTHS = List.of("5-16", "17-24", "25-40");

    private LengthExtrapolation() {}

    /**
     * Runs the notebook.
     *
     * @param args {@code --out FOLDER}
     */
    public static void main(String[] args) {
        Notebook.main(LengthExtrapolation::write, LengthExtrapolation.class, args);
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("Beyond the trained length");
        notebook.text("""
                Eight small encoders learned word order from definitions of at most 16 words, three times each. How often are
                they right about others, as short, longer, and much longer? (java -jar train-encoder.jar compare)""");
        List<CSVRecord> rows = table();
        XYChart lines = Drawing.lines("Trained on at most 16 words", "words in the sentence", "held-out accuracy");
        double[] x = {10.5, 20.5, 32.5};
        notebook.row("%-16s %8s %8s %8s", "positions", LENGTHS.get(0), LENGTHS.get(1), LENGTHS.get(2));
        for (CSVRecord row : rows) {
            double[] means = LENGTHS.stream()
                    .mapToDouble(length -> Double.parseDouble(row.get("mean " + length)))
                    .toArray();
            double[] halves = LENGTHS.stream()
                    .mapToDouble(length -> (Double.parseDouble(row.get("greatest " + length))
                                    - Double.parseDouble(row.get("least " + length)))
                            / 2)
                    .toArray();
            notebook.row("%-16s %8.3f %8.3f %8.3f", row.get("positions"), means[0], means[1], means[2]);
            lines.addSeries(row.get("positions"), x, means, halves).setMarker(SeriesMarkers.CIRCLE);
        }
        lines.getStyler().setYAxisMin(0.45).setYAxisMax(1.0);
        notebook.picture(
                "length-extrapolation",
                "Accuracy over the length of the sentences; bars are half the range of three seeds",
                lines);
    }

    private static List<CSVRecord> table() throws IOException {
        try (InputStream in = LengthExtrapolation.class.getResourceAsStream(TABLE);
                Reader reader = new InputStreamReader(in, StandardCharsets.UTF_8)) {
            return CSVFormat.DEFAULT
                    .builder()
                    .setHeader()
                    .setSkipHeaderRecord(true)
                    .get()
                    .parse(reader)
                    .getRecords();
        }
    }
}
