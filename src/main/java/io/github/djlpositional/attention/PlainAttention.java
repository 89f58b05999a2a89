package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.norm.Dropout;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.Temporaries;

/** Attention by scores, their softmax, and its product with the values. Scores are FLOAT32 if the model is FLOAT16. */
final class PlainAttention extends AttentionMethod {

    /** In the data type of the scores, (B, N, T, H). */
    private final NDArray queries;

    /** The encoded queries times the scale, in the data type of the scores, (B, N, T, H). */
    private final NDArray scaled;

    /** In the data type of the scores, (B, K, H, F). */
    private final NDArray keys;

    PlainAttention(Temporaries temporaries, AttentionOperands operands) {
        super(operands);
        DataType type = scoreType(operands.queries());
        queries = toType(temporaries, operands.queries(), type);
        scaled = scaled(temporaries, toType(temporaries, operands.encoded(), type));
        keys = temporaries.add(toType(temporaries, operands.keys(), type).transpose(0, 1, 3, 2));
    }

    /** The data type of the scores of queries. */
    static DataType scoreType(NDArray queries) {
        return queries.getDataType() == DataType.FLOAT16 ? DataType.FLOAT32 : queries.getDataType();
    }

    /** The queries times the scale; in place unless they are needed, or in training. */
    private NDArray scaled(Temporaries temporaries, NDArray encoded) {
        boolean isNeeded = relative != null && encoded == queries;
        return isNeeded || operands.call().training() || !Arithmetic.isInPlaceSafe(encoded)
                ? temporaries.add(Arithmetic.multiply(encoded, settings.scale()))
                : Arithmetic.multiplyInPlace(encoded, settings.scale());
    }

    @Override
    long numbersOfQueryAndKey() {
        return queries.getShape().get(0) * queries.getShape().get(1);
    }

    /** The probabilities of all queries, (B, N, T, F): a new array. */
    NDArray probabilities(Temporaries own) {
        AttentionMask.Part mask = operands.mask().part(own, operands.call(), 0, scaled);
        NDArray probabilities = own.add(probabilities(own, operands.call(), 0, mask));
        NDArray converted = toType(own, probabilities, operands.queries().getDataType());
        return own.keep(withoutUnseeing(own, converted, mask));
    }

    @Override
    NDArray attend(Temporaries own, AttentionCall call, int from) {
        AttentionMask.Part mask = operands.mask().part(own, call, from, scaled);
        NDArray probabilities = own.add(probabilities(own, call, from, mask));
        if (call.training() && settings.dropoutRate() > 0) {
            probabilities = own.add(
                    Dropout.dropout(probabilities, settings.dropoutRate(), true).singletonOrThrow());
        }
        NDArray values = ofKeys(own, operands.values(), 2, call);
        NDArray weights = toType(own, probabilities, values.getDataType());
        NDArray result = byHead(own, own.add(byGroup(own, weights).matMul(values)));
        NDArray term = relative == null ? null : relative.valueTerm(call, weights);
        if (term != null) {
            result = own.add(result.add(own.add(term)));
        }
        return withoutUnseeing(own, result, mask);
    }

    /** The softmax of the scores of some queries, (B, N, rows, F): a new array. */
    private NDArray probabilities(Temporaries own, AttentionCall call, int from, AttentionMask.Part mask) {
        NDArray some = ofQueries(own, scaled, call, from);
        NDArray scores = byHead(own, own.add(byGroup(own, some).matMul(ofKeys(own, keys, 3, call))));
        NDArray unscaled = ofQueries(own, queries, call, from);
        NDArray term =
                relative == null ? null : relative.scoreTerm(call, unscaled, ofKeys(own, operands.keys(), 2, call));
        if (term != null) {
            scores = own.add(scores.add(own.addUnless(unscaled, term)));
        }
        if (settings.scoreCap() != null) {
            NDArray ratio = own.add(Arithmetic.multiply(scores, 1 / settings.scoreCap()));
            scores = own.add(Arithmetic.multiply(own.add(ratio.tanh()), settings.scoreCap()));
        }
        if (mask.bias() != null) {
            scores = own.add(scores.add(mask.bias()));
        }
        Parameter sinks = operands.attention().getSinks();
        return sinks == null ? scores.softmax(3) : softmaxBeside(own, call, sinks, scores);
    }

    /** The softmax over the keys and each head's sink, without the sink's column. */
    private NDArray softmaxBeside(Temporaries own, AttentionCall call, Parameter sinks, NDArray scores) {
        Shape shape = scores.getShape();
        NDArray value =
                ConfiguredBlock.value(operands.attention(), sinks, call.parameterStore(), scores, call.training());
        NDArray column = own.add(toType(own, value, scores.getDataType()).reshape(1, shape.get(1), 1, 1));
        NDArray columns = own.add(column.broadcast(Shape.update(shape, 3, 1)));
        NDArray all =
                own.add(own.add(NDArrays.concat(new NDList(scores, columns), 3)).softmax(3));
        return all.get(NDIndex.sliceAxis(3, 0, shape.get(3)));
    }

    /** The rows of the heads that share a key head, one below the other: (B, N, T, …) to (B, K, N / K · T, …). */
    private NDArray byGroup(Temporaries own, NDArray array) {
        return withHeads(own, array, settings.keyValueHeadCount());
    }

    /** The reverse of {@link #byGroup}. */
    private NDArray byHead(Temporaries own, NDArray array) {
        return withHeads(own, array, settings.headCount());
    }

    private static NDArray withHeads(Temporaries own, NDArray array, int heads) {
        Shape shape = array.getShape();
        return shape.get(1) == heads ? array : own.add(array.reshape(shape.get(0), heads, -1, shape.get(3)));
    }
}
