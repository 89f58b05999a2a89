package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers of safetensors with wrong sizes, overflows, and content that is not the format's JSON. */
class HostileSafetensorsTest {

    private static final String EMPTY = "{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";

    @TempDir
    private Path folder;

    private WeightFile open(byte... bytes) throws Exception {
        return WeightFile.open(Files.write(folder.resolve("model.safetensors"), bytes));
    }

    private void assertRejected(byte[] bytes, String... values) {
        Weights.assertRejected(folder.resolve("model.safetensors"), bytes, values);
    }

    private static String tensor(String type, String shape, String offsets) {
        return "{\"t\":{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "[2] | [0,4] | bytes 0 to 4",
                "[2] | [0,16] | bytes 0 to 16",
                "[2] | [8,0] | bytes 8 to 0",
                "[2] | [-8,0] | \"-8\"",
                "[1] | [4,8] | at 0",
                "[1] | [0,4] | 4 of its 8 bytes",
                "[-2] | [0,8] | \"-2\"",
                "[2.0] | [0,8] | \"2.0\"",
                "[2e0] | [0,8] | \"2e0\"",
                "[\"2\"] | [0,8] | \"t\"",
                "[null] | [0,8] | \"t\"",
                "[[2]] | [0,8] | \"t\"",
                "2 | [0,8] | t.shape",
                "[2] | [0] | \"t\"",
                "[2] | [0,8,8] | \"t\"",
                "[2] | {} | t.data_offsets",
                "[1152921504606846976] | [0,8] | \"1152921504606846976\"",
                "[999999999999999999] | [0,8] | (999999999999999999)",
                "[99999999999999999] | [0,8] | (99999999999999999)",
                "[4294967296,4294967296,4294967296] | [0,8] | (4294967296, 4294967296, 4294967296)",
                "[4294967296,4294967296] | [0,0] | (4294967296, 4294967296)",
                "[9223372036854775808] | [0,8] | \"9223372036854775808\"",
                "[99999999999999999999999999999999999999] | [0,8] | \"99999999999999999999999999999999999999\"",
                "[2] | [0,99999999999999999999999999999] | \"99999999999999999999999999999\"",
            })
    void sizesThatCannotBe(String shape, String offsets, String value) {
        assertRejected(Weights.safetensors(tensor("\"F32\"", shape, offsets), 8), value);
    }

    /** One bit, a few bits, bytes and words: of types that cannot be loaded, too, the size is checked. */
    @ParameterizedTest
    @ValueSource(strings = {"F4", "F6_E2M3", "BOOL", "F8_E4M3", "U16", "I32", "C64"})
    void sizesOfOtherTypes(String type) {
        assertRejected(Weights.safetensors(tensor("\"" + type + "\"", "[9]", "[0,8]"), 8), type, "(9)");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"t\":{},\"t\":{}} | \"t\"",
                "{\"t\":" + EMPTY + ",\"t\":{}} | \"t\"",
                "{\"t\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}} | \"dtype\"",
                "{\"__metadata__\":{},\"__metadata__\":{}} | \"__metadata__\"",
                "{\"__metadata__\":{\"a\":1}} | \"a\"",
                "{\"__metadata__\":{\"a\":{}}} | \"a\"",
                "{\"__metadata__\":[]} | `__metadata__`",
                "{\"t\":[]} | t",
                "{\"t\":{\"dtype\":3}} | \"t\"",
                "{\"t\" | `$.t`",
                "{t:{}} | column 3",
                "{'t':{}} | column 3",
                "{}{} | column 4",
                "{}x | column 4",
                "`{}\0` | column 4",
                "{ // comment } | line 1",
                "{,} | column 3",
            })
    void headersOfAnotherForm(String header, String value) {
        assertRejected(Weights.safetensors(header, 0), value);
    }

    @Test
    void moreOfAnythingThanAnyFileHas() {
        String names = IntStream.rangeClosed(0, 1 << 17)
                .mapToObj(i -> "\"" + i + "\":" + EMPTY)
                .collect(Collectors.joining(","));
        assertRejected(Weights.safetensors("{" + names + "}", 0), "131072");
        String fields =
                IntStream.rangeClosed(0, 64).mapToObj(i -> "\"" + i + "\":0").collect(Collectors.joining(","));
        assertRejected(Weights.safetensors("{\"t\":{" + fields + "}}", 0), "\"t\"", "64");
        assertRejected(
                Weights.safetensors(tensor("\"F32\"", "[" + "1,".repeat(64) + "2]", "[0,8]"), 8), "\"t\"", "\"2\"");
    }

    @Test
    void overlappingTensors() {
        String tensor = "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[%d,%d]}";
        String header = "{\"a\":" + String.format(tensor, 0, 8) + ",\"b\":" + String.format(tensor, 4, 12) + "}";
        assertRejected(Weights.safetensors(header, 12), "tensor \"b\" (\"F32\", (2), bytes 4 to 12)", "at 8");
    }

    @Test
    void textThatIsNotUtf8() {
        byte[] file = Weights.safetensors("{\"__metadata__\":{\"a\":\"?\"}}", 0);
        file[Long.BYTES + 21] = (byte) 0xff;
        assertRejected(file);
    }

    /** The last number is 8 in the other byte order. */
    @ParameterizedTest
    @ValueSource(
            longs = {
                3,
                1000,
                100_000_001,
                Integer.MAX_VALUE,
                1L << 32,
                Long.MAX_VALUE,
                -1,
                0,
                1,
                Long.MIN_VALUE,
                8L << 56
            })
    void lengthsOfHeadersThatDoNotFit(long length) {
        byte[] file = Weights.safetensors("{}", 0);
        Zip.littleEndian(file).putLong(length);
        boolean isLength = length > 1;
        assertRejected(file, isLength ? new String[] {length + " bytes", "10 bytes"} : new String[0]);
    }

    /** A million brackets, which would overflow the stack of a recursive parser. */
    @ParameterizedTest
    @ValueSource(strings = {"{\"t\":", "{\"t\":{\"other\":", "{\"__metadata__\":{\"a\":"})
    void deepNesting(String start) {
        assertRejected(Weights.safetensors(start + "[".repeat(1_000_000) + "]".repeat(1_000_000) + "}}", 0));
    }

    @Test
    void unknownFieldsAndFilesWithoutTensors() throws Exception {
        assertThat(open(Weights.safetensors(
                                "{\"t\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,3],\"other\":[{\"x\":1}]}} ",
                                3))
                        .getTensors())
                .containsOnlyKeys("t");
        assertThat(open(Weights.safetensors("{}", 0)).getTensors()).isEmpty();
    }

    /** Nothing is read or written where names point to, and messages show names on one line. */
    @Test
    void namesThatLookLikePathsOrControlCharacters() throws Exception {
        WeightFile file = open(Weights.safetensors(
                "{\"../../etc/passwd\":" + EMPTY + ",\"\\u0000\\n\":" + EMPTY + ",\"\":" + EMPTY + "}", 0));
        assertThat(file.getTensors()).containsOnlyKeys("../../etc/passwd", "\0\n", "");
        assertThat(folder).isDirectoryNotContaining(path -> !path.endsWith("model.safetensors"));
        assertThat(InvalidFileException.quoted("\0\n\u001b[2J $1\\")).isEqualTo("\"\\u0000\\u000a\\u001b[2J $1\\\"");
        assertThat(InvalidFileException.quoted("größe 位 😀 \u202e\u2028\ud800"))
                .isEqualTo("\"größe 位 😀 \\u202e\\u2028\\ud800\"");
        assertThat(InvalidFileException.quoted("😀".repeat(101))).isEqualTo("\"" + "😀".repeat(100) + "…\"");
    }
}
