package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Arithmetic;
import io.github.djlpositional.internal.Indices;
import io.github.djlpositional.internal.Positions;
import io.github.djlpositional.internal.Temporaries;
import io.github.djlpositional.options.Check;
import io.github.djlpositional.options.Settings;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The context of one attention call, for a {@link RelativeEncoding}: T queries and F keys, at least one of each,
 * including cached keys. A forward that is processed in parts has a call for each part.
 */
public final class AttentionCall {

    /**
     * Consecutive tokens of a sequence, and their positions.
     *
     * @param first the index of the first token, from 0
     * @param count the number of tokens, n
     * @param positions explicit positions, (1 or B, n), or (axes, 1 or B, n), INT32 or FLOAT64, on the device of the
     *     queries; they belong to the attention. Null if the position of each token is its index
     * @param end one more than the largest position; 2<sup>29</sup> if the positions are on a GPU and were not read
     */
    public record Tokens(int first, int count, NDArray positions, int end) {

        static Tokens of(Positions tokens) {
            return new Tokens(tokens.first(), tokens.length(), tokens.positions(), tokens.end());
        }

        /**
         * {@return the position of each token, (1 or B, n): a new array, or {@link #positions}}
         *
         * @param like an array on the device of the result
         * @param type the type of the result; an integer type in an encoding that takes no real positions
         * @throws IllegalArgumentException for an integer type if the positions are floating-point numbers; if they are
         *     on several axes
         */
        public NDArray toArray(NDArray like, DataType type) {
            if (positions == null) {
                return Temporaries.result(
                        () -> Indices.range(like, first, count, type).reshape(1, count));
            }
            Check.that(
                    positions.getShape().dimension() == 2,
                    () -> Positions.POSITIONS + " of shape " + positions.getShape()
                            + " are on several axes: expected one number for each token, (T) or (B, T), for this"
                            + " encoding; use a RotaryEmbeddingBlock for several axes");
            requireType(type, positions);
            return Arithmetic.toType(positions, type);
        }

        private boolean areReal() {
            return positions != null && positions.getDataType().isFloating();
        }
    }

    /** Checks that real positions or their distances are not converted to integers. */
    static void requireType(DataType type, NDArray numbers) {
        Check.that(
                !type.isInteger() || numbers.getDataType().isInteger(),
                () -> "positions or distances of shape " + numbers.getShape() + " are floating-point numbers:"
                        + " expected integers for this encoding; pass integers, or use an encoding of real positions:"
                        + " ALiBi, distance network, FIRE, Gaussian, KERPLE, learned rotary, RoPE-Mixed, rotary, Sandwich or"
                        + " T5");
    }

    /** The state that all calls of a forward share. */
    private record Forward(
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> parameters,
            boolean causal,
            double scale) {}

    /** The numbers of the queries and the keys that encodings computed, (B, n, W). */
    private record Numbers(Map<RelativeEncoding, NDArray> queries, Map<RelativeEncoding, NDArray> keys) {}

    private final Forward forward;
    private final Positions queries;
    private final Positions keys;
    private final Numbers numbers;

    /** Null for a forward in one part. */
    private final Parts parts;

    /** Arrays that the parts of the forward, or the steps of a cache, share; null for none. */
    private final Shared shared;

    private AttentionCall(
            Forward forward, Positions queries, Positions keys, Numbers numbers, Parts parts, Shared shared) {
        this.forward = forward;
        this.queries = queries;
        this.keys = keys;
        this.numbers = numbers;
        this.parts = parts;
        this.shared = shared;
    }

    AttentionCall(
            ParameterStore parameterStore,
            boolean training,
            PairList<String, Object> parameters,
            Positions queries,
            Positions keys,
            boolean causal,
            double scale) {
        this(
                new Forward(
                        parameterStore, training, parameters == null ? new PairList<>() : parameters, causal, scale),
                queries,
                keys,
                new Numbers(Map.of(), Map.of()),
                null,
                null);
    }

