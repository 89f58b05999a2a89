package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.internal.InputMistakes;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.internal.TorchFunctions;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import java.util.Map;

/**
 * One forward of a {@link MultiHeadAttentionBlock}, from top to bottom: project, reserve room in the cache, encode,
 * see, choose a kernel, attend slice by slice of the queries, commit, gate, project. B sequences, T queries, F keys, N
 * heads, K key heads, H the size of a head, V the size of a head of the values.
 */
final class AttentionForward implements AutoCloseable {

    /**
     * The approximate size of the largest array of a slice of the queries, in elements. On a CPU this is 8 MB of
     * floats: the allocator reuses blocks of this size for the next slice, but gets new pages for larger ones.
     */
    private static final long SLICE_SIZE_ON_CPU = 1 << 21;

    private static final long SLICE_SIZE_ON_GPU = 1 << 26;

    private static final int MIN_QUERIES_PER_SLICE = 16;

    final MultiHeadAttentionBlock attention;
    final MultiHeadAttentionBlock.Options options;
    final Terms terms;
    final AttentionInputs inputs;
    private final ParameterStore parameterStore;
    final boolean training;

    /** The forward parameters; null for none. */
    private final PairList<String, Object> params;

    final Temporaries temporaries = new Temporaries();

    /** Whether a mask that is probably a mistake is reported. */
    private boolean checksMask = true;

    /** The chosen kernel; null until it is chosen. */
    private Kernel.Name kernel;

    AttentionForward(
            MultiHeadAttentionBlock attention,
            AttentionInputs inputs,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> params) {
        this.attention = attention;
        options = attention.options();
        terms = attention.terms();
        this.inputs = inputs;
        this.parameterStore = parameterStore;
        this.training = training;
        this.params = params;
    }

    /** This forward, whose mask was checked, such as that of some packed documents, which padding may fill. */
    AttentionForward withCheckedMask() {
        checksMask = false;
        return this;
    }

    /** The result, (B, T, D): a new array. */
    NDArray result(KeyValueCache cache) {
        if (cache == null) {
            return compute(null);
        }
        return cache.exclusively(() -> {
            cache.requireEngineOf(inputs.queries());
            return compute(cache);
        });
    }

    private NDArray compute(KeyValueCache cache) {
        StepInOneCall step = cache == null ? null : StepInOneCall.of(this);
        if (step == null) {
            return compute(queryHeads(), keysAndValues(cache));
        }
        Appended appended = appendTo(cache);
        NDArray result = step.result(appended);
        if (result == null) {
            return compute(queryHeads(), projected(appended, cache));
        }
        kernel = Kernel.Name.STEP;
        appended.commit().run();
        return result;
    }

    private NDArray compute(NDArray queries, CachedTokens.KeysAndValues keysAndValues) {
        Kernel.Operands operands = operands(queries, keysAndValues);
        kernel = Kernel.choose(operands);
        NDArray results = attend(Kernel.of(kernel, temporaries, operands)); // (B, N, T, V)
        keysAndValues.commit().run();
        // queries, keys and values of a long sequence are large
        temporaries.close();
        temporaries.add(results);
        Shape shape = inputs.queries().getShape();
        // the heads of a single token are already contiguous
        NDArray byToken = shape.get(1) == 1 ? results : temporaries.add(results.transpose(0, 2, 1, 3));
        NDArray flat = temporaries.add(byToken.reshape(shape.get(0), shape.get(1), -1));
        return linear(attention.getResultProjection(), gated(flat));
    }

    /** The heads' results, (B, T, N · V), times the output gate of their token; themselves without a gate. */
    private NDArray gated(NDArray results) {
        if (attention.getGateProjection() == null) {
            return results;
        }
        NDArray projected = temporaries.add(linear(attention.getGateProjection(), inputs.queries()));
        return temporaries.addResult(() -> {
            NDArray wide = Arithmetic.toType(projected, DataTypes.ofScores(projected));
            NDArray gate = Arithmetic.toType(options.outputGate().apply(wide), results.getDataType());
            Shape shape = results.getShape();
            return options.outputGateByHead() == null
                    ? results.mul(gate)
                    : results.reshape(shape.get(0), shape.get(1), options.headCount(), -1)
                            .mul(gate.expandDims(3))
                            .reshape(shape);
        });
    }

