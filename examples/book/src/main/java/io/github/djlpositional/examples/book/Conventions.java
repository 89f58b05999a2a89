package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The published conventions of sinusoids: layout, order, frequencies, and odd sizes. */
public final class Conventions {

    private Conventions() {}

    public static void main(String[] args) throws Exception {
        write(Notebook.in(Path.of("pictures")));
    }

    static void write(Notebook out) throws Exception {
        // %% six
        conventions(8).forEach((letter, encoding) -> out.print("%s  %s", letter, row(encoding, 1)));
        // %% equal
        boolean isSame = SinusoidalEncoding.fairseq(8).equals(conventions(8).get("B"))
                && SinusoidalEncoding.diffusion(8).equals(conventions(8).get("B"));
        // ...
        out.print("fairseq, DDPM and tensor2tensor agree: %b", isSame);
        // %% where
        List<HeatMapChart> charts = new ArrayList<>();
        // ...
        for (String letter : List.of("A", "F", "C", "D")) {
            SinusoidalEncoding encoding = conventions(16).get(letter);
            String title = (letter.compareTo("B") < 0 || letter.equals("F") ? "Neighbors, " : "Halves, ")
                    + (encoding.value(0, 0) == 0 ? "sine first (" : "cosine first (") + letter + ")";
            charts.add(HeatMapChart.of(title, "dimension", "position", 32, 16, encoding::value));
        }
        out.pictures("conventions-where", "The same sixteen columns, in four orders", 2, charts);
        // %% frequencies
        LineChart chart = LineChart.of("Frequencies of 16 dimensions", "pair", "radians per position");
        // ...
        chart.yLogarithmic();
        chart.line("divided by d/2, the paper", 8, conventions(16).get("C")::frequency);
        chart.line("divided by d/2 - 1, tensor2tensor", 8, conventions(16).get("B")::frequency);
        chart.line("powers of one half", 8, Frequencies.of(each(8, m -> Math.pow(2, -m)))::get);
        out.picture(
                "conventions-frequencies",
                "All begin with one radian per position; the slowest pairs differ most",
                chart);
        // %% odd
        List<HeatMapChart> oddSizes = new ArrayList<>();
        // ...
        for (OddSize oddSize : OddSize.values()) {
            String title = oddSize.name().toLowerCase(Locale.ROOT).replace('_', ' ');
            SinusoidalEncoding encoding = SinusoidalEncoding.builder()
                    .setEmbeddingSize(5)
                    .optOddSize(oddSize)
                    .build();
            out.print("%-17s %s", title, row(encoding, 1));
            oddSizes.add(HeatMapChart.of("Odd size: " + title, "dimension", "position", 100, 5, encoding::value));
        }
        out.pictures("conventions-odd", "Five dimensions, three ways: the last three columns differ", 3, oddSizes);
        // %% cost
        Map<String, SinusoidalEncoding> large = conventions(512);
        large.forEach((letter, other) -> out.print("A and %s: %.3f", letter, meanCosine(large.get("A"), other)));
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
        return IntStream.range(0, encoding.getEmbeddingSize())
                .mapToObj(i -> String.format(Locale.ROOT, "%.4f", encoding.value(position, i)))
                .collect(Collectors.joining(" "));
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