    /** Arrays that the parts of a forward, or the steps of a cache, share. This object owns them. */
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

    /** All keys of a forward that is processed in parts, and where they begin. */
    private record Parts(NDArray keys, int firstKey, int largestDistance) {}

    /** This call, to be processed in parts that share arrays; all keys are (B, K, F, H). */
    AttentionCall inParts(Shared sharedByParts, NDArray allKeys) {
        int last = Math.max(queries.first() + queries.length(), keys.first() + keys.length()) - 1;
        Parts whole = new Parts(allKeys, keys.first(), last);
        return new AttentionCall(forward, queries, keys, numbers, whole, sharedByParts);
    }

    /** This call with numbers of its queries and its keys; null for the numbers of queries that it has. */
    AttentionCall with(Map<RelativeEncoding, NDArray> ofQueries, Map<RelativeEncoding, NDArray> ofKeys) {
        Numbers other = new Numbers(ofQueries == null ? numbers.queries : ofQueries, ofKeys);
        return new AttentionCall(forward, queries, keys, other, parts, shared);
    }

    /** This call as a step of one token, which shares arrays with other steps. */
    AttentionCall asStep(Shared sharedBySteps) {
        return new AttentionCall(forward, queries, keys, numbers, null, sharedBySteps);
    }

    /** A part of this call. */
    AttentionCall part(Temporaries temporaries, Positions partOfQueries, Positions partOfKeys) {
        Numbers part = new Numbers(
                part(temporaries, numbers.queries, queries, partOfQueries),
                part(temporaries, numbers.keys, keys, partOfKeys));
        return new AttentionCall(forward, partOfQueries, partOfKeys, part, parts, shared);
    }

    private static Map<RelativeEncoding, NDArray> part(
            Temporaries temporaries, Map<RelativeEncoding, NDArray> numbers, Positions whole, Positions part) {
        Map<RelativeEncoding, NDArray> parts = new HashMap<>();
        int from = part.first() - whole.first();
        numbers.forEach(
                (encoding, array) -> parts.put(encoding, Kernel.part(temporaries, array, 1, from, part.length())));
        return parts;
    }

    /** The queries with their positions. */
    Positions queryPositions() {
        return queries;
    }

