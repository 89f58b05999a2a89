package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;

/** The product of two encodings: it depends only on the distance, but it does not fall all the way. */
final class Similarity {

    private Similarity() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Are near positions similar?",
                "The similarity of two positions falls with their distance, but not always.");
        notebook.question("""
                One of the four products in [a score](AddedToAWord.html) has two positions. What does it say about the distance of the
                two words?""");
        notebook.heading("Only the distance counts");
        notebook.text("""
                The product of two encodings says how similar they are. For each hand it is the cosine of the angle between its
                two places, which depends only on the distance *k* of the positions:""");
        notebook.formula("PE(t) \\cdot PE(t + k) = \\sum_i \\cos \\, \\omega_i k");
        notebook.text("The same distance forward from 100 and backward from 1000, with 64 dimensions:");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(64);
        for (int k : new int[] {0, 1, 2, 5, 10, 50}) {
            notebook.row(
                    "distance %2d: %.4f and %.4f",
                    k, product(encoding, 100, 100 + k), product(encoding, 1000, 1000 - k));
        }
        LineChart curve = LineChart.of("Similarity of two positions", "distance", "product of the encodings");
        curve.line("64 dimensions", each(241, i -> i - 120), each(241, i -> encoding.similarity(i - 120)));
        curve.yRange(0.0, Double.NaN);
        notebook.picture("similarity", "Symmetric, and greatest at distance 0. Beyond, it rises and falls", curve);

        notebook.heading("It falls, and rises again");
        notebook.text("""
                It is often said that the similarity falls with the distance. It does at first, and it is never again as great as
                at distance 0. But it is not monotonic. It rises for the first time from distance 5 to 6. At distance 101 it is
                greater than at 30.""");
        for (int k : new int[] {5, 6, 30, 96, 100, 101, 105}) {
            notebook.row("distance %3d: %.3f of %d", k, encoding.similarity(k), 64 / 2);
        }

        notebook.text("""
                Why? Each hand contributes a number from -1 to 1, and fast hands come back. Pair 0 makes 16.07 turns in 101
                positions, so it is nearly back at its start, and so are pairs 1 and 2. Five positions before, none of them was.""");
        notebook.row("turns of pair 0 in 101 positions: %.2f", 101 * encoding.frequency(0) / (2 * Math.PI));
        LineChart parts = LineChart.of("What each hand adds to the similarity", "pair", "cosine of its angle");
        for (int k : new int[] {96, 101}) {
            parts.line("distance " + k, 32, pair -> Math.cos(k * encoding.frequency(2 * pair)));
        }
        parts.yRange(-1.0, 1.0);
        notebook.picture(
                "similarity-parts", "The slow hands on the right agree; the fast ones on the left decide", parts);

        notebook.text("""
                All pairs of 120 positions at once, divided by 32. The diagonal is 1: each position is most similar to itself. The
                stripes beside it are the distances where the similarity rises again.""");
        notebook.picture(
                "similarity-map",
                "Similarity of each position to each other one",
                HeatMapChart.of(
                                "Similarity, divided by 32",
                                "position",
                                "position",
                                120,
                                120,
                                (row, column) -> encoding.similarity(column - row) / 32)
                        .range(0, 1));

        notebook.heading("More dimensions help");
        notebook.text("""
                More dimensions help. With 512 there are eight times as many hands, and a few that come back together
                matter less. Of the first 100 steps in distance, fewer go up, and the greatest rise, as a share of the
                value at distance 0, is much smaller.""");
        LineChart sizes = LineChart.of("Similarity by size, divided by its greatest value", "distance", "similarity");
        for (int size : new int[] {64, 512}) {
            SinusoidalEncoding sized = SinusoidalEncoding.vaswani(size);
            double[] shares = each(121, k -> sized.similarity(k) / (size / 2.0));
            notebook.row("%3d dimensions: %d of 100 rise, by up to %.4f", size, rises(shares), greatestRise(shares));
            sizes.line(size + " dimensions", each(121, k -> k), shares);
        }
        sizes.yRange(0.0, Double.NaN);
        notebook.picture("similarity-sizes", "With more dimensions the similarity falls more evenly", sizes);

        notebook.text("""
                There is something else that the product does not say: the *direction*. The curve is symmetric, so the
                word before and the word after have the same similarity. A model should not rely on the product alone,
                and it need not: attention first makes queries and keys of the vectors, with learned matrices.""");
        notebook.recap("""
                The product of two sinusoids depends on the distance only, is greatest at 0, falls, but in waves, and
                does not know before from after.""");
        notebook.exercise("""
                In a single pair of dimensions, with the frequency 1, at which distances is the product of two
                positions as great as at distance 0? Is one of them a whole number?""", """
                cos *k* = 1 at the multiples of 2π = 6.283…, none of which but 0 is a whole number, because π is irrational. So
                even one pair never repeats exactly; at distance 44 ≈ 7 · 2π it comes close, cos 44 = 0.99984.""");
        notebook.sources(
                "[Yan et al., TENER (2019), which proves that the product does not know the direction](https://arxiv.org/abs/1911.04474)");
        notebook.text("""
                The next chapter, [A shift is a rotation](ShiftAsRotation.html), shows a matrix that finds a distance and a
                direction.""");
    }

    private static double product(SinusoidalEncoding encoding, int a, int b) {
        double sum = 0;
        for (int i = 0; i < encoding.getEmbeddingSize(); i++) {
            sum += encoding.value(a, i) * encoding.value(b, i);
        }
        return sum;
    }

    private static int rises(double... shares) {
        int count = 0;
        for (int k = 1; k <= 100; k++) {
            count += shares[k] > shares[k - 1] ? 1 : 0;
        }
        return count;
    }

    private static double greatestRise(double... shares) {
        double greatest = 0;
        for (int k = 1; k <= 100; k++) {
            greatest = Math.max(greatest, shares[k] - shares[k - 1]);
        }
        return greatest;
    }
}
