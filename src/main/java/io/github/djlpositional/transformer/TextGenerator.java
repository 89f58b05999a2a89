package io.github.djlpositional.transformer;

import io.github.djlpositional.internal.options.Check;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Continues a text with a decoder and a tokenizer. The text appears as it is generated:
 *
 * <pre>{@code
 * HuggingFaceTokenizer tokenizer = HuggingFaceTokenizer.newInstance(folder.resolve("tokenizer.json"));
 * TextGenerator generator = TextGenerator.of(
 *         TokenGenerator.builder().setDecoder(decoder).build(),
 *         text -> tokenizer.encode(text).getIds(),
 *         ids -> tokenizer.decode(ids, true));
 * generator.generate("The cat sat on", 100, System.out::print);
 * }</pre>
 *
 * <p>A token does not always stand for text of its own: a character may take several tokens, and a tokenizer may drop
 * the space before the first word. Therefore all tokens are decoded together, and an incomplete character is held back.
 *
 * <p>An object may be used by several threads, as long as the decoder and the tokenizer may.
 */
public final class TextGenerator {

    /** What a tokenizer returns for bytes that are not a whole character. */
    private static final String REPLACEMENT = "\uFFFD";

    private final TokenGenerator generator;
    private final Function<String, long[]> encode;
    private final Function<long[], String> decode;

    private TextGenerator(TokenGenerator generator, Function<String, long[]> encode, Function<long[], String> decode) {
        this.generator = Check.notNull("generator", generator, "a TokenGenerator");
        this.encode = Check.notNull("encode", encode, "a function from a text to ids");
        this.decode = Check.notNull("decode", decode, "a function from ids to their text");
    }

    /**
     * {@return a generator of text}
     *
     * @param generator continues ids
     * @param encode the ids of a text, at least one, as for a prompt of the model
     * @param decode the text of ids, usually without special tokens
     */
    public static TextGenerator of(
            TokenGenerator generator, Function<String, long[]> encode, Function<long[], String> decode) {
        return new TextGenerator(generator, encode, decode);
    }

    /**
     * {@return the text that follows a prompt, without it}
     *
     * @param prompt the beginning of the text
     * @param most the maximum number of tokens, at least 1; fewer if one of them ends the text
     * @param pieces gets the text that each token completes, which may be empty; all together are the result
     * @throws IllegalArgumentException if the prompt has no tokens, or the decoder rejects it
     */
    public String generate(String prompt, int most, Consumer<String> pieces) {
        Stream stream = new Stream(encode.apply(Check.notNull("prompt", prompt, "a text")));
        generator.generate(stream.ids, most, id -> {
            pieces.accept(stream.add(id, most));
            return true;
        });
        String heldBack = stream.rest();
        if (!heldBack.isEmpty()) {
            pieces.accept(heldBack);
        }
        return stream.text();
    }

    /** The text of a sequence of ids, as it grows. */
    private final class Stream {

        private final int promptCount;
        private final int promptLength;
        private long[] ids;

        /** The length of the text that was returned. */
        private int shown;

        Stream(long... prompt) {
            ids = prompt;
            promptCount = prompt.length;
            shown = prompt.length == 0 ? 0 : decode.apply(prompt).length();
            promptLength = shown;
        }

        /** Adds a token, and returns the text that is complete after it, or that the last of the tokens ends. */
        String add(long id, int most) {
            ids = Arrays.copyOf(ids, ids.length + 1);
            ids[ids.length - 1] = id;
            String text = rest();
            if (text.endsWith(REPLACEMENT) && ids.length < promptCount + most) {
                return "";
            }
            shown += text.length();
            return text;
        }

        /** Returns the text that was held back. */
        String rest() {
            return decode.apply(ids).substring(shown);
        }

        String text() {
            return decode.apply(ids).substring(promptLength);
        }
    }
}
