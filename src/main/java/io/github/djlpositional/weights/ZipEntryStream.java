package io.github.djlpositional.weights;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.Inflater;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipException;

/** A file in a zip archive: exactly as many bytes as the directory has for it, whose checksum is compared at their end. */
final class ZipEntryStream extends BulkStream {

    /** The compressed bytes that are read at once: Java's own 512 would ask the file for each. */
    private static final int BUFFER = 1 << 16;

    private final ZipDirectory.Entry entry;
    private final InputStream in;

    /** Null where nothing is compressed. */
    private final Inflater inflater;

    private final CRC32 checksum = new CRC32();
    private long remaining;
    private boolean isVerified;

    ZipEntryStream(ZipDirectory.Entry entry, InputStream compressed) {
        this.entry = entry;
        inflater = entry.isDeflated() ? new Inflater(true) : null;
        in = inflater == null ? compressed : new InflaterInputStream(compressed, inflater, BUFFER);
        remaining = entry.size();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (remaining == 0) {
            verify();
            return -1;
        }
        int count = in.read(bytes, offset, (int) Math.min(length, remaining));
        if (count < 0) {
            throw new EOFException("it ends " + remaining + " bytes before its size in the zip directory");
        }
        checksum.update(bytes, offset, count);
        remaining -= count;
        return count;
    }

    private void verify() throws IOException {
        if (isVerified) {
            return;
        }
        if (in.read() >= 0 || (inflater != null && inflater.getBytesRead() != entry.compressedSize())) {
            throw new ZipException("it goes on behind its size in the zip directory");
        }
        if (checksum.getValue() != entry.checksum()) {
            throw new ZipException("its checksum is not that of the zip directory");
        }
        isVerified = true;
    }

    @Override
    public void close() throws IOException {
        if (inflater != null) {
            inflater.end();
        }
        in.close();
    }
}
