package io.github.djlpositional.examples.llama;

import java.util.Arrays;
import java.util.function.Function;

/**
 * The text of a sequence of tokens, as it grows. A token is not always text of its own: a character may take several
 * tokens, and a decoder may drop the space before the first word. So all tokens are decoded together, and an incomplete
 * character is held back.
 */
final class GeneratedText {

    /** What a decoder returns for bytes that are not a whole character. */
    private static final String REPLACEMENT = "\uFFFD";

    private final Function<long[], String> decoder;
    private long[] ids;

    /** The length of the text that was returned. */
    private int shown;

    /** Starts with a prompt, whose text is not returned. */
    GeneratedText(Function<long[], String> decoder, long... prompt) {
        this.decoder = decoder;
        ids = prompt;
        shown = decoder.apply(ids).length();
    }

    /** Adds a token, and returns the text that is now complete; may be empty. */
    String add(long id) {
        ids = Arrays.copyOf(ids, ids.length + 1);
        ids[ids.length - 1] = id;
        String text = rest();
        if (text.endsWith(REPLACEMENT)) {
            return "";
        }
        shown += text.length();
        return text;
    }

    /** Returns the text that was held back. */
    String rest() {
        return decoder.apply(ids).substring(shown);
    }
}
