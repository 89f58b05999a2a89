// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.numbered;
import static io.github.djlpositional.examples.Plots.numbers;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

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
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.Collections;
import java.util.List;

/** From token ids to vectors with positions: the blocks of a model and their shapes, one by one. */
public final class Model {

    public static void main(String... args) throws Exception {
        // %% input
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(1000)
                .setEmbeddingSize(512)
                .build();
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 10));
        NDArray ids = manager.randomInteger(0, 1000, new Shape(2, 10), DataType.INT64);
        NDArray vectors = forward(input, ids);
        print("ids %s, vectors %s", ids.getShape(), vectors.getShape());
        // %% check
        NDArray cats =
                forward(input, manager.zeros(new Shape(1, 10), DataType.INT64)).squeeze(0);
        // ...
        for (int[] rows : new int[][] {{0, 1}, {8, 9}, {0, 9}}) {
            NDArray difference = cats.get(rows[0]).sub(cats.get(rows[1]));
            print(
                    "distance of the rows %d and %d: %.4f",
                    rows[0], rows[1], difference.norm().getFloat());
        }
        List<String> words = numbered(Collections.nCopies(10, "cat"));
        List<String> dimensions = numbers(0, 32);
        display(picture(
                heatMap("One token at ten positions", "dimension", "word", -4, 4, words, dimensions, cats::getFloat)));
        // %% vectors
        PositionalEncodingBlock positions = PositionalEncodingBlock.builder()
                .setEmbeddingSize(64)
                .optAddToInput(false)
                .build();
        NDArray encodings = forward(positions, manager.zeros(new Shape(8, 50, 64)));
        // ...
        print("encodings %s", encodings.getShape());
        print("position 1: %.4f %.4f", encodings.getFloat(0, 1, 0), encodings.getFloat(0, 1, 1));
        // %% token
        PairList<String, Object> start = new PairList<>();
        start.add(PositionalEncodingBlock.START_POSITION, 10);
        NDList token = new NDList(manager.zeros(new Shape(1, 1, 64)));
        NDArray eleventh = positions
                .forward(new ParameterStore(manager, false), token, false, start)
                .head();
        print("as in the sequence: %b", eleventh.get(0, 0).equals(encodings.get(0, 10)));
        // %% attention
        MultiHeadAttentionBlock without = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(512)
                .setHeadCount(8)
                .build();
        MultiHeadAttentionBlock rotary = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(512)
                .setHeadCount(8)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(64).build())
                .build();
        // %% order
        NDArray forwards = manager.randomNormal(new Shape(1, 4, 512)); // vectors without positions
        for (MultiHeadAttentionBlock attention : List.of(without, rotary)) {
            attention.initialize(manager, DataType.FLOAT32, forwards.getShape());
            NDArray error = forward(attention, forwards.flip(1)).flip(1).sub(forward(attention, forwards));
            print("the same rows: %b", error.abs().max().getFloat() < 1e-5);
        }
        manager.close();
    }

    private static NDArray forward(Block block, NDArray input) {
        return block.forward(new ParameterStore(input.getManager(), false), new NDList(input), false)
                .head();
    }
}