    /** The kernel of the last {@link #result}. */
    Kernel.Name kernel() {
        return kernel;
    }

    /** The probabilities, (B, N, T, F), a new array. A step is written to the cache, but not committed. */
    NDArray probabilities(KeyValueCache cache) {
        NDArray queries = queryHeads();
        Kernel.Operands operands = operands(queries, keysAndValues(cache));
        Kernel.Operands complete = operands.with(operands.keysAndValues().writeStep(temporaries));
        NDArray ofKeys = temporaries.add(new Kernel.Plain(temporaries, complete).probabilities(temporaries));
        // the cache of a window has dropped the first keys
        Shape dropped =
                Shape.update(ofKeys.getShape(), 3, operands.call().keys().first());
        return dropped.size() == 0
                ? temporaries.remove(ofKeys)
                : Temporaries.result(() -> ofKeys.getManager()
                        .zeros(dropped, ofKeys.getDataType(), ofKeys.getDevice())
                        .concat(ofKeys, 3));
    }

    private CachedTokens.KeysAndValues keysAndValues(KeyValueCache cache) {
        if (!inputs.isSelf()) {
            return crossKeysAndValues(cache);
        }
        if (cache != null) {
            return projected(appendTo(cache), cache);
        }
        Positions tokens = tokens(0);
        return uncached(tokens, tokens);
    }

    private CachedTokens.KeysAndValues uncached(Positions tokens, Positions keyPositions) {
        NDArray keys = encodedKeys(keyPositions);
        NDArray mask = inputs.keyMask();
        if (mask != null) {
            Shape queries = new Shape(keys.getShape().get(0), options.headCount(), tokens.count(), options.headSize());
            Visibility.requireFits(mask, queries, call(tokens, keyPositions));
            DataTypes.requireSameEngine(mask, keys, "queries");
        }
        return new CachedTokens.KeysAndValues(
                tokens, keyPositions, keys, valueHeads(), features(keyPositions, true), hiddenKeys(), null, () -> {});
    }

    /** Which keys the mask of keys hides; null without such a mask. */
    private NDArray hiddenKeys() {
        return inputs.keyMask() == null ? null : Visibility.hiddenKeys(temporaries, inputs.keyMask(), inputs.queries());
    }

    /** The keys and values of a cross-attention: projected now, or cached from a step with the same arrays. */
    private CachedTokens.KeysAndValues crossKeysAndValues(KeyValueCache cache) {
        Shape shape = inputs.keys().getShape();
        Check.that(
                shape.get(1) > 0,
                () -> "keys of shape " + shape
                        + " are empty: expected a length of 1 or more; skip the call if there is nothing to attend to");
        int first = ForwardParameters.start(params, ForwardParameters.UNLIMITED);
        Positions tokens = tokens(first);
        Positions explicit = Positions.ofMemory(params);
        if (cache == null) {
            return uncached(tokens, memory(explicit));
        }
        CachedMemory.Inputs of =
                new CachedMemory.Inputs(inputs.keys(), inputs.values(), explicit == null ? null : explicit.array());
        CachedMemory before = cache.memoryOf(attention);
        CachedMemory same =
                before != null && before.hasKeys() && before.inputs().areThoseOf(of) ? before : null;
        requireEarlierKeys(first, tokens.count(), shape.get(1));
        Positions keyPositions = same != null
                ? same.positions()
                : memory(explicit != null ? explicit : positionsOfSelected(cache, before, first));
        NDArray keys = same != null ? same.keys() : encodedKeys(keyPositions);
        NDArray values = same != null ? same.values() : valueHeads();
        Map<Term, NDArray> features = same != null ? same.features() : features(keyPositions, true);
        boolean isNewMask = inputs.keyMask() != null;
        if (isNewMask) {
            Visibility.requireOfKeys(inputs.keyMask(), inputs.queries(), shape.get(1));
        }
        NDArray hidden = isNewMask || same == null ? hiddenKeys() : same.hidden();
        return new CachedTokens.KeysAndValues(tokens, keyPositions, keys, values, features, hidden, null, () -> {
            if (same == null || isNewMask) {
                cache.putMemory(
                        attention,
                        new CachedMemory(
                                same != null ? same.inputs() : of, keyPositions, keys, values, features, hidden));
            }
            cache.commit(attention, first + tokens.count());
        });
    }

