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

    /** The size of one attention head. */
    int headSize() {
        return embeddingSize / heads;
    }
}
