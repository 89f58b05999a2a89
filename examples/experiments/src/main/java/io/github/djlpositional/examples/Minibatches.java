package io.github.djlpositional.examples;

import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.dataset.Batch;
import ai.djl.translate.Batchifier;

/** Examples with classes as labels, in batches that are made when they are needed. */
public abstract class Minibatches {

    final int batchSize;
    private final int examples;

    protected Minibatches(int examples, int batchSize) {
        this.examples = examples;
        this.batchSize = batchSize;
    }

    /** Returns the number of batches in an epoch, at least 1. */
    public final int batches() {
        return (examples + batchSize - 1) / batchSize;
    }

    /** Returns the batches of an epoch. A batch owns its manager, and is closed by the caller. */
    protected abstract Iterable<Batch> getData(NDManager manager);

    protected final Batch batch(NDManager manager, NDList inputs, int... labels) {
        return new Batch(
                manager,
                inputs,
                new NDList(manager.create(labels, new Shape(labels.length, 1))),
                Math.toIntExact(inputs.head().getShape().get(0)),
                Batchifier.STACK,
                Batchifier.STACK,
                0, // the position in the epoch is not used
                batches());
    }
}
