// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.numbered;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.PositionalEncodingBlock;
import java.util.List;
import java.util.Locale;
import java.util.function.BinaryOperator;
import org.jfree.chart.JFreeChart;

/** What attention computes for a sentence and for the same words in another order, without and with positions. */
public final class OrderLost {

    public static void main(String... args) throws Exception {
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
        print("          the    dog  bites    man");
        for (int i = 0; i < 5; i++) {
            print("%-5s %s", "the dog bites the man".split(" ", -1)[i], row(y.get(i)));
        }
        // %% shuffled
        // the man bites the dog
        NDArray other = words.get(manager.create(new int[] {0, 3, 2, 0, 1}));
        NDArray z = attend.apply(other, none);
        // ...
        display(picture(map("the dog bites the man", y)));
        display(picture(map("the man bites the dog", z)));
        // %% positions
        PositionalEncodingBlock encoding =
                PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        NDArray p = encoding.encode(manager.arange(5));
        NDArray yWith = attend.apply(x.add(p), none);
        NDArray zWith = attend.apply(other.add(p), none);
        // ...
        print("dog, t = 1%s", row(yWith.get(1)));
        print("dog, t = 4%s", row(zWith.get(4)));
        double difference = largest(yWith.mean(new int[] {0}), zWith.mean(new int[] {0}));
        print("largest difference of the means: %.3f", difference);
        // %% causal
        NDArray t = manager.arange(5);
        NDArray later = t.reshape(5, 1).lt(t).toType(DataType.FLOAT32, false).mul(-1e9);
        // bites the the dog man
        NDArray prefix = x.get(manager.create(new int[] {2, 0, 3, 1, 4}));
        NDArray once = attend.apply(x, later);
        NDArray onceOther = attend.apply(prefix, later);
        // ...
        String dog = row(attend.apply(other, later).get(4));
        print("the dog bites the man\n  dog %s\n  man %s", row(once.get(1)), row(once.get(4)));
        print("the man bites the dog\n  dog %s", dog);
        print("bites the the dog man\n  man %s", row(onceOther.get(4)));
        // %% layers
        NDArray twice = attend.apply(once, later).get(4);
        NDArray twiceOther = attend.apply(onceOther, later).get(4);
        // ...
        print("the dog bites the man\n  man %s", row(twice));
        print("bites the the dog man\n  man %s", row(twiceOther));
        manager.close();
    }

    private static String row(NDArray x) {
        return String.format(
                Locale.ROOT, "%7.3f%7.3f%7.3f%7.3f", x.getFloat(0), x.getFloat(1), x.getFloat(2), x.getFloat(3));
    }

    private static float largest(NDArray a, NDArray b) {
        return a.sub(b).abs().max().getFloat();
    }

    private static JFreeChart map(String sentence, NDArray rows) {
        List<String> words = numbered(List.of(sentence.split(" ", -1)));
        List<String> dimensions = List.of("the", "dog", "bites", "man");
        return heatMap(sentence, "dimension", "word", 0, 0.6, words, dimensions, rows::getFloat);
    }
}
