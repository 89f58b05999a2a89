package io.github.djlpositional.weights;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Some bytes of a file, which must be there. They are read, not mapped into memory: a mapped file that another process cuts off
 * would end the JVM.
 */
final class FileRange extends BulkStream {

    private final FileChannel channel;
    private final long end;
    private long position;

    private FileRange(FileChannel channel, long position, long end) {
        this.channel = channel;
        this.position = position;
        this.end = end;
    }

    static FileRange open(Path file, long start, long length) throws IOException {
        return new FileRange(FileChannel.open(file, StandardOpenOption.READ), start, start + length);
    }

    /** Reads a few bytes at once. */
    static byte[] read(Path file, long start, int length) throws IOException {
        try (FileRange range = open(file, start, length)) {
            return range.readNBytes(length);
        }
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (position == end) {
            return -1;
        }
        int wanted = (int) Math.min(length, end - position);
        int count = channel.read(ByteBuffer.wrap(bytes, offset, wanted), position);
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
