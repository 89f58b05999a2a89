package io.github.djlpositional.weights;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.weights.WeightFile.TensorInfo;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The tensors of files that torch wrote, as arrays; files of other formats. UntrustedFilesTest has damaged files. */
class WeightFileTest extends OnEachEngine {

    @TempDir
    private Path folder;

    private Path file(String name, byte... bytes) throws Exception {
        return Files.write(folder.resolve(name), bytes);
    }

    @Test
    void listsTheTensorsInTheOrderOfTheFile() throws Exception {
        WeightFile file = Weights.open("types.safetensors");
        assertThat(file.getTensors().keySet())
                .containsExactly(
                        "i64", "f64", "empty", "f32", "größe \n", "scalar", "i32", "bf16", "f16", "f8", "bool");
        assertThat(file.getTensors().values().stream().map(TensorInfo::type))
                .containsExactly("I64", "F64", "F32", "F32", "F32", "F32", "I32", "BF16", "F16", "F8_E4M3", "BOOL");
        assertThat(file.getTensors())
                .isUnmodifiable()
                .containsEntry("f8", new TensorInfo("F8_E4M3", new Shape(4, 3)))
                .containsEntry("scalar", new TensorInfo("F32", new Shape()))
                .containsEntry("empty", new TensorInfo("F32", new Shape(0, 3)));
        assertThat(file).hasToString("WeightFile(" + file.path() + ", 11 tensors)");
    }

    @Test
    void listsTensorsOfUnknownTypes() throws Exception {
        String header = "{\"t\":{\"dtype\":\"F99\",\"shape\":[2],\"data_offsets\":[0,3],\"other\":[{\"x\":1}]}} ";
        assertThat(WeightFile.open(file("unknown", Weights.safetensors(header, 3)))
                        .getTensors())
                .containsOnlyKeys("t");
        assertThat(WeightFile.open(file("none", Weights.safetensors("{}", 0))).getTensors())
                .isEmpty();
    }

    /** The expected numbers are torch's in float64. */
    @ParameterizedTest
    @CsvSource({"f64, FLOAT64", "f32, FLOAT32", "f16, FLOAT16", "bf16, FLOAT32"})
    void readsRealNumbersExactly(String name, DataType type) throws Exception {
        try (NDManager own = manager.newSubManager()) {
            NDArray array = Weights.open("types.safetensors").read(own, name);
            assertThat(own.getManagedArrays()).containsExactly(array);
            assertThat(array.getDataType()).isEqualTo(type);
            assertThat(array.getShape()).isEqualTo(new Shape(4, 3));
            assertThat(HostData.doubles(array)).isEqualTo(Weights.expected(name));
        }
    }

    @Test
    void readsScalarsAndEmptyTensors() throws Exception {
        WeightFile file = Weights.open("types.safetensors");
        assertThat(file.read(manager, "scalar").toFloatArray()).containsExactly(2.5f);
        assertThat(file.read(manager, "empty").getShape()).isEqualTo(new Shape(0, 3));
        NDArray number = Weights.open("integers.safetensors").read(manager, "number");
        assertThat(number.getShape()).isEqualTo(new Shape());
        assertThat(number.toLongArray()).containsExactly(7);
    }

    /** The smallest, the largest and another number of each type. */
    @ParameterizedTest
    @CsvSource({
        "i1, INT8, -128, 127",
        "u1, UINT8, 0, 255",
        "i4, INT32, -2147483648, 2147483647",
        "i8, INT64, -9223372036854775808, 9223372036854775807"
    })
    void readsIntegersExactly(String name, DataType type, long smallest, long largest) throws Exception {
        NDArray array = Weights.open("integers.safetensors").read(manager, name);
        assertThat(array.getDataType()).isEqualTo(type);
        assertThat(array.toType(DataType.INT64, false).toLongArray()).containsExactly(smallest, largest, 1);
    }

