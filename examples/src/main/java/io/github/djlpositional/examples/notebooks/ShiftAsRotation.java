package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.Drawing.each;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.List;
import org.knowm.xchart.HeatMapChart;

/** A shift by k positions is a rotation by k angles: one linear map for all positions. */
final class ShiftAsRotation {

    private static final int SIZE = 16;

    private ShiftAsRotation() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("A shift is a rotation", "A step of k positions is the same rotation everywhere.");
        notebook.text("""
                *k* positions later, each hand has turned by *k* times its angle. This does not depend on where it was. In
                formulas: the hand of a pair with frequency ω is at the angle φ = ωt, it turns by ψ = ωk, and the angle-sum formulas
                say where it is then:""");
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
                Drawing.map("Shift by 3 positions", "column", "row", SIZE, SIZE, (row, column) -> shift[row][column]));

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

        notebook.text("""
                What is this good for? The matrices of queries and keys are learned, and *T(-3)* is a matrix that they can become.
                A query is then the encoding of the position three words before, and its product is greatest with the key there.
                A head can learn to look three words back, wherever it is.""");
        double[][] back = encoding.shift(-3);
        for (int t : new int[] {5, 50, 500}) {
            double[] query = times(back, vector(encoding, t));
            notebook.row("query at %3d: the greatest product is with the key at %3d", t, best(encoding, query, 600));
        }
        HeatMapChart plain = products(encoding, encoding.shift(0), "Plain products");
        HeatMapChart shifted = products(encoding, back, "Queries shifted by -3");
        notebook.pictures(
                "shift-as-rotation-products",
                "Products of queries and keys, divided by 8: the shift moves the diagonal three keys back",
                2,
                List.of(plain, shifted));

        notebook.text("""
                Rotary encodings, later in this book, go one step further: they rotate queries and keys by their positions, and
                no matrix needs to learn it.""");
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
        return Drawing.map(
                title,
                "position of the key",
                "position of the query",
                16,
                16,
                (query, key) -> dot(times(map, vector(encoding, query)), vector(encoding, key)) / (SIZE / 2.0));
    }
}
