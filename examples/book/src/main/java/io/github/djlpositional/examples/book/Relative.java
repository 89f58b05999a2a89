// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.examples.Plots;
import io.github.djlpositional.math.RelativeBuckets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jfree.chart.JFreeChart;

/** All relative encodings: what each adds to a score, computed and drawn by the same code. */
public final class Relative {

    @SuppressWarnings("UnusedVariable") // shows how blocks are built
    public static void main(String... args) throws Exception {
        // %% curves
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        manager.getEngine().setRandomSeed(1);
        NDArray words = manager.randomNormal(new Shape(2, 8, 24, 64)); // queries and keys, 8 heads
        RelativeEncoding alibi = RelativeEncoding.named("ALiBi", 8, 64, Map.of());
        NDArray added = added(alibi, words); // (8, 24, 24): for each head, query and key
        // ...
        print("%-8s %6d %6d %7d %7d", "Δ", 1, 2, 4, 16);
        List<String> curves = List.of("ALiBi", "Sandwich", "KERPLE", "Gaussian");
        for (String name : curves) {
            float[] row = added(encoding(name, manager), words).get("0, 0").toFloatArray();
            double[] b = each(24, distance -> row[distance] - row[0]);
            print("%-8s %6.3f %6.3f %7.3f %7.3f", name, b[1], b[2], b[4], b[16]);
        }
        draw(words, 1, curves);
        // %% functions
        RelativeBuckets encoder = RelativeBuckets.of(true, 32, 128);
        RelativeBuckets decoder = RelativeBuckets.of(false, 32, 128); // of s - t
        // ...
        print("%5s %8s %8s %8s", "Δ", "before", "after", "decoder");
        for (int n : new int[] {0, 1, 7, 8, 12, 16, 32, 58, 112, 113, 1000}) {
            print("%5d %8d %8d %8d", n, encoder.bucket(-n), encoder.bucket(n), decoder.bucket(-n));
        }
        draw(words, 1, List.of("T5", "distance network", "FIRE"));
        // %% terms
        NDArray repeated = words.get(":, :, 0:1").repeat(2, 24); // one word 24 times
        NDArray term = added(encoding("Shaw", manager), repeated);
        // ...
        draw(words, 8, List.of("Shaw", "Transformer-XL", "DeBERTa", "rotary"));
        // %% trained
        // ...
        List<JFreeChart> learned = new ArrayList<>();
        for (String name : List.of("T5", "KERPLE", "distance network", "FIRE")) {
            JFreeChart chart = lines(name, "distance", "weight");
            chart.getXYPlot().getRangeAxis().setRange(0, 1);
            Measured.heads("biases-text", name.replace(' ', '_').toLowerCase(Locale.ROOT))
                    .forEach((head, bias) -> {
                        double[] weights = weights(Arrays.copyOf(bias, 64));
                        line(chart, head, 25, distance -> weights[distance]);
                    });
            learned.add(chart);
        }
        for (JFreeChart each : learned) {
            display(picture(each));
        }
        manager.close();
    }

    private static final Map<String, Map<String, ?>> OPTIONS = Map.of(
            "distance network", Map.of("hiddenSize", 32, "logarithmic", true),
            "FIRE", Map.of("threshold", 8.0),
            "Shaw", Map.of("maxDistance", 8));

    private static RelativeEncoding encoding(String name, NDManager manager) {
        manager.getEngine().setRandomSeed(5);
        RelativeEncoding encoding = RelativeEncoding.named(name, 8, 64, OPTIONS.getOrDefault(name, Map.of()));
        encoding.initialize(manager, DataType.FLOAT32, new Shape(1, 8, 24, 64));
        if (name.equals("KERPLE")) { // its parameters are logarithms
            encoding.getParameters().values().forEach(each -> each.getArray().set(new float[8]));
        }
        return encoding;
    }

    private static NDArray added(RelativeEncoding encoding, NDArray words) {
        NDList pair = words.split(2);
        NDList output = encoding.forward(new ParameterStore(words.getManager(), false), pair, false);
        return (output.size() == 1 ? output.head() : product(output).sub(product(pair))).squeeze(0);
    }

    private static double[] weights(double... scores) {
        double sum = Arrays.stream(scores).map(Math::exp).sum();
        return each(scores.length, s -> Math.exp(scores[s]) / sum);
    }

    private static NDArray product(NDList pair) {
        return pair.get(0).matMul(pair.get(1).swapAxes(2, 3));
    }

    private static void draw(NDArray words, double scale, List<String> names) throws Exception {
        JFreeChart curves = lines("The first head, one word repeated", "distance Δ", "added");
        List<JFreeChart> matrices = new ArrayList<>();
        for (String name : names) {
            RelativeEncoding encoding = encoding(name, words.getManager());
            int after = name.equals("FIRE") ? 0 : 23; // FIRE is made for keys before the query
            NDArray one = added(encoding, words.get(":, :, 0:1").repeat(2, 24)).get(0);
            float[] all = added(encoding, words).get(0).toFloatArray();
            double[] y = each(after + 24, i -> one.getFloat(23 + Math.min(i - after, 0), 23 - Math.max(i - after, 0)));
            line(curves, name, each(y.length, i -> i - after), each(y.length, i -> y[i] - y[after]));
            double[][] weights = new double[24][];
            Arrays.setAll(weights, t -> weights(each(Math.min(24, t + after + 1), s -> all[24 * t + s] / scale)));
            Plots.Cells cells = (t, s) -> s > t + after ? 0 : 100 * weights[t][s] - 100.0 / weights[t].length;
            double largest = Vectors.quantile(0.999, each(576, i -> cells.value(i / 24, i % 24)));
            double end = Double.parseDouble(String.format(Locale.ROOT, "%.1e", largest));
            matrices.add(heatMap(name, "key", "query", -end, end, 24, 24, cells));
        }
        display(picture(curves));
        for (JFreeChart each : matrices) {
            display(picture(each));
        }
    }
}
