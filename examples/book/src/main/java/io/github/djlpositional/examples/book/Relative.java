package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.examples.Chart;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.RelativeBuckets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** All relative kinds: what each adds to a score, computed and drawn by the same code. */
public final class Relative {

    @SuppressWarnings("UnusedVariable") // a page shows how blocks are built
    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% curves
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        manager.getEngine().setRandomSeed(1);
        NDArray words = manager.randomNormal(new Shape(2, 8, 24, 64)); // queries and keys, 8 heads
        RelativeEncoding alibi = RelativeEncoding.named("ALiBi", 8, 64, Map.of());
        NDArray added = added(alibi, words); // (8, 24, 24): for each head, query and key
        // ...
        out.print("%-9s %6d %6d %7d %7d %7d", "Δ", 0, 1, 2, 4, 16);
        for (String name : CURVES) {
            float[] row = added(encoding(name, manager), words).get("0, 0").toFloatArray();
            double[] less = each(24, distance -> row[distance] - row[0]);
            out.print("%-9s %6.3f %6.3f %7.3f %7.3f %7.3f", name, less[0], less[1], less[2], less[4], less[16]);
        }
        out.pictures(4, charts(words, CURVES));
        // %% functions
        RelativeBuckets encoder = RelativeBuckets.of(true, 32, 128);
        RelativeBuckets decoder = RelativeBuckets.of(false, 32, 128);
        RelativeBuckets shorter = RelativeBuckets.of(false, 32, 64); // the maximum distance is 64
        // ...
        out.print("%4s %7s %8s %9s %9s", "T5", "encoder", "encoder", "decoder", "decoder");
        out.print("%4s %7s %8s %9s %9s", "Δ", "before", "after", "128", "64");
        for (int distance : new int[] {0, 1, 7, 8, 12, 16, 32, 58, 59, 112, 113, 1000}) {
            int after = encoder.bucket(distance); // of the key's position minus the query's
            int before = encoder.bucket(-distance);
            int causal = decoder.bucket(-distance);
            out.print("%4d %7d %8d %9d %9d", distance, before, after, causal, shorter.bucket(-distance));
        }
        out.pictures(3, charts(words, FUNCTIONS));
        // %% terms
        NDArray ofWords = added(encoding("Shaw", manager), words);
        NDArray ofOneWord = added(encoding("Shaw", manager), repeated(words)); // one word
        // ...
        out.pictures(4, charts(words, TERMS));
        // %% all
        out.print("%-16s %9s  %s", "", "numbers", "direction  place  words");
        for (String name :
                Stream.of(CURVES, FUNCTIONS, TERMS).flatMap(List::stream).toList()) {
            out.print("%-16s %s", name, answers(encoding(name, manager), words));
        }
        // %% trained
        Map<String, double[]> heads = Measured.heads("biases-text", "t5"); // 8 heads, a number for each distance
        // ...
        List<LineChart> learned = new ArrayList<>();
        for (String name : List.of("T5", "KERPLE", "distance network", "FIRE")) {
            LineChart chart = LineChart.of(name, "distance", "weight").yRange(0.0, Double.NaN);
            StringBuilder nearest = new StringBuilder();
            String kind = name.replace(' ', '_').toLowerCase(Locale.ROOT);
            for (Map.Entry<String, double[]> head :
                    Measured.heads("biases-text", kind).entrySet()) {
                double[] bias = head.getValue();
                int color = head.getKey().startsWith("layer 1") ? 0 : 1;
                double[] powers = each(64, distance -> Math.exp(bias[distance]));
                double sum = Arrays.stream(powers).sum();
                chart.thin(color, each(25, i -> i), each(25, i -> powers[i] / sum));
                nearest.append(String.format(Locale.ROOT, " %.2f", (powers[0] + powers[1]) / sum));
            }
            learned.add(chart);
            out.print("%-16s%s", name, nearest);
        }
        out.pictures(4, learned);
        manager.close();
    }

    private static final List<String> CURVES = List.of("ALiBi", "Sandwich", "KERPLE", "Gaussian");
    private static final List<String> FUNCTIONS = List.of("T5", "distance network", "FIRE");
    private static final List<String> TERMS = List.of("Shaw", "Transformer-XL", "DeBERTa", "rotary");
    private static final Map<String, Map<String, ?>> OPTIONS = Map.of(
            "distance network", Map.of("hiddenSize", 32, "logarithmic", true),
            "FIRE", Map.of("threshold", 8.0),
            "Shaw", Map.of("maxDistance", 8));

    /** An encoding of 8 heads of 64 dimensions as it begins; KERPLE with a = b = 1. */
    private static RelativeEncoding encoding(String name, NDManager manager) {
        manager.getEngine().setRandomSeed(5);
        RelativeEncoding encoding = RelativeEncoding.named(name, 8, 64, OPTIONS.getOrDefault(name, Map.of()));
        encoding.initialize(manager, DataType.FLOAT32, new Shape(1, 8, 24, 64));
        if (name.equals("KERPLE")) {
            encoding.getParameters()
                    .values()
                    .forEach(logarithm -> logarithm.getArray().set(new float[8]));
        }
        return encoding;
    }

    /** What an encoding adds to the products of queries and keys: (heads, words, words). */
    private static NDArray added(RelativeEncoding encoding, NDArray words) {
        NDList pair = words.split(2);
        NDList output = encoding.forward(new ParameterStore(words.getManager(), false), pair, false);
        return (output.size() == 1 ? output.head() : product(output).sub(product(pair))).squeeze(0);
    }

    private static NDArray product(NDList pair) {
        return pair.get(0).matMul(pair.get(1).swapAxes(2, 3));
    }

    private static NDArray repeated(NDArray words) {
        return words.get(":, :, 0:1").repeat(2, 24);
    }

    /** The curve of each kind for a repeated word, and then the matrix of each for different words. */
    private static List<Chart> charts(NDArray words, List<String> names) {
        List<Chart> charts = new ArrayList<>();
        for (String name : names) {
            RelativeEncoding encoding = encoding(name, words.getManager());
            int after = name.equals("FIRE") ? 0 : 23; // FIRE is made for keys before the query
            NDArray one = added(encoding, repeated(words)).get(0);
            double[] distances = each(after + 24, i -> i - after);
            LineChart curve = LineChart.of(name, "distance", "added");
            curve.line(
                    "",
                    distances,
                    each(after + 24, i -> i < after ? one.getFloat(0, after - i) : one.getFloat(23, 23 + after - i)));
            NDArray all = added(encoding, words).get(0);
            NDArray shown = after == 0 ? all.get(23) : all;
            float smallest = shown.min().getFloat();
            float range = shown.max().getFloat() - smallest;
            HeatMapChart matrix = HeatMapChart.of(
                    name, "key", "query", 24, 24, (t, s) -> s > t + after ? 0 : all.getFloat(t, s) - smallest);
            charts.add(charts.size() / 2, curve);
            charts.add(matrix.range(0, Math.round(100 * range) / 100.0));
        }
        return charts;
    }

    /** The count of learned numbers, and whether direction, place and words make a difference. */
    private static String answers(RelativeEncoding kind, NDArray words) {
        long numbers = kind.getParameters().values().stream()
                .mapToLong(parameter -> parameter.getArray().size())
                .sum();
        NDArray one = added(kind, repeated(words)).get(0);
        String direction = differ(one.get("0, 1"), one.get("1, 0"));
        String place = differ(one.get("1, 0"), one.get("23, 22"));
        String word = differ(one.get("5, 1"), added(kind, words).get("0, 5, 1"));
        return String.format(Locale.ROOT, "%,9d  %-9s  %-5s  %s", numbers, direction, place, word);
    }

    private static String differ(NDArray a, NDArray b) {
        return Math.abs(a.getFloat() - b.getFloat()) > 1e-4 ? "yes" : "no";
    }
}
