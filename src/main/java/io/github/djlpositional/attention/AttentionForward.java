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
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Settings;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

/** One forward of a {@link MultiHeadAttentionBlock}, and what its steps share. */
final class AttentionForward implements AutoCloseable {

    private final MultiHeadAttentionBlock attention;
    private final MultiHeadAttentionBlock.Options options;
    private final AttentionInputs inputs;
    private final ParameterStore parameterStore;
    private final boolean training;
    private final Temporaries temporaries = new Temporaries();

    /** Null for none. */
    private final RelativeEncoding relative;

    /** The heads of queries, keys and values of a self-attention; null unless they are projected together. */
    private NDList selfHeads;

    /** Stores keys and values in the cache, once the attention has succeeded. */
    private Runnable store = () -> {};

    AttentionForward(
            MultiHeadAttentionBlock attention,
            AttentionInputs inputs,
            ParameterStore parameterStore,
            boolean training) {
        this.attention = attention;
        options = attention.options();
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
        NDArray results = cache != null && inputs.isSelf()
                ? withPreviousSteps(queries, cache, params)
                : attended(withInputKeys(queries, cache, params));
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

    private NDArray attended(AttentionMethod.Operands operands) {
        AttentionMethod fused = FusedAttention.of(temporaries, operands);
        AttentionMethod method = fused == null ? new PlainAttention(temporaries, operands) : fused;
        return method.attend(temporaries);
    }

    /** The probabilities, (B, N, T, F), of a forward without parameters: a new array. */
    NDArray probabilities() {
        AttentionMethod.Operands operands = withInputKeys(queryHeads(), null, null);
        return new PlainAttention(temporaries, operands).probabilities(temporaries);
    }

    /** Keys and values that are projected here, or cached from a step with the same arrays. */
    private AttentionMethod.Operands withInputKeys(
            NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        Shape keyShape = inputs.keys().getShape();
        Check.that(
                keyShape.get(1) > 0,
                () -> "keys of shape " + keyShape
                        + " are empty: expected a length of 1 or more; skip the call if there is nothing to attend to");
        int firstQuery = inputs.isSelf() ? 0 : Positions.start(params, Positions.UNLIMITED);
        Positions tokens = tokens(queries, params, firstQuery);
        AttentionCall call = call(tokens, inputs.isSelf() ? tokens : Positions.of(0, Math.toIntExact(keyShape.get(1))));
        KeyValueCache.Source cached = cache == null ? null : cache.sourceOf(attention, inputs.keys(), inputs.values());
        if (cache != null && cached == null) {
            cache.requireEarlierKeys(attention, firstQuery, tokens.length(), keyShape.get(1));
        }
        NDArray keys = cached != null ? cached.keys() : encoded(call, keyHeads());
        NDArray values = cached != null ? cached.values() : valueHeads();
        boolean isOfKeys = cache != null && AttentionMask.isOfKeys(inputs.mask());
        if (isOfKeys) {
            requireMaskOfKeys(keyShape.get(0), keyShape.get(1));
        }
        NDArray ofKeys = isOfKeys ? onDevice(inputs.mask()) : cached == null ? null : cached.mask();
        AttentionMethod.Operands operands =
                operands(call, queries, keys, values, isOfKeys ? null : inputs.mask(), ofKeys, null);
        if (cache != null) {
            store = () -> {
                if (cached == null || isOfKeys) {
                    cache.keep(
                            attention, new KeyValueCache.Source(inputs.keys(), inputs.values(), keys, values, ofKeys));
                }
                cache.commit(attention, firstQuery + tokens.length());
            };
        }
        return operands;
    }

    /** The heads' results, (B, N, T, H), with the keys and values of the previous steps and then those of this one. */
    private NDArray withPreviousSteps(NDArray queries, KeyValueCache cache, PairList<String, Object> params) {
        int count = (int) queries.getShape().get(2);
        CachedTokens cached = cache.tokensOf(attention, params, count);
        int length = cached.length();
        requireOrder(length, count, Positions.given(null, params) != null);
        boolean isOfKeys = AttentionMask.isOfKeys(inputs.mask());
        if (isOfKeys) {
            requireMaskOfKeys(queries.getShape().get(0), count, (long) length + count);
        }
        Positions tokens = tokens(queries, params, length);
        NDArray newKeys = encoded(call(tokens, tokens), keyHeads());
        NDArray newValues = valueHeads();
        NDArray mask = isOfKeys ? onDevice(inputs.mask()) : null;
        Positions held = cached.append(newKeys, newValues, tokens, mask, cache.mistakes());
        store = () -> cache.commit(attention, held.first() + held.length());
        AttentionCall call = call(tokens, held);
        call = tokens.length() == 1 ? call.ofStep(cached) : call;
        NDArray biases = distanceBiases(cached, call, queries);
        boolean isStep = isSimpleStep(call) && !cached.hasMask() && !hasGradient(call, queries, newKeys, newValues);
        TorchFunctions functions = isStep ? TorchFunctions.of(queries) : null;
        if (functions != null) {
            NDArray query = withFactors(call, encodedQueries(call, queries));
            int firstKey = attention.visibility().range(call, 0, 1)[0];
            boolean isDefault = options.scale() == 1 / Math.sqrt(options.headSize());
            NDArray scale = isDefault ? null : temporaries.add(Arithmetic.number(query, options.scale()));
            return cached.step(functions, query, newKeys, newValues, firstKey, biases, scale);
        }
        cached.write(newKeys, newValues);
        NDManager manager = queries.getManager();
        NDArray keys = temporaries.add(cached.keys(manager));
        NDArray values = temporaries.add(cached.values(manager));
        NDArray ofKeys = cached.hasMask() ? temporaries.add(cached.mask(manager)) : null;
        return attended(operands(call, queries, keys, values, isOfKeys ? null : inputs.mask(), ofKeys, biases));
    }

    private NDArray onDevice(NDArray mask) {
        return temporaries.addUnless(mask, mask.toDevice(inputs.queries().getDevice(), false));
    }

    /** Checks the shape of a mask of keys, which has one of some lengths. */
    private void requireMaskOfKeys(long batch, long... lengths) {
        Shape shape = inputs.mask().getShape();
        DataTypes.requireSameEngine(inputs.mask(), inputs.queries(), "queries");
        Check.that(
                shape.get(0) == batch && Arrays.stream(lengths).anyMatch(length -> length == shape.get(1)),
                () -> "mask of shape " + shape + " for " + batch + " sequences: expected "
                        + Arrays.stream(lengths)
                                .distinct()
                                .mapToObj(length -> new Shape(batch, length).toString())
                                .collect(Collectors.joining(" for the tokens of the step, or "))
                        + ", 0 for each hidden token; give one number for each token");
    }

    /** Rejects a step whose tokens would see each other, while earlier tokens, unless of other chunks, did not. */
    private void requireOrder(int start, long length, boolean hasPositions) {
        Integer chunkSize = options.chunkSize();
        Check.that(
                start == 0
                        || length == 1
                        || (chunkSize != null && !hasPositions && start % chunkSize == 0)
                        || attention.visibility().isCausal()
                        || AttentionMask.differsByQuery(inputs.mask()),
                () -> "a step of " + length + " tokens at position " + start
                        + " in an attention that is not causal, without a mask that differs between queries: expected a step"
                        + " of one token, since earlier tokens did not see later ones; build the attention with"
                        + " optCausal(true), or give a mask (B, " + length + ", " + (start + length) + "); attention: "
                        + attention);
    }

    /** Whether one query sees all keys of a range, with nothing but biases of distances added to the scores. */
    private boolean isSimpleStep(AttentionCall call) {
        boolean hasOtherTerms = !attention.terms().isEmpty()
                && (call.hasPositions() || !attention.terms().equals(Set.of(RelativeEncoding.Term.DISTANCE_BIAS)));
        return call.queries().length() == 1
                && options.fusedKernel()
                && inputs.mask() == null
                && options.scoreCap() == null
                && !options.sinks()
                && !hasOtherTerms
                && !(options.chunkSize() != null && call.hasPositions());
    }

    /** Whether gradients are recorded, which arrays of a cache that are written again and again cannot have. */
    private boolean hasGradient(AttentionCall call, NDArray... arrays) {
        return Arrays.stream(arrays).anyMatch(NDArray::hasGradient)
                || (relative != null && !FusedAttention.isConstant(relative.getParameters(), call));
    }

    /** The biases of distances that are cached for steps of one token. */
    private NDArray distanceBiases(CachedTokens cached, AttentionCall call, NDArray queries) {
        if (!attention.terms().contains(RelativeEncoding.Term.DISTANCE_BIAS)
                || call.queries().length() > 1
                || call.hasPositions()) {
            return null;
        }
        NDArray typed = temporaries.addUnless(queries, Arithmetic.toType(queries, PlainAttention.scoreType(queries)));
        return cached.cached(
                "distanceBiases",
                1,
                call.keys().length(),
                count -> DistanceBias.ofDistances(relative, call, Distances.consecutive(typed, 1 - count, count)));
    }

    private Positions tokens(NDArray queries, PairList<String, Object> params, int first) {
        boolean isRead = !attention.terms().isEmpty() || attention.queryFactors() != null;
        NDArray positions = Positions.given(null, params);
        Positions tokens = Positions.of(queries, 2, positions, first, Positions.UNLIMITED, isRead, true)
                .like(temporaries, queries);
        attention.mistakes().checkPositions(positions, tokens.length());
        return tokens;
    }

    private AttentionCall call(Positions queries, Positions keys) {
        return new AttentionCall(
                parameterStore, training, queries, keys, attention.visibility().isCausal(), options.scale());
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
        selfHeads = selfHeads();
        return selfHeads != null
                ? selfHeads.get(0)
                : heads(
                        attention.getQueryProjection(),
                        inputs.queries(),
                        options.headCount(),
                        attention.getQueryNorm());
    }

    private NDArray keyHeads() {
        return selfHeads != null
                ? selfHeads.get(1)
                : heads(
                        attention.getKeyProjection(),
                        inputs.keys(),
                        options.keyValueHeadCount(),
                        attention.getKeyNorm());
    }

    private NDArray valueHeads() {
        return selfHeads != null
                ? selfHeads.get(2)
                : heads(attention.getValueProjection(), inputs.values(), options.keyValueHeadCount(), null);
    }

    /**
     * The heads of queries, keys and values by one call of PyTorch, which a step of one token needs; null for another
     * engine, in training, with norms of queries or keys, or for several arrays.
     */
    private NDList selfHeads() {
        NDArray x = inputs.queries();
        // on a CPU, the call takes longer than the operations, unless a step is one more call
        boolean pays = !HostData.isHost(x.getDevice())
                || Set.of(RelativeEncoding.Term.DISTANCE_BIAS).containsAll(attention.terms());
        boolean isSupported = !training
                && pays
                && x == inputs.keys()
                && x == inputs.values()
                && attention.getQueryNorm() == null
                && attention.getKeyNorm() == null;
        TorchFunctions functions = isSupported ? TorchFunctions.of(x) : null;
        if (functions == null) {
            return null;
        }
        NDArray[] weights = new NDArray[6];
        Linear[] projections = {
            attention.getQueryProjection(), attention.getKeyProjection(), attention.getValueProjection()
        };
        for (int i = 0; i < projections.length; i++) {
            weights[2 * i] = value(projections[i], 0, x);
            weights[2 * i + 1] = options.bias() ? value(projections[i], 1, x) : null;
        }
        // PyTorch compiles a method that records gradients, which may then round otherwise
        if (x.hasGradient() || Arrays.stream(weights).anyMatch(weight -> weight != null && weight.hasGradient())) {
            return null;
        }
        NDList heads = functions.heads(x, weights, options.headCount(), options.keyValueHeadCount());
        heads.forEach(temporaries::add);
        return heads;
    }

    /** A projection split into heads, from (B, T, D) to (B, N, T, H), and normalized unless the norm is null. */
    private NDArray heads(Linear projection, NDArray input, int count, Block norm) {
        Shape shape = input.getShape();
        NDArray flat = temporaries.add(linear(projection, input));
        if (shape.get(1) == 1 && norm == null) {
            return temporaries.add(flat.reshape(shape.get(0), count, 1, options.headSize()));
        }
        NDArray split = temporaries.add(flat.reshape(shape.get(0), shape.get(1), count, options.headSize()));
        return temporaries.add((norm == null ? split : normalized(norm, split)).transpose(0, 2, 1, 3));
    }

    private NDArray normalized(Block norm, NDArray heads) {
        NDArray normalized =
                norm.forward(parameterStore, new NDList(heads), training).singletonOrThrow();
        Check.that(
                normalized.getShape().equals(heads.getShape()),
                () -> "the norm " + Settings.classOf(norm) + " returned " + normalized.getShape() + " for "
                        + heads.getShape() + ": expected the same shape; give a block that normalizes the last axis");
        return temporaries.addUnless(heads, normalized);
    }

    private NDArray encoded(AttentionCall call, NDArray keys) {
        return relative == null ? keys : temporaries.addUnless(keys, relative.encodeKeys(call, keys));
    }

    private NDArray encodedQueries(AttentionCall call, NDArray queries) {
        return relative == null ? queries : temporaries.addUnless(queries, relative.encodeQueries(call, queries));
    }

    private AttentionMethod.Operands operands(
            AttentionCall call,
            NDArray queries,
            NDArray keys,
            NDArray values,
            NDArray mask,
            NDArray ofKeys,
            NDArray distanceBiases) {
        NDArray encoded = encodedQueries(call, queries);
        AttentionMask hiding = AttentionMask.of(temporaries, mask, ofKeys, call, queries, attention, inputs.isSelf());
        checkMask(call);
        return new AttentionMethod.Operands(
                attention, call, queries, withFactors(call, encoded), keys, values, hiding, distanceBiases);
    }

    /** Warns of a mask that is probably a mistake, if it is one of all keys. */
    private void checkMask(AttentionCall call) {
        NDArray mask = inputs.mask();
        long keys = (long) call.keys().first() + call.keys().length();
        if (mask == null || (AttentionMask.isOfKeys(mask) && mask.getShape().get(1) != keys)) {
            return;
        }
        Visibility visibility = attention.visibility();
        attention
                .mistakes()
                .checkMask(
                        mask,
                        AttentionMask.isAdded(mask),
                        visibility.isCausal(),
                        call.queries().length(),
                        query -> visibility.seen(call, query, 1));
    }

    private NDArray withFactors(AttentionCall call, NDArray queries) {
        return attention.queryFactors() == null
                ? queries
                : temporaries.add(Temporaries.result(
                        () -> queries.mul(call.queries().broadcastRows(queries, 2, attention.queryFactors()))));
    }

    @Override
    public void close() {
        temporaries.close();
    }
}
