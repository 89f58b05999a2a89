package io.github.djlpositional.examples.notebooks;

import ai.djl.ndarray.NDManager;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.Arrays;
import org.knowm.xchart.XYChart;

/** Position 3 at size 4 and base 10000, number by number, compared with the block. */
final class SinusoidsByHand {

    private static final int POSITION = 3;
    private static final int SIZE = 4;
    private static final double BASE = 10_000;

    private SinusoidsByHand() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("Sinusoids by hand");
        notebook.text("""
                PE(t, 2k) = sin(t / 10000^(2k/d)) and PE(t, 2k + 1) = cos(t / 10000^(2k/d)), for t = 3 and d = 4.""");
        double[] byHand = new double[SIZE];
        for (int pair = 0; pair < SIZE / 2; pair++) {
            double exponent = 2.0 * pair / SIZE;
            double divisor = Math.pow(BASE, exponent);
            double angle = POSITION / divisor;
            byHand[2 * pair] = Math.sin(angle);
            byHand[2 * pair + 1] = Math.cos(angle);
            notebook.row(
                    "pair %d: exponent 2·%d/%d = %.1f, divisor 10000^%.1f = %.0f",
                    pair, pair, SIZE, exponent, exponent, divisor);
            notebook.row("        angle 3/%.0f = %.4f", divisor, angle);
            notebook.row("        sin = %.10f, cos = %.10f", byHand[2 * pair], byHand[2 * pair + 1]);
        }
        notebook.result("by hand", Arrays.toString(byHand));

        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(SIZE);
        notebook.result(
                "SinusoidalEncoding.vaswani(4).value(3, …)", Arrays.toString(WhySinusoids.vector(encoding, POSITION)));
        try (NDManager manager = NDManager.newBaseManager()) {
            PositionalEncodingBlock block =
                    PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
            float[] encoded = block.encode(manager.create(new int[] {POSITION})).toFloatArray();
            notebook.result("block.encode([3])", Arrays.toString(encoded));
            double difference = 0;
            for (int dimension = 0; dimension < SIZE; dimension++) {
                difference = Math.max(difference, Math.abs(encoded[dimension] - byHand[dimension]));
            }
            notebook.result("greatest difference from the block", difference);
        }
        XYChart chart = Drawing.lines("Size 4: two sines and two cosines", "position", "value");
        for (int dimension = 0; dimension < SIZE; dimension++) {
            int current = dimension;
            Drawing.line(chart, "dimension " + dimension, 60, position -> encoding.value(position, current));
        }
        notebook.picture("sinusoids-by-hand", "The four dimensions over the first 60 positions", chart);
    }
}
