// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.circle;
import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.hands;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.Plots.plane;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.ArrayList;
import java.util.List;
import org.jfree.chart.JFreeChart;

/** Rotary embeddings: a rotation of each pair of dimensions, of which only the distance is left. */
public final class Rotary {

    public static void main(String... args) throws Exception {
        // %% distance
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        RotaryEmbeddingBlock head =
                RotaryEmbeddingBlock.builder().setHeadSize(64).build();
        NDArray q = irregular(manager, 5);
        NDArray k = irregular(manager, 7);
        // ...
        print("without rotation:    %12.9f", product(q, k));
        for (int distance : new int[] {0, 3, 50}) {
            for (int t : new int[] {50, 4000}) {
                double score = product(rotate(head, q, t), rotate(head, k, t - distance));
                print("Δ = %2d, t = %4d:    %12.9f", distance, t, score);
            }
        }
        // %% rotated
        RotaryEmbeddingBlock small =
                RotaryEmbeddingBlock.builder().setHeadSize(8).build();
        NDArray vector = manager.create(new double[] {1, 0, 1, 0, 1, 0, 1, 0}, new Shape(1, 1, 1, 8));
        double[] rotated = rotate(small, vector.repeat(2, 6), 0, 1, 2, 3, 4, 5).toDoubleArray();
        // ...
        String[] labels = {"0 1 2 3 4 5", "0     5", "0-5", "0-5"}; // those of slow pairs would overlap
        List<JFreeChart> planes = new ArrayList<>();
        for (int m = 0; m < 4; m++) {
            int first = 2 * m;
            double[] x = each(6, t -> rotated[8 * t + first]);
            double[] y = each(6, t -> rotated[8 * t + first + 1]);
            print("pair %d at t = 1: (%.4f, %.4f)", m, x[1], y[1]);
            JFreeChart plane = plane("Pair " + m, "first dimension", "second dimension", 0, 0, 1.6);
            plane.removeLegend();
            circle(plane, "circle", 0, 0, 1);
            hands(plane, "vector", 0, 0, x, y, labels[m].split(" ", -1));
            planes.add(plane);
        }
        for (JFreeChart each : planes) {
            display(picture(each));
        }
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
        NDArray error = rotate(halves, x, 0, 1, 2, 3, 4, 5).sub(result).abs().max();
        print("the block gives the same: %b", error.getFloat() < 1e-5);
        // %% pairs
        Frequencies frequencies = RotaryScaling.none().frequencies(64, 10_000);
        for (int m : new int[] {0, 8, 16, 24, 31}) {
            double period = 2 * Math.PI / frequencies.get(m);
            print("pair %2d: a full turn in %7.1f tokens", m, period);
        }
        // %% place
        NDArray previous = rotate(head, q, 1); // φ = ω in each pair
        for (int distance = -1; distance <= 3; distance++) {
            double score = product(rotate(head, q, 10), rotate(head, previous, 10 - distance));
            print("Δ = %2d: %7.3f", distance, score);
        }
        // %% waves
        JFreeChart curves = lines("Scores by distance", "distance", "score / norms");
        print("Δ                 1    10   100   999");
        for (int base : new int[] {10_000, 500_000}) {
            Frequencies omega = RotaryScaling.none().frequencies(64, base);
            double[] score = each(1000, distance -> Vectors.mean(each(32, m -> Math.cos(omega.get(m) * distance))));
            print("base %,7d  %.3f %.3f %.3f %.3f", base, score[1], score[10], score[100], score[999]);
            line(curves, "ones, base " + base, 201, distance -> score[distance]);
        }
        // ...
        double norms = Math.sqrt(product(q, q) * product(k, k));
        line(curves, "unlike, base 10000", 201, distance -> product(rotate(head, q, distance), k) / norms);
        display(picture(curves));
        manager.close();
    }

    /** Rotates (1, 1, T, d) by positions. */
    private static NDArray rotate(RotaryEmbeddingBlock rotary, NDArray x, int... positions) {
        NDList input = new NDList(x, x.getManager().create(positions));
        return rotary.forward(new ParameterStore(x.getManager(), false), input, false)
                .head();
    }

    /** Returns 64 numbers from -1 to 1 without a pattern, which other programs can compute too: sin(seed · i²). */
    private static NDArray irregular(NDManager manager, int seed) {
        return manager.create(each(64, i -> Math.sin(seed * i * i)), new Shape(1, 1, 1, 64));
    }

    private static double product(NDArray a, NDArray b) {
        return a.mul(b).sum().getDouble();
    }
}
