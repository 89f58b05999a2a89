package io.github.djlpositional.weights;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Creates npz files as NumPy does, for tests to damage. */
final class Zip {

    private Zip() {}

    /** An array in NumPy's format: a dictionary and zeros. */
    static byte[] npy(String dictionary, int dataBytes) {
        byte[] text = dictionary.getBytes(StandardCharsets.ISO_8859_1);
        byte[] array = new byte[10 + text.length + dataBytes];
        littleEndian(array)
                .put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0})
                .putShort((short) text.length)
                .put(text);
        return array;
    }

    /** Zeros of type float and of a shape in Python's notation. */
    static byte[] floats(String shape, int dataBytes) {
        return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n", dataBytes);
    }

    /** An archive of one array. */
    static byte[] of(int method, byte... content) {
        return of("t.npy", method, content);
    }

    static byte[] of(String name, int method, byte... content) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            ZipEntry entry = new ZipEntry(name);
            entry.setMethod(method);
            if (method == ZipEntry.STORED) {
                CRC32 checksum = new CRC32();
                checksum.update(content);
                entry.setCrc(checksum.getValue());
                entry.setSize(content.length);
            }
            zip.putNextEntry(entry);
            zip.write(content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /**
     * The place of the last record of a type, such as {@code PK\1\2} for the directory's entry and {@code PK\5\6} for
     * its end.
     */
    static int record(int type, byte... archive) {
        String signature = "PK" + (char) type + (char) (type + 1);
        return new String(archive, StandardCharsets.ISO_8859_1).lastIndexOf(signature);
    }

    static ByteBuffer littleEndian(byte... bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
