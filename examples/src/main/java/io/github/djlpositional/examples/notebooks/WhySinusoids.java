package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.Drawing.each;

import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;

/** Why positions are encoded as sines and cosines: the problems of simpler encodings, measured. */
final class WhySinusoids {

    private static final int SIZE = 64;

    private WhySinusoids() {}

    /** Returns the encoding of a position. */
    static double[] vector(SinusoidalEncoding encoding, double position) {
        return each(encoding.getEmbeddingSize(), dimension -> encoding.value(position, dimension));
    }

    static double dot(double[] a, double[] b) {
        return IntStream.range(0, a.length).mapToDouble(i -> a[i] * b[i]).sum();
    }

    private static double step(SinusoidalEncoding encoding, double position) {
        double[] from = vector(encoding, position);
        double[] to = vector(encoding, position + 1);
        return Math.sqrt(IntStream.range(0, SIZE)
                .mapToDouble(i -> Math.pow(to[i] - from[i], 2))
                .sum());
    }

    static void write(Notebook notebook) throws Exception {
        notebook.title("Why sinusoids");
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);

        notebook.text("""
                Counting, 0, 1, 2, …: the number is not bounded. An embedding has values of about 1; next to it, position 4999
                hides every word.""");
        for (int length : new int[] {10, 100, 1000, 5000}) {
            double greatest = 0;
            for (float value : encoding.table(0, length)) {
                greatest = Math.max(greatest, Math.abs(value));
            }
            notebook.row(
                    "greatest value of a sequence of %4d: counting %4d, sinusoids %.3f", length, length - 1, greatest);
        }

        notebook.text("""
                Normalized counting, t / (T - 1): bounded, but a step has a different size in sentences of different lengths.""");
        for (int length : new int[] {5, 50, 500}) {
            notebook.row(
                    "one step of a sequence of %3d: normalized %.4f, sinusoids %.4f",
                    length, 1.0 / (length - 1), step(encoding, 1));
        }

        notebook.text("""
                Binary counting: bounded, and independent of the length, but not smooth. From 7 to 8 four bits change, from 8
                to 9 one. Sinusoids change by the same distance at every step.""");
        for (int position : new int[] {6, 7, 8, 15, 16}) {
            notebook.row(
                    "%2d -> %2d: binary distance %.3f, sinusoidal distance %.3f",
                    position,
                    position + 1,
                    Math.sqrt(Integer.bitCount(position ^ (position + 1))),
                    step(encoding, position));
        }
        XYChart steps = Drawing.lines("The distance between a position and the next", "position", "distance");
        Drawing.line(steps, "binary, 6 bits", 62, t -> Math.sqrt(Integer.bitCount(t ^ (t + 1))));
        Drawing.line(steps, "sinusoids", 62, t -> step(encoding, t));
        notebook.picture("why-steps", "Binary counting jumps, sinusoids do not", steps);

        notebook.text("""
                The sinusoids of 100 positions: like the digits of a number, the first dimensions change fast and the last ones
                hardly at all.""");
        notebook.picture(
                "why-heat-map",
                "100 positions in 64 dimensions",
                Drawing.map("Sinusoidal positions", "dimension", "position", 100, SIZE, encoding::value));

        SinusoidalEncoding small = SinusoidalEncoding.vaswani(32);
        XYChart columns = Drawing.lines("Dimensions 6 to 9 of 32", "position", "value");
        for (int dimension = 6; dimension <= 9; dimension++) {
            int current = dimension;
            Drawing.line(columns, "dimension " + dimension, 60, t -> small.value(t, current));
        }
        notebook.picture("why-dimensions", "Dimensions 6 and 7 have one frequency, 8 and 9 a lower one", columns);

        notebook.text("""
                The product of two encodings depends only on their distance, is symmetric, and decreases: near positions are
                similar.""");
        double asymmetry = 0;
        for (int distance = 0; distance <= 50; distance++) {
            asymmetry = Math.max(
                    asymmetry,
                    Math.abs(dot(vector(encoding, 100), vector(encoding, 100 + distance))
                            - dot(vector(encoding, 1000), vector(encoding, 1000 - distance))));
        }
        notebook.result("greatest difference between both sides, at 100 and at 1000", asymmetry);
        for (int distance : new int[] {0, 1, 5, 20, 50}) {
            notebook.row("similarity at distance %2d: %.3f of %d", distance, encoding.similarity(distance), SIZE / 2);
        }
        XYChart similarity = Drawing.lines("Similarity of two positions", "distance", "product of the encodings");
        double[] distances = each(201, i -> i - 100);
        Drawing.line(
                similarity,
                "PE(t) · PE(t + distance)",
                distances,
                Arrays.stream(distances).map(encoding::similarity).toArray());
        notebook.picture("why-similarity", "Symmetric, greatest at 0, and decreasing", similarity);

        notebook.text("Each pair of dimensions is like the hand of a clock: sine and cosine are a point on a circle.");
        XYChart dials =
                Drawing.plane("The first 12 positions on the dials of pairs 0, 8 and 16", "cosine", "sine", 0, 0, 1.1);
        for (int pair : new int[] {0, 8, 16}) {
            Drawing.points(
                    dials,
                    "pair " + pair,
                    each(12, t -> encoding.value(t, 2 * pair + 1)),
                    each(12, t -> encoding.value(t, 2 * pair)));
        }
        notebook.picture("why-dials", "The hand of pair 0 is fast, the hand of pair 16 hardly moves", dials);

        notebook.text("""
                Added to the embedding of a word, a position moves it by a point of that circle: the word stays close to its
                embedding, and equal words at different positions differ.""");
        double[] word = {1.5, -0.5};
        XYChart moved = Drawing.plane("One word at 12 positions", "dimension 1", "dimension 0", word[1], word[0], 1.2);
        Drawing.points(
                moved,
                "word + position",
                each(12, t -> word[1] + encoding.value(t, 1)),
                each(12, t -> word[0] + encoding.value(t, 0)));
        Drawing.points(moved, "word", new double[] {word[1]}, new double[] {word[0]});
        notebook.picture("why-perturbation", "The embedding of a word, and the same word at 12 positions", moved);
    }
}
