package io.github.djlpositional.examples;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;
import java.time.Duration;

/**
 * The accuracy and the speed of a trained encoder on sentences that it has not seen.
 *
 * @param right the number of sentences judged correctly
 * @param sentences the number of sentences
 * @param time the total time of the forwards
 */
record Evaluation(long right, long sentences, Duration time) {

    /** Evaluates a model on a dataset. */
    static Evaluation of(Model model, WordOrderDataset dataset) {
        long right = 0;
        long sentences = 0;
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
                    sentences += labels.length;
                }
            }
        }
        return new Evaluation(right, sentences, Duration.ofNanos(nanos));
    }

    /** Returns the fraction of the sentences that were judged correctly. */
    double accuracy() {
        return (double) right / sentences;
    }
}
