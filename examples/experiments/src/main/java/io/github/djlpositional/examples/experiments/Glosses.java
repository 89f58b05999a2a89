package io.github.djlpositional.examples.experiments;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * The definitions in WordNet 3.1, as lists of words.
 *
 * <p>A line of its data files ends with {@code | definition; "an example"; …}: the gloss is the text between the bar
 * and the first semicolon.
 */
final class Glosses {

    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}]+(?:['’-][\\p{L}\\p{N}]+)*");

    private Glosses() {}

    /** Returns the different glosses with at least two different words, in the order of the files. */
    static List<List<String>> read() throws IOException {
        Set<List<String>> glosses = new LinkedHashSet<>();
        for (String partOfSpeech : List.of("noun", "verb", "adj", "adv")) {
            try (InputStream in =
                    Glosses.class.getResourceAsStream("/net/sf/extjwnl/data/wordnet/wn31/data." + partOfSpeech)) {
                new String(in.readAllBytes(), StandardCharsets.UTF_8)
                        .lines()
                        // the license at the top of the file is indented
                        .filter(line -> !line.startsWith(" "))
                        .map(line -> words(line.substring(line.indexOf("| ")).split(";", 2)[0]))
                        .filter(words -> Set.copyOf(words).size() >= 2)
                        .forEach(glosses::add);
            }
        }
        return new ArrayList<>(glosses);
    }

    /** Returns the words of a text in order, in lower case, without punctuation. */
    static List<String> words(String text) {
        return WORD.matcher(text.toLowerCase(Locale.ROOT))
                .results()
                .map(MatchResult::group)
                .toList();
    }
}
