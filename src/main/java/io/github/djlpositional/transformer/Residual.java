package io.github.djlpositional.transformer;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.transformer.TransformerLayerBlock.Norm;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import java.util.function.UnaryOperator;

/**
 * A residual connection of a layer: x + f(x) for an attention or a feed-forward network f, with the normalizations,
 * factors, dropout and stochastic depth of the layer.
 *
 * @param options the options of the layer
 * @param norm the norm of a part, or the first of two; null for none
 * @param resultNorm the second norm; null for none
 * @param scale the factors of the result, (D); null for none
 */
record Residual(TransformerLayerBlock.Options options, Block norm, Block resultNorm, Parameter scale) {

    /** The arguments of a forward of a layer. */
    record Call(
            Block layer,
            ParameterStore store,
            boolean training,
            PairList<String, Object> params,
            Temporaries temporaries) {

        /** The same call without a forward parameter. */
        Call without(String name) {
            return new Call(layer, store, training, ForwardParameters.without(name, params), temporaries);
        }

        /** Applies a block that has no forward parameters; null for none. */
        NDArray apply(Block block, NDArray x) {
            return block == null
                    ? x
                    : temporaries.add(
                            block.forward(store, new NDList(x), training).singletonOrThrow());
        }

        /** Applies an attention. */
        NDArray attend(Block attention, NDList inputs) {
            return temporaries.add(
                    attention.forward(store, inputs, training, params).singletonOrThrow());
        }
    }

    /** Adds the result of a part to x. */
    NDArray add(Call call, NDArray x, UnaryOperator<NDArray> part) {
        NormPlacement placement = options.normPlacement();
        boolean isFirst = placement == NormPlacement.BEFORE_PART || placement == NormPlacement.AROUND_PART;
        NDArray result = part.apply(isFirst ? call.apply(norm, x) : x);
        NDArray sum = call.temporaries.add(x.add(branch(call, result)));
        return placement == NormPlacement.AFTER_SUM ? call.apply(norm, sum) : sum;
    }

    /** Adds the result of a feed-forward network to x in one call: a new array; null if that is not possible. */
    NDArray addInOneCall(Call call, NDArray x, FeedForwardBlock feedForward) {
        boolean isFirst = options.normPlacement() == NormPlacement.BEFORE_PART;
        boolean isLast = options.normPlacement() == NormPlacement.AFTER_SUM;
        if (call.training
                || !(isFirst || isLast)
                || norm == null
                || scale != null
                || options.residualFactor() != null) {
            return null;
        }
        // as DJL passes it to a layer normalization
        double epsilon =
                options.norm() == Norm.LAYER ? (float) options.epsilon().doubleValue() : options.epsilon();
        return feedForward.addInOneCall(call.store, x, norm, epsilon, isFirst);
    }

    /** Returns what is added to x for the result of a part. */
    NDArray branch(Call call, NDArray result) {
        float rate = options.dropoutRate();
        NDArray dropped = call.training && rate > 0
                ? call.temporaries.add(Dropout.dropout(result, rate, true).singletonOrThrow())
                : result;
        Block after = options.normPlacement() == NormPlacement.AFTER_PART ? norm : resultNorm;
        NDArray normed = call.apply(after, dropped);
        if (options.residualFactor() != null) {
            normed = call.temporaries.add(Arithmetic.multiply(normed, options.residualFactor()));
        }
        if (scale == null) {
            return dropPath(call, normed);
        }
        NDArray factors = DataTypes.value(call.layer, scale, call.store, normed, call.training);
        return dropPath(call, call.temporaries.add(normed.mul(factors)));
    }

    /** Replaces the results of some sequences by 0, in training only. */
    private NDArray dropPath(Call call, NDArray y) {
        float rate = options.dropPathRate();
        return !call.training || rate == 0
                ? y
                : call.temporaries.addResult(() -> {
                    Shape shape = new Shape(y.getShape().get(0), 1, 1);
                    NDArray ones = y.getManager().ones(shape, y.getDataType(), y.getDevice());
                    return y.mul(Dropout.dropout(ones, rate, true).singletonOrThrow());
                });
    }
}
