package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The published conventions of sinusoids: layout, order, frequencies, and odd sizes. */
public final class Conventions {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% six
        conventions(8).forEach((letter, encoding) -> out.print("%s  %s", letter, row(encoding, 1)));
        // %% where
        List<HeatMapChart> charts = new ArrayList<>();
        // ...
        for (String letter : List.of("A", "F", "C", "D")) {
            SinusoidalEncoding encoding = conventions(16).get(letter);
            String title = letter
                    + (letter.equals("A") || letter.equals("F") ? ": neighbors, " : ": halves, ")
                    + (encoding.value(0, 0) == 0 ? "sin first" : "cos first");
            charts.add(HeatMapChart.of(title, "dimension", "position", 32, 16, encoding::value));
        }
        out.pictures(2, charts);
        // %% odd
        for (OddSize oddSize : OddSize.values()) {
            String title = oddSize.name().toLowerCase(Locale.ROOT).replace('_', ' ');
            SinusoidalEncoding encoding = SinusoidalEncoding.builder()
                    .setEmbeddingSize(5)
                    .optOddSize(oddSize)
                    .build();
            out.print("%-17s %s", title, row(encoding, 1));
        }
        // %% cost
        Map<String, SinusoidalEncoding> large = conventions(512);
        large.forEach((letter, other) -> out.print("A and %s: %.3f", letter, meanCosine(large.get("A"), other)));
        // %% layouts
        out.print("neighbors, 1 2 3 4: %s", text(turned(1, PairLayout.INTERLEAVED, 1, 2, 3, 4)));
        out.print("halves,    1 2 3 4: %s", text(turned(1, PairLayout.CONCATENATED, 1, 2, 3, 4)));
        out.print("neighbors, 1 3 2 4: %s", text(turned(1, PairLayout.INTERLEAVED, 1, 3, 2, 4)));
        // %% mixed
        for (int distance : new int[] {0, 1, 3, 10, 50}) {
            double right = score(distance, PairLayout.INTERLEAVED);
            double mixed = score(distance, PairLayout.CONCATENATED);
            out.print("Δ = %2d: right %6.3f, mixed %6.3f", distance, right, mixed);
        }
    }

    /** The six published conventions. */
    private static Map<String, SinusoidalEncoding> conventions(int size) {
        Map<String, SinusoidalEncoding> conventions = new LinkedHashMap<>();
        conventions.put("A", SinusoidalEncoding.vaswani(size));
        conventions.put("B", SinusoidalEncoding.tensor2tensor(size, 1, 10_000));
        conventions.put("C", SinusoidalEncoding.xTransformers(size));
        conventions.put("D", SinusoidalEncoding.diffusion(size, 0, 1, true));
        conventions.put("E", SinusoidalEncoding.diffusion(size, 1, 1, true));
        conventions.put(
                "F",
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(size)
                        .optLayout(PairLayout.INTERLEAVED)
                        .optCosineFirst(true)
                        .build());
        return conventions;
    }

    private static String row(SinusoidalEncoding encoding, int position) {
        return text(each(encoding.getEmbeddingSize(), i -> encoding.value(position, i)));
    }

    private static String text(double... numbers) {
        return Arrays.stream(numbers)
                .mapToObj(number -> String.format(Locale.ROOT, "%.4f", number))
                .collect(Collectors.joining(" "));
    }

    /** Turns a vector by a position. */
    private static double[] turned(int position, PairLayout layout, double... vector) {
        RotaryEmbeddingBlock rotary = RotaryEmbeddingBlock.builder()
                .setHeadSize(vector.length)
                .optLayout(layout)
                .build();
        try (NDManager manager = Engine.getEngine("PyTorch").newBaseManager()) {
            NDArray x = manager.create(vector, new Shape(1, 1, 1, vector.length));
            NDList input = new NDList(x, manager.create(new int[] {position}));
            return rotary.forward(new ParameterStore(manager, false), input, false)
                    .head()
                    .toDoubleArray();
        }
    }

    /** Returns the score of the query and key of the chapter Rotary. */
    private static double score(int distance, PairLayout layout) {
        double[] q = turned(distance, layout, each(64, i -> Math.sin(5 * i * i)));
        double[] k = each(64, i -> Math.sin(7 * i * i)); // at position 0
        return Arrays.stream(each(64, i -> q[i] * k[i])).sum();
    }

    /** Returns the mean over 100 positions; all vectors of both encodings have the same norm. */
    private static double meanCosine(SinusoidalEncoding a, SinusoidalEncoding b) {
        int size = a.getEmbeddingSize();
        return IntStream.range(0, 100 * size)
                        .mapToDouble(n ->
                                a.value(Math.floorDiv(n, size), n % size) * b.value(Math.floorDiv(n, size), n % size))
                        .sum()
                / (50.0 * size);
    }
}
