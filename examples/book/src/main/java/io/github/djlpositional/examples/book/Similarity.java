// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.Plots.points;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;
import static io.github.djlpositional.examples.book.Vectors.dot;
import static io.github.djlpositional.examples.book.Vectors.row;

import io.github.djlpositional.examples.Plots;
import io.github.djlpositional.math.SinusoidalEncoding;
import org.jfree.chart.JFreeChart;

/** The dot product of two sinusoidal encodings: a function of their distance, which falls, but not everywhere. */
public final class Similarity {

    public static void main(String... args) throws Exception {
        // %% distance
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(64);
        print("  Δ   near 100  near 1000");
        for (int distance : new int[] {0, 1, 2, 5, 10, 50}) {
            double early = dot(row(encoding, 100 + distance), row(encoding, 100));
            double late = dot(row(encoding, 1000), row(encoding, 1000 - distance));
            print("%3d %10.4f %10.4f", distance, early, late);
        }
        // ...
        JFreeChart curve = lines("Similarity of two positions, d = 64", "distance Δ", "dot product");
        line(curve, "dot product", each(241, i -> i - 120), each(241, i -> encoding.similarity(i - 120)));
        curve.getXYPlot().getRangeAxis().setLowerBound(0);
        curve.removeLegend();
        display(picture(curve));
        // %% rises
        for (int distance : new int[] {5, 6, 30, 96, 101}) {
            print("Δ = %3d: %6.3f of %d", distance, encoding.similarity(distance), 64 / 2);
        }
        // %% parts
        for (int m : new int[] {0, 1, 2, 3}) {
            double turns = 101 * encoding.frequency(2 * m) / (2 * Math.PI);
            print("pair %d: %5.2f turns, cosine %6.3f", m, turns, Math.cos(2 * Math.PI * turns));
        }
        // ...
        JFreeChart parts = lines("What each pair adds to the dot product", "pair m", "cosine of its angle");
        for (int distance : new int[] {96, 101}) {
            line(parts, "Δ = " + distance, 32, m -> Math.cos(distance * encoding.frequency(2 * m)));
        }
        parts.getXYPlot().getRangeAxis().setRange(-1.0, 1.0);
        display(picture(parts));
        Plots.Cells cells = (t, s) -> encoding.similarity(t - s) / 32;
        display(picture(heatMap("Dot product divided by 32", "s", "t", 0, 1, 120, 120, cells)));
        // %% sizes
        SinusoidalEncoding large = SinusoidalEncoding.vaswani(512);
        print("  Δ   d = 64  d = 512  formula");
        for (int delta : new int[] {10, 20, 40, 80, 160}) {
            double few = encoding.similarity(delta) / 32;
            double many = large.similarity(delta) / 256;
            print("%3d %8.3f %8.3f %8.3f", delta, few, many, formula(delta));
        }
        // ...
        JFreeChart sizes = lines("Dot product as a share of d / 2", "distance Δ", "similarity");
        line(sizes, "d = 64", 201, distance -> encoding.similarity(distance) / 32);
        line(sizes, "d = 512", 201, distance -> large.similarity(distance) / 256);
        points(sizes, "formula", each(10, i -> 20 * i + 10), each(10, i -> formula(20 * i + 10)));
        sizes.getXYPlot().getRangeAxis().setRange(0.0, 1.0);
        display(picture(sizes));
    }

    /** The mean cosine of very many pairs; the number is the Euler-Mascheroni constant. */
    private static double formula(double distance) {
        return 1 - (Math.log(distance) + 0.5772156649015329) / Math.log(10_000);
    }
}
