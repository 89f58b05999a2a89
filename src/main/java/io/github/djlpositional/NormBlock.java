package io.github.djlpositional;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.OptionsBlock;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import java.util.function.Function;

/** A normalization over the last axis, with a learned scale for each dimension. */
abstract class NormBlock extends OptionsBlock {

    private final int embeddingSize;
    private final Parameter scale;

    NormBlock(Record options, int embeddingSize) {
        super(options);
        this.embeddingSize = embeddingSize;
        scale = addParameter("gamma", new Shape(embeddingSize), Initializer.ONES);
    }

    /** {@return γ, the parameter (D)} */
    public final Parameter getScale() {
        return scale;
    }

    /** Normalizes an array that is not empty. */
    abstract NDArray normalized(NDArray x, NDArray gamma, ParameterStore parameterStore, boolean training);

    @Override
    protected final NDList compute(
            ParameterStore parameterStore, NDList inputs, boolean training, PairList<String, Object> params) {
        requireShapes(inputs.getShapes());
        NDArray x = inputs.head();
        NDArray gamma = DataTypes.value(this, scale, parameterStore, x, training);
        DataTypes.requireSame(x, gamma, "scale");
        // MXNet has no mean of an empty array
        return new NDList(x.getShape().size() == 0 ? x.duplicate() : normalized(x, gamma, parameterStore, training));
    }

    @Override
    public final Shape[] getOutputShapes(Shape[] inputShapes) {
        requireShapes(inputShapes);
        return inputShapes.clone();
    }

    @Override
    protected final void requireShapes(Shape... inputShapes) {
        Check.that(
                inputShapes.length == 1, () -> inputShapes.length + " inputs were given: expected [x]; pass one array");
        Shape shape = inputShapes[0];
        long width = shape.dimension() == 0 ? 0 : shape.get(shape.dimension() - 1);
        Check.that(
                width == -1 || width == embeddingSize,
                () -> "input of shape " + shape + ": expected (…, " + embeddingSize
                        + "); pass an input of this shape, or build the block with another setEmbeddingSize(int)");
    }

    /**
     * The builder methods of all normalizations.
     *
     * @param <T> the block
     * @param <B> the builder
     */
    abstract static class BaseBuilder<T, B extends BaseBuilder<T, B>> extends BlockBuilder<T, B> {

        <R extends Record> BaseBuilder(Class<R> options, Function<R, T> create) {
            super(options, create);
        }

        /**
         * Sets D, the number of values that are normalized together, at least 1: the embedding size, or the head size
         * for a norm of queries and keys.
         */
        public B setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets ε, positive, which is added to the variance (default: 10<sup>-5</sup>), or to the mean square (default:
         * 10<sup>-6</sup>; Llama 2 and 3 use 10<sup>-5</sup>).
         */
        public B optEpsilon(double epsilon) {
            return set("epsilon", epsilon);
        }
    }
}
