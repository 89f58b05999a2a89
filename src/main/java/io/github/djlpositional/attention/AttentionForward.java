package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.ConfiguredBlock;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import java.util.Arrays;
import java.util.List;

/** One forward of a {@link MultiHeadAttentionBlock}, and what its steps share. */
final class AttentionForward implements AutoCloseable {

    /**
     * About so many scores are computed at a time. On a CPU this is 16 MB of floats: a block that the allocator keeps
     * for the next part, where a larger one comes with new pages each time.
     */
    private static final long SCORES_ON_CPU = 1 << 22;

    private static final long SCORES_ON_GPU = 1 << 26;

    private static final int FEWEST_ROWS = 16;

    private final MultiHeadAttentionBlock attention;
    private final AttentionInputs given;
    private final ParameterStore parameterStore;
    private final boolean training;
    private final Temporaries temporaries = new Temporaries();

    /** Null for none. */
    private final RelativeEncoding relative;

    /** Stores keys and values in the cache, once the attention has succeeded. */
    private Runnable store = () -> {};

    AttentionForward(
            MultiHeadAttentionBlock attention, AttentionInputs given, ParameterStore parameterStore, boolean training) {
        this.attention = attention;
        this.given = given;
        this.parameterStore = parameterStore;
        this.training = training;
        relative = attention.getRelativeEncoding();
    }

    /**
     * The operands of an attention. Scores are computed in FLOAT32 if the model is FLOAT16.
     *
     * @param call the positions of queries and keys
     * @param queries (B, N, T, H), in the data type of the scores
     * @param scaled the encoded queries times the scale, (B, N, T, H), in the data type of the scores
     * @param keys the encoded keys, (B, N, H, F), in the data type of the scores
     * @param values (B, N, F, H), in the data type of the model
     * @param mask what hides keys from queries
     */
    private record Operands(
            AttentionCall call, NDArray queries, NDArray scaled, NDArray keys, NDArray values, AttentionMask mask) {}

    /** The result, (B, T, D): a new array. */
    NDArray result(KeyValueCache cache, PairList<String, Object> params) {
        NDArray queries = heads(attention.getQueryProjection(), given.queries());
        Operands operands = cache != null && given.isSelf()
                ? withPreviousSteps(queries, cache, params)
                : withGivenKeys(queries, cache, params);
        NDArray results = attend(operands);
        store.run();
        // queries, keys and values of a long sequence are large
        temporaries.close();
        NDArray together = temporaries.add(temporaries.add(results).transpose(0, 2, 1, 3));
        return linear(
                attention.getResultProjection(),
                temporaries.add(together.reshape(given.queries().getShape())));
    }

    /** The probabilities, (B, N, T, F), of a forward without parameters: a new array. */
    NDArray probabilities() {
        NDArray queries = heads(attention.getQueryProjection(), given.queries());
        Operands operands = withGivenKeys(queries, null, null);
        AttentionMask.Part mask = operands.mask.part(temporaries, operands.call, 0, operands.scaled);
        NDArray probabilities = temporaries.add(probabilities(
                temporaries, operands.call, operands.queries, operands.scaled, operands.keys, mask.bias()));
        NDArray converted = toType(temporaries, probabilities, queries.getDataType());
        return temporaries.keep(withoutUnseeing(temporaries, converted, mask));
    }

    /** The given keys and values. A cache keeps them projected, for as long as it is given the same arrays. */
    private Operands withGivenKeys(NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        Shape keyShape = given.keys().getShape();
        Check.that(
                keyShape.get(1) > 0,
                () -> "keys of shape " + keyShape
                        + " are empty: expected a length of 1 or more; skip the call if there is nothing to attend to");
        int firstQuery =
                given.isSelf() ? 0 : Positions.start(params, queries.getShape().get(2), Positions.UNLIMITED);
        AttentionCall call = call(firstQuery, queries, keyShape.get(1));
        KeyValueCache.Source kept = cache == null ? null : cache.sourceOf(attention, given.keys(), given.values());
        NDArray keys = kept != null ? kept.keys() : heads(attention.getKeyProjection(), given.keys());
        NDArray values = kept != null ? kept.values() : heads(attention.getValueProjection(), given.values());
        boolean keepsPlainKeys = relative != null && relative.keysDependOnLength();
        NDArray encoded = kept != null && !keepsPlainKeys ? keys : encoded(call, keys, call.keys());
        if (cache != null) {
            store = () -> {
                if (kept == null) {
                    cache.keep(attention, given.keys(), given.values(), keepsPlainKeys ? keys : encoded, values);
                }
                cache.done(attention, call.queries().end());
            };
        }
        return operands(call, queries, encoded, values);
    }

