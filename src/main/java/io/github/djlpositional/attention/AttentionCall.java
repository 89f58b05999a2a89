package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.DataTypes;
import io.github.djlpositional.internal.ForwardParameters;
import io.github.djlpositional.internal.Temporaries;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The context of one attention call, for a {@link RelativeEncoding}: T queries and F keys, at least one of each,
 * including cached keys. A forward that processes the queries in slices has a call for each slice.
 */
public final class AttentionCall {

    /** The state that all calls of a forward share. */
    private record Forward(
            Object block,
            DataType scoreType,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> parameters,
            boolean causal,
            double scale) {}

    /**
     * What is known of the tokens.
     *
     * @param queries the features that terms computed of the queries, (B, T, W)
     * @param keys those of the keys, (B, F, W)
     * @param hiddenKeys which keys a mask of keys hides, (B, F), INT32; null for none
     */
    private record Features(Map<Term, NDArray> queries, Map<Term, NDArray> keys, NDArray hiddenKeys) {}

    private final Forward forward;
    private final Positions queries;
    private final Positions keys;
    private final Features features;

    /** Null for a forward that is not processed in slices. */
    private final AllKeys allKeys;

    /** Arrays that the slices of the forward, or the steps of a cache, share; null for none. */
    private final Shared shared;

    private AttentionCall(
            Forward forward, Positions queries, Positions keys, Features features, AllKeys allKeys, Shared shared) {
        this.forward = forward;
        this.queries = queries;
        this.keys = keys;
        this.features = features;
        this.allKeys = allKeys;
        this.shared = shared;
    }

    AttentionCall(
            Object block,
            DataType scoreType,
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> parameters,
            Positions queries,
            Positions keys,
            boolean causal,
            double scale) {
        this(
                new Forward(
                        block,
                        scoreType,
                        parameterStore,
                        training,
                        parameters == null ? new PairList<>() : parameters,
                        causal,
                        scale),
                queries,
                keys,
                new Features(Map.of(), Map.of(), null),
                null,
                null);
    }

    /** Arrays that the slices of a forward, or the steps of a cache, share. This object owns them. */
    static final class Shared implements AutoCloseable {

        /**
         * An array by distance; for an array that does not depend on the distance, first and last are 0.
         *
         * @param first the first distance
         * @param last the last distance
         */
        private record ArrayByDistance(NDArray array, int first, int last) {
            boolean covers(int firstNeeded, int lastNeeded) {
                return first <= firstNeeded && lastNeeded <= last;
            }
        }

        private final UnaryOperator<NDArray> attach;
        private final Map<Object, ArrayByDistance> arrays = new HashMap<>();

        /**
         * Creates an empty object.
         *
         * @param attach attaches an array that was just created to its owner
         */
        Shared(UnaryOperator<NDArray> attach) {
            this.attach = attach;
        }

        private ArrayByDistance get(
                Object id, int first, int last, Function<ArrayByDistance, ArrayByDistance> compute) {
            ArrayByDistance before = arrays.get(id);
            if (before != null && before.covers(first, last)) {
                return before;
            }
            ArrayByDistance wider = compute.apply(before);
            ArrayByDistance owned = new ArrayByDistance(attach.apply(wider.array), wider.first, wider.last);
            arrays.put(id, owned);
            if (before != null) {
                before.array.close();
            }
            return owned;
        }

        @Override
        public void close() {
            arrays.values().forEach(entry -> entry.array.close());
        }
    }

    /** All keys of a forward that is processed in slices, and where they begin. */
    private record AllKeys(NDArray array, int first, int largestDistance) {}

    /** This call, to be processed in slices that share arrays; the keys are (B, K, F, H). */
    AttentionCall inSlices(Shared sharedBySlices, NDArray keyHeads) {
        int last = Math.max(queries.first() + queries.count(), keys.first() + keys.count()) - 1;
        AllKeys all = new AllKeys(keyHeads, keys.first(), last);
        return new AttentionCall(forward, queries, keys, features, all, sharedBySlices);
    }

    /** This call with features of its queries and its keys; null keeps the features of its queries. */
    AttentionCall with(Map<Term, NDArray> ofQueries, Map<Term, NDArray> ofKeys) {
        return with(new Features(ofQueries == null ? features.queries : ofQueries, ofKeys, features.hiddenKeys));
    }

    /** This call with what is known of its queries and its keys; null keeps the features of its queries. */
    AttentionCall with(Map<Term, NDArray> ofQueries, CachedTokens.KeysAndValues ofKeys) {
        return with(
                new Features(ofQueries == null ? features.queries : ofQueries, ofKeys.features(), ofKeys.hiddenKeys()));
    }

