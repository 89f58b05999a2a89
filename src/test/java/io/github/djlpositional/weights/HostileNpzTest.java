package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Archives and headers of arrays that lie, overflow, or are no NumPy. */
class HostileNpzTest {

    @TempDir
    private Path folder;

    private WeightFile open(byte... bytes) throws Exception {
        return WeightFile.open(Files.write(folder.resolve("model.npz"), bytes));
    }

    private ThrowableAssertAlternative<?> refused(byte... bytes) {
        return assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> open(bytes))
                .withMessageContaining("the weight file " + folder.resolve("model.npz") + " is damaged or cut off")
                .withMessageContaining(": allowed is a whole safetensors or npz file; ");
    }

    private ThrowableAssertAlternative<?> refusedWhenLoaded(byte... bytes) {
        return assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> {
                    WeightFile file = open(bytes);
                    try (NDManager manager = NDManager.newBaseManager()) {
                        WeightLoader.of(file)
                                .table("t", Weights.parameter(manager, DataType.FLOAT32, 100))
                                .load();
                    }
                })
                .withMessageContaining("the data of tensor \"t\": ");
    }

    private static byte[] archive(int method) {
        return Zip.of("t.npy", method, Zip.floats("(100,)", 400));
    }

    private static byte[] changed(int method, Consumer<ByteBuffer> entry) {
        byte[] archive = archive(method);
        int at = Zip.centralHeader(archive);
        entry.accept(Zip.littleEndian(archive).slice(at, archive.length - at).order(ByteOrder.LITTLE_ENDIAN));
        return archive;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } | 8 bytes for its shape (1) and type <f4",
                "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } | 8 bytes for its shape (2)",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,), } | no size of an axis",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999999,), } | 8 bytes for its shape",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), } | 8 bytes for",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), } | no size of an axis",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2), } | no comma",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), } | no comma",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (,), } | no size of an axis",
                "{'descr': '<f4', 'fortran_order': False, 'shape': 2, } | no (",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2, | no size of an axis",
                "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), } | neither True nor False",
                "{'descr': 4, 'fortran_order': False, 'shape': (2,), } | no '",
                "{'descr': '<f4, } | no plain string",
                "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (2,), } | no plain string",
                "{'descr': [('a', '<f4'), 'fortran_order': False, 'shape': (2,), } | no end of a list",
                "{'descr': ['<f4', 'fortran_order | no plain string",
                "{'descr': '<f4', 'fortran_order': False, } | not its three entries",
                "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,), } | or writes once",
                "{'other': '<f4', 'fortran_order': False, 'shape': (2,), } | a key that NumPy does not write",
                "{'descr': '<f4' 'fortran_order': False, 'shape': (2,), } | no comma",
                "{'descr' '<f4', 'fortran_order': False, 'shape': (2,), } | no :",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x | not its three entries",
                "__import__('os').system('true') | no {",
                "`` | no {",
            })
    void dictionariesThatNumPyDoesNotWrite(String dictionary, String message) {
        refused(Zip.of("t.npy", ZipEntry.STORED, Zip.npy(dictionary, 8)))
                .withMessageContaining("array \"t\"")
                .withMessageContaining(message);
    }

    @Test
    void tooManyAxes() {
        refused(Zip.of("t.npy", ZipEntry.STORED, Zip.floats("(" + "1, ".repeat(65) + ")", 4)))
                .withMessageContaining("too many sizes");
    }

    @Test
    void deepNestingInAStructure() {
        refused(Zip.of("t.npy", ZipEntry.STORED, Zip.npy("{'descr': " + "[".repeat(9000), 4)))
                .withMessageContaining("no end of a list");
    }

    @Test
    void longHeaders() {
        refused(Zip.of("t.npy", ZipEntry.DEFLATED, Zip.npy(" ".repeat(10_001), 4)))
                .withMessageContaining("its header of 10001 bytes is longer than NumPy's");
        byte[] huge = Zip.floats("(1,)", 4);
        huge[6] = 2;
        Zip.littleEndian(huge).putInt(8, -1);
        refused(Zip.of("t.npy", ZipEntry.STORED, huge)).withMessageContaining("its header of 4294967295 bytes");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4, 255})
    void otherVersions(int version) {
        byte[] array = Zip.floats("(1,)", 4);
        array[6] = (byte) version;
        refused(Zip.of("t.npy", ZipEntry.STORED, array)).withMessageContaining("no header of NumPy's versions 1 to 3");
    }

    @Test
    void arraysThatEndWithinTheirHeader() {
        byte[] array = Zip.floats("(1,)", 4);
        for (int length = 0; length < array.length - 4; length++) {
            refused(Zip.of("t.npy", ZipEntry.STORED, Arrays.copyOf(array, length)))
                    .withMessageContaining("array \"t\": it ends within its header");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {ZipEntry.STORED, ZipEntry.DEFLATED})
    void aClaimThatItsBytesCannotHold(int method) {
        // the size of an entry, in its directory
        refused(changed(method, entry -> entry.putInt(24, Integer.MAX_VALUE)))
                .withMessageContaining("claims to hold 2147483647");
    }

    /** An entry may claim a little more than it has: that is found at its end. */
    @Test
    void inflatedBytesThatEndTooSoon() {
        byte[] array = Zip.floats("(100,)", 396);
        byte[] archive = Zip.of("t.npy", ZipEntry.DEFLATED, array);
        Zip.littleEndian(archive).putInt(Zip.centralHeader(archive) + 24, array.length + 4);
        refusedWhenLoaded(archive).withMessageContaining("it ends 4 bytes before its size in the zip directory");
    }

    @Test
    void inflatedBytesThatGoOn() {
        byte[] array = Zip.floats("(100,)", 400 + 1_000_000);
        byte[] archive = Zip.of("t.npy", ZipEntry.DEFLATED, array);
        Zip.littleEndian(archive).putInt(Zip.centralHeader(archive) + 24, array.length - 1_000_000);
        refusedWhenLoaded(archive).withMessageContaining("it goes on behind its size in the zip directory");
    }

    @ParameterizedTest
    @ValueSource(ints = {ZipEntry.STORED, ZipEntry.DEFLATED})
    void anotherChecksum(int method) {
        refusedWhenLoaded(changed(method, entry -> entry.putInt(16, entry.getInt(16) ^ 1)))
                .withMessageContaining("its checksum is not that of the zip directory");
    }

    @Test
    void bytesBehindTheDeflatedOnes() {
        byte[] archive = archive(ZipEntry.DEFLATED);
        int at = Zip.centralHeader(archive);
        // one byte of the data descriptor that follows
        Zip.littleEndian(archive).putInt(at + 20, Zip.littleEndian(archive).getInt(at + 20) + 1);
        refusedWhenLoaded(archive).withMessageContaining("it goes on behind");
    }

    static Stream<Arguments> directories() {
        return Stream.of(
                directory("encrypted", 8, 1, "is encrypted, or compressed by method 0"),
                directory("an unknown method", 10, 12, "compressed by method 12"),
                directory("no entry", 0, 0, "has something else where an entry belongs"),
                directory("a longer name", 28, 6, "its zip directory cannot be read"),
                directory("a shorter name", 28, 4, "has more than the 1 entries"));
    }

    private static Arguments directory(String what, int at, int value, String message) {
        Consumer<ByteBuffer> change = entry -> entry.putShort(at, (short) value);
        return Arguments.of(what, change, message);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("directories")
    void directoriesThatCannotBe(String what, Consumer<ByteBuffer> change, String message) {
        refused(changed(ZipEntry.STORED, change)).as(what).withMessageContaining(message);
    }

    @Test
    void entriesOutsideTheFile() {
        for (int at : new int[] {20, 42}) {
            byte[] archive = changed(ZipEntry.STORED, entry -> entry.putInt(at, Integer.MAX_VALUE));
            refused(archive).withMessageContaining("does not fit the file's " + archive.length + " bytes");
        }
        refused(changed(ZipEntry.STORED, entry -> entry.putInt(42, 1)))
                .withMessageContaining("array \"t\": its entry is not where the zip directory has it");
    }

    @Test
    void zip64SizesThatAreMissing() {
        for (int at : new int[] {20, 24, 42}) {
            refused(changed(ZipEntry.STORED, entry -> entry.putInt(at, -1)))
                    .withMessageContaining("the zip64 sizes of an entry are missing");
        }
    }

    @ParameterizedTest
    @CsvSource({"10, 2, claims 2 entries", "12, 1, claims 1 entries", "16, 7, does not fit", "10, 65535, zip64"})
    void endsOfDirectories(int at, int value, String message) {
        byte[] archive = archive(ZipEntry.STORED);
        Zip.littleEndian(archive).putShort(Zip.end(archive) + at, (short) value);
        if (at == 16) {
            Zip.littleEndian(archive).putInt(Zip.end(archive) + at, Integer.MAX_VALUE);
        }
        refused(archive).withMessageContaining(message);
    }

    @Test
    void zip64DirectoriesThatLie() throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path("zip64.npz"));
        int end = new String(whole, StandardCharsets.ISO_8859_1).lastIndexOf("PK\u0006\u0006");
        for (int at : new int[] {32, 40, 48}) {
            for (long value : new long[] {-1, Integer.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE}) {
                byte[] archive = whole.clone();
                Zip.littleEndian(archive).putLong(end + at, value);
                refused(archive).withMessageContaining("its zip directory of ");
            }
        }
        for (int at : new int[] {end, end + 56, end + 56 + 8}) {
            byte[] archive = whole.clone();
            archive[at + 1] ^= 0x55;
            refused(archive).withMessageContaining("its zip64 directory is missing");
        }
    }

    @Test
    void theSameNameTwice() {
        byte[] one = archive(ZipEntry.STORED);
        int central = Zip.centralHeader(one);
        int end = Zip.end(one);
        byte[] twice = new byte[one.length + end - central];
        ByteBuffer two = Zip.littleEndian(twice);
        two.put(one, 0, end).put(one, central, end - central).put(one, end, one.length - end);
        int newEnd = end + end - central;
        two.putShort(newEnd + 10, (short) 2).putInt(newEnd + 12, 2 * (end - central));
        refused(twice).withMessageContaining("its zip directory has \"t.npy\" twice");
    }

    @Test
    void namesThatAreNoUtf8() {
        byte[] archive = archive(ZipEntry.STORED);
        archive[Zip.centralHeader(archive) + 46] = (byte) 0xff;
        refused(archive).withMessageContaining("its zip directory cannot be read");
    }

    /** Names are names: nothing is written, and no folder left. */
    @Test
    void namesThatLookLikePaths() throws Exception {
        WeightFile file = open(Zip.of("../../t.npy", ZipEntry.DEFLATED, Zip.floats("(100,)", 400)));
        assertThat(file.getTensors()).containsOnly(Map.entry("../../t", new TensorInfo("<f4", new Shape(100))));
        assertThat(folder).isDirectoryNotContaining(path -> !path.endsWith("model.npz"));
    }

    @Test
    void anArchiveOfNothing() throws Exception {
        byte[] archive = archive(ZipEntry.STORED);
        byte[] empty = Arrays.copyOfRange(archive, Zip.end(archive), archive.length);
        Zip.littleEndian(empty)
                .putShort(8, (short) 0)
                .putShort(10, (short) 0)
                .putInt(12, 0)
                .putInt(16, 0);
        assertThat(open(empty).getTensors()).isEmpty();
    }

    @Test
    void aCommentAtTheEnd() throws Exception {
        byte[] archive = archive(ZipEntry.STORED);
        byte[] commented = Arrays.copyOf(archive, archive.length + 5);
        Zip.littleEndian(commented).putShort(archive.length - 2, (short) 5);
        assertThat(open(commented).getTensors()).containsOnlyKeys("t");
        refused(Arrays.copyOf(archive, archive.length + 5)).withMessageContaining("it has no zip directory at its end");
    }
}