    /** The given keys and values behind those of a cache. */
    private Operands withPreviousSteps(NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        KeyValueCache.Steps steps = cache.stepsOf(attention, params);
        int first = steps.length();
        int length = Math.toIntExact(first + given.keys().getShape().get(1));
        AttentionCall call = call(first, queries, length);
        NDArray newKeys = heads(attention.getKeyProjection(), given.keys());
        boolean keepsPlainKeys = relative != null && relative.keysDependOnLength();
        steps.write(
                keepsPlainKeys ? newKeys : encoded(call, newKeys, call.queries()),
                heads(attention.getValueProjection(), given.values()));
        NDManager manager = queries.getManager();
        NDArray keys = temporaries.add(steps.keys(manager, length));
        NDArray values = temporaries.add(steps.values(manager, length));
        store = () -> cache.done(attention, length);
        return operands(call, queries, keepsPlainKeys ? encoded(call, keys, call.keys()) : keys, values);
    }

    private AttentionCall call(int firstQuery, NDArray queries, long keyLength) {
        int queryLength = Math.toIntExact(queries.getShape().get(2));
        return new AttentionCall(
                parameterStore,
                training,
                Span.of(firstQuery, queryLength),
                Span.of(0, Math.toIntExact(keyLength)),
                sequenceLengths(given.isSelf() ? 0 : firstQuery + queryLength),
                attention.settings().causal() || (relative != null && relative.isCausal()),
                attention.settings().scale(),
                null);
    }

    /** The lengths without padding, at least {@code least}; null if they do not matter or there is no padding. */
    private List<Integer> sequenceLengths(int least) {
        NDArray mask = given.mask();
        if (relative == null
                || !relative.keysDependOnLength()
                || mask == null
                || mask.getShape().dimension() != 2
                || mask.getShape().get(0) != given.queries().getShape().get(0)) {
            return null;
        }
        int[] counts = new int[Math.toIntExact(mask.getShape().get(0))];
        double[] tokens = HostData.doubles(mask);
        for (int i = 0; i < tokens.length; i++) {
            counts[i / (tokens.length / counts.length)] += tokens[i] == 0 ? 0 : 1;
        }
        return Arrays.stream(counts).mapToObj(count -> Math.max(count, least)).toList();
    }

    /** A projection, from (B, T, D) to (B, T, D): a new array. */
    private NDArray linear(Linear projection, NDArray input) {
        Parameter parameter = projection.getParameters().valueAt(0);
        NDArray weight = ConfiguredBlock.value(attention, parameter, parameterStore, input, training);
        DataTypes.requireSame(input, weight, "projections");
        return projection.forward(parameterStore, new NDList(input), training).singletonOrThrow();
    }

    /** A projection split into heads, from (B, T, D) to (B, N, T, H). */
    private NDArray heads(Linear projection, NDArray input) {
        Shape shape = input.getShape();
        NDArray flat = temporaries.add(linear(projection, input));
        NDArray split = temporaries.add(flat.reshape(
                shape.get(0),
                shape.get(1),
                attention.settings().headCount(),
                attention.settings().headSize()));
        return temporaries.add(split.transpose(0, 2, 1, 3));
    }

    private NDArray encoded(AttentionCall call, NDArray keys, Span span) {
        return relative == null ? keys : temporaries.addUnless(keys, relative.encodeKeys(call, keys, span));
    }

    private Operands operands(AttentionCall call, NDArray queries, NDArray keys, NDArray values) {
        DataType type = queries.getDataType() == DataType.FLOAT16 ? DataType.FLOAT32 : queries.getDataType();
        NDArray encoded =
                relative == null ? queries : temporaries.addUnless(queries, relative.encodeQueries(call, queries));
        return new Operands(
                call,
                toType(temporaries, queries, type),
                scaled(toType(temporaries, encoded, type), relative != null && encoded == queries),
                temporaries.add(toType(temporaries, keys, type).transpose(0, 1, 3, 2)),
                values,
                AttentionMask.of(temporaries, given.mask(), call, queries, type));
    }

    /** The queries times the scale; in place unless they are needed, or recorded for a gradient. */
    private NDArray scaled(NDArray encoded, boolean isNeeded) {
        double scale = attention.settings().scale();
        return isNeeded || encoded.hasGradient() || !Arithmetic.isInPlaceSafe(encoded)
                ? temporaries.add(Arithmetic.multiply(encoded, scale))
                : Arithmetic.multiplyInPlace(encoded, scale);
    }

