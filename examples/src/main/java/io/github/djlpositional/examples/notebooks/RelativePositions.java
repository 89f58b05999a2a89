package io.github.djlpositional.examples.notebooks;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.AlibiBiasBlock;
import io.github.djlpositional.attention.DisentangledPositionBlock;
import io.github.djlpositional.attention.DistanceNetworkBiasBlock;
import io.github.djlpositional.attention.FireBiasBlock;
import io.github.djlpositional.attention.KerpleBiasBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.SandwichBiasBlock;
import io.github.djlpositional.attention.ShawRelativePositionBlock;
import io.github.djlpositional.attention.TransformerXlPositionBlock;
import io.github.djlpositional.examples.Drawing;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.knowm.xchart.HeatMapChart;

/** What each relative encoding adds to the scores of the same sentence. */
final class RelativePositions {

    private static final int WORDS = 32;
    private static final int HEADS = 4;
    private static final int HEAD_SIZE = 16;
    private static final int SIZE = HEADS * HEAD_SIZE;

    private RelativePositions() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "What does each kind add to the scores?",
                "One sentence, and the numbers that every relative kind adds to its scores.");
        notebook.text("""
                Sinusoids and learned tables add positions to the words. The other kinds leave the words alone and act where
                words are compared, in the scores of the attention. For the query *q* of word *i* and the key *k* of word *j*, a
                score becomes""");
        notebook.formula("s_{ij} = \\frac{q_i \\cdot k_j + \\text{term}_{ij}}{\\sqrt{H}}");
        notebook.text("or");
        notebook.formula("s_{ij} = \\frac{q_i \\cdot k_j}{\\sqrt{H}} + \\text{bias}_{ij}");
        notebook.text("""
                where DeBERTa divides by √(3H). In the second form the number depends on positions only; it is called a bias. To compare the kinds, they all get
                the same sentence: 32 words with the same random queries and keys, in 4 heads of 16 dimensions.""");
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        manager.getEngine().setRandomSeed(5);
        NDArray queries = manager.randomNormal(new Shape(1, HEADS, WORDS, HEAD_SIZE));
        NDArray keys = manager.randomNormal(new Shape(1, HEADS, WORDS, HEAD_SIZE));

        notebook.text("""
                These are the kinds. Learned numbers are those before any training, so the pictures show what a kind *can* express
                and where it starts. The first six are biases, of which each map shows those of the first head.""");
        Map<String, RelativeEncoding> kinds = new LinkedHashMap<>();
        kinds.put("ALiBi", AlibiBiasBlock.builder().setHeadCount(HEADS).build());
        kinds.put("KERPLE", KerpleBiasBlock.builder().setHeadCount(HEADS).build());
        kinds.put("Sandwich", SandwichBiasBlock.builder().setHeadCount(HEADS).build());
        kinds.put("T5", RelativePositionBiasBlock.builder().setHeadCount(HEADS).build());
        kinds.put("Distance network", distanceNetwork());
        kinds.put(
                "FIRE",
                FireBiasBlock.builder().setHeadCount(HEADS).optThreshold(8).build());
        kinds.put(
                "Shaw",
                ShawRelativePositionBlock.builder().setHeadSize(HEAD_SIZE).build());
        kinds.put("Transformer-XL", transformerXl());
        kinds.put("DeBERTa", deberta());
        kinds.put(
                "Rotary", RotaryEmbeddingBlock.builder().setHeadSize(HEAD_SIZE).build());
        List<HeatMapChart> biases = new ArrayList<>();
        for (String kind : List.of("ALiBi", "KERPLE", "Sandwich", "T5", "Distance network", "FIRE")) {
            biases.add(map(kind, term(kinds.get(kind), queries, keys)));
        }
        notebook.pictures(
                "relative-positions-biases",
                "The biases: red raises a score, blue lowers it. Each map is divided by its greatest absolute value",
                3,
                biases);

        notebook.text("""
                The words do not matter for a bias, and each diagonal of the first five has one color. The terms of Shaw,
                Transformer-XL and DeBERTa are products with a query, a key or both. Rotary embeddings add nothing: they turn queries
                and keys, and their map is the difference of the scores with and without turning. In the first four maps of the
                next picture, each of these terms depends on 32 random words, and little order by distance is to be seen.

                The order is there. In the last four maps, the same word stands at every position. What is left are the
                positions.""");
        NDArray sameQueries = queries.get(":, :, 0:1").repeat(2, WORDS);
        NDArray sameKeys = keys.get(":, :, 0:1").repeat(2, WORDS);
        List<String> ofWords = List.of("Shaw", "Transformer-XL", "DeBERTa", "Rotary");
        List<HeatMapChart> terms = new ArrayList<>();
        for (String kind : ofWords) {
            terms.add(map(kind, term(kinds.get(kind), queries, keys)));
        }
        for (String kind : ofWords) {
            terms.add(map(kind + ", one word", term(kinds.get(kind), sameQueries, sameKeys)));
        }
        notebook.pictures(
                "relative-positions-terms",
                "The terms that depend on the words: for random words, and for a sentence that repeats one word. Colors as"
                        + " above",
                4,
                terms);

        notebook.text("""
                Now these terms have stripes as well. The table measures both. *Words*: how much the term changes with
                other random words. *Diagonals*: how much it changes from one pair of words to the next pair at the same distance,
                if all words are the same. Both are relative to the greatest absolute value of the term.""");
        NDArray otherQueries = manager.randomNormal(queries.getShape());
        NDArray otherKeys = manager.randomNormal(keys.getShape());
        notebook.row("%-17s %11s %8s %10s", "", "parameters", "words", "diagonals");
        for (Map.Entry<String, RelativeEncoding> kind : kinds.entrySet()) {
            NDArray term = term(kind.getValue(), queries, keys);
            NDArray same = term(kind.getValue(), sameQueries, sameKeys);
            notebook.row(
                    "%-17s %11d %8.3f %10.3f",
                    kind.getKey(),
                    parameters(kind.getValue()),
                    greatest(term(kind.getValue(), otherQueries, otherKeys).sub(term)) / greatest(term),
                    greatest(same.get(":, :, 1:, 1:").sub(same.get(":, :, :-1, :-1"))) / greatest(same));
        }
        manager.close();

        notebook.text("""
                All kinds but FIRE depend on positions through the distance *i - j* only. FIRE divides the logarithm of the
                distance by that of the query's position, so that for keys before the query its input is a share from 0 to 1 in a
                text of any length.

                ALiBi and Sandwich have nothing to learn. KERPLE learns two numbers for each head, T5 one for each bucket of distances
                and head, FIRE and the distance network small networks. Shaw, Transformer-XL and DeBERTa learn vectors or matrices and can make a
                word look for another one at a certain distance. Rotary embeddings can do this as well, without parameters:
                queries and keys learn it.""");
    }

    private static RelativeEncoding distanceNetwork() {
        return DistanceNetworkBiasBlock.builder()
                .setHeadCount(HEADS)
                .setHiddenSize(32)
                .build();
    }

    private static RelativeEncoding transformerXl() {
        return TransformerXlPositionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(HEADS)
                .build();
    }

    private static RelativeEncoding deberta() {
        return DisentangledPositionBlock.builder()
                .setEmbeddingSize(SIZE)
                .setHeadCount(HEADS)
                .build();
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

    private static double greatest(NDArray array) {
        return array.abs().max().getFloat();
    }

    private static long parameters(RelativeEncoding encoding) {
        return encoding.getParameters().values().stream()
                .mapToLong(parameter -> parameter.getArray().size())
                .sum();
    }

    private static HeatMapChart map(String title, NDArray term) {
        float[] head = term.get("0, 0").flatten().toFloatArray();
        double greatest = greatest(term.get("0, 0"));
        HeatMapChart map =
                Drawing.map(title, "key", "query", WORDS, WORDS, (query, key) -> head[query * WORDS + key] / greatest);
        map.getStyler().setLegendVisible(false);
        return map;
    }
}
