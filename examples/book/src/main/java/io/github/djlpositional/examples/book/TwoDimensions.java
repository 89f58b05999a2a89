// %maven io.github.djlpositional:djl-positional-book:0.1.0-SNAPSHOT

package io.github.djlpositional.examples.book;

import static io.github.djlpositional.examples.Plots.frame;
import static io.github.djlpositional.examples.Plots.heatMap;
import static io.github.djlpositional.examples.Plots.line;
import static io.github.djlpositional.examples.Plots.lines;
import static io.github.djlpositional.examples.Plots.picture;
import static io.github.djlpositional.examples.book.Output.display;
import static io.github.djlpositional.examples.book.Output.print;

import ai.djl.engine.Engine;
import ai.djl.modality.cv.Image;
import ai.djl.modality.cv.ImageFactory;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.examples.Resource;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryPresets;
import io.github.djlpositional.relative.WindowBiasBlock;
import java.io.ByteArrayInputStream;
import java.util.List;
import org.jfree.chart.JFreeChart;

/** Positions in a grid: fixed encodings, rotary embeddings on two and three axes, and the bias of a window. */
public final class TwoDimensions {

    public static void main(String... args) throws Exception {
        // %% numbers
        NDManager manager = Engine.getEngine("PyTorch").newBaseManager();
        byte[] file = new Resource("/cat.png", "djl-positional-book").read();
        Image image = ImageFactory.getInstance().fromInputStream(new ByteArrayInputStream(file));
        NDArray pixels = image.toNDArray(manager).toType(DataType.FLOAT64, false); // (224, 224, 3)
        NDArray light =
                pixels.reshape(16, 14, 16, 14, 3).sum(new int[] {1, 3, 4}).flatten(); // (256)
        NDArray x = light.sub(light.mean());
        SinusoidalEncoding byNumber = SinusoidalEncoding.vaswani(64);
        // ...
        JFreeChart chart = lines("Patches so many numbers apart", "difference of the numbers", "similarity");
        line(chart, "brightness in the photograph", 65, n -> correlation(x, n));
        line(chart, "sinusoids of the number", 65, n -> byNumber.similarity(n) / 32);
        display(picture(chart));
        // %% grid
        GridPositionalEncodingBlock grid = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(64))
                .optAddToInput(false)
                .build();
        NDArray rows = forward(grid, manager.zeros(new Shape(1, 16, 16, 64))).reshape(256, 64);
        // ...
        for (int patch : new int[] {75, 90, 80, 79, 255}) {
            double similarity = rows.get(74).dot(rows.get(patch)).getFloat() / 32;
            print("74 and %3d: %.3f", patch, similarity);
        }
        for (int patch : new int[] {0, 74, 136}) {
            NDArray similarities = rows.matMul(rows.get(patch)).div(32);
            display(picture(map("Patch " + patch, 0.5, 1, similarities)));
        }
        // %% rotary
        RotaryEmbeddingBlock rotary = RotaryPresets.qwenVision(64).build();
        NDArray places = manager.create(RotaryPresets.positions(16, 16)).expandDims(1); // (2, 1, 256)
        NDArray numbers = manager.arange(64).toType(DataType.FLOAT64, false).reshape(1, 1, 1, 64);
        NDArray q = forward(rotary, numbers.sin().repeat(2, 256), places).reshape(256, 64);
        NDArray k = forward(rotary, numbers.cos().repeat(2, 256), places).reshape(256, 64);
        NDArray scores = q.matMul(k.transpose()); // of query and key
        // ...
        for (int[] to : new int[][] {{2, 3, 4, 8}, {9, 6, 11, 11}, {2, 3, 7, 5}}) { // from row and column, to these
            double score = scores.getDouble(16 * to[0] + to[1], 16 * to[2] + to[3]);
            print("from (%d, %d) to (%d, %d): %.10f", to[0], to[1], to[2], to[3], score);
        }
        display(picture(frame(map("Query at row 4, column 10", -8, 8, scores.get(74)), 4, 10)));
        display(picture(frame(map("Query at row 8, column 6", -8, 8, scores.get(134)), 8, 6)));
        // %% sections
        RotaryEmbeddingBlock qwen2 =
                RotaryPresets.qwen2Vl(128, 1_000_000, 16, 24, 24).build();
        RotaryEmbeddingBlock qwen3 =
                RotaryPresets.qwen3Vl(128, 5_000_000, 24, 20, 20).build();
        // ...
        for (RotaryEmbeddingBlock block : List.of(qwen2, qwen3)) {
            String axes = block.getAxes().axes().toString().replaceAll("[^012]", "");
            String letters = axes.replace('0', 't').replace('1', 'r').replace('2', 'c');
            print("%.32s%n%s", letters, letters.substring(32));
        }
        for (int m : new int[] {0, 15, 16, 39, 40, 63}) {
            print("pair %2d: period %9.1f", m, 2 * Math.PI * Math.pow(1_000_000, m / 64.0));
        }
        // %% window
        WindowBiasBlock window =
                WindowBiasBlock.builder().setHeadCount(1).setWindow(2, 2).build();
        NDArray patches = manager.zeros(new Shape(1, 4, 8));
        window.initialize(manager, DataType.FLOAT32, patches.getShape());
        window.getBiases().getArray().set(new float[] {0, 1, 2, 3, 4, 5, 6, 7, 8});
        float[] row = forward(window, patches).toFloatArray();
        // ...
        print("%-7s %5s %5s %5s %5s", "", "key 0", "key 1", "key 2", "key 3");
        for (int i = 0; i < 16; i += 4) {
            print("query %d %5.0f %5.0f %5.0f %5.0f", i / 4, row[i], row[i + 1], row[i + 2], row[i + 3]);
        }
        manager.close();
    }

    private static double correlation(NDArray x, int n) {
        NDArray products = x.get(":" + (x.size() - n)).mul(x.get(n + ":"));
        return products.mean().div(x.square().mean()).getDouble();
    }

    private static JFreeChart map(String title, double smallest, double largest, NDArray cells) {
        double[] values = cells.toType(DataType.FLOAT64, false).toDoubleArray();
        return heatMap(title, "column", "row", smallest, largest, 16, 16, (r, c) -> values[16 * r + c]);
    }

    private static NDArray forward(Block block, NDArray... inputs) {
        ParameterStore store = new ParameterStore(inputs[0].getManager(), false);
        return block.forward(store, new NDList(inputs), false).head();
    }
}