    /** The positions of the keys of a cross-attention; indices for null. */
    private Positions memory(Positions explicit) {
        Positions given = Positions.ofMemory(inputs.keys(), 1, explicit);
        attention.mistakes().checkPositions(ForwardParameters.MEMORY_POSITIONS, given);
        return like(temporaries, given, inputs.queries());
    }

    /**
     * The positions of the memory of earlier steps, whose rows were selected; null without explicit ones. A sequence
     * that begins again may have another memory without positions.
     */
    private Positions positionsOfSelected(KeyValueCache cache, CachedMemory before, int start) {
        boolean areForgotten = cache.hasForgottenPositions(attention);
        if (start == 0 || !(areForgotten || (before != null && before.hasPositions()))) {
            return null;
        }
        Check.that(
                !areForgotten && !before.hasKeys(),
                () -> "memory " + inputs.keys().getShape() + " at position " + start + " without "
                        + ForwardParameters.MEMORY_POSITIONS
                        + " follows another memory with positions: expected positions"
                        + " for each other memory; pass the same array as before, or add the positions to the forward"
                        + " parameters; attention: " + attention);
        return before.positions();
    }

    /**
     * The tokens of a step for which a cache has room.
     *
     * @param tokens the tokens of the step
     * @param allTokens the cached tokens, of which these are the last
     * @param hidden which of all are hidden, (B, n); null for none
     * @param cached the cached tokens
     * @param commit ends the step
     */
    record Appended(Positions tokens, Positions allTokens, NDArray hidden, CachedTokens cached, Runnable commit) {}

    /** Makes room for the tokens of a step in the cache. */
    private Appended appendTo(KeyValueCache cache) {
        NDArray x = inputs.queries();
        long batch = x.getShape().get(0);
        int count = (int) x.getShape().get(1);
        CachedTokens cached = cache.beginStep(attention, params, count);
        int length = cached.length();
        requireOrder(length, count);
        if (inputs.keyMask() != null) {
            Visibility.requireOfKeys(inputs.keyMask(), x, count, (long) length + count);
        }
        Positions tokens = tokens(length);
        Shape shape = new Shape(batch, options.keyValueHeadCount(), count, options.headSize());
        Positions allTokens = cached.append(shape, x, tokens, !cache.hasContinued(params), hiddenKeys());
        NDArray hidden = temporaries.addUnless(null, cached.hidden(x.getManager()));
        return new Appended(
                tokens,
                allTokens,
                hidden,
                cached,
                () -> cache.commit(attention, allTokens.first() + allTokens.count()));
    }

    /** Computes the keys and values of a step, which a kernel writes. */
    private CachedTokens.KeysAndValues projected(Appended appended, KeyValueCache cache) {
        NDArray values = valueHeads();
        appended.cached.checkStep(values, cache.mistakes());
        return new CachedTokens.KeysAndValues(
                appended.tokens,
                appended.allTokens,
                encodedKeys(appended.tokens),
                values,
                features(appended.tokens, true),
                appended.hidden,
                appended.cached,
                appended.commit);
    }

    private Kernel.Operands operands(NDArray queries, CachedTokens.KeysAndValues keysAndValues) {
        AttentionCall call = call(keysAndValues).with(features(keysAndValues.queries(), false), keysAndValues);
        NDArray encoded = terms.encode(temporaries, call, queries, false);
        Visibility visibility = new Visibility(
                temporaries,
                attention.order(),
                call,
                inputs.isSelf(),
                keysAndValues.hiddenKeys(),
                inputs.pairMask(),
                queries);
        checkMask(call);
        checkEncodings();
        return new Kernel.Operands(attention, call, queries, withFactors(call, encoded), keysAndValues, visibility);
    }

