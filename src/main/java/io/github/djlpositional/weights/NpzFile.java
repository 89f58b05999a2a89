package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.InvalidFileException.check;

import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.arguments.internal.Check;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * Reads the headers of the arrays in an npz file, which is a zip of files as {@code numpy.save} writes them.
 *
 * <p>A header has a magic string, a version (1.0 to 3.0), a length, and a Python dictionary such as {@code {'descr':
 * '<f4', 'fortran_order': False, 'shape': (3, 4), }}. See <a
 * href="https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html">the format</a>.
 */
final class NpzFile {

    /** The first bytes of an array, in ISO 8859-1. */
    static final String MAGIC = "\u0093NUMPY";

    private static final String SUFFIX = ".npy";

    /** The longest dictionary that NumPy itself reads from untrusted files. */
    private static final int LONGEST_DICTIONARY = 10_000;

    /**
     * The bytes that all dictionaries together may have beyond the size of the file. Only compressed structured types
     * are longer than the entry of the zip that they are in, and are kept in memory.
     */
    private static final int EXTRA_BYTES = 1 << 16;

    // a structured type is not read; its list of fields extends to the next key or the end of the dictionary
    private static final String DESCR = key("descr")
            + "(?:(?<quote>['\"])(?<type>[^'\"\\\\]*+)\\k<quote>"
            + "|(?<fields>(?>\\[.*?\\](?=\\s*+(?:,\\s*+['\"]\\w++['\"]\\s*+:|,?+\\s*+\\})))))";
    private static final String ORDER = key("fortran_order") + "(?<order>True|False)";

    /** At most 64 axes, as in NumPy. A single size needs a comma in Python; Python 2 appended an L to some numbers. */
    private static final String SHAPE =
            key("shape") + "\\(\\s*+(?<shape>(?:(?:\\d{1,18}L?+\\s*+,\\s*+){1,63}+(?:\\d{1,18}L?+\\s*+)?+)?+)\\)";

    private static final Pattern DICTIONARY = Pattern.compile(
            "\\s*+\\{(?:\\s*+(?:" + DESCR + "|" + ORDER + "|" + SHAPE + ")\\s*+(?:,|(?=\\}))){3}\\s*+\\}\\s*+",
            Pattern.DOTALL);
    private static final Pattern NUMBER = Pattern.compile("\\d+");

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

    private final Path file;
    private final long fileSize;

    /** The bytes of all dictionaries that were read. */
    private long dictionaryBytes;

    private NpzFile(Path file) throws IOException {
        this.file = file;
        fileSize = Files.size(file);
    }

    /** Returns whether a file begins as a zip does, which may be empty. */
    static boolean isOne(byte... start) {
        return new String(start, StandardCharsets.ISO_8859_1).matches("(?s)PK(\3\4|\5\6).*");
    }

    static Map<String, StoredTensor> read(Path file) throws IOException {
        Check.that(
                file.getFileSystem() == FileSystems.getDefault(),
                () -> "the npz file " + file
                        + " is in another file system: expected a file in the default file system; copy it there");
        return new NpzFile(file).read();
    }

