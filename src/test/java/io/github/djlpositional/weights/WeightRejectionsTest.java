package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Names, shapes, parameters and files that are rejected, and what their messages say. */
class WeightRejectionsTest {

    @TempDir
    private Path folder;

    private static WeightLoader gpt2() throws Exception {
        return Weights.loader("gpt2.npz");
    }

    private static void assertRejected(ThrowingCallable call, String... values) {
        assertThatIllegalArgumentException()
                .isThrownBy(call)
                .withMessageContainingAll(": ", "; ")
                .withMessageContainingAll(values);
    }

    @EngineTest
    void anUnknownName(NDManager manager) throws Exception {
        WeightLoader loader = Weights.loader("bert.safetensors");
        String name = "embeddings.position_embeddings.weight";
        assertRejected(
                () -> loader.table(name, Weights.parameter(manager, 8, 6)),
                "\"" + name + "\"",
                // the most similar name comes first
                "such as [\"bert." + name + "\", ");
        assertRejected(() -> Weights.loader("types.npz").encodings("x", SinusoidalEncoding.vaswani(4)), "21 tensors");
    }

    @EngineTest
    void anotherShape(NDManager manager) throws Exception {
        for (long[] shape : new long[][] {{8, 7}, {7, 6}, {6, 8}, {48}, {1, 8, 6}}) {
            WeightLoader loader = gpt2().table("wpe.weight", Weights.parameter(manager, shape));
            assertRejected(
                    loader::load, "\"wpe.weight\"", "gpt2.npz", "(8, 6)", new Shape(shape).toString(), "\"table\"");
        }
        WeightLoader scalar = Weights.loader("types.npz").table("scalar", Weights.parameter(manager));
        assertRejected(scalar::load, "\"scalar\"", "()");
    }

    @EngineTest
    void rowsThatAreLargerThanABuffer(NDManager manager) {
        StoredTensor tensor = Weights.tensor(new Shape(1, (1 << 28) + 1), false);
        TableCopy copy = new TableCopy(TensorPart.whole(tensor), Weights.parameter(manager, 1, 1));
        assertRejected(() -> copy.read(manager), "tensor \"t\" of memory.npz", "1073741828 bytes", "1073741824");
    }

    @EngineTest
    void parametersWithoutAnArrayOrOfIntegers(NDManager manager) throws Exception {
        Parameter uninitialized = Parameter.builder()
                .setName("table")
                .setType(Parameter.Type.OTHER)
                .build();
        Parameter freed = Weights.parameter(manager, 8, 6);
        freed.getArray().close();
        Parameter integers = Weights.parameter(manager, DataType.INT32, 8, 6);
        for (Parameter parameter : new Parameter[] {uninitialized, freed, integers}) {
            WeightLoader loader = gpt2().table("wpe.weight", parameter);
            String type = parameter == integers ? "int32" : "no array";
            assertRejected(loader::load, "parameter \"table\"", "tensor \"wpe.weight\"", "gpt2.npz", type);
        }
    }

    @EngineTest
    void theSameTensorOrParameterTwice(NDManager manager) throws Exception {
        Parameter parameter = Weights.parameter(manager, 8, 6);
        WeightLoader loader = gpt2().table("wpe.weight", parameter);
        assertRejected(
                () -> loader.table("wpe.weight", Weights.parameter(manager, 8, 6)), "\"wpe.weight\"", "gpt2.npz");
        assertRejected(() -> loader.encodings("wpe.weight", SinusoidalEncoding.vaswani(6)), "\"wpe.weight\"");
        assertRejected(() -> loader.table("wte.weight", parameter), "\"table\"", "\"wte.weight\"");
        // a rejected call has no effect
        loader.table("wte.weight", Weights.parameter(manager, 11, 6)).load();
        assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
    }

    @EngineTest
    void aFileThatHasChangedSinceItWasOpened(NDManager manager) throws Exception {
        Path path = Files.copy(Weights.path("gpt2.npz"), folder.resolve("weights.npz"));
        Parameter parameter = Weights.parameter(manager, 8, 6);
        WeightLoader loader = WeightLoader.of(WeightFile.open(path)).table("wpe.weight", parameter);
        byte[] bytes = Files.readAllBytes(path);
        Files.delete(path);
        Files.write(path, bytes);
        Files.setLastModifiedTime(path, FileTime.fromMillis(0));
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(loader::load)
                .withMessageContainingAll(path.toString(), "changed", "WeightFile.open");
        assertThat(parameter.getArray().toFloatArray()).containsOnly(7);
    }

