package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.InvalidFileException.check;

import io.github.djlpositional.arguments.Check;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/** Reads the headers of the arrays in an npz file, which is a zip of files as {@code numpy.save} writes them. */
final class NpzFile {

    private static final String SUFFIX = ".npy";

    // the records of PKWARE's APPNOTE 6.3 that stand at the end of a zip
    private static final int END = 0x06054b50;
    private static final int END_64_LOCATOR = 0x07064b50;
    private static final int ENTRY_BYTES = 46;
    private static final int END_BYTES = 22;
    private static final int END_64_BYTES = 56;
    private static final int END_64_LOCATOR_BYTES = 20;
    private static final int LONGEST_COMMENT = 0xffff;
    private static final long LARGEST_DIRECTORY = 100_000_000;

    /** The most bytes that DEFLATE expands one byte to: 258 bytes need two bits. */
    private static final long MOST_INFLATED = 1032;

    private NpzFile() {}

    /** Returns whether a file begins as a zip does, which may be empty. */
    static boolean isOne(byte... start) {
        return new String(start, StandardCharsets.ISO_8859_1).matches("(?s)PK(\3\4|\5\6).*");
    }

    static Map<String, StoredTensor> read(Path file) throws IOException {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        Check.that(
                file.getFileSystem() == FileSystems.getDefault(),
                () -> "the npz file " + file
                        + " is in another file system: expected a file in the default file system; copy it there");
        long count = checkDirectory(file);
        try (ZipFile zip = new ZipFile(file.toFile())) {
            check(zip.size() == count, "its zip directory has %s entries where it claims %s", zip.size(), count);
            boolean isPickle = false;
            for (ZipEntry entry : Collections.list(zip.entries())) {
                String name = entry.getName();
                isPickle |= name.endsWith("data.pkl");
                if (name.endsWith(SUFFIX)) {
                    StoredTensor tensor = read(file, zip, entry, name.substring(0, name.length() - SUFFIX.length()));
                    check(tensors.put(tensor.name(), tensor) == null, "its zip directory has %s twice", name);
                }
            }
            if (tensors.isEmpty() && count > 0) {
                throw InvalidFileException.zip(isPickle);
            }
            return tensors;
        } catch (EOFException | ZipException | IllegalArgumentException e) {
            // ZipFile throws an IllegalArgumentException for text that is not UTF-8
            throw InvalidFileException.damaged("its zip directory cannot be read (" + e.getMessage() + ")", e);
        }
    }

    /**
     * Checks the sizes that the records at the end of an archive claim. {@link ZipFile} allocates tables of these
     * sizes, and which of them it checks itself depends on the version of Java.
     *
     * @return the number of entries
     */
    private static long checkDirectory(Path file) throws IOException {
        long fileSize = Files.size(file);
        int length = (int) Math.min(fileSize, END_64_LOCATOR_BYTES + END_BYTES + LONGEST_COMMENT);
        ByteBuffer tail = read(file, fileSize - length, length);
        int end = length - END_BYTES;
        while (end >= 0 && tail.getInt(end) != END) {
            end--;
        }
        boolean isThere = end >= 0 && Short.toUnsignedInt(tail.getShort(end + 20)) == length - END_BYTES - end;
        check(isThere, "it has no zip directory at its end");
        long count = Short.toUnsignedInt(tail.getShort(end + 10));
        long size = Integer.toUnsignedLong(tail.getInt(end + 12));
        int locator = end - END_64_LOCATOR_BYTES;
        if (locator >= 0 && tail.getInt(locator) == END_64_LOCATOR) {
            ByteBuffer end64 = read(file, tail.getLong(locator + 8), END_64_BYTES);
            count = count == 0xffff ? end64.getLong(32) : count;
            size = size == 0xffff_ffffL ? end64.getLong(40) : size;
        }
        boolean isPossible = size <= fileSize && size <= LARGEST_DIRECTORY && count <= WeightFile.MOST_TENSORS;
        boolean isCount = size >= 0 && count >= 0 && count <= size / ENTRY_BYTES;
        check(isPossible && isCount, "its zip directory of %s bytes claims %s entries", size, count);
        return count;
    }

    private static ByteBuffer read(Path file, long at, int length) throws IOException {
        check(at >= 0 && at <= Files.size(file) - length, "it has no %s bytes at %s", length, at);
        byte[] bytes = WeightFile.read(file, at, length);
        check(bytes.length == length, "it has no %s bytes at %s", length, at);
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static StoredTensor read(Path file, ZipFile zip, ZipEntry entry, String name) throws IOException {
        long size = entry.getSize();
        long compressed = entry.getCompressedSize();
        boolean isPossible = compressed <= Files.size(file) && size >= 0 && size / MOST_INFLATED <= compressed;
        check(isPossible, "array %s of %s bytes claims to hold %s bytes", name, compressed, size);
        NpyHeader header;
        try (InputStream in = zip.getInputStream(entry)) {
            header = NpyHeader.read(name, in);
        } catch (InvalidFileException e) {
            throw e;
        } catch (IOException e) {
            // also for a place in the file that it does not have
            throw InvalidFileException.damaged("array " + InvalidFileException.quoted(name) + ": " + e.getMessage(), e);
        }
        long bytes = size - header.length();
        StoredType type = header.type();
        boolean isSize = type == null || StoredTensor.isSize(header.shape(), Byte.SIZE * type.bytes(), bytes);
        check(isSize, "array %s has %s bytes for shape %s and type %s", name, bytes, header.shape(), header.descr());
        StoredTensor.Data data = reader -> read(file, entry, header.length(), reader);
        return new StoredTensor(
                file, name, header.descr(), type, header.order(), header.shape(), header.isColumnMajor(), data);
    }

    /** Reads the numbers of an array, and compares the checksum at their end. */
    private static void read(Path file, ZipEntry entry, long headerLength, StoredTensor.Reader reader)
            throws IOException {
        checkDirectory(file);
        try (ZipFile zip = new ZipFile(file.toFile())) {
            check(zip.getEntry(entry.getName()) != null, "its array %s is missing", entry.getName());
            CheckedInputStream in = new CheckedInputStream(zip.getInputStream(entry), new CRC32());
            in.skipNBytes(headerLength);
            reader.read(in);
            if (in.read() >= 0 || in.getChecksum().getValue() != entry.getCrc()) {
                throw new ZipException("its size or checksum is not that of the zip directory");
            }
        }
    }
}
