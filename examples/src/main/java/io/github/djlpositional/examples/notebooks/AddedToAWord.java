package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.Drawing.each;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.examples.Drawing;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;

/** What the sum of a word's vector and a position's vector looks like, how long both are, and what is left of each. */
final class AddedToAWord {

    private AddedToAWord() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "What does a position do to a word?",
                "A position is added to the vector of a word; if the word is long enough, both can be found again.");
        notebook.text("""
                The vector of a position is added to that of the word. Is the word still recognizable? In the plane of the first two
                dimensions, a word is a point. Its position moves it by a hand of length 1, as in the chapter on clocks: the cosine
                to the right, the sine up. The numbers are positions: the same word is at another point of the circle at each of
                them.""");
        SinusoidalEncoding pair = SinusoidalEncoding.vaswani(2);
        double[] word = {-0.5, 1.5};
        double[] x = each(7, position -> word[1] + pair.value(position, 1));
        double[] y = each(7, position -> word[0] + pair.value(position, 0));
        XYChart moved =
                Drawing.plane("One word at seven positions", "dimension 1", "dimension 0", word[1], word[0], 1.7);
        Drawing.circle(moved, "all sums", word[1], word[0], 1);
        Drawing.hands(moved, "position", word[1], word[0], x, y, "0", "1", "2", "3", "4", "5", "6");
        Drawing.points(moved, "word + position", x, y);
        Drawing.points(moved, "word", new double[] {word[1]}, new double[] {word[0]});
        notebook.picture("added-to-a-word", "A word as a point, and its sums with seven positions", moved);

        notebook.text("""
                With *d* dimensions there are *d*/2 such hands. The squares of a sine and its cosine add up to 1, so every
                position has the same length, the root of this:""");
        notebook.formula("PE(t) \\cdot PE(t) = \\sum_k (\\sin^2 \\omega_k t + \\cos^2 \\omega_k t) = \\frac{d}{2}");
        notebook.text("Here are 100 positions of 512 dimensions. The square root of 256 is 16.");
        NDManager manager = NDManager.newBaseManager();
        PositionalEncodingBlock block =
                PositionalEncodingBlock.builder().setEmbeddingSize(512).build();
        NDArray positions = block.encode(manager.arange(100));
        notebook.result("shortest position", lengths(positions).min().getFloat());
        notebook.result("longest position", lengths(positions).max().getFloat());

        notebook.text("""
                How long a word is depends on the numbers that its vector starts with. Three choices are common: N(0, 1), as in
                PyTorch; N(0, 1/d) times √d, as in the paper, which is the same; and N(0, 2/d), for which words are much shorter
                than positions.""");
        manager.getEngine().setRandomSeed(1);
        NDArray unit = manager.randomNormal(new Shape(1000, 512));
        NDArray small = unit.mul(Math.sqrt(2 / 512.0));
        notebook.result(
                "mean length of 1000 words, N(0, 1)", lengths(unit).mean().getFloat());
        notebook.result(
                "mean length of 1000 words, N(0, 2/d)", lengths(small).mean().getFloat());

        notebook.text("""
                What can be read from the sum of a word and a position? A simple reader multiplies the sum with all 100 positions,
                and picks the largest product. It does the same with all 1000 words. With 512 dimensions, most random vectors
                are nearly at right angles, and hardly disturb each other.""");
        NDArray cosines = unit.matMul(positions.transpose())
                .div(lengths(unit).reshape(1000, 1))
                .div(16);
        notebook.result(
                "mean size of the cosine of a word and a position",
                cosines.abs().mean().getFloat());
        long[] wordOf = IntStream.range(0, 1000).asLongStream().toArray();
        long[] positionOf = IntStream.range(0, 1000).mapToLong(i -> i % 100).toArray();
        NDArray repeated = block.encode(manager.create(positionOf));
        notebook.row("%-10s %14s %12s", "share of", "positions", "words");
        for (NDArray words : new NDArray[] {unit, small}) {
            NDArray sums = words.add(repeated);
            notebook.row(
                    "%-10s %14.3f %12.3f",
                    words == unit ? "N(0, 1)" : "N(0, 2/d)",
                    found(sums, positions, manager.create(positionOf)),
                    found(sums, words, manager.create(wordOf)));
        }
        manager.close();

        notebook.text("""
                With words as long as N(0, 1), both can be read from one vector, without a dimension reserved for either: the word
                is always found, and the position mostly. With short words, the position is always found, and the word only one
                time in seven. This is only where a
                training starts: a model learns longer or shorter words if they serve its task.""");
    }

    private static NDArray lengths(NDArray rows) {
        return rows.pow(2).sum(new int[] {1}).sqrt();
    }

    /** Returns the share of vectors whose product with the right candidate is larger than with all others. */
    private static float found(NDArray vectors, NDArray candidates, NDArray right) {
        NDArray best = vectors.matMul(candidates.transpose()).argMax(1);
        return best.eq(right).toType(DataType.FLOAT32, false).mean().getFloat();
    }
}
