package io.github.djlpositional.weights;

import ai.djl.MalformedModelException;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipException;

/**
 * The directory at the end of a zip file, as its specification (PKWARE's APPNOTE 6.3) has it, zip64 included.
 *
 * <p>{@code java.util.zip.ZipFile} makes tables of the sizes that the file claims, and which claims it checks depends on the
 * version of Java. Here each claim is compared with the file's size first, and entries are read one by one.
 */
final class ZipDirectory {

    private static final int LOCAL_HEADER = 0x04034b50;
    private static final int CENTRAL_HEADER = 0x02014b50;
    private static final int END = 0x06054b50;
    private static final int END_64 = 0x06064b50;
    private static final int END_64_LOCATOR = 0x07064b50;

    private static final int LOCAL_HEADER_BYTES = 30;
    private static final int CENTRAL_HEADER_BYTES = 46;
    private static final int END_BYTES = 22;
    private static final int END_64_BYTES = 56;
    private static final int END_64_LOCATOR_BYTES = 20;
    private static final int LONGEST_COMMENT = 0xffff;
    private static final long LARGEST_DIRECTORY = 100_000_000;

    private static final int STORED = 0;
    private static final int DEFLATED = 8;

    /** Two bits can stand for at most 258 bytes in DEFLATE. */
    private static final long MOST_INFLATED = 1032;

    private static final long IN_ZIP_64 = 0xffff_ffffL;
    private static final int ZIP_64_EXTRA = 1;

    private final Path file;
    private final long fileSize;
    private final Map<String, Entry> entries = new LinkedHashMap<>();

    /** Where the directory begins, and all data ends. */
    private long start;

    private ZipDirectory(Path file, long fileSize) {
        this.file = file;
        this.fileSize = fileSize;
    }

    /** One file in the archive; {@code headerAt} is where its local header is. */
    record Entry(String name, boolean isDeflated, long checksum, long compressedSize, long size, long headerAt) {}

    /** Whether a file begins as an archive does, be it an empty one. */
    static boolean isOne(byte[] start) {
        if (start.length < Integer.BYTES) {
            return false;
        }
        int signature = littleEndian(start).getInt();
        return signature == LOCAL_HEADER || signature == END;
    }

    static ZipDirectory read(Path file, long fileSize) throws IOException, MalformedModelException {
        ZipDirectory directory = new ZipDirectory(file, fileSize);
        try {
            directory.readEntries();
        } catch (EOFException | CharacterCodingException e) {
            throw DamagedFile.because(file, "its zip directory cannot be read (" + e.getMessage() + ")", e);
        }
        return directory;
    }

    /** The files in the archive by name, in the order of the directory. */
    Map<String, Entry> entries() {
        return entries;
    }

