package io.github.djlpositional.weights;

import ai.djl.ndarray.types.Shape;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.ZipException;

/**
 * The header of an array in NumPy's format, versions 1.0 to 3.0: a magic, a version, a length, and a Python dictionary of three
 * entries. See <a href="https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html">the format</a>.
 *
 * @param description the type, such as {@code <f4}
 * @param isColumnMajor whether the first index varies fastest
 * @param shape the array's shape
 * @param length the bytes before the data
 */
record NpyHeader(String description, boolean isColumnMajor, Shape shape, long length) {

    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};

    /** The longest dictionary that NumPy itself reads from strangers. */
    private static final int LONGEST = 10_000;

    static boolean isOne(byte[] start) {
        return start.length >= MAGIC.length && Arrays.equals(start, 0, MAGIC.length, MAGIC, 0, MAGIC.length);
    }

    /**
     * Reads a header.
     *
     * @param in the array, from its start; left where its data begins
     * @throws ZipException if it is none
     * @throws EOFException if it ends too soon
     */
    static NpyHeader read(InputStream in) throws IOException {
        byte[] start = exactly(in, MAGIC.length + 2);
        int version = start[MAGIC.length];
        if (!isOne(start) || version < 1 || version > 3) {
            throw new ZipException("it begins with no header of NumPy's versions 1 to 3");
        }
        byte[] lengthBytes = exactly(in, version == 1 ? Short.BYTES : Integer.BYTES);
        long length = 0;
        for (int i = lengthBytes.length - 1; i >= 0; i--) {
            length = (length << Byte.SIZE) | Byte.toUnsignedLong(lengthBytes[i]);
        }
        if (length > LONGEST) {
            throw new ZipException("its header of " + length + " bytes is longer than NumPy's");
        }
        byte[] text = exactly(in, (int) length);
        PythonDictionary dictionary = PythonDictionary.parse(
                new String(text, version == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1));
        return new NpyHeader(
                dictionary.description(),
                dictionary.isColumnMajor(),
                new Shape(dictionary.shape()),
                start.length + lengthBytes.length + length);
    }

    private static byte[] exactly(InputStream in, int length) throws IOException {
        return BulkStream.exactly(in, length, "its header");
    }

    /** The type of the numbers, or null for one that is not read. */
    StoredType type() {
        return switch (description) {
            case "<f2", ">f2" -> StoredType.F16;
            case "<f4", ">f4" -> StoredType.F32;
            case "<f8", ">f8" -> StoredType.F64;
            default -> null;
        };
    }

    ByteOrder order() {
        return description.startsWith(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
    }
}
