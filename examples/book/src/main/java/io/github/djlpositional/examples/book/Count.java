// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.mark;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;
import static io.github.djlpositional.examples.book.Vectors.cosine;
import static io.github.djlpositional.examples.book.Vectors.norm;
import static io.github.djlpositional.examples.book.Vectors.row;

import io.github.djlpositional.examples.Plots;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.jfree.chart.JFreeChart;

/** Integers, fractions and bits as positions, what each of them lacks, and how bits become sines and cosines. */
public final class Count {

    public static void main(String... args) throws Exception {
        // %% count
        double[] dog = each(64, i -> i % 2 == 0 ? 1 : -1); // 1, -1, 1, -1, ...
        double[] man = each(64, i -> i % 4 < 2 ? 1 : -1); // 1, 1, -1, -1, ...
        for (int t : new int[] {0, 10, 100, 1000}) {
            double[] count = each(64, i -> i == 0 ? t : 0);
            double cosine = cosine(sum(dog, count), sum(man, count));
            print("t = %4d: cosine of dog and man %.4f", t, cosine);
        }
        // %% fractions
        for (int length : new int[] {5, 20, 50}) {
            double step = 1 / (length - 1.0);
            print("%2d words: step %.3f, position 4: %.3f", length, step, 4 * step);
        }
        // ...
        JFreeChart fractions = lines("A position as a fraction of the sentence", "position t", "fraction");
        for (int length : new int[] {5, 20, 50}) {
            line(fractions, length + " words", length, t -> t / (length - 1.0));
        }
        mark(fractions, "position 4", 4, 0, 1);
        display(picture(fractions));
        // %% bits
        // ...
        for (int t : new int[] {0, 14, 15, 17, 24}) {
            print("distance of 16 and %2d: %.3f", t, distance(bits(16), bits(t)));
        }
        Plots.Cells cells = (t, i) -> bits(t)[i];
        display(picture(heatMap("Positions as bits", "bit, from the left", "position t", 0, 1, 32, 5, cells)));
        // %% sines
        // ...
        print("sines, 0 and 16:        %.3f", distance(waves(0, 0), waves(16, 0)));
        print("with cosines, 0 and 16: %.3f", distance(waves(0, 1), waves(16, 1)));
        // %% sinusoids
        SinusoidalEncoding sinusoids = SinusoidalEncoding.vaswani(64);
        for (int t : new int[] {0, 10, 100, 1000}) {
            double[] p = row(sinusoids, t);
            double step = distance(p, row(sinusoids, t + 1));
            print("t = %4d: cosine %.4f, step %.4f", t, cosine(sum(dog, p), sum(man, p)), step);
        }
        // ...
        double[] byBits = each(32, t -> distance(bits(16), bits(t)));
        double[] bySines = each(32, t -> distance(row(sinusoids, 16), row(sinusoids, t)));
        double farthest = Arrays.stream(bySines).max().orElseThrow();
        JFreeChart distances =
                lines("How far is a position from position 16?", "position t", "distance / largest distance");
        line(distances, "bits", 32, t -> byBits[t] / Math.sqrt(5));
        line(distances, "sines and cosines", 32, t -> bySines[t] / farthest);
        display(picture(distances));
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
