package io.github.djlpositional.examples;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The sizes of a {@link TransformerEncoder}.
 *
 * @param encoding the kind of positional encoding
 * @param vocabularySize the number of token ids, 2 to 1,000,000
 * @param maxWords the maximum number of words in a sentence, 1 to 10,000
 * @param embeddingSize D, a multiple of {@code heads}, 1 to 100,000
 * @param layers the number of encoder layers, 1 to 1000
 * @param heads the number of attention heads in each layer, 1 to 1000
 * @param feedForwardSize the width of the feed-forward network in each layer, 1 to 100,000
 * @param dropoutRate the fraction that is dropped in training, in [0, 1)
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

    static final int MOST_TOKENS = 1_000_000;
    static final int MOST_WORDS = 10_000;
    static final int MOST_LAYERS = 1_000;
    static final int MOST_HEADS = 1_000;
    static final int WIDEST = 100_000;

    /** Checks the sizes. */
    public EncoderSpec {
        Check.given("encoding", encoding);
        Check.between("vocabularySize", vocabularySize, Vocabulary.RESERVED, MOST_TOKENS);
        Check.between("maxWords", maxWords, 1, MOST_WORDS);
        Check.between("embeddingSize", embeddingSize, 1, WIDEST);
        Check.between("layers", layers, 1, MOST_LAYERS);
        Check.between("heads", heads, 1, MOST_HEADS);
        Check.between("feedForwardSize", feedForwardSize, 1, WIDEST);
        Check.rate("dropoutRate", dropoutRate);
    }

    /** Reads the sizes from the arguments that DJL passes to a block factory; other arguments are ignored. */
    static EncoderSpec fromArguments(Map<String, ?> arguments) {
        String encodings = "one of "
                + Task.SENTENCES.encodings().stream().map(Encoding::name).toList();
        return new EncoderSpec(
                Check.value(arguments, "encoding", encodings, Task.SENTENCES::encoding),
                size(arguments, "vocabularySize"),
                size(arguments, "maxWords"),
                size(arguments, "embeddingSize"),
                size(arguments, "layers"),
                size(arguments, "heads"),
                size(arguments, "feedForwardSize"),
                Check.given("dropoutRate", Check.value(arguments, "dropoutRate", "a number", Float::valueOf)));
    }

    private static int size(Map<String, ?> arguments, String name) {
        return Check.given(name, Check.value(arguments, name, "a whole number", Integer::valueOf));
    }

    /** Returns the sizes as arguments, from which {@link #fromArguments} reads them. */
    Map<String, Object> toArguments() {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("encoding", encoding.name());
        arguments.put("vocabularySize", vocabularySize);
        arguments.put("maxWords", maxWords);
        arguments.put("embeddingSize", embeddingSize);
        arguments.put("layers", layers);
        arguments.put("heads", heads);
        arguments.put("feedForwardSize", feedForwardSize);
        arguments.put("dropoutRate", dropoutRate);
        return arguments;
    }

    /** The size of one attention head. */
    int headSize() {
        return embeddingSize / heads;
    }
}
