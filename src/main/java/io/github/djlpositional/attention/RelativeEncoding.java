package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.options.OptionTypes;
import io.github.djlpositional.options.Settings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A relative positional encoding for a {@link MultiHeadAttentionBlock}. It may rotate or change the queries and the
 * keys, add a term to the scores, and add a term to the attention's result. The terms may depend on numbers that it
 * computes from the attention's input. The attention calls the methods that the class of the encoding implements.
 *
 * <p>With the queries q, the keys k, the values v, and the terms b, s and r of this interface, the attention is
 *
 * <pre>
 * p = softmax(cap(scale · encodeQueries(rotated q) · encodeKeys(rotated k)ᵀ + b(distance) + s(q, k)) + masks)
 * result = p · v + r(p)
 * </pre>
 *
 * <p>An attention with several encodings applies their rotations one after another, and adds all terms. An encoding is
 * created with the sizes of its attention:
 *
 * <pre>{@code
 * MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
 *         .setEmbeddingSize(512)
 *         .setHeadCount(8)
 *         .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(8).build())
 *         .build();
 * }</pre>
 *
 * <h2>An encoding of your own</h2>
 *
 * Implement one method or several. The attention does the rest, as for the encodings of this library: it selects biases
 * for each query and key, applies masks, caches biases for later steps, processes long sequences in parts, and uses
 * PyTorch's fused kernel where there is no {@link #valueTerm} and no term is being trained.
 *
 * <p>The encoding is initialized with the shape of the queries, (B, N, T, H), of which B and T may be -1. A method
 * returns a new array on the manager of its input, which the attention closes, or the input itself. The result has the
 * device and the data type of the input. An implementation must not close or write to arrays that it did not create.
 * The attention throws {@link IllegalArgumentException} for a result of another shape.
 */
public interface RelativeEncoding extends Block {

    /**
     * Checks that the encoding fits an attention, when the attention is built. By default, it fits any.
     *
     * @param headCount N
     * @param headSize H
     * @param embeddingSize D
     * @throws IllegalArgumentException if it does not
     */
    default void requireFits(int headCount, int headSize, int embeddingSize) {}

    /** {@return the scale of an attention that is built without one; null, the default, for 1 / √H} */
    default Double defaultScale() {
        return null;
    }

    /**
     * {@return the rotation of queries and keys; null, the default, for none} It is called once, when the attention is
     * built. A cache stores rotated keys.
     */
    default Rotation rotation() {
        return null;
    }

    /**
     * Encodes the queries, after any rotation and before they are multiplied by the keys.
     *
     * @param call all queries of the forward
     * @param queries (B, N, T, H)
     * @return (B, N, T, H)
     */
    default NDArray encodeQueries(AttentionCall call, NDArray queries) {
        return queries;
    }

    /**
     * Encodes the keys, after any rotation and before they are multiplied by the queries. A cache stores the result.
     *
     * @param call the forward, with the tokens of these keys as {@link AttentionCall#keys}
     * @param keys (B, K, n, H), where K is the number of key heads
     * @return (B, K, n, H)
     */
    default NDArray encodeKeys(AttentionCall call, NDArray keys) {
        return keys;
    }

    /**
     * Computes numbers of each token from the input of the attention, once in a forward. The terms read them from
     * {@link AttentionCall#queryNumbers} and {@link AttentionCall#keyNumbers}. A cache stores the numbers of keys, so
     * they must not depend on other tokens.
     *
     * @param call the forward of these tokens
     * @param input the queries or keys before their projection, (B, n, D); FLOAT32 if the attention is FLOAT16
     * @param areKeys whether they are keys; in a self-attention, queries and keys are the same tokens
     * @return (B, n, W), of any floating-point type; always null, the default, for a side without numbers
     */
    default NDArray tokenNumbers(AttentionCall call, NDArray input, boolean areKeys) {
        return null;
    }

    /**
     * Computes biases that depend on the head and the distance only. They are not scaled. The attention selects one for
     * each query and key, caches them for the steps of a decoder, and passes them to the fused kernel. The distances
     * are real numbers if positions are.
     *
     * @param call all queries of the forward, or a part of them
     * @param distances the distances to compute biases for
     * @return (1 or N, {@link Distances#size}), finite, of any floating-point type
     */
    default NDArray distanceBias(AttentionCall call, Distances distances) {
        throw new UnsupportedOperationException(Settings.classOf(this) + " has no distance biases");
    }

    /**
     * Returns a number for each token, such as the cell of a window, so that the differences of these numbers are the
     * distances of {@link #distanceBias}. By default, these are the positions.
     *
     * @param call all queries and keys of the forward, or a part of them
     * @param positions the positions of the queries or the keys, (1 or B, n), INT32
     * @param areKeys whether they are positions of keys
     * @return like the positions
     */
    default NDArray coordinates(AttentionCall call, NDArray positions, boolean areKeys) {
        return positions;
    }