    /** The results of all queries, (B, N, T, V), computed in slices that fit in the processor's caches: a new array. */
    private NDArray attend(Kernel chosen) {
        Kernel.Operands operands = chosen.operands;
        AttentionCall call = operands.call();
        int length = call.queries().count();
        int queriesPerSlice = queriesPerSlice(chosen);
        if (queriesPerSlice >= length) {
            return attend(chosen, call, 0, length);
        }
        AttentionCall.Shared shared = new AttentionCall.Shared(created -> {
            NDScope.unregister(created);
            return temporaries.add(created);
        });
        AttentionCall whole = call.inSlices(shared, operands.keysAndValues().keys());
        NDList slices = new NDList();
        NDArray joined = null;
        for (int from = 0; from < length; from += queriesPerSlice) {
            int count = Math.min(queriesPerSlice, length - from);
            NDArray slice = temporaries.add(attend(chosen, whole, from, count));
            if (training || !Arithmetic.isInPlaceSafe(slice)) {
                slices.add(slice);
                continue;
            }
            // separate slices would be allocated between the large arrays of scores and fragment the memory
            if (joined == null) {
                Shape shape = Shape.update(slice.getShape(), 2, length);
                joined = temporaries.add(slice.getManager().create(shape, slice.getDataType(), slice.getDevice()));
            }
            joined.set(NDIndex.sliceAxis(2, from, (long) from + count), slice);
            slice.close();
        }
        return joined == null ? NDArrays.concat(slices, 2) : temporaries.remove(joined);
    }

    /** The number of queries whose scores fit in the processor's caches; with a window, at most its size. */
    private int queriesPerSlice(Kernel chosen) {
        Kernel.Operands operands = chosen.operands;
        int keyCount = operands.call().keys().count();
        int queryCount = operands.call().queries().count();
        Integer keysOfOne = operands.visibility().reach();
        if (keysOfOne != null) {
            int reach = Math.max(keysOfOne, MIN_QUERIES_PER_SLICE);
            if (keyCount > 2L * reach) {
                queryCount = Math.min(queryCount, reach);
                keyCount = 2 * reach;
            }
        }
        long size = HostData.isHost(operands.queries().getDevice()) ? SLICE_SIZE_ON_CPU : SLICE_SIZE_ON_GPU;
        long perQuery = keyCount * Math.max(chosen.sizePerQueryAndKey(), terms.sizePerQueryAndKey(operands.call()));
        return perQuery == 0
                ? queryCount
                : (int) Math.max(MIN_QUERIES_PER_SLICE, Math.min(queryCount, size / perQuery));
    }

    private NDArray attend(Kernel chosen, AttentionCall whole, int from, int count) {
        try (Temporaries temporariesOfSlice = new Temporaries()) {
            int[] range = chosen.operands.visibility().range(from, count);
            Positions keys = slice(
                    temporariesOfSlice, whole.keys(), range[0] - whole.keys().first(), range[1] - range[0]);
            Positions queries = slice(temporariesOfSlice, whole.queries(), from, count);
            AttentionCall slice = whole.slice(temporariesOfSlice, queries, keys);
            return temporariesOfSlice.remove(chosen.attend(temporariesOfSlice, slice));
        }
    }

    /** Positions in the form that an attention needs, on the device of an array. */
    static Positions like(Temporaries temporaries, Positions given, NDArray x) {
        Positions converted = given.like(x);
        temporaries.addUnless(given.array(), converted.array());
        return converted;
    }

    static Positions slice(Temporaries temporaries, Positions tokens, int from, int count) {
        Positions slice = tokens.slice(from, count);
        temporaries.addUnless(tokens.array(), slice.array());
        return slice;
    }

    /**
     * Rejects a step whose tokens would see later tokens, unlike the earlier tokens of their chunk, and warns of a
     * prompt whose tokens do.
     */
    private void requireOrder(int start, long length) {
        if (start == 0 && length > 1 && !options.causal() && !inputs.differsByQuery()) {
            InputMistakes.reportPrompt(inputs.queries().getShape());
        }
        Integer chunkSize = options.chunkSize();
        Check.that(
                start == 0
                        || length == 1
                        || (chunkSize != null && Positions.explicit(null, params) == null && start % chunkSize == 0)
                        || options.causal()
                        || inputs.differsByQuery(),
                () -> "a step of " + length + " tokens at position " + start
                        + " in an attention that is not causal, without a mask that differs between queries: expected a step"
                        + " of one token, since earlier tokens did not see later ones; build the attention with"
                        + " optCausal(true), or pass a mask (B, " + length + ", " + (start + length) + "); attention: "
                        + attention);
    }

