package io.github.djlpositional.examples;

/**
 * How many batches were predicted, and what was in them.
 *
 * @param batches how many
 * @param inputs in all of them together
 */
record BatchCount(long batches, long inputs) {

    /** What was counted after an earlier count. */
    BatchCount since(BatchCount earlier) {
        return new BatchCount(batches - earlier.batches, inputs - earlier.inputs);
    }

    /** The mean number of inputs in a batch, or 0 if there was none. */
    double meanSize() {
        return batches == 0 ? 0 : (double) inputs / batches;
    }
}
