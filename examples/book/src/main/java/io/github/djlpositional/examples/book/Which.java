package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.examples.Encoding;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** Which encoding to use: what is published and used, the code for each need, and what was measured. */
public final class Which {

    @SuppressWarnings("UnusedVariable") // a page shows how blocks are built
    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% lines
        RelativeEncoding usual = RelativeEncoding.named("rotary", 8, 64, Map.of());
        RelativeEncoding longer = RelativeEncoding.named("rotary", 8, 64, Map.of("scaling", YARN));
        RelativeEncoding encoder = RelativeEncoding.named("distance network", 8, 64, Map.of("hiddenSize", 32));
        RelativeEncoding decoder = RelativeEncoding.named("KERPLE", 8, 64, Map.of());
        GridPositionalEncodingBlock.Builder picture =
                GridPositionalEncodingBlock.builder().setEncoding(GRID);
        PositionalEncodingBlock.Builder input =
                PositionalEncodingBlock.builder().setEmbeddingSize(512);
        // %% measured
        Map<String, double[]> accuracies = Measured.of(Measured.SENTENCES, "mean");
        Map<String, double[]> losses = Measured.of(Measured.TEXT, "mean");
        // ...
        out.print("%-17s %7s %6s %8s %6s", "", "encoder", "longer", "decoder", "longer");
        for (String kind : kinds(losses, kind -> losses.get(kind)[7])) {
            double[] loss = losses.get(kind);
            double[] accuracy = accuracies.getOrDefault(kind, each(3, size -> Double.NaN)); // of the Gaussian
            String numbers = String.format(Locale.ROOT, "%7.2f %6.2f", accuracy[0], accuracy[2])
                    .replace("NaN", "  -");
            out.print("%-17s %s %8.2f %6.2f", title(kind), numbers, loss[1], loss[7]);
        }
        out.pictures(2, chart("Encoders", Measured.SENTENCES, 0, 2), chart("Language models", Measured.TEXT, 1, 7));
    }

    private static List<String> kinds(Map<String, double[]> rows, ToDoubleFunction<String> order) {
        return rows.keySet().stream()
                .filter(kind -> !kind.matches("rotary_linear|sinusoidal_.*|kerple_.*"))
                .sorted(Comparator.comparingDouble(order))
                .toList();
    }

    private static String title(String kind) {
        return Encoding.valueOf(kind.toUpperCase(Locale.ROOT)).title();
    }

    /** Draws each kind at the trained length and at a longer one, with the range of three trainings. */
    private static LineChart chart(String title, String file, int trained, int longer) {
        int sign = file.equals(Measured.TEXT) ? 1 : -1; // a small loss is good
        Map<String, double[]> means = Measured.of(file, "mean");
        Map<String, double[]> smallest = Measured.of(file, "least");
        Map<String, double[]> largest = Measured.of(file, "greatest");
        List<String> kinds = kinds(means, kind -> sign * means.get(kind)[longer]);
        List<String> names = kinds.stream().map(kind -> title(kind)).toList();
        LineChart chart = LineChart.ofRows(title, sign > 0 ? "loss" : "accuracy", "", names);
        for (int size : new int[] {trained, longer}) {
            chart.ranges(
                    size == trained ? "trained length" : "longer",
                    each(kinds.size(), i -> means.get(kinds.get(i))[size]),
                    each(kinds.size(), i -> i),
                    each(kinds.size(), i -> smallest.get(kinds.get(i))[size]),
                    each(kinds.size(), i -> largest.get(kinds.get(i))[size]));
        }
        return chart;
    }

    private static final RotaryScaling YARN = RotaryScaling.yarn(4, 2048);
    private static final GridEncoding GRID = GridEncoding.visionTransformer(512);
}
