package io.github.djlpositional.examples.book;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.examples.HeatMapChart;
import java.util.List;
import java.util.function.BinaryOperator;

/** What attention computes for a sentence and for the same words in another order, without and with positions. */
public final class OrderLost {

    public static void main(String... args) throws Exception {
        Notebook out = Notebook.open();
        // %% words
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        NDArray words = manager.eye(4); // the, dog, bites, man
        // the dog bites the man
        NDArray x = words.get(manager.create(new int[] {0, 1, 2, 0, 3}));
        // %% attention
        BinaryOperator<NDArray> attend = (rows, mask) -> {
            NDArray scores = rows.matMul(rows.transpose()).div(2).add(mask); // 2: the root of d = 4
            return scores.softmax(1).matMul(rows);
        };
        NDArray none = manager.zeros(new Shape(5, 5));
        NDArray y = attend.apply(x, none);
        // ...
        print(out, DOG_BITES, y);
        // %% shuffled
        // the man bites the dog
        NDArray other = words.get(manager.create(new int[] {0, 3, 2, 0, 1}));
        NDArray z = attend.apply(other, none);
        // ...
        print(out, MAN_BITES, z);
        out.pictures(2, map("the dog bites the man", DOG_BITES, y), map("the man bites the dog", MAN_BITES, z));
        // %% heads
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(64)
                .setHeadCount(4)
                .build();
        NDArray vectors = manager.randomNormal(new Shape(1, 5, 64));
        NDArray order = manager.create(new int[] {0, 4, 2, 3, 1});
        NDArray reordered = forward(attention, vectors).get(":, {}", order);
        NDArray shuffled = forward(attention, vectors.get(":, {}", order));
        // ...
        out.print("the same results, up to rounding: %b", largest(reordered, shuffled) < 1e-4);
        // %% positions
        PositionalEncodingBlock encoding =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        NDArray p = encoding.encode(manager.arange(5));
        NDArray yWith = attend.apply(x.add(p), none);
        NDArray zWith = attend.apply(other.add(p), none);
        // ...
        out.print("dog at position 1: %s", row(yWith.get(1)));
        out.print("dog at position 4: %s", row(zWith.get(4)));
        out.print("the at position 0: %s", row(yWith.get(0)));
        out.print("the at position 3: %s", row(yWith.get(3)));
        int[] rows = {0};
        out.print("means differ, without positions: %.3f", largest(y.mean(rows), z.mean(rows)));
        out.print("means differ, with positions:    %.3f", largest(yWith.mean(rows), zWith.mean(rows)));
        // %% causal
        NDArray t = manager.arange(5);
        NDArray later = t.reshape(5, 1).lt(t).toType(DataType.FLOAT32, false).mul(-1e9);
        // bites the the dog man
        NDArray prefix = x.get(manager.create(new int[] {2, 0, 3, 1, 4}));
        NDArray once = attend.apply(x, later);
        NDArray onceOther = attend.apply(prefix, later);
        // ...
        out.print("the dog bites the man: dog %s", row(once.get(1)));
        out.print(
                "the man bites the dog: dog %s", row(attend.apply(other, later).get(4)));
        out.print("the dog bites the man: man %s", row(once.get(4)));
        out.print("bites the the dog man: man %s", row(onceOther.get(4)));
        // %% layers
        NDArray twice = attend.apply(once, later).get(4);
        NDArray twiceOther = attend.apply(onceOther, later).get(4);
        // ...
        out.print("the dog bites the man: man %s", row(twice));
        out.print("bites the the dog man: man %s", row(twiceOther));
        manager.close();
    }

    private static final List<String> DOG_BITES = List.of("the", "dog", "bites", "the", "man");
    private static final List<String> MAN_BITES = List.of("the", "man", "bites", "the", "dog");

    private static NDArray forward(MultiHeadAttentionBlock attention, NDArray x) {
        if (!attention.isInitialized()) {
            attention.initialize(x.getManager(), DataType.FLOAT32, x.getShape());
        }
        ParameterStore store = new ParameterStore(x.getManager(), false);
        return attention.forward(store, new NDList(x), false).head();
    }

    private static void print(Notebook out, List<String> sentence, NDArray rows) {
        out.print("          the    dog  bites    man");
        for (int t = 0; t < sentence.size(); t++) {
            out.print("%-5s %s", sentence.get(t), row(rows.get(t)));
        }
    }

    private static String row(NDArray x) {
        return "%7.3f%7.3f%7.3f%7.3f".formatted(x.getFloat(0), x.getFloat(1), x.getFloat(2), x.getFloat(3));
    }

    private static float largest(NDArray a, NDArray b) {
        return a.sub(b).abs().max().getFloat();
    }

    private static HeatMapChart map(String title, List<String> sentence, NDArray rows) {
        return HeatMapChart.ofWordRows(title, "dimension: the, dog, bites, man", sentence, 4, rows::getFloat)
                .range(0, 0.6);
    }
}
