package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.AbstractBlock;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.internal.Use;
import io.github.djlpositional.internal.options.OptionTypes;
import java.util.List;
import java.util.Map;

/**
 * A relative positional encoding for a {@link MultiHeadAttentionBlock}: the list of {@link Term}s that it adds.
 *
 * <p>With the queries q, the keys k, the values v, and the terms b, s and r, the attention is
 *
 * <pre>
 * p = softmax(cap(scale · heads(rotated q) · heads(rotated k)ᵀ + b(distance) + s(q, k)) + masks)
 * result = p · v + r(p)
 * </pre>
 *
 * <p>An attention with several encodings has the terms of all of them: rotations are applied one after another, and the
 * other terms are added. An encoding is created with the sizes of its attention:
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
 * Extend {@link Base}, and declare one term or several. The attention does the rest, as for the encodings of this
 * library: it selects biases for each query and key, applies masks, caches biases for later steps, processes long
 * sequences in slices, closes arrays, and uses PyTorch's fused kernel where there is no {@linkplain Term#values term of
 * values} and no term is being trained. The encoding is initialized with the shape of the queries, (B, N, T, H), of
 * which B and T may be -1.
 */
public interface RelativeEncoding extends Block {

    /** {@return the terms of the encoding} They are read once, when the attention is built. */
    List<Term> terms();

    /**
     * Checks that the encoding fits an attention, when the attention is built. By default, it fits any.
     *
     * @param headCount N
     * @param keyValueHeadCount K, a divisor of N
     * @param headSize H
     * @param embeddingSize D
     * @throws IllegalArgumentException if it does not
     */
    default void requireFits(int headCount, int keyValueHeadCount, int headSize, int embeddingSize) {}

    /** {@return the scale of an attention that is built without one; null, the default, for 1 / √H} */
    default Double defaultScale() {
        return null;
    }

    /**
     * {@return whether the encoding is meant for causal attention only: another attention with it logs a warning; by
     * default, it is not}
     */
    default boolean isForCausalAttention() {
        return false;
    }

    /**
     * {@return the size on each axis of a window of patches, rows and columns for pictures, into which these are
     * divided for an attention with this encoding; null, the default, for no windows}
     */
    default Shape getWindow() {
        return null;
    }

    /**
     * Computes the term that an encoding adds to the scores of an attention with scale 1, for the encoding's own
     * forward.
     *
     * @param encoding the encoding
     * @param parameterStore provides the values of its parameters
     * @param queries (…, T, D), or (B, N, T, H) for an encoding with {@link Term#scores}
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
        Terms terms = new Terms(List.of(encoding), Terms.ANY_HEADS);
        return Use.of(encoding, () -> terms.ofOne(parameterStore, queries, keys, training, params));
    }

    /**
     * {@return the names of this library's relative encodings, for {@link #named}: {@code ALiBi} is an
     * {@code AlibiBiasBlock}, and {@code Transformer-XL} a {@code TransformerXlPositionBlock}; and those of
     * {@linkplain io.github.djlpositional.options.TypeProvider your own}}
     */
    static List<String> names() {
        return List.copyOf(OptionTypes.of(RelativeEncoding.class).keySet());
    }

    /**
     * Creates a relative encoding by its name, with the sizes of an attention that its class takes. An encoding of your
     * own without a builder finds them in the map of its {@code fromArguments}: {@code get} returns {@code headCount},
     * {@code headSize} and {@code embeddingSize}, which are not among the map's keys.
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
        Map<String, Integer> sizes =
                Map.of("headCount", headCount, "headSize", headSize, "embeddingSize", headCount * headSize);
        return (RelativeEncoding) OptionTypes.create(type, options, sizes);
    }

    /**
     * {@return the relative encoding of this library that {@linkplain io.github.djlpositional.options.HasArguments
     * arguments} describe}
     */
    static RelativeEncoding fromArguments(Map<?, ?> arguments) {
        return (RelativeEncoding) OptionTypes.create("RelativeEncoding", RelativeEncoding.class, arguments);
    }

    /**
     * The base of an encoding of your own. Its own forward takes {@code [queries]} or {@code [queries, keys]} and
     * returns what the terms add to the scores; see {@link #term}.
     */
    abstract class Base extends AbstractBlock implements RelativeEncoding {

        /** Creates a block without parameters. */
        protected Base() {}

        /**
         * {@return a new parameter} It has the type OTHER, so that a trainer's initializer for weights does not replace
         * its own.
         */
        protected final Parameter addParameter(String name, Shape shape, Initializer initializer) {
            return addParameter(Parameter.builder()
                    .setName(name)
                    .setType(Parameter.Type.OTHER)
                    .optShape(shape)
                    .optInitializer(initializer)
                    .build());
        }

        @Override
        protected NDList forwardInternal(
                ParameterStore store, NDList inputs, boolean training, PairList<String, Object> params) {
            NDArray keys = inputs.get(inputs.size() - 1);
            return new NDList(RelativeEncoding.term(this, store, inputs.head(), keys, training, params));
        }
    }
}
