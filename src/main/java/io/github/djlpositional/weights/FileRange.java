package io.github.djlpositional.weights;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A range of bytes of a file. It is not mapped into memory: the JVM would abort if another process truncated the file. */
final class FileRange extends InputStream {

    private final FileChannel channel;
    private final long end;
    private long position;

    FileRange(Path file, long start, long length) throws IOException {
        channel = FileChannel.open(file, StandardOpenOption.READ);
        position = start;
        end = start + length;
    }

    /** Reads a few bytes. */
    static byte[] read(Path file, long start, int length) throws IOException {
        try (FileRange range = new FileRange(file, start, length)) {
            return range.readNBytes(length);
        }
    }

    @Override
    public int read() throws IOException {
        byte[] single = new byte[1];
        return read(single, 0, 1) < 0 ? -1 : Byte.toUnsignedInt(single[0]);
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (position == end) {
            return -1;
        }
        int count = channel.read(ByteBuffer.wrap(bytes, offset, (int) Math.min(length, end - position)), position);
        if (count < 0) {
            throw new EOFException("the file ends before byte " + end);
        }
        position += count;
        return count;
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
