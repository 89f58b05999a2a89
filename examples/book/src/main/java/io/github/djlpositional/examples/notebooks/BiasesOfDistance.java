package io.github.djlpositional.examples.notebooks;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.RelativeBuckets;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.ShawRelativePositionBlock;
import io.github.djlpositional.relative.TransformerXlPositionBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Four ways to use the distance: ALiBi's slopes, T5's buckets, Shaw's window, Transformer-XL's two terms. */
final class BiasesOfDistance {

    private static final int WORDS = 32;
    private static final int SIZE = 16;

    private BiasesOfDistance() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Four ways to use the distance",
                "ALiBi, T5, Shaw and Transformer-XL each let the distance change the score differently.");
        notebook.question("""
                [A learned table](LearnedTables.html) ends. What should the distance of two words do to their score, so that there
                is no end?""");
        notebook.text("""
                The sliders show the first two kinds of this chapter as weights of keys that have equal scores
                otherwise: ALiBi, which lowers a score along a line with a slope, and T5, which puts distances into
                buckets; here each bucket lowers the score by the slope.""");
        notebook.play("biases");
        notebook.heading("ALiBi: a straight line");
        notebook.text("""
                **ALiBi** lowers the score by a fixed amount for each step of the distance: Press, Smith and Lewis, *Train Short,
                Test Long* (2022). Only this amount, the slope *m*, differs between heads. With *N* heads, *h* is the number of
                the head, counted from 1. For 8 heads the slopes are the powers of two from 1/2 to 1/256.""");
        notebook.formula("\\text{bias}_{ij} = -m_h \\, |i - j| \\qquad m_h = 2^{-8h/N}");
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        AlibiBiasBlock alibi = AlibiBiasBlock.builder().setHeadCount(8).build();
        NDArray biases = forward(alibi, manager.zeros(new Shape(1, 101, SIZE)));
        LineChart slopes = LineChart.of("ALiBi with 8 heads", "distance to the key", "bias");
        notebook.row("head      slope  distance 10  distance 100");
        for (int head : new int[] {0, 1, 2, 4, 7}) {
            float[] ofLastQuery = biases.get("0, {}, 100", head).toFloatArray();
            double slope = alibi.getSlopes().get(head);
            notebook.row("%4d %10.6f %12.4f %13.4f", head + 1, slope, ofLastQuery[90], ofLastQuery[0]);
            slopes.line("head " + (head + 1), 41, distance -> ofLastQuery[100 - distance]);
        }
        notebook.picture(
                "biases-of-distance-alibi",
                "A steep slope lowers the scores of all but the nearest words, a flat one hardly changes them within 40",
                slopes);

        notebook.text("""
                A bias of -5 divides the weight of a key by e⁵, about 150. The first head reaches it at distance 10, the last one
                at distance 1280. For distances that no text of the training had, each bias continues along the same line.

                The formula is for numbers of heads that are powers of two. For 12 heads the authors take the slopes
                of 8 heads, and then every second one of 16:""");
        notebook.row("head   8 heads  12 heads  16 heads");
        for (int head = 0; head < 16; head++) {
            notebook.row("%4d %9s %9s %9s", head + 1, slope(8, head), slope(12, head), slope(16, head));
        }

        notebook.heading("T5: a number for each bucket");
        notebook.text("""
                **T5** does not choose a function of the distance. Each head learns a number for each *bucket* of distances:
                Raffel et al. (2020). Near distances have a bucket each. Farther ones share buckets, which widen with the
                distance; the last one has no end. In an encoder, one half of the 32 buckets is for keys before the query and the
                other half for keys after it. In a decoder all are for keys before it.""");
        RelativeBuckets encoder = RelativeBuckets.of(true, 32, 128);
        RelativeBuckets decoder = RelativeBuckets.of(false, 32, 128);
        notebook.row("%8s %11s %11s %10s", "", "decoder", "encoder", "encoder");
        notebook.row("%8s %11s %11s %10s", "distance", "key before", "key before", "key after");
        for (int distance : new int[] {0, 1, 7, 8, 11, 12, 16, 32, 64, 90, 91, 112, 113, 1000}) {
            notebook.row(
                    "%8d %11d %11d %10d",
                    distance, decoder.bucket(-distance), encoder.bucket(-distance), encoder.bucket(distance));
        }
        LineChart steps = LineChart.of("The buckets of T5", "position of the key less that of the query", "bucket");
        double[] relative = LineChart.each(321, i -> i - 160.0);
        steps.line("encoder", relative, LineChart.each(321, i -> encoder.bucket(i - 160)));
        steps.line("decoder", LineChart.each(161, i -> i - 160.0), LineChart.each(161, i -> decoder.bucket(i - 160)));
        notebook.picture(
                "biases-of-distance-t5",
                "The buckets of T5: one for each near distance, then wider and wider ones. From -8 to 0 both lines are"
                        + " the same",
                steps);

        notebook.heading("Shaw: a vector for each place");
        notebook.text("""
                **Shaw**, Uszkoreit and Vaswani (2018) learn a vector *a* for each place nearer than *k*, and one in each direction
                for *k* and all farther ones. The query is multiplied by it, so the same distance can raise the score of one word
                and lower that of another. *H* is the size of a head.""");
        notebook.formula("s_{ij} = \\frac{q_i \\cdot (k_j + a_{c(j - i)})}{\\sqrt{H}}");
        notebook.formula("c(d) = \\max(-k, \\min(k, d))");
        notebook.text("""
                With k = 8, this is the part with *a* for three words of a sentence of 32, before the division by √H. The words
                are random, and the vectors are untrained.""");
        manager.getEngine().setRandomSeed(3);
        NDArray queries = manager.randomNormal(new Shape(1, 1, WORDS, SIZE));
        ShawRelativePositionBlock shaw = ShawRelativePositionBlock.builder()
                .setHeadSize(SIZE)
                .optMaxDistance(8)
                .build();
        NDArray shawTerm = forward(shaw, queries);
        LineChart window = LineChart.of("Shaw's term with k = 8", "key", "term");
        for (int query : new int[] {10, 16, 22}) {
            float[] ofQuery = shawTerm.get("0, 0, {}", query).toFloatArray();
            window.line("query " + query, WORDS, key -> ofQuery[key]);
            for (int key : new int[] {0, query - 8, query - 7}) {
                notebook.row("query %d, key %2d: %7.4f", query, key, ofQuery[key]);
            }
        }
        notebook.picture(
                "biases-of-distance-shaw",
                "Nearer than 8 words, each key has its own number; from 8 on, all keys of one side have the same",
                window);

        notebook.heading("Transformer-XL: sinusoids of the distance");
        notebook.text("""
                **Transformer-XL** has no table of distances: Dai et al. (2019) project the *sinusoids* of the distance, R, by a
                learned matrix W. A score is the sum of four terms. Two of them have the query; in the other two, the learned
                vectors *u* and *v* of the head are in its place.""");
        notebook.formula("a = q_i \\cdot k_j \\qquad b = q_i \\cdot W R_{i-j}");
        notebook.formula("c = u \\cdot k_j \\qquad d = v \\cdot W R_{i-j}");
        notebook.formula("s_{ij} = \\frac{a + b + c + d}{\\sqrt{H}}");
        notebook.text("""
                The terms a and c know words only; the positions are in b and d. The block's own forward returns b + d. With v = 0
                only b is left, and with queries of 0 only d.""");
        TransformerXlPositionBlock xl = TransformerXlPositionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(1)
                .build();
        xl.initialize(manager, DataType.FLOAT32, queries.getShape());
        NDArray position = xl.getParameters().get("positionBias").getArray();
        position.set(manager.randomNormal(position.getShape()).toFloatArray());
        NDArray both = forward(xl, queries);
        NDArray global = forward(xl, queries.zerosLike());
        position.set(new float[SIZE]);
        NDArray ofWords = forward(xl, queries);
        notebook.row("b and d, computed separately and added");
        notebook.row(
                "    greatest difference from the forward: %.1e",
                greatest(ofWords.add(global).sub(both)));
        notebook.row("greatest change along a diagonal");
        notebook.row("  of b: %.3f", alongDiagonals(ofWords));
        notebook.row("  of d: %.1e", alongDiagonals(global));
        List<HeatMapChart> maps = new ArrayList<>();
        double scale = Math.ceil(Math.max(greatest(both), Math.max(greatest(ofWords), greatest(global))));
        maps.add(map("b: words and distance", ofWords, scale));
        maps.add(map("d: distance only", global, scale));
        maps.add(map("b + d", both, scale));
        manager.close();
        notebook.pictures(
                "biases-of-distance-transformer-xl",
                String.format(
                        Locale.ROOT,
                        "The two terms with positions, and their sum, from -%.0f (blue) to %.0f (red)",
                        scale,
                        scale),
                3,
                maps);

        notebook.text("""
                Term d is a bias like T5's: it has the same number along each diagonal. Term b lets each word look for its own
                distances. Because R is defined for any distance and W is learned for all of them together, there is no last
                bucket and no window.""");
        notebook.recap("""
                ALiBi draws a line, T5 learns a step function, Shaw lets the query choose among near places, and Transformer-XL
                among all distances.""");
        notebook.exercise(
                """
                ALiBi's last head of 8 has the slope 1/256. If all words are the same, how much less does it weigh a key at
                distance 100 than the query itself? And the first head, with 1/2?""",
                String.format(
                        Locale.ROOT,
                        "By the factor e^(100/256) = %.2f, so it still sees nearly everything; the first head by e^50 = %.1e, so it"
                                + " sees nothing there.",
                        Math.exp(100 / 256.0),
                        Math.exp(50)));
        notebook.sources(
                "[Press, Smith, Lewis, Train Short, Test Long (2022)](https://arxiv.org/abs/2108.12409)",
                "[Raffel et al., T5 (2020)](https://arxiv.org/abs/1910.10683)",
                "[Shaw, Uszkoreit, Vaswani (2018)](https://arxiv.org/abs/1803.02155)",
                "[Dai et al., Transformer-XL (2019)](https://arxiv.org/abs/1901.02860)");
        notebook.text("""
                There are more ways than four. [All relative kinds side by side](RelativePositions.html) compares ten,
                four of them after training.""");
    }

    /** The slope of a head, counted from 0; empty if there are not as many heads. */
    private static String slope(int heads, int head) {
        return head < heads
                ? String.format(Locale.ROOT, "%.4f", AlibiSlopes.of(heads).get(head))
                : "";
    }

    private static NDArray forward(RelativeEncoding encoding, NDArray queries) {
        NDManager manager = queries.getManager();
        if (!encoding.isInitialized()) {
            encoding.initialize(manager, DataType.FLOAT32, queries.getShape());
        }
        return encoding.forward(new ParameterStore(manager, false), new NDList(queries), false)
                .singletonOrThrow();
    }

    private static double greatest(NDArray array) {
        return array.abs().max().getFloat();
    }

    private static double alongDiagonals(NDArray term) {
        return greatest(term.get(":, :, 1:, 1:").sub(term.get(":, :, :-1, :-1")));
    }

    private static HeatMapChart map(String title, NDArray term, double scale) {
        float[] values = term.toFloatArray();
        HeatMapChart map = HeatMapChart.of(
                        title, "key", "query", WORDS, WORDS, (query, key) -> values[query * WORDS + key])
                .range(-scale, scale);
        map.hideLegend();
        return map;
    }
}
