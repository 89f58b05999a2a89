package io.github.djlpositional.examples.notebooks;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.WindowBiasBlock;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Positions in a grid: fixed encodings, rotary embeddings on two axes, and the bias of a window. */
final class TwoDimensions {

    private static final int SIDE = 16;

    private TwoDimensions() {}

    static void write(Notebook notebook) throws Exception {
        notebook.title(
                "Rows and columns", "A patch of an image has a row and a column, and so its position has two axes.");
        notebook.question("""
                A text has [one axis](LengthExtrapolation.html). What is the position of a patch of an image?""");
        notebook.heading("One number hides the neighbors");
        notebook.text("""
                An image is cut into patches, and each patch is a token. Read row by row, the patches have numbers. At a known
                width the number does tell where a patch is: number 74 of a 16 by 16 grid is row 4, column 10. What
                it hides is the *neighborhood*. The patch below has the number 90, as far away as the patch 16 numbers to the
                right would be; the last patch of a row and the first of the next are neighbors. These are the similarities
                of sinusoids of the number: to the patch at the right, to the one below, and to the first of the next row, which
                is 6 numbers on and at the other edge of the image. The patch below is the least similar of the three.""");
        SinusoidalEncoding byNumber = SinusoidalEncoding.vaswani(64);
        notebook.row("number %d to the right:     %.3f", 4 * SIDE + 10, byNumber.similarity(1) / 32);
        notebook.row("number %d below:            %.3f", 4 * SIDE + 10, byNumber.similarity(SIDE) / 32);
        notebook.row("number %d to the next row:  %.3f", 4 * SIDE + 10, byNumber.similarity(6) / 32);

        notebook.heading("Half of the dimensions for each axis");
        notebook.text("""
                The usual fixed encoding gives half of the dimensions to the column and half to the row, each with the sinusoids
                of its number. This is the one of the masked autoencoder (He et al., 2022) for 16 by 16 patches. Below are
                the similarities of three patches to themselves, to the patch at the end of their row (column 15) and to the last
                patch of the image (row 15, column 15).""");
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        GridPositionalEncodingBlock grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(64))
                .optAddToInput(false)
                .build();
        NDArray encodings = forward(grid, manager.zeros(new Shape(1, SIDE, SIDE, 64)));
        NDArray flat = encodings.reshape(SIDE * SIDE, 64);
        notebook.result("encodings.getShape()", encodings.getShape());
        List<HeatMapChart> similarities = new ArrayList<>();
        notebook.row("%-16s %7s %9s %11s", "similarity of", "itself", "row end", "last patch");
        for (int[] place : new int[][] {{0, 0}, {4, 10}, {8, 8}}) {
            NDArray vector = flat.get(place[0] * SIDE + place[1]);
            float[] similar = flat.matMul(vector).div(32).toFloatArray();
            int row = place[0] * SIDE;
            notebook.row(
                    "row %d, column %-2d %7.3f %9.3f %11.3f",
                    place[0], place[1], similar[row + place[1]], similar[row + 15], similar[SIDE * SIDE - 1]);
            similarities.add(map("Row " + place[0] + ", column " + place[1], similar));
        }
        notebook.pictures(
                "two-dimensions-grid",
                "The similarity of one patch to all patches, for three patches, from 0.5 to 1 (red)",
                3,
                similarities);

        notebook.text("""
                The similarity is that of the rows plus that of the columns, so a picture shows a cross: patches of the same row
                and of the same column remain similar over the whole image. In the first picture the patch is in a corner, and
                only two arms of its cross are left.""");
        notebook.heading("Rotary on two axes");
        notebook.text("""
                **Rotary embeddings** work on two axes as well. Each pair of dimensions gets an axis: half of the pairs turn with
                the row and half with the column. This is the layout of the vision towers of Qwen2-VL.""");
        RotaryEmbeddingBlock rotary = RotaryPresets.qwenVision(64).build();
        NDArray positions = manager.create(RotaryPresets.positions(SIDE, SIDE)).expandDims(1);
        notebook.result("positions.getShape()", positions.getShape());
        notebook.row("axis of each pair:");
        notebook.row(
                "%s",
                rotary.getAxes().axisOfPair().stream()
                        .map(axis -> axis.toString())
                        .collect(Collectors.joining()));
        manager.getEngine().setRandomSeed(2);
        NDArray word = manager.randomNormal(new Shape(1, 1, 1, 64)).toType(DataType.FLOAT64, false);
        NDArray turned = forward(rotary, word.repeat(2, SIDE * SIDE), positions).reshape(SIDE * SIDE, 64);
        NDArray scores = turned.matMul(turned.transpose());
        notebook.row("from (2, 3) to (4, 8):   %15.12f", scores.getDouble(2 * SIDE + 3, 4 * SIDE + 8));
        notebook.row("from (9, 6) to (11, 11): %15.12f", scores.getDouble(9 * SIDE + 6, 11 * SIDE + 11));
        notebook.row("from (2, 3) to (8, 4):   %15.12f", scores.getDouble(2 * SIDE + 3, 8 * SIDE + 4));

