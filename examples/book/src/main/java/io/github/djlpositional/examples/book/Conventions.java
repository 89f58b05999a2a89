// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jfree.chart.JFreeChart;

/** The published conventions of sinusoids, and the two layouts of rotary embeddings. */
public final class Conventions {

    public static void main(String... args) throws Exception {
        // %% six
        conventions(8).forEach((letter, encoding) -> print("%s %s", letter, text("%.3f", Vectors.row(encoding, 1))));
        // %% where
        Map<String, SinusoidalEncoding> small = conventions(16);
        // ...
        List<JFreeChart> charts = new ArrayList<>();
        for (String title : new String[] {
            "A: neighbors, sine first", "F: neighbors, cosine first", "C: halves, sine first", "D: halves, cosine first"
        }) {
            SinusoidalEncoding encoding = small.get(title.substring(0, 1));
            charts.add(heatMap(title, "dimension", "position", -1, 1, 32, 16, encoding::value));
        }
        for (JFreeChart each : charts) {
            display(picture(each));
        }
        // %% cost
        Map<String, SinusoidalEncoding> large = conventions(512);
        large.forEach((letter, other) -> {
            double[] cosines = each(100, t -> Vectors.cosine(Vectors.row(large.get("A"), t), Vectors.row(other, t)));
            print("A and %s: %.3f", letter, Vectors.mean(cosines));
        });
        // %% layouts
        print("neighbors, 1 2 3 4: %s", text("%.2f", rotated(1, PairLayout.INTERLEAVED, 1, 2, 3, 4)));
        print("halves,    1 2 3 4: %s", text("%.2f", rotated(1, PairLayout.CONCATENATED, 1, 2, 3, 4)));
        print("neighbors, 1 3 2 4: %s", text("%.2f", rotated(1, PairLayout.INTERLEAVED, 1, 3, 2, 4)));
        // %% mixed
        double[] q = each(64, i -> Math.sin(5 * i * i));
        double[] k = each(64, i -> Math.sin(7 * i * i)); // at position 0
        for (int distance : new int[] {0, 1, 3, 10, 50}) {
            double right = Vectors.dot(rotated(distance, PairLayout.INTERLEAVED, q), k);
            double mixed = Vectors.dot(rotated(distance, PairLayout.CONCATENATED, q), k);
            print("Δ = %2d: right %6.3f, mixed %6.3f", distance, right, mixed);
        }
    }

    private static Map<String, SinusoidalEncoding> conventions(int size) {
        SinusoidalEncoding cosineFirst = SinusoidalEncoding.builder()
                .setEmbeddingSize(size)
                .optLayout(PairLayout.INTERLEAVED)
                .optCosineFirst(true)
                .build();
        return new TreeMap<>(Map.of(
                "A", SinusoidalEncoding.vaswani(size),
                "B", SinusoidalEncoding.tensor2tensor(size, 1, 10_000),
                "C", SinusoidalEncoding.xTransformers(size),
                "D", SinusoidalEncoding.diffusion(size, 0, 1, true),
                "E", SinusoidalEncoding.diffusion(size, 1, 1, true),
                "F", cosineFirst));
    }

    private static String text(String format, double... numbers) {
        return Arrays.stream(numbers)
                .mapToObj(number -> String.format(Locale.ROOT, format, number))
                .collect(Collectors.joining(" "));
    }

    /** Rotates a vector by a position. */
    private static double[] rotated(int t, PairLayout layout, double... vector) {
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(vector.length)
                .optLayout(layout)
                .build();
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            NDArray x = manager.create(vector, new Shape(1, 1, 1, vector.length));
            NDList input = new NDList(x, manager.create(new int[] {t}));
            return rotary.forward(new ParameterStore(manager, false), input, false)
                    .head()
                    .toDoubleArray();
        }
    }
}
