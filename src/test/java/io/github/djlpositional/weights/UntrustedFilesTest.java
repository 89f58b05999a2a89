package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.littleEndian;
import static io.github.djlpositional.weights.Weights.safetensors;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.internal.InvalidFileException;
import io.github.djlpositional.support.FileDamage;
import io.github.djlpositional.support.ResourceGuard;
import io.github.djlpositional.support.TestEngine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Damaged and hostile files are rejected with a description, and do no harm. */
class UntrustedFilesTest {

    private static final String EMPTY = "{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";

    private static final ResourceGuard LOADING =
            new ResourceGuard(List.of(MalformedModelException.class, IllegalArgumentException.class));

    @TempDir
    private Path folder;

    private WeightFile open(byte... bytes) throws Exception {
        return WeightFile.open(Files.write(folder.resolve("model"), bytes));
    }

    private void assertRejected(byte[] bytes, String... values) {
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> open(bytes))
                .withMessageContaining(folder.resolve("model").toString())
                .satisfies(e -> List.of(values).forEach(value -> assertThat(e).hasMessageContaining(value)));
    }

    /**
     * Loads all of a file, and returns the rejection or null. Anything but a documented exception within the limits
     * fails.
     */
    private Exception rejection(byte... file) throws Exception {
        Path path = Files.write(folder.resolve("model"), file);
        try (NDManager manager = TestEngine.anyCpuManager()) {
            Exception rejection = LOADING.refusal(file.length, 0, () -> Weights.loadAll(manager, path));
            if (rejection != null) {
                assertThat(rejection).message().isNotBlank();
            }
            return rejection;
        }
    }

    private static String tensor(String type, String shape, String offsets) {
        return "{\"t\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
    }

    @Test
    void everyTruncation() throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path("opt.safetensors"));
        for (int length = 0; length < whole.length; length++) {
            assertRejected(Arrays.copyOf(whole, length));
        }
    }

    @Test
    void randomDamage() throws Exception {
        List<byte[]> all = new ArrayList<>();
        for (String name : List.of("bert", "opt", "types")) {
            byte[] whole = Files.readAllBytes(Weights.path(name + ".safetensors"));
            all.add(whole);
            // what is allocated once, for all files
            Path path = Files.write(folder.resolve("model"), whole);
            try (NDManager manager = TestEngine.anyCpuManager()) {
                LOADING.refusal(whole.length, 1 << 24, () -> Weights.loadAll(manager, path));
            }
        }
        RandomCases.check(1000, random -> rejection(FileDamage.of(random, RandomCases.one(random, all))));
    }

    /**
     * Files with claims of gigabytes, which must not be allocated, and headers that would take a parser with
     * backtracking or recursion long, or overflow its stack.
     */
    static Stream<byte[]> hostile() {
        byte[] header = safetensors("{}", 0);
        littleEndian(header).putLong(0, 99_000_000);
        Stream<byte[]> nested = Stream.of("{\"t\":", "{\"t\":{\"other\":", "{\"__metadata__\":{\"a\":")
                .map(start -> safetensors(start + "[".repeat(1_000_000) + "]".repeat(1_000_000) + "}}", 0));
        byte[] large = safetensors(tensor("F32", "[100000000000000000]", "[0,400000000000000000]"), 0);
        return Stream.concat(Stream.of(header, large), nested);
    }

    @ParameterizedTest(name = "{index}")
    @MethodSource("hostile")
    @Timeout(5)
    void hostileFilesAreRejectedInLittleMemoryAndTime(byte[] file) throws Exception {
        assertThat(rejection(file)).isInstanceOf(MalformedModelException.class);
    }

    @ParameterizedTest
    @CsvFileSource(
            resources = "/weights/rejected-headers.csv",
            delimiter = '|',
            quoteCharacter = '`',
            numLinesToSkip = 1)
    void headersThatTorchDoesNotWrite(String header, String expected) {
        assertRejected(safetensors(header, 8), expected);
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
            // the longest header of the format has 100,000,000 bytes
            assertRejected(file, length > 100_000_000 ? length + " bytes" : "10 of " + (Long.BYTES + length));
        }
        // the last number is 8 in the other byte order
        for (long length : new long[] {-1, 0, 1, Long.MIN_VALUE, 8L << 56}) {
            littleEndian(file).putLong(length);
            assertRejected(file);
        }
    }

    /** Nothing is read or written where names point to, no directory is left, and messages show names on one line. */
    @Test
    void namesThatLookLikePathsOrControlCharacters() throws Exception {
        WeightFile file = open(
                safetensors("{\"../../etc/passwd\":" + EMPTY + ",\"\\u0000\\n\":" + EMPTY + ",\"\":" + EMPTY + "}", 0));
        assertThat(file.getTensors()).containsOnlyKeys("../../etc/passwd", "\0\n", "");
        assertThat(folder).isDirectoryNotContaining(path -> !path.endsWith("model"));
        assertThat(InvalidFileException.quoted("\0\n\u001b[2J $1\\")).isEqualTo("\"\\u0000\\u000a\\u001b[2J $1\\\"");
        assertThat(InvalidFileException.quoted("größe 位 😀 \u202e\u2028\ud800"))
                .isEqualTo("\"größe 位 😀 \\u202e\\u2028\\ud800\"");
        assertThat(InvalidFileException.quoted("😀".repeat(101))).isEqualTo("\"" + "😀".repeat(100) + "…\"");
    }
}
