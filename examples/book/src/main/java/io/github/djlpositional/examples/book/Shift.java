package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;
import static io.github.djlpositional.examples.book.Vectors.dot;
import static io.github.djlpositional.examples.book.Vectors.row;
import static io.github.djlpositional.examples.book.Vectors.times;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** A step by Δ positions is a rotation of each pair: one matrix for all positions. */
public final class Shift {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% matrix
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(16);
        double[][] ahead = encoding.shift(3);
        // ...
        for (int row = 0; row < 4; row++) {
            out.print("%8.4f %8.4f %8.4f %8.4f", ahead[row][0], ahead[row][1], ahead[row][2], ahead[row][3]);
        }
        out.picture(HeatMapChart.of("R(3), d = 16", "column", "row", 16, 16, (row, column) -> ahead[row][column]));
        // %% everywhere
        for (double distance : new double[] {1, 3, 100, -7, 0.5}) {
            double[][] matrix = encoding.shift(distance);
            boolean isSame = IntStream.range(0, 1000)
                    .allMatch(t -> isEqual(times(matrix, row(encoding, t)), row(encoding, t + distance)));
            out.print("Δ = %5.1f: same at 1000 positions: %b", distance, isSame);
        }
        // %% back
        double[][] back = encoding.shift(-3);
        for (int t : new int[] {5, 50, 500}) {
            double[] scores = scores(encoding, times(back, row(encoding, t)), 600);
            double most = Arrays.stream(scores).max().orElseThrow();
            long key = Arrays.stream(scores).takeWhile(score -> score < most).count();
            out.print("t = %3d: largest score for key %3d", t, key);
        }
        // ...
        out.pictures(
                2,
                map(encoding, encoding.shift(0), "Scores of plain positions"),
                map(encoding, back, "Queries moved by -3"));
        // %% softmax
        double[] few = scores(encoding, times(back, row(encoding, 25)), 50);
        out.print("50 keys, t = 25: key 22 gets %.4f", weight(few, 1, 22));
        double[] many = scores(encoding, times(back, row(encoding, 500)), 600);
        out.print("600 keys, t = 500: key 497 gets %.4f", weight(many, 1, 497));
        // %% gain
        for (int gain : new int[] {1, 2, 4, 8, 16}) {
            out.print("gain %2d: %.4f of 50 keys, %.4f of 600", gain, weight(few, gain, 22), weight(many, gain, 497));
        }
        // ...
        LineChart gains = LineChart.of("Weight of the key three positions back", "gain", "weight");
        gains.line("50 keys", 33, gain -> weight(few, gain, 22));
        gains.line("600 keys", 33, gain -> weight(many, gain, 497));
        gains.yRange(0.0, 1.0);
        out.picture(gains);
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

    private static HeatMapChart map(SinusoidalEncoding encoding, double[][] matrix, String title) {
        return HeatMapChart.of(
                        title,
                        "key",
                        "query",
                        16,
                        16,
                        (t, s) -> scores(encoding, times(matrix, row(encoding, t)), 16)[s])
                .range(0.9, 2);
    }
}
