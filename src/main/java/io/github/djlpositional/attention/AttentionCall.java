package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.training.ParameterStore;
import java.util.List;

/**
 * What a {@link RelativeEncoding} is told of the attention that calls it. Key j has position j; query i has position
 * {@code firstQuery + i}.
 *
 * @param parameterStore gives the values of the encoding's parameters
 * @param training whether the attention is trained
 * @param firstQuery the position of the first query, from 0
 * @param queryLength T, at least 1
 * @param keyLength F, at least 1, keys of a cache included
 * @param sequenceLengths the length of each sequence of the batch, without padding, for an encoding whose
 *     {@linkplain RelativeEncoding#keysDependOnLength keys depend on it}; null if all have the same
 * @param causal whether keys after a query are hidden by the attention: what is given for them does not matter, as long
 *     as it is finite
 * @param scale what the products of queries and keys are multiplied by, usually 1 / √H
 * @param shared what {@link RelativeEncoding#sharedTerm} gave, where the forward is done in several parts; null where
 *     it is done in one, where sharedTerm gave nothing, or outside an attention; the attention's to close
 */
public record AttentionCall(
        ParameterStore parameterStore,
        boolean training,
        int firstQuery,
        int queryLength,
        int keyLength,
        List<Integer> sequenceLengths,
        boolean causal,
        double scale,
        NDArray shared) {

    /** The same call with what its parts share. */
    AttentionCall with(NDArray term) {
        return new AttentionCall(
                parameterStore, training, firstQuery, queryLength, keyLength, sequenceLengths, causal, scale, term);
    }

    /** The same call for some of its queries only. */
    AttentionCall rows(int from, int count) {
        return new AttentionCall(
                parameterStore, training, firstQuery + from, count, keyLength, sequenceLengths, causal, scale, shared);
    }
}
