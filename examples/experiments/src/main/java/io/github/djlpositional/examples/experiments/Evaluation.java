package io.github.djlpositional.examples.experiments;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.training.dataset.Batch;
import ai.djl.training.dataset.Dataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.translate.TranslateException;
import java.io.IOException;
import java.util.function.BiConsumer;

/** The scores of a trained block for examples that it has not seen. */
final class Evaluation {

    private Evaluation() {}

    /** Passes each batch with the scores of a block. */
    static void forEachBatch(NDManager parent, Block block, Dataset examples, BiConsumer<Batch, NDArray> use)
            throws IOException, TranslateException {
        try (NDManager manager = parent.newSubManager()) {
            ParameterStore store = new ParameterStore(manager, false);
            for (Batch batch : examples.getData(manager)) {
                try (batch) {
                    use.accept(
                            batch, block.forward(store, batch.getData(), false).singletonOrThrow());
                }
            }
        }
    }

    /** Returns the fraction of the examples that a block judges correctly. */
    static double accuracy(NDManager parent, Block block, Dataset examples) throws IOException, TranslateException {
        Accuracy accuracy = new Accuracy();
        accuracy.addAccumulator("");
        forEachBatch(
                parent,
                block,
                examples,
                (batch, scores) -> accuracy.updateAccumulator("", batch.getLabels(), new NDList(scores)));
        return accuracy.getAccumulator("");
    }
}
