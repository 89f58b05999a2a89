package io.github.djlpositional.examples;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.Batch;
import ai.djl.translate.Batchifier;

/** Examples with classes as labels, in batches that are made when they are needed. */
abstract class Minibatches {

    final int batchSize;
    private final int examples;

    Minibatches(int examples, int batchSize) {
        this.examples = examples;
        this.batchSize = batchSize;
    }

    /** Returns the number of batches in an epoch, at least 1. */
    final int batches() {
        return (examples + batchSize - 1) / batchSize;
    }

    /** Returns the batches of an epoch. A batch owns its manager, and is closed by the caller. */
    abstract Iterable<Batch> getData(NDManager manager);

    final Batch batch(NDManager manager, NDArray input, int... labels) {
        return new Batch(
                manager,
                new NDList(input),
                new NDList(manager.create(labels, new Shape(labels.length, 1))),
                Math.toIntExact(input.getShape().get(0)),
                Batchifier.STACK,
                Batchifier.STACK,
                0, // the position in the epoch is not used
                batches());
    }
}
