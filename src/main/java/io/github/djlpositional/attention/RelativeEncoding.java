package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import io.github.djlpositional.options.OptionTypes;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A relative positional encoding for a {@link MultiHeadAttentionBlock}. It may change the queries and the keys, add a
 * term to the scores, and add a term to the attention's result. By default, each method returns its input or adds
 * nothing.
 *
 * <p>With the queries q, the keys k, the values v, and the terms b, s and r of this interface, the attention is
 *
 * <pre>
 * p = softmax(scale · encodeQueries(q) · encodeKeys(k)ᵀ + b(distance) + s(q, k) + masks)
 * result = p · v + r(p)
 * </pre>
 *
 * <p>It is created with the sizes of its attention:
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
 * The encoding is initialized with the shape of the queries, (B, N, T, H), of which B and T may be -1. A forward may
 * process its queries in several parts; the terms are then computed for each part.
 *
 * <p>A method returns a new array on the manager of its input, which the attention closes, or the input itself. The
 * result has the device and the data type of the input. An implementation closes and writes to only the arrays that it
 * created.
 */
public interface RelativeEncoding extends Block {

    /**
     * Checks that the encoding fits an attention. It is called when the attention is built.
     *
     * @param headCount N
     * @param headSize H
     * @throws IllegalArgumentException if it does not
     */
    void requireFits(int headCount, int headSize);

    /** {@return the scale of an attention that is built without one; null, the default, for 1 / √H} */
    default Double defaultScale() {
        return null;
    }

    /**
     * Encodes the queries before they are multiplied by the keys.
     *
     * @param call all queries of the forward
     * @param queries (B, N, T, H)
     * @return (B, N, T, H)
     */
    default NDArray encodeQueries(AttentionCall call, NDArray queries) {
        return queries;
    }

    /**
     * Encodes the keys before they are multiplied by the queries. A cache holds the result.
     *
     * @param call the forward, with the tokens of these keys as {@link AttentionCall#keys}
     * @param keys (B, K, n, H), where K is the number of key heads
     * @return (B, K, n, H)
     */
    default NDArray encodeKeys(AttentionCall call, NDArray keys) {
        return keys;
    }

    /** What an encoding adds to an attention. */
    enum Term {
        /** {@link RelativeEncoding#distanceBias} */
        DISTANCE_BIAS,
        /** {@link RelativeEncoding#scoreTerm} */
        SCORE,
        /** {@link RelativeEncoding#valueTerm} */
        VALUE
    }

    /**
     * {@return which terms the encoding has: all by default, so that the attention asks for each} The attention uses
     * PyTorch's fused kernel for an encoding without a term, and for one whose only terms are biases of distances and
     * score terms that are not being trained.
     */
    default Set<Term> terms() {
        return EnumSet.allOf(Term.class);
    }

    /**
     * {@return how many numbers the computation of the score term has at a time for each query and key of the batch: 0
     * by default} If these are more than the attention's own, a long sequence is processed in smaller parts.
     *
     * @param call all queries and keys of the forward
     */
    default long sizePerQueryAndKey(AttentionCall call) {
        return 0;
    }

    /**
     * Computes biases that depend on the head and the distance only. They are added after the scale. The attention
     * selects one for each query and key, caches them for the steps of a decoder, and passes them to the fused kernel.
     *
     * @param call some or all queries of the forward
     * @param distances the distances that are needed
     * @return (1 or N, {@link Distances#size}), finite, of any real data type; or null for nothing
     */
    default NDArray distanceBias(AttentionCall call, Distances distances) {
        return null;
    }

    /**
     * Computes what the terms of all parts of a forward share. It is called once, and only if a forward is processed in
     * several parts; the terms read it from {@link AttentionCall#shared}. If that is null, a term computes it.
     *
     * @param call all queries of the forward
     * @param queries (B, N, T, H), before {@link #encodeQueries}; FLOAT32 if the attention is FLOAT16
     * @param keys all keys, (B, K, F, H), after {@link #encodeKeys}; of the data type of the attention
     * @return any array, or null for nothing
     */
    default NDArray sharedTerm(AttentionCall call, NDArray queries, NDArray keys) {
        return null;
    }

    /**
     * Computes what is added to the scores, if it depends on their content or on the positions themselves. It is added
     * after the scale: an implementation whose term has to be scaled multiplies it by {@link AttentionCall#scale}.
     *
     * @param call some or all queries of the forward
     * @param queries their queries, (B, N, T, H), before {@link #encodeQueries}; FLOAT32 if the attention is FLOAT16
     * @param keys their keys, (B, K, F, H), after {@link #encodeKeys}; of the data type of the attention
     * @return a finite array that broadcasts to (B, N, T, F), or null for nothing
     */
    default NDArray scoreTerm(AttentionCall call, NDArray queries, NDArray keys) {
        return null;
    }

    /**
     * Computes what is added to the weighted sum of the values.
     *
     * @param call some or all queries of the forward
     * @param probabilities their attention weights, (B, N, T, F), in training after dropout
     * @return (B, N, T, H), or null for nothing
     */
    default NDArray valueTerm(AttentionCall call, NDArray probabilities) {
        return null;
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
     * @param name one of {@link #names} or another name of its paper, such as {@code RoPE}, in any case; spaces,
     *     hyphens and underscores do not matter: {@code alibi}, {@code transformer_xl}
     * @param headCount N
     * @param headSize H, the attention's embedding size by N, unless {@code optHeadSize} sets another
     * @param options other arguments of its class, as for {@link #fromArguments}; empty for the defaults, but a
     *     {@code distance network} needs {@code hiddenSize}, and an encoding of a window {@code window}
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
     * {@return one of this library's relative encodings, which the arguments describe}
     *
     * @param arguments what {@link io.github.djlpositional.options.HasArguments#getArguments} has returned;
     *     {@code type} is the simple name of the class
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or out of range
     */
    static RelativeEncoding fromArguments(Map<?, ?> arguments) {
        return (RelativeEncoding) OptionTypes.create("RelativeEncoding", RelativeEncoding.class, arguments);
    }
}
