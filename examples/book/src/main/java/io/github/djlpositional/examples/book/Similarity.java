package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;
import static io.github.djlpositional.examples.book.Vectors.dot;
import static io.github.djlpositional.examples.book.Vectors.row;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;

/** The dot product of two sinusoidal encodings: a function of their distance, which falls, but not everywhere. */
public final class Similarity {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% distance
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(64);
        out.print("  Δ   near 100  near 1000");
        for (int distance : new int[] {0, 1, 2, 5, 10, 50}) {
            double early = dot(row(encoding, 100 + distance), row(encoding, 100));
            double late = dot(row(encoding, 1000), row(encoding, 1000 - distance));
            out.print("%3d %10.4f %10.4f", distance, early, late);
        }
        // ...
        LineChart curve = LineChart.of("Similarity of two positions, d = 64", "distance Δ", "dot product");
        curve.line("dot product", each(241, i -> i - 120), each(241, i -> encoding.similarity(i - 120)));
        curve.yRange(0.0, Double.NaN);
        curve.hideLegend();
        out.picture(curve);
        // %% rises
        for (int distance : new int[] {5, 6, 30, 96, 101}) {
            out.print("Δ = %3d: %6.3f of %d", distance, encoding.similarity(distance), 64 / 2);
        }
        // %% parts
        for (int m : new int[] {0, 1, 2, 3}) {
            double turns = 101 * encoding.frequency(2 * m) / (2 * Math.PI);
            out.print("pair %d: %5.2f turns, cosine %6.3f", m, turns, Math.cos(2 * Math.PI * turns));
        }
        // ...
        LineChart parts = LineChart.of("What each pair adds to the dot product", "pair m", "cosine of its angle");
        for (int distance : new int[] {96, 101}) {
            parts.line("Δ = " + distance, 32, m -> Math.cos(distance * encoding.frequency(2 * m)));
        }
        parts.yRange(-1.0, 1.0);
        out.picture(parts);
        HeatMapChart map = HeatMapChart.of(
                "Dot product divided by 32", "s", "t", 120, 120, (t, s) -> encoding.similarity(t - s) / 32);
        out.picture(map.range(0, 1));
        // %% sizes
        SinusoidalEncoding large = SinusoidalEncoding.vaswani(512);
        out.print("  Δ   d = 64  d = 512  formula");
        for (int delta : new int[] {10, 20, 40, 80, 160}) {
            double few = encoding.similarity(delta) / 32;
            double many = large.similarity(delta) / 256;
            out.print("%3d %8.3f %8.3f %8.3f", delta, few, many, formula(delta));
        }
        // ...
        LineChart sizes = LineChart.of("Dot product as a share of d / 2", "distance Δ", "similarity");
        sizes.line("d = 64", 201, distance -> encoding.similarity(distance) / 32);
        sizes.line("d = 512", 201, distance -> large.similarity(distance) / 256);
        sizes.points("formula", each(10, i -> 20 * i + 10), each(10, i -> formula(20 * i + 10)));
        sizes.yRange(0.0, 1.0);
        out.picture(sizes);
    }

    /** The mean cosine of very many pairs; the number is the Euler-Mascheroni constant. */
    private static double formula(double distance) {
        return 1 - (Math.log(distance) + 0.5772156649015329) / Math.log(10_000);
    }
}
