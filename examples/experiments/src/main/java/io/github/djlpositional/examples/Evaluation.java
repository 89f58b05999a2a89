package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;

/** How well a classifier judges examples that it has not seen. */
public final class Evaluation {

    private Evaluation() {}

    /** Returns the fraction of the examples that a model judges correctly. */
    public static double accuracy(Model model, Minibatches examples) {
        long[] right = {0};
        long[] all = {0};
        forEachBatch(model.getNDManager(), model.getBlock(), examples, (batch, scores) -> {
            right[0] += right(scores, batch.getLabels().head());
            all[0] += batch.getLabels().head().size();
        });
        return (double) right[0] / all[0];
    }

    /** Returns the largest difference between the two examples of a pair, of the first score minus the second. */
    static double largestDifference(Model model, OrderDataset<?> pairs) {
        double[] largest = {0};
        forEachBatch(model.getNDManager(), model.getBlock(), pairs, (batch, scores) -> {
            float[] all = scores.toFloatArray();
            for (int i = 0; i < all.length; i += 4) {
                largest[0] = Math.max(largest[0], Math.abs(all[i] - all[i + 1] - all[i + 2] + all[i + 3]));
            }
        });
        return largest[0];
    }

    /** Passes each batch with the scores of a block. */
    static void forEachBatch(NDManager parent, Block block, Minibatches examples, BiConsumer<Batch, NDArray> use) {
        try (NDManager manager = parent.newSubManager()) {
            ParameterStore store = new ParameterStore(manager, false);
            for (Batch batch : examples.getData(manager)) {
                try (batch) {
                    use.accept(
                            batch, block.forward(store, batch.getData(), false).head());
                }
            }
        }
    }

    /** Returns how many labels (B, 1) have the highest of the scores (B, classes). */
    static long right(NDArray scores, NDArray labels) {
        long[] judged = scores.argMax(1).toType(DataType.INT64, false).toLongArray();
        int[] expected = labels.toIntArray();
        return IntStream.range(0, judged.length)
                .filter(i -> judged[i] == expected[i])
                .count();
    }
}
