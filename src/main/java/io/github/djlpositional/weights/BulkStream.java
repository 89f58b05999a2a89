package io.github.djlpositional.weights;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** A stream that is read many bytes at a time; a single one is read as many are. */
abstract class BulkStream extends InputStream {

    @Override
    public final int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(one[0]);
    }

    @Override
    public abstract int read(byte[] bytes, int offset, int length) throws IOException;

    /**
     * Reads as many bytes as there must be.
     *
     * @param in any stream
     * @param length how many
     * @param within what they are a part of, for the message
     */
    static byte[] exactly(InputStream in, int length, String within) throws IOException {
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new EOFException("it ends within " + within);
        }
        return bytes;
    }
}
