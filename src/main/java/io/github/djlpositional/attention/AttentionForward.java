package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.Dropout;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.Check;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;

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

    AttentionForward(
            MultiHeadAttentionBlock attention, AttentionInputs given, ParameterStore parameterStore, boolean training) {
        this.attention = attention;
        this.given = given;
        this.parameterStore = parameterStore;
        this.training = training;
        relative = attention.getRelativeEncoding();
    }

    /**
     * What queries attend to.
     *
     * @param call the positions of queries and keys
     * @param keys (B, N, F, H), encoded
     * @param values (B, N, F, H)
     * @param store stores keys and values in the cache, once the attention has succeeded
     */
    private record Attended(AttentionCall call, NDArray keys, NDArray values, Runnable store) {}

    /** The result, (B, T, D): a new array. */
    NDArray result(KeyValueCache cache, PairList<String, Object> params) {
        NDArray queries = heads(attention.getQueryProjection(), given.queries());
        Attended attended = cache != null && given.isSelf()
                ? withPreviousSteps(queries, cache, params)
                : withGivenKeys(queries, cache, params);
        NDArray results = temporaries.add(attend(queries, attended));
        attended.store.run();
        NDArray together = temporaries.add(results.transpose(0, 2, 1, 3));
        return linear(
                attention.getResultProjection(),
                temporaries.add(together.reshape(given.queries().getShape())));
    }

    /** The probabilities, (B, N, T, F), of a forward without parameters: a new array. */
    NDArray probabilities() {
        NDArray queries = heads(attention.getQueryProjection(), given.queries());
        Attended attended = withGivenKeys(queries, null, null);
        NDArray keysAcross = temporaries.add(attended.keys.transpose(0, 1, 3, 2));
        return probabilities(
                temporaries,
                attended.call,
                queries,
                scaled(attended.call, queries),
                keysAcross,
                mask(attended.call, queries),
                0);
    }

    /** The given keys and values. A cache keeps them projected, for as long as it is given the same arrays. */
    private Attended withGivenKeys(NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
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
        NDArray encoded = kept != null && !keepsPlainKeys ? keys : encoded(call, keys, 0);
        return new Attended(call, encoded, values, () -> {
            if (cache != null && kept == null) {
                cache.put(attention, given.keys(), given.values(), keepsPlainKeys ? keys : encoded, values);
            }
        });
    }

    /** The given keys and values behind those of a cache. */
    private Attended withPreviousSteps(NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        KeyValueCache.Steps steps = cache.stepsOf(attention, params);
        int first = steps.length();
        int length = Math.toIntExact(first + given.keys().getShape().get(1));
        AttentionCall call = call(first, queries, length);
        NDArray newKeys = heads(attention.getKeyProjection(), given.keys());
        boolean keepsPlainKeys = relative != null && relative.keysDependOnLength();
        steps.write(
                keepsPlainKeys ? newKeys : encoded(call, newKeys, first),
                heads(attention.getValueProjection(), given.values()));
        NDManager manager = queries.getManager();
        NDArray keys = temporaries.add(steps.keys(manager, length));
        NDArray values = temporaries.add(steps.values(manager, length));
        return new Attended(call, keepsPlainKeys ? encoded(call, keys, 0) : keys, values, () -> steps.done(length));
    }

    private AttentionCall call(int firstQuery, NDArray queries, long keyLength) {
        return new AttentionCall(
                parameterStore,
                training,
                firstQuery,
                Math.toIntExact(queries.getShape().get(2)),
                Math.toIntExact(keyLength),
                attention.settings().causal(),
                attention.settings().scale(),
                null);
    }

    /** A projection, from (B, T, D) to (B, T, D): a new array. */
    private NDArray linear(Linear projection, NDArray input) {
        NDArray weight = parameterStore.getValue(projection.getParameters().valueAt(0), input.getDevice(), training);
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

    private NDArray encoded(AttentionCall call, NDArray keys, int firstKey) {
        return relative == null ? keys : temporaries.addUnless(keys, relative.encodeKeys(call, keys, firstKey));
    }

    /** The encoded queries times the scale. */
    private NDArray scaled(AttentionCall call, NDArray queries) {
        NDArray encoded =
                relative == null ? queries : temporaries.addUnless(queries, relative.encodeQueries(call, queries));
        return temporaries.add(Arithmetic.multiply(encoded, attention.settings().scale()));
    }

    private AttentionMask mask(AttentionCall call, NDArray queries) {
        return AttentionMask.of(temporaries, given.mask(), call, queries);
    }

    /** The heads' results, (B, N, T, H): a new array. */
    private NDArray attend(NDArray queries, Attended attended) {
        AttentionCall call = attended.call;
        AttentionMask mask = mask(call, queries);
        NDArray scaled = scaled(call, queries);
        NDArray keysAcross = temporaries.add(attended.keys.transpose(0, 1, 3, 2));
        int length = call.queryLength();
        int rows = rowsAtATime(queries, call);
        if (rows >= length) {
            return attendRows(call, queries, scaled, keysAcross, attended.values, mask, 0);
        }
        NDArray shared = relative == null ? null : relative.sharedTerm(call, queries);
        AttentionCall whole = shared == null ? call : call.with(temporaries.addUnless(queries, shared));
        NDList parts = new NDList();
        for (int from = 0; from < length; from += rows) {
            int count = Math.min(rows, length - from);
            NDIndex part = NDIndex.sliceAxis(2, from, (long) from + count);
            try (NDArray someQueries = queries.get(part);
                    NDArray someScaled = scaled.get(part)) {
                parts.add(temporaries.add(attendRows(
                        whole.rows(from, count), someQueries, someScaled, keysAcross, attended.values, mask, from)));
            }
        }
        return NDArrays.concat(parts, 2);
    }

    private static int rowsAtATime(NDArray queries, AttentionCall call) {
        long scores = HostData.isHost(queries.getDevice()) ? SCORES_ON_CPU : SCORES_ON_GPU;
        Shape shape = queries.getShape();
        long scoresOfRow = shape.get(0) * shape.get(1) * call.keyLength();
        return (int) Math.max(FEWEST_ROWS, Math.min(call.queryLength(), scores / scoresOfRow));
    }

    /** The results of some queries, (B, N, rows, H): a new array. */
    private NDArray attendRows(
            AttentionCall rows,
            NDArray queries,
            NDArray scaled,
            NDArray keysAcross,
            NDArray values,
            AttentionMask mask,
            int from) {
        try (Temporaries own = new Temporaries()) {
            NDArray probabilities = own.add(probabilities(own, rows, queries, scaled, keysAcross, mask, from));
            float rate = attention.settings().dropoutRate();
            if (training && rate > 0) {
                probabilities =
                        own.add(Dropout.dropout(probabilities, rate, true).singletonOrThrow());
            }
            NDArray result = own.add(probabilities.matMul(values));
            NDArray term = relative == null ? null : relative.valueTerm(rows, probabilities);
            if (term != null) {
                result = own.add(result.add(own.add(term)));
            }
            return own.keep(result);
        }
    }

    /** The softmax of the scores of some queries, (B, N, rows, F): a new array. */
    private NDArray probabilities(
            Temporaries own,
            AttentionCall rows,
            NDArray queries,
            NDArray scaled,
            NDArray keysAcross,
            AttentionMask mask,
            int from) {
        NDArray scores = own.add(scaled.matMul(keysAcross));
        NDArray term = relative == null ? null : relative.scoreTerm(rows, queries);
        if (term != null) {
            scores = own.add(scores.add(own.addUnless(queries, term)));
        }
        return own.addUnless(scores, mask.applyTo(scores, rows, from)).softmax(3);
    }

    @Override
    public void close() {
        temporaries.close();
    }
}
