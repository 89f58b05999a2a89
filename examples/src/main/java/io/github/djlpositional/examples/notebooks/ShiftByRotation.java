package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.knowm.xchart.XYChart;

/** To move by k positions is to turn by k angles: one linear map for every position. */
public final class ShiftByRotation {

    private static final int SIZE = 16;

    private ShiftByRotation() {}

    /**
     * Runs the notebook.
     *
     * @param args {@code --out FOLDER}
     */
    public static void main(String[] args) {
        Notebook.main(ShiftByRotation::write, ShiftByRotation.class, args);
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("A shift is a rotation");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);
        notebook.text("""
                sin(a + b) and cos(a + b) are sums of products of the sines and cosines of a and b. So PE(t + k) is a matrix
                T(k) times PE(t), the same for every t: a block of two by two for each pair, which turns it.""");
        double[][] shift = encoding.shift(3);
        notebook.row(
                "T(3), its first block: [%.4f %.4f; %.4f %.4f]", shift[0][0], shift[0][1], shift[1][0], shift[1][1]);
        notebook.picture(
                "shift-matrix",
                "T(3) is block-diagonal",
                Drawing.map(
                        "T(3) for 16 dimensions",
                        "column",
                        "row",
                        Drawing.numbers(SIZE),
                        Drawing.numbers(SIZE),
                        1,
                        // drawn from the top
                        (column, row) -> shift[SIZE - 1 - row][column]));

        notebook.text("Applied to the encodings of 1000 positions, it gives those k farther on:");
        for (double k : new double[] {1, 3, 10, 100, -7, 0.5}) {
            double[][] map = encoding.shift(k);
            double error = 0;
            for (int t = 0; t < 1000; t++) {
                double[] from = Vectors.of(encoding, t);
                double[] to = Vectors.of(encoding, t + k);
                for (int row = 0; row < SIZE; row++) {
                    error = Math.max(error, Math.abs(Vectors.dot(map[row], from) - to[row]));
                }
            }
            notebook.row("k = %6.1f: greatest error of T(k) · PE(t) - PE(t + k) = %.1e", k, error);
        }

        notebook.text("""
                Sines alone will not do. In dimension 100 of 512, positions 22 and 35 have nearly the same sine; their
                cosines, in dimension 101, tell them apart. Positions 22 and 60 have nearly the same cosine.""");
        SinusoidalEncoding large = SinusoidalEncoding.vaswani(512);
        for (int position : new int[] {22, 35, 60}) {
            notebook.row(
                    "position %d: dimension 100 %+.4f, dimension 101 %+.4f",
                    position, large.value(position, 100), large.value(position, 101));
        }
        XYChart chart = Drawing.lines("Dimensions 100 and 101 of 512", "position", "value");
        Drawing.line(chart, "dimension 100, a sine", 70, t -> large.value(t, 100));
        Drawing.line(chart, "dimension 101, its cosine", 70, t -> large.value(t, 101));
        double[] positions = {22, 35, 60};
        for (int dimension : new int[] {100, 101}) {
            Drawing.points(
                    chart,
                    "22, 35 and 60 in " + dimension,
                    positions,
                    Arrays.stream(positions).map(t -> large.value(t, dimension)).toArray());
        }
        notebook.picture(
                "shift-sine-alone", "The sine alone does not tell 22 from 35, nor the cosine 22 from 60", chart);
    }
}
