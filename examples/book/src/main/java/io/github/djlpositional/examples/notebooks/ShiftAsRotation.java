package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.List;

/** A shift by k positions is a rotation by k angles: one linear map for all positions. */
final class ShiftAsRotation {

    private static final int SIZE = 16;
    private static final int KEYS = 600;

    private ShiftAsRotation() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("A shift is a rotation", "A step of k positions is the same rotation everywhere.");
        notebook.question("""
                [Similarity](Similarity.html) says how far two positions are apart, only roughly, and not in which direction. Can a
                model find the word exactly three places back?""");
        notebook.heading("A step turns every hand");
        notebook.text("""
                *k* positions later, each hand has turned by *k* times its angle per step. This does not depend on
                where it was. In formulas: the hand of a pair with frequency ω is at the angle φ = ωt, it turns by ψ =
                ωk, and the angle-sum formulas say where it is then:""");
        notebook.formula("\\sin (\\phi + \\psi) = "
                + "\\sin \\, \\phi \\, \\cos \\, \\psi + \\cos \\, \\phi \\, \\sin \\, \\psi");
        notebook.formula("\\cos (\\phi + \\psi) = "
                + "\\cos \\, \\phi \\, \\cos \\, \\psi - \\sin \\, \\phi \\, \\sin \\, \\psi");
        notebook.text("""
                The right sides are linear in the sine and the cosine of the old position. The factors depend on *k* only. Written
                as a matrix:""");
        notebook.formula("\\begin{pmatrix} \\sin (\\phi + \\psi) \\\\ \\cos (\\phi + \\psi) \\end{pmatrix} ="
                + " \\begin{pmatrix} \\cos \\, \\psi & \\sin \\, \\psi \\\\ -\\sin \\, \\psi & \\cos \\, \\psi \\end{pmatrix}"
                + " \\begin{pmatrix} \\sin \\, \\phi \\\\ \\cos \\, \\phi \\end{pmatrix}");
        notebook.heading("One matrix for all positions");
        notebook.text("""
                This is a rotation. With one such block for each pair, a matrix *T(k)* moves the encoding of any position by *k*.
                These are the first two blocks of *T(3)* for 16 dimensions, with the frequencies 1 and 0.316:""");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);
        double[][] shift = encoding.shift(3);
        for (int row = 0; row < 4; row++) {
            notebook.row("%8.4f %8.4f %8.4f %8.4f", shift[row][0], shift[row][1], shift[row][2], shift[row][3]);
        }
        notebook.picture(
                "shift-as-rotation-matrix",
                "T(3): one block of two by two for each pair, and 0 elsewhere. The slow pairs hardly turn",
                HeatMapChart.of(
                        "Shift by 3 positions", "column", "row", SIZE, SIZE, (row, column) -> shift[row][column]));

        notebook.text("""
                One matrix for all positions: applied to the encodings of 1000 positions, *T(k)* gives those of the positions
                *t + k*, also backward and by half a position. The differences are the rounding of doubles.""");
        for (double k : new double[] {1, 3, 100, -7, 0.5}) {
            double[][] map = encoding.shift(k);
            double error = 0;
            for (int t = 0; t < 1000; t++) {
                double[] moved = times(map, vector(encoding, t));
                double[] expected = vector(encoding, t + k);
                for (int i = 0; i < SIZE; i++) {
                    error = Math.max(error, Math.abs(moved[i] - expected[i]));
                }
            }
            notebook.row("k = %5.1f: greatest difference %.1e", k, error);
        }

        notebook.heading("What a head could do with it");
        notebook.text("""
                The matrices of queries and keys are learned, and *T(-3)* is a matrix that they can become. A query is then the
                encoding of the position three words before, and its product is greatest with the key there, wherever
                the query is.""");
        double[][] back = encoding.shift(-3);
        for (int t : new int[] {5, 50, 500}) {
            double[] query = times(back, vector(encoding, t));
            notebook.row("query at %3d: the greatest product is with the key at %3d", t, best(encoding, query, KEYS));
        }
        HeatMapChart plain = products(encoding, encoding.shift(0), "Plain products");
        HeatMapChart shifted = products(encoding, back, "Queries shifted by -3");
        notebook.pictures(
                "shift-as-rotation-products",
                "Products of queries and keys, divided by 8: the shift moves the diagonal three keys back",
                2,
                List.of(plain, shifted));

        notebook.heading("The greatest is not enough");
        notebook.text("""
                Attention does not pick the greatest product; it makes weights of all. Larger numbers in the learned
                matrices multiply all scores by a factor, the *gain*. Choose how far the head looks back, and the
                gain: with a small one the weights are almost equal, with a large one the head sees one key.""");
        notebook.play("shift");
        notebook.text("""
                The products of the neighbors are nearly as great, as the broad diagonal shows, so the weight of the
                key three words back is small. Here are 600 keys and the query at 500, with the scores divided by √16.
                With *T* itself, the gain 1, the target gets half a percent.""");
        double[] scores = each(KEYS, key -> dot(times(back, vector(encoding, 500)), vector(encoding, key)) / 4);
        LineChart gains = LineChart.of("Weight of the key three words back", "gain", "weight");
        for (int gain : new int[] {1, 2, 4, 8, 16}) {
            notebook.row("gain %2d: weight of the target %.4f", gain, weight(scores, gain, 497));
        }
        double half = 1;
        while (weight(scores, half, 497) < 0.5) {
            half += 0.1;
        }
        notebook.row("half of the weight: from the gain %.1f on", half);
        gains.line("16 dimensions", each(33, gain -> gain), each(33, gain -> weight(scores, gain, 497)));
        gains.mark("half of the weight", half, 0, 1);
        notebook.picture(
                "shift-as-rotation-gain", "The weight of the target among 600 keys, by the gain of the scores", gains);

        notebook.text("""
                There is a second limit. In a model with 512 dimensions and 8 heads, a head has 64: its scores come
                from a matrix of 512 × 512 that is a product of 512 × 64 and 64 × 512, so its rank is at most 64. *T*
                turns all 256 pairs and has rank 512, so a head cannot hold all of it. For 100 positions it need not,
                since they [fill few dimensions](AddedToAWord.html). For 1000 it has to choose: a sixth of their
                squares lies outside the best 64 dimensions. For a short distance the fast pairs will do; the chapter
                on [trained heads](TrainedHeads.html) looks for such heads in a published model.""");
        notebook.recap("""
                A shift by *k* is one matrix for all positions, a rotation of each pair: a head can learn it, in the
                dimensions that it has room for, and with enough gain.""");
        notebook.exercise("""
                What is *T*(3) · *T*(-3), and what is *T*(3) applied twice? Use what a rotation does; no numbers are needed.""", """
                *T*(3) *T*(-3) is the identity: three steps ahead and three back. *T*(3) *T*(3) = *T*(6): angles add up. Every
                shift by a whole number of positions is a power of *T*(1).""");
        notebook.sources(
                "[Vaswani et al., Attention Is All You Need (2017), section 3.5](https://arxiv.org/abs/1706.03762)");
        notebook.text("""
                If the model needs a rotation by the distance, why should it learn one? [Rotary
                embeddings](RotaryPairs.html) turn queries and keys by their positions, in all pairs and in all heads,
                without learning a matrix.""");
    }

    /** The weight of a key if all scores are multiplied by a gain. */
    private static double weight(double[] scores, double gain, int key) {
        return 1
                / Arrays.stream(scores)
                        .map(score -> Math.exp(gain * (score - scores[key])))
                        .sum();
    }

    private static double[] vector(SinusoidalEncoding encoding, double position) {
        return each(SIZE, i -> encoding.value(position, i));
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static double[] times(double[][] matrix, double[] vector) {
        return Arrays.stream(matrix).mapToDouble(row -> dot(row, vector)).toArray();
    }

    /** Returns the position of the key with the greatest product. */
    private static int best(SinusoidalEncoding encoding, double[] query, int keys) {
        int best = 0;
        for (int key = 1; key < keys; key++) {
            if (dot(query, vector(encoding, key)) > dot(query, vector(encoding, best))) {
                best = key;
            }
        }
        return best;
    }

    private static HeatMapChart products(SinusoidalEncoding encoding, double[][] map, String title) {
        return HeatMapChart.of(
                title,
                "position of the key",
                "position of the query",
                16,
                16,
                (query, key) -> dot(times(map, vector(encoding, query)), vector(encoding, key)) / (SIZE / 2.0));
    }
}
