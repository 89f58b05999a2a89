package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What is refused of a whole file, each time with what was given, what is allowed, and what to do. */
class WeightRefusalsTest {

    @TempDir
    private Path folder;

    private static Parameter sevens(NDManager manager, long... shape) {
        return Weights.parameter(manager, DataType.FLOAT32, shape);
    }

    @EngineTest
    void anUnknownNameMeetsThoseThatAreLikeIt(NDManager manager) throws Exception {
        WeightLoader loader = WeightLoader.of(Weights.open("bert.safetensors"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> loader.table("embeddings.position_embeddings.weight", sevens(manager, 8, 6)))
                .withMessageContaining("no tensor \"embeddings.position_embeddings.weight\" is in ")
                .withMessageContaining("bert.safetensors: allowed are \"bert.embeddings.position_embeddings.weight\", ")
                .withMessageContaining("give one of the names");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> WeightLoader.of(Weights.open("types.npz")).encodings("x", SinusoidalEncoding.vaswani(4)))
                .withMessageContaining(" and 13 others; give");
    }

    @EngineTest
    void anotherShape(NDManager manager) throws Exception {
        for (long[] shape : new long[][] {{8, 7}, {7, 6}, {6, 8}, {48}, {1, 8, 6}}) {
            Parameter parameter = sevens(manager, shape);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> WeightLoader.of(Weights.open("gpt2.npz"))
                            .table("wpe.weight", parameter)
                            .load())
                    .withMessageContaining("tensor \"wpe.weight\" of ")
                    .withMessageContaining("gpt2.npz has shape (8, 6): allowed for parameter \"table\" of "
                            + parameter.getShape() + " with 0 rows skipped is " + parameter.getShape())
                    .withMessageContaining("build the block with the tensor's sizes");
        }
    }

    @EngineTest
    void anotherNumberOfSkippedRows(NDManager manager) throws Exception {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightLoader.of(Weights.open("gpt2.npz"))
                        .table("wpe.weight", sevens(manager, 8, 6), 2)
                        .load())
                .withMessageContaining("of (8, 6) with 2 rows skipped is (10, 6)");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> WeightLoader.of(Weights.open("gpt2.npz")).table("wpe.weight", sevens(manager, 8, 6), -1))
                .withMessageContaining("are -1: allowed is 0 or more");
    }

    @EngineTest
    void scalars(NDManager manager) throws Exception {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightLoader.of(Weights.open("types.npz"))
                        .table("scalar", sevens(manager))
                        .load())
                .withMessageContaining("of one axis or more");
    }

    @EngineTest
    void rowsThatAreLongerThanABuffer(NDManager manager) throws Exception {
        StoredTensor tensor = new StoredTensor(
                Path.of("long.npz"),
                "t",
                "<f4",
                StoredType.F32,
                ByteOrder.LITTLE_ENDIAN,
                new Shape(1, (1 << 28) + 1),
                false,
                () -> {
                    throw new AssertionError("nothing is to be read");
                });
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> new StagedTable(tensor, 0, sevens(manager, 1, 1).getArray()).read(manager))
                .withMessage(
                        "tensor \"t\" of long.npz has 1073741828 bytes in one row: allowed are 1073741824; split it into"
                                + " tensors of more and shorter rows");
    }

    @EngineTest
    void parametersWithoutAnArray(NDManager manager) throws Exception {
        WeightLoader loader = WeightLoader.of(Weights.open("gpt2.npz")).table("wpe.weight", Weights.uninitialized());
        assertThatIllegalArgumentException()
                .isThrownBy(loader::load)
                .withMessageContaining("parameter \"table\" for tensor \"wpe.weight\" of ")
                .withMessageContaining("has no array")
                .withMessageContaining("initialize its block first");
        Parameter freed = sevens(manager, 8, 6);
        freed.getArray().close();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightLoader.of(Weights.open("gpt2.npz"))
                        .table("wpe.weight", freed)
                        .load())
                .withMessageContaining("has no array");
    }

    @EngineTest
    void parametersOfIntegers(NDManager manager) throws Exception {
        Parameter integers = Parameter.builder()
                .setName("count")
                .setType(Parameter.Type.OTHER)
                .optRequiresGrad(false)
                .optInitializer((factory, shape, type) -> factory.zeros(shape, type))
                .optShape(new Shape(8, 6))
                .build();
        integers.initialize(manager, DataType.INT32);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightLoader.of(Weights.open("gpt2.npz"))
                        .table("wpe.weight", integers)
                        .load())
                .withMessageContaining("parameter \"count\"")
                .withMessageContaining("is of type int32: allowed are float16, float32 and float64");
    }

    @EngineTest
    void theSameTwice(NDManager manager) throws Exception {
        Parameter parameter = sevens(manager, 8, 6);
        WeightLoader loader = WeightLoader.of(Weights.open("gpt2.npz")).table("wpe.weight", parameter);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> loader.table("wpe.weight", sevens(manager, 8, 6)))
                .withMessageContaining("tensor \"wpe.weight\" of ")
                .withMessageContaining("was given twice: allowed is one use of each tensor");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> loader.encodings("wpe.weight", SinusoidalEncoding.vaswani(6)))
                .withMessageContaining("was given twice");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> loader.table("wte.weight", parameter))
                .withMessageContaining("parameter \"table\" was given twice, now for tensor \"wte.weight\"");
        // what was refused may be given rightly
        loader.table("wte.weight", sevens(manager, 11, 6));
    }

    @EngineTest
    void aFileThatHasChangedSinceItWasOpened(NDManager manager) throws Exception {
        Path path = Files.copy(Weights.path("gpt2.npz"), folder.resolve("weights.npz"));
        Parameter parameter = sevens(manager, 8, 6);
        WeightLoader loader = WeightLoader.of(WeightFile.open(path)).table("wpe.weight", parameter);
        byte[] bytes = Files.readAllBytes(path);
        Files.delete(path);
        Files.write(path, bytes);
        Files.setLastModifiedTime(path, FileTime.fromMillis(0));
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(loader::load)
                .withMessage(
                        "the weight file " + path + " has changed since it was opened: allowed is the file as it was;"
                                + " open it again with WeightFile.open");
        assertThat(parameter.getArray().toFloatArray()).containsOnly(7);
    }

    @Test
    void nothingToLoad() throws Exception {
        WeightLoader loader = WeightLoader.of(Weights.open("gpt2.npz"));
        assertThatIllegalArgumentException()
                .isThrownBy(loader::load)
                .withMessageContaining("nothing was named to load from ")
                .withMessageContaining("gpt2.npz");
        assertThatNullPointerException().isThrownBy(() -> WeightLoader.of(null));
        assertThatNullPointerException().isThrownBy(() -> loader.table("wpe.weight", null));
        assertThatNullPointerException().isThrownBy(() -> loader.encodings("wpe.weight", null));
    }

    /** The last of three tensors does not fit: the first two are not written. */
    @EngineTest
    void aRefusedLoadChangesNothing(NDManager manager) throws Exception {
        Parameter words = sevens(manager, 11, 6);
        Parameter positions = sevens(manager, 8, 6);
        Parameter types = sevens(manager, 3, 6);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightLoader.of(Weights.open("bert.safetensors"))
                        .table("bert.embeddings.word_embeddings.weight", words)
                        .table("bert.embeddings.position_embeddings.weight", positions)
                        .table("bert.embeddings.token_type_embeddings.weight", types)
                        .load());
        for (Parameter parameter : new Parameter[] {words, positions, types}) {
            assertThat(parameter.getArray().toFloatArray()).containsOnly(7);
            assertThat(parameter.getArray().hasGradient()).isTrue();
        }
    }

    /** Of two arrays the second is damaged, which is found when its last byte is read. */
    @EngineTest
    void aDamagedTensorChangesNothing(NDManager manager) throws Exception {
        byte[] bytes = Files.readAllBytes(Weights.path("roberta.npz"));
        int places = new String(bytes, StandardCharsets.ISO_8859_1).lastIndexOf("PK\u0001\u0002");
        // within the second array's data, in front of the directory's two entries
        bytes[places - 150] ^= 1;
        Path file = Files.write(folder.resolve("model.npz"), bytes);
        Parameter words = sevens(manager, 11, 6);
        Parameter positions = sevens(manager, 10, 6);
        WeightLoader loader = WeightLoader.of(WeightFile.open(file))
                .table("roberta.embeddings.word_embeddings.weight", words)
                .table("roberta.embeddings.position_embeddings.weight", positions);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(loader::load)
                .withMessageContaining(
                        "the weight file " + file + " is damaged or cut off, the data of tensor"
                                + " \"roberta.embeddings.position_embeddings.weight\": its checksum is not that of the zip directory")
                .withMessageContaining("copy, download or save it again");
        assertThat(words.getArray().toFloatArray()).containsOnly(7);
        assertThat(positions.getArray().toFloatArray()).containsOnly(7);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "pickle.pt | is a pickle, as torch.save writes it, which can run code | torch.load(",
                "pickle.bin | is a pickle | weights_only=True",
                "pickle.pkl | is a pickle | numpy.savez(",
                "single.npy | is a single array of NumPy, which has no name | numpy.savez(",
                "model.safetensors.index.json | is JSON, as the index of a checkpoint in several files | weight_map",
                "other.zip | is a zip without .npy arrays in it | numpy.savez(",
                "expected.csv | is neither npz nor safetensors | numpy.savez(",
            })
    void otherKindsOfFiles(String name, String given, String remedy) {
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> Weights.open(name))
                .withMessageContaining("the weight file " + Weights.path(name) + " " + given)
                .withMessageContaining(": allowed are safetensors and npz; ")
                .withMessageContaining(remedy);
    }

    static Stream<Arguments> starts() {
        return Stream.of(
                Arguments.of("", "is empty"),
                Arguments.of("DJL@model", "holds the parameters of a DJL model"),
                Arguments.of("\u0089HDF\r\n\u001a\n", "is HDF5"),
                Arguments.of("{", "is JSON"),
                Arguments.of("\u0080\u0002}", "is a pickle"),
                Arguments.of("\u0080\u0006}", "is neither"),
                Arguments.of("\u0080", "is neither"),
                Arguments.of("PK", "is neither"),
                Arguments.of("\b\u0007\u0012", "is neither"));
    }

    @ParameterizedTest
    @MethodSource("starts")
    void otherKindsByTheirFirstBytes(String start, String given) throws Exception {
        Path file = Files.writeString(folder.resolve("model"), start, StandardCharsets.ISO_8859_1);
        assertThatExceptionOfType(MalformedModelException.class)
                .isThrownBy(() -> WeightFile.open(file))
                .withMessageContaining("the weight file " + file + " " + given);
    }

    @Test
    void pathsOfNoFile() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WeightFile.open(folder))
                .withMessage(
                        "the path %s is that of a folder or device: allowed is a safetensors or npz file; give the"
                                + " path of a file",
                        folder);
        assertThatExceptionOfType(NoSuchFileException.class)
                .isThrownBy(() -> WeightFile.open(folder.resolve("absent.npz")))
                .withMessageContaining("absent.npz");
    }

    @Test
    void whatAFileSaysOfItself() throws Exception {
        WeightFile file = Weights.open("gpt2.npz");
        assertThat(file.getPath()).isEqualTo(Weights.path("gpt2.npz"));
        assertThat(file).hasToString("WeightFile(" + file.getPath() + ", 2 tensors)");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> file.getTensors().clear());
    }

    /** Told by content: a wrong suffix does no harm. */
    @EngineTest
    void anyNameOfFile(NDManager manager) throws Exception {
        Path file = Files.copy(Weights.path("bert.safetensors"), folder.resolve("pytorch_model.bin"));
        Parameter parameter = sevens(manager, 8, 6);
        WeightLoader.of(WeightFile.open(file))
                .table("bert.embeddings.position_embeddings.weight", parameter)
                .load();
        assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
    }
}
