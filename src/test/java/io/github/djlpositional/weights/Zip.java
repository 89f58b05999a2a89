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

/** Makes npz files as NumPy would, for tests to damage. */
final class Zip {

    private Zip() {}

    /** An array in NumPy's format: a dictionary and zeros behind it. */
    static byte[] npy(String dictionary, int dataBytes) {
        byte[] text = dictionary.getBytes(StandardCharsets.ISO_8859_1);
        return ByteBuffer.allocate(10 + text.length + dataBytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0})
                .putShort((short) text.length)
                .put(text)
                .array();
    }

    /** Float zeros of a shape in Python's notation. */
    static byte[] floats(String shape, int dataBytes) {
        return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n", dataBytes);
    }

    /** An archive of one file. */
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

    /** Where the entry of an archive's only file is in its directory. */
    static int centralHeader(byte... archive) {
        return new String(archive, StandardCharsets.ISO_8859_1).lastIndexOf("PK\u0001\u0002");
    }

    /** Where the directory's end is. */
    static int end(byte... archive) {
        return new String(archive, StandardCharsets.ISO_8859_1).lastIndexOf("PK\u0005\u0006");
    }

    static ByteBuffer littleEndian(byte... bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
