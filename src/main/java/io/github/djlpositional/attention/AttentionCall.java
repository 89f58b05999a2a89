package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.Positions;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * The context of one attention call, for a {@link RelativeEncoding}: T queries and F keys, at least one of each,
 * including those of a cache. A forward that is processed in parts has a call for each part.
 */
public final class AttentionCall {

    /**
     * What all parts of a forward share.
     *
     * @param term the shared term; null for none
     * @param keys all keys of the forward, if there is a shared term
     * @param cached the cache of a step of one token; null in other forwards
     */
    private record Shared(
            ParameterStore parameterStore,
            boolean training,
            boolean causal,
            double scale,
            NDArray term,
            Positions keys,
            CachedTokens cached) {}

    private final Shared all;
    private final Positions queries;
    private final Positions keys;

    private AttentionCall(Shared all, Positions queries, Positions keys) {
        this.all = all;
        this.queries = queries;
        this.keys = keys;
    }

    /**
     * A call that is processed in one part.
     *
     * @hidden
     */
    public AttentionCall(
            ParameterStore parameterStore,
            boolean training,
            Positions queries,
            Positions keys,
            boolean causal,
            double scale) {
        this(new Shared(parameterStore, training, causal, scale, null, null, null), queries, keys);
    }

    /** The same call with the term that its parts share. */
    AttentionCall with(NDArray term) {
        Shared shared = new Shared(all.parameterStore, all.training, all.causal, all.scale, term, keys, all.cached);
        return new AttentionCall(shared, queries, keys);
    }

    /** The same call as a step of one token, with a cache of arrays. */
    AttentionCall ofStep(CachedTokens cached) {
        Shared shared = new Shared(all.parameterStore, all.training, all.causal, all.scale, null, null, cached);
        return new AttentionCall(shared, queries, keys);
    }

    /** The part of this call with some of its queries and keys. */
    AttentionCall part(Positions partOfQueries, Positions partOfKeys) {
        return new AttentionCall(all, partOfQueries, partOfKeys);
    }

    /** {@return the store that gives the values of the encoding's parameters} */
    public ParameterStore parameterStore() {
        return all.parameterStore;
    }

    /** {@return whether the attention is trained} */
    public boolean training() {
        return all.training;
    }

    /** {@return the index of the first query in its sequence, from 0} */
    public int firstQuery() {
        return queries.first();
    }

    /** {@return the index of the first key in its sequence, from 0} */
    public int firstKey() {
        return keys.first();
    }

    /**
     * {@return the explicit positions of the queries, which belong to the attention: (1 or B, T), or (axes, 1 or B, T),
     * INT32 or FLOAT64, on the device of the queries; null if each query's position is its index}
     */
    public NDArray queryPositions() {
        return queries.positions();
    }

    /** {@return the positions of the keys, like {@link #queryPositions}, (1 or B, F) or (axes, 1 or B, F)} */
    public NDArray keyPositions() {
        return keys.positions();
    }

    /**
     * {@return whether the attention hides keys after a query: the terms of such keys do not matter, as long as they
     * are finite}
     */
    public boolean causal() {
        return all.causal;
    }

    /** {@return the factor of the products of queries and keys, usually 1 / √H} */
    public double scale() {
        return all.scale;
    }

    /**
     * {@return the result of {@link RelativeEncoding#sharedTerm}, which belongs to the attention; null if the forward
     * is processed in one part, if sharedTerm returned null, and outside an attention}
     */
    public NDArray shared() {
        return all.term;
    }

    /**
     * The queries with their positions.
     *
     * @hidden
     */
    public Positions queries() {
        return queries;
    }

    /**
     * The keys with their positions.
     *
     * @hidden
     */
    public Positions keys() {
        return keys;
    }

    /**
     * An array that depends on parameters only: from an earlier step of a decoder, or else computed.
     *
     * @hidden
     */
    public NDArray cached(String name, Supplier<NDArray> computed) {
        return all.cached == null ? computed.get() : all.cached.cached(name, 0, 0, none -> computed.get());
    }

    /**
     * Whether this is a step of one token with a cache, whose keys are the query's and those before it.
     *
     * @hidden
     */
    public boolean isStep() {
        return all.cached != null && !hasPositions();
    }

    /**
     * An array for the distances of the keys of a {@linkplain #isStep step}, which depends on parameters and distances
     * only: a view of what an earlier step computed, or else computed for as many distances as the function is given.
     *
     * @param axis the axis of the distances, the nearest last
     * @hidden
     */
    public NDArray byDistance(String name, int axis, NDManager receiver, IntFunction<NDArray> computed) {
        NDArray array = all.cached.cached(name, axis, keys.length(), computed);
        long end = array.getShape().get(axis);
        return array.get(receiver, NDIndex.sliceAxis(axis, end - keys.length(), end));
    }

    /**
     * All keys of the forward; null if {@link #shared} is.
     *
     * @hidden
     */
    public Positions sharedKeys() {
        return all.keys;
    }

    /**
     * Whether there are explicit positions, which are not the indices of queries and keys.
     *
     * @hidden
     */
    public boolean hasPositions() {
        return queries.positions() != null || keys.positions() != null;
    }
}
