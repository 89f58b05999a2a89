package io.github.djlpositional.math;

/**
 * Where the two halves of each pair are in a vector.
 *
 * <p>A pair belongs to one frequency. It is a sine and a cosine in a sinusoidal encoding, and two coordinates that are
 * rotated together in a rotary embedding.
 */
public enum PairLayout {
    /**
     * Side by side: {@code a0 b0 a1 b1 …}, as in <em>Attention Is All You Need</em>. In rotary embeddings: RoFormer,
     * GPT-J, Meta's own Llama weights, and a few types of Hugging Face, which {@code docs/rotary.md} lists.
     */
    INTERLEAVED,

    /**
     * All first halves, then all second halves: {@code a0 a1 … b0 b1 …}, as in tensor2tensor and fairseq. In rotary
     * embeddings: GPT-NeoX, and most types of Hugging Face, such as {@code llama} and {@code qwen3}.
     */
    CONCATENATED,

    /**
     * {@code CONCATENATED} in each half of the vector, {@code a0 a1 … b0 b1 … c0 c1 … d0 d1 …}, for an even number of
     * pairs: the vision tower of Gemma 4, with an axis in each half. Only for rotary embeddings.
     */
    CONCATENATED_HALVES;

    /**
     * Returns the index of the first half of a pair.
     *
     * @param pair the pair, counted from 0
     * @param pairs the number of pairs in the vector
     * @return the index in the vector, counted from 0
     */
    public int firstIndex(int pair, int pairs) {
        boolean isInSecondHalf = this == CONCATENATED_HALVES && pair >= pairs / 2;
        return this == INTERLEAVED ? 2 * pair : isInSecondHalf ? pairs / 2 + pair : pair;
    }

    /**
     * Returns the index of the second half of a pair.
     *
     * @param pair the pair, counted from 0
     * @param pairs the number of pairs in the vector
     * @return the index in the vector, counted from 0
     */
    public int secondIndex(int pair, int pairs) {
        int distance = this == INTERLEAVED ? 1 : this == CONCATENATED ? pairs : pairs / 2;
        return firstIndex(pair, pairs) + distance;
    }

    /**
     * Returns the pair that an index belongs to.
     *
     * @param index the index in the vector, counted from 0
     * @param pairs the number of pairs in the vector
     * @return the pair, counted from 0
     */
    public int pair(int index, int pairs) {
        return switch (this) {
            case INTERLEAVED -> index / 2;
            case CONCATENATED -> index % pairs;
            case CONCATENATED_HALVES -> index / pairs * (pairs / 2) + index % (pairs / 2);
        };
    }
}
