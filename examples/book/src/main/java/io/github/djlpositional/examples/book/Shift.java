// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;
import static io.github.djlpositional.examples.book.Vectors.dot;
import static io.github.djlpositional.examples.book.Vectors.row;
import static io.github.djlpositional.examples.book.Vectors.times;

import io.github.djlpositional.examples.Plots;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.jfree.chart.JFreeChart;

/** A step by Δ positions is a rotation of each pair: one matrix for all positions. */
public final class Shift {

    public static void main(String... args) throws Exception {
        // %% matrix
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(16);
        double[][] ahead = encoding.shift(3);
        // ...
        for (int row = 0; row < 4; row++) {
            print("%8.4f %8.4f %8.4f %8.4f", ahead[row][0], ahead[row][1], ahead[row][2], ahead[row][3]);
        }
        display(picture(heatMap("R(3), d = 16", "column", "row", -1, 1, 16, 16, (row, column) -> ahead[row][column])));
        // %% everywhere
        for (double distance : new double[] {1, 3, 100, -7, 0.5}) {
            double[][] matrix = encoding.shift(distance);
            boolean isSame = IntStream.range(0, 1000)
                    .allMatch(t -> isEqual(times(matrix, row(encoding, t)), row(encoding, t + distance)));
            print("Δ = %5.1f: same at 1000 positions: %b", distance, isSame);
        }
        // %% back
        double[][] back = encoding.shift(-3);
        for (int t : new int[] {5, 50, 500}) {
            double[] scores = scores(encoding, times(back, row(encoding, t)), 600);
            double most = Arrays.stream(scores).max().orElseThrow();
            long key = Arrays.stream(scores).takeWhile(score -> score < most).count();
            print("t = %3d: largest score for key %3d", t, key);
        }
        // ...
        display(picture(map(encoding, encoding.shift(0), "Scores of plain positions")));
        display(picture(map(encoding, back, "Queries moved by -3")));
        // %% softmax
        double[] few = scores(encoding, times(back, row(encoding, 25)), 50);
        print("50 keys, t = 25: key 22 gets %.4f", weight(few, 1, 22));
        double[] many = scores(encoding, times(back, row(encoding, 500)), 600);
        print("600 keys, t = 500: key 497 gets %.4f", weight(many, 1, 497));
        // %% gain
        for (int gain : new int[] {1, 2, 4, 8, 16}) {
            print("gain %2d: %.4f of 50 keys, %.4f of 600", gain, weight(few, gain, 22), weight(many, gain, 497));
        }
        // ...
        JFreeChart gains = lines("Weight of the key three positions back", "gain", "weight");
        line(gains, "50 keys", 33, gain -> weight(few, gain, 22));
        line(gains, "600 keys", 33, gain -> weight(many, gain, 497));
        gains.getXYPlot().getRangeAxis().setRange(0.0, 1.0);
        display(picture(gains));
    }

    /** The scores of a query for the keys 0 … count - 1: dot products divided by √d. */
    private static double[] scores(SinusoidalEncoding encoding, double[] query, int count) {
        return each(count, key -> dot(query, row(encoding, key)) / Math.sqrt(16));
    }

    private static boolean isEqual(double[] a, double[] b) {
        return IntStream.range(0, a.length).allMatch(i -> Math.abs(a[i] - b[i]) < 1e-12);
    }

    /** The softmax weight of a key if all scores are multiplied by a gain. */
    private static double weight(double[] scores, double gain, int key) {
        return Math.exp(gain * scores[key])
                / DoubleStream.of(scores).map(a -> Math.exp(gain * a)).sum();
    }

    private static JFreeChart map(SinusoidalEncoding encoding, double[][] matrix, String title) {
        Plots.Cells cells = (t, s) -> scores(encoding, times(matrix, row(encoding, t)), 16)[s];
        return heatMap(title, "key", "query", 0.9, 2, 16, 16, cells);
    }
}
