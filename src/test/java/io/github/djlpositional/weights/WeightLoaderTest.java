package io.github.djlpositional.weights;

import static io.github.djlpositional.weights.Weights.assertRejected;
import static io.github.djlpositional.weights.Weights.assertUnchanged;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
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

/**
 * Blocks with tables from other libraries' files have the outputs that torch computed, or the tables are rejected; and
 * what a loader says about tensors that nothing uses and parameters that get none.
 */
class WeightLoaderTest {

    private static final int[][] IDS = {{3, 1, 4, 1, 5}, {9, 2, 6, 5, 0}};

    /** The error of one addition in float, of numbers below 4. */
    private static final double SUM = 0x1p-23;

    private static final String BERT = "bert.embeddings.";

    @TempDir
    private Path folder;

    private final LearnedPositionalEncodingBlock positions = LearnedPositionalEncodingBlock.builder()
            .setEmbeddingSize(6)
            .optMaxSequenceLength(8)
            .build();
    private final InputEmbeddingBlock input = builder().build();

    private InputEmbeddingBlock.Builder builder() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(11)
                .setEmbeddingSize(6)
                .optPositionalEncoding(positions);
    }

    /** Both tables are of sevens. */
    private void initialize(NDManager manager) {
        input.setInitializer((owner, shape, type) -> owner.full(shape, 7, type), parameter -> true);
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
    }

    private WeightLoader tokens() throws Exception {
        return WeightLoader.of(Weights.open("bert.safetensors"))
                .table(BERT + "word_embeddings.weight", input.getTokenTable());
    }

    private WeightLoader tables() throws Exception {
        return tokens().table(BERT + "position_embeddings.weight", positions.getTable());
    }

    private void load(String file, InputEmbeddingBlock block, String tokenTable, String positionTable, int skippedRows)
            throws Exception {
        Weights.loader(file + ".safetensors")
                .table(tokenTable, block.getTokenTable())
                .rows(positionTable, skippedRows, skippedRows + 8, positions.getTable())
                .load();
    }

    private static void assertOutput(String name, double error, NDArray output) throws Exception {
        assertThat(output.toType(DataType.FLOAT64, false).toDoubleArray())
                .containsExactly(Weights.expected(name), within(error));
    }

    private void assertOutput(String name, NDManager manager) throws Exception {
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
        initialize(manager);
        int before = manager.getManagedArrays().size();
        load(columns[0], input, columns[1], columns[2], Integer.parseInt(columns[3]));
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertOutput(columns[0], manager);
    }

    @EngineTest
    void robertaWithPositionsThatSkipPadding(NDManager manager) throws Exception {
        InputEmbeddingBlock skipping =
                builder().optPaddingIndex(1).optPositionsFromPadding(0).build();
        skipping.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        String prefix = "roberta.embeddings.";
        load("roberta", skipping, prefix + "word_embeddings.weight", prefix + "position_embeddings.weight", 2);
        NDArray ids = manager.create(IDS);
        assertOutput("roberta", SUM, Forward.infer(manager, skipping, ids).get(ids.neq(1)));
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
        initialize(manager);
        NDArray array = positions.getTable().getArray();
        input.freezeParameters(isFrozen);
        tables().allowUnused("*").load();
        assertThat(positions.getTable().getArray()).isSameAs(array);
        assertThat(array.hasGradient()).isEqualTo(!isFrozen);
        assertThat(positions.getTable().requiresGradient()).isEqualTo(!isFrozen);
    }

    /** PyTorch records gradients on a new thread from its start, and then rejects writing to a table in place. */
    @EngineTest
    void onAnyThreadAndWithinAScope(NDManager manager) throws Exception {
        initialize(manager);
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            threads.submit(() -> {
                        try (NDScope scope = new NDScope()) {
                            scope.suppressNotUsedWarning();
                            tables().allowUnused("*").load();
                        }
                        return null;
                    })
                    .get();
        } finally {
            threads.shutdown();
        }
        assertOutput("bert", manager);
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
        initialize(manager);
        WeightLoader table = gpt2().table("wte.weight", positions.getTable());
        String path = input.getChildren().keys().stream()
                .filter(name -> name.contains("positional"))
                .findFirst()
                .orElseThrow();
        assertRejected(
                () -> table.load(input),
                "parameter \"" + positions.getTable().getName() + "\" of LearnedPositionalEncodingBlock \"" + path
                        + "\"",
                "tensor \"wte.weight\"",
                "gpt2.safetensors");
    }

    @EngineTest
    void rowsThatAreLargerThanABuffer(NDManager manager) {
        StoredTensor tensor = StoredTensor.inFile(
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
    void rowsMayOverlapButNotRepeat(NDManager manager) throws Exception {
        Parameter first = Weights.parameter(manager, 3, 6);
        Parameter second = Weights.parameter(manager, 4, 6);
        WeightLoader loader = Weights.loader("gpt2.safetensors").rows("wpe.weight", 0, 3, first);
        Parameter other = Weights.parameter(manager, 3, 6);
        assertRejected(() -> loader.rows("wpe.weight", 0, 3, other), "rows [0, 3)", "\"wpe.weight\"");
        loader.rows("wpe.weight", 2, 6, second).load();
        assertThat(second.getArray().get(0).toFloatArray())
                .isEqualTo(first.getArray().get(2).toFloatArray());
        assertUnchanged(other);
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
        Parameter rows = Weights.parameter(manager, 8, 6);
        Parameter types = Weights.parameter(manager, 3, 6);
        WeightLoader loader = Weights.loader("bert.safetensors")
                .table("bert.embeddings.word_embeddings.weight", words)
                .table("bert.embeddings.position_embeddings.weight", rows)
                .table("bert.embeddings.token_type_embeddings.weight", types);
        assertRejected(loader::load, "(3, 6)");
        assertUnchanged(words, rows, types);
        assertThat(words.getArray().hasGradient()).isTrue();
    }

    @EngineTest
    void tensorsThatNothingUsesAreNamed(NDManager manager) throws Exception {
        initialize(manager);
        String[] left = {BERT + "position_ids", BERT + "LayerNorm.weight", BERT + "token_type_embeddings.weight"};
        assertRejected(() -> tables().load(input), left);
        assertRejected(() -> tables().load(), "bert.safetensors", "tensors unused (3: [\"", "allowUnused");
        assertRejected(() -> tables().allowUnused("position_ids").load(), left);
        assertUnchanged(input.getTokenTable(), positions.getTable());
        tables().allowUnused(left).load(input);
        assertThat(input.getTokenTable().getArray().toFloatArray()).doesNotContain(7);
    }

    @EngineTest
    void aStarStandsForAnyText(NDManager manager) throws Exception {
        initialize(manager);
        tables().allowUnused("*.position_ids", "*.LayerNorm.*")
                .allowUnused(BERT + "token_*")
                .load(input);
        tables().allowUnused("*").load(input);
        assertRejected(() -> tables().allowUnused("*position_ids", "bert?.*").load(input), "LayerNorm.weight");
    }

    @EngineTest
    void aPatternThatMatchesNothingIsNamedIfLoadingIsRejected(NDManager manager) throws Exception {
        initialize(manager);
        assertRejected(
                () -> tables().allowUnused("*.LayerNorm.*", "*.positionIds", "bert.poler.*")
                        .allowMissing("*bta")
                        .load(input),
                "\"" + BERT + "position_ids\"",
                "allowUnused has [\"*.positionIds\", \"bert.poler.*\"]",
                "allowMissing has [\"*bta\"]");
        assertUnchanged(input.getTokenTable(), positions.getTable());
        // where all is loaded, a pattern may be for other files
        tables().allowUnused("*", "bert.pooler.*").allowMissing("*beta").load(input);
    }

    @EngineTest
    void patternsThatMatchAreNotReported(NDManager manager) throws Exception {
        initialize(manager);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> tokens().allowUnused("*position_ids", "*word_*")
                        .allowMissing("*embedding", "*encodings")
                        .load(input))
                .withMessageNotContainingAny("allowUnused has", "allowMissing has");
        // without a model, there are no parameters that a pattern could match
        assertThatIllegalArgumentException()
                .isThrownBy(() -> tables().allowMissing("*bta").load())
                .withMessageNotContaining("allowMissing has");
    }

    @EngineTest
    void parametersThatGetNoTensorAreNamed(NDManager manager) throws Exception {
        initialize(manager);
        String missing = input.getParameters().keys().stream()
                .filter(name -> name.endsWith("encodings"))
                .findFirst()
                .orElseThrow();
        assertRejected(() -> tokens().allowUnused("*").load(input), "(1: [\"" + missing + "\"])", "allowMissing");
        assertUnchanged(input.getTokenTable());
        tokens().allowUnused("*").allowMissing(missing).load(input);
        tokens().allowUnused("*").allowMissing("*encodings").load(input);
        assertUnchanged(positions.getTable());
        // both directions in one message
        assertRejected(
                () -> tokens().load(input), missing, "tensors unused (4: [\"", BERT + "position_embeddings.weight");
    }

    @EngineTest
    void aParameterOfAnotherModelIsRejected(NDManager manager) throws Exception {
        initialize(manager);
        assertRejected(
                () -> tables().allowUnused("*").load(positions),
                "\"" + BERT + "word_embeddings.weight\"",
                "parameter \"embedding\"",
                "parts");
        assertUnchanged(input.getTokenTable(), positions.getTable());
    }

    /** As of a checkpoint in several files: a loader of all of them is strict about all of them. */
    @EngineTest
    void severalFilesOfOneModel(NDManager manager) throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        WeightFile first = Weights.open("gpt2.safetensors");
        WeightFile second = Weights.open("linear.safetensors");
        List<WeightFile> both = List.of(first, second);
        assertRejected(
                () -> WeightLoader.ofAll(both).module("", linear).load(linear),
                "gpt2.safetensors, ",
                "linear.safetensors",
                "\"wpe.weight\", \"wte.weight\"");
        assertRejected(() -> WeightLoader.ofAll(both).module("x.", linear), "4 tensors", "gpt2.safetensors, ");
        assertRejected(() -> WeightLoader.ofAll(List.of(first, second, first)), "\"wpe.weight\", \"wte.weight\"");
        assertRejected(() -> WeightLoader.ofAll(List.of()), "[]");
        initialize(manager);
        WeightLoader.ofAll(both)
                .table("wte.weight", input.getTokenTable())
                .table("wpe.weight", positions.getTable())
                .module("", linear)
                .load(input, linear);
        NDArray weight = second.read(manager, "weight");
        assertThat(linear.getParameters().get("weight").getArray().toFloatArray())
                .isEqualTo(weight.toFloatArray());
    }

    @EngineTest
    void oneByOneLoadsAllAndKeepsNothing(NDManager manager) throws Exception {
        Parameter words = Weights.parameter(manager, 11, 6);
        Parameter rows = Weights.parameter(manager, 10, 6);
        WeightLoader loader = WeightLoader.of(Weights.open("roberta.safetensors"))
                .table("roberta.embeddings.word_embeddings.weight", words)
                .oneByOne();
        assertRejected(loader::load, "position_embeddings");
        assertUnchanged(words);
        loader.table("roberta.embeddings.position_embeddings.weight", rows);
        int open = manager.getManagedArrays().size();
        loader.load();
        for (Parameter parameter : new Parameter[] {words, rows}) {
            assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
        }
        assertThat(manager.getManagedArrays()).hasSize(open);
    }
}
