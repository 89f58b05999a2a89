package io.github.djlpositional.examples.notebooks;

import static io.github.djlpositional.examples.LineChart.each;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** The sum of a word's vector and a position's vector: positions fill few dimensions, so both can be found again. */
final class AddedToAWord {

    private static final int SIZE = 512;
    private static final int POSITIONS = 100;
    private static final int WORDS = 1000;

    private AddedToAWord() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "What does a position do to a word?",
                "A position is added to the vector of a word, and both can be found again: positions fill few dimensions.");
        notebook.question("""
                If a model adds two vectors, how can it still know what each of them was?""");
        notebook.text("""
                [The heat map](HeatMap.html) showed the table whose rows are added to the words. In the plane of the first two
                dimensions, a word is a point. Its position moves it by a hand of length 1: the cosine to the right, the sine
                up. The numbers are positions: the same word is at another point of the circle at each of them.""");
        SinusoidalEncoding pair = SinusoidalEncoding.vaswani(2);
        double[] word = {-0.5, 1.5};
        double[] x = each(7, position -> word[1] + pair.value(position, 1));
        double[] y = each(7, position -> word[0] + pair.value(position, 0));
        LineChart moved =
                LineChart.plane("One word at seven positions", "dimension 1", "dimension 0", word[1], word[0], 1.7);
        moved.circle("all sums", word[1], word[0], 1);
        moved.hands("position", word[1], word[0], x, y, "0", "1", "2", "3", "4", "5", "6");
        moved.points("word + position", x, y);
        moved.points("word", new double[] {word[1]}, new double[] {word[0]});
        notebook.picture("added-to-a-word", "A word as a point, and its sums with seven positions", moved);

        notebook.heading("How long is a position, how long is a word?");
        notebook.text("""
                With *d* dimensions there are *d*/2 such hands, with the frequencies *ω*, the radians of a step. The
                squares of a sine and its cosine add up to 1, so every position has the same length, the square root
                of this:""");
        notebook.formula("PE(t) \\cdot PE(t) = \\sum_k (\\sin^2 \\omega_k t + \\cos^2 \\omega_k t) = \\frac{d}{2}");
        notebook.text("""
                With 512 dimensions it is √256 = 16. The length of a word depends on the numbers that its vector starts with.
                N(0, 1), as in PyTorch, makes words longer than positions; N(0, 2/d), which the example of this library uses,
                much shorter. The last column is what follows for two different words at the same position: the mean cosine
                of their sums. Short words look almost the same.""");
        NDManager manager = NDManager.newBaseManager();
        PositionalEncodingBlock block =
                PositionalEncodingBlock.builder().setEmbeddingSize(SIZE).build();
        NDArray positions = block.encode(manager.arange(POSITIONS));
        manager.getEngine().setRandomSeed(1);
        NDArray unit = manager.randomNormal(new Shape(WORDS, SIZE));
        Map<String, NDArray> starts = Map.of("N(0, 1)", unit, "N(0, 2/d)", unit.mul(Math.sqrt(2.0 / SIZE)));
        List<String> names = List.of("N(0, 1)", "N(0, 2/d)");
        notebook.row("shortest position %.4f", lengths(positions).min().getFloat());
        notebook.row("longest position  %.4f", lengths(positions).max().getFloat());
        notebook.row("%-12s %12s %24s", "words", "mean length", "cosine at one position");
        for (String name : names) {
            NDArray words = starts.get(name);
            notebook.row(
                    "%-12s %12.3f %24.3f",
                    name, lengths(words).mean().getFloat(), meanCosine(words.add(positions.get(5))));
        }

        notebook.heading("Positions fill few dimensions");
        notebook.text("""
                A long position does not hide a short word, because it cannot point everywhere. The slow hands hardly move within
                100 positions, so the 100 vectors lie nearly in a space of few dimensions. To find it, take the longest
                vector as the first direction, remove this direction from all vectors, and repeat with what is left, until
                only a thousandth of all squares is left.""");
        NDArray subspace = subspace(positions, 0.001);
        notebook.row("dimensions, up to a thousandth: %d of %d", subspace.size(0), SIZE);

        notebook.heading("Both can be read from the sum");
        notebook.text("""
                Now read the sum of a word and a position. The reader multiplies a vector with all 100 positions, or with all
                1000 words, and picks the largest product. *Position*: read from the sum. *Word, as it is*: read from the
                sum. *Subtracted*: the position is read first and subtracted. *Projected*: the dimensions of the positions are
                removed, whichever position it is.""");
        NDArray wordOf = manager.create(IntStream.range(0, WORDS).asLongStream().toArray());
        NDArray positionOf = manager.create(
                IntStream.range(0, WORDS).mapToLong(i -> i % POSITIONS).toArray());
        notebook.row("%-9s %9s %12s %11s %10s", "share", "position", "word, as is", "subtracted", "projected");
        for (String name : names) {
            NDArray words = starts.get(name);
            NDArray sums = words.add(positions.get(positionOf));
            NDArray subtracted = sums.sub(positions.get(found(sums, positions)));
            notebook.row(
                    "%-9s %9.3f %12.3f %11.3f %10.3f",
                    name,
                    share(found(sums, positions), positionOf),
                    share(found(sums, words), wordOf),
                    share(found(subtracted, words), wordOf),
                    share(found(sums.sub(project(sums, subspace)), words), wordOf));
        }

        notebook.text("""
                As it is, the short word drowns: the position is eleven times as long, so its chance products with all the words are as
                large as the product of the right word with itself. Subtracted or projected, the word is found every
                time. A model can learn such a projection: the matrices of its queries, keys and values are free to ignore
                the few dimensions of the positions, or to keep nothing else.""");
        notebook.heading("Four products in every score");
        notebook.text("""
                That is what attention does with the sum. For words *x*, *y* and positions *p*, *r*, a score has four products:""");
        notebook.formula("(x + p) \\cdot (y + r) = x \\cdot y + x \\cdot r + p \\cdot y + p \\cdot r");
        notebook.text("""
                The upper maps are these four for a sentence with words of N(0, 1), divided by 512. The lower ones are
                the same after a matrix that keeps the dimensions of the positions only: the product of two words has
                almost vanished, and that of two positions has not changed. The mixed ones are small noise in both
                rows.""");
        List<String> sentence = List.of("the dog that chased the cat saw the man who fed the cat".split(" "));
        int[] ids = sentence.stream().mapToInt(sentence::indexOf).toArray();
        NDArray said = unit.get(manager.create(ids));
        NDArray places = positions.get(":{}", ids.length);
        List<HeatMapChart> maps = new ArrayList<>();
        maps.add(map("word · word", said, said));
        maps.add(map("word · position", said, places));
        maps.add(map("position · word", places, said));
        maps.add(map("position · position", places, places));
        NDArray keptWords = project(said, subspace);
        NDArray keptPlaces = project(places, subspace);
        maps.add(map("word · word, kept", keptWords, keptWords));
        maps.add(map("word · position, kept", keptWords, keptPlaces));
        maps.add(map("position · word, kept", keptPlaces, keptWords));
        maps.add(map("position · position, kept", keptPlaces, keptPlaces));
        notebook.row("share of the squares of words kept:     %.3f", squares(keptWords) / squares(said));
        notebook.row("share of the squares of positions kept: %.3f", squares(keptPlaces) / squares(places));
        notebook.pictures(
                "added-to-a-word-products",
                "The four products of a score, from -1 (blue) to 1 (red), before and after a matrix that keeps the"
                        + " dimensions of the positions. Red off the diagonal on the left: the same word again",
                4,
                maps);
        manager.close();

        notebook.recap("""
                Adding mixes a word and a position in one vector, but positions stay in few of the dimensions, so a matrix can
                separate the two again.""");
        notebook.exercise("""
                In how many dimensions do the positions lie if there are only two of them, 0 and 1? And if there are 512 dimensions
                and a million positions?""", """
                Two vectors span at most two dimensions. A million positions span all 512: the slowest hand makes
                a turn in 2π · 9,647 ≈ 60,600 positions, so every hand has turned, and each needs its own two dimensions. Only
                a text that is short for the slow hands leaves dimensions free.""");
        notebook.sources(
                "[Vaswani et al., Attention Is All You Need (2017)](https://arxiv.org/abs/1706.03762)",
                "[Ke, He, Liu, Rethinking Positional Encoding in Language Pre-training (2021)](https://arxiv.org/abs/2006.15595),"
                        + " which separates the four products");
        notebook.text("""
                The map of two positions has one color along each diagonal. What do they say about the distance? That
                is the next chapter, [Similarity](Similarity.html).""");
    }

    private static NDArray lengths(NDArray rows) {
        return rows.pow(2).sum(new int[] {1}).sqrt();
    }

    private static float squares(NDArray rows) {
        return rows.pow(2).sum().getFloat();
    }

    /** Returns the mean over all pairs of different rows. */
    private static double meanCosine(NDArray rows) {
        NDArray directions = rows.div(lengths(rows).reshape(-1, 1));
        long count = rows.size(0);
        return (directions.matMul(directions.transpose()).sum().getFloat() - count) / (count * (count - 1.0));
    }

    /** Returns directions at right angles that leave a share of the squares of some vectors. */
    private static NDArray subspace(NDArray vectors, double share) {
        NDArray rest = vectors;
        List<NDArray> directions = new ArrayList<>();
        while (squares(rest) > share * squares(vectors)) {
            NDArray longest = rest.get(lengths(rest).argMax()).reshape(1, SIZE);
            directions.add(longest.div(lengths(longest)));
            rest = rest.sub(project(rest, directions.get(directions.size() - 1)));
        }
        return directions.stream().reduce(NDArray::concat).orElseThrow();
    }

    private static NDArray project(NDArray vectors, NDArray directions) {
        return vectors.matMul(directions.transpose()).matMul(directions);
    }

    /** Returns the candidate with the largest product with each vector. */
    private static NDArray found(NDArray vectors, NDArray candidates) {
        return vectors.matMul(candidates.transpose()).argMax(1);
    }

    private static float share(NDArray found, NDArray right) {
        return found.eq(right).toType(DataType.FLOAT32, false).mean().getFloat();
    }

    private static HeatMapChart map(String title, NDArray queries, NDArray keys) {
        NDArray products = queries.matMul(keys.transpose()).div(SIZE);
        int count = (int) queries.size(0);
        HeatMapChart map = HeatMapChart.of(
                title,
                "key",
                "query",
                count,
                count,
                (query, key) -> Math.max(-1, Math.min(1, products.getFloat(query, key))));
        map.hideLegend();
        return map;
    }
}
