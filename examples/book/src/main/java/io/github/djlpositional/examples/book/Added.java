package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.LineChart.each;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** The sum of a word's vector and a position's vector: positions fill few dimensions, so both can be read from it. */
public final class Added {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% point
        SinusoidalEncoding pair = SinusoidalEncoding.vaswani(2);
        double[] x = each(7, t -> 1.5 + pair.value(t, 1));
        double[] y = each(7, t -> -0.5 + pair.value(t, 0));
        // ...
        LineChart plane = LineChart.plane("A word at 7 positions", "dimension 1", "dimension 0", 1.5, -0.5, 1.7);
        plane.circle("all sums", 1.5, -0.5, 1);
        plane.hands("position", 1.5, -0.5, x, y, "0", "1", "2", "3", "4", "5", "6");
        plane.points("word + position", x, y);
        plane.points("word", new double[] {1.5}, new double[] {-0.5});
        out.picture(plane);
        // %% norms
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        PositionalEncodingBlock encoding =
                PositionalEncodingBlock.builder().setEmbeddingSize(512).build();
        NDArray p = encoding.encode(manager.arange(1000)).toType(DataType.FLOAT64, false);
        Random random = new Random(1);
        double[] numbers = each(1000 * 512, i -> random.nextGaussian());
        NDArray longWords = manager.create(numbers, new Shape(1000, 512));
        NDArray shortWords = longWords.div(16); // times the root of 2/d
        // ...
        double[] norms = norms(p).toDoubleArray();
        out.print("norms of positions 0 and 999: %.4f, %.4f", norms[0], norms[999]);
        for (NDArray words : List.of(longWords, shortWords)) {
            NDArray sums = words.add(p.get(5));
            double cosine = squares(sums.div(norms(sums)).sum(new int[] {0})) / (1000 * 999) - 1 / 999.0;
            double norm = norms(words).mean().getDouble();
            out.print("mean norm of words %.3f, mean cosine %.3f", norm, cosine);
        }
        // %% few
        for (int length : new int[] {10, 100, 1000}) {
            long size = directions(p.get(":{}", length)).size(0);
            out.print("%4d positions fill %3d of 512 dimensions", length, size);
        }
        // %% read
        NDArray places = p.get(":100");
        NDArray directions = directions(places);
        NDArray word = manager.arange(0, 1000, 1, DataType.INT64);
        NDArray position = word.mod(100);
        // ...
        for (NDArray words : List.of(longWords, shortWords)) {
            NDArray sums = words.add(places.get(position));
            NDArray subtracted = sums.sub(places.get(found(sums, places)));
            NDArray projected = sums.sub(project(sums, directions));
            out.print(words == longWords ? "long words:" : "short words:");
            out.print("  position, from the sum:      %.3f", share(found(sums, places), position));
            out.print("  word, from the sum:          %.3f", share(found(sums, words), word));
            out.print("  word, position subtracted:   %.3f", share(found(subtracted, words), word));
            out.print("  word, positions projected:   %.3f", share(found(projected, words), word));
        }
        // %% products
        // the dog that chased the cat saw the man who fed the cat
        NDArray said = longWords.get(manager.create(new int[] {0, 1, 2, 3, 0, 4, 5, 0, 6, 7, 8, 0, 4}));
        NDArray at = p.get(":13");
        NDArray saidPassed = project(said, directions);
        NDArray atPassed = project(at, directions);
        // ...
        out.print("%.3f of the squares of the words remain", squares(saidPassed) / squares(said));
        out.print("%.3f of the squares of the positions remain", squares(atPassed) / squares(at));
        List<HeatMapChart> maps = new ArrayList<>();
        NDArray[] parts = {said, at, saidPassed, atPassed};
        for (int i = 0; i < 8; i++) {
            String title = "xxpp".charAt(i % 4) + " · " + "yryr".charAt(i % 4) + (i < 4 ? "" : " after");
            NDArray keys = parts[i / 4 * 2 + i % 2].transpose();
            NDArray products =
                    parts[i / 4 * 2 + i % 4 / 2].matMul(keys).div(512).clip(-1, 1);
            maps.add(HeatMapChart.of(title, "key", "query", 13, 13, products::getDouble));
            maps.get(i).hideLegend();
        }
        out.pictures(4, maps);
        manager.close();
    }

    private static NDArray norms(NDArray rows) {
        return rows.pow(2).sum(new int[] {1}, true).sqrt();
    }

    private static double squares(NDArray rows) {
        return rows.pow(2).sum().getDouble();
    }

    /** Returns directions at right angles that leave a thousandth of the squares: each is the longest row left. */
    private static NDArray directions(NDArray rows) {
        NDArray all = rows.get("0:1").div(norms(rows.get("0:1")));
        NDArray rest = rows.sub(project(rows, all));
        while (squares(rest) > 0.001 * squares(rows)) {
            // rounded, so that of two equally long rows the first one is chosen
            NDArray longest = rest.get(norms(rest).mul(1000).round().argMax()).reshape(1, -1);
            NDArray direction = longest.div(norms(longest));
            all = all.concat(direction);
            rest.subi(project(rest, direction));
        }
        return all;
    }

    private static NDArray project(NDArray rows, NDArray directions) {
        return rows.matMul(directions.transpose()).matMul(directions);
    }

    /** Returns the candidate with the largest product with each row. */
    private static NDArray found(NDArray rows, NDArray candidates) {
        return rows.matMul(candidates.transpose()).argMax(1);
    }

    private static double share(NDArray found, NDArray right) {
        return found.eq(right).toType(DataType.FLOAT64, false).mean().getDouble();
    }
}
