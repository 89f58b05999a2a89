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
        NDArray norms = norms(p);
        out.print(
                "positions:   norms from %.4f to %.4f",
                norms.min().getDouble(), norms.max().getDouble());
        for (NDArray words : List.of(longWords, shortWords)) {
            out.print(
                    "%-12s mean norm %.3f, mean cosine of two words at position 5: %.3f",
                    name(words, longWords), norms(words).mean().getDouble(), meanCosine(words.add(p.get(5))));
        }
        // %% few
        for (int length : new int[] {10, 100, 1000}) {
            NDArray directions = directions(p.get(":{}", length), 0.001);
            out.print("%4d positions fill %3d of 512 dimensions", length, directions.size(0));
        }
        // %% read
        NDArray places = p.get(":100");
        NDArray directions = directions(places, 0.001);
        NDArray word = manager.arange(0, 1000, 1, DataType.INT64);
        NDArray position = word.mod(100);
        // ...
        for (NDArray words : List.of(longWords, shortWords)) {
            NDArray sums = words.add(places.get(position));
            NDArray subtracted = sums.sub(places.get(found(sums, places)));
            NDArray projected = sums.sub(project(sums, directions));
            out.print("%s", name(words, longWords));
            out.print("  position, from the sum:      %.3f", share(found(sums, places), position));
            out.print("  word, from the sum:          %.3f", share(found(sums, words), word));
            out.print("  word, position subtracted:   %.3f", share(found(subtracted, words), word));
            out.print("  word, positions projected:   %.3f", share(found(projected, words), word));
        }
        // %% products
        NDArray said = longWords.get(manager.create(SENTENCE));
        NDArray at = p.get(":13");
        NDArray saidPassed = project(said, directions);
        NDArray atPassed = project(at, directions);
        // ...
        out.print("share of the squares of the words that remains:     %.3f", squares(saidPassed) / squares(said));
        out.print("share of the squares of the positions that remains: %.3f", squares(atPassed) / squares(at));
        List<HeatMapChart> maps = new ArrayList<>();
        for (List<NDArray> parts : List.of(List.of(said, at), List.of(saidPassed, atPassed))) {
            for (int i = 0; i < 4; i++) {
                maps.add(map(PRODUCTS.get(maps.size()), parts.get(i / 2), parts.get(i % 2)));
            }
        }
        out.pictures(4, maps);
        manager.close();
    }

    /** The numbers of the words of "the dog that chased the cat saw the man who fed the cat". */
    private static final int[] SENTENCE = {0, 1, 2, 3, 0, 4, 5, 0, 6, 7, 8, 0, 4};

    private static final List<String> PRODUCTS =
            List.of("x · y", "x · r", "p · y", "p · r", "x · y after", "x · r after", "p · y after", "p · r after");

    private static String name(NDArray words, NDArray longWords) {
        return words == longWords ? "long words:" : "short words:";
    }

    private static NDArray norms(NDArray rows) {
        return rows.pow(2).sum(new int[] {1}).sqrt();
    }

    private static double squares(NDArray rows) {
        return rows.pow(2).sum().getDouble();
    }

    /** Returns the mean over all pairs of different rows. */
    private static double meanCosine(NDArray rows) {
        NDArray units = rows.div(norms(rows).reshape(-1, 1));
        return (squares(units.sum(new int[] {0}).reshape(1, -1)) - 1000) / (1000 * 999.0);
    }

    /**
     * Returns directions at right angles that leave a share of the squares of rows: each is the longest that is left.
     */
    private static NDArray directions(NDArray rows, double share) {
        NDArray all = rows.get(0).reshape(1, -1).div(norms(rows.get("0:1")));
        NDArray rest = rows.sub(project(rows, all));
        while (squares(rest) > share * squares(rows)) {
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

    private static HeatMapChart map(String title, NDArray queries, NDArray keys) {
        NDArray products = queries.matMul(keys.transpose()).div(512);
        HeatMapChart map = HeatMapChart.of(
                title, "key", "query", 13, 13, (q, k) -> Math.max(-1, Math.min(1, products.getDouble(q, k))));
        map.hideLegend();
        return map;
    }
}
