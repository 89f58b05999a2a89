package io.github.djlpositional.examples.book;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Rotary embeddings: a rotation of each pair of dimensions, of which only the distance is left. */
public final class Rotary {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% distance
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        RotaryEmbeddingBlock head =
                RotaryEmbeddingBlock.builder().setHeadSize(64).build();
        NDArray q = irregular(manager, 5);
        NDArray k = irregular(manager, 7);
        // ...
        out.print("without rotation:   %12.9f", product(q, k));
        for (int distance : new int[] {0, 3, 50}) {
            for (int t : new int[] {50, 4000}) {
                double score = product(rotate(head, q, t), rotate(head, k, t - distance));
                out.print("Δ = %2d, t = %4d:    %12.9f", distance, t, score);
            }
        }
        // %% turned
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(8).build();
        NDArray vector = manager.create(new double[] {1, 0, 1, 0, 1, 0, 1, 0}, new Shape(1, 1, 1, 8));
        double[] turned = rotate(rotary, vector.repeat(2, 6)).toDoubleArray();
        // ...
        List<LineChart> planes = new ArrayList<>();
        for (int m = 0; m < 4; m++) {
            int first = 2 * m;
            double[] x = LineChart.each(6, t -> turned[8 * t + first]);
            double[] y = LineChart.each(6, t -> turned[8 * t + first + 1]);
            out.print("pair %d at t = 0: (%.4f, %.4f), at t = 1: (%.4f, %.4f)", m, x[0], y[0], x[1], y[1]);
            LineChart plane = LineChart.plane("Pair " + m, "first dimension", "second dimension", 0, 0, 1.6);
            plane.circle("circle", 0, 0, 1);
            plane.hands("vector", 0, 0, x, y, LABELS.get(m).split(" ", -1));
            plane.hideLegend();
            planes.add(plane);
        }
        out.pictures(4, planes);
        // %% formula
        NDArray frequency = manager.create(new float[] {1, 0.01f, 1, 0.01f}); // d = 4
        NDArray angles = manager.arange(6f).reshape(6, 1).mul(frequency);
        NDArray x = manager.randomNormal(new Shape(1, 1, 6, 4)); // positions 0 to 5
        NDArray rotateHalf = x.get("..., 2:").neg().concat(x.get("..., :2"), -1);
        NDArray result = x.mul(angles.cos()).add(rotateHalf.mul(angles.sin()));
        // ...
        RotaryEmbeddingBlock halves = RotaryEmbeddingBlock.builder()
                .setHeadSize(4)
                .optLayout(PairLayout.CONCATENATED)
                .build();
        out.print("the block gives the same: %b", isClose(rotate(halves, x), result));
        // %% pairs
        Frequencies frequencies = RotaryScaling.none().frequencies(64, 10_000);
        for (int m : new int[] {0, 8, 16, 24, 31}) {
            double turn = 2 * Math.PI / frequencies.get(m);
            out.print("pair %2d: one turn in %9.1f tokens", m, turn);
        }
        // %% waves
        NDArray ones = manager.ones(new Shape(1, 1, 1000, 64), DataType.FLOAT64);
        LineChart curves = LineChart.of("Scores by distance", "distance", "score / norms");
        // ...
        for (int base : new int[] {10_000, 500_000}) {
            NDArray all = rotate(
                            RotaryEmbeddingBlock.builder()
                                    .setHeadSize(64)
                                    .optBase(base)
                                    .build(),
                            ones)
                    .reshape(1000, 64);
            double[] scores = all.matMul(all.get(0)).div(64).toDoubleArray();
            out.print(
                    "base %,7d: %.3f at distance 1, %.3f at 10, %.3f at 100, %.3f at 999",
                    base, scores[1], scores[10], scores[100], scores[999]);
            curves.line(String.format(Locale.ROOT, "equal, base %,d", base), 201, distance -> scores[distance]);
        }
        double[] unlike = rotate(head, q.repeat(2, 201))
                .reshape(201, 64)
                .matMul(k.flatten())
                .toDoubleArray();
        double norms = Math.sqrt(product(q, q) * product(k, k));
        curves.line("unlike, base 10,000", 201, distance -> unlike[distance] / norms);
        out.picture(curves);
        // %% place
        NDArray turnedKey = rotate(head, q, 1);
        for (int distance = -1; distance <= 3; distance++) {
            double score = product(rotate(head, q, 10), rotate(head, turnedKey, 10 - distance));
            out.print("Δ = %2d: %7.3f", distance, score);
        }
        // %% cache
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(128)
                .setHeadCount(2)
                .optCausal(true)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(64).build())
                .build();
        NDArray tokens = manager.randomNormal(new Shape(1, 20, 128));
        attention.initialize(manager, DataType.FLOAT32, tokens.getShape());
        ParameterStore store = new ParameterStore(manager, false);
        NDArray whole = attention.forward(store, new NDList(tokens), false).head();
        NDArray last = null;
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (NDArray token : tokens.split(20, 1)) {
                last = attention
                        .forward(store, new NDList(token), false, cache.nextStep())
                        .head();
            }
        }
        out.print("20 steps with a cache give the same as one forward: %b", isClose(last, whole.get(":, 19:")));
        manager.close();
    }

    /** The positions that have a label in each pair; those of slow pairs would be on top of each other. */
    private static final List<String> LABELS = List.of("0 1 2 3 4 5", "0     5", "0-5", "0-5");

    /** Rotates (1, 1, T, H) by the positions 0 … T - 1, or by others. */
    private static NDArray rotate(RotaryEmbeddingBlock rotary, NDArray x, int... positions) {
        NDList input = new NDList(x);
        if (positions.length > 0) {
            input.add(x.getManager().create(positions));
        }
        return rotary.forward(new ParameterStore(x.getManager(), false), input, false)
                .head();
    }

    /** Returns 64 numbers from -1 to 1 without a pattern, which other programs can compute too: sin(seed · i²). */
    private static NDArray irregular(NDManager manager, int seed) {
        return manager.create(LineChart.each(64, i -> Math.sin(seed * i * i)), new Shape(1, 1, 1, 64));
    }

    private static boolean isClose(NDArray a, NDArray b) {
        return a.sub(b).abs().max().getFloat() < 1e-5;
    }

    private static double product(NDArray a, NDArray b) {
        return a.mul(b).sum().getDouble();
    }
}
