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

    PlainAttention(Temporaries own, Operands operands) {
        super(operands);
        DataType type = scoreType(operands.queries());
        queries = own.addUnless(operands.queries(), Arithmetic.toType(operands.queries(), type));
        scaled = scaled(own, own.addUnless(operands.encoded(), Arithmetic.toType(operands.encoded(), type)));
        keys = own.add(Temporaries.result(
                () -> Arithmetic.toType(operands.keys(), type).transpose(0, 1, 3, 2)));
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
        NDArray probabilities = weights.probabilities();
        DataType type = operands.queries().getDataType();
        NDArray converted = own.addUnless(probabilities, Arithmetic.toType(probabilities, type));
        return own.keep(weights.mask().maskQueriesWithoutKeys(own, converted));
    }

    @Override
    NDArray attend(Temporaries own, AttentionCall call, int from) {
        Weights weights = weights(own, call, from);
        NDArray probabilities = own.addResult(weights.probabilities(), () -> {
            NDArray dropped = weights.probabilities();
            if (call.training() && options.dropoutRate() > 0) {
                dropped = Dropout.dropout(dropped, options.dropoutRate(), true).singletonOrThrow();
            }
            return Arithmetic.toType(dropped, operands.values().getDataType());
        });
        NDArray result = own.add(Temporaries.result(
                () -> byHead(byGroup(probabilities).matMul(ofKeys(operands.values(), 2, call)))));
        NDArray term = terms.contains(Term.VALUE) ? relative.valueTerm(call, probabilities) : null;
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
        NDArray products = own.add(Temporaries.result(
                () -> byHead(byGroup(ofQueries(scaled, call, from)).matMul(ofKeys(keys, 3, call)))));
        NDArray unscaled = own.addUnless(queries, ofQueries(queries, call, from));
        NDArray term = term(own, call, unscaled, own.addUnless(operands.keys(), ofKeys(operands.keys(), 2, call)));
        NDArray scores = own.addResult(products, () -> capped(term == null ? products : products.add(term)));
        AttentionMask.Part mask = operands.mask().part(own, call, from, scores);
        NDArray softmax = own.add(Temporaries.result(() -> {
            NDArray hiding = mask.bias() == null ? scores : scores.add(mask.bias());
            Parameter sinks = operands.attention().getSinks();
            return sinks == null ? softmax(hiding) : softmaxBeside(call, sinks, hiding);
        }));
        return new Weights(softmax, mask);
    }

    private NDArray capped(NDArray scores) {
        Double cap = options.scoreCap();
        return cap == null
                ? scores
                : Arithmetic.multiply(Arithmetic.multiply(scores, 1 / cap).tanh(), cap);
    }

    /** The softmax over the keys. In rows of fewer than 16, PyTorch computes the exponentials one by one. */
    private static NDArray softmax(NDArray scores) {
        long count = scores.getShape().get(3);
        int hidden = count < 16 && Arithmetic.isPyTorch(scores) ? TorchFunctions.hiddenKeys(scores, count) : 0;
        return hidden == 0
                ? scores.softmax(3)
                : scores.pad(new Shape(0, hidden), Double.NEGATIVE_INFINITY)
                        .softmax(3)
                        .get(NDIndex.sliceAxis(3, 0, count));
    }

    /** The softmax over the keys and each head's sink, without the sink's column. */
    private NDArray softmaxBeside(AttentionCall call, Parameter sinks, NDArray scores) {
        Shape shape = scores.getShape();
        NDArray value = DataTypes.value(operands.attention(), sinks, call.parameterStore(), scores, call.training());
        NDArray column = Arithmetic.toType(value, scores.getDataType()).reshape(1, shape.get(1), 1, 1);
        NDArray columns = column.broadcast(Shape.update(shape, 3, 1));
        return NDArrays.concat(new NDList(scores, columns), 3).softmax(3).get(NDIndex.sliceAxis(3, 0, shape.get(3)));
    }

    /** The rows of the heads that share a key head, one below the other: (B, N, T, …) to (B, K, N / K · T, …). */
    private NDArray byGroup(NDArray array) {
        return withHeads(array, options.keyValueHeadCount());
    }

    /** The reverse of {@link #byGroup}. */
    private NDArray byHead(NDArray array) {
        return withHeads(array, options.headCount());
    }

    private static NDArray withHeads(NDArray array, int heads) {
        Shape shape = array.getShape();
        return shape.get(1) == heads ? array : array.reshape(shape.get(0), heads, -1, shape.get(3));
    }
}
