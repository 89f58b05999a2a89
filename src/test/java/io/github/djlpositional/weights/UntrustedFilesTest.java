package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.floats;
import static io.github.djlpositional.weights.Weights.littleEndian;
import static io.github.djlpositional.weights.Weights.npy;
import static io.github.djlpositional.weights.Weights.record;
import static io.github.djlpositional.weights.Weights.safetensors;
import static io.github.djlpositional.weights.Weights.zip;
import static java.util.zip.ZipEntry.DEFLATED;
import static java.util.zip.ZipEntry.STORED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTestExtension;
import io.github.djlpositional.FileDamage;
import io.github.djlpositional.RandomCases;
import io.github.djlpositional.ResourceGuard;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Damaged and hostile files, and files of other formats, are rejected with a description, and do no harm. */
class UntrustedFilesTest {

    private static final String START = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
    private static final String EMPTY = "{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";

    /** The types of the records of a directory's entry and of its end. */
    private static final int ENTRY = 1;

    private static final int END = 5;

    private static final ResourceGuard LOADING =
            new ResourceGuard(List.of(MalformedModelException.class, IllegalArgumentException.class));

    @TempDir
    private Path folder;

    private WeightFile open(byte... bytes) throws Exception {
        return WeightFile.open(Files.write(folder.resolve("model"), bytes));
    }

    private void assertRejected(byte[] bytes, String... values) {
        Weights.assertRejected(folder.resolve("model"), bytes, values);
    }

    /**
     * Loads all of a file, and returns the rejection or null. Anything but a documented exception within the limits
     * fails.
     */
    private Exception rejection(byte... file) throws Exception {
        Path path = Files.write(folder.resolve("model"), file);
        try (NDManager manager = EngineTestExtension.cpuManager()) {
            Exception rejection = LOADING.refusal(file.length, 0, () -> Weights.loadAll(manager, path));
            if (rejection != null) {
                assertThat(rejection).message().contains(": expected ").contains("; ");
            }
            return rejection;
        }
    }

    private static byte[] archive(int method) {
        return zip(method, floats("(100,)", 400));
    }

    /** An archive whose last record of a type is changed. */
    private static byte[] changed(byte[] archive, int type, Consumer<ByteBuffer> change) {
        byte[] copy = archive.clone();
        int at = record(type, copy);
        change.accept(littleEndian(copy)
                .slice(at, copy.length - at)
                .order(littleEndian(copy).order()));
        return copy;
    }

