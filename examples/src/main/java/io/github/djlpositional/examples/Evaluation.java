package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;
import java.time.Duration;

/**
 * The accuracy and the speed of a trained encoder on examples that it has not seen.
 *
 * @param right the number of examples judged correctly
 * @param examples the number of examples
 * @param time the total time of the forwards
 */
public record Evaluation(long right, long examples, Duration time) {

    /**
     * Evaluates a classifier.
     *
     * @param model a model whose block gives one score for each class
     * @param dataset the examples
     * @return the accuracy and the time
     */
    public static Evaluation of(Model model, OrderDataset<?> dataset) {
        long right = 0;
        long examples = 0;
        long nanos = 0;
        try (NDManager manager = model.getNDManager().newSubManager()) {
            ParameterStore store = new ParameterStore(manager, false);
            for (Batch batch : dataset.getData(manager)) {
                try (batch) {
                    long start = System.nanoTime();
                    NDArray scores = model.getBlock()
                            .forward(store, batch.getData(), false)
                            .singletonOrThrow();
                    NDArray judged = scores.argMax(1).toType(DataType.INT64, false);
                    long[] judgements = judged.toLongArray();
                    nanos += System.nanoTime() - start;
                    int[] labels = batch.getLabels().singletonOrThrow().toIntArray();
                    for (int i = 0; i < labels.length; i++) {
                        right += judgements[i] == labels[i] ? 1 : 0;
                    }
                    examples += labels.length;
                }
            }
        }
        return new Evaluation(right, examples, Duration.ofNanos(nanos));
    }

    /**
     * Returns the fraction of the examples that were judged correctly.
     *
     * @return from 0 to 1
     */
    public double accuracy() {
        return (double) right / examples;
    }
}
