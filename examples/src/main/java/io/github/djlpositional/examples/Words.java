package io.github.djlpositional.examples;

import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/** Splits text into words. */
public final class Words {

    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}]+(?:['’-][\\p{L}\\p{N}]+)*");

    private Words() {}

    /**
     * Splits a text.
     *
     * @param text any text
     * @return its words in order, in lower case, without punctuation
     */
    public static List<String> of(String text) {
        return WORD.matcher(text.toLowerCase(Locale.ROOT))
                .results()
                .map(MatchResult::group)
                .toList();
    }
}