    /** This call with the keys that a mask hides, (B, F); null for none. */
    AttentionCall withHidden(NDArray hiddenKeys) {
        return with(new Features(features.queries, features.keys, hiddenKeys));
    }

    private AttentionCall with(Features other) {
        return new AttentionCall(forward, queries, keys, other, allKeys, shared);
    }

    /** This call as a step of one token, which shares arrays with other steps. */
    AttentionCall asStep(Shared sharedBySteps) {
        return new AttentionCall(forward, queries, keys, features, null, sharedBySteps);
    }

    /** A slice of this call. */
    AttentionCall slice(Temporaries temporaries, Positions someQueries, Positions someKeys) {
        Features some = new Features(
                slice(temporaries, features.queries, queries, someQueries),
                slice(temporaries, features.keys, keys, someKeys),
                features.hiddenKeys == null ? null : slice(temporaries, features.hiddenKeys, keys, someKeys));
        return new AttentionCall(forward, someQueries, someKeys, some, allKeys, shared);
    }

    private static Map<Term, NDArray> slice(
            Temporaries temporaries, Map<Term, NDArray> features, Positions all, Positions tokens) {
        Map<Term, NDArray> slices = new HashMap<>();
        features.forEach((term, array) -> slices.put(term, slice(temporaries, array, all, tokens)));
        return slices;
    }

    private static NDArray slice(Temporaries temporaries, NDArray ofTokens, Positions all, Positions tokens) {
        return Kernel.slice(temporaries, ofTokens, 1, tokens.first() - all.first(), tokens.count());
    }

    /** {@return the queries of the call} */
    public Positions queries() {
        return queries;
    }

    /** {@return the keys of the call} */
    public Positions keys() {
        return keys;
    }

    /**
     * {@return the value of a parameter, on the device and of the data type of an array; it belongs to the attention}
     *
     * @param parameter a parameter of the encoding
     * @param like an array that the value is used with
     * @throws IllegalArgumentException if the parameter has another data type; FLOAT16 is converted to FLOAT32, in
     *     which an attention of FLOAT16 computes its scores
     */
    public NDArray value(Parameter parameter, NDArray like) {
        NDArray value = DataTypes.value(forward.block, parameter, forward.parameterStore, like, forward.training);
        if (like.getDataType() == DataType.FLOAT32 && value.getDataType() == DataType.FLOAT16) {
            return Arithmetic.toType(value, DataType.FLOAT32);
        }
        DataTypes.requireSame(like, value, "encoding's parameters");
        return value;
    }

    /** {@return the data type of the scores: FLOAT32 in an attention of FLOAT16} */
    public DataType scoreType() {
        return forward.scoreType;
    }

    /** {@return the store that holds the values of the encoding's parameters} */
    public ParameterStore parameterStore() {
        return forward.parameterStore;
    }

    /** {@return whether the attention is being trained} */
    public boolean training() {
        return forward.training;
    }

    /** {@return the forward parameters, which may hold data for the encoding; do not change them} */
    public PairList<String, Object> parameters() {
        return forward.parameters;
    }

    /**
     * {@return whether the attention hides keys after a query: the terms of such keys do not matter, as long as they
     * are finite}
     */
    public boolean causal() {
        return forward.causal;
    }

    /** {@return the factor of the products of queries and keys, usually 1 / √H} */
    public double scale() {
        return forward.scale;
    }

    /** The features that a term computed for the queries, (B, T, W); null for none. */
    NDArray queryFeatures(Term term) {
        return features.queries.get(term);
    }

    /** The features that a term computed for the keys, (B, F, W); null for none. */
    NDArray keyFeatures(Term term) {
        return features.keys.get(term);
    }

    /**
     * {@return 1 for each key that the mask of keys leaves visible, and 0 for others, (B, F), a new array; null without
     * such a mask} An encoding that sums over tokens multiplies by it, so that padding contributes nothing.
     *
     * @param type the type of the result
     */
    public NDArray visibleKeys(DataType type) {
        return features.hiddenKeys == null
                ? null
                : Temporaries.result(() -> Arithmetic.toType(features.hiddenKeys.logicalNot(), type));
    }

    /** {@return whether queries or keys have explicit positions, rather than their indices} */
    public boolean hasPositions() {
        return queries.array() != null || keys.array() != null;
    }

    /** {@return whether positions of queries or keys are floating-point numbers, such as times} */
    public boolean hasRealPositions() {
        return queries.areReal() || keys.areReal();
    }

