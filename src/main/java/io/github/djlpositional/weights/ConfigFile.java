package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.InvalidFileException.check;

import ai.djl.MalformedModelException;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.arguments.internal.Check;
import java.io.EOFException;
import java.io.IOException;
import java.io.StringReader;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the {@code config.json} of a model, which may be untrusted, into plain values. */
final class ConfigFile {

    /** Published files have a few kilobytes; those that list quantized layers have some hundred. */
    private static final int MOST_BYTES = 4 << 20;

    private static final int MAX_DEPTH = 16;

    /** The longest text of a number: the time to parse one grows with the square of its length. */
    private static final int MAX_DIGITS = 100;

    private ConfigFile() {}

    /** Returns the values by key: maps, lists, strings, booleans, nulls, and numbers as {@link BigDecimal}. */
    static Map<String, Object> read(Path path) throws IOException, MalformedModelException {
        Check.that(
                Files.isRegularFile(path) || Files.notExists(path),
                () -> "the path " + path
                        + " is a directory or a device: expected the config.json of a model; give the path of a file");
        byte[] bytes = WeightFile.read(path, 0, MOST_BYTES + 1);
        try {
            check(bytes.length <= MOST_BYTES, "it has more than %s bytes", MOST_BYTES);
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
            try (JsonReader json = new JsonReader(new StringReader(text))) {
                Map<String, Object> values = object(json, 1);
                check(json.peek() == JsonToken.END_DOCUMENT, "its JSON continues after its end");
                return values;
            }
        } catch (MalformedJsonException
                | CharacterCodingException
                | EOFException
                | IllegalStateException
                | NumberFormatException e) {
            // Gson throws an IllegalStateException for a token of another type than the one asked for
            throw InvalidFileException.notJson("it is not one JSON object", e).ofConfiguration(path);
        } catch (InvalidFileException e) {
            throw e.ofConfiguration(path);
        }
    }

    private static Map<String, Object> object(JsonReader json, int depth) throws IOException {
        check(depth <= MAX_DEPTH, "its JSON is nested more than %s deep", MAX_DEPTH);
        Map<String, Object> values = new LinkedHashMap<>();
        json.beginObject();
        while (json.hasNext()) {
            String key = json.nextName();
            check(!values.containsKey(key), "it has the key %s twice", key);
            values.put(key, value(json, depth + 1));
        }
        json.endObject();
        return values;
    }

    private static List<Object> list(JsonReader json, int depth) throws IOException {
        check(depth <= MAX_DEPTH, "its JSON is nested more than %s deep", MAX_DEPTH);
        List<Object> elements = new ArrayList<>();
        json.beginArray();
        while (json.hasNext()) {
            elements.add(value(json, depth + 1));
        }
        json.endArray();
        return elements;
    }

    private static Object value(JsonReader json, int depth) throws IOException {
        return switch (json.peek()) {
            case BEGIN_OBJECT -> object(json, depth);
            case BEGIN_ARRAY -> list(json, depth);
            case BOOLEAN -> json.nextBoolean();
            case NUMBER -> number(json.nextString());
            case NULL -> {
                json.nextNull();
                yield null;
            }
            default -> json.nextString();
        };
    }

    private static BigDecimal number(String text) throws InvalidFileException {
        check(text.length() <= MAX_DIGITS, "it has the number %s of more than %s characters", text, MAX_DIGITS);
        return new BigDecimal(text);
    }
}
