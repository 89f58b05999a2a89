package io.github.djlpositional.examples.notebooks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.Arrays;
import java.util.Collections;

/** From token ids to vectors with positions: the blocks of a model and their shapes, step by step. */
final class GettingStarted {

    private GettingStarted() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title("In your model", "Token ids become vectors with positions, one block and one shape at a time.");
        notebook.question("""
                You know [which kind to use](WhichToUse.html). What are the lines of code, and how do you check that the positions
                arrive?""");
        notebook.heading("Positions in the input");
        notebook.text("""
                The input embedding looks up a vector for
                each token, and adds the sines and cosines of its position. Two sequences of ten tokens, with 512
                dimensions:""");
        NDManager manager = NDManager.newBaseManager();
        manager.getEngine().setRandomSeed(1);
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(512)
                .build();
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 10));
        NDArray ids = manager.randomInteger(0, 1000, new Shape(2, 10), DataType.INT64);
        NDArray vectors = forward(input, ids);
        notebook.result("ids.getShape()", ids.getShape());
        notebook.result("forward(input, ids).getShape()", vectors.getShape());

        notebook.text("""
                Do the positions arrive? A good check needs one token ten times: without positions all rows would be equal. Here it is
                the token with the id 0; say it is *cat*. The distance of two rows is that of their positions,
                whatever the token: the same for all neighbors. The picture has 32 of the 512
                dimensions.""");
        NDArray same =
                forward(input, manager.zeros(new Shape(1, 10), DataType.INT64)).squeeze(0);
        notebook.row("distance of the rows 0 and 1: %.4f", distance(same, 0, 1));
        notebook.row("distance of the rows 8 and 9: %.4f", distance(same, 8, 9));
        notebook.row("distance of the rows 0 and 9: %.4f", distance(same, 0, 9));
        double greatest = Math.ceil(same.get(":, :32").abs().max().getFloat());
        notebook.picture(
                "getting-started",
                "The vectors of one token at ten positions: a different position is added to each row",
                HeatMapChart.ofWordRows(
                                "One token at ten positions",
                                "dimension",
                                Collections.nCopies(10, "cat"),
                                32,
                                same::getFloat)
                        .range(-greatest, greatest));

        notebook.heading("Vectors from elsewhere");
        notebook.text("""
                If your vectors come from elsewhere, `PositionalEncodingBlock` adds positions to them. With `optAddToInput(false)`
                it returns the encodings. They are the same for all sequences of a batch, so the batch size of the result is
                1.""");
        PositionalEncodingBlock positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optAddToInput(false)
                .build();
        NDArray encodings = forward(positions, manager.zeros(new Shape(8, 50, 64)));
        notebook.result("encodings.getShape()", encodings.getShape());
        notebook.result(
                "position 1, first four",
                Arrays.toString(encodings.get("0, 1, :4").toFloatArray()));

        notebook.heading("One token at a time");
        notebook.text("""
                A model that generates text gets its tokens one by one. The forward parameter `START_POSITION` says where the next
                one is. Here is the eleventh token, by itself and as part of the sequence:""");
        PairList<String, Object> start = new PairList<>();
        start.add(PositionalEncodingBlock.START_POSITION, 10);
        NDArray token = manager.zeros(new Shape(1, 1, 64));
        ParameterStore parameters = new ParameterStore(manager, false);
        NDArray eleventh =
                positions.forward(parameters, new NDList(token), false, start).singletonOrThrow();
        notebook.result("both equal", eleventh.get(0, 0).contentEquals(encodings.get(0, 10)));

        notebook.heading("Positions in the attention");
        notebook.text("""
                Relative encodings such as rotary are not added to the vectors. They belong to the attention. An attention block
                with rotary positions needs an input embedding without positions:""");
        InputEmbeddingBlock tokens = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(512)
                .optNoPositions()
                .build();
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(512)
                .setHeadCount(8)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(64).build())
                .build();
        tokens.initialize(manager, DataType.FLOAT32, ids.getShape());
        attention.initialize(manager, DataType.FLOAT32, vectors.getShape());
        NDArray attended = forward(attention, forward(tokens, ids));
        notebook.result("attended.getShape()", attended.getShape());

        notebook.text("""
                The check is another one here. If one token fills the sequence, a weighted mean of equal values is this value, so
                even with positions all rows of the result are equal. Two sequences with the same tokens in another order
                show that positions arrive: without them, the rows would only be exchanged ([Why order is
                lost](WhyOrderIsLost.html)).""");
        NDArray forwards = attend(tokens, attention, manager.create(new long[] {1, 2, 3, 4}, new Shape(1, 4)));
        NDArray backwards = attend(tokens, attention, manager.create(new long[] {4, 3, 2, 1}, new Shape(1, 4)));
        NDArray exchanged = backwards.get(manager.create(new int[] {3, 2, 1, 0}));
        notebook.row(
                "greatest difference: %.3f", exchanged.sub(forwards).abs().max().getFloat());

        notebook.heading("One embedding for two stacks");
        notebook.text("""
                One embedding can serve an encoder and a decoder. Both uses share its weights and its table of positions. The
                table is computed, not learned, so the block has one parameter: the vectors of the tokens.""");
        NDArray source = manager.randomInteger(0, 1000, new Shape(4, 120), DataType.INT64);
        NDArray target = manager.randomInteger(0, 1000, new Shape(4, 90), DataType.INT64);
        notebook.result(
                "forward(input, source).getShape()", forward(input, source).getShape());
        notebook.result(
                "forward(input, target).getShape()", forward(input, target).getShape());
        notebook.result("input.getParameters().size()", input.getParameters().size());
        manager.close();

        notebook.recap("""
                Absolute positions are an option of the input embedding, relative ones an option of the attention; use one of the
                two, and check it with equal tokens or an exchanged order.""");
        notebook.exercise("""
                A batch has sequences of different lengths, padded on the *left*. Which position does the first word of a short
                sequence get, and what should you do?""", """
                The number of padding tokens before it, not 0. Set `optPaddingIndex` and `optPositionsFromPadding(0)`
                of `InputEmbeddingBlock`: positions are then counted from the first word. Relative encodings do not
                need it, except FIRE, which also uses the position of the query: for the others only differences
                count, and the padding is masked.""");
        notebook.sources("[Vaswani et al., Attention Is All You Need (2017)](https://arxiv.org/abs/1706.03762)");
        notebook.text("""
                Two more chapters are for reference: [Which sinusoids does a model use?](Conventions.html) and
                [How exact are the numbers?](Precision.html)""");
    }

    private static NDArray attend(Block tokens, Block attention, NDArray ids) {
        return forward(attention, forward(tokens, ids)).squeeze(0);
    }

    private static double distance(NDArray rows, int a, int b) {
        return rows.get(a).sub(rows.get(b)).norm().getFloat();
    }

    private static NDArray forward(Block block, NDArray input) {
        return block.forward(new ParameterStore(input.getManager(), false), new NDList(input), false)
                .singletonOrThrow();
    }
}
