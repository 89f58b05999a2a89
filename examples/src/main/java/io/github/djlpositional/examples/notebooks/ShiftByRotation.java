package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.notebooks.WhySinusoids.dot;
import static io.github.djlpositional.examples.notebooks.WhySinusoids.vector;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.knowm.xchart.XYChart;

/** A shift by k positions is a rotation by k angles: one linear map for all positions. */
final class ShiftByRotation {

    private static final int SIZE = 16;

    private ShiftByRotation() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("A shift is a rotation");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);
        notebook.text("""
                sin(a + b) and cos(a + b) are sums of products of the sines and cosines of a and b. So PE(t + k) is a matrix
                T(k) times PE(t), the same matrix for every t. It has a block of two by two for each pair of dimensions, which
                rotates the pair.""");
        double[][] shift = encoding.shift(3);
        notebook.row(
                "T(3), its first block: [%.4f %.4f; %.4f %.4f]", shift[0][0], shift[0][1], shift[1][0], shift[1][1]);
        notebook.picture(
                "shift-matrix",
                "T(3) is block-diagonal",
                Drawing.map(
                        "T(3) for 16 dimensions", "column", "row", SIZE, SIZE, (row, column) -> shift[row][column]));

        notebook.text("Applied to the encodings of 1000 positions, T(k) gives those of the positions t + k:");
        for (double k : new double[] {1, 3, 10, 100, -7, 0.5}) {
            double[][] map = encoding.shift(k);
            double error = 0;
            for (int t = 0; t < 1000; t++) {
                double[] from = vector(encoding, t);
                double[] to = vector(encoding, t + k);
                for (int row = 0; row < SIZE; row++) {
                    error = Math.max(error, Math.abs(dot(map[row], from) - to[row]));
                }
            }
            notebook.row("k = %6.1f: greatest error of T(k) · PE(t) - PE(t + k) = %.1e", k, error);
        }

        notebook.text("""
                Sines without cosines are not enough. In dimension 100 of 512, positions 22 and 35 have nearly the same sine;
                their cosines, in dimension 101, differ. Positions 22 and 60 have nearly the same cosine.""");
        SinusoidalEncoding large = SinusoidalEncoding.vaswani(512);
        double[] positions = {22, 35, 60};
        for (double position : positions) {
            notebook.row(
                    "position %.0f: dimension 100 %+.4f, dimension 101 %+.4f",
                    position, large.value(position, 100), large.value(position, 101));
        }
        XYChart chart = Drawing.lines("Dimensions 100 and 101 of 512", "position", "value");
        Drawing.line(chart, "dimension 100, a sine", 70, t -> large.value(t, 100));
        Drawing.line(chart, "dimension 101, its cosine", 70, t -> large.value(t, 101));
        for (int dimension : new int[] {100, 101}) {
            Drawing.points(
                    chart,
                    "22, 35 and 60 in " + dimension,
                    positions,
                    Arrays.stream(positions).map(t -> large.value(t, dimension)).toArray());
        }
        notebook.picture(
                "shift-sine-and-cosine",
                "22 and 35 have nearly the same sine, 22 and 60 nearly the same cosine",
                chart);
    }
}
