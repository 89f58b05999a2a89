// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.Plots.ranges;
import static io.github.djlpositional.examples.Plots.rows;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.examples.experiments.Encoding;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jfree.chart.JFreeChart;

/** Which encoding to use: what is published and used, the code for each need, and what was measured. */
public final class Which {

    @SuppressWarnings("UnusedVariable") // shows how blocks are built
    public static void main(String... args) throws Exception {
        // %% lines
        RelativeEncoding usual = RelativeEncoding.named("rotary", 8, 64, Map.of());
        RelativeEncoding longer = RelativeEncoding.named("rotary", 8, 64, Map.of("base", 160_000));
        RelativeEncoding scaled = RelativeEncoding.named("rotary", 8, 64, Map.of("scaling", YARN));
        RelativeEncoding network = RelativeEncoding.named("distance network", 8, 64, Map.of("hiddenSize", 32));
        GridPositionalEncodingBlock.Builder picture =
                GridPositionalEncodingBlock.builder().setEncoding(GRID);
        PositionalEncodingBlock.Builder input =
                PositionalEncodingBlock.builder().setEmbeddingSize(512);
        // %% measured
        Map<String, double[]> accuracies = Measured.of(Measured.SENTENCES, "mean");
        Map<String, double[]> losses = Measured.of(Measured.TEXT, "mean");
        // ...
        List<String> kinds = losses.keySet().stream()
                .filter(kind -> !kind.matches("rotary_linear|kerple_.*"))
                .sorted(Comparator.comparingDouble(kind -> losses.get(kind)[7]))
                .toList();
        print("%-17s%11s%9s", "", "accuracy", "loss");
        print("%-17s%5s%6s%4s%5s", "", "5–16", "25–40", "64", "256");
        for (String kind : kinds) {
            double[] loss = losses.get(kind);
            double[] right = accuracies.getOrDefault(kind, NONE);
            String numbers = String.format(Locale.ROOT, "%5.2f%5.2f%5.2f%5.2f", right[0], right[2], loss[1], loss[7]);
            print("%-17s%s", title(kind), numbers.replace("  NaN", "    –"));
        }
        display(picture(chart("Encoders", "accuracy, higher is better", Measured.SENTENCES, kinds, 0, 2)));
        display(picture(chart("Language models", "loss, lower is better", Measured.TEXT, kinds, 1, 7)));
    }

    /** The numbers of an encoding that was not trained. */
    private static final double[] NONE = each(8, size -> Double.NaN);

    private static final RotaryScaling YARN = RotaryScaling.yarn(4, 2048);
    private static final GridEncoding GRID = GridEncoding.visionTransformer(512);

    private static String title(String kind) {
        return Encoding.valueOf(kind.toUpperCase(Locale.ROOT)).title();
    }

    /** Draws each encoding at the trained length and at a longer one, with the range of three trainings. */
    private static JFreeChart chart(
            String title, String xTitle, String file, List<String> kinds, int trained, int longer) {
        JFreeChart chart =
                rows(title, xTitle, kinds.stream().map(kind -> title(kind)).toList());
        for (int size : new int[] {trained, longer}) {
            double[][] numbers = new double[3][];
            for (int i = 0; i < 3; i++) {
                String statistic = List.of("mean", "least", "greatest").get(i);
                Map<String, double[]> rows = Measured.of(file, statistic);
                numbers[i] = each(kinds.size(), row -> rows.getOrDefault(kinds.get(row), NONE)[size]);
            }
            double[] y = each(kinds.size(), row -> size == trained ? row - 0.15 : row + 0.15);
            ranges(chart, size == trained ? "trained length" : "longer", numbers[0], y, numbers[1], numbers[2]);
        }
        return chart;
    }
}