    private static ByteBuffer littleEndian(byte... bytes) {
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static int unsignedShort(ByteBuffer buffer, int at) {
        return Short.toUnsignedInt(buffer.getShort(at));
    }

    private static long unsignedInt(ByteBuffer buffer, int at) {
        return Integer.toUnsignedLong(buffer.getInt(at));
    }

    private void readEntries() throws IOException, MalformedModelException {
        int tailLength = (int) Math.min(fileSize, END_BYTES + LONGEST_COMMENT);
        ByteBuffer tail = littleEndian(FileRange.read(file, fileSize - tailLength, tailLength));
        int end = tailLength - END_BYTES;
        while (end >= 0
                && !(tail.getInt(end) == END && unsignedShort(tail, end + 20) == tailLength - END_BYTES - end)) {
            end--;
        }
        if (end < 0) {
            throw damaged("it has no zip directory at its end");
        }
        long endAt = fileSize - tailLength + end;
        long count = unsignedShort(tail, end + 10);
        long size = unsignedInt(tail, end + 12);
        start = unsignedInt(tail, end + 16);
        if (count == 0xffff || size == IN_ZIP_64 || start == IN_ZIP_64) {
            ByteBuffer end64 = end64(endAt);
            count = end64.getLong(32);
            size = end64.getLong(40);
            start = end64.getLong(48);
        }
        if (start < 0 || size < 0 || size > LARGEST_DIRECTORY || start > endAt - size) {
            throw damaged("its zip directory of " + size + " bytes at " + start + " does not fit the file's " + fileSize
                    + " bytes");
        }
        if (count < 0 || count > Math.min(size / CENTRAL_HEADER_BYTES, WeightFile.MOST_TENSORS)) {
            throw damaged("its zip directory of " + size + " bytes claims " + count + " entries");
        }
        try (InputStream in = new BufferedInputStream(FileRange.open(file, start, size))) {
            for (long i = 0; i < count; i++) {
                readEntry(in);
            }
            if (in.read() >= 0) {
                throw damaged("its zip directory has more than the " + count + " entries that it claims");
            }
        }
    }

    private ByteBuffer end64(long endAt) throws IOException, MalformedModelException {
        long locatorAt = endAt - END_64_LOCATOR_BYTES;
        if (locatorAt < END_64_BYTES) {
            throw damaged("its zip64 directory is missing");
        }
        ByteBuffer locator = littleEndian(FileRange.read(file, locatorAt, END_64_LOCATOR_BYTES));
        long at = locator.getLong(8);
        if (locator.getInt(0) != END_64_LOCATOR || at < 0 || at > locatorAt - END_64_BYTES) {
            throw damaged("its zip64 directory is missing");
        }
        ByteBuffer end64 = littleEndian(FileRange.read(file, at, END_64_BYTES));
        if (end64.getInt(0) != END_64) {
            throw damaged("its zip64 directory is missing");
        }
        return end64;
    }

    private static ByteBuffer next(InputStream in, int length) throws IOException {
        return littleEndian(BulkStream.exactly(in, length, "an entry"));
    }

    private void readEntry(InputStream in) throws IOException, MalformedModelException {
        ByteBuffer header = next(in, CENTRAL_HEADER_BYTES);
        if (header.getInt(0) != CENTRAL_HEADER) {
            throw damaged("its zip directory has something else where an entry belongs");
        }
        String name = StandardCharsets.UTF_8
                .newDecoder()
                .decode(next(in, unsignedShort(header, 28)))
                .toString();
        ByteBuffer extra = next(in, unsignedShort(header, 30));
        in.skipNBytes(unsignedShort(header, 32));
        int method = unsignedShort(header, 10);
        boolean isEncrypted = (unsignedShort(header, 8) & 1) != 0;
        if (isEncrypted || (method != STORED && method != DEFLATED)) {
            throw damaged("its entry " + Quoted.text(name) + " is encrypted, or compressed by method " + method
                    + ", where NumPy stores or deflates");
        }
        Zip64Sizes sizes = new Zip64Sizes(zip64Extra(extra));
        long size = sizes.next(unsignedInt(header, 24));
        long compressedSize = sizes.next(unsignedInt(header, 20));
        long headerAt = sizes.next(unsignedInt(header, 42));
        Entry entry = new Entry(name, method == DEFLATED, unsignedInt(header, 16), compressedSize, size, headerAt);
        requireSize(entry);
        if (entries.put(name, entry) != null) {
            throw damaged("its zip directory has " + Quoted.text(name) + " twice");
        }
    }

    private void requireSize(Entry entry) throws MalformedModelException {
        if (entry.size() < 0
                || entry.compressedSize() < 0
                || entry.headerAt() < 0
                || entry.compressedSize() > start - LOCAL_HEADER_BYTES
                || entry.headerAt() > start - LOCAL_HEADER_BYTES - entry.compressedSize()) {
            throw damaged("its entry " + Quoted.text(entry.name()) + " of " + entry.compressedSize() + " bytes at "
                    + entry.headerAt() + " does not fit the file's " + fileSize + " bytes");
        }
        boolean isPossible = entry.isDeflated()
                ? entry.size() / MOST_INFLATED <= entry.compressedSize()
                : entry.size() == entry.compressedSize();
        if (!isPossible) {
            throw damaged("its entry " + Quoted.text(entry.name()) + " of " + entry.compressedSize()
                    + " bytes claims to hold " + entry.size());
        }
    }

    /** The sizes that do not fit 32 bits, empty where there are none. */
    private static ByteBuffer zip64Extra(ByteBuffer extra) {
        while (extra.remaining() >= 2 * Short.BYTES) {
            int kind = Short.toUnsignedInt(extra.getShort());
            int length = Math.min(Short.toUnsignedInt(extra.getShort()), extra.remaining());
            if (kind == ZIP_64_EXTRA) {
                return extra.slice(extra.position(), length).order(ByteOrder.LITTLE_ENDIAN);
            }
            extra.position(extra.position() + length);
        }
        return ByteBuffer.allocate(0);
    }

    /** The 64-bit sizes stand in the order of the 32-bit ones that they replace. */
    private record Zip64Sizes(ByteBuffer extra) {

        long next(long size) throws EOFException {
            if (size != IN_ZIP_64) {
                return size;
            }
            if (extra.remaining() < Long.BYTES) {
                throw new EOFException("the zip64 sizes of an entry are missing");
            }
            return extra.getLong();
        }
    }

    /** Opens a file in the archive. */
    InputStream open(Entry entry) throws IOException {
        ByteBuffer header = littleEndian(FileRange.read(file, entry.headerAt(), LOCAL_HEADER_BYTES));
        long at = entry.headerAt() + LOCAL_HEADER_BYTES + unsignedShort(header, 26) + unsignedShort(header, 28);
        if (header.getInt(0) != LOCAL_HEADER || at > start - entry.compressedSize()) {
            throw new ZipException("its entry is not where the zip directory has it");
        }
        return new ZipEntryStream(entry, FileRange.open(file, at, entry.compressedSize()));
    }

    private MalformedModelException damaged(String what) {
        return DamagedFile.because(file, what);
    }
}
