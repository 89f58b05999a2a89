package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import io.github.djlpositional.Positions;
import io.github.djlpositional.internal.options.Check;
import java.util.function.BiFunction;
import java.util.function.ToLongFunction;

/**
 * What a {@link RelativeEncoding} changes in an attention. An encoding declares a list of terms; an attention with
 * several encodings has all of their terms, in order. Each term carries the functions that compute it:
 *
 * <table>
 * <caption>Terms</caption>
 * <tr><th>the encoding depends on</th><th>term</th></tr>
 * <tr><td>positions, by rotating queries and keys</td><td>{@link Rotation}</td></tr>
 * <tr><td>the distance between query and key</td><td>{@link #bias(BiFunction)}</td></tr>
 * <tr><td>queries, keys, positions, data of the call</td><td>{@link #scores}</td></tr>
 * <tr><td>the input at the tokens of queries and keys</td><td>{@link #scoresOfTokens}</td></tr>
 * <tr><td>the attention weights, by changing the result</td><td>{@link #values}</td></tr>
 * <tr><td>queries or keys, by changing them in another way</td><td>{@link #heads}</td></tr>
 * </table>
 *
 * <p>All arrays that a function creates are closed, except its result, which the attention closes later; to use an
 * array again, unregister it from its {@link ai.djl.ndarray.NDScope}. The result is a new array on the manager of the
 * input, with its device and data type. A function must not close or write to arrays that it did not create. The
 * attention throws {@link IllegalArgumentException} for a result of another shape.
 */
public sealed interface Term permits Rotation, Terms.Heads, Terms.DistanceBias, Terms.ScoreTerm, Terms.ValueTerm {

    /**
     * {@return a bias that depends on the head and the distance only} It is not scaled. The attention selects a bias
     * for each query and key, caches biases for the steps of a decoder, and passes them to the fused kernel. The
     * distances are real numbers if positions are.
     *
     * @param biases returns (1 or N, {@link Distances#size}), finite, of any floating-point type, for all queries of a
     *     forward or a slice of them
     */
    static Term bias(BiFunction<AttentionCall, Distances, NDArray> biases) {
        return new Terms.DistanceBias(biases, null, null, call -> 0);
    }

    /**
     * {@return a bias like {@link #bias(BiFunction)}, by the differences of coordinates of the tokens, such as the
     * cells of a window, instead of their positions}
     *
     * @param biases returns the biases of differences
     * @param queries returns the coordinate of each query
     * @param keys returns the coordinate of each key
     */
    static Term bias(BiFunction<AttentionCall, Distances, NDArray> biases, Coordinates queries, Coordinates keys) {
        return new Terms.DistanceBias(biases, queries, keys, call -> 0);
    }

    /**
     * {@return a term of the scores that depends on the content or on the positions themselves} It is not scaled: a
     * term that has to be scaled is multiplied by {@link AttentionCall#scale}.
     *
     * @param function gets the queries of the call, (B, N, T, H), before any encoding, FLOAT32 if the attention is
     *     FLOAT16; and the keys of the call, (B, K, F, H), after all encodings, in the data type of the attention
     */
    static Term scores(Scores function) {
        return new Terms.ScoreTerm(null, null, function, call -> 0);
    }

    /**
     * {@return a term of the scores that depends on features of each token, which are computed once in a forward from
     * the input of the attention} A cache stores the features of keys, so they must depend neither on other tokens nor,
     * if tokens of the cache are to be {@linkplain KeyValueCache#remove removed}, on positions.
     *
     * @param queries returns features of the queries, (B, T, W), of any floating-point type, from the queries before
     *     their projection, (B, T, D), FLOAT32 if the attention is FLOAT16; null for none
     * @param keys returns features of the keys, (B, F, W), from the keys before their projection; null for none
     * @param scores gets the features of both; null for none. Its result has {@link AttentionCall#scoreType}
     */
    static Term scoresOfTokens(
            BiFunction<AttentionCall, NDArray, NDArray> queries,
            BiFunction<AttentionCall, NDArray, NDArray> keys,
            Scores scores) {
        Check.that(
                queries != null || keys != null,
                "features are computed neither of queries nor of keys: expected a function; pass one");
        return new Terms.ScoreTerm(queries, keys, scores, call -> 0);
    }

    /**
     * {@return a term that is added to the weighted sum of the values} An attention with such a term does not use its
     * fused kernel.
     *
     * @param results returns (B, N, T, H), or null to add nothing, from the attention weights of the queries of the
     *     call, (B, N, T, F), after dropout in training
     */
    static Term values(BiFunction<AttentionCall, NDArray, NDArray> results) {
        return new Terms.ValueTerm(results, call -> 0);
    }

    /**
     * {@return a change of queries and keys before they are multiplied} A cache stores changed keys.
     *
     * @param queries changes all queries of a forward, (B, N, T, H); null for none
     * @param keys changes keys, (B, K, n, H), which are the {@link AttentionCall#keys} of the call; null for none
     */
    static Term heads(
            BiFunction<AttentionCall, NDArray, NDArray> queries, BiFunction<AttentionCall, NDArray, NDArray> keys) {
        return new Terms.Heads(queries, keys);
    }

    /** Computes a term of the scores. */
    @FunctionalInterface
    interface Scores {

        /**
         * {@return a finite array that broadcasts to (B, N, T, F), or null to add nothing}
         *
         * @param call all queries of the forward, or a slice of them
         * @param queries the queries of the call, or the features of their tokens
         * @param keys the keys of the call, or the features of their tokens
         */
        NDArray of(AttentionCall call, NDArray queries, NDArray keys);
    }

    /** Returns a coordinate of each token, whose differences are the distances of a bias. */
    @FunctionalInterface
    interface Coordinates {

        /**
         * {@return a coordinate of each token, (1 or B, n), INT32, or FLOAT64 for real coordinates; it may be the array
         * of the positions}
         *
         * @param tokens queries or keys
         * @param like an array on the device of the result
         */
        NDArray of(Positions tokens, NDArray like);
    }

    /**
     * {@return the same term, which computes arrays of so many elements for each query and key, summed over the batch}
     * If this is more than the attention itself needs, a long sequence is processed in smaller slices. By default it is
     * 0. For rotations and heads, it has no effect.
     *
     * @param size returns the size for all queries and keys of a forward
     */
    default Term withPairSize(ToLongFunction<AttentionCall> size) {
        return this;
    }
}
