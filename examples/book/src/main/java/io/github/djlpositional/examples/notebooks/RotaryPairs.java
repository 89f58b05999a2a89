package io.github.djlpositional.examples.notebooks;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Rotary embeddings: pairs of dimensions that turn with the position, and why only the distance is left. */
final class RotaryPairs {

    /** The positions that have a label in each pair; those of slow pairs would be on top of each other. */
    private static final List<String> LABELS = List.of("0 1 2 3 4 5", "0     5", "0-5", "0-5");

    private RotaryPairs() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Rotary embeddings: pairs that turn",
                "Queries and keys turn with their positions; only the difference is left.");
        notebook.question("""
                A head can [learn a rotation](ShiftAsRotation.html) that finds a distance. Why not rotate in the first place?""");
        notebook.heading("Turn instead of add");
        notebook.text("""
                A score compares a query with a key. It would be convenient if it depended on their words and on the
                *distance* between them, not on where the two are. Adding a vector for each position does not give
                this: of the [four products](AddedToAWord.html) of (q + p) · (k + r), two mix a word with a position,
                so they depend on where that position is. Su et al., *RoFormer* (2021), *multiply* instead: they turn
                the vectors. The dimensions of a query or key are taken in pairs, and pair *m* at position *p* is
                turned by the angle""");
        notebook.formula("\\phi = p \\, \\theta_m \\qquad \\theta_m = 10000^{-2m/H}");
        notebook.formula("\\begin{pmatrix} a' \\\\ b' \\end{pmatrix} = "
                + "\\begin{pmatrix} \\cos \\, \\phi & -\\sin \\, \\phi \\\\ \\sin \\, \\phi & \\cos \\, \\phi \\end{pmatrix} "
                + "\\begin{pmatrix} a \\\\ b \\end{pmatrix}");
        notebook.text("""
                A head of 8 dimensions has four pairs, with the frequencies 1, 0.1, 0.01 and 0.001 of the sinusoids. Here a vector
                whose four pairs are all (1, 0) stands at the positions 0 to 5.""");
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        RotaryEmbeddingBlock rotary =
                RotaryEmbeddingBlock.builder().setHeadSize(8).build();
        NDArray vector = manager.create(new double[] {1, 0, 1, 0, 1, 0, 1, 0});
        NDArray turned = rotate(rotary, vector.reshape(1, 1, 1, 8).repeat(2, 6));
        double[] values = turned.toDoubleArray();
        List<LineChart> planes = new ArrayList<>();
        for (int pair = 0; pair < 4; pair++) {
            int first = 2 * pair;
            double[] x = LineChart.each(6, position -> values[8 * position + first]);
            double[] y = LineChart.each(6, position -> values[8 * position + first + 1]);
            notebook.row("pair %d: (%.4f, %.4f), then (%.4f, %.4f)", pair, x[0], y[0], x[1], y[1]);
            LineChart plane = LineChart.plane("Pair " + pair, "first dimension", "second dimension", 0, 0, 1.6);
            plane.circle("circle", 0, 0, 1);
            plane.hands("vector", 0, 0, x, y, LABELS.get(pair).split(" ", -1));
            plane.hideLegend();
            planes.add(plane);
        }
        notebook.pictures(
                "rotary-pairs-turned",
                "One vector at the positions 0 to 5: each pair turns at its own rate",
                4,
                planes);

        notebook.text("""
                With the sliders, move a query and a key, and watch what their score depends on.""");
        notebook.play("rotary");
        notebook.heading("Only the difference is left");
        notebook.text("""
                The first pair turns by 1 radian with each position, the second by a tenth of it. The last two hardly
                move; they turn visibly only over hundreds and thousands of positions. Turning changes neither the
                length of a vector nor the vector at position 0. Turning back is turning by the negative angle, which
                is also the transpose of the matrix. Write *R* with an index for the matrix that turns all pairs to a
                position: the two turns of a score, to the query's position *i* and the key's position *j*, combine
                into one matrix, with the difference only:""");
        notebook.formula("(R_i \\, q) \\cdot (R_j \\, k) = q^T R_i^T R_j \\, k");
        notebook.formula("{} = q^T R_{-i} R_j \\, k = q^T R_{j-i} \\, k");
        notebook.text("""
                For each pair, written with the length of its query, its key and the angle *α* from the query's to the key's, the
                same is""");
        notebook.formula("|q| \\, |k| \\, \\cos(\\alpha + (j - i) \\, \\theta_m)");
        notebook.text("""
                Measured with a random query and a random key of 64 dimensions, in double precision, before and after both have
                moved by the same number of positions:""");
        RotaryEmbeddingBlock head =
                RotaryEmbeddingBlock.builder().setHeadSize(64).build();
        manager.getEngine().setRandomSeed(1);
        NDArray query = manager.randomNormal(new Shape(1, 1, 1, 64)).toType(DataType.FLOAT64, false);
        NDArray key = manager.randomNormal(new Shape(1, 1, 1, 64)).toType(DataType.FLOAT64, false);
        notebook.row("without turning: %17.12f", query.mul(key).sum().getDouble());
        for (int distance : new int[] {0, 3, 50}) {
            for (int moved : new int[] {0, 1, 100, 4000}) {
                NDArray atI = rotate(head, query, moved);
                NDArray atJ = rotate(head, key, moved + distance);
                double score = atI.mul(atJ).sum().getDouble();
                notebook.row("i = %4d, j = %4d: %17.12f", moved, moved + distance, score);
            }
        }

        notebook.text("""
                The score changes with the distance and with nothing else, up to the rounding in the last digits. At
                distance 0 it is the score without turning.""");
        notebook.heading("Does a score fall with the distance?");
        notebook.text("""
                It depends on the words. For a query and a key that are equal, α is 0 in every pair, and the
                score is a sum of cosines, like the similarity of two sinusoids. It is greatest at distance 0 and falls at first,
                with waves.""");
        NDArray ones = manager.ones(new Shape(1, 1, 1000, 64), DataType.FLOAT64);
        LineChart curves = LineChart.of("Score of a vector with itself", "distance", "score / score at distance 0");
        for (int base : new int[] {10_000, 500_000}) {
            RotaryEmbeddingBlock block =
                    RotaryEmbeddingBlock.builder().setHeadSize(64).optBase(base).build();
            NDArray all = rotate(block, ones).reshape(1000, 64);
            double[] scores = all.matMul(all.get(0)).div(64).toDoubleArray();
            notebook.row("base %,d", base);
            for (int distance : new int[] {1, 10, 100, 999}) {
                notebook.row("  distance %3d: %.3f", distance, scores[distance]);
            }
            curves.line(String.format(Locale.ROOT, "base %,d", base), 201, distance -> scores[distance]);
        }
        notebook.picture(
                "rotary-pairs-distance",
                "The score of a vector with itself falls with waves; with a larger base it falls more slowly",
                curves);

        notebook.text("""
                For other vectors, α decides at which distance the score is greatest. If a key is the query turned by one position,
                the score is greatest for the word before. So rotary embeddings do not force a head to prefer the nearest words;
                it can learn to look at a place.""");
        NDArray turnedKey = rotate(head, query, 1);
        notebook.row("length of the query, squared: %8.4f", query.square().sum().getDouble());
        for (int distance = -3; distance <= 1; distance++) {
            NDArray atI = rotate(head, query, 10);
            NDArray atJ = rotate(head, turnedKey, 10 + distance);
            notebook.row("j - i = %+d: %8.4f", distance, atI.mul(atJ).sum().getDouble());
        }
        manager.close();

        notebook.heading("Bases and layouts");
        notebook.text("""
                A larger base makes all pairs but the first slower. RoFormer's is 10,000; Llama 3 has 500,000, for longer texts.

                Published models differ in which two dimensions form a pair: neighbors (`PairLayout.INTERLEAVED`, RoFormer and
                GPT-J), or one of the first half with one of the second (`PairLayout.CONCATENATED`, GPT-NeoX and Hugging Face's
                Llama). Both are the same function of permuted dimensions. With trained weights the layout has to be theirs.
                """);
        notebook.recap("""
                Rotary embeddings turn queries and keys by angles that grow with the position; in their product only the difference
                of the positions is left.""");
        notebook.exercise("""
                Rotary embeddings do not turn the values. What would change in the result of an attention if they did?""", """
                The result would be a sum of values turned by their *absolute* positions: the same sentence further back in a
                text would give another vector. One could turn the sum back by the query's position, and then only
                differences would be left; the usual definition leaves the values alone.""");
        notebook.sources(
                "[Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding (2021)](https://arxiv.org/abs/2104.09864)",
                "[Barbero et al., Round and Round We Go! What makes Rotary Positional Encodings useful? (2024)]"
                        + "(https://arxiv.org/abs/2410.06205)");
        notebook.text("""
                All positions beyond the training turn further than any before. What happens then is the subject of
                [A longer context](ContextExtension.html).""");
    }

    /** Turns (1, 1, T, H) by the positions 0 … T - 1, or by given ones. */
    private static NDArray rotate(RotaryEmbeddingBlock rotary, NDArray x, int... positions) {
        NDList input = new NDList(x);
        if (positions.length > 0) {
            input.add(x.getManager().create(positions));
        }
        return rotary.forward(new ParameterStore(x.getManager(), false), input, false)
                .singletonOrThrow();
    }
}
