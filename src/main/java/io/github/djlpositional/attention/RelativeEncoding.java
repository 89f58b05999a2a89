package io.github.djlpositional.attention;

import ai.djl.ndarray.NDArray;
import ai.djl.nn.Block;
import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.internal.BlockSettings;
import java.util.Map;

/**
 * A relative positional encoding, as {@link MultiHeadAttentionBlock} takes it: it may change the queries and the keys, add a
 * term to the scores, and add a term to the attention's result. Whatever it does not override does nothing.
 *
 * <p>With the queries q, the keys k, the values v, and the terms s and r of this interface, the attention is
 *
 * <pre>
 * p = softmax(scale · encodeQueries(q) · encodeKeys(k)ᵀ + s(q) + masks)
 * result = p · v + r(p)
 * </pre>
 *
 * <p>A forward may be done in parts of some queries each; the terms are then asked for part by part.
 *
 * <p>It is initialized with the shape of the queries, (B, N, T, H), of which B and T may be -1.
 *
 * <p>What a method returns is a new array on the manager of its input, which the attention closes, or the input itself.
 * It belongs to the device and the data type of its input. Nothing is closed or written to by an implementation but what it
 * made.
 */
public interface RelativeEncoding extends Block {

    /**
     * Checks that the encoding fits an attention; called when that is built.
     *
     * @param headCount N
     * @param headSize H
     * @throws IllegalArgumentException if it does not
     */
    void requireFits(int headCount, int headSize);

    /**
     * Returns the queries as they are to meet the keys.
     *
     * @param call all queries of the forward
     * @param queries (B, N, T, H)
     * @return (B, N, T, H)
     */
    default NDArray encodeQueries(AttentionCall call, NDArray queries) {
        return queries;
    }

    /**
     * Returns the keys as they are to meet the queries. A cache keeps what comes from here, unless
     * {@link #keysDependOnLength}.
     *
     * @param call the forward
     * @param keys (B, N, n, H), the keys of positions {@code firstKey … firstKey + n - 1}
     * @param firstKey the position of the first of them
     * @return (B, N, n, H)
     */
    default NDArray encodeKeys(AttentionCall call, NDArray keys, int firstKey) {
        return keys;
    }

    /**
     * Returns whether a key is encoded otherwise once the sequence is longer, so that a cache keeps the keys as they were
     * and all are encoded anew at every step.
     *
     * @return false without an own implementation
     */
    default boolean keysDependOnLength() {
        return false;
    }

    /**
     * Returns what the terms of all parts of a forward share, so that it is computed once; they find it in
     * {@link AttentionCall#shared}. Asked only where a forward is done in several parts; without it {@link AttentionCall#shared}
     * is null and a term has to compute it itself.
     *
     * @param call all queries of the forward
     * @param queries (B, N, T, H), before {@link #encodeQueries}
     * @return any array, or null for nothing
     */
    default NDArray sharedTerm(AttentionCall call, NDArray queries) {
        return null;
    }

    /**
     * Returns what is added to the scores. It is added after the scale: a term that belongs under it is multiplied by
     * {@link AttentionCall#scale} here.
     *
     * @param call some or all queries of the forward
     * @param queries their queries, (B, N, T, H), before {@link #encodeQueries}
     * @return an array that broadcasts to (B, N, T, F), or null for nothing
     */
    default NDArray scoreTerm(AttentionCall call, NDArray queries) {
        return null;
    }

    /**
     * Returns what is added to the weighted sum of the values.
     *
     * @param call some or all queries of the forward
     * @param probabilities their attention, (B, N, T, F), in training after dropout
     * @return (B, N, T, H), or null for nothing
     */
    default NDArray valueTerm(AttentionCall call, NDArray probabilities) {
        return null;
    }

    /**
     * Makes one of this library's relative encodings from plain values.
     *
     * @param arguments the block's simple class name as {@code type}, and what the {@code fromArguments} of that class takes
     * @return the encoding
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    static RelativeEncoding fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(RelativeEncoding.class, arguments);
        Map<String, Object> own = given.without(BlockSettings.TYPE);
        return switch (given.getText(BlockSettings.TYPE)) {
            case "RotaryEmbeddingBlock" -> RotaryEmbeddingBlock.fromArguments(own);
            case "AlibiBiasBlock" -> AlibiBiasBlock.fromArguments(own);
            case "RelativePositionBiasBlock" -> RelativePositionBiasBlock.fromArguments(own);
            case "ShawRelativePositionBlock" -> ShawRelativePositionBlock.fromArguments(own);
            case "TransformerXlPositionBlock" -> TransformerXlPositionBlock.fromArguments(own);
            default ->
                throw given.refused(
                        BlockSettings.TYPE,
                        "RotaryEmbeddingBlock, AlibiBiasBlock, RelativePositionBiasBlock, ShawRelativePositionBlock or"
                                + " TransformerXlPositionBlock");
        };
    }
}
