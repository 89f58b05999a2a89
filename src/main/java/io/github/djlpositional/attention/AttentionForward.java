package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import java.util.Arrays;
import java.util.List;

/** One forward of a {@link MultiHeadAttentionBlock}, and what its steps share. */
final class AttentionForward implements AutoCloseable {

    private final MultiHeadAttentionBlock attention;
    private final MultiHeadAttentionBlock.Settings settings;
    private final AttentionInputs inputs;
    private final ParameterStore parameterStore;
    private final boolean training;
    private final Temporaries temporaries = new Temporaries();

    /** Null for none. */
    private final RelativeEncoding relative;

    /** Stores keys and values in the cache, once the attention has succeeded. */
    private Runnable store = () -> {};

    AttentionForward(
            MultiHeadAttentionBlock attention,
            AttentionInputs inputs,
            ParameterStore parameterStore,
            boolean training) {
        this.attention = attention;
        settings = attention.settings();
        this.inputs = inputs;
        this.parameterStore = parameterStore;
        this.training = training;
        relative = attention.getRelativeEncoding();
    }

    /** The result, (B, T, D): a new array. */
    NDArray result(KeyValueCache cache, PairList<String, Object> params) {
        return cache == null ? computed(null, params) : cache.exclusively(() -> computed(cache, params));
    }

    private NDArray computed(KeyValueCache cache, PairList<String, Object> params) {
        NDArray queries = queryHeads();
        AttentionMethod.Operands operands = cache != null && inputs.isSelf()
                ? withPreviousSteps(queries, cache, params)
                : withGivenKeys(queries, cache, params);
        AttentionMethod fused = FusedAttention.of(temporaries, operands);
        AttentionMethod method = fused == null ? new PlainAttention(temporaries, operands) : fused;
        NDArray results = method.attend(temporaries);
        store.run();
        // queries, keys and values of a long sequence are large
        temporaries.close();
        temporaries.add(results);
        Shape shape = inputs.queries().getShape();
        // the heads of a single token follow each other already
        NDArray byToken = shape.get(1) == 1 ? results : temporaries.add(results.transpose(0, 2, 1, 3));
        return linear(
                attention.getResultProjection(), temporaries.add(byToken.reshape(shape.get(0), shape.get(1), -1)));
    }

    /** The probabilities, (B, N, T, F), of a forward without parameters: a new array. */
    NDArray probabilities() {
        AttentionMethod.Operands operands = withGivenKeys(queryHeads(), null, null);
        return new PlainAttention(temporaries, operands).probabilities(temporaries);
    }

    /** Keys and values that are projected here. A cache keeps them for as long as it is given the same arrays. */
    private AttentionMethod.Operands withGivenKeys(
            NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        Shape keyShape = inputs.keys().getShape();
        Check.that(
                keyShape.get(1) > 0,
                () -> "keys of shape " + keyShape
                        + " are empty: expected a length of 1 or more; skip the call if there is nothing to attend to");
        int firstQuery = inputs.isSelf() ? 0 : Positions.start(params, Positions.UNLIMITED);
        Positions tokens = tokens(queries, params, firstQuery);
        AttentionCall call = call(tokens, inputs.isSelf() ? tokens : Positions.of(0, Math.toIntExact(keyShape.get(1))));
        KeyValueCache.Source kept = cache == null ? null : cache.sourceOf(attention, inputs.keys(), inputs.values());
        NDArray keys = kept != null ? kept.keys() : keyHeads();
        NDArray values = kept != null ? kept.values() : valueHeads();
        boolean keepsPlainKeys = attention.encodesKeysAgain();
        NDArray encoded = kept != null && !keepsPlainKeys ? keys : encoded(call, keys);
        if (cache != null) {
            store = () -> {
                if (kept == null) {
                    cache.keep(attention, inputs.keys(), inputs.values(), keepsPlainKeys ? keys : encoded, values);
                }
                cache.done(attention, firstQuery + tokens.length());
            };
        }
        return operands(call, queries, encoded, values, null);
    }

    /** The keys and values of the previous steps, and then those of this one. */
    private AttentionMethod.Operands withPreviousSteps(
            NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        KeyValueCache.Steps steps = cache.stepsOf(attention, params);
        Positions tokens = tokens(queries, params, steps.length());
        NDArray newKeys = keyHeads();
        boolean keepsPlainKeys = attention.encodesKeysAgain();
        NDArray kept = keepsPlainKeys ? newKeys : encoded(call(tokens, tokens), newKeys);
        Positions held = steps.write(kept, valueHeads(), tokens);
        List<Integer> lengths = keepsPlainKeys && tokens.positions() != null ? steps.lengths() : null;
        AttentionCall call = call(tokens, held, lengths);
        NDManager manager = queries.getManager();
        NDArray keys = temporaries.add(steps.keys(manager));
        NDArray values = temporaries.add(steps.values(manager));
        store = () -> cache.done(attention, held.first() + held.length());
        return operands(
                call,
                queries,
                keepsPlainKeys ? encoded(call, keys) : keys,
                values,
                distanceBiases(steps, call, queries));
    }

