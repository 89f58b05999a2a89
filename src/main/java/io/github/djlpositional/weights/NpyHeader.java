package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.InvalidFileException.check;

import ai.djl.ndarray.types.Shape;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The header of an array in NumPy's format, versions 1.0 to 3.0: a magic string, a version, a length, and a Python
 * dictionary such as {@code {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }}. See <a
 * href="https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html">the format</a>.
 *
 * <p>{@code descr} is the type, such as {@code <f4}, or the list of fields of a structured type. The length includes
 * all that is in front of the data.
 */
record NpyHeader(String descr, boolean isColumnMajor, Shape shape, long length) {

    /** The first bytes, in ISO 8859-1. */
    static final String MAGIC = "\u0093NUMPY";

    /** The longest dictionary that NumPy itself reads from untrusted files. */
    private static final int LONGEST_DICTIONARY = 10_000;

    // a structured type is not read; its list of fields extends to the next key or the end of the dictionary
    private static final String DESCRIPTION = key("descr")
            + "(?:(?<quote>['\"])(?<type>[^'\"\\\\]*+)\\k<quote>"
            + "|(?<fields>(?>\\[.*?\\](?=\\s*+(?:,\\s*+['\"]\\w++['\"]\\s*+:|,?+\\s*+\\})))))";
    private static final String ORDER = key("fortran_order") + "(?<order>True|False)";

    /** At most 64 axes, as in NumPy. A single size needs a comma in Python; Python 2 appended an L to some numbers. */
    private static final String SHAPE =
            key("shape") + "\\(\\s*+(?<shape>(?:(?:\\d{1,18}L?+\\s*+,\\s*+){1,63}+(?:\\d{1,18}L?+\\s*+)?+)?+)\\)";

    private static final Pattern DICTIONARY = Pattern.compile(
            "\\s*+\\{(?:\\s*+(?:" + DESCRIPTION + "|" + ORDER + "|" + SHAPE + ")\\s*+(?:,|(?=\\}))){3}\\s*+\\}\\s*+",
            Pattern.DOTALL);
    private static final Pattern NUMBER = Pattern.compile("\\d+");

    private static String key(String name) {
        return "(?:'" + name + "'|\"" + name + "\")\\s*+:\\s*+";
    }

    /** Reads the header at the start of an array, whose name is given for messages. */
    static NpyHeader read(String name, InputStream in) throws IOException {
        byte[] start = in.readNBytes(MAGIC.length() + 2);
        int version = start.length < MAGIC.length() + 2 ? 0 : start[MAGIC.length()];
        boolean isNumPy = new String(start, StandardCharsets.ISO_8859_1).startsWith(MAGIC);
        check(isNumPy && version >= 1 && version <= 3, "array %s has no header of NumPy's versions 1 to 3", name);
        int lengthBytes = version == 1 ? Short.BYTES : Integer.BYTES;
        ByteBuffer padded = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long length = padded.put(in.readNBytes(lengthBytes)).getLong(0);
        check(length <= LONGEST_DICTIONARY, "array %s has a header of %s bytes, more than NumPy's", name, length);
        byte[] bytes = in.readNBytes((int) length);
        check(bytes.length == length && length > 0, "array %s ends within its header", name);
        String text = new String(bytes, version == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1);
        return parse(name, text, start.length + lengthBytes + length);
    }

    private static NpyHeader parse(String name, String text, long length) throws InvalidFileException {
        Matcher matcher = DICTIONARY.matcher(text);
        // three entries, of which each group has matched one: so none is missing or repeated
        boolean isHeader = matcher.matches()
                && (matcher.group("type") == null) != (matcher.group("fields") == null)
                && matcher.group("order") != null
                && matcher.group("shape") != null;
        check(isHeader, "array %s has the header %s, expected NumPy's descr, fortran_order and shape", name, text);
        String descr = matcher.group("type") == null ? matcher.group("fields") : matcher.group("type");
        long[] shape = NUMBER.matcher(matcher.group("shape"))
                .results()
                .mapToLong(size -> Long.parseLong(size.group()))
                .toArray();
        return new NpyHeader(descr, matcher.group("order").equals("True"), new Shape(shape), length);
    }

    /** Returns the type of the numbers, or null if it cannot be loaded. */
    StoredType type() {
        return switch (descr) {
            case "<f2", ">f2" -> StoredType.F16;
            case "<f4", ">f4" -> StoredType.F32;
            case "<f8", ">f8" -> StoredType.F64;
            default -> null;
        };
    }

    ByteOrder order() {
        return descr.startsWith(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }
}
