package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
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
    private final MultiHeadAttentionBlock.Settings settings;
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
        settings = attention.settings();
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
     * @param keys the encoded keys, (B, K, H, F), in the data type of the scores, where K is the number of key heads
     * @param values (B, K, F, H), in the data type of the model
     * @param mask what hides keys from queries
     */
    private record Operands(
            AttentionCall call, NDArray queries, NDArray scaled, NDArray keys, NDArray values, AttentionMask mask) {}

    /** The result, (B, T, D): a new array. */
    NDArray result(KeyValueCache cache, PairList<String, Object> params) {
        NDArray queries = queryHeads();
        Operands operands = cache != null && given.isSelf()
                ? withPreviousSteps(queries, cache, params)
                : withGivenKeys(queries, cache, params);
        NDArray results = attend(operands);
        store.run();
        // queries, keys and values of a long sequence are large
        temporaries.close();
        NDArray together = temporaries.add(temporaries.add(results).transpose(0, 2, 1, 3));
        Shape shape = given.queries().getShape();
        return linear(
                attention.getResultProjection(), temporaries.add(together.reshape(shape.get(0), shape.get(1), -1)));
    }

    /** The probabilities, (B, N, T, F), of a forward without parameters: a new array. */
    NDArray probabilities() {
        NDArray queries = queryHeads();
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
        Span span = span(queries, params, firstQuery);
        AttentionCall call = call(span, given.isSelf() ? span : Span.of(0, Math.toIntExact(keyShape.get(1))));
        KeyValueCache.Source kept = cache == null ? null : cache.sourceOf(attention, given.keys(), given.values());
        NDArray keys = kept != null ? kept.keys() : keyHeads();
        NDArray values = kept != null ? kept.values() : valueHeads();
        boolean keepsPlainKeys = relative != null && relative.keysDependOnLength();
        NDArray encoded = kept != null && !keepsPlainKeys ? keys : encoded(call, keys, call.keys());
        if (cache != null) {
            store = () -> {
                if (kept == null) {
                    cache.keep(attention, given.keys(), given.values(), keepsPlainKeys ? keys : encoded, values);
                }
                cache.done(attention, firstQuery + span.length());
            };
        }
        return operands(call, queries, encoded, values);
    }

    /** The given keys and values behind those of a cache. */
    private Operands withPreviousSteps(NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        KeyValueCache.Steps steps = cache.stepsOf(attention, params, attention.visibility());
        Span span = span(queries, params, steps.length());
        NDArray newKeys = keyHeads();
        boolean keepsPlainKeys = relative != null && relative.keysDependOnLength();
        Span held =
                steps.write(keepsPlainKeys ? newKeys : encoded(call(span, span), newKeys, span), valueHeads(), span);
        AttentionCall call = call(span, held);
        NDManager manager = queries.getManager();
        NDArray keys = temporaries.add(steps.keys(manager, held.length()));
        NDArray values = temporaries.add(steps.values(manager, held.length()));
        store = () -> cache.done(attention, held.first() + held.length());
        return operands(call, queries, keepsPlainKeys ? encoded(call, keys, held) : keys, values);
    }

    private Span span(NDArray queries, PairList<String, Object> params, int first) {
        int length = Math.toIntExact(queries.getShape().get(2));
        boolean isRead = relative instanceof ScoreTermBlock || attention.queryFactors() != null;
        return Span.given(temporaries, params, first, queries, length, isRead);
    }

    private AttentionCall call(Span queries, Span keys) {
        return new AttentionCall(
                parameterStore,
                training,
                queries,
                keys,
                sequenceLengths(queries, keys),
                attention.visibility().isCausal(),
                settings.scale(),
                null);
    }

    /** The length of each sequence, by its positions or its mask; null if they do not matter or are the same. */
    private List<Integer> sequenceLengths(Span queries, Span keys) {
        if (relative == null || !relative.keysDependOnLength()) {
            return null;
        }
        if (keys.positions() != null) {
            Shape shape = keys.positions().getShape();
            int[] lengths = new int[(int) shape.get(shape.dimension() - 2)];
            double[] positions = HostData.doubles(keys.positions());
            for (int i = 0; i < positions.length; i++) {
                int row = i / keys.length() % lengths.length;
                lengths[row] = Math.max(lengths[row], 1 + (int) Math.floor(positions[i]));
            }
            return lengths.length == 1 ? null : Arrays.stream(lengths).boxed().toList();
        }
        NDArray mask = given.mask();
        if (mask == null
                || mask.getShape().dimension() != 2
                || mask.getShape().get(0) != given.queries().getShape().get(0)) {
            return null;
        }
        int[] counts = new int[Math.toIntExact(mask.getShape().get(0))];
        double[] tokens = HostData.doubles(mask);
        for (int i = 0; i < tokens.length; i++) {
            counts[i / (tokens.length / counts.length)] += tokens[i] == 0 ? 0 : 1;
        }
        int least = given.isSelf() ? 0 : queries.end();
        return Arrays.stream(counts).mapToObj(count -> Math.max(count, least)).toList();
    }

    /** A projection, from (B, T, …) to (B, T, …): a new array. */
    private NDArray linear(Linear projection, NDArray input) {
        Parameter parameter = projection.getParameters().valueAt(0);
        NDArray weight = ConfiguredBlock.value(attention, parameter, parameterStore, input, training);
        DataTypes.requireSame(input, weight, "projections");
        return projection.forward(parameterStore, new NDList(input), training).singletonOrThrow();
    }

    private NDArray queryHeads() {
        return heads(attention.getQueryProjection(), given.queries(), settings.headCount(), attention.getQueryNorm());
    }

    private NDArray keyHeads() {
        return heads(attention.getKeyProjection(), given.keys(), settings.keyValueHeadCount(), attention.getKeyNorm());
    }

    private NDArray valueHeads() {
        return heads(attention.getValueProjection(), given.values(), settings.keyValueHeadCount(), null);
    }

    /** A projection split into heads, from (B, T, D) to (B, N, T, H), and normalized unless the norm is null. */
    private NDArray heads(Linear projection, NDArray input, int count, Block norm) {
        Shape shape = input.getShape();
        NDArray flat = temporaries.add(linear(projection, input));
        NDArray split = temporaries.add(flat.reshape(shape.get(0), shape.get(1), count, settings.headSize()));
        return temporaries.add((norm == null ? split : normalized(norm, split)).transpose(0, 2, 1, 3));
    }

    private NDArray normalized(Block norm, NDArray heads) {
        NDArray normalized =
                norm.forward(parameterStore, new NDList(heads), training).singletonOrThrow();
        Check.that(
                normalized.getShape().equals(heads.getShape()),
                () -> "the norm " + norm.getClass().getSimpleName() + " returned " + normalized.getShape() + " for "
                        + heads.getShape() + ": expected the same shape; give a block that normalizes the last axis");
        return temporaries.addUnless(heads, normalized);
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
                withQueryScale(
                        call, scaled(toType(temporaries, encoded, type), relative != null && encoded == queries)),
                temporaries.add(toType(temporaries, keys, type).transpose(0, 1, 3, 2)),
                values,
                AttentionMask.of(
                        temporaries, given.mask(), call, queries, type, attention.visibility(), given.isSelf()));
    }

    /** The queries times the scale; in place unless they are needed, or recorded for a gradient. */
    private NDArray scaled(NDArray encoded, boolean isNeeded) {
        double scale = settings.scale();
        return isNeeded || encoded.hasGradient() || !Arithmetic.isInPlaceSafe(encoded)
                ? temporaries.add(Arithmetic.multiply(encoded, scale))
                : Arithmetic.multiplyInPlace(encoded, scale);
    }

    private NDArray withQueryScale(AttentionCall call, NDArray scaled) {
        return attention.queryFactors() == null
                ? scaled
                : temporaries.add(scaled.mul(call.queries().rows(temporaries, scaled, attention.queryFactors())));
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
            return attendRows(operands, call, 0, length);
        }
        NDArray shared = relative == null ? null : relative.sharedTerm(call, operands.queries);
        AttentionCall whole = shared == null ? call : call.with(temporaries.addUnless(operands.queries, shared));
        NDList parts = new NDList();
        NDArray together = null;
        for (int from = 0; from < length; from += rows) {
            int count = Math.min(rows, length - from);
            NDArray part = temporaries.add(attendRows(operands, whole, from, count));
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

    /** As many queries as have scores for the caches; with a window, as many as it has keys. */
    private int rowsAtATime(NDArray queries, AttentionCall call) {
        long scores = HostData.isHost(queries.getDevice()) ? SCORES_ON_CPU : SCORES_ON_GPU;
        int keys = call.keys().length();
        int rows = call.queries().length();
        Integer reach = attention.visibility().reach();
        if (reach != null && keys > 2L * Math.max(reach, FEWEST_ROWS)) {
            rows = Math.min(rows, Math.max(reach, FEWEST_ROWS));
            keys = 2 * Math.max(reach, FEWEST_ROWS);
        }
        Shape shape = queries.getShape();
        return (int) Math.max(FEWEST_ROWS, Math.min(rows, scores / (shape.get(0) * shape.get(1) * keys)));
    }

    /** The results of some queries, (B, N, count, H): a new array. */
    private NDArray attendRows(Operands operands, AttentionCall whole, int from, int count) {
        try (Temporaries own = new Temporaries()) {
            int firstKey = whole.keys().first();
            int[] range = attention.visibility().range(whole, from, count);
            int keyCount = range[1] - range[0];
            AttentionCall call = whole.of(
                    whole.queries().part(own, from, count), whole.keys().part(own, range[0] - firstKey, keyCount));
            NDArray queries = part(own, operands.queries, 2, from, count);
            NDArray scaled = part(own, operands.scaled, 2, from, count);
            NDArray keys = part(own, operands.keys, 3, range[0] - firstKey, keyCount);
            NDArray values = part(own, operands.values, 2, range[0] - firstKey, keyCount);
            AttentionMask.Part mask = operands.mask.part(own, call, from, scaled);
            NDArray probabilities = own.add(probabilities(own, call, queries, scaled, keys, mask.bias()));
            if (training && settings.dropoutRate() > 0) {
                probabilities = own.add(Dropout.dropout(probabilities, settings.dropoutRate(), true)
                        .singletonOrThrow());
            }
            NDArray weights = toType(own, probabilities, values.getDataType());
            NDArray result = byHead(own, own.add(byGroup(own, weights).matMul(values)));
            NDArray term = relative == null ? null : relative.valueTerm(call, weights);
            if (term != null) {
                result = own.add(result.add(own.add(term)));
            }
            return own.keep(withoutUnseeing(own, result, mask));
        }
    }

    private static NDArray part(Temporaries own, NDArray array, int axis, int from, int count) {
        return array.getShape().get(axis) == count
                ? array
                : own.add(array.get(NDIndex.sliceAxis(axis, from, (long) from + count)));
    }

    /** The rows of the heads that share a key head, one below the other: (B, N, T, …) to (B, K, N / K · T, …). */
    private NDArray byGroup(Temporaries own, NDArray array) {
        Shape shape = array.getShape();
        return settings.keyValueHeadCount() == settings.headCount()
                ? array
                : own.add(array.reshape(shape.get(0), settings.keyValueHeadCount(), -1, shape.get(3)));
    }

    /** The reverse of {@link #byGroup}. */
    private NDArray byHead(Temporaries own, NDArray array) {
        Shape shape = array.getShape();
        return settings.keyValueHeadCount() == settings.headCount()
                ? array
                : own.add(array.reshape(shape.get(0), settings.headCount(), -1, shape.get(3)));
    }

    /** The softmax of the scores of some queries, (B, N, rows, F): a new array. */
    private NDArray probabilities(
            Temporaries own, AttentionCall call, NDArray queries, NDArray scaled, NDArray keys, NDArray bias) {
        NDArray scores = byHead(own, own.add(byGroup(own, scaled).matMul(keys)));
        NDArray term = relative == null ? null : relative.scoreTerm(call, queries);
        if (term != null) {
            scores = own.add(scores.add(own.addUnless(queries, term)));
        }
        if (settings.scoreCap() != null) {
            NDArray ratio = own.add(Arithmetic.multiply(scores, 1 / settings.scoreCap()));
            scores = own.add(Arithmetic.multiply(own.add(ratio.tanh()), settings.scoreCap()));
        }
        if (bias != null) {
            scores = own.add(scores.add(bias));
        }
        return attention.getSinks() == null ? scores.softmax(3) : softmaxBesideSinks(own, scores);
    }

    /** The softmax over the keys and each head's sink, without the sink's column. */
    private NDArray softmaxBesideSinks(Temporaries own, NDArray scores) {
        Shape shape = scores.getShape();
        NDArray value = ConfiguredBlock.value(attention, attention.getSinks(), parameterStore, scores, training);
        NDArray column = own.add(toType(own, value, scores.getDataType()).reshape(1, shape.get(1), 1, 1));
        NDArray sinks = own.add(column.broadcast(Shape.update(shape, 3, 1)));
        NDArray all =
                own.add(own.add(NDArrays.concat(new NDList(scores, sinks), 3)).softmax(3));
        return all.get(NDIndex.sliceAxis(3, 0, shape.get(3)));
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