    /** The keys with their positions. */
    Positions keyPositions() {
        return keys;
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

    /** {@return the queries of the call} */
    public Tokens queries() {
        return Tokens.of(queries);
    }

    /** {@return the keys of the call} */
    public Tokens keys() {
        return Tokens.of(keys);
    }

    /**
     * {@return the numbers that an encoding computed for the queries, (B, T, W); they belong to the attention}
     *
     * @param encoding the encoding whose term is computed
     * @throws IllegalArgumentException if its {@link RelativeEncoding#tokenNumbers} returned none
     */
    public NDArray queryNumbers(RelativeEncoding encoding) {
        return numbers(numbers.queries, encoding, "queries");
    }

    /**
     * {@return the numbers that an encoding computed for the keys, (B, F, W); they belong to the attention}
     *
     * @param encoding the encoding whose term is computed
     * @throws IllegalArgumentException if its {@link RelativeEncoding#tokenNumbers} returned none
     */
    public NDArray keyNumbers(RelativeEncoding encoding) {
        return numbers(numbers.keys, encoding, "keys");
    }

    private static NDArray numbers(Map<RelativeEncoding, NDArray> numbers, RelativeEncoding encoding, String what) {
        Check.that(
                numbers.containsKey(encoding),
                () -> Settings.classOf(encoding) + " has no numbers of " + what + " here: expected the computation of"
                        + " a term, and numbers from tokenNumbers; return them for the " + what);
        return numbers.get(encoding);
    }

    /** {@return whether queries or keys have explicit positions, rather than their indices} */
    public boolean hasPositions() {
        return queries.positions() != null || keys.positions() != null;
    }

    /** {@return whether positions of queries or keys are floating-point numbers, such as times} */
    public boolean hasRealPositions() {
        return queries().areReal() || keys().areReal();
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
            NDArray keyPositions = keys().toArray(like, exact).expandDims(1);
            NDArray queryPositions = queries().toArray(like, exact).expandDims(2);
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
        int causalCount = Math.max(keys.length() + 1, 1 - all.first());
        return forward.causal && causalCount < all.size() ? Distances.consecutive(like, all.first(), causalCount) : all;
    }

    /** All distances between the indices of queries and keys, T + F - 1 of them. */
    Distances allDistances(NDArray like) {
        int first = keys.first() - (queries.first() + queries.length() - 1);
        return Distances.consecutive(like, first, queries.length() + keys.length() - 1);
    }

    /**
     * Returns an array that depends on parameters only. It is computed once for all parts of a forward, or for the
     * steps of a cache.
     *
     * @param id an object that identifies the array, such as a parameter; no other encoding uses it
     * @param compute creates the array, which the attention closes
     */
    public NDArray once(Object id, Supplier<NDArray> compute) {
        return shared == null
                ? compute.get()
                : shared.get(id, 0, 0, none -> new Shared.ArrayByDistance(compute.get(), 0, 0)).array;
    }

    /**
     * Returns a slice of an array by distance, which depends on parameters only. The array is computed once for all
     * parts of a forward. For the steps of a cache, it is computed for more distances than needed, and again when they
     * do not suffice.
     *
     * @param id an object that identifies the array, such as a parameter; no other encoding uses it
     * @param axis the axis of the distances
     * @param needed consecutive distances
     * @param compute creates the array for consecutive distances; the attention closes it
     */
    public NDArray byDistance(Object id, int axis, Distances needed, Function<Distances, NDArray> compute) {
        if (shared == null) {
            return compute.apply(needed);
        }
        Shared.ArrayByDistance whole = sharedByDistance(id, needed, compute);
        return slice(whole.array, needed.like(), axis, needed.first() - whole.first, needed.size());
    }

    /** The whole array of {@link #byDistance} that steps share. */
    NDArray wholeByDistance(Object id, Distances needed, Function<Distances, NDArray> compute) {
        return sharedByDistance(id, needed, compute).array;
    }

    /** The array that steps share has twice as many distances to earlier keys as needed. */
    private Shared.ArrayByDistance sharedByDistance(Object id, Distances needed, Function<Distances, NDArray> compute) {
        int last = needed.first() + needed.size() - 1;
        return shared.get(id, needed.first(), last, before -> {
            int first = parts != null ? -parts.largestDistance : Math.max(-Positions.UNLIMITED, 2 * needed.first() - 1);
            int end = parts != null ? parts.largestDistance : last;
            int from = Math.min(Math.min(first, needed.first()), before == null ? 0 : before.first);
            int to = Math.max(Math.max(end, last), before == null ? last : before.last);
            return new Shared.ArrayByDistance(
                    compute.apply(Distances.consecutive(needed.like(), from, to - from + 1)), from, to);
        });
    }

    /**
     * Returns a slice of an array by key, which is computed once for all parts of a forward.
     *
     * @param id an object that identifies the array; no other encoding uses it
     * @param axis the axis of the keys
     * @param keysOfCall the keys of this call, (B, K, F, H)
     * @param compute creates the array for the keys that are passed to it; the attention closes the array
     */
    public NDArray byKey(Object id, int axis, NDArray keysOfCall, UnaryOperator<NDArray> compute) {
        if (parts == null) {
            return compute.apply(keysOfCall);
        }
        NDArray all = once(id, () -> compute.apply(parts.keys));
        return slice(all, keysOfCall, axis, keys.first() - parts.firstKey, keys.length());
    }

    private static NDArray slice(NDArray array, NDArray like, int axis, int from, int count) {
        return array.get(like.getManager(), NDIndex.sliceAxis(axis, from, (long) from + count));
    }
}