    private Map<String, StoredTensor> read() throws IOException {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        long count = checkDirectory();
        try (ZipFile zip = new ZipFile(file.toFile())) {
            check(zip.size() == count, "its zip directory has %s entries where it claims %s", zip.size(), count);
            boolean isPickle = false;
            // each entry is read before the next is asked for: ZipFile remembers the last one, and otherwise searches
            // its hash table, one chain if all names have the same hash
            for (Iterator<? extends ZipEntry> entries = zip.entries().asIterator(); entries.hasNext(); ) {
                ZipEntry entry = entries.next();
                String name = entry.getName();
                isPickle |= name.endsWith("data.pkl");
                if (name.endsWith(SUFFIX)) {
                    StoredTensor tensor = read(zip, entry, name.substring(0, name.length() - SUFFIX.length()));
                    check(tensors.put(tensor.name(), tensor) == null, "its zip directory has %s twice", name);
                }
            }
            if (tensors.isEmpty() && count > 0) {
                // recent versions of torch.save write a pickle into a zip
                throw InvalidFileException.otherFormat(isPickle ? "\u0080\2" : "PK\3\4");
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
    private long checkDirectory() throws IOException {
        int length = (int) Math.min(fileSize, END_64_LOCATOR_BYTES + END_BYTES + LONGEST_COMMENT);
        ByteBuffer tail = read(fileSize - length, length);
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
            ByteBuffer end64 = read(tail.getLong(locator + 8), END_64_BYTES);
            count = count == 0xffff ? end64.getLong(32) : count;
            size = size == 0xffff_ffffL ? end64.getLong(40) : size;
        }
        boolean isPossible = size <= fileSize && size <= LARGEST_DIRECTORY && count <= WeightFile.MOST_TENSORS;
        boolean isCount = size >= 0 && count >= 0 && count <= size / ENTRY_BYTES;
        check(isPossible && isCount, "its zip directory of %s bytes claims %s entries", size, count);
        return count;
    }

    private ByteBuffer read(long at, int length) throws IOException {
        check(at >= 0 && at <= fileSize - length, "it has no %s bytes at %s", length, at);
        byte[] bytes = WeightFile.read(file, at, length);
        check(bytes.length == length, "it has no %s bytes at %s", length, at);
        return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private StoredTensor read(ZipFile zip, ZipEntry entry, String name) throws IOException {
        long size = entry.getSize();
        long compressed = entry.getCompressedSize();
        boolean isPossible = compressed <= fileSize && size >= 0 && size / MOST_INFLATED <= compressed;
        check(isPossible, "array %s of %s bytes claims to hold %s bytes", name, compressed, size);
        try (InputStream in = zip.getInputStream(entry)) {
            return read(entry, name, in);
        } catch (InvalidFileException e) {
            throw e;
        } catch (IOException e) {
            // also for a place in the file that it does not have
            throw InvalidFileException.damaged("array " + InvalidFileException.quoted(name) + ": " + e.getMessage(), e);
        }
    }

    private StoredTensor read(ZipEntry entry, String name, InputStream in) throws IOException {
        byte[] start = in.readNBytes(MAGIC.length() + 2);
        int version = start.length < MAGIC.length() + 2 ? 0 : start[MAGIC.length()];
        boolean isNumPy = new String(start, StandardCharsets.ISO_8859_1).startsWith(MAGIC);
        check(isNumPy && version >= 1 && version <= 3, "array %s has no header of NumPy's versions 1 to 3", name);
        int lengthBytes = version == 1 ? Short.BYTES : Integer.BYTES;
        ByteBuffer padded = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        long length = padded.put(in.readNBytes(lengthBytes)).getLong(0);
        check(length <= LONGEST_DICTIONARY, "array %s has a header of %s bytes, more than NumPy's", name, length);
        dictionaryBytes += length;
        boolean isInProportion = dictionaryBytes <= fileSize + EXTRA_BYTES;
        check(isInProportion, "the headers of its arrays have %s bytes or more, it has %s", dictionaryBytes, fileSize);
        byte[] dictionary = in.readNBytes((int) length);
        check(dictionary.length == length && length > 0, "array %s ends within its header", name);
        String text = new String(dictionary, version == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1);
        Matcher matcher = DICTIONARY.matcher(text);
        // three entries, of which each group has matched one: so none is missing or repeated
        boolean isHeader = matcher.matches()
                && (matcher.group("type") == null) != (matcher.group("fields") == null)
                && matcher.group("order") != null
                && matcher.group("shape") != null;
        check(isHeader, "array %s has the header %s, expected NumPy's descr, fortran_order and shape", name, text);
        String descr = matcher.group("type") == null ? matcher.group("fields") : matcher.group("type");
        Shape shape = new Shape(NUMBER.matcher(matcher.group("shape"))
                .results()
                .mapToLong(number -> Long.parseLong(number.group()))
                .toArray());
        StoredType type = switch (descr) {
            case "<f2", ">f2" -> StoredType.F16;
            case "<f4", ">f4" -> StoredType.F32;
            case "<f8", ">f8" -> StoredType.F64;
            case "|b1" -> StoredType.BOOL;
            case "|u1" -> StoredType.U8;
            case "|i1" -> StoredType.I8;
            case "<i4", ">i4" -> StoredType.I32;
            case "<i8", ">i8" -> StoredType.I64;
            default -> null;
        };
        long headerLength = start.length + lengthBytes + length;
        long bytes = entry.getSize() - headerLength;
        boolean isSize = type == null || StoredTensor.isSize(shape, Byte.SIZE * type.bytes(), bytes);
        check(isSize, "array %s has %s bytes for shape %s and type %s", name, bytes, shape, descr);
        ByteOrder order = descr.startsWith(">") ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        boolean isColumnMajor = matcher.group("order").equals("True");
        StoredTensor.Data data = reader -> read(entry, headerLength, reader);
        return new StoredTensor(file, name, descr, type, order, shape, isColumnMajor, data);
    }

    private static String key(String name) {
        return "(?:'" + name + "'|\"" + name + "\")\\s*+:\\s*+";
    }

    /** Reads the numbers of an array, and compares the checksum at their end. */
    private void read(ZipEntry entry, long headerLength, StoredTensor.Reader reader) throws IOException {
        checkDirectory();
        try (ZipFile zip = new ZipFile(file.toFile())) {
            check(zip.getEntry(entry.getName()) != null, "its array %s is missing", entry.getName());
            CheckedInputStream in = new CheckedInputStream(zip.getInputStream(entry), new CRC32());
            in.skipNBytes(headerLength);
            reader.read(in);
            if (in.read() >= 0 || in.getChecksum().getValue() != entry.getCrc()) {
                throw new ZipException("its size or checksum is not the one in the zip directory");
            }
        }
    }
}
