package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;

/**
 * The class {@code PositionalEncoding} of <em>Dive into Deep Learning</em> in its Java edition, chapter "Self-Attention
 * and Positional Encoding", without its dropout.
 */
final class D2lEncoding extends AbstractBlock {

    private final NDArray table;

    /** Makes the table, (1, length, size), with the manager. */
    D2lEncoding(NDManager manager, int length, int size) {
        table = manager.zeros(new Shape(1, length, size));
        try (NDManager temporary = manager.newSubManager()) {
            NDArray angles = temporary
                    .arange(length)
                    .reshape(-1, 1)
                    .div(temporary
                            .create(10000)
                            .pow(temporary.arange(0, size, 2).div(size)));
            table.set(new NDIndex(":, :, {}::{}", 0, 2), angles.sin());
            table.set(new NDIndex(":, :, {}::{}", 1, 2), angles.cos());
        }
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray x = inputs.get(0);
        return new NDList(x.add(table.get(":, :{}, :", x.getShape().get(1))));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return inputShapes;
    }
}
