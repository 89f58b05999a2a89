package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import io.github.djlpositional.attention.RelativeEncoding.Term;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;

/**
 * Attention by scores, their softmax, and its product with the values. Scores are FLOAT32 if the model is FLOAT16.
 *
 * @hidden
 */
public final class PlainAttention extends AttentionMethod {

    /** In the data type of the scores, (B, N, T, H). */
    private final NDArray queries;

    /** The encoded queries times the scale, in the data type of the scores, (B, N, T, H). */
    private final NDArray scaled;

    /** In the data type of the scores, (B, K, H, F). */
    private final NDArray keys;

    PlainAttention(Temporaries temporaries, Operands operands) {
        super(operands);
        DataType type = scoreType(operands.queries());
        queries = toType(temporaries, operands.queries(), type);
        scaled = scaled(temporaries, toType(temporaries, operands.encoded(), type));
        keys = temporaries.add(toType(temporaries, operands.keys(), type).transpose(0, 1, 3, 2));
    }

    /** The data type of the scores of queries. */
    public static DataType scoreType(NDArray queries) {
        return queries.getDataType() == DataType.FLOAT16 ? DataType.FLOAT32 : queries.getDataType();
    }

    /** The queries times the scale; in place unless they are needed, or in training. */
    private NDArray scaled(Temporaries temporaries, NDArray encoded) {
        boolean isNeeded = relative != null && encoded == queries;
        return isNeeded || operands.call().training() || encoded.hasGradient() || !Arithmetic.isInPlaceSafe(encoded)
                ? temporaries.add(Arithmetic.multiply(encoded, options.scale()))
                : Arithmetic.multiplyInPlace(encoded, options.scale());
    }

    @Override
    long sizePerQueryAndKey() {
        return queries.getShape().get(0) * queries.getShape().get(1);
    }

    /** The probabilities of all queries, (B, N, T, F): a new array. */
    NDArray probabilities(Temporaries own) {
        Weights weights = weights(own, operands.call(), 0);
        NDArray converted =
                toType(own, weights.probabilities(), operands.queries().getDataType());
        return own.keep(weights.mask().maskQueriesWithoutKeys(own, converted));
    }

    @Override
    NDArray attend(Temporaries own, AttentionCall call, int from) {
        Weights weights = weights(own, call, from);
        NDArray probabilities = weights.probabilities();
        if (call.training() && options.dropoutRate() > 0) {
            probabilities = own.add(
                    Dropout.dropout(probabilities, options.dropoutRate(), true).singletonOrThrow());
        }
        NDArray values = ofKeys(own, operands.values(), 2, call);
        NDArray typed = toType(own, probabilities, values.getDataType());
        NDArray result = byHead(own, own.add(byGroup(own, typed).matMul(values)));
        NDArray term = terms.contains(Term.VALUE) ? relative.valueTerm(call, typed) : null;
        if (term != null) {
            result = own.add(result.add(own.add(term)));
        }
        return weights.mask().maskQueriesWithoutKeys(own, result);
    }

    /**
     * The weights of some queries.
     *
     * @param probabilities the softmax of the scores, (B, N, rows, F)
     * @param mask tells which queries see no key, whose probabilities have no meaning
     */
    private record Weights(NDArray probabilities, AttentionMask.Part mask) {}

    private Weights weights(Temporaries own, AttentionCall call, int from) {
        NDArray factors = byGroup(own, ofQueries(own, scaled, call, from));
        NDArray scores = byHead(own, own.add(factors.matMul(ofKeys(own, keys, 3, call))));
        NDArray unscaled = ofQueries(own, queries, call, from);
        NDArray term = term(own, call, unscaled, ofKeys(own, operands.keys(), 2, call));
        if (term != null) {
            scores = own.add(scores.add(term));
        }
        if (options.scoreCap() != null) {
            NDArray ratio = own.add(Arithmetic.multiply(scores, 1 / options.scoreCap()));
            scores = own.add(Arithmetic.multiply(own.add(ratio.tanh()), options.scoreCap()));
        }
        AttentionMask.Part mask = operands.mask().part(own, call, from, scores);
        if (mask.bias() != null) {
            scores = own.add(scores.add(mask.bias()));
        }
        Parameter sinks = operands.attention().getSinks();
        NDArray softmax = sinks == null ? softmax(own, scores) : softmaxBeside(own, call, sinks, scores);
        return new Weights(own.add(softmax), mask);
    }

    /** The softmax over the keys. In rows of fewer than 16, PyTorch computes the exponentials one by one. */
    private static NDArray softmax(Temporaries own, NDArray scores) {
        long count = scores.getShape().get(3);
        int hidden = count < 16 && Arithmetic.isPyTorch(scores) ? TorchFunctions.hiddenKeys(scores, count) : 0;
        if (hidden == 0) {
            return scores.softmax(3);
        }
        NDArray padded = own.add(scores.pad(new Shape(0, hidden), Double.NEGATIVE_INFINITY));
        return own.add(padded.softmax(3)).get(NDIndex.sliceAxis(3, 0, count));
    }

    /** The softmax over the keys and each head's sink, without the sink's column. */
    private NDArray softmaxBeside(Temporaries own, AttentionCall call, Parameter sinks, NDArray scores) {
        Shape shape = scores.getShape();
        NDArray value = DataTypes.value(operands.attention(), sinks, call.parameterStore(), scores, call.training());
        NDArray column = own.add(toType(own, value, scores.getDataType()).reshape(1, shape.get(1), 1, 1));
        NDArray columns = own.add(column.broadcast(Shape.update(shape, 3, 1)));
        NDArray all =
                own.add(own.add(NDArrays.concat(new NDList(scores, columns), 3)).softmax(3));
        return all.get(NDIndex.sliceAxis(3, 0, shape.get(3)));
    }

    /** The rows of the heads that share a key head, one below the other: (B, N, T, …) to (B, K, N / K · T, …). */
    private NDArray byGroup(Temporaries own, NDArray array) {
        return withHeads(own, array, options.keyValueHeadCount());
    }

    /** The reverse of {@link #byGroup}. */
    private NDArray byHead(Temporaries own, NDArray array) {
        return withHeads(own, array, options.headCount());
    }

    private static NDArray withHeads(Temporaries own, NDArray array, int heads) {
        Shape shape = array.getShape();
        return shape.get(1) == heads ? array : own.add(array.reshape(shape.get(0), heads, -1, shape.get(3)));
    }
}
