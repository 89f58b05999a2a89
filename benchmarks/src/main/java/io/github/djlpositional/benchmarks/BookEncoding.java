package io.github.djlpositional.benchmarks;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;

/**
 * A positional encoding as DJL users write it today, after the book <em>Dive into Deep Learning</em> in its Java
 * edition: a table in float in the block, and a slice of it, named by a string, at each call.
 */
final class BookEncoding extends AbstractBlock {

    private final NDArray table;

    /** Makes the table, (1, length, size), with the manager. */
    BookEncoding(NDManager manager, int length, int size) {
        float[] values = new float[length * size];
        for (int position = 0; position < length; position++) {
            for (int dimension = 0; dimension < size; dimension++) {
                float rate = (float) Math.pow(10_000, 2 * Math.floorDiv(dimension, 2) / (float) size);
                float angle = position / rate;
                values[position * size + dimension] = (float) (dimension % 2 == 0 ? Math.sin(angle) : Math.cos(angle));
            }
        }
        table = manager.create(values, new Shape(1, length, size));
    }

    @Override
    protected NDList forwardInternal(
            ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
        NDArray x = inputs.singletonOrThrow();
        return new NDList(x.add(table.get(":, :{}, :", x.getShape().get(1))));
    }

    @Override
    public Shape[] getOutputShapes(Shape[] inputShapes) {
        return inputShapes;
    }
}
