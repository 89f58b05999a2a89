// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.logarithmicX;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;
import static io.github.djlpositional.examples.book.Vectors.cosine;
import static io.github.djlpositional.examples.book.Vectors.dot;
import static io.github.djlpositional.examples.book.Vectors.mean;
import static io.github.djlpositional.examples.book.Vectors.norm;
import static io.github.djlpositional.examples.book.Vectors.quantile;
import static io.github.djlpositional.examples.book.Vectors.times;

import io.github.djlpositional.examples.Plots;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.jfree.chart.JFreeChart;

/** The learned tables of a published encoder and of a small one beside sinusoids: similarities, and their waves. */
public final class Learned {

    public static void main(String... args) throws Exception {
        // %% table
        double[][] learned = SentenceEncoder.positionTable();
        SinusoidalEncoding formula = SinusoidalEncoding.vaswani(384);
        double[][] sinusoids = new double[512][];
        Arrays.setAll(sinusoids, t -> Vectors.row(formula, t));
        for (int t : new int[] {0, 1, 2, 100, 511}) {
            print("t = %3d: %6.3f, sinusoids %6.3f", t, norm(learned[t]), norm(sinusoids[t]));
        }
        // ...
        display(picture(similarity("Learned by all-MiniLM-L6-v2", learned)));
        display(picture(similarity("Sinusoids", sinusoids)));
        // %% distance
        double[][] all = new double[120][];
        Arrays.setAll(all, distance -> cosines(learned, distance));
        // ...
        print("%4s %6s %6s %6s %10s", "Δ", "mean", "10 %", "90 %", "sinusoids");
        for (int n : new int[] {1, 3, 6, 9, 12, 17, 25, 52, 100}) {
            double[] each = {mean(all[n]), quantile(0.1, all[n]), quantile(0.9, all[n]), mean(cosines(sinusoids, n))};
            print("%4d %6.3f %6.3f %6.3f %10.3f", n, each[0], each[1], each[2], each[3]);
        }
        double closer = 505 * mean(each(505, i -> all[3][i] < all[6][i] ? 1 : 0));
        print("%.0f of %d are closer to the sixth", closer, all[6].length);
        JFreeChart byDistance = lines("Similarity by distance", "distance Δ", "cosine");
        line(byDistance, "learned, mean", 120, distance -> mean(all[distance]));
        line(byDistance, "sinusoids", 120, distance -> mean(cosines(sinusoids, distance)));
        display(picture(byDistance));
        // %% waves
        double[] lengths = each(255, j -> 511.0 / (j + 1));
        double[] ofLearned = waves(learned); // in percent
        double[] ofFormula = waves(sinusoids);
        // ...
        for (double[] band : new double[][] {{255, 511}, {127, 171}, {46, 64}, {16, 21}, {5.4, 6.7}}) {
            double[] isInside = each(255, j -> lengths[j] >= band[0] && lengths[j] <= band[1] ? 1 : 0);
            double[] shares = {dot(ofLearned, isInside), dot(ofFormula, isInside)};
            print("%5.1f to %5.1f: %4.1f %%, sinusoids %4.1f %%", band[0], band[1], shares[0], shares[1]);
        }
        JFreeChart spectrum = lines("Share of each wave", "length in positions", "share in percent");
        logarithmicX(spectrum);
        line(spectrum, "learned", lengths, ofLearned);
        line(spectrum, "sinusoids", lengths, ofFormula);
        display(picture(spectrum));
        // %% small
        double[][] own = Measured.positions();
        for (int t : new int[] {0, 1, 2, 3, 5, 7, 11, 14}) {
            print("t = %2d: norm %.3f, next %6.3f", t, norm(own[t]), cosine(own[t], own[t + 1]));
        }
    }

    private static JFreeChart similarity(String title, double[][] table) {
        Plots.Cells cells = (t, s) -> cosine(table[t], table[s]);
        return heatMap(title, "position", "position", -1, 1, 100, 100, cells);
    }

    private static double[] cosines(double[][] table, int distance) {
        return each(table.length - distance - 1, i -> cosine(table[i + 1], table[i + 1 + distance]));
    }

    private static double[] waves(double[][] table) {
        int n = table.length - 1;
        double[][] columns = new double[table[0].length][];
        Arrays.setAll(columns, i -> each(n, t -> table[t + 1][i]));
        double[] squares = each(n / 2, k -> {
            double[] cosines = times(columns, each(n, t -> Math.cos(2 * Math.PI * (k + 1) * t / n)));
            double[] sines = times(columns, each(n, t -> Math.sin(2 * Math.PI * (k + 1) * t / n)));
            return dot(cosines, cosines) + dot(sines, sines);
        });
        return each(n / 2, k -> 100 * squares[k] / mean(squares) / squares.length);
    }
}
