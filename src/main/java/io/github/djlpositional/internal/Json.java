package io.github.djlpositional.internal;

import com.google.gson.Gson;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes JSON, and parses untrusted JSON strictly into plain values. */
public final class Json {

    private static final int MAX_DEPTH = 16;

    /** The maximum length of a number, and of a key in a message: parsing a number takes quadratic time. */
    private static final int MAX_TEXT = 100;

    private static final String NESTED = "values are nested more than " + MAX_DEPTH + " deep";

    private Json() {}

    /**
     * Returns the JSON object in a text: maps, lists, strings, booleans, nulls, and numbers as {@link BigDecimal}.
     *
     * @throws MalformedJsonException if the text is not one object in UTF-8 and strict JSON, has a key twice, is nested
     *     more than 16 deep, or has a number of more than 100 characters. The first line of the message says which
     */
    public static Map<String, Object> read(byte... utf8) throws MalformedJsonException {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(utf8))
                    .toString();
            JsonReader json = new JsonReader(new StringReader(text));
            Map<String, Object> object = object(json, 1);
            require(json.peek() == JsonToken.END_DOCUMENT, "it continues after the end of the object");
            return object;
        } catch (MalformedJsonException e) {
            throw e;
        } catch (IOException | IllegalStateException | NumberFormatException e) {
            // Gson throws an IllegalStateException for a token of another type than the one asked for
            throw new MalformedJsonException(e);
        }
    }

    /** Returns the JSON object in a resource of this library, which may have comments on lines of their own. */
    public static Map<String, Object> resource(Class<?> owner, String file) {
        try (InputStream in = owner.getResourceAsStream(file)) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return read(text.replaceAll("(?m)^ *//.*", "").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns plain values as JSON. */
    public static byte[] write(Map<String, ?> values) {
        return new Gson().toJson(values).getBytes(StandardCharsets.UTF_8);
    }

    private static void require(boolean holds, String otherwise) throws MalformedJsonException {
        if (!holds) {
            throw new MalformedJsonException(otherwise);
        }
    }

    private static Map<String, Object> object(JsonReader json, int depth) throws IOException {
        require(depth <= MAX_DEPTH, NESTED);
        Map<String, Object> values = new LinkedHashMap<>();
        json.beginObject();
        while (json.hasNext()) {
            String key = json.nextName();
            if (values.containsKey(key)) {
                String shown =
                        key.substring(0, Math.min(key.length(), MAX_TEXT)).replaceAll("\\R|\\p{Cntrl}", " ");
                throw new MalformedJsonException("it has the key '" + shown + "' twice");
            }
            values.put(key, value(json, depth + 1));
        }
        json.endObject();
        return values;
    }

    private static List<Object> list(JsonReader json, int depth) throws IOException {
        require(depth <= MAX_DEPTH, NESTED);
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
            case NUMBER -> {
                String number = json.nextString();
                require(number.length() <= MAX_TEXT, "a number has more than " + MAX_TEXT + " characters");
                yield new BigDecimal(number);
            }
            case NULL -> {
                json.nextNull();
                yield null;
            }
            default -> json.nextString();
        };
    }
}