    /** A boolean is a byte; another one than 0 and 1 must not reach an engine. */
    @Test
    void readsBooleansOfAnyByte() throws Exception {
        assertThat(Weights.open("integers.safetensors").read(manager, "b1").toBooleanArray())
                .containsExactly(false, true, true);
        byte[] bytes = Weights.safetensors("{\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}", 3);
        bytes[bytes.length - 1] = -1;
        bytes[bytes.length - 2] = 2;
        NDArray booleans = WeightFile.open(file("booleans", bytes)).read(manager, "b");
        assertThat(booleans.toByteBuffer()).isEqualTo(ByteBuffer.wrap(new byte[] {0, 1, 1}));
    }

    @Test
    void rejectsTypesThatNoEngineHas() throws Exception {
        WeightFile types = Weights.open("types.safetensors");
        WeightFile integers = Weights.open("integers.safetensors");
        assertAll(
                rejected(() -> types.read(manager, "f8"), "\"f8\"", "F8_E4M3", "BF16"),
                rejected(() -> integers.read(manager, "i2"), "\"i2\"", "\"I16\"", "I64"),
                rejected(() -> integers.read(manager, "u2"), "\"u2\"", "\"U16\"", "I64"),
                rejected(() -> integers.read(manager, "u4"), "\"u4\"", "\"U32\"", "I64"),
                rejected(() -> integers.read(manager, "u8"), "\"u8\"", "\"U64\"", "I64"));
    }

    @Test
    void suggestsTheNamesWithTheLongestCommonEnd() throws Exception {
        WeightFile bert = Weights.open("bert.safetensors");
        String name = "embeddings.position_embeddings.weight";
        assertAll(rejected(() -> bert.read(manager, name), "\"" + name + "\"", "[\"bert." + name + "\","));
    }

    @Test
    void rejectsAFileThatHasChangedSinceItWasOpened() throws Exception {
        byte[] bytes = Files.readAllBytes(Weights.path("linear.safetensors"));
        Path path = file("changed.safetensors", bytes);
        WeightFile file = WeightFile.open(path);
        Files.delete(path);
        Files.write(path, bytes);
        Files.setLastModifiedTime(path, FileTime.fromMillis(0));
        int open = manager.getManagedArrays().size();
        assertAll(rejected(
                MalformedModelException.class, () -> file.read(manager, "weight"), path, "changed", "WeightFile.open"));
        assertThat(manager.getManagedArrays()).hasSize(open);
    }

    @Test
    void rejectsPathsWithoutAFile() {
        assertAll(
                rejected(() -> WeightFile.open(folder), folder, "model.safetensors"),
                rejected(
                        NoSuchFileException.class,
                        () -> WeightFile.open(folder.resolve("absent.safetensors")),
                        "absent.safetensors"));
    }

