package io.github.djlpositional.internal;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;

/**
 * A piece of a model file that is read before DJL reads it: DJL makes room for whatever a count in it claims, so each must be
 * checked before.
 */
public final class ReadAhead {

    private final InputStream file;
    private final ByteArrayOutputStream seen = new ByteArrayOutputStream();

    /**
     * Begins where a file is.
     *
     * @param file not buffered here: no byte is read of it that is not asked for
     */
    public ReadAhead(InputStream file) {
        this.file = file;
    }

    /** The file, of which every byte is kept. */
    public DataInputStream ahead() {
        return new DataInputStream(new FilterInputStream(file) {
            @Override
            public int read() throws IOException {
                int next = in.read();
                if (next >= 0) {
                    seen.write(next);
                }
                return next;
            }

            @Override
            public int read(byte[] bytes, int from, int length) throws IOException {
                int count = in.read(bytes, from, length);
                if (count > 0) {
                    seen.write(bytes, from, count);
                }
                return count;
            }
        });
    }

    /** What was read, and then the rest of the file. */
    public DataInputStream again() {
        return new DataInputStream(new SequenceInputStream(new ByteArrayInputStream(seen.toByteArray()), file));
    }
}
