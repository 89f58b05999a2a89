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
                "Small encoders with and without positions read longer sentences than in their training.");
        notebook.text("""
                Which kinds still work on sentences that are longer than all sentences of the training? Small encoders learned to
                tell definitions from shuffled ones, three times with each kind of positions. No sentence of the training had more than
                16 words. Then they were measured with other sentences: of 5 to 16 words, of 17 to 24, and of 25 to 40. The command
                `train-encoder.jar compare` does all of this; its table is read here. The numbers are the fraction of correct
                answers, and 0.5 is chance.

                Some kinds are variants. *Sinusoidal, N(0, 1)* starts with larger word vectors, those of the library's default;
                *sinusoidal, scaled* multiplies its word vectors by the square root of their size, as the paper does. *KERPLE*
                lowers a score with the logarithm of the distance, and *KERPLE, power* with a power of it. *FIRE* computes a bias
                from the distance relative to the position of the query.""");
        Map<String, double[]> accuracies = table("mean ");
        Map<String, double[]> least = table("least ");
        Map<String, double[]> greatest = table("greatest ");
        List<String> kinds = accuracies.keySet().stream()
                .sorted(Comparator.comparingDouble(kind -> -accuracies.get(kind)[2]))
                .toList();
        notebook.row("%-19s %6s %6s %6s %6s", "words", "5-16", "17-24", "25-40", "±");
        for (String kind : kinds) {
            double[] means = accuracies.get(kind);
            double range = greatest.get(kind)[2] - least.get(kind)[2];
            notebook.row("%-19s %6.3f %6.3f %6.3f %6.3f", kind, means[0], means[1], means[2], range / 2);
        }

        notebook.text("""
                The last column is half of the range of the three trainings, for the longest sentences. The picture shows one kind
                at a time, in the order of the table, before the others in gray. The vertical line is the length of the longest sentence in training.""");
        double[] words = Arrays.stream(LengthClass.values())
                .mapToDouble(LengthClass::middle)
                .toArray();
        List<XYChart> charts = new ArrayList<>();
        for (String kind : kinds) {
            XYChart chart = Drawing.lines(kind, "words", "accuracy");
            accuracies.forEach((other, accuracy) -> Drawing.behind(chart, other + " behind", words, accuracy));
            Drawing.mark(chart, "trained", LengthClass.TRAINED_WORDS, 0.5, 1);
            Drawing.ahead(chart, kind, words, accuracies.get(kind));
            chart.getStyler().setYAxisMin(0.5).setYAxisMax(1.0).setLegendVisible(false);
            charts.add(chart);
        }
        notebook.pictures(
                "length-extrapolation",
                "Accuracy by the length of the sentence: each kind before the others in gray. A point is the middle of a"
                        + " group of lengths, the vertical line the longest sentence in training; the axis begins at"
                        + " chance, 0.5",
                4,
                charts);

        notebook.text("""
                Without positions there is nothing but chance. The kinds that are *added to the input*, sinusoidal and learned,
                lose 0.06 to 0.19 from the shortest sentences to the longest: beyond the trained length the encoder meets vectors
                that it has never seen.

                All relative kinds but Shaw are better with 17 to 24 words than with 5 to 16, although no sentence of the training
                was so long. The likely reason is the task: of a longer sentence, more words are in another place after shuffling.

                With 25 to 40 words, ALiBi, KERPLE and Sandwich, which only lower scores with the distance, have gained 0.04 to
                0.07; they began below 0.9. Of the kinds that began above 0.92, the distance network, Transformer-XL and DeBERTa
                do not lose. Shaw loses 0.18. T5 loses 0.06 and rotary 0.05, which is less than their three trainings differ from
                each other.""");
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
