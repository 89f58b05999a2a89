package io.github.djlpositional.weights;

import io.github.djlpositional.internal.InvalidFileException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Names of tensors or parameters, in which * stands for any text. */
final class NamePatterns {

    private final Map<String, Predicate<String>> patterns = new LinkedHashMap<>();

    void add(String... added) {
        List.of(added).forEach(pattern -> patterns.put(pattern, matching(pattern)));
    }

    boolean match(String name) {
        return patterns.values().stream().anyMatch(pattern -> pattern.test(name));
    }

    private static Predicate<String> matching(String pattern) {
        String expression =
                Stream.of(pattern.split("\\*", -1)).map(Pattern::quote).collect(Collectors.joining(".*"));
        return Pattern.compile(expression, Pattern.DOTALL).asMatchPredicate();
    }

    /** Lists the patterns that match no name and are probably misspelled; empty if all match. */
    String withoutMatch(String method, String what, Collection<String> names) {
        List<String> without = patterns.keySet().stream()
                .filter(pattern -> names.stream().noneMatch(patterns.get(pattern)))
                .toList();
        return without.isEmpty()
                ? ""
                : "; " + method + " has " + InvalidFileException.listed(without) + ", which match no " + what;
    }
}