    private static NDArray toType(Temporaries temporaries, NDArray array, DataType type) {
        return temporaries.addUnless(array, array.toType(type, false));
    }

    /** The heads' results, (B, N, T, H): a new array. */
    private NDArray attend(Operands operands) {
        AttentionCall call = operands.call;
        int length = call.queries().length();
        int rows = rowsAtATime(operands.queries, call);
        if (rows >= length) {
            return attendRows(operands, call, 0);
        }
        NDArray shared = relative == null ? null : relative.sharedTerm(call, operands.queries);
        AttentionCall whole = shared == null ? call : call.with(temporaries.addUnless(operands.queries, shared));
        NDList parts = new NDList();
        NDArray together = null;
        for (int from = 0; from < length; from += rows) {
            int count = Math.min(rows, length - from);
            NDArray part = temporaries.add(
                    attendRows(operands, whole.of(call.queries().part(temporaries, from, count), call.keys()), from));
            if (part.hasGradient() || !Arithmetic.isInPlaceSafe(part)) {
                parts.add(part);
                continue;
            }
            // kept parts would lie between the large arrays of the scores, and fragment the memory
            if (together == null) {
                Shape shape = Shape.update(part.getShape(), 2, length);
                together = temporaries.add(part.getManager().create(shape, part.getDataType(), part.getDevice()));
            }
            together.set(NDIndex.sliceAxis(2, from, (long) from + count), part);
            part.close();
        }
        return together == null ? NDArrays.concat(parts, 2) : temporaries.keep(together);
    }

    private static int rowsAtATime(NDArray queries, AttentionCall call) {
        long scores = HostData.isHost(queries.getDevice()) ? SCORES_ON_CPU : SCORES_ON_GPU;
        Shape shape = queries.getShape();
        long scoresOfRow = shape.get(0) * shape.get(1) * call.keys().length();
        return (int) Math.max(FEWEST_ROWS, Math.min(call.queries().length(), scores / scoresOfRow));
    }

    /** The results of some queries, (B, N, rows, H): a new array. */
    private NDArray attendRows(Operands operands, AttentionCall rows, int from) {
        try (Temporaries own = new Temporaries()) {
            NDArray queries = rows(own, operands.queries, rows, from);
            NDArray scaled = rows(own, operands.scaled, rows, from);
            AttentionMask.Part mask = operands.mask.part(own, rows, from, scaled);
            NDArray probabilities = own.add(probabilities(own, rows, queries, scaled, operands.keys, mask.bias()));
            float rate = attention.settings().dropoutRate();
            if (training && rate > 0) {
                probabilities =
                        own.add(Dropout.dropout(probabilities, rate, true).singletonOrThrow());
            }
            NDArray weights = toType(own, probabilities, operands.values.getDataType());
            NDArray result = own.add(weights.matMul(operands.values));
            NDArray term = relative == null ? null : relative.valueTerm(rows, weights);
            if (term != null) {
                result = own.add(result.add(own.add(term)));
            }
            return own.keep(withoutUnseeing(own, result, mask));
        }
    }

    private static NDArray rows(Temporaries own, NDArray queries, AttentionCall rows, int from) {
        return queries.getShape().get(2) == rows.queries().length()
                ? queries
                : own.add(queries.get(
                        NDIndex.sliceAxis(2, from, (long) from + rows.queries().length())));
    }

    /** The softmax of the scores of some queries, (B, N, rows, F): a new array. */
    private NDArray probabilities(
            Temporaries own, AttentionCall rows, NDArray queries, NDArray scaled, NDArray keys, NDArray bias) {
        NDArray scores = own.add(scaled.matMul(keys));
        NDArray term = relative == null ? null : relative.scoreTerm(rows, queries);
        if (term != null) {
            scores = own.add(scores.add(own.addUnless(queries, term)));
        }
        return (bias == null ? scores : own.add(scores.add(bias))).softmax(3);
    }

    /** Zeros for queries that see no key; the input itself if all see one. */
    private static NDArray withoutUnseeing(Temporaries own, NDArray result, AttentionMask.Part mask) {
        return mask.hasKey() == null ? result : own.add(result.mul(toType(own, mask.hasKey(), result.getDataType())));
    }

    @Override
    public void close() {
        temporaries.close();
    }
}