    @Test
    void nothingToLoad() throws Exception {
        WeightLoader loader = gpt2();
        assertRejected(loader::load, "gpt2.npz");
        assertThatNullPointerException().isThrownBy(() -> WeightLoader.of(null));
        assertThatNullPointerException().isThrownBy(() -> loader.table("wpe.weight", null));
        assertThatNullPointerException().isThrownBy(() -> loader.encodings("wpe.weight", null));
    }

    /** The last of three tensors does not fit: the first two are not written. */
    @EngineTest
    void aRejectedLoadChangesNothing(NDManager manager) throws Exception {
        Parameter words = Weights.parameter(manager, 11, 6);
        Parameter positions = Weights.parameter(manager, 8, 6);
        Parameter types = Weights.parameter(manager, 3, 6);
        WeightLoader loader = Weights.loader("bert.safetensors")
                .table("bert.embeddings.word_embeddings.weight", words)
                .table("bert.embeddings.position_embeddings.weight", positions)
                .table("bert.embeddings.token_type_embeddings.weight", types);
        assertRejected(loader::load, "(3, 6)");
        for (Parameter parameter : new Parameter[] {words, positions, types}) {
            assertThat(parameter.getArray().toFloatArray()).containsOnly(7);
            assertThat(parameter.getArray().hasGradient()).isTrue();
        }
    }

    /** The second of two arrays is damaged, which its checksum tells after its last byte. */
    @EngineTest
    void aDamagedTensorChangesNothing(NDManager manager) throws Exception {
        byte[] bytes = Files.readAllBytes(Weights.path("roberta.npz"));
        // within the second array's data, in front of the directory's two entries
        bytes[Zip.record(1, bytes) - 150] ^= 1;
        Path file = Files.write(folder.resolve("model.npz"), bytes);
        Parameter words = Weights.parameter(manager, 11, 6);
        Parameter positions = Weights.parameter(manager, 10, 6);
        WeightLoader loader = WeightLoader.of(WeightFile.open(file))
                .table("roberta.embeddings.word_embeddings.weight", words)
                .table("roberta.embeddings.position_embeddings.weight", positions);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(loader::load)
                .withMessageContainingAll(
                        file.toString(), "\"roberta.embeddings.position_embeddings.weight\"", "checksum", "again");
        assertThat(words.getArray().toFloatArray()).containsOnly(7);
        assertThat(positions.getArray().toFloatArray()).containsOnly(7);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "pickle.pt | is a pickle | torch.load(",
                "pickle.bin | is a pickle | weights_only=True",
                "pickle.pkl | is a pickle | numpy.savez(",
                "single.npy | is a single array of NumPy | numpy.savez(",
                "model.safetensors.index.json | is JSON | weight_map",
                "other.zip | is a zip without .npy arrays | numpy.savez(",
                "expected.csv | is neither npz nor safetensors | numpy.savez(",
            })
    void filesOfOtherFormats(String name, String given, String remedy) throws Exception {
        Weights.assertRejected(folder.resolve(name), Files.readAllBytes(Weights.path(name)), given, remedy);
    }

    static Stream<Arguments> starts() {
        return Stream.of(
                arguments("", "is empty"),
                arguments("DJL@model", "holds the parameters of a DJL model"),
                arguments("\u0089HDF\r\n\u001a\n", "is HDF5"),
                arguments("{", "is JSON"),
                arguments("\u0080\u0002}", "is a pickle"),
                arguments("\u0080\u0006}", "is neither"),
                arguments("\u0080", "is neither"),
                arguments("PK", "is neither"),
                arguments("\b\u0007\u0012", "is neither"));
    }

    @ParameterizedTest
    @MethodSource("starts")
    void otherFormatsByTheirFirstBytes(String start, String given) {
        Weights.assertRejected(folder.resolve("model"), start.getBytes(StandardCharsets.ISO_8859_1), given);
    }

    @Test
    void pathsWithoutAFile() {
        assertRejected(() -> WeightFile.open(folder), folder.toString());
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> WeightFile.open(folder.resolve("absent.npz")))
                .withMessageContaining("absent.npz");
    }

    /** The format is detected from the content: another suffix does no harm. */
    @EngineTest
    void anyNameOfAFile(NDManager manager) throws Exception {
        Path path = Files.copy(Weights.path("bert.safetensors"), folder.resolve("pytorch_model.bin"));
        Parameter parameter = Weights.parameter(manager, 8, 6);
        WeightFile file = WeightFile.open(path);
        WeightLoader.of(file)
                .table("bert.embeddings.position_embeddings.weight", parameter)
                .load();
        assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
        assertThat(file.getPath()).isEqualTo(path);
        assertThat(file).hasToString("WeightFile(" + path + ", 5 tensors)");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> file.getTensors().clear());
    }
}
