package io.github.djlpositional.math;

/**
 * Where the two halves of a pair sit in a vector.
 *
 * <p>A pair is what belongs to one frequency: a sine and a cosine in a sinusoidal encoding, the two coordinates that are
 * turned together in a rotary embedding.
 */
public enum PairLayout {
    /** Side by side: {@code a0 b0 a1 b1 …}, as in <em>Attention Is All You Need</em> and RoFormer. */
    INTERLEAVED {
        @Override
        public int firstIndex(int pair, int pairs) {
            return 2 * pair;
        }

        @Override
        public int secondIndex(int pair, int pairs) {
            return 2 * pair + 1;
        }
    },

    /**
     * All first halves, then all second halves: {@code a0 a1 … b0 b1 …}, as in tensor2tensor, fairseq, GPT-NeoX and Hugging
     * Face's Llama (Meta's own Llama weights are interleaved).
     */
    CONCATENATED {
        @Override
        public int firstIndex(int pair, int pairs) {
            return pair;
        }

        @Override
        public int secondIndex(int pair, int pairs) {
            return pairs + pair;
        }
    };

    /**
     * Returns where the first half of a pair sits.
     *
     * @param pair the pair, counted from 0
     * @param pairs the number of pairs in the vector
     * @return the index in the vector, counted from 0
     */
    public abstract int firstIndex(int pair, int pairs);

    /**
     * Returns where the second half of a pair sits.
     *
     * @param pair the pair, counted from 0
     * @param pairs the number of pairs in the vector
     * @return the index in the vector, counted from 0
     */
    public abstract int secondIndex(int pair, int pairs);
}
