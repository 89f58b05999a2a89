package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.assertRejected;
import static io.github.djlpositional.weights.Weights.assertUnchanged;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.io.TempDir;

/** Blocks with tables from other libraries' files have the outputs that torch computed, or the tables are rejected. */
class WeightLoaderTest {

    private static final int[][] IDS = {{3, 1, 4, 1, 5}, {9, 2, 6, 5, 0}};

    /** The error of one addition in float, of numbers below 4. */
    private static final double SUM = 0x1p-23;

    @TempDir
    private Path folder;

    private final LearnedPositionalEncodingBlock learned = learned();

    private static LearnedPositionalEncodingBlock learned() {
        return LearnedPositionalEncodingBlock.builder()
                .setEmbeddingSize(6)
                .optMaxSequenceLength(8)
                .build();
    }

    private static InputEmbeddingBlock.Builder builder(LearnedPositionalEncodingBlock positions) {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(11)
                .setEmbeddingSize(6)
                .optPositionalEncoding(positions);
    }

    private InputEmbeddingBlock initialized(NDManager manager) {
        InputEmbeddingBlock block = builder(learned).build();
        block.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        return block;
    }

    private void load(String file, InputEmbeddingBlock input, String tokens, String positions, int skippedRows)
            throws Exception {
        Weights.loader(file + ".safetensors")
                .table(tokens, input.getTokenTable())
                .rows(positions, skippedRows, skippedRows + 8, learned.getTable())
                .load();
    }

    private void loadBert(InputEmbeddingBlock input) throws Exception {
        String prefix = "bert.embeddings.";
        load("bert", input, prefix + "word_embeddings.weight", prefix + "position_embeddings.weight", 0);
    }

    private static void assertOutput(String name, double error, NDArray output) throws Exception {
        assertThat(output.toType(DataType.FLOAT64, false).toDoubleArray())
                .containsExactly(Weights.expected(name), within(error));
    }

    private static void assertOutput(String name, NDManager manager, Block input) throws Exception {
        // torch computed in float64
        assertOutput(name, SUM, Forward.infer(manager, input, manager.create(IDS)));
    }

    static List<String> names() {
        return List.of(
                "bert | bert.embeddings.word_embeddings.weight | bert.embeddings.position_embeddings.weight | 0",
                "gpt2 | wte.weight | wpe.weight | 0",
                // OPT has two rows before position 0
                "opt | model.decoder.embed_tokens.weight | model.decoder.embed_positions.weight | 2");
    }

    @EngineTest
    void tablesOfPublishedModels(NDManager manager, String row) throws Exception {
        String[] columns = row.split(" [|] ", -1);
        InputEmbeddingBlock input = initialized(manager);
        int before = manager.getManagedArrays().size();
        load(columns[0], input, columns[1], columns[2], Integer.parseInt(columns[3]));
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertOutput(columns[0], manager, input);
    }

    @EngineTest
    void robertaWithPositionsThatSkipPadding(NDManager manager) throws Exception {
        InputEmbeddingBlock input =
                builder(learned).optPaddingIndex(1).optPositionsFromPadding(0).build();
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        String prefix = "roberta.embeddings.";
        load("roberta", input, prefix + "word_embeddings.weight", prefix + "position_embeddings.weight", 2);
        NDArray ids = manager.create(IDS);
        assertOutput("roberta", SUM, Forward.infer(manager, input, ids).get(ids.neq(1)));
    }