    /** Rejects a step of a causal attention without the keys of earlier tokens, which its queries would not see. */
    private void requireEarlierKeys(int start, int length, long keys) {
        Check.that(
                !options.causal() || keys >= start + length,
                () -> "a step of " + length + " tokens at position " + start + " gives a causal attention " + keys
                        + " keys: expected [x], or the same array as keys and queries, so that they are"
                        + " cached, or at least as many keys as tokens, " + (start + length)
                        + "; or build a cross-attention with optCausal(false); attention: " + attention);
    }

    private Positions tokens(int first) {
        NDArray queries = inputs.queries();
        boolean readsPositions = attention.queryFactors() != null;
        Positions unchecked = Positions.of(queries, 1, Positions.explicit(null, params), first);
        Positions given = readsPositions ? unchecked.below(ForwardParameters.UNLIMITED, true) : unchecked.signed();
        attention.mistakes().checkPositions(given);
        return like(temporaries, given, queries);
    }

    private AttentionCall call(CachedTokens.KeysAndValues keysAndValues) {
        AttentionCall call = call(keysAndValues.queries(), keysAndValues.tokens());
        boolean isStep =
                keysAndValues.cached() != null && keysAndValues.queries().count() == 1;
        return isStep ? call.asStep(keysAndValues.cached().shared()) : call;
    }

    AttentionCall call(Positions queries, Positions keys) {
        return new AttentionCall(
                attention,
                DataTypes.ofScores(inputs.queries()),
                parameterStore,
                training,
                params,
                queries,
                keys,
                options.causal(),
                options.scale());
    }

    /** The features of queries or keys by term, (B, n, W). */
    private Map<Term, NDArray> features(Positions tokens, boolean areKeys) {
        NDArray input = areKeys ? inputs.keys() : inputs.queries();
        return terms.features(temporaries, call(tokens, tokens), input, areKeys);
    }

    private NDArray encodedKeys(Positions tokens) {
        return terms.encode(temporaries, call(tokens, tokens), keyHeads(), true);
    }

    /** A projection, from (B, T, …) to (B, T, …): a new array. */
    private NDArray linear(Linear projection, NDArray input) {
        NDArray weight = value(projection, 0, input);
        NDArray bias = projection.getDirectParameters().size() > 1 ? value(projection, 1, input) : null;
        boolean isHalf = input.getDataType() == DataType.FLOAT16 && !training && !input.hasGradient();
        TorchFunctions functions = isHalf && !weight.hasGradient() ? TorchFunctions.of(input) : null;
        if (functions != null) {
            return functions.linear(input, weight, bias);
        }
        return projection.forward(parameterStore, new NDList(input), training).singletonOrThrow();
    }

    /** The weight (0) or the bias (1) of a projection, on the device and of the data type of its input. */
    NDArray value(Linear projection, int index, NDArray input) {
        return value(projection.getDirectParameters().valueAt(index), input, "projections");
    }

    /** A parameter on the device and of the data type of an input. */
    NDArray value(Parameter parameter, NDArray input, String what) {
        NDArray value = DataTypes.value(attention, parameter, parameterStore, input, training);
        DataTypes.requireSame(input, value, what);
        return value;
    }

    private NDArray queryHeads() {
        return ofUnitLength(heads(
                attention.getQueryProjection(),
                inputs.queries(),
                options.headCount(),
                options.headSize(),
                attention.getQueryNorm()));
    }

    private NDArray keyHeads() {
        return ofUnitLength(heads(
                attention.getKeyProjection(),
                inputs.keys(),
                options.keyValueHeadCount(),
                options.headSize(),
                attention.getKeyNorm()));
    }

    private NDArray valueHeads() {
        NDArray values = heads(
                attention.getValueProjection(),
                inputs.values(),
                options.keyValueHeadCount(),
                options.sizeOfValues(),
                null);
        Double scale = options.valueScale();
        return scale == null ? values : temporaries.add(Arithmetic.multiply(values, scale));
    }

