package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;

/**
 * How well a classifier judges examples that it has not seen.
 *
 * @param accuracy the fraction of the examples that it judges correctly
 */
record Evaluation(double accuracy) {

    static Evaluation of(Model model, OrderDataset<?> dataset) {
        long right = 0;
        long examples = 0;
        try (NDManager manager = model.getNDManager().newSubManager()) {
            ParameterStore store = new ParameterStore(manager, false);
            for (Batch batch : dataset.getData(manager)) {
                try (batch) {
                    NDArray scores = model.getBlock()
                            .forward(store, batch.getData(), false)
                            .singletonOrThrow();
                    long[] judged =
                            scores.argMax(1).toType(DataType.INT64, false).toLongArray();
                    int[] labels = batch.getLabels().singletonOrThrow().toIntArray();
                    for (int i = 0; i < labels.length; i++) {
                        right += judged[i] == labels[i] ? 1 : 0;
                    }
                    examples += labels.length;
                }
            }
        }
        return new Evaluation((double) right / examples);
    }

    /**
     * Compares the scores of both examples of each pair.
     *
     * @param model a model whose block gives two scores
     * @param dataset the examples, in batches of whole pairs
     * @return the largest difference between the two examples of a pair, of the first score minus the second
     */
    static double differenceWithinPairs(Model model, OrderDataset<?> dataset) {
        double largest = 0;
        try (NDManager manager = model.getNDManager().newSubManager()) {
            ParameterStore store = new ParameterStore(manager, false);
            for (Batch batch : dataset.getData(manager)) {
                try (batch) {
                    float[] scores = model.getBlock()
                            .forward(store, batch.getData(), false)
                            .singletonOrThrow()
                            .toFloatArray();
                    for (int i = 0; i < scores.length; i += 4) {
                        double difference = (scores[i] - scores[i + 1]) - (scores[i + 2] - scores[i + 3]);
                        largest = Math.max(largest, Math.abs(difference));
                    }
                }
            }
        }
        return largest;
    }
}
