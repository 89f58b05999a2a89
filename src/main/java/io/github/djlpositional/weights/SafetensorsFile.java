package io.github.djlpositional.weights;

import static io.github.djlpositional.internal.InvalidFileException.check;

import ai.djl.ndarray.types.Shape;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import io.github.djlpositional.internal.InvalidFileException;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Reads the header of a safetensors file: the length of the header (8 bytes, little-endian), the header in JSON, the
 * data. See <a href="https://github.com/huggingface/safetensors#format">the format</a>.
 *
 * <p>The JSON is read token by token: a tree of it would take 42 bytes of memory for each byte of the file.
 */
final class SafetensorsFile {

    /** The longest header in the format. */
    private static final long LONGEST_HEADER = 100_000_000;

    /** More axes, and more fields in its header, than any tensor has. */
    private static final int MOST = 64;

    private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

    private SafetensorsFile() {}

    /** A tensor's entry in the header; begin and end are in bytes from the start of the data. */
    private record Entry(String name, String type, Shape shape, long begin, long end) {

        @Override
        public String toString() {
            return "tensor " + InvalidFileException.quoted(name) + " (" + InvalidFileException.quoted(type) + ", "
                    + shape + ", bytes " + begin + " to " + end + ")";
        }

        StoredTensor at(Path file, long dataStart) {
            StoredType stored = Stream.of(StoredType.values())
                    .filter(each -> each.name().equals(type))
                    .findFirst()
                    .orElse(null);
            return StoredTensor.inFile(file, name, type, stored, shape, dataStart + begin);
        }
    }

    /** Returns whether a file begins as this format does: its ninth byte opens the JSON. */
    static boolean isOne(byte... start) {
        return start.length > Long.BYTES && start[Long.BYTES] == '{' && headerLength(start) > 1;
    }

    private static long headerLength(byte... start) {
        return ByteBuffer.wrap(start).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }

    static Map<String, StoredTensor> read(Path file, byte[] start, long fileSize) throws IOException {
        long length = headerLength(start);
        check(length <= LONGEST_HEADER, "its header of %s bytes does not fit the file's %s bytes", length, fileSize);
        long dataStart = Long.BYTES + length;
        if (dataStart > fileSize) {
            throw InvalidFileException.truncated(fileSize, dataStart);
        }
        InputStream header = new ByteArrayInputStream(WeightFile.read(file, Long.BYTES, (int) length));
        Map<String, Entry> entries;
        try (JsonReader json = new JsonReader(new InputStreamReader(header, StandardCharsets.UTF_8.newDecoder()))) {
            entries = readEntries(json);
        } catch (MalformedJsonException | CharacterCodingException | EOFException | IllegalStateException e) {
            // Gson throws an IllegalStateException for a token of another type than the one asked for
            throw InvalidFileException.notJson("its header is not the JSON of the format", e);
        }
        requireContiguous(entries, dataStart, fileSize);
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        entries.forEach((name, entry) -> tensors.put(name, entry.at(file, dataStart)));
        return tensors;
    }

    private static Map<String, Entry> readEntries(JsonReader json) throws IOException {
        Map<String, Entry> entries = new LinkedHashMap<>();
        readObject("header", WeightFile.MOST_TENSORS, json, name -> {
            if (!name.equals("__metadata__")) {
                entries.put(name, readEntry(name, json));
            } else if (json.peek() == JsonToken.NULL) {
                json.nextNull(); // as the reference implementation does
            } else {
                readObject(name, WeightFile.MOST_TENSORS, json, key -> {
                    check(json.peek() == JsonToken.STRING, "its metadata %s is not a string", key);
                    json.skipValue();
                });
            }
        });
        check(json.peek() == JsonToken.END_DOCUMENT, "its header continues after its end");
        return entries;
    }

    /** Reads the value that follows a name in an object. */
    @FunctionalInterface
    private interface Member {
        void read(String name) throws IOException;
    }

    private static void readObject(String object, int most, JsonReader json, Member member) throws IOException {
        Set<String> names = new HashSet<>();
        json.beginObject();
        while (json.hasNext()) {
            String name = json.nextName();
            check(names.add(name), "its object %s has %s twice", object, name);
            check(names.size() <= most, "its object %s has more than %s names", object, most);
            member.read(name);
        }
        json.endObject();
    }

    private static Entry readEntry(String name, JsonReader json) throws IOException {
        Map<String, Object> fields = new HashMap<>();
        readObject(name, MOST, json, field -> {
            switch (field) {
                case "dtype" -> {
                    check(json.peek() == JsonToken.STRING, "the type of tensor %s is not a string", name);
                    fields.put(field, json.nextString());
                }
                case "shape", "data_offsets" -> fields.put(field, readIntegers(name, json));
                default -> json.skipValue(); // as the reference implementation does; Gson limits its depth
            }
        });
        boolean isComplete = fields.size() == 3 && ((long[]) fields.get("data_offsets")).length == 2;
        check(isComplete, "the header of tensor %s lacks its type, its shape or its two offsets", name);
        String type = (String) fields.get("dtype");
        long[] offsets = (long[]) fields.get("data_offsets");
        Entry entry = new Entry(name, type, new Shape((long[]) fields.get("shape")), offsets[0], offsets[1]);
        check(entry.begin() <= entry.end(), "%s ends before it begins", entry);
        int bits = bits(type);
        boolean isSize = bits == 0 || StoredTensor.isSize(entry.shape(), bits, entry.end() - entry.begin());
        check(isSize, "%s has another number of bytes than its shape and type", entry);
        return entry;
    }

    /** Reads integers in plain digits; Gson would also accept 1e3, 1.0 and "1". */
    private static long[] readIntegers(String name, JsonReader json) throws IOException {
        LongStream.Builder integers = LongStream.builder();
        json.beginArray();
        for (int count = 1; json.hasNext(); count++) {
            check(json.peek() == JsonToken.NUMBER, "a size or an offset of tensor %s is not a number", name);
            String digits = json.nextString();
            boolean isNumber = NUMBER.matcher(digits).matches() && count <= MOST;
            check(isNumber, "tensor %s has %s as a size or an offset, or too many of them", name, digits);
            integers.add(Long.parseLong(digits));
        }
        json.endArray();
        return integers.build().toArray();
    }

    /** Returns the size of a number in bits, or 0 for an unknown type: the format may get new types. */
    private static int bits(String type) {
        return switch (type) {
            case "F4" -> 4;
            case "F6_E2M3", "F6_E3M2" -> 6;
            case "BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ" -> 8;
            case "I16", "U16", "F16", "BF16" -> 16;
            case "I32", "U32", "F32" -> 32;
            case "I64", "U64", "F64", "C64" -> 64;
            default -> 0;
        };
    }

    /** Checks that each byte of data belongs to exactly one tensor, as the format requires. */
    private static void requireContiguous(Map<String, Entry> entries, long dataStart, long fileSize)
            throws InvalidFileException {
        List<Entry> sorted = new ArrayList<>(entries.values());
        sorted.sort(Comparator.comparingLong(Entry::begin).thenComparingLong(Entry::end));
        long end = 0;
        for (Entry entry : sorted) {
            check(entry.begin() == end, "%s does not begin where the one before it ends, at %s", entry, end);
            end = entry.end();
        }
        if (end > fileSize - dataStart) {
            throw InvalidFileException.truncated(fileSize, dataStart + end);
        }
        check(end == fileSize - dataStart, "its tensors have %s of its %s bytes of data", end, fileSize - dataStart);
    }
}