        notebook.text("""
                The score depends on the difference of the rows and the difference of the columns: two rows down and five columns
                right give the same score from any patch.""");
        notebook.heading("A table for a window");
        notebook.text("""
                **A window bias** (Liu et al., *Swin Transformer*, 2021) learns a number for each pair of differences. For a window
                of h by w patches there are (2h - 1)(2w - 1) of them. The bias of a query in row *y* and column *x* for a
                key in row *v* and column *u* is in this row of the table:""");
        notebook.formula("(y - v + h - 1) (2w - 1) + x - u + w - 1");
        notebook.text("""
                To see it, the biases are set to the numbers of their rows; the forward then returns those numbers. For a window
                of 2 by 2 patches:""");
        float[] small = indices(manager, 2);
        notebook.row("%-7s %5s %5s %5s %5s", "", "key 0", "key 1", "key 2", "key 3");
        for (int query = 0; query < 4; query++) {
            int first = 4 * query;
            notebook.row(
                    "query %d %5.0f %5.0f %5.0f %5.0f",
                    query, small[first], small[first + 1], small[first + 2], small[first + 3]);
        }
        float[] large = indices(manager, 4);
        manager.close();
        HeatMapChart index = HeatMapChart.of(
                        "Row of the table, 4 by 4 patches",
                        "key",
                        "query",
                        16,
                        16,
                        (query, key) -> large[16 * query + key])
                .range(0, 48);
        notebook.picture(
                "two-dimensions-window",
                "The row of the table of biases for each query and key of a window of 4 by 4 patches",
                index);

        notebook.text("""
                The map consists of blocks of 4 by 4. Within a block the row of the query and that of the key are
                fixed, and only the columns differ; each block, and the pattern of the blocks, is constant along its
                diagonals. So 49 numbers serve 256 pairs of patches.""");
        notebook.recap("""
                A place in an image has two numbers, and every idea for one axis works for two: halves of the dimensions, halves of
                the pairs, or a table of both differences.""");
        notebook.exercise("""
                A model was trained with 16 by 16 patches, and gets an image of 32 by 32. Should the rows be numbered 0, 1, …, 31, or
                0, 0.5, …, 15.5?""", """
                It depends on what a step means. If the patches show the same part of the scene as before, the image
                is larger, and the numbers continue. If the same scene is cut into finer patches, 0.5 keeps the places in the range of
                the training. For enlarged digits, `train-encoder.jar compare --on pictures` has
                measured 0.99 with scaled numbers at twice the size, and chance with continued ones.""");
        notebook.sources(
                "[Dosovitskiy et al., An Image is Worth 16x16 Words (2021)](https://arxiv.org/abs/2010.11929)",
                "[He et al., Masked Autoencoders (2022)](https://arxiv.org/abs/2111.06377)",
                "[Wang et al., Qwen2-VL (2024)](https://arxiv.org/abs/2409.12191)",
                "[Liu et al., Swin Transformer (2021)](https://arxiv.org/abs/2103.14030)");
        notebook.text("""
                All of this says what a model *could* do with positions. What does one do? [Trained heads](TrainedHeads.html)
                looks.""");
    }

    /** The row of the table of biases for each query and key of a square window. */
    private static float[] indices(NDManager manager, int side) {
        int differences = 2 * side - 1;
        WindowBiasBlock window =
                WindowBiasBlock.builder().setHeadCount(1).setWindow(side, side).build();
        NDArray patches = manager.zeros(new Shape(1, (long) side * side, 8));
        window.initialize(manager, DataType.FLOAT32, patches.getShape());
        window.getBiases()
                .getArray()
                .set(manager.arange(differences * differences)
                        .toType(DataType.FLOAT32, false)
                        .toFloatArray());
        return forward(window, patches).toFloatArray();
    }

    private static NDArray forward(Block block, NDArray... inputs) {
        ParameterStore store = new ParameterStore(inputs[0].getManager(), false);
        return block.forward(store, new NDList(inputs), false).singletonOrThrow();
    }

    private static HeatMapChart map(String title, float... similar) {
        // rounding must not make a similarity greater than 1
        return HeatMapChart.of(
                        title, "column", "row", SIDE, SIDE, (row, column) -> Math.min(1, similar[row * SIDE + column]))
                .range(0.5, 1);
    }
}