    /** A projection split into heads, from (B, T, D) to (B, N, T, size), and normalized unless the norm is null. */
    private NDArray heads(Linear projection, NDArray input, int count, int size, Block norm) {
        Shape shape = input.getShape();
        NDArray flat = temporaries.add(linear(projection, input));
        Block normOfHead = options.normOfAllHeads() ? null : norm;
        NDArray all = limited(normOfHead == norm ? flat : normalize(norm, flat));
        if (shape.get(1) == 1 && normOfHead == null) {
            return temporaries.add(all.reshape(shape.get(0), count, 1, size));
        }
        NDArray split = temporaries.add(all.reshape(shape.get(0), shape.get(1), count, size));
        return temporaries.add((normOfHead == null ? split : normalize(normOfHead, split)).transpose(0, 2, 1, 3));
    }

    private NDArray limited(NDArray projected) {
        Double limit = options.projectionLimit();
        return limit == null
                ? projected
                : temporaries.addResult(() -> projected
                        .minimum(Arithmetic.number(projected, limit))
                        .maximum(Arithmetic.number(projected, -limit)));
    }

    /** Queries or keys divided by their lengths in a cosine attention, as torch's {@code normalize} does it. */
    private NDArray ofUnitLength(NDArray heads) {
        if (!options.cosine()) {
            return heads;
        }
        return temporaries.addResult(() -> {
            NDArray wide = Arithmetic.toType(heads, DataTypes.ofScores(heads));
            NDArray squares = wide.mul(wide).sum(new int[] {3}, true);
            NDArray limited = squares.maximum(Arithmetic.number(squares, 1e-24));
            return Arithmetic.toType(wide.div(limited.sqrt()), heads.getDataType());
        });
    }

    private NDArray normalize(Block norm, NDArray heads) {
        NDArray normalized =
                norm.forward(parameterStore, new NDList(heads), training).singletonOrThrow();
        Check.that(
                normalized.getShape().equals(heads.getShape()),
                () -> "the norm " + Settings.classOf(norm) + " returned " + normalized.getShape() + " for "
                        + heads.getShape() + ": expected the same shape; use a block that normalizes the last axis");
        return temporaries.addUnless(heads, normalized);
    }

    /** Warns about a mask of all keys that is probably a mistake. */
    void checkMask(AttentionCall call) {
        NDArray mask = inputs.mask();
        long keys = (long) call.keys().first() + call.keys().count();
        if (mask == null
                || !checksMask
                || (mask == inputs.keyMask() && mask.getShape().get(1) != keys)) {
            return;
        }
        // a window always has the nearest visible key
        Visibility.Order order = mask == inputs.keyMask() && attention.order().countsTokens()
                ? attention.order().withoutWindow()
                : attention.order();
        attention
                .mistakes()
                .checkMask(
                        mask,
                        Visibility.isAdded(mask),
                        options.causal(),
                        call.queries().count(),
                        query -> order.range(call, query, 1));
    }

    /** Warns about encodings that are meant for causal attention, in an attention whose queries see later keys. */
    private void checkEncodings() {
        if (options.causal() || inputs.queries().getShape().get(1) == 1 || inputs.differsByQuery()) {
            return;
        }
        for (RelativeEncoding encoding : terms.encodings()) {
            if (encoding.isForCausalAttention()) {
                InputMistakes.reportEncoding(Settings.classOf(encoding));
            }
        }
    }

    private NDArray withFactors(AttentionCall call, NDArray queries) {
        NDArray scaled = attention.queryFactors() == null
                ? queries
                : temporaries.addResult(
                        () -> queries.mul(attention.queryFactors().broadcastRows(call.queries(), queries, 2)));
        if (attention.getTemperature() == null) {
            return scaled;
        }
        NDArray temperature = value(attention.getTemperature(), queries, "temperature");
        return temporaries.addResult(() -> {
            NDArray factors = temperature.reshape(1, -1, 1, 1);
            return scaled.mul(options.cosine() ? factors.exp().minimum(Arithmetic.number(factors, 100)) : factors);
        });
    }

    @Override
    public void close() {
        temporaries.close();
    }
}