    @EngineTest
    void t5BiasOfBucketsAndHeads(NDManager manager) throws Exception {
        RelativePositionBiasBlock bias =
                RelativePositionBiasBlock.builder().setHeadCount(4).build();
        bias.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 8));
        Parameter table = bias.getBiases();
        Weights.loader("t5.safetensors")
                .table("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", table)
                .load();
        assertOutput("t5", 0, table.getArray());
    }

    @EngineTest
    void aLoadedTableIsTheSameArrayAndStaysFrozenOrTrained(NDManager manager, boolean isFrozen) throws Exception {
        InputEmbeddingBlock input = initialized(manager);
        NDArray array = learned.getTable().getArray();
        input.freezeParameters(isFrozen);
        loadBert(input);
        assertThat(learned.getTable().getArray()).isSameAs(array);
        assertThat(array.hasGradient()).isEqualTo(!isFrozen);
        assertThat(learned.getTable().requiresGradient()).isEqualTo(!isFrozen);
    }

    /** PyTorch records gradients on a new thread from its start, and then rejects writing to a table in place. */
    @EngineTest
    void onAnyThreadAndWithinAScope(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager);
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            threads.submit(() -> {
                        try (NDScope scope = new NDScope()) {
                            scope.suppressNotUsedWarning();
                            loadBert(input);
                        }
                        return null;
                    })
                    .get();
        } finally {
            threads.shutdown();
        }
        assertOutput("bert", manager, input);
    }

    /** Reading stops as in Java's channels; no parameter has changed, and the same loader can be used again. */
    @EngineTest
    void interruptedThreads(NDManager manager) throws Exception {
        Parameter parameter = Weights.parameter(manager, 11, 6);
        WeightLoader loader = gpt2().table("wte.weight", parameter);
        int open = manager.getManagedArrays().size();
        Thread.currentThread().interrupt();
        try {
            assertThatExceptionOfType(ClosedByInterruptException.class).isThrownBy(loader::load);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertUnchanged(parameter);
        assertThat(manager.getManagedArrays()).hasSize(open);
        loader.load();
        assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
    }

    private static WeightLoader gpt2() throws Exception {
        return Weights.loader("gpt2.safetensors");
    }

    /** The model names the block of a parameter. */
    @EngineTest
    void messagesNameTensorParameterAndBlock(NDManager manager) throws Exception {
        InputEmbeddingBlock input = initialized(manager);
        WeightLoader table = gpt2().table("wte.weight", learned.getTable());
        String path = input.getChildren().keys().stream()
                .filter(name -> name.contains("positional"))
                .findFirst()
                .orElseThrow();
        assertRejected(
                () -> table.load(input),
                "parameter \"" + learned.getTable().getName() + "\" of LearnedPositionalEncodingBlock \"" + path + "\"",
                "tensor \"wte.weight\"",
                "gpt2.safetensors");
    }

    @EngineTest
    void rowsThatAreLargerThanABuffer(NDManager manager) {
        StoredTensor tensor = new StoredTensor(
                Path.of("large.safetensors"), "t", "F32", StoredType.F32, new Shape(1, (1 << 28) + 1), 0);
        TensorPart part = TensorPart.whole(tensor);
        assertRejected(
                () -> part.read(manager, DataType.FLOAT32),
                "tensor \"t\" of large.safetensors",
                "1073741828 bytes",
                "1073741824");
    }

    @EngineTest
    void theSameTensorOrParameterTwice(NDManager manager) throws Exception {
        Parameter parameter = Weights.parameter(manager, 8, 6);
        WeightLoader loader = gpt2().table("wpe.weight", parameter);
        assertRejected(
                () -> loader.table("wpe.weight", Weights.parameter(manager, 8, 6)),
                "\"wpe.weight\"",
                "gpt2.safetensors");
        assertRejected(() -> loader.table("wte.weight", parameter), "\"table\"", "\"wte.weight\"");
        // a rejected call has no effect
        loader.table("wte.weight", Weights.parameter(manager, 11, 6)).load();
        assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
    }

    @EngineTest
    void aFileThatHasChangedSinceItWasOpened(NDManager manager) throws Exception {
        Path path = Files.copy(Weights.path("gpt2.safetensors"), folder.resolve("weights.safetensors"));
        Parameter parameter = Weights.parameter(manager, 8, 6);
        WeightFile file = WeightFile.open(path);
        WeightLoader loader =
                WeightLoader.of(file).table("wpe.weight", parameter).allowUnused("wte.weight");
        byte[] bytes = Files.readAllBytes(path);
        Files.delete(path);
        Files.write(path, bytes);
        Files.setLastModifiedTime(path, FileTime.fromMillis(0));
        int open = manager.getManagedArrays().size();
        for (ThrowingCallable read : List.<ThrowingCallable>of(loader::load, () -> file.read(manager, "wpe.weight"))) {
            assertThatExceptionOfType(MalformedModelException.class)
                    .isThrownBy(read)
                    .withMessageContainingAll(path.toString(), "changed", "WeightFile.open");
        }
        assertThat(manager.getManagedArrays()).hasSize(open);
        assertUnchanged(parameter);
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
        assertUnchanged(words, positions, types);
        assertThat(words.getArray().hasGradient()).isTrue();
    }

    /** The format is detected from the content: another suffix does no harm. */
    @EngineTest
    void anyNameOfAFile(NDManager manager) throws Exception {
        Path path = Files.copy(Weights.path("bert.safetensors"), folder.resolve("pytorch_model.bin"));
        Parameter parameter = Weights.parameter(manager, 8, 6);
        WeightFile file = WeightFile.open(path);
        WeightLoader.of(file)
                .table("bert.embeddings.position_embeddings.weight", parameter)
                .allowUnused("*")
                .load();
        assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
        assertThat(file.getPath()).isEqualTo(path);
        assertThat(file).hasToString("WeightFile(" + path + ", 5 tensors)");
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> file.getTensors().clear());
    }
}
