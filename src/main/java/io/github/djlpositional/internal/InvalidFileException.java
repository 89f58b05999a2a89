package io.github.djlpositional.internal;

import ai.djl.MalformedModelException;
import io.github.djlpositional.internal.options.Settings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A weight file or a configuration is damaged, or has another format. */
public final class InvalidFileException extends IOException {

    private static final int LONGEST_QUOTE = 100;
    private static final int TEXTS_SHOWN = 8;

    /** Characters that would break a line, reverse the text around them, or not be visible. */
    private static final Pattern HIDDEN = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Cn}\\p{Zl}\\p{Zp}]");

    private static final String SAVE_AGAIN = "copy, download or save it again";
    private final String remedy;

    private InvalidFileException(String problem, String remedy, Exception cause) {
        super(problem, cause);
        this.remedy = remedy;
    }

    /** A file that is something else: what it is, and what to do. */
    public static InvalidFileException another(String problem, String remedy) {
        return new InvalidFileException(problem, remedy, null);
    }

    public static InvalidFileException damaged(String what, Exception cause) {
        return new InvalidFileException("is damaged or truncated, " + what, SAVE_AGAIN, cause);
    }

    /** A file that ends too soon, as after an interrupted download. */
    public static InvalidFileException truncated(long size, long expected) {
        return another("is truncated, it has " + size + " of " + expected + " bytes", SAVE_AGAIN);
    }

    /** A file that is not the expected JSON. The first line of the parser's message says why, the second has a link. */
    public static InvalidFileException notJson(String what, Exception cause) {
        String reason = String.valueOf(cause.getMessage()).lines().findFirst().orElse("");
        return damaged(what + " (" + visible(reason) + ")", cause);
    }

    /**
     * Checks the content of a file. Strings among the values come from the file and are {@linkplain #quoted quoted}.
     */
    public static void check(boolean holds, String message, Object... values) throws InvalidFileException {
        if (!holds) {
            Object[] shown = Stream.of(values)
                    .map(value -> value instanceof String text ? quoted(text) : value)
                    .toArray();
            throw damaged(String.format(Locale.ROOT, message, shown), null);
        }
    }

    /** Returns a text from a file in quotes, for messages. */
    public static String quoted(Object text) {
        return '"' + shown(text) + '"';
    }

    /** Returns the first few texts in quotes. */
    public static List<String> listed(Collection<String> texts) {
        Stream<String> first = texts.stream().limit(TEXTS_SHOWN).map(InvalidFileException::quoted);
        return Stream.concat(first, texts.size() > TEXTS_SHOWN ? Stream.of("…") : Stream.empty())
                .toList();
    }

    /** Returns a value from a file for messages: printable, on one line, and shortened. */
    public static String shown(Object value) {
        boolean isArray = value != null && value.getClass().isArray();
        String text = isArray ? Settings.shown(value) : String.valueOf(value);
        boolean isLong = text.codePointCount(0, text.length()) > LONGEST_QUOTE;
        String shown = isLong ? text.substring(0, text.offsetByCodePoints(0, LONGEST_QUOTE)) + "…" : text;
        return visible(shown);
    }

    private static String visible(String text) {
        return HIDDEN.matcher(text)
                .replaceAll(found -> String.format("\\\\u%04x", found.group().codePointAt(0)));
    }

    /** Returns the exception to throw for a weight file. */
    public MalformedModelException of(Path file) {
        return of("the weight file " + file, "a complete safetensors file");
    }

    /** Returns the exception to throw for a configuration. */
    public MalformedModelException ofConfiguration(Path file) {
        return of("the configuration " + file, "the config.json of a model");
    }

    private MalformedModelException of(String file, String expected) {
        return new MalformedModelException(file + " " + getMessage() + ": expected " + expected + "; " + remedy, this);
    }
}
