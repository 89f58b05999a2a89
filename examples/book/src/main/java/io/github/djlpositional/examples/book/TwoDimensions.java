package io.github.djlpositional.examples.book;

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
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.PairLayout;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.WindowBiasBlock;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;

/** Positions in a grid: fixed encodings, rotary embeddings on two and three axes, and the bias of a window. */
public final class TwoDimensions {

    private TwoDimensions() {}

    public static void main(String[] args) throws Exception {
        write(Notebook.in(Path.of("pictures")));
    }

    static void write(Notebook out) throws Exception {
        // %% numbers
        byte[] file = new Resource("/site/cat.png", "djl-positional-book").read();
        double[] light = brightness(ImageIO.read(new ByteArrayInputStream(file))); // of each patch
        SinusoidalEncoding byNumber = SinusoidalEncoding.vaswani(64);
        // ...
        for (int n : new int[] {1, 6, 8, 16, 32}) {
            out.print("%2d numbers on: photograph %6.3f, sinusoids %.3f", n, correlation(light, n), near(byNumber, n));
        }
        LineChart chart = LineChart.of("Patches so many numbers apart", "difference of the numbers", "similarity");
        chart.line("brightness in the photograph", 65, n -> correlation(light, n));
        chart.line("sinusoids of the number", 65, n -> near(byNumber, n));
        out.picture(
                "two-dimensions-numbers",
                "The photograph resembles itself again after 16, 32 and 48 numbers; the sinusoids do not know it",
                chart);
        // %% grid
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        GridPositionalEncodingBlock grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(64))
                .optAddToInput(false)
                .build();
        NDArray encodings = forward(grid, manager.zeros(new Shape(1, SIDE, SIDE, 64)));
        NDArray rows = encodings.reshape(SIDE * SIDE, 64);
        // ...
        float[] of74 = rows.matMul(rows.get(74)).div(32).toFloatArray();
        out.print("74 and 75, at its right: %.3f", of74[75]);
        out.print("74 and 90, below:        %.3f", of74[90]);
        out.print("74 and 80, next row:     %.3f", of74[80]);
        out.print("74 and 79, end of row:   %.3f", of74[79]);
        out.print("74 and 255, last:        %.3f", of74[255]);
        List<HeatMapChart> maps = new ArrayList<>();
        for (int patch : new int[] {0, 74, 136}) {
            float[] similar = rows.matMul(rows.get(patch)).div(32).toFloatArray();
            maps.add(map("Patch " + patch, 0.5, 1, cell -> similar[cell]));
        }
        out.pictures(
                "two-dimensions-grid",
                "Each patch is most similar to its neighbors, and then to its row and its column: a cross",
                3,
                maps);
        // %% rotary
        RotaryEmbeddingBlock rotary = RotaryPresets.qwenVision(64).build();
        NDArray places = manager.create(RotaryPresets.positions(SIDE, SIDE)).expandDims(1); // (2, 1, 256)
        NDArray numbers = manager.arange(64).toType(DataType.FLOAT64, false).reshape(1, 1, 1, 64);
        NDArray q = forward(rotary, numbers.sin().repeat(2, 256), places).reshape(256, 64);
        NDArray k = forward(rotary, numbers.cos().repeat(2, 256), places).reshape(256, 64);
        double[] scores = q.matMul(k.transpose()).toDoubleArray(); // queries, keys
        // ...
        out.print("from (2, 3) to (4, 8):   %14.10f", scores[256 * (2 * SIDE + 3) + 4 * SIDE + 8]);
        out.print("from (9, 6) to (11, 11): %14.10f", scores[256 * (9 * SIDE + 6) + 11 * SIDE + 11]);
        out.print("from (2, 3) to (7, 5):   %14.10f", scores[256 * (2 * SIDE + 3) + 7 * SIDE + 5]);
        out.pictures(
                "two-dimensions-rotary",
                "The scores of one query: when the query moves, the whole pattern moves with it",
                2,
                List.of(
                        map("Query at row 4, column 10", -16, 16, cell -> scores[256 * 74 + cell]),
                        map("Query at row 8, column 6", -16, 16, cell -> scores[256 * 134 + cell])));
        // %% video
        int[][] positions = positions(3, new int[] {1, 2, 3}, 2);
        // ...
        for (int axis = 0; axis < 3; axis++) {
            out.print(
                    "%-6s %s",
                    AXES.get(axis),
                    Arrays.stream(positions[axis]).mapToObj(Integer::toString).collect(Collectors.joining(" ")));
        }
        // %% sections
        RotaryEmbeddingBlock qwen2 =
                RotaryPresets.qwen2Vl(128, 1_000_000, 16, 24, 24).build();
        RotaryEmbeddingBlock qwen3 =
                RotaryPresets.qwen3Vl(128, 5_000_000, 24, 20, 20).build();
        // ...
        for (RotaryEmbeddingBlock block : List.of(qwen2, qwen3)) {
            out.print("%s", axes(block));
        }
        for (int m : new int[] {0, 15, 16, 39, 40, 63}) {
            double turn = 2 * Math.PI * Math.pow(1_000_000, m / 64.0);
            out.print("pair %2d, %s: one turn in %.1f", m, AXES.get(axis(qwen2, m)), turn);
        }
        NDArray text = manager.arange(128).sin().reshape(1, 1, 1, 128).repeat(2, 9);
        RotaryEmbeddingBlock ordinary = RotaryEmbeddingBlock.builder()
                .setHeadSize(128)
                .optBase(1_000_000)
                .optLayout(PairLayout.CONCATENATED)
                .build();
        out.print("text as with ordinary rotary: %b", forward(qwen2, text).equals(forward(ordinary, text)));
        // %% window
        float[] small = indices(manager, 2);
        // ...
        out.print("%-7s %5s %5s %5s %5s", "", "key 0", "key 1", "key 2", "key 3");
        for (int i = 0; i < 16; i += 4) {
            out.print("query %d %5.0f %5.0f %5.0f %5.0f", i / 4, small[i], small[i + 1], small[i + 2], small[i + 3]);
        }
        float[] large = indices(manager, 4);
        manager.close();
        HeatMapChart index = HeatMapChart.of(
                "Row of the table, 4 by 4 patches", "key", "query", 16, 16, (query, key) -> large[16 * query + key]);
        out.picture(
                "two-dimensions-window",
                "A window of 4 by 4 patches: the same blocks and diagonals, since only differences count",
                index.range(0, 48));
    }

    private static final int SIDE = 16;

    private static final List<String> AXES = List.of("time", "row", "column");

    /** The mean brightness of the patches of 14 by 14 pixels, row by row. */
    private static double[] brightness(BufferedImage image) {
        double[] light = new double[SIDE * SIDE];
        for (int y = 0; y < 224; y++) {
            for (int x = 0; x < 224; x++) {
                int rgb = image.getRGB(x, y);
                light[y / 14 * SIDE + x / 14] += ((rgb >> 16 & 255) + (rgb >> 8 & 255) + (rgb & 255)) / 588.0;
            }
        }
        return light;
    }

    /** The correlation of all pairs of numbers that are n places apart. */
    private static double correlation(double[] x, int n) {
        double mean = Arrays.stream(x).average().orElseThrow();
        double variance =
                Arrays.stream(x).map(v -> (v - mean) * (v - mean)).average().orElseThrow();
        return IntStream.range(0, x.length - n)
                        .mapToDouble(i -> (x[i] - mean) * (x[i + n] - mean))
                        .average()
                        .orElseThrow()
                / variance;
    }

    private static double near(SinusoidalEncoding encoding, int distance) {
        return encoding.similarity(distance) / 32;
    }

    private static HeatMapChart map(String title, double low, double high, IntToDoubleFunction cells) {
        return HeatMapChart.of(title, "column", "row", SIDE, SIDE, (r, c) -> cells.applyAsDouble(SIDE * r + c))
                .range(low, high);
    }

    /** The positions on three axes of words, then frames of rows and columns, then words. */
    private static int[][] positions(int before, int[] video, int after) {
        int next = before + Arrays.stream(video).max().orElseThrow(); // the largest so far + 1
        return Arrays.stream(RotaryPresets.positions(video))
                .map(axis -> IntStream.concat(
                                IntStream.concat(
                                        IntStream.range(0, before),
                                        Arrays.stream(axis).mapToInt(cell -> before + (int) cell)),
                                IntStream.range(next, next + after))
                        .toArray())
                .toArray(int[][]::new);
    }

    private static int axis(RotaryEmbeddingBlock rotary, int pair) {
        return rotary.getAxes().axisOfPair().get(pair);
    }

    /** The first letters of the axes of all pairs. */
    private static String axes(RotaryEmbeddingBlock rotary) {
        return IntStream.range(0, 64)
                .mapToObj(pair -> AXES.get(axis(rotary, pair)).substring(0, 1))
                .collect(Collectors.joining());
    }

    /** The row of the table of biases for each query and key of a square window: the biases are set to their rows. */
    private static float[] indices(NDManager manager, int side) {
        WindowBiasBlock window =
                WindowBiasBlock.builder().setHeadCount(1).setWindow(side, side).build();
        NDArray patches = manager.zeros(new Shape(1, (long) side * side, 8));
        window.initialize(manager, DataType.FLOAT32, patches.getShape());
        NDArray biases = window.getBiases().getArray();
        biases.set(manager.arange((float) biases.size()).toFloatArray());
        return forward(window, patches).toFloatArray();
    }

    private static NDArray forward(Block block, NDArray... inputs) {
        ParameterStore store = new ParameterStore(inputs[0].getManager(), false);
        return block.forward(store, new NDList(inputs), false).head();
    }
}
