// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.circle;
import static io.github.djlpositional.examples.Plots.each;
import static io.github.djlpositional.examples.Plots.hands;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.Plots.plane;
import static io.github.djlpositional.examples.Plots.points;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jfree.chart.JFreeChart;

/** The sum of a word's vector and a position's vector: positions fill few dimensions, so both can be read from it. */
public final class Added {

    public static void main(String... args) throws Exception {
        // %% point
        SinusoidalEncoding pair = SinusoidalEncoding.vaswani(2);
        double[] x = each(7, t -> 1.5 + pair.value(t, 1));
        double[] y = each(7, t -> -0.5 + pair.value(t, 0));
        // ...
        JFreeChart plane = plane("A word at 7 positions", "dimension 1", "dimension 0", 1.5, -0.5, 1.7);
        circle(plane, "all sums", 1.5, -0.5, 1);
        hands(plane, "position", 1.5, -0.5, x, y, "0", "1", "2", "3", "4", "5", "6");
        points(plane, "word + position", x, y);
        points(plane, "word", new double[] {1.5}, new double[] {-0.5});
        display(picture(plane));
        // %% norms
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        PositionalEncodingBlock encoding =
                PositionalEncodingBlock.builder().setEmbeddingSize(512).build();
        NDArray p = encoding.encode(manager.arange(1000)).toType(DataType.FLOAT64, false);
        Random random = new Random(1);
        Shape shape = new Shape(10, 1000, 512);
        NDArray sets = manager.create(each(5_120_000, i -> random.nextGaussian()), shape);
        NDArray large = sets.get(0);
        // ...
        for (NDArray words : List.of(large, large.div(16))) {
            NDArray sums = words.add(p.get(5));
            double cosine = squares(sums.div(norms(sums)).sum(new int[] {0})) / (1000 * 999) - 1 / 999.0;
            print("norm %6.3f, cosine %.3f", norms(words).mean().getDouble(), cosine);
        }
        // %% few
        for (int length : new int[] {10, 100, 1000}) {
            NDArray found = directions(p.get(":{}", length));
            print("%4d positions: %3d of 512 dimensions", length, found.size(0));
        }
        // %% read
        NDArray places = p.get(":100");
        NDArray directions = directions(places);
        NDArray word = manager.arange(0, 1000, 1, DataType.INT64);
        NDArray position = word.mod(100);
        NDArray small = sets.div(16);
        NDArray sums = small.add(places.get(position));
        NDArray subtracted = sums.sub(places.get(found(sums, places)));
        NDArray projected = sums.sub(project(sums, directions));
        // ...
        print("position, from the sum:    %.3f", share(found(sums, places), position));
        print("word, from the sum:        %.3f", share(found(sums, small), word));
        print("word, subtracted:          %.3f", share(found(subtracted, small), word));
        print("word, projected:           %.3f", share(found(projected, small), word));
        // %% products
        // the dog that chased the cat saw the man who fed the cat
        NDArray said = large.get(manager.create(new int[] {0, 1, 2, 3, 0, 4, 5, 0, 6, 7, 8, 0, 4}));
        NDArray at = p.get(":13");
        // ...
        NDArray[] parts = {said, at};
        List<JFreeChart> maps = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            NDArray products = parts[i / 2].matMul(parts[i % 2].transpose()).div(512);
            String title = "xxpp".charAt(i) + " · " + "yryr".charAt(i);
            maps.add(heatMap(title, "key", "query", -1, 1, 13, 13, products.clip(-1, 1)::getDouble));
        }
        for (JFreeChart each : maps) {
            display(picture(each));
        }
        // %% passed
        print("words:     %.3f", squares(project(said, directions)) / squares(said));
        print("positions: %.3f", squares(project(at, directions)) / squares(at));
        // ...
        manager.close();
    }

    private static NDArray norms(NDArray rows) {
        return rows.pow(2).sum(new int[] {1}, true).sqrt();
    }

    private static double squares(NDArray rows) {
        return rows.pow(2).sum().getDouble();
    }

    private static NDArray directions(NDArray rows) {
        NDArray all = rows.get("0:1").div(norms(rows.get("0:1")));
        NDArray rest = rows.sub(project(rows, all));
        while (squares(rest) > 0.001 * squares(rows)) {
            // rounded, so that of two rows with the same norm the first one is chosen
            NDArray largest = rest.get(norms(rest).mul(1000).round().argMax()).reshape(1, -1);
            all = all.concat(largest.div(norms(largest)));
            rest = rows.sub(project(rows, all));
        }
        return all;
    }

    private static NDArray project(NDArray rows, NDArray directions) {
        return rows.matMul(directions.transpose()).matMul(directions);
    }

    private static NDArray found(NDArray rows, NDArray candidates) {
        return rows.matMul(candidates.swapAxes(-1, -2)).argMax(-1);
    }

    private static double share(NDArray found, NDArray right) {
        return found.eq(right).toType(DataType.FLOAT64, false).mean().getDouble();
    }
}
