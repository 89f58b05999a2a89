package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An overview of the relative encodings: what each adds to the scores, and what that does to the weights. */
final class RelativePositions {

    private static final int WORDS = 32;
    private static final int HEADS = 4;
    private static final int HEAD_SIZE = 16;

    private RelativePositions() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "All relative kinds side by side",
                "What every relative kind adds to the scores, and what training makes of four of them.");
        notebook.question("""
                [Biases of distance](BiasesOfDistance.html) showed four ways to use the distance, and [Rotary pairs](RotaryPairs.html)
                a fifth. What can one of them say that another cannot?""");
        notebook.text("""
                For the query *q* of word *i* and the key *k* of word *j*, each kind adds a number to the score, before or after the
                division by √H (DeBERTa divides by √(3H)):""");
        notebook.formula("s_{ij} = \\frac{q_i \\cdot k_j + \\text{term}_{ij}}{\\sqrt{H}} + \\text{bias}_{ij}");

        notebook.heading("Scores are compared within a row");
        notebook.text("""
                Before we compare numbers: does a positive bias mean more attention? No. A weight is the share of a word in its
                row, and a number that is added to a whole row falls out of this share:""");
        notebook.formula("\\frac{e^{s_{ij} + c}}{\\sum_n e^{s_{in} + c}} = \\frac{e^{s_{ij}}}{\\sum_n e^{s_{in}}}");
        notebook.text("""
                So the maps below are not to be read as *red: more, blue: less*. What counts is the difference between two keys
                in one row. On the left are three biases for one query, the last of 32 words: -*d*, 31 - *d* and -*d*/4, for the
                distance *d*. One is negative everywhere and one positive. On the right are the weights if all words are
                the same. The first two are on top of each other.""");
        double[] steep = each(WORDS, d -> -d);
        double[] lifted = each(WORDS, d -> 31 - d);
        double[] flat = each(WORDS, d -> -d / 4.0);
        notebook.row("%-10s %8s %8s %8s", "weight at", "-d", "31 - d", "-d/4");
        for (int distance : new int[] {0, 1, 4}) {
            notebook.row(
                    "%-10d %8.4f %8.4f %8.4f",
                    distance, weights(steep)[distance], weights(lifted)[distance], weights(flat)[distance]);
        }
        LineChart scores = LineChart.of("Biases of one query", "distance", "bias");
        LineChart shares = LineChart.of("Weights of the same query", "distance", "weight");
        Map<String, double[]> three = new LinkedHashMap<>();
        three.put("-d", steep);
        three.put("31 - d", lifted);
        three.put("-d/4", flat);
        three.forEach((name, bias) -> {
            scores.line(name, WORDS, d -> bias[d]);
            shares.line(name, WORDS, d -> weights(bias)[d]);
        });
        notebook.pictures(
                "relative-positions-weights",
                "Two biases that differ by 31 give the same weights; one that falls more slowly gives others",
                2,
                List.of(scores, shares));

        notebook.heading("Ten kinds, one line each");
        notebook.text("""
                | kind | adds, for the distance *d* | learns |
                | --- | --- | --- |
                | [ALiBi](https://arxiv.org/abs/2108.12409) | -*m* d, a slope *m* for each head | nothing |
                | [Sandwich](https://arxiv.org/abs/2212.10356) | the product of two sinusoids, which depends on *d* only | nothing |
                | [KERPLE](https://arxiv.org/abs/2205.09921) | -*b* ln(1 + *a* d) | *a* and *b* for each head |
                | [T5](https://arxiv.org/abs/1910.10683) | a number for each bucket of distances | these numbers |
                | [Distance network](https://arxiv.org/abs/2108.00154) | a small network of *d* | the network |
                | [FIRE](https://arxiv.org/abs/2310.04418) | a small network of ln *d* relative to ln *i* | the network |
                | [Shaw](https://arxiv.org/abs/1803.02155) | *q* · *a*, a vector *a* for each distance | the vectors |
                | [Transformer-XL](https://arxiv.org/abs/1901.02860) | (*q* + *v*) · *W* R, the sinusoids R of *d* | *W*, *u* and *v* |
                | [DeBERTa](https://arxiv.org/abs/2006.03654) | *q* · *a* + *k* · *b*, vectors for buckets of *d* | the vectors |
                | [Rotary](https://arxiv.org/abs/2104.09864) | the difference that turning *q* and *k* makes | nothing |

                The first six add the same number whatever the words are: a *bias*. The last four add a *term* that
                depends on the words. FIRE is the only one of the ten that also depends on where the query is. For
                ALiBi, Sandwich, KERPLE and FIRE, *d* is the distance without its sign; the others get its sign too,
                so only they tell the word before from the word after.""");
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        manager.getEngine().setRandomSeed(5);
        NDArray queries = manager.randomNormal(new Shape(1, HEADS, WORDS, HEAD_SIZE));
        NDArray keys = manager.randomNormal(new Shape(1, HEADS, WORDS, HEAD_SIZE));

        notebook.heading("Biases, trained");
        notebook.text("""
                What do learned biases become? `train-encoder.jar compare --on text` trains small causal language models of
                characters, on windows of 64, and saves their biases. Here are the 8 heads of four of them (2 layers of 4
                heads), as weights: how much of the attention a query gives to each distance if all characters are the same.
                The query is the last of 256 characters (only FIRE depends on this), and the keys are the 64 of the trained
                distances. The upper charts are what was learned, each head less its greatest bias. The lower ones are the
                weights.""");
        Map<String, String> trained = new LinkedHashMap<>();
        trained.put("T5", "t5");
        trained.put("KERPLE", "kerple");
        trained.put("Distance network", "distance_network");
        trained.put("FIRE", "fire");
        List<LineChart> upper = new ArrayList<>();
        List<LineChart> lower = new ArrayList<>();
        notebook.row("%-18s %s", "half the weight", "is nearer than, for each head");
        for (Map.Entry<String, String> kind : trained.entrySet()) {
            LineChart learned = LineChart.of(kind.getKey() + ", bias", "distance", "less the greatest");
            LineChart weights = LineChart.of(kind.getKey() + ", weight", "distance", "weight");
            StringBuilder halves = new StringBuilder();
            for (Map.Entry<String, double[]> head :
                    TrainedBias.of(kind.getValue()).entrySet()) {
                double[] bias = Arrays.copyOf(head.getValue(), 64);
                double greatest = Arrays.stream(bias).max().orElseThrow();
                learned.line(head.getKey(), 25, d -> bias[d] - greatest);
                weights.line(head.getKey(), 25, d -> weights(bias)[d]);
                halves.append(String.format("%4d", half(weights(bias))));
            }
            learned.yRange(-8.0, Double.NaN).hideLegend();
            weights.yRange(0.0, 1.0).hideLegend();
            upper.add(learned);
            lower.add(weights);
            notebook.row("%-18s%s", kind.getKey(), halves);
        }
        upper.addAll(lower);
        notebook.pictures(
                "relative-positions-trained",
                "Learned biases by distance, and the weights that follow for equal characters: one line for each head",
                4,
                upper);

        notebook.text("""
                The same task, and three answers. In the network of the distance and in FIRE, every head gives half of the weight or
                more to one or two characters, and leaves the rest to the words. KERPLE has six such heads and two broader ones.
                T5's heads stay broad: half of the weight is spread over 11 to 23 characters. But they have what KERPLE cannot have,
                a peak *before* the character itself, because their numbers are free to rise with the distance.""");
        notebook.heading("Terms that depend on the words");
        notebook.text("""
                The other four have a map for each sentence. The upper maps are those of 32 random words, before any training: the
                order by distance can hardly be seen. In the lower maps the same word stands at every position. What
                is left are the positions, and each diagonal has one color. The table has the largest
                change from one cell to the next along a diagonal.""");
        Map<String, RelativeEncoding> kinds = new LinkedHashMap<>();
        for (String kind : List.of("Shaw", "Transformer-XL", "disentangled", "rotary")) {
            kinds.put(
                    kind.equals("disentangled") ? "DeBERTa" : kind.equals("rotary") ? "Rotary" : kind,
                    RelativeEncoding.named(kind, HEADS, HEAD_SIZE, Map.of()));
        }
        NDArray sameQueries = queries.get(":, :, 0:1").repeat(2, WORDS);
        NDArray sameKeys = keys.get(":, :, 0:1").repeat(2, WORDS);
        List<HeatMapChart> maps = new ArrayList<>();
        kinds.forEach((name, kind) -> maps.add(map(name, term(kind, queries, keys))));
        kinds.forEach((name, kind) -> maps.add(map(name + ", one word", term(kind, sameQueries, sameKeys))));
        notebook.row("%-16s %16s %20s", "along diagonals", "random words", "one word repeated");
        kinds.forEach((name, kind) -> notebook.row(
                "%-16s %16.3f %20.3f",
                name, alongDiagonals(term(kind, queries, keys)), alongDiagonals(term(kind, sameQueries, sameKeys))));
        notebook.pictures(
                "relative-positions-terms",
                "The terms for random words, and for a sentence that repeats one word; each map is divided by its greatest"
                        + " absolute value",
                4,
                maps);
        manager.close();

        notebook.text("""
                A bias says *near words count more*. A term can say *this word looks for that word at that distance*: an
                adjective can look one word ahead while a verb looks back. The price is a product with a vector for each pair of words,
                except for rotary, which has turned queries and keys before they meet.""");
        notebook.recap("""
                A bias gives each head a profile of distances, the same for all words; a term lets the words choose; and only
                differences within a row change the attention.""");
        notebook.exercise("""
                In a causal model, keys are at or before the query. Show that ALiBi's bias -*m* (*i* - *j*) gives the same
                weights as the bias *m* *j*, which does not depend on the query at all.""", """
                -*m* (*i* - *j*) = *m* *j* - *m* *i*, and -*m* *i* is the same number for the whole row of query *i*, so it falls out of
                the weights. ALiBi's authors use this in their code: one row of numbers serves all queries. It fails
                without the causal mask, where |*i* - *j*| is not linear in *j*.""");
        notebook.sources(
                "[Press, Smith, Lewis, Train Short, Test Long (2022)](https://arxiv.org/abs/2108.12409)",
                "[Chi et al., KERPLE (2022)](https://arxiv.org/abs/2205.09921)",
                "[Li et al., FIRE (2024)](https://arxiv.org/abs/2310.04418)");
        notebook.text("""
                Which of these profiles still works where the distances are longer than in training? That is
                [Sentences longer than in training](LengthExtrapolation.html).""");
    }

    /** What an encoding adds to the products of queries and keys, (1, heads, words, words). */
    static NDArray term(RelativeEncoding encoding, NDArray queries, NDArray keys) {
        NDManager manager = queries.getManager();
        if (!encoding.isInitialized()) {
            encoding.initialize(manager, DataType.FLOAT32, queries.getShape());
        }
        NDList output = encoding.forward(new ParameterStore(manager, false), new NDList(queries, keys), false);
        return output.size() == 1
                ? output.head()
                : products(output.get(0), output.get(1)).sub(products(queries, keys));
    }

    private static NDArray products(NDArray queries, NDArray keys) {
        return queries.matMul(keys.swapAxes(2, 3));
    }

    /** The softmax. */
    static double[] weights(double... scores) {
        double greatest = Arrays.stream(scores).max().orElseThrow();
        double[] powers = each(scores.length, i -> Math.exp(scores[i] - greatest));
        double sum = Arrays.stream(powers).sum();
        return each(scores.length, i -> powers[i] / sum);
    }

    /** The number of distances, from 0 on, that have half of the weight. */
    private static int half(double... weights) {
        double sum = 0;
        int count = 0;
        while (sum < 0.5) {
            sum += weights[count++];
        }
        return count;
    }

    /** Relative to the greatest absolute value. */
    private static double alongDiagonals(NDArray term) {
        NDArray changes = term.get(":, :, 1:, 1:").sub(term.get(":, :, :-1, :-1"));
        return changes.abs().max().getFloat() / term.abs().max().getFloat();
    }

    private static HeatMapChart map(String title, NDArray term) {
        float[] head = term.get("0, 0").flatten().toFloatArray();
        double greatest = term.get("0, 0").abs().max().getFloat();
        HeatMapChart map = HeatMapChart.of(
                title, "key", "query", WORDS, WORDS, (query, key) -> head[query * WORDS + key] / greatest);
        map.hideLegend();
        return map;
    }
}