    /** The biases of distances that a cache keeps for steps of one token. */
    private NDArray distanceBiases(KeyValueCache.Steps steps, AttentionCall call, NDArray queries) {
        if (!attention.terms().contains(RelativeEncoding.Term.DISTANCE_BIAS)
                || call.queries().length() > 1
                || call.hasPositions()) {
            return null;
        }
        NDArray typed = AttentionMethod.toType(temporaries, queries, PlainAttention.scoreType(queries));
        return steps.biases(
                call.keys().length(),
                count -> DistanceBias.ofDistances(relative, call, Distances.consecutive(typed, 1 - count, count)));
    }

    private Positions tokens(NDArray queries, PairList<String, Object> params, int first) {
        boolean isRead = !attention.terms().isEmpty() || attention.queryFactors() != null;
        return Positions.ofTokens(temporaries, queries, 2, Positions.given(null, params), first, isRead);
    }

    private AttentionCall call(Positions queries, Positions keys) {
        return call(queries, keys, null);
    }

    private AttentionCall call(Positions queries, Positions keys, List<Integer> lengths) {
        return new AttentionCall(
                parameterStore,
                training,
                queries,
                keys,
                lengths == null ? sequenceLengths(queries, keys) : lengths,
                attention.visibility().isCausal(),
                settings.scale());
    }

    /** The length of each sequence by its mask; null if it does not matter, is the same, or positions tell it. */
    private List<Integer> sequenceLengths(Positions queries, Positions keys) {
        if (!attention.encodesKeysAgain() || queries.positions() != null || keys.positions() != null) {
            return null;
        }
        NDArray mask = inputs.mask();
        if (mask == null
                || mask.getShape().dimension() != 2
                || mask.getShape().get(0) != inputs.queries().getShape().get(0)) {
            return null;
        }
        int[] counts = new int[Math.toIntExact(mask.getShape().get(0))];
        double[] tokens = HostData.doubles(mask);
        for (int i = 0; i < tokens.length; i++) {
            counts[i / (tokens.length / counts.length)] += tokens[i] == 0 ? 0 : 1;
        }
        int least = inputs.isSelf() ? 0 : queries.end();
        return Arrays.stream(counts).mapToObj(count -> Math.max(count, least)).toList();
    }

    /** A projection, from (B, T, …) to (B, T, …): a new array. */
    private NDArray linear(Linear projection, NDArray input) {
        value(projection, 0, input);
        return projection.forward(parameterStore, new NDList(input), training).singletonOrThrow();
    }

    /** The weight (0) or the bias (1) of a projection, on the device and of the data type of its input. */
    private NDArray value(Linear projection, int index, NDArray input) {
        Parameter parameter = projection.getParameters().valueAt(index);
        NDArray value = DataTypes.value(attention, parameter, parameterStore, input, training);
        DataTypes.requireSame(input, value, "projections");
        return value;
    }

    private NDArray queryHeads() {
        return heads(attention.getQueryProjection(), inputs.queries(), settings.headCount(), attention.getQueryNorm());
    }

    private NDArray keyHeads() {
        return heads(attention.getKeyProjection(), inputs.keys(), settings.keyValueHeadCount(), attention.getKeyNorm());
    }

    private NDArray valueHeads() {
        return heads(attention.getValueProjection(), inputs.values(), settings.keyValueHeadCount(), null);
    }

    /** A projection split into heads, from (B, T, D) to (B, N, T, H), and normalized unless the norm is null. */
    private NDArray heads(Linear projection, NDArray input, int count, Block norm) {
        Shape shape = input.getShape();
        TorchFunctions functions = training || norm != null ? null : TorchFunctions.of(input);
        NDArray weight = value(projection, 0, input);
        if (functions != null && !weight.hasGradient()) {
            NDArray bias = projection.getParameters().size() > 1 ? value(projection, 1, input) : null;
            return temporaries.add(functions.heads(input, weight, bias, count));
        }
        NDArray flat = temporaries.add(linear(projection, input));
        if (shape.get(1) == 1 && norm == null) {
            return temporaries.add(flat.reshape(shape.get(0), count, 1, settings.headSize()));
        }
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

    private NDArray encoded(AttentionCall call, NDArray keys) {
        return relative == null ? keys : temporaries.addUnless(keys, relative.encodeKeys(call, keys));
    }

    private AttentionMethod.Operands operands(
            AttentionCall call, NDArray queries, NDArray keys, NDArray values, NDArray distanceBiases) {
        NDArray encoded =
                relative == null ? queries : temporaries.addUnless(queries, relative.encodeQueries(call, queries));
        AttentionMask mask =
                AttentionMask.of(temporaries, inputs.mask(), call, queries, attention.visibility(), inputs.isSelf());
        return new AttentionMethod.Operands(
                attention, call, queries, withFactors(call, encoded), keys, values, mask, distanceBiases);
    }

    private NDArray withFactors(AttentionCall call, NDArray queries) {
        return attention.queryFactors() == null
                ? queries
                : temporaries.add(
                        queries.mul(call.queries().broadcastRows(temporaries, queries, 2, attention.queryFactors())));
    }

    @Override
    public void close() {
        temporaries.close();
    }
}
