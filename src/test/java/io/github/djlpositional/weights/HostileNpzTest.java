package io.github.djlpositional.weights;

import static java.util.zip.ZipEntry.DEFLATED;
import static java.util.zip.ZipEntry.STORED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Archives and headers of arrays with wrong sizes, overflows, and content that NumPy does not write. */
class HostileNpzTest {

    private static final String START = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
    private static final int ENTRY = 1;
    private static final int END = 5;

    @TempDir
    private Path folder;

    private WeightFile open(byte... bytes) throws Exception {
        return WeightFile.open(Files.write(folder.resolve("model.npz"), bytes));
    }

    private void assertRejected(byte[] bytes, String... values) {
        Weights.assertRejected(folder.resolve("model.npz"), bytes, values);
    }

    private void assertRejectedWhenLoaded(byte... bytes) throws Exception {
        WeightFile file = open(bytes);
        try (NDManager manager = NDManager.newBaseManager()) {
            WeightLoader loader = WeightLoader.of(file).table("t", Weights.parameter(manager, 100));
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(loader::load)
                    .withMessageContainingAll(file.getPath().toString(), "tensor \"t\"");
        }
    }

    private static byte[] archive(int method) {
        return Zip.of(method, Zip.floats("(100,)", 400));
    }

    /** An archive whose last record of a type is changed. */
    private static byte[] changed(byte[] archive, int type, Consumer<ByteBuffer> change) {
        int at = Zip.record(type, archive);
        change.accept(ByteBuffer.wrap(archive, at, archive.length - at).slice().order(ByteOrder.LITTLE_ENDIAN));
        return archive;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                START + "(1,), }",
                START + "(3,), }",
                START + "(), }",
                START + "(1152921504606846976,), }",
                START + "(999999999999999999,), }",
                START + "(4294967296, 4294967296, 4294967296), }",
                START + "(-2,), }",
                START + "(2), }",
                START + "(2 3), }",
                START + "(,), }",
                START + "2, }",
                START + "(2,",
                START + "(2,), } x",
                START + "(2,), 'shape': (2,), }",
                START + "(2,), 'other': (2,), }",
                "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }",
                "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }",
                "{'descr': 4, 'fortran_order': False, 'shape': (2,), }",
                "{'descr': '<f4, }",
                "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (2,), }",
                "{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (2,), }",
                "{'descr': ['<f4', 'fortran_order",
                "{'descr': '<f4', 'fortran_order': False, }",
                "{'descr': '<f4', 'descr': '<f4', 'shape': (2,), }",
                "{'descr': '<f4', 'descr': [], 'shape': (2,), }",
                "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
                "{'other': '<f4', 'fortran_order': False, 'shape': (2,), }",
                "{'descr': '<f4' 'fortran_order': False, 'shape': (2,), }",
                "{'descr' '<f4', 'fortran_order': False, 'shape': (2,), }",
                "__import__('os').system('true')",
                ""
            })
    void dictionariesThatNumPyDoesNotWrite(String dictionary) {
        assertRejected(Zip.of(STORED, Zip.npy(dictionary, 8)), "array \"t\"");
    }

    /** Headers that would take a parser with backtracking or recursion long, or overflow its stack. */
    static Stream<String> longDictionaries() {
        return Stream.of(
                START + "(" + "1, ".repeat(65) + ")}",
                "{'descr': " + "[".repeat(9000),
                "{'descr': " + "[]".repeat(4900),
                "{" + "'descr': [], ".repeat(700),
                "{'descr': " + "'".repeat(9000),
                "{" + " ".repeat(9900),
                START + "(" + "1,".repeat(4900),
                " ".repeat(10_001));
    }

    @ParameterizedTest
    @MethodSource("longDictionaries")
    void longDictionariesAreRejectedInLinearTime(String dictionary) {
        long start = System.nanoTime();
        assertRejected(Zip.of(DEFLATED, Zip.npy(dictionary, 4)), "array \"t\"");
        assertThat(System.nanoTime() - start).isLessThan(5_000_000_000L);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'shape': (2,), 'fortran_order': False, 'descr': '<f4'}",
                " { \"descr\" :\"<f4\" ,\n\t\"shape\":(2 , ) , \"fortran_order\":False , } "
            })
    void otherOrdersQuotesAndSpacesOfPython(String dictionary) throws Exception {
        assertThat(open(Zip.of(STORED, Zip.npy(dictionary, 8))).getTensors())
                .containsOnly(Map.entry("t", new TensorInfo("<f4", new Shape(2))));
    }

    @Test
    void headersWithAnotherVersionOrLength() {
        for (int version : new int[] {0, 4, 255}) {
            byte[] array = Zip.floats("(1,)", 4);
            array[6] = (byte) version;
            assertRejected(Zip.of(STORED, array), "array \"t\"");
        }
        byte[] huge = Zip.floats("(1,)", 4);
        huge[6] = 2;
        Zip.littleEndian(huge).putInt(8, -1);
        assertRejected(Zip.of(STORED, huge), "array \"t\"", "4294967295 bytes");
        byte[] array = Zip.floats("(1,)", 4);
        for (int length = 0; length < array.length - 4; length++) {
            assertRejected(Zip.of(STORED, Arrays.copyOf(array, length)), "array \"t\"");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {STORED, DEFLATED})
    void entriesThatDoNotHaveTheirSizeOrChecksum(int method) throws Exception {
        assertRejected(
                changed(archive(method), ENTRY, entry -> entry.putInt(24, Integer.MAX_VALUE)), "\"t\"", "2147483647");
        assertRejectedWhenLoaded(changed(archive(method), ENTRY, entry -> entry.putInt(16, entry.getInt(16) ^ 1)));
        // a little more, or much less, than the entry has
        for (int difference : new int[] {4, -1_000_000}) {
            byte[] array = Zip.floats("(100,)", 400 - difference);
            byte[] archive = Zip.of(method, array);
            assertRejectedWhenLoaded(changed(archive, ENTRY, entry -> entry.putInt(24, array.length + difference)));
        }
    }

    static Stream<Arguments> directories() {
        return Stream.of(
                arguments("encrypted", ENTRY, 8, 1, Short.BYTES, ""),
                arguments("an unknown method", ENTRY, 10, 12, Short.BYTES, ""),
                arguments("no entry", ENTRY, 0, 0, Short.BYTES, ""),
                arguments("a longer name", ENTRY, 28, 6, Short.BYTES, ""),
                arguments("a shorter name", ENTRY, 28, 4, Short.BYTES, ""),
                arguments("a name that is not UTF-8", ENTRY, 46, 0xff, Byte.BYTES, ""),
                arguments(
                        "a compressed size beyond the file", ENTRY, 20, Integer.MAX_VALUE, Integer.BYTES, "2147483647"),
                arguments("a place beyond the file", ENTRY, 42, Integer.MAX_VALUE, Integer.BYTES, "\"t\""),
                arguments("another place", ENTRY, 42, 1, Integer.BYTES, "\"t\""),
                arguments("no zip64 compressed size", ENTRY, 20, -1, Integer.BYTES, ""),
                arguments("no zip64 size", ENTRY, 24, -1, Integer.BYTES, ""),
                arguments("no zip64 place", ENTRY, 42, -1, Integer.BYTES, ""),
                arguments("two entries", END, 10, 2, Short.BYTES, "2"),
                arguments("no entries", END, 10, 0, Short.BYTES, "0"),
                arguments("a small directory", END, 12, 1, Integer.BYTES, "1"),
                arguments("a huge directory", END, 12, Integer.MAX_VALUE, Integer.BYTES, "2147483647"),
                arguments("a place of the directory beyond the file", END, 16, Integer.MAX_VALUE, Integer.BYTES, ""),
                arguments("no zip64 directory", END, 10, 0xffff, Short.BYTES, "65535"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("directories")
    void directoriesThatCannotBe(String what, int record, int at, int value, int bytes, String expected) {
        byte[] archive = changed(archive(STORED), record, entry -> {
            switch (bytes) {
                case Byte.BYTES -> entry.put(at, (byte) value);
                case Short.BYTES -> entry.putShort(at, (short) value);
                default -> entry.putInt(at, value);
            }
        });
        assertRejected(archive, expected);
    }

    @Test
    void zip64DirectoriesThatCannotBe() throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path("zip64.npz"));
        int end = Zip.record(6, whole.clone());
        // the locator's signature is PK\6\7, that of the zip64 end PK\6\6
        end -= 56;
        for (int at : new int[] {32, 40, 48}) {
            for (long value : new long[] {-1, Integer.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE}) {
                byte[] archive = whole.clone();
                Zip.littleEndian(archive).putLong(end + at, value);
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
            Zip.littleEndian(archive).putLong(end - 24 + at, Long.MIN_VALUE);
            assertRejected(archive);
        }
    }

    @Test
    void theSameNameTwice() {
        byte[] one = archive(STORED);
        int central = Zip.record(ENTRY, one);
        int end = Zip.record(END, one);
        byte[] twice = new byte[one.length + end - central];
        Zip.littleEndian(twice)
                .put(one, 0, end)
                .put(one, central, end - central)
                .put(one, end, one.length - end);
        assertRejected(
                changed(twice, END, record -> record.putShort(10, (short) 2).putInt(12, 2 * (end - central))),
                "\"t.npy\"");
    }

    /** Nothing is written, and no directory is left. */
    @Test
    void namesThatLookLikePaths() throws Exception {
        WeightFile file = open(Zip.of("../../t.npy", DEFLATED, Zip.floats("(100,)", 400)));
        assertThat(file.getTensors()).containsOnly(Map.entry("../../t", new TensorInfo("<f4", new Shape(100))));
        assertThat(folder).isDirectoryNotContaining(path -> !path.endsWith("model.npz"));
    }

    @Test
    void emptyArchivesAndComments() throws Exception {
        byte[] archive = archive(STORED);
        byte[] empty = Arrays.copyOfRange(archive, Zip.record(END, archive), archive.length);
        assertThat(open(changed(empty, END, end -> end.putLong(8, 0).putInt(16, 0)))
                        .getTensors())
                .isEmpty();
        byte[] longer = Arrays.copyOf(archive, archive.length + 5);
        assertRejected(longer.clone());
        assertThat(open(changed(longer, END, end -> end.putShort(20, (short) 5)))
                        .getTensors())
                .containsOnlyKeys("t");
    }

    @Test
    void filesInAnotherFileSystem() throws Exception {
        Path outer = Files.write(folder.resolve("outer.zip"), Zip.of("inner.npz", STORED, archive(STORED)));
        try (FileSystem zip = FileSystems.newFileSystem(outer)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> WeightFile.open(zip.getPath("inner.npz")))
                    .withMessageContaining("inner.npz");
        }
    }
}
