package io.github.djlpositional.examples.book;

import ai.djl.engine.Engine;
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
import java.util.Collections;

/** From token ids to vectors with positions: the blocks of a model and their shapes, one by one. */
public final class Model {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% input
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(512)
                .build();
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 10));
        NDArray ids = manager.randomInteger(0, 1000, new Shape(2, 10), DataType.INT64);
        NDArray vectors = forward(input, ids);
        // ...
        out.print("ids     %s", ids.getShape());
        out.print("vectors %s", vectors.getShape());
        // %% check
        NDArray cats =
                forward(input, manager.zeros(new Shape(1, 10), DataType.INT64)).squeeze(0);
        // ...
        out.print("distance of the rows 0 and 1: %.4f", distance(cats, 0, 1));
        out.print("distance of the rows 8 and 9: %.4f", distance(cats, 8, 9));
        out.print("distance of the rows 0 and 9: %.4f", distance(cats, 0, 9));
        double largest = Math.ceil(cats.get(":, :32").abs().max().getFloat());
        out.picture(HeatMapChart.ofWordRows(
                        "One token at ten positions", "dimension", Collections.nCopies(10, "cat"), 32, cats::getFloat)
                .range(-largest, largest));
        // %% vectors
        PositionalEncodingBlock positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optAddToInput(false)
                .build();
        NDArray encodings = forward(positions, manager.zeros(new Shape(8, 50, 64)));
        // ...
        float[] one = encodings.get("0, 1, :4").toFloatArray();
        out.print("encodings %s", encodings.getShape());
        out.print("position 1 begins with %.4f %.4f %.4f %.4f", one[0], one[1], one[2], one[3]);
        // %% token
        PairList<String, Object> start = new PairList<>();
        start.add(PositionalEncodingBlock.START_POSITION, 10);
        NDArray token = manager.zeros(new Shape(1, 1, 64));
        NDArray eleventh = positions
                .forward(new ParameterStore(manager, false), new NDList(token), false, start)
                .head();
        // ...
        out.print("as in the sequence: %b", eleventh.get(0, 0).equals(encodings.get(0, 10)));
        // %% attention
        InputEmbeddingBlock tokens = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(512)
                .optNoPositions()
                .build();
        MultiHeadAttentionBlock rotary = attention(true);
        MultiHeadAttentionBlock without = attention(false);
        // ...
        for (Block block : new Block[] {tokens, rotary, without}) {
            block.initialize(manager, DataType.FLOAT32, block == tokens ? ids.getShape() : vectors.getShape());
        }
        out.print("result %s", forward(rotary, forward(tokens, ids)).getShape());
        // %% order
        NDArray forwards = manager.create(new long[] {1, 2, 3, 4}, new Shape(1, 4));
        NDArray backwards = manager.create(new long[] {4, 3, 2, 1}, new Shape(1, 4));
        // ...
        for (MultiHeadAttentionBlock attention : new MultiHeadAttentionBlock[] {without, rotary}) {
            NDArray read = forward(attention, forward(tokens, forwards));
            NDArray reversed = forward(attention, forward(tokens, backwards)).flip(1);
            boolean isSame = reversed.sub(read).abs().max().getFloat() < 1e-5;
            out.print("%-17s the same rows: %b", attention == rotary ? "rotary positions:" : "no positions:", isSame);
        }
        // %% shared
        NDArray source = manager.randomInteger(0, 1000, new Shape(4, 120), DataType.INT64);
        NDArray target = manager.randomInteger(0, 1000, new Shape(4, 90), DataType.INT64);
        // ...
        out.print("source %s", forward(input, source).getShape());
        out.print("target %s", forward(input, target).getShape());
        out.print("parameters: %d", input.getParameters().size());
        manager.close();
    }

    /** An attention of 8 heads, with rotary positions or without any. */
    private static MultiHeadAttentionBlock attention(boolean isRotary) {
        MultiHeadAttentionBlock.Builder builder =
                MultiHeadAttentionBlock.builder().setEmbeddingSize(512).setHeadCount(8);
        if (isRotary) {
            builder.optRelativeEncoding(
                    RotaryEmbeddingBlock.builder().setHeadSize(64).build());
        }
        return builder.build();
    }

    private static double distance(NDArray rows, int a, int b) {
        return rows.get(a).sub(rows.get(b)).norm().getFloat();
    }

    private static NDArray forward(Block block, NDArray input) {
        return block.forward(new ParameterStore(input.getManager(), false), new NDList(input), false)
                .head();
    }
}
