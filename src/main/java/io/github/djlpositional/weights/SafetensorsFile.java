package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.types.Shape;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads the header of a safetensors file: the length of the header (8 bytes, little-endian), the header in JSON, the data. See
 * <a href="https://github.com/huggingface/safetensors#format">the format</a>.
 *
 * <p>The JSON is read token by token, so that neither its depth nor its size costs more than what is kept of it.
 */
final class SafetensorsFile {

    /** The longest header that the format allows. */
    private static final long LONGEST_HEADER = 100_000_000;

    private static final int LENGTH_BYTES = Long.BYTES;

    private static final String METADATA = "__metadata__";

    /** Of values that are passed over: the format itself needs two. */
    private static final int DEEPEST = 64;

    /** More than any tensor has. */
    private static final int MOST_DIMENSIONS = 64;

    private final Path file;
    private final long dataStart;
    private final long dataSize;
    private final Map<String, Entry> entries = new LinkedHashMap<>();

    private SafetensorsFile(Path file, long dataStart, long dataSize) {
        this.file = file;
        this.dataStart = dataStart;
        this.dataSize = dataSize;
    }

    /** What the header says of a tensor; begin and end count from the start of the data. */
    private record Entry(String name, String type, Shape shape, long begin, long end) {

        @Override
        public String toString() {
            return "tensor " + Quoted.text(name) + " (" + Quoted.text(type) + ", " + shape + ", bytes " + begin + " to "
                    + end + ")";
        }
    }

    /** Whether a file begins as this format does: its ninth byte opens the JSON. */
    static boolean isOne(byte[] start) {
        return start.length > LENGTH_BYTES && start[LENGTH_BYTES] == '{' && headerLength(start) > 1;
    }

    private static long headerLength(byte[] start) {
        return ByteBuffer.wrap(start).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }

    static Map<String, StoredTensor> read(Path file, byte[] start, long fileSize)
            throws IOException, MalformedModelException {
        long length = headerLength(start);
        if (length > LONGEST_HEADER || length > fileSize - LENGTH_BYTES) {
            throw DamagedFile.because(
                    file, "its header of " + length + " bytes does not fit the file's " + fileSize + " bytes");
        }
        SafetensorsFile header = new SafetensorsFile(file, LENGTH_BYTES + length, fileSize - LENGTH_BYTES - length);
        try (Reader text = new InputStreamReader(
                        new BufferedInputStream(FileRange.open(file, LENGTH_BYTES, length)),
                        StandardCharsets.UTF_8
                                .newDecoder()
                                .onMalformedInput(CodingErrorAction.REPORT)
                                .onUnmappableCharacter(CodingErrorAction.REPORT));
                JsonReader json = new JsonReader(text)) {
            header.readEntries(json);
        } catch (MalformedJsonException | CharacterCodingException | EOFException | IllegalStateException e) {
            // Gson throws an IllegalStateException for a token of another kind than the one asked for
            throw DamagedFile.because(file, "its header is not the JSON of the format (" + e.getMessage() + ")", e);
        }
        header.requireWholeData();
        return header.tensors();
    }

    private void readEntries(JsonReader json) throws IOException, MalformedModelException {
        Set<String> names = new HashSet<>();
        json.beginObject();
        while (json.hasNext()) {
            String name = json.nextName();
            addOnce(names, name, "its header");
            if (name.equals(METADATA)) {
                skipMetadata(json);
            } else {
                entries.put(name, readEntry(name, json));
            }
        }
        json.endObject();
        if (json.peek() != JsonToken.END_DOCUMENT) {
            throw damaged("its header goes on behind its end");
        }
    }

    private void addOnce(Set<String> names, String name, String what) throws MalformedModelException {
        if (!names.add(name)) {
            throw damaged(what + " has " + Quoted.text(name) + " twice");
        }
        if (names.size() > WeightFile.MOST_TENSORS) {
            throw damaged(what + " has more than " + WeightFile.MOST_TENSORS + " names");
        }
    }

    /** Free text of whoever wrote the file; of no use here. */
    private void skipMetadata(JsonReader json) throws IOException, MalformedModelException {
        Set<String> names = new HashSet<>();
        json.beginObject();
        while (json.hasNext()) {
            String name = json.nextName();
            addOnce(names, name, "its metadata");
            requireToken(json, JsonToken.STRING, "its metadata " + Quoted.text(name));
            json.skipValue();
        }
        json.endObject();
    }

