package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.MalformedModelException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers of safetensors that lie, overflow, or are no JSON. */
class HostileSafetensorsTest {

    @TempDir
    private Path folder;

    private WeightFile open(byte... bytes) throws Exception {
        return WeightFile.open(Files.write(folder.resolve("model.safetensors"), bytes));
    }

    private ThrowableAssertAlternative<?> refused(byte... bytes) {
        return assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> open(bytes))
                .withMessageContaining(
                        "the weight file " + folder.resolve("model.safetensors") + " is damaged or cut off")
                .withMessageContaining(": allowed is a whole safetensors or npz file; ");
    }

    private static String tensor(String type, String shape, String offsets) {
        return "{\"t\":{\"dtype\":" + type + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "[2] | [0,4] | another number of bytes than its shape and type",
                "[2] | [0,16] | is not within the 8 bytes of data",
                "[2] | [8,0] | is not within",
                "[2] | [-8,0] | \"-8\" as a size or an offset",
                "[1] | [4,8] | does not begin where the one before it ends, at 0",
                "[1] | [0,4] | its tensors have 4 of its 8 bytes",
                "[-2] | [0,8] | \"-2\" as a size",
                "[2.0] | [0,8] | \"2.0\" as a size",
                "[2e0] | [0,8] | \"2e0\" as a size",
                "[\"2\"] | [0,8] | is a STRING where a NUMBER belongs",
                "[null] | [0,8] | is a NULL where a NUMBER belongs",
                "[[2]] | [0,8] | is a BEGIN_ARRAY where a NUMBER belongs",
                "2 | [0,8] | is not the JSON of the format",
                "[2] | [0] | lacks its type, its shape or its two offsets",
                "[2] | [0,8,8] | lacks its type, its shape or its two offsets",
                "[2] | {} | is not the JSON of the format",
                "[1152921504606846976] | [0,8] | \"1152921504606846976\" as a size",
                "[999999999999999999] | [0,8] | has more numbers than any file",
                "[99999999999999999] | [0,8] | another number of bytes",
                "[4294967296,4294967296,4294967296] | [0,8] | has more numbers than any file",
                "[4294967296,4294967296] | [0,0] | has more numbers than any file",
                "[9223372036854775808] | [0,8] | as a size or an offset",
                "[99999999999999999999999999999999999999] | [0,8] | as a size or an offset",
                "[2] | [0,99999999999999999999999999999] | as a size or an offset",
                "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                        + "1,1,1,1,1,1,1,1,1,1] | [0,8] | too many of them",
            })
    void sizesThatCannotBe(String shape, String offsets, String message) {
        refused(Weights.safetensors(tensor("\"F32\"", shape, offsets), 8)).withMessageContaining(message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"t\":{},\"t\":{}} | lacks its type",
                "{\"t\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"t\":{}} | its header has \"t\" twice",
                "{\"t\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}} | the header of tensor \"t\" has \"dtype\" twice",
                "{\"__metadata__\":{},\"__metadata__\":{}} | its header has \"__metadata__\" twice",
                "{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}} | its metadata has \"a\" twice",
                "{\"__metadata__\":{\"a\":1}} | its metadata \"a\" is a NUMBER where a STRING belongs",
                "{\"__metadata__\":{\"a\":{}}} | is a BEGIN_OBJECT where a STRING belongs",
                "{\"__metadata__\":[]} | is not the JSON of the format",
                "{\"t\":[]} | is not the JSON of the format",
                "{\"t\":{\"dtype\":3}} | the type of tensor \"t\" is a NUMBER where a STRING belongs",
                "{\"t\" | is not the JSON of the format",
                "{t:{}} | is not the JSON of the format",
                "{'t':{}} | is not the JSON of the format",
                "{}{} | is not the JSON of the format",
                "{}x | is not the JSON of the format",
                "{ // comment } | is not the JSON of the format",
                "{,} | is not the JSON of the format",
            })
    void headersOfAnotherForm(String header, String message) {
        refused(Weights.safetensors(header, 0)).withMessageContaining(message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "{\"__metadata__\":{", "{\"t\":{"})
    void moreNamesThanAnyFileHas(String start) {
        String value = start.length() == 1 ? "{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}" : "\"\"";
        String names = IntStream.rangeClosed(0, 1 << 17)
                .mapToObj(i -> "\"" + i + "\":" + value)
                .collect(Collectors.joining(","));
        refused(Weights.safetensors(start + names + "}".repeat(start.length() == 1 ? 1 : 2), 0))
                .withMessageContaining("has more than 131072 names");
    }

    @Test
    void overlappingTensors() {
        String tensor = "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[%d,%d]}";
        refused(Weights.safetensors(
                        "{\"a\":" + String.format(tensor, 0, 8) + ",\"b\":" + String.format(tensor, 4, 12) + "}", 12))
                .withMessageContaining(
                        "tensor \"b\" (\"F32\", (2), bytes 4 to 12) does not begin where the one before it"
                                + " ends, at 8");
    }

    @Test
    void bytesBehindTheHeadersEnd() {
        byte[] file = Weights.safetensors("{}\0", 0);
        refused(file).withMessageContaining("is not the JSON of the format");
    }

    @Test
    void textThatIsNoUtf8() {
        byte[] file = Weights.safetensors("{\"__metadata__\":{\"a\":\"?\"}}", 0);
        file[Long.BYTES + 21] = (byte) 0xff;
        refused(file).withMessageContaining("is not the JSON of the format");
    }

    @ParameterizedTest
    @ValueSource(longs = {3, 1000, 100_000_001, Integer.MAX_VALUE, 1L << 32, Long.MAX_VALUE})
    void lengthsOfHeadersThatDoNotFit(long length) {
        byte[] file = Weights.safetensors("{}", 0);
        ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putLong(length);
        refused(file).withMessageContaining("its header of " + length + " bytes does not fit the file's 10 bytes");
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 0, 1, Long.MIN_VALUE})
    void lengthsOfNoHeader(long length) {
        byte[] file = Weights.safetensors("{}", 0);
        ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putLong(length);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> open(file))
                .withMessageContaining("is neither npz nor safetensors");
    }

    /** A million brackets, which would overflow the stack of a parser that calls itself. */
    @ParameterizedTest
    @ValueSource(strings = {"{\"t\":", "{\"t\":{\"other\":", "{\"__metadata__\":{\"a\":"})
    void deepNesting(String start) {
        refused(Weights.safetensors(start + "[".repeat(1_000_000) + "]".repeat(1_000_000) + "}}", 0));
    }

    @Test
    void fieldsThatTheFormatMayGainAreSkipped() throws Exception {
        WeightFile file = open(Weights.safetensors(
                "{\"t\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,3],\"other\":[{\"x\":1}]}} ", 3));
        assertThat(file.getTensors()).containsOnlyKeys("t");
    }

    @Test
    void aFileOfNoTensors() throws Exception {
        assertThat(open(Weights.safetensors("{}", 0)).getTensors()).isEmpty();
    }

    /** Names are names: nothing is read or written where they point. */
    @Test
    void namesThatLookLikePaths() throws Exception {
        String entry = "{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";
        WeightFile file = open(Weights.safetensors(
                "{\"../../etc/passwd\":" + entry + ",\"\\u0000\\n\":" + entry + ",\"\":" + entry + "}", 0));
        assertThat(file.getTensors()).containsOnlyKeys("../../etc/passwd", "\0\n", "");
        assertThat(Quoted.text("\0\n\u001b[2J")).isEqualTo("\"\\u0000\\u000a\\u001b[2J\"");
        assertThat(Quoted.text("größe 位 😀 \u202e\u2028\ud800")).isEqualTo("\"größe 位 😀 \\u202e\\u2028\\ud800\"");
        assertThat(Quoted.text("x".repeat(101))).isEqualTo("\"" + "x".repeat(100) + "…\"");
        assertThat(folder).isDirectoryNotContaining(path -> !path.endsWith("model.safetensors"));
    }

    @Test
    void theLengthOfTheHeaderIsLittleEndian() throws Exception {
        byte[] text = "{}      ".getBytes(StandardCharsets.UTF_8);
        byte[] file = ByteBuffer.allocate(16)
                .order(ByteOrder.BIG_ENDIAN)
                .putLong(8)
                .put(text)
                .array();
        assertThatExceptionOfType(MalformedModelException.class).isThrownBy(() -> open(file));
    }
}
