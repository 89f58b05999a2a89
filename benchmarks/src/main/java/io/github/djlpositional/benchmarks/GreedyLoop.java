package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.Arrays;

/** Continues a batch of sequences, with the best token each time. */
final class GreedyLoop {

    private GreedyLoop() {}

    /**
     * Returns the tokens after each sequence.
     *
     * @param ids token ids (B, T)
     * @param others the inputs of the decoder after the ids
     */
    static long[][] generate(TransformerStackBlock decoder, NDArray ids, int tokens, NDArray... others) {
        try (NDManager manager = ids.getManager().newSubManager();
                KeyValueCache cache = new KeyValueCache(manager)) {
            ParameterStore store = new ParameterStore(manager, false);
            NDArray[] all = new NDArray[tokens];
            NDArray next = ids;
            for (int step = 0; step < tokens; step++) {
                try (NDManager temporary = manager.newSubManager()) {
                    NDArray last = next.duplicate(); // whose manager owns the scores
                    last.attach(temporary);
                    NDList inputs = new NDList(last).addAll(new NDList(others));
                    NDArray scores = decoder.scoresOfNext(store, inputs, cache.nextStep());
                    next = scores.argMax(2).toType(DataType.INT64, false);
                    next.attach(manager);
                }
                all[step] = next;
            }
            long[] flat = NDArrays.concat(new NDList(all), 1).toLongArray();
            long[][] rows = new long[flat.length / tokens][];
            Arrays.setAll(rows, row -> Arrays.copyOfRange(flat, row * tokens, (row + 1) * tokens));
            return rows;
        }
    }
}