    private Entry readEntry(String name, JsonReader json) throws IOException, MalformedModelException {
        String type = null;
        long[] shape = null;
        long[] offsets = null;
        String what = "tensor " + Quoted.text(name);
        Set<String> fields = new HashSet<>();
        json.beginObject();
        while (json.hasNext()) {
            String field = json.nextName();
            addOnce(fields, field, "the header of " + what);
            switch (field) {
                case "dtype" -> {
                    requireToken(json, JsonToken.STRING, "the type of " + what);
                    type = json.nextString();
                }
                case "shape" -> shape = readNumbers(json, what);
                case "data_offsets" -> offsets = readNumbers(json, what);
                default -> skip(json, what); // as the reference reader does
            }
        }
        json.endObject();
        if (type == null || shape == null || offsets == null || offsets.length != 2) {
            throw damaged("the header of " + what + " lacks its type, its shape or its two offsets");
        }
        Entry entry = new Entry(name, type, new Shape(shape), offsets[0], offsets[1]);
        requireSize(entry);
        return entry;
    }

    /** Passes over a value of any kind; Gson's own way keeps a stack as deep as the value. */
    private void skip(JsonReader json, String what) throws IOException, MalformedModelException {
        int depth = 0;
        do {
            switch (json.peek()) {
                case BEGIN_ARRAY -> {
                    json.beginArray();
                    depth++;
                }
                case BEGIN_OBJECT -> {
                    json.beginObject();
                    depth++;
                }
                case END_ARRAY -> {
                    json.endArray();
                    depth--;
                }
                case END_OBJECT -> {
                    json.endObject();
                    depth--;
                }
                default -> json.skipValue(); // a number, text, a constant, or a name
            }
            if (depth > DEEPEST) {
                throw damaged("the header of " + what + " is nested deeper than " + DEEPEST);
            }
        } while (depth > 0);
    }

    private void requireToken(JsonReader json, JsonToken token, String what)
            throws IOException, MalformedModelException {
        if (json.peek() != token) {
            throw damaged(what + " is a " + json.peek() + " where a " + token + " belongs");
        }
    }

    /** Whole numbers in plain digits; Gson would also take 1e3, 1.0 and "1". */
    private long[] readNumbers(JsonReader json, String what) throws IOException, MalformedModelException {
        List<Long> numbers = new ArrayList<>();
        json.beginArray();
        while (json.hasNext()) {
            requireToken(json, JsonToken.NUMBER, "a size or an offset of " + what);
            String digits = json.nextString();
            if (!digits.matches("\\d{1,18}") || numbers.size() == MOST_DIMENSIONS) {
                throw damaged(what + " has " + Quoted.text(digits) + " as a size or an offset, or too many of them");
            }
            numbers.add(Long.valueOf(digits));
        }
        json.endArray();
        return numbers.stream().mapToLong(Long::longValue).toArray();
    }

    private void requireSize(Entry entry) throws MalformedModelException {
        if (entry.begin() > entry.end() || entry.end() > dataSize) {
            throw damaged(entry + " is not within the " + dataSize + " bytes of data");
        }
        int bits = bits(entry.type());
        try {
            long values = 1;
            for (long size : entry.shape().getShape()) {
                values = Math.multiplyExact(values, size);
            }
            if (bits > 0 && Math.multiplyExact(values, bits) != 8 * (entry.end() - entry.begin())) {
                throw damaged(entry + " has another number of bytes than its shape and type");
            }
        } catch (ArithmeticException e) {
            throw DamagedFile.because(file, entry + " has more numbers than any file", e);
        }
    }

    /** The bits of a number of a type, or 0 for a type that is not known: the format gains some now and then. */
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

    /** Every byte of data belongs to one tensor: so the format has it, lest something else hide in the file. */
    private void requireWholeData() throws MalformedModelException {
        List<Entry> inOrder = new ArrayList<>(entries.values());
        inOrder.sort(Comparator.comparingLong(Entry::begin).thenComparingLong(Entry::end));
        long end = 0;
        for (Entry entry : inOrder) {
            if (entry.begin() != end) {
                throw damaged(entry + " does not begin where the one before it ends, at " + end);
            }
            end = entry.end();
        }
        if (end != dataSize) {
            throw damaged("its tensors have " + end + " of its " + dataSize + " bytes of data");
        }
    }

    private Map<String, StoredTensor> tensors() {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        for (Entry entry : entries.values()) {
            tensors.put(
                    entry.name(),
                    new StoredTensor(
                            file,
                            entry.name(),
                            entry.type(),
                            typeOf(entry.type()),
                            ByteOrder.LITTLE_ENDIAN,
                            entry.shape(),
                            false,
                            () -> FileRange.open(file, dataStart + entry.begin(), entry.end() - entry.begin())));
        }
        return tensors;
    }

    private static StoredType typeOf(String name) {
        return switch (name) {
            case "F16" -> StoredType.F16;
            case "BF16" -> StoredType.BF16;
            case "F32" -> StoredType.F32;
            case "F64" -> StoredType.F64;
            default -> null;
        };
    }

    private MalformedModelException damaged(String what) {
        return DamagedFile.because(file, what);
    }
}
