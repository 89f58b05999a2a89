package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.internal.Positions;
import java.util.List;

/**
 * The context of one attention call, for a {@link RelativeEncoding}.
 *
 * <p>Of queries and keys, {@code first()} is the index of the first token, from 0, and {@code length()} the number of
 * tokens, n. {@code positions()} are the positions that the forward was given: (1 or B, n), or (axes, 1 or B, n), INT32
 * or FLOAT64, on the device of the tokens, the attention's to close; null if each token's position is its index.
 * {@code end()} is one more than the greatest position, or a greater number.
 *
 * @param parameterStore gives the values of the encoding's parameters
 * @param training whether the attention is trained
 * @param queries the T queries, at least one
 * @param keys the F keys, at least one, those of a cache included
 * @param sequenceLengths the length of each sequence of the batch, without padding, for an encoding whose
 *     {@linkplain RelativeEncoding#keysDependOnLength keys depend on it}; with a cache and positions, one more than the
 *     greatest position so far, a single one if it is the same for all; null if all have the same, or if the positions
 *     of queries and keys tell it
 * @param causal whether keys after a query are hidden by the attention: what is given for them does not matter, as long
 *     as it is finite
 * @param scale what the products of queries and keys are multiplied by, usually 1 / √H
 * @param shared what {@link RelativeEncoding#sharedTerm} gave, where the forward is done in several parts; null where
 *     it is done in one, where sharedTerm gave nothing, or outside an attention; the attention's to close
 * @param sharedKeys the keys that sharedTerm was given; null where shared is null
 */
public record AttentionCall(
        ParameterStore parameterStore,
        boolean training,
        Positions queries,
        Positions keys,
        List<Integer> sequenceLengths,
        boolean causal,
        double scale,
        NDArray shared,
        Positions sharedKeys) {

    /** A call that is done in one part. */
    AttentionCall(
            ParameterStore parameterStore,
            boolean training,
            Positions queries,
            Positions keys,
            List<Integer> sequenceLengths,
            boolean causal,
            double scale) {
        this(parameterStore, training, queries, keys, sequenceLengths, causal, scale, null, null);
    }

    /** The same call with what its parts share. */
    AttentionCall with(NDArray term) {
        return new AttentionCall(parameterStore, training, queries, keys, sequenceLengths, causal, scale, term, keys);
    }

    /** The same call for some of its queries and keys only. */
    AttentionCall of(Positions someQueries, Positions someKeys) {
        return new AttentionCall(
                parameterStore, training, someQueries, someKeys, sequenceLengths, causal, scale, shared, sharedKeys);
    }

    /** Whether positions were given, so that they are not the indices of queries and keys. */
    boolean hasPositions() {
        return queries.positions() != null || keys.positions() != null;
    }
}
