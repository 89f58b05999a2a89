package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Temporaries;

/** How the vectors of the tokens of a sequence are combined into one vector. Hidden tokens are left out. */
public enum Pooling {

    /** The mean of all tokens, as in Sentence-BERT. */
    MEAN,

    /** The first token, such as BERT's {@code [CLS]}. */
    FIRST,

    /** The last token, which has seen all others in a causal model. */
    LAST;

    /**
     * Returns one vector for each sequence, (B, D), a new array; zeros for a sequence without a visible token.
     *
     * @param x (B, T, D)
     * @param mask 0 or false for each hidden token, (B, T); null for none
     */
    NDArray of(NDArray x, NDArray mask) {
        Shape shape = x.getShape();
        if (shape.size() == 0) {
            return x.getManager().zeros(new Shape(shape.get(0), shape.get(2)), x.getDataType(), x.getDevice());
        }
        return Temporaries.result(() -> mask == null
                ? ofAll(x)
                : Arithmetic.toType(weights(mask.toDevice(x.getDevice(), false)), x.getDataType())
                        .expandDims(1)
                        .matMul(x)
                        .squeeze(1));
    }

    private NDArray ofAll(NDArray x) {
        long last = x.getShape().get(1) - 1;
        return switch (this) {
            case MEAN -> x.mean(new int[] {1});
            // a slice is a view of x
            case FIRST -> Arithmetic.copy(x.get(NDIndex.sliceAxis(1, 0, 1)).squeeze(1));
            case LAST ->
                Arithmetic.copy(x.get(NDIndex.sliceAxis(1, last, last + 1)).squeeze(1));
        };
    }

    /** The weight of each token, (B, T), FLOAT32. */
    private NDArray weights(NDArray mask) {
        NDArray isHidden = mask.logicalNot();
        NDArray visible = Arithmetic.toType(isHidden.logicalNot(), DataType.FLOAT32);
        if (this == MEAN) {
            NDArray counts = visible.sum(new int[] {1}, true);
            return visible.div(counts.maximum(Arithmetic.number(counts, 1)));
        }
        int count = Math.toIntExact(mask.getShape().get(1));
        NDArray indices = Indices.range(visible, 0, count, DataType.FLOAT32).reshape(1, count);
        // the number of tokens up to each, or from each on
        NDArray order = this == LAST ? Arithmetic.add(indices, 1) : Arithmetic.add(indices.neg(), count);
        NDArray ofVisible = visible.mul(order);
        NDArray isChosen = ofVisible.eq(ofVisible.max(new int[] {1}, true));
        return Arithmetic.toType(isChosen, DataType.FLOAT32).mul(visible);
    }
}
