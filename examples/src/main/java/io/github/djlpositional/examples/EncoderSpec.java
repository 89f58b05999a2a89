package io.github.djlpositional.examples;

/**
 * The sizes of a {@link TransformerEncoder}.
 *
 * @param encoding how it learns positions
 * @param vocabularySize the number of token ids
 * @param maxWords the greatest number of words in a sentence
 * @param embeddingSize dModel, divisible by {@code heads}
 * @param layers the number of encoder layers
 * @param heads the number of attention heads in each
 * @param feedForwardSize the width of the feed-forward network in each
 * @param dropoutRate the part that is dropped in training, in [0, 1)
 */
public record EncoderSpec(
        Encoding encoding,
        int vocabularySize,
        int maxWords,
        int embeddingSize,
        int layers,
        int heads,
        int feedForwardSize,
        float dropoutRate) {

    /** The most of each that is trained and loaded: a file that asks for more is no file of this program's. */
    static final int MOST_TOKENS = 1_000_000;

    static final int MOST_WORDS = 10_000;
    static final int MOST_LAYERS = 1_000;
    static final int MOST_HEADS = 1_000;
    static final int WIDEST = 100_000;

    /** The size of one attention head. */
    int headSize() {
        return embeddingSize / heads;
    }

    /**
     * How many weights an encoder of these sizes has at least: the token table, in each layer the four projections of
     * the attention and the two of the feed-forward network, and the head. Biases, norms and positions come on top.
     */
    long leastWeights() {
        long d = embeddingSize;
        return vocabularySize * d + layers * (4 * d * d + 2 * d * feedForwardSize) + 2 * d;
    }
}
