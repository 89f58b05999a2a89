package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;
import static io.github.djlpositional.examples.book.Vectors.cosine;
import static io.github.djlpositional.examples.book.Vectors.norm;
import static io.github.djlpositional.examples.book.Vectors.row;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;

/** Integers, fractions and bits as positions, what each of them lacks, and how bits become sines and cosines. */
public final class Count {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% count
        double[] dog = each(64, i -> i % 2 == 0 ? 1 : -1); // 1, -1, 1, -1, ...
        double[] man = each(64, i -> i % 4 < 2 ? 1 : -1); // 1, 1, -1, -1, ...
        for (int t : new int[] {0, 10, 100, 1000}) {
            double[] count = each(64, i -> i == 0 ? t : 0);
            double cosine = cosine(sum(dog, count), sum(man, count));
            out.print("t = %4d: cosine of dog and man %.4f", t, cosine);
        }
        // %% fractions
        for (int length : new int[] {5, 20, 50}) {
            double step = 1 / (length - 1.0);
            out.print("%2d words: step %.3f, position 4: %.3f", length, step, 4 * step);
        }
        // ...
        LineChart fractions = LineChart.of("A position as a fraction of the sentence", "position t", "fraction");
        for (int length : new int[] {5, 20, 50}) {
            fractions.line(length + " words", length, t -> t / (length - 1.0));
        }
        fractions.mark("position 4", 4, 0, 1);
        out.picture(fractions);
        // %% bits
        // ...
        out.picture(
                HeatMapChart.of("Positions as bits", "bit, from the left", "position t", 32, 5, (t, i) -> bits(t)[i])
                        .range(0, 1));
        for (int t : new int[] {0, 14, 15, 17, 24}) {
            out.print("distance of 16 and %2d: %.3f", t, distance(bits(16), bits(t)));
        }
        // %% sines
        // ...
        out.print("sines, 0 and 16:        %.3f", distance(waves(0, 0), waves(16, 0)));
        out.print("with cosines, 0 and 16: %.3f", distance(waves(0, 1), waves(16, 1)));
        // %% sinusoids
        SinusoidalEncoding sinusoids = SinusoidalEncoding.vaswani(64);
        for (int t : new int[] {0, 10, 100, 1000}) {
            double[] p = row(sinusoids, t);
            double step = distance(p, row(sinusoids, t + 1));
            out.print("t = %4d: cosine %.4f, step %.4f", t, cosine(sum(dog, p), sum(man, p)), step);
        }
        // ...
        double[] byBits = each(32, t -> distance(bits(16), bits(t)));
        double[] bySines = each(32, t -> distance(row(sinusoids, 16), row(sinusoids, t)));
        double farthest = Arrays.stream(bySines).max().orElseThrow();
        LineChart distances =
                LineChart.of("How far is a position from position 16?", "position t", "distance / largest distance");
        distances.line("bits", 32, t -> byBits[t] / Math.sqrt(5));
        distances.line("sines and cosines", 32, t -> bySines[t] / farthest);
        out.picture(distances);
    }

    private static double[] bits(int t) {
        return each(5, i -> t >> (4 - i) & 1);
    }

    /** Sines with the periods 2, 4, 8, 16 and 32, with a cosine beside each or without. */
    private static double[] waves(int t, int cosines) {
        return each(5 * (1 + cosines), i -> Math.sin(2 * Math.PI * t / (2 << i % 5) + (i < 5 ? 0 : Math.PI / 2)));
    }

    private static double[] sum(double[] a, double[] b) {
        return each(a.length, i -> a[i] + b[i]);
    }

    private static double distance(double[] a, double[] b) {
        return norm(each(a.length, i -> a[i] - b[i]));
    }
}
