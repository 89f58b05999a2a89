package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.LengthClass;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVRecord;
import org.knowm.xchart.XYChart;

/** Which encodings still work on sentences longer than the training sentences: the measured table, drawn. */
final class LengthExtrapolation {

    /** The table that {@code train-encoder.jar compare} created for the guide. */
    private static final String TABLE = "/comparison.csv";

    private static final CSVFormat CSV =
            CSVFormat.DEFAULT.builder().setHeader().setSkipHeaderRecord(true).get();

    private LengthExtrapolation() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Sentences longer than in training",
                "Sixteen kinds of positions, measured on sentences longer than those of their training.");
        notebook.text("""
                Which kinds still work on sentences that are longer than all sentences of the training? Small encoders learned to
                tell definitions from shuffled ones, three times with each kind of positions. No sentence had more than 16
                words. Then they were measured with others: as short, longer, and much longer. The command `train-encoder.jar
                compare` does all of this; its table is read here. The numbers are the fraction of correct
                answers, and 0.5 is chance.""");
        Map<String, double[]> accuracies = table("mean ");
        Map<String, double[]> least = table("least ");
        Map<String, double[]> greatest = table("greatest ");
        notebook.row("%-20s %7s %7s %7s %7s", "words", "5-16", "17-24", "25-40", "±");
        accuracies.entrySet().stream()
                .sorted(Comparator.comparingDouble(kind -> -kind.getValue()[2]))
                .forEach(kind -> notebook.row(
                        "%-20s %7.3f %7.3f %7.3f %7.3f",
                        kind.getKey(),
                        kind.getValue()[0],
                        kind.getValue()[1],
                        kind.getValue()[2],
                        (greatest.get(kind.getKey())[2] - least.get(kind.getKey())[2]) / 2));

        notebook.text("""
                The last column is half of the range of the three trainings, for the longest sentences. The picture shows one kind
                at a time, before the others in gray. The vertical line is the length of the longest sentence in training.""");
        double[] words = Arrays.stream(LengthClass.values())
                .mapToDouble(LengthClass::middle)
                .toArray();
        List<XYChart> charts = new ArrayList<>();
        for (String kind : accuracies.keySet()) {
            XYChart chart = Drawing.lines(kind, "words", "accuracy");
            accuracies.forEach((other, accuracy) -> Drawing.behind(chart, other + " behind", words, accuracy));
            Drawing.mark(chart, "trained", LengthClass.TRAINED_WORDS, 0.45, 1);
            Drawing.ahead(chart, kind, words, accuracies.get(kind));
            chart.getStyler().setYAxisMin(0.45).setYAxisMax(1.0).setLegendVisible(false);
            charts.add(chart);
        }
        notebook.pictures(
                "length-extrapolation",
                "Accuracy by the length of the sentence: each kind before the others in gray; the vertical line is the longest"
                        + " sentence in training. The axis begins a little below chance, 0.5",
                3,
                charts);

        notebook.text("""
                Without positions there is nothing but chance. The kinds that are *added to the input*, sinusoidal and learned,
                lose more than 0.12 beyond the trained length: there the encoder meets vectors that it has never seen. ALiBi,
                KERPLE and Sandwich, which only lower scores with the distance, begin below 0.9 and lose nothing. Of the kinds
                that begin above 0.92, the distance network, Transformer-XL and DeBERTa gain with the length; rotary, T5 and
                Shaw lose.""");
    }

    /** Reads a column for each length: by the kind in words, one number for each {@link LengthClass}. */
    static Map<String, double[]> table(String column) throws IOException {
        Map<String, double[]> numbers = new LinkedHashMap<>();
        try (InputStream in = LengthClass.class.getResourceAsStream(TABLE)) {
            for (CSVRecord row : CSV.parse(new InputStreamReader(in, StandardCharsets.UTF_8))) {
                Encoding kind = Encoding.valueOf(row.get("positions").toUpperCase(Locale.ROOT));
                numbers.put(
                        kind.title(),
                        Arrays.stream(LengthClass.values())
                                .mapToDouble(length -> Double.parseDouble(row.get(column + length)))
                                .toArray());
            }
        }
        return numbers;
    }
}
