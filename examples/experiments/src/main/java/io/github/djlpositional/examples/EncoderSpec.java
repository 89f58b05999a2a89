package io.github.djlpositional.examples;

/**
 * The sizes of a {@link TransformerEncoder}. The names are those of the options of {@code train-encoder}.
 *
 * @param encoding the kind of positional encoding
 * @param vocabulary the number of token ids, 3 to 1,000,000
 * @param maxWords the maximum number of words in a sentence, 2 to 10,000
 * @param size the embedding size D, a multiple of {@code heads}, 1 to 100,000
 * @param layers the number of encoder layers, 1 to 1000
 * @param heads the number of attention heads in each layer, 1 to 1000
 * @param feedForward the width of the feed-forward network in each layer, 1 to 100,000
 */
public record EncoderSpec(
        Encoding encoding, int vocabulary, int maxWords, int size, int layers, int heads, int feedForward) {

    /** Checks the sizes. */
    public EncoderSpec {
        Check.present("encoding", encoding);
        Check.between("vocabulary", vocabulary, Vocabulary.RESERVED + 1, 1_000_000);
        Check.between("max-words", maxWords, 2, 10_000);
        Check.between("size", size, 1, 100_000);
        Check.between("layers", layers, 1, 1000);
        Check.between("heads", heads, 1, 1000);
        Check.between("feed-forward", feedForward, 1, 100_000);
        Check.that(
                size % heads == 0,
                () -> "size " + size + " with heads " + heads
                        + ": expected a number of heads that divides the size; change one of them");
    }
}