    /**
     * {@return the distance between each query and each key, the key's position minus the query's: (1 or B, T, F), a
     * new array} Distances are computed in INT32 or FLOAT64, and then converted.
     *
     * @param like an array on the device of the result
     * @param type the type of the result; an integer type in an encoding that takes no real positions
     * @throws IllegalArgumentException for an integer type if positions are floating-point numbers; if they are on
     *     several axes
     */
    public NDArray distancesOfPairs(NDArray like, DataType type) {
        DataType exact = hasRealPositions() && !type.isInteger() ? DataType.FLOAT64 : DataType.INT32;
        return Temporaries.result(() -> {
            NDArray keyPositions = keys.toArray(like, exact).expandDims(1);
            NDArray queryPositions = queries.toArray(like, exact).expandDims(2);
            return Arithmetic.toType(keyPositions.sub(queryPositions), type);
        });
    }

    /**
     * {@return the consecutive distances between the indices of queries and keys, beginning with that of the first key
     * and the last query; without those of keys after all queries if the attention is {@linkplain #causal causal}}
     *
     * @param like an array with the data type and the device of the biases
     */
    public Distances distances(NDArray like) {
        Distances all = allDistances(like);
        int causalCount = Math.max(keys.count() + 1, 1 - all.first());
        return forward.causal && causalCount < all.size() ? Distances.consecutive(like, all.first(), causalCount) : all;
    }

    /** All distances between the indices of queries and keys, T + F - 1 of them. */
    Distances allDistances(NDArray like) {
        int first = keys.first() - (queries.first() + queries.count() - 1);
        return Distances.consecutive(like, first, queries.count() + keys.count() - 1);
    }

    /**
     * Returns an array that depends on parameters only. It is computed once for all slices of a forward, or for the
     * steps of a cache.
     *
     * @param id an object that identifies the array, such as a parameter; no other encoding uses it
     * @param compute creates the array, which the attention closes
     */
    public NDArray shared(Object id, Supplier<NDArray> compute) {
        return shared == null
                ? compute.get()
                : shared.get(id, 0, 0, none -> new Shared.ArrayByDistance(compute.get(), 0, 0)).array;
    }

    /**
     * Returns a slice of an array by distance, which is shared like {@link #shared(Object, Supplier)}. For the steps of
     * a cache, it is computed for more distances than needed, and again when they do not suffice.
     *
     * @param id an object that identifies the array, such as a parameter; no other encoding uses it
     * @param axis the axis of the distances
     * @param needed consecutive distances
     * @param compute creates the array for consecutive distances; the attention closes it
     */
    public NDArray shared(Object id, int axis, Distances needed, Function<Distances, NDArray> compute) {
        if (shared == null) {
            return compute.apply(needed);
        }
        Shared.ArrayByDistance whole = sharedByDistance(id, needed, compute);
        return slice(whole.array, needed.like(), axis, needed.first() - whole.first, needed.size());
    }

    /**
     * Returns a slice of an array by key, which is shared by all parts of a forward.
     *
     * @param id an object that identifies the array; no other encoding uses it
     * @param axis the axis of the keys
     * @param keysOfCall the keys of this call, (B, K, F, H)
     * @param compute creates the array for the keys that are passed to it; the attention closes the array
     */
    public NDArray shared(Object id, int axis, NDArray keysOfCall, UnaryOperator<NDArray> compute) {
        if (allKeys == null) {
            return compute.apply(keysOfCall);
        }
        NDArray all = shared(id, () -> compute.apply(allKeys.array));
        return slice(all, keysOfCall, axis, keys.first() - allKeys.first, keys.count());
    }

    /** The whole array by distance that steps share. */
    NDArray wholeByDistance(Object id, Distances needed, Function<Distances, NDArray> compute) {
        return sharedByDistance(id, needed, compute).array;
    }

    /** The array that steps share has twice as many distances to earlier keys as needed. */
    private Shared.ArrayByDistance sharedByDistance(Object id, Distances needed, Function<Distances, NDArray> compute) {
        int last = needed.first() + needed.size() - 1;
        return shared.get(id, needed.first(), last, before -> {
            int first = allKeys != null
                    ? -allKeys.largestDistance
                    : Math.max(-ForwardParameters.UNLIMITED, 2 * needed.first() - 1);
            int end = allKeys != null ? allKeys.largestDistance : last;
            int from = Math.min(Math.min(first, needed.first()), before == null ? 0 : before.first);
            int to = Math.max(Math.max(end, last), before == null ? last : before.last);
            return new Shared.ArrayByDistance(
                    compute.apply(Distances.consecutive(needed.like(), from, to - from + 1)), from, to);
        });
    }

    private static NDArray slice(NDArray array, NDArray like, int axis, int from, int count) {
        return array.get(like.getManager(), NDIndex.sliceAxis(axis, from, (long) from + count));
    }
}
