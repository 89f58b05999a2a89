package io.github.djlpositional.examples.notebooks;

import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;

/** Why positions are sines and cosines, and not numbers: what is wrong with each simpler way, measured. */
public final class WhySinusoids {

    private static final int SIZE = 64;

    private WhySinusoids() {}

    /**
     * Runs the notebook.
     *
     * @param args {@code --out FOLDER}
     */
    public static void main(String[] args) {
        Notebook.main(WhySinusoids::write, WhySinusoids.class, args);
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("Why sinusoids");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);

        notebook.text("""
                Counting, 0, 1, 2, …: the number grows without bound. An embedding has values of about 1; beside it,
                position 4999 drowns every word.""");
        for (int length : new int[] {10, 100, 1000, 5000}) {
            notebook.row(
                    "greatest value of a sequence of %4d: counting %4d, sinusoids %.3f",
                    length, length - 1, greatest(encoding, length));
        }

        notebook.text("""
                Normalized counting, t / (T - 1): bounded, but a step means something else in every sentence.""");
        for (int length : new int[] {5, 50, 500}) {
            notebook.row(
                    "one step of a sequence of %3d: normalized %.4f, sinusoids %.4f",
                    length, 1.0 / (length - 1), Vectors.distance(Vectors.of(encoding, 1), Vectors.of(encoding, 2)));
        }

        notebook.text("""
                Binary counting: bounded and the same everywhere, but it jumps. From 7 to 8 four bits change, from 8 to 9
                one. Sinusoids go the same way at every step.""");
        for (int position : new int[] {6, 7, 8, 15, 16}) {
            notebook.row(
                    "%2d -> %2d: binary distance %.3f, sinusoidal distance %.3f",
                    position,
                    position + 1,
                    Math.sqrt(Integer.bitCount(position ^ (position + 1))),
                    Vectors.distance(Vectors.of(encoding, position), Vectors.of(encoding, position + 1)));
        }
        XYChart steps =
                Drawing.lines("How far the encoding moves from one position to the next", "position", "distance");
        Drawing.line(steps, "binary, 6 bits", 62, t -> Math.sqrt(Integer.bitCount((int) t ^ ((int) t + 1))));
        Drawing.line(
                steps, "sinusoids", 62, t -> Vectors.distance(Vectors.of(encoding, t), Vectors.of(encoding, t + 1)));
        notebook.picture("why-steps", "Binary counting jumps, sinusoids do not", steps);

        notebook.text(
                "The sinusoids of 100 positions: like the digits of a number, the first turn fast and the last hardly.");
        notebook.picture(
                "why-heat-map",
                "100 positions in 64 dimensions",
                Drawing.map(
                        "Sinusoidal positions",
                        "dimension",
                        "position",
                        Drawing.numbers(SIZE),
                        Drawing.numbers(100),
                        1,
                        (dimension, position) -> encoding.value(position, dimension)));

        SinusoidalEncoding small = SinusoidalEncoding.vaswani(32);
        XYChart columns = Drawing.lines("Dimensions 6 to 9 of 32", "position", "value");
        for (int dimension = 6; dimension <= 9; dimension++) {
            int each = dimension;
            Drawing.line(columns, "dimension " + dimension, 60, t -> small.value(t, each));
        }
        notebook.picture("why-dimensions", "Dimensions 6 and 7 have one frequency, 8 and 9 a lower one", columns);

        notebook.text("""
                The product of two encodings depends on their distance alone, is the same on both sides, and falls: near
                positions are alike.""");
        double asymmetry = 0;
        for (int distance = 0; distance <= 50; distance++) {
            asymmetry = Math.max(
                    asymmetry,
                    Math.abs(Vectors.dot(Vectors.of(encoding, 100), Vectors.of(encoding, 100 + distance))
                            - Vectors.dot(Vectors.of(encoding, 1000), Vectors.of(encoding, 1000 - distance))));
        }
        notebook.result("greatest difference of both sides, at 100 and at 1000", asymmetry);
        for (int distance : new int[] {0, 1, 5, 20, 50}) {
            notebook.row("similarity at distance %2d: %.3f of %d", distance, encoding.similarity(distance), SIZE / 2);
        }
        XYChart similarity = Drawing.lines("Similarity of two positions", "distance", "product of the encodings");
        double[] distances = IntStream.rangeClosed(-100, 100).asDoubleStream().toArray();
        Drawing.line(
                similarity,
                "PE(t) · PE(t + distance)",
                distances,
                Arrays.stream(distances).map(encoding::similarity).toArray());
        notebook.picture("why-similarity", "Symmetric, greatest at 0, and falling", similarity);

        notebook.text("Each pair of dimensions is a hand of a clock: its sine and its cosine are a point on a circle.");
        XYChart dials =
                Drawing.plane("The first 12 positions on the dials of pairs 0, 8 and 16", "cosine", "sine", 0, 0, 1.1);
        for (int pair : new int[] {0, 8, 16}) {
            double[] x = IntStream.range(0, 12)
                    .mapToDouble(t -> encoding.value(t, 2 * pair + 1))
                    .toArray();
            double[] y = IntStream.range(0, 12)
                    .mapToDouble(t -> encoding.value(t, 2 * pair))
                    .toArray();
            Drawing.points(dials, "pair " + pair, x, y);
        }
        notebook.picture("why-dials", "The hand of pair 0 is fast, that of pair 16 hardly moves", dials);

        notebook.text("""
                Added to a word's embedding, a position moves it by a point of that circle: the word stays near itself, and
                its neighbours in the sentence are told apart.""");
        double[] word = {1.5, -0.5};
        XYChart moved = Drawing.plane("One word at 12 positions", "dimension 1", "dimension 0", word[1], word[0], 1.2);
        Drawing.points(
                moved,
                "word + position",
                IntStream.range(0, 12)
                        .mapToDouble(t -> word[1] + encoding.value(t, 1))
                        .toArray(),
                IntStream.range(0, 12)
                        .mapToDouble(t -> word[0] + encoding.value(t, 0))
                        .toArray());
        Drawing.points(moved, "word alone", new double[] {word[1]}, new double[] {word[0]});
        notebook.picture("why-perturbation", "A word's embedding and where its positions take it", moved);
    }

    private static double greatest(SinusoidalEncoding encoding, int length) {
        double greatest = 0;
        for (float value : encoding.table(0, length)) {
            greatest = Math.max(greatest, Math.abs(value));
        }
        return greatest;
    }
}
