package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.LengthClass;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Which kinds of positions still work on sentences longer than those they were trained on: the measured table, drawn.
 */
public final class LengthExtrapolation {

    /** The table that {@code train-encoder.jar compare} made for the guide. */
    private static final String TABLE = "/comparison.csv";

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
                Eight small encoders learned word order from definitions of at most %d words, three times each. How often are
                they right about others, as short, longer, and much longer? (java -jar train-encoder.jar compare)""".formatted(LengthClass.TRAINED_WORDS));
        List<CSVRecord> rows = table();
        XYChart lines = Drawing.lines(
                "Trained on at most " + LengthClass.TRAINED_WORDS + " words",
                "words in the sentence",
                "held-out accuracy");
        LengthClass[] lengths = LengthClass.values();
        double[] x = Arrays.stream(lengths).mapToDouble(LengthClass::middle).toArray();
        notebook.row("%-16s %8s %8s %8s", "positions", lengths[0], lengths[1], lengths[2]);
        for (CSVRecord row : rows) {
            double[] means = Arrays.stream(lengths)
                    .mapToDouble(length -> Double.parseDouble(row.get("mean " + length)))
                    .toArray();
            double[] halves = Arrays.stream(lengths)
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
