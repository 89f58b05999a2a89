package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;
import static io.github.djlpositional.examples.book.Vectors.cosine;
import static io.github.djlpositional.examples.book.Vectors.mean;
import static io.github.djlpositional.examples.book.Vectors.norm;
import static io.github.djlpositional.examples.book.Vectors.quantile;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.sentences.SentenceEncoder;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** The learned tables of a published encoder and of a small one beside sinusoids: similarities, and their waves. */
public final class Learned {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% table
        double[][] learned = SentenceEncoder.positionTable();
        double[][] sinusoids = sinusoids(512, 384);
        for (int t : new int[] {0, 1, 2, 100, 511}) {
            out.print("t = %3d: norm %6.3f learned, %6.3f sinusoids", t, norm(learned[t]), norm(sinusoids[t]));
        }
        // ...
        out.pictures(
                2, similarity("Learned by all-MiniLM-L6-v2", learned, 100), similarity("Sinusoids", sinusoids, 100));
        // %% distance
        double[] third = cosines(learned, 3);
        double[] sixth = cosines(learned, 6);
        // ...
        for (int distance : new int[] {1, 3, 6, 9, 12, 17, 25, 52, 100}) {
            double[] each = cosines(learned, distance);
            String format = "Δ = %3d: %6.3f on average, 80 %% from %6.3f to %6.3f; sinusoids %.3f";
            double ofSinusoids = mean(cosines(sinusoids, distance));
            out.print(format, distance, mean(each), quantile(0.1, each), quantile(0.9, each), ofSinusoids);
        }
        long closer = IntStream.range(0, sixth.length)
                .filter(i -> third[i] < sixth[i])
                .count();
        out.print("closer to the sixth position after it than to the third: %d of %d", closer, sixth.length);
        LineChart byDistance = LineChart.of("Similarity by distance", "distance Δ", "cosine");
        List<double[]> all = IntStream.range(0, 120)
                .mapToObj(distance -> cosines(learned, distance))
                .toList();
        byDistance.line("learned, mean", 120, distance -> mean(all.get(distance)));
        byDistance.line("sinusoids", 120, distance -> mean(cosines(sinusoids, distance)));
        double[] distances = each(120, distance -> distance);
        byDistance.behind("learned, 10 % and 90 %", distances, each(120, i -> quantile(0.1, all.get(i))));
        byDistance.behind("", distances, each(120, i -> quantile(0.9, all.get(i))));
        out.picture(byDistance);
        // %% waves
        double[] ofLearned = waves(learned);
        double[] ofFormula = waves(sinusoids);
        // ...
        for (double[] band : BANDS) {
            double share = 100 * share(ofLearned, band);
            out.print(
                    "%5.1f to %5.1f: %5.1f %%, sinusoids %4.1f %%",
                    band[0], band[1], share, 100 * share(ofFormula, band));
        }
        double together =
                Arrays.stream(BANDS).mapToDouble(band -> share(ofLearned, band)).sum();
        out.print("together:       %5.1f %%", 100 * together);
        LineChart spectrum = LineChart.of("Waves up to a length", "length of the wave in positions", "share");
        double[] lengths = each(255, i -> 511.0 / (255 - i));
        spectrum.line("learned", lengths, each(255, i -> share(ofLearned, 0, lengths[i] + 1e-9)));
        spectrum.line("sinusoids", lengths, each(255, i -> share(ofFormula, 0, lengths[i] + 1e-9)));
        spectrum.xLogarithmic();
        out.picture(spectrum);
        // %% small
        double[][] own = Measured.positions();
        for (int t : new int[] {0, 1, 2, 3, 5, 7, 11, 14}) {
            out.print("t = %2d: norm %.3f, cosine to the next one %6.3f", t, norm(own[t]), cosine(own[t], own[t + 1]));
        }
        // ...
        out.pictures(
                2, similarity("Learned by the small one", own, 16), similarity("Sinusoids", sinusoids(16, 64), 16));
    }

    /** The lengths of waves, from and to, around the peaks, the longest first. */
    private static final double[][] BANDS = {{255, 511}, {127, 171}, {46, 64}, {16, 21}, {5.4, 6.7}};

    private static double[][] sinusoids(int count, int size) {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(size);
        return IntStream.range(0, count).mapToObj(t -> Vectors.row(encoding, t)).toArray(double[][]::new);
    }

    private static HeatMapChart similarity(String title, double[][] table, int count) {
        return HeatMapChart.of(
                title, "position", "position", count, count, (row, column) -> cosine(table[row], table[column]));
    }

    /** The cosines of all positions from 1 on with the one at a distance after it. */
    private static double[] cosines(double[][] table, int distance) {
        return each(table.length - distance - 1, i -> cosine(table[i + 1], table[i + 1 + distance]));
    }

    /** The share of each wave in the positions from 1 on: wave i fits i + 1 times. */
    private static double[] waves(double[][] table) {
        int n = table.length - 1;
        double[] cosines = each(n, i -> Math.cos(2 * Math.PI * i / n));
        double[] sines = each(n, i -> Math.sin(2 * Math.PI * i / n));
        double[] sums = new double[n / 2];
        for (int dimension = 0; dimension < table[0].length; dimension++) {
            int i = dimension;
            double[] column = each(n, t -> table[t + 1][i]);
            for (int k = 1; k <= n / 2; k++) {
                double real = 0;
                double imaginary = 0;
                for (int t = 0; t < n; t++) {
                    real += column[t] * cosines[k * t % n];
                    imaginary += column[t] * sines[k * t % n];
                }
                sums[k - 1] += real * real + imaginary * imaginary;
            }
        }
        double all = Arrays.stream(sums).sum();
        return Arrays.stream(sums).map(sum -> sum / all).toArray();
    }

    private static double share(double[] waves, double... band) {
        return IntStream.range(0, waves.length)
                .filter(i -> 511.0 / (i + 1) >= band[0] && 511.0 / (i + 1) <= band[1])
                .mapToDouble(i -> waves[i])
                .sum();
    }
}