    /** The first bytes as the tools and servers that are named write them. */
    static Stream<Arguments> otherFormats() {
        return Stream.of(
                arguments("", "empty", "download"),
                arguments("\0".repeat(64), "zeros", "download"),
                arguments("DJL@model", "DJL", "Model.load"),
                arguments(
                        "PK\3\4\0\0\b\b" + "\0".repeat(22) + "model/data.pklFB", "pickle", "weights.md"), // torch.save
                arguments(
                        "PK\3\4\0\0\b\b" + "\0".repeat(22) + "jit/data/0FB", "pickle", "weights.md"), // torch.jit.save
                arguments("PK\3\4\24\0\0\0" + "\0".repeat(22) + "arr_0.npy", "numpy", "weights.md"), // numpy.savez
                arguments("PK\3\4\24\0\0\0" + "\0".repeat(22) + "model.onnx", "ONNX", "unpack"),
                arguments("PK\3\4\24\0\0\0" + "\0".repeat(22) + "a/model.safetensors", "safetensors", "unpack"),
                arguments("PK\3\4\24\0\0\0" + "\0".repeat(22) + "metadata.json", "Keras", "weights.md"),
                arguments("PK\3\4\24\0\0\0" + "\0".repeat(22) + "notes.txt", "zip", "unpack"),
                arguments(
                        "\u0080\2\u008a\nl\u00fc\u009cF\u00f9 j\u00a8P\31.", "pickle", "weights.md"), // torch until 1.5
                arguments("\u0080\4\u0095\25\0\0\0\0", "pickle", "weights.md"), // pickle.dumps
                arguments("\u0093NUMPY\1\0", "NumPy", "weights.md"),
                arguments("\u0089HDF\r\n\32\n", "HDF5", "weights.md"),
                arguments("GGUF\3\0\0\0\1\0\0\0\0\0\0\0", "GGUF", "weights.md"),
                arguments("\b\7\22\4test\"\0", "ONNX", "weights.md"),
                arguments("\b\n:\0", "ONNX", "weights.md"), // without a producer
                arguments("\b\1\22\2\n\0", "TensorFlow", "Hugging Face"),
                arguments("\34\0\0\0TFL3", "TensorFlow Lite", "Hugging Face"),
                arguments("\u0081\u00a5model\u0081\u00a1a", "MessagePack", "Hugging Face"),
                arguments("\37\u008b\b\0\0\0\0\0", "gzip", "gunzip"),
                arguments("BZh91AY&SY", "bzip2", "unpack"),
                arguments("model.safetensors" + "\0".repeat(240) + "ustar\000", "tar", "unpack"),
                arguments("PAR1\25\4\25", "Parquet", "safetensors file"),
                arguments("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 5\n", "LFS", "git lfs pull"),
                arguments("# xet version 0\nfilesize = 5\nhash = 'a'\n", "Xet", "hf download"),
                arguments("{\"hash\":\"a3f1\",\"file_size\":1234}", "Xet", "hf download"),
                arguments("\u00ef\u00bb\u00bf\n<!DOCTYPE html><html>", "HTML", "/resolve/"),
                arguments("<html>\r\n<head><title>502 Bad Gateway</title></head>", "502 Bad Gateway", "/resolve/"),
                arguments("<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code>", "AccessDenied", "valid"),
                arguments("{\"error\":\"Access to model a/b is restricted.\"}", "is restricted", "log in"),
                arguments("{\"message\": \"Not Found\", \"status\": \"404\"}", "Not Found", "address"),
                arguments(
                        "{\n  \"metadata\": {\n    \"total_size\": 8\n  },\n  \"weight_map\": {}",
                        "index",
                        "weight_map"),
                arguments("{\n  \"architectures\": [\n    \"BertModel\"", "BertModel", "safetensors file"),
                arguments("Entry not found", "Entry not found", "download"),
                arguments("bert,0.5,1.5,2.5,3.5", "is not safetensors", "download"));
    }

    /** Each with what to do. */
    @ParameterizedTest
    @MethodSource("otherFormats")
    void namesOtherFormats(String start, String format, String remedy) throws Exception {
        assertOtherFormat(start, format, remedy);
    }

    /** An unknown version of pickle, the first bytes of a pickle and of a zip, and a damaged file. */
    @ParameterizedTest
    @ValueSource(strings = {"\u0080\u0006}", "\u0080", "PK", "\u0081\0\0\0\0\0\0\0x\"a\""})
    void rejectsUnknownFormats(String start) throws Exception {
        assertOtherFormat(start, "is not safetensors", "download");
    }

    /** A download that was interrupted in the header, and in the data. */
    @ParameterizedTest
    @ValueSource(ints = {20, 150})
    void saysHowMuchOfATruncatedFileIsMissing(int size) throws Exception {
        byte[] whole = Files.readAllBytes(Weights.path("linear.safetensors"));
        long header = 8 + Weights.littleEndian(whole).getLong(0);
        Path path = file("model.safetensors", Arrays.copyOf(whole, size));
        assertAll(rejected(
                MalformedModelException.class,
                () -> WeightFile.open(path),
                path,
                size + " of " + (size < header ? header : whole.length) + " bytes",
                "download"));
    }

    /** The reference implementation reads it as no metadata. */
    @Test
    void acceptsMetadataThatAreNull() throws Exception {
        String header = "{\"__metadata__\":null,\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
        WeightFile file = WeightFile.open(file("null.safetensors", Weights.safetensors(header, 4)));
        assertThat(file.getTensors()).containsOnlyKeys("t");
    }

    private void assertOtherFormat(String start, String format, String remedy) throws Exception {
        Path path = file("model.bin", start.getBytes(StandardCharsets.ISO_8859_1));
        assertAll(rejected(MalformedModelException.class, () -> WeightFile.open(path), path, format, remedy));
    }
}