    private static String tensor(String type, String shape, String offsets) {
        return "{\"t\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpt2.npz", "roberta.npz", "versions.npz", "zip64.npz", "streamed.npz", "bert.safetensors"})
    void everyTruncation(String name) throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path(name));
        for (int length = 0; length < whole.length; length++) {
            assertRejected(Arrays.copyOf(whole, length));
        }
    }

    /** A flipped byte may be harmless, as in a time of day, or change a name or a shape. */
    @ParameterizedTest
    @CsvSource({
        "gpt2.npz, 0x01",
        "gpt2.npz, 0x80",
        "roberta.npz, 0x10",
        "versions.npz, 0x04",
        "zip64.npz, 0xff",
        "opt.safetensors, 0x01",
        "opt.safetensors, 0x80",
        "bert.safetensors, 0x1f",
        "types.safetensors, 0xff"
    })
    void everyFlippedByte(String name, String mask) throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path(name));
        int rejected = 0;
        // an odd step, so that all bytes of a number are among them
        for (int at = 0; at < whole.length; at += 7) {
            byte[] damaged = whole.clone();
            damaged[at] ^= (byte) Integer.decode(mask).intValue();
            rejected += rejection(damaged) == null ? 0 : 1;
        }
        assertThat(rejected).isPositive();
    }

    /**
     * Every flipped bit of an array in an npz is detected: its numbers have a checksum, and its header another type or
     * shape. The exception is the last byte of a deflated array, which has up to seven unused bits.
     */
    @ParameterizedTest
    @ValueSource(ints = {STORED, DEFLATED})
    void everyFlippedBitOfAnArrayIsDetected(int method) throws Exception {
        byte[] whole = zip(method, floats("(20,)", 80));
        int start = 30 + "t.npy".length();
        int end = start + littleEndian(whole).getInt(record(ENTRY, whole) + 20);
        int used = method == DEFLATED ? 8 * (end - 1) : 8 * end;
        for (int bit = 8 * start; bit < 8 * end; bit++) {
            byte[] damaged = whole.clone();
            damaged[bit / 8] ^= (byte) (1 << bit % 8);
            assertThat(rejection(damaged) != null || bit >= used)
                    .as("bit %s", bit)
                    .isTrue();
        }
    }

    @Test
    void randomDamage() throws Exception {
        Map<String, byte[]> files = new TreeMap<>();
        for (String name : "gpt2 roberta versions zip64 streamed".split(" ", -1)) {
            files.put(name, Files.readAllBytes(Weights.path(name + ".npz")));
        }
        for (String name : "bert opt types".split(" ", -1)) {
            files.put(name, Files.readAllBytes(Weights.path(name + ".safetensors")));
        }
        List<byte[]> all = List.copyOf(files.values());
        RandomCases.check(1000, random -> rejection(FileDamage.of(random, RandomCases.one(random, all))));
    }

    /** Files with claims of gigabytes, which must not be allocated. */
    static List<byte[]> claims() throws Exception {
        byte[] header = safetensors("{}", 0);
        littleEndian(header).putLong(0, 99_000_000);
        byte[] directory = Files.readAllBytes(Weights.path("zip64.npz"));
        littleEndian(directory).putLong(directory.length - 22 - 20 - 56 + 32, Integer.MAX_VALUE);
        byte[] npy = floats("(1,)", 4);
        npy[6] = 2;
        littleEndian(npy).putInt(8, Integer.MAX_VALUE);
        return List.of(
                header,
                safetensors(tensor("F32", "[100000000000000000]", "[0,400000000000000000]"), 0),
                zip(DEFLATED, floats("(100000000000000000,)", 4)),
                changed(zip(STORED, floats("(500000000,)", 4)), ENTRY, entry -> entry.putInt(24, 2_000_000_000)),
                directory,
                zip(STORED, npy));
    }

    @ParameterizedTest(name = "{index}")
    @MethodSource("claims")
    void claimsAreNotAllocated(byte[] file) throws Exception {
        assertThat(rejection(file)).isInstanceOf(MalformedModelException.class);
    }

    /** A file of 200 KB that would inflate to 200 MB: only its header is read, and its shape does not fit. */
    @Test
    void aDecompressionBombIsNotInflated() throws Exception {
        byte[] bomb = zip(DEFLATED, floats("(50000000,)", 200_000_000));
        assertThat(rejection(bomb)).isInstanceOf(IllegalArgumentException.class);
    }

    /** Each type has 9,500 bytes, of which the archive has some 50. */
    @ParameterizedTest
    @ValueSource(strings = {"[%s('a', '<f4')]", "'%s'"})
    void longTypesTakeNoMemory(String type) throws Exception {
        String header = "{'descr': " + String.format(type, " ".repeat(9500)) + START.substring(START.indexOf(','));
        Stream<String> names = IntStream.range(0, 3000).mapToObj(i -> i + ".npy");
        byte[] file = zip(names, DEFLATED, npy(header + "(0,), }", 0));
        assertRejected(file, "headers", String.valueOf(file.length));
        assertThat(LOADING.refusal(file.length, 0, () -> open(file))).isInstanceOf(MalformedModelException.class);
    }

    /** All names have the same hash: a linear search for each of them takes a minute. */
    @Test
    void namesOfTheSameHashAreReadInLinearTime() {
        Stream<String> names = IntStream.range(0, 1 << 15)
                .mapToObj(i -> IntStream.range(0, 15)
                        .mapToObj(bit -> (i >> bit & 1) == 0 ? "Aa" : "BB")
                        .collect(Collectors.joining("", "", ".npy")));
        byte[] file = zip(names, STORED, floats("(0,)", 0));
        // opening takes some three kilobytes of garbage for each array
        assertThat(LOADING.refusal(file.length, file.length * 10L, () -> open(file)))
                .isNull();
    }

    @ParameterizedTest
    @CsvFileSource(
            resources = "/weights/rejected-headers.csv",
            delimiter = '|',
            quoteCharacter = '`',
            numLinesToSkip = 1)
    void headersThatNumPyAndTorchDoNotWrite(String format, String header, String expected) {
        boolean isNumPy = format.equals("npy");
        assertRejected(isNumPy ? zip(STORED, npy(header, 8)) : safetensors(header, 8), expected);
    }

    /** Headers that would take a parser with backtracking or recursion long, or overflow its stack. */
    static Stream<byte[]> longHeaders() {
        Stream<byte[]> npz = Stream.of(
                        START + "(" + "1, ".repeat(65) + ")}",
                        "{'descr': " + "[".repeat(9000),
                        "{'descr': " + "[]".repeat(4900),
                        "{" + "'descr': [], ".repeat(700),
                        "{'descr': " + "'".repeat(9000),
                        "{" + " ".repeat(9900),
                        START + "(" + "1,".repeat(4900),
                        " ".repeat(10_001))
                .map(dictionary -> zip(DEFLATED, npy(dictionary, 4)));
        Stream<byte[]> safetensors = Stream.of("{\"t\":", "{\"t\":{\"other\":", "{\"__metadata__\":{\"a\":")
                .map(start -> safetensors(start + "[".repeat(1_000_000) + "]".repeat(1_000_000) + "}}", 0));
        return Stream.concat(npz, safetensors);
    }

    @ParameterizedTest(name = "{index}")
    @MethodSource("longHeaders")
    @Timeout(5)
    void longHeadersAreRejectedInLinearTime(byte[] file) {
        assertRejected(file, file[0] == 'P' ? "array \"t\"" : "model");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'shape': (2,), 'fortran_order': False, 'descr': '<f4'}",
                " { \"descr\" :\"<f4\" ,\n\t\"shape\":(2 , ) , \"fortran_order\":False , } "
            })
    void otherOrdersQuotesAndSpacesOfPython(String dictionary) throws Exception {
        assertThat(open(zip(STORED, npy(dictionary, 8))).getTensors())
                .containsOnly(Map.entry("t", new TensorInfo("<f4", new Shape(2))));
    }

    @Test
    void headersOfNumPyWithAnotherVersionOrLength() {
        byte[] array = floats("(1,)", 4);
        for (int length = 0; length < array.length - 4; length++) {
            assertRejected(zip(STORED, Arrays.copyOf(array, length)), "array \"t\"");
        }
        for (int version : new int[] {0, 4, 255}) {
            array[6] = (byte) version;
            assertRejected(zip(STORED, array), "array \"t\"");
        }
        array[6] = 2;
        littleEndian(array).putInt(8, -1);
        assertRejected(zip(STORED, array), "array \"t\"", "4294967295 bytes");
    }

    @ParameterizedTest
    @ValueSource(ints = {STORED, DEFLATED})
    void entriesThatDoNotHaveTheirSizeOrChecksum(int method) throws Exception {
        byte[] whole = archive(method);
        assertRejected(changed(whole, ENTRY, entry -> entry.putInt(24, Integer.MAX_VALUE)), "\"t\"", "2147483647");
        assertRejectedWhenLoaded(changed(whole, ENTRY, entry -> entry.putInt(16, entry.getInt(16) ^ 1)));
        // a little more, or much less, than the entry has
        for (int difference : new int[] {4, -1_000_000}) {
            byte[] array = floats("(100,)", 400 - difference);
            assertRejectedWhenLoaded(
                    changed(zip(method, array), ENTRY, entry -> entry.putInt(24, array.length + difference)));
        }
    }

    private void assertRejectedWhenLoaded(byte... bytes) throws Exception {
        WeightFile file = open(bytes);
        try (NDManager manager = EngineTestExtension.cpuManager()) {
            WeightLoader loader = WeightLoader.of(file).table("t", Weights.parameter(manager, 100));
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(loader::load)
                    .withMessageContainingAll(file.getPath().toString(), "tensor \"t\"");
        }
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = '|', textBlock = """
                    encrypted                           | 1 | 8  | 0100     | expected
                    an unknown method                   | 1 | 10 | 0c00     | expected
                    no entry                            | 1 | 0  | 0000     | expected
                    a longer name                       | 1 | 28 | 0600     | expected
                    a shorter name                      | 1 | 28 | 0400     | expected
                    a name that is not UTF-8            | 1 | 46 | ff       | expected
                    a compressed size beyond the file   | 1 | 20 | ffffff7f | 2147483647
                    a place beyond the file             | 1 | 42 | ffffff7f | "t"
                    another place                       | 1 | 42 | 01000000 | "t"
                    no zip64 compressed size            | 1 | 20 | ffffffff | expected
                    no zip64 size                       | 1 | 24 | ffffffff | expected
                    no zip64 place                      | 1 | 42 | ffffffff | expected
                    two entries                         | 5 | 10 | 0200     | 2
                    no entries                          | 5 | 10 | 0000     | 0
                    a small directory                   | 5 | 12 | 01000000 | 1
                    a huge directory                    | 5 | 12 | ffffff7f | 2147483647
                    a directory beyond the file         | 5 | 16 | ffffff7f | expected
                    no zip64 directory                  | 5 | 10 | ffff     | 65535
                    """)
    void directoriesThatCannotBe(String what, int record, int at, String bytes, String expected) {
        byte[] archive = archive(STORED);
        assertRejected(
                changed(archive, record, entry -> entry.put(at, HexFormat.of().parseHex(bytes))), expected);
    }

    @Test
    void zip64DirectoriesThatCannotBe() throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path("zip64.npz"));
        // the locator's signature is PK\6\7, that of the zip64 end PK\6\6
        int end = record(6, whole) - 56;
        for (int at : new int[] {32, 40, 48}) {
            for (long value : new long[] {-1, Integer.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE}) {
                byte[] archive = whole.clone();
                littleEndian(archive).putLong(end + at, value);
                assertRejected(archive);
            }
        }
        for (int at : new int[] {end, end + 56, end + 56 + 8}) {
            byte[] archive = whole.clone();
            archive[at + 1] ^= 0x55;
            assertRejected(archive);
        }
        for (int at : new int[] {0, 8, 16}) {
            byte[] archive = whole.clone();
            // the sizes and the place of the entry, in front of the zip64 end
            littleEndian(archive).putLong(end - 24 + at, Long.MIN_VALUE);
            assertRejected(archive);
        }
    }

    @Test
    void theSameNameTwice() {
        byte[] one = archive(STORED);
        int central = record(ENTRY, one);
        int end = record(END, one);
        byte[] twice = new byte[one.length + end - central];
        littleEndian(twice).put(one, 0, end).put(one, central, one.length - central);
        assertRejected(
                changed(twice, END, record -> record.putShort(10, (short) 2).putInt(12, 2 * (end - central))),
                "\"t.npy\"");
    }

    @Test
    void emptyArchivesAndComments() throws Exception {
        byte[] archive = archive(STORED);
        byte[] empty = Arrays.copyOfRange(archive, record(END, archive), archive.length);
        empty = changed(empty, END, end -> end.putLong(8, 0).putInt(16, 0));
        assertThat(open(empty).getTensors()).isEmpty();
        byte[] longer = Arrays.copyOf(archive, archive.length + 5);
        assertRejected(longer);
        byte[] commented = changed(longer, END, end -> end.putShort(20, (short) 5));
        assertThat(open(commented).getTensors()).containsOnlyKeys("t");
    }

    /** One bit, a few bits, bytes and words: of types that cannot be loaded, too, the size is checked. */
    @ParameterizedTest
    @ValueSource(strings = {"F4", "F6_E2M3", "BOOL", "F8_E4M3", "U16", "I32", "C64"})
    void sizesOfOtherTypes(String type) {
        assertRejected(safetensors(tensor(type, "[9]", "[0,8]"), 8), type, "(9)");
    }

    private static String numbered(int last, String value) {
        return IntStream.rangeClosed(0, last)
                .mapToObj(i -> "\"" + i + "\":" + value)
                .collect(Collectors.joining(",", "{", "}"));
    }

    @Test
    void moreOfAnythingThanAnyFileHas() {
        assertRejected(safetensors(numbered(1 << 17, EMPTY), 0), "131072");
        assertRejected(safetensors("{\"t\":" + numbered(64, "0") + "}", 0), "\"t\"", "64");
        assertRejected(safetensors(tensor("F32", "[" + "1,".repeat(64) + "2]", "[0,8]"), 8), "\"t\"", "\"2\"");
    }

    @Test
    void overlappingTensors() {
        String tensor = "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[%d,%d]}";
        String header = String.format("{\"a\":" + tensor + ",\"b\":" + tensor + "}", 0, 8, 4, 12);
        assertRejected(safetensors(header, 12), "tensor \"b\" (\"F32\", (2), bytes 4 to 12)", "at 8");
    }

    @Test
    void textThatIsNotUtf8() {
        byte[] file = safetensors("{\"__metadata__\":{\"a\":\"?\"}}", 0);
        file[Long.BYTES + 21] = (byte) 0xff;
        assertRejected(file);
        assertRejected(safetensors("{}\0", 0), "column 4");
    }

    @Test
    void lengthsOfHeadersThatDoNotFit() {
        byte[] file = safetensors("{}", 0);
        for (long length : new long[] {3, 1000, 100_000_001, Integer.MAX_VALUE, 1L << 32, Long.MAX_VALUE}) {
            littleEndian(file).putLong(length);
            assertRejected(file, length + " bytes", "10 bytes");
        }
        // the last number is 8 in the other byte order
        for (long length : new long[] {-1, 0, 1, Long.MIN_VALUE, 8L << 56}) {
            littleEndian(file).putLong(length);
            assertRejected(file);
        }
    }

    @Test
    void unknownFieldsAndFilesWithoutTensors() throws Exception {
        String header = "{\"t\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,3],\"other\":[{\"x\":1}]}} ";
        assertThat(open(safetensors(header, 3)).getTensors()).containsOnlyKeys("t");
        assertThat(open(safetensors("{}", 0)).getTensors()).isEmpty();
    }

    /** Nothing is read or written where names point to, no directory is left, and messages show names on one line. */
    @Test
    void namesThatLookLikePathsOrControlCharacters() throws Exception {
        WeightFile npz = open(zip("../../t.npy", DEFLATED, floats("(100,)", 400)));
        assertThat(npz.getTensors()).containsOnly(Map.entry("../../t", new TensorInfo("<f4", new Shape(100))));
        WeightFile file = open(
                safetensors("{\"../../etc/passwd\":" + EMPTY + ",\"\\u0000\\n\":" + EMPTY + ",\"\":" + EMPTY + "}", 0));
        assertThat(file.getTensors()).containsOnlyKeys("../../etc/passwd", "\0\n", "");
        assertThat(folder).isDirectoryNotContaining(path -> !path.endsWith("model"));
        assertThat(InvalidFileException.quoted("\0\n\u001b[2J $1\\")).isEqualTo("\"\\u0000\\u000a\\u001b[2J $1\\\"");
        assertThat(InvalidFileException.quoted("größe 位 😀 \u202e\u2028\ud800"))
                .isEqualTo("\"größe 位 😀 \\u202e\\u2028\\ud800\"");
        assertThat(InvalidFileException.quoted("😀".repeat(101))).isEqualTo("\"" + "😀".repeat(100) + "…\"");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    pickle.pt                    | is a pickle                       | torch.load(
                    pickle.bin                   | is a pickle                       | weights_only=True
                    pickle.pkl                   | is a pickle                       | numpy.savez(
                    single.npy                   | is a single array of NumPy        | numpy.savez(
                    model.safetensors.index.json | is JSON                           | weight_map
                    other.zip                    | is a zip without .npy arrays      | numpy.savez(
                    expected.csv                 | is neither npz nor safetensors    | numpy.savez(
                    """)
    void filesOfOtherFormats(String name, String given, String remedy) throws Exception {
        Weights.assertRejected(folder.resolve(name), Files.readAllBytes(Weights.path(name)), given, remedy);
    }

    @ParameterizedTest
    @CsvSource({
        "'', is empty",
        "DJL@model, holds the parameters of a DJL model",
        "'\u0089HDF\r\n\u001a\n', is HDF5",
        "'\u0080\u0006}', is neither",
        "'\u0080', is neither",
        "PK, is neither",
        "'\b\u0007\u0012', is neither"
    })
    void otherFormatsByTheirFirstBytes(String start, String given) {
        assertRejected(start.getBytes(StandardCharsets.ISO_8859_1), given);
    }

    @Test
    void pathsWithoutAFileOfTheDefaultFileSystem() throws Exception {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightFile.open(folder))
                .withMessageContainingAll(folder.toString(), ": ", "; ");
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> WeightFile.open(folder.resolve("absent.npz")))
                .withMessageContaining("absent.npz");
        Path outer = Files.write(folder.resolve("outer.zip"), zip("inner.npz", STORED, archive(STORED)));
        try (FileSystem zip = FileSystems.newFileSystem(outer)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> WeightFile.open(zip.getPath("inner.npz")))
                    .withMessageContaining("inner.npz");
        }
    }
}