    /**
     * Computes a term of the scores that depends on the content or on the positions themselves. The attention does not
     * scale it: an implementation whose term has to be scaled multiplies it by {@link AttentionCall#scale}.
     *
     * @param call all queries of the forward, or a part of them
     * @param queries the queries of the call, (B, N, T, H), before any encoding; FLOAT32 if the attention is FLOAT16
     * @param keys the keys of the call, (B, K, F, H), after all encodings; in the data type of the attention
     * @return a finite array that broadcasts to (B, N, T, F), or null to add nothing
     */
    default NDArray scoreTerm(AttentionCall call, NDArray queries, NDArray keys) {
        return null;
    }

    /**
     * Computes a term that is added to the weighted sum of the values.
     *
     * @param call all queries of the forward, or a part of them
     * @param probabilities the attention weights of these queries, (B, N, T, F), after dropout in training
     * @return (B, N, T, H), or null to add nothing
     */
    default NDArray valueTerm(AttentionCall call, NDArray probabilities) {
        return null;
    }

    /**
     * {@return whether the encoding adds a {@link #valueTerm}: true by default if its class implements that method}
     * Without such a term, an attention can use its fused kernel.
     */
    default boolean hasValueTerm() {
        return true;
    }

    /**
     * {@return how many numbers the computation of the terms needs at a time for each query and key, summed over the
     * batch: 0 by default} If it needs more than the attention itself, a long sequence is processed in smaller parts.
     *
     * @param call all queries and keys of the forward
     */
    default long sizePerQueryAndKey(AttentionCall call) {
        return 0;
    }

    /**
     * Computes the term that an encoding adds to the scores of an attention with scale 1, for the encoding's own
     * forward.
     *
     * @param encoding the encoding
     * @param parameterStore provides the values of its parameters
     * @param queries (…, T, D), or (B, N, T, H) for an encoding with a {@link #scoreTerm}
     * @param keys (…, F, D), or (B, N, F, H); pass the queries themselves for one key at each position up to the last
     *     query
     * @param training whether the encoding is being trained
     * @param params the forward parameters, with a start position or explicit positions; null for none
     * @return (1 or B, 1 or N, T, F), of the data type of the queries; a new array
     * @throws IllegalArgumentException if the positions do not fit the queries
     */
    static NDArray term(
            RelativeEncoding encoding,
            ParameterStore parameterStore,
            NDArray queries,
            NDArray keys,
            boolean training,
            PairList<String, Object> params) {
        return new Encodings(List.of(encoding)).standaloneTerm(parameterStore, queries, keys, training, params);
    }

    /**
     * {@return the names of this library's relative encodings, for {@link #named}: {@code ALiBi} is an
     * {@code AlibiBiasBlock}, and {@code Transformer-XL} a {@code TransformerXlPositionBlock}}
     */
    static List<String> names() {
        return List.copyOf(OptionTypes.of(RelativeEncoding.class).keySet());
    }

    /**
     * Creates one of this library's relative encodings by its name, with the sizes of an attention.
     *
     * @param name one of {@link #names}, or another name used in its paper, such as {@code RoPE}; case, spaces, hyphens
     *     and underscores are ignored: {@code alibi}, {@code transformer_xl}
     * @param headCount N
     * @param headSize H, the attention's embedding size divided by N, unless {@code optHeadSize} sets another size
     * @param options other arguments of its class, as for {@link #fromArguments}; empty for the defaults; a
     *     {@code distance network} requires {@code hiddenSize}, and window encodings require {@code window}
     * @return the encoding
     * @throws IllegalArgumentException if the name or an argument is unknown, missing, of another type or out of range
     */
    static RelativeEncoding named(String name, int headCount, int headSize, Map<?, ?> options) {
        Class<?> type = OptionTypes.named(RelativeEncoding.class, "relative encoding", name);
        Map<Object, Object> arguments = new LinkedHashMap<>();
        Map<String, Integer> sizes =
                Map.of("setHeadCount", headCount, "setHeadSize", headSize, "setEmbeddingSize", headCount * headSize);
        OptionTypes.settersOf(type).stream().filter(sizes::containsKey).forEach(setter -> {
            String option = Character.toLowerCase(setter.charAt(3)) + setter.substring(4);
            arguments.put(option, sizes.get(setter));
        });
        arguments.putAll(options);
        return (RelativeEncoding) OptionTypes.create(type, arguments);
    }

    /**
     * {@return the relative encoding of this library that the arguments describe}
     *
     * @param arguments a result of {@link io.github.djlpositional.options.HasArguments#getArguments}; {@code type} is
     *     the simple name of the class
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    static RelativeEncoding fromArguments(Map<?, ?> arguments) {
        return (RelativeEncoding) OptionTypes.create("RelativeEncoding", RelativeEncoding.class, arguments);
    }
}
