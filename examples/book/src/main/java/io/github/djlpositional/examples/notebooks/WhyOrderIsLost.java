package io.github.djlpositional.examples.notebooks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.examples.HeatMapChart;
import java.util.List;

/** What attention computes for a sentence and for the same words in another order, without and with positions. */
final class WhyOrderIsLost {

    private WhyOrderIsLost() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Why order is lost",
                "A shuffled sentence gives the same numbers: attention alone sees a bag of words.");
        notebook.question("""
                *The dog bites the man* and *the man bites the dog* have the same words. Only their order says who bites whom. How
                much of it is left after attention?""");
        notebook.heading("Words become vectors");
        notebook.text("""
                First, each word is replaced by a vector of 64 random numbers, which is
                the same wherever the word occurs.""");
        List<String> dogBites = List.of("the", "dog", "bites", "the", "man");
        List<String> manBites = List.of("the", "man", "bites", "the", "dog");
        NDManager manager = NDManager.newBaseManager();
        manager.getEngine().setRandomSeed(1);
        InputEmbeddingBlock words = InputEmbeddingBlock.builder()
                .setVocabularySize(4) // the, dog, bites, man
                .setEmbeddingSize(64)
                .optNoPositions()
                .build();
        words.initialize(manager, DataType.FLOAT32, new Shape(1, 5));
        NDArray first = forward(manager.create(new long[] {0, 1, 2, 0, 3}, new Shape(1, 5)), words);
        NDArray second = forward(manager.create(new long[] {0, 3, 2, 0, 1}, new Shape(1, 5)), words);
        notebook.result("first.getShape()", first.getShape());

        notebook.heading("A sum has no order");
        notebook.text("""
                Attention makes a query *q*, a key *k* and a value *v* of each vector. For each query it returns a weighted
                mean of the values. The weights come from the products of the query with the keys, divided by the root
                of their size H:""");
        notebook.formula("y_i = \\sum_j w_{ij} v_j");
        notebook.formula(
                "w_{ij} = \\frac{e^{s_{ij}}}{\\sum_n e^{s_{in}}} \\qquad s_{ij} = \\frac{q_i \\cdot k_j}{\\sqrt{H}}");
        notebook.text("""
                *i*, *j* and *n* say which word is meant, but no number is computed from them, and a sum is the same in any
                order. So the words of the second sentence get the vectors of the first. Even the two *the* of one sentence
                cannot be told apart. Here are three of the 64 numbers of each word.""");
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .build();
        attention.initialize(manager, DataType.FLOAT32, first.getShape());
        NDArray y = forward(first, attention).squeeze(0);
        NDArray z = forward(second, attention).squeeze(0);
        for (int i = 0; i < 5; i++) {
            notebook.row("%-5s %s", dogBites.get(i), three(y.get(i)));
        }
        notebook.row("");
        for (int i = 0; i < 5; i++) {
            notebook.row("%-5s %s", manBites.get(i), three(z.get(i)));
        }
        notebook.pictures(
                "why-order-is-lost-words",
                "The results of attention, one row for each word, the first 16 of 64 dimensions: the rows of dog and man are"
                        + " exchanged",
                2,
                List.of(
                        HeatMapChart.ofWordRows("The dog bites the man", "dimension", dogBites, 16, y::getFloat)
                                .range(-3, 3),
                        HeatMapChart.ofWordRows("The man bites the dog", "dimension", manBites, 16, z::getFloat)
                                .range(-3, 3)));

        notebook.text("""
                To compare all 64 numbers, the rows of the second result are put back into the order of the first sentence.
                What remains is rounding: the terms of the sums were added in another order. A classifier that reads the mean of the words
                sees no difference either.""");
        NDArray order = manager.create(new int[] {0, 4, 2, 3, 1}); // where the second has the words of the first
        notebook.result("greatest difference of a number", greatest(y.sub(z.get(order))));
        notebook.result("greatest difference of the means", greatest(mean(y).sub(mean(z))));

        notebook.heading("With positions");
        notebook.text("""
                Now a position is added to each vector before the same attention. *Dog* at position 1 and *dog* at position 4
                have different results, and so have the sentences.""");
        PositionalEncodingBlock positions =
                PositionalEncodingBlock.builder().setEmbeddingSize(64).build();
        NDArray yWith = forward(first, positions, attention).squeeze(0);
        NDArray zWith = forward(second, positions, attention).squeeze(0);
        notebook.result("greatest difference of a number, with positions", greatest(yWith.sub(zWith.get(order))));
        notebook.result(
                "greatest difference of the means, with positions",
                greatest(mean(yWith).sub(mean(zWith))));
        NDArray without = y.sub(z.get(order));
        NDArray with = yWith.sub(zWith.get(order));
        notebook.pictures(
                "why-order-is-lost-differences",
                "The difference that the order makes to each word, in the first 16 of 64 dimensions: none but rounding without"
                        + " positions",
                2,
                List.of(
                        HeatMapChart.ofWordRows(
                                        "Difference without positions", "dimension", dogBites, 16, without::getFloat)
                                .range(-3, 3),
                        HeatMapChart.ofWordRows("Difference with positions", "dimension", dogBites, 16, with::getFloat)
                                .range(-3, 3)));

        notebook.heading("A causal mask is a hint of order, no more");
        notebook.text("""
                Models that generate text are *causal*: a word sees only itself and the words before it. *Dog* sees two words
                in the first sentence and five in the second, so it gets different vectors. Is that order? One layer still takes
                a weighted mean over a bag: that of the words up to this one. To see it, only the order of the words *before*
                the last one is changed: *the dog bites the man* and *bites the the dog man*. The causal block has the weights of
                the block above. The last word gets the same vector from both, and every later word would, too.""");
        MultiHeadAttentionBlock causal = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .optCausal(true)
                .build();
        causal.initialize(manager, DataType.FLOAT32, first.getShape());
        causal.getParameters()
                .forEach(parameter -> parameter
                        .getValue()
                        .getArray()
                        .set(attention
                                .getParameters()
                                .get(parameter.getKey())
                                .getArray()
                                .toFloatArray()));
        NDArray prefix = first.get(":, {}", manager.create(new int[] {2, 0, 3, 1, 4}));
        NDArray last = forward(first, causal).get(0, 4);
        NDArray lastOfOther = forward(prefix, causal).get(0, 4);
        notebook.result("one layer, difference of the last word", greatest(last.sub(lastOfOther)));

        notebook.text("""
                A second layer, here with the same weights again, is different. It sees vectors that the first has
                made of prefixes, and these prefixes differ: *bites* stands after two words here and after none there.
                So the order gets through, indirectly. In the measurements of [Sentences longer than in
                training](LengthExtrapolation.html) a causal model of two layers without positions learns something,
                but within the trained length much less than with positions.""");
        NDArray deep = forward(first, causal, causal).get(0, 4);
        NDArray deepOfOther = forward(prefix, causal, causal).get(0, 4);
        notebook.result("two layers, difference of the last word", greatest(deep.sub(deepOfOther)));
        manager.close();

        notebook.recap("""
                Attention is a weighted mean over a bag of words, so the order has to be put into the vectors or into
                the weights.""");
        notebook.exercise("""
                A convolution over three neighboring words is also a sum. Does it need positions?""", """
                No. It multiplies the word before, the word itself and the word after by *different* matrices, so exchanging
                two words changes the sum. Attention uses the same matrices for all words; that is why it needs help, and also
                why it can look anywhere.""");
        notebook.sources(
                "[Vaswani et al., Attention Is All You Need (2017)](https://arxiv.org/abs/1706.03762)",
                "[Haviv et al., Transformer Language Models without Positional Encodings Still Learn Positional Information"
                        + " (2022)](https://arxiv.org/abs/2203.16634)");
        notebook.text("""
                What should a position look like? [Why not just count?](FirstIdeas.html)""");
    }

    /** Returns what some blocks make of an array, one after the other. */
    private static NDArray forward(NDArray input, Block... blocks) {
        ParameterStore parameters = new ParameterStore(input.getManager(), false);
        NDList list = new NDList(input);
        for (Block block : blocks) {
            list = block.forward(parameters, list, false);
        }
        return list.singletonOrThrow();
    }

    private static String three(NDArray vector) {
        return String.format("%6.3f %6.3f %6.3f", vector.getFloat(0), vector.getFloat(1), vector.getFloat(2));
    }

    private static NDArray mean(NDArray rows) {
        return rows.mean(new int[] {0});
    }

    private static float greatest(NDArray differences) {
        return differences.abs().max().getFloat();
    }
}
