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
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.CaseFile;
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
import java.util.Map;
import java.util.concurrent.FutureTask;
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
        return CaseFile.read("cases/loading.txt").rows();
    }

    @EngineTest
    void tablesOfPublishedModels(NDManager manager) throws Exception {
        initialize(manager);
        int before = manager.getManagedArrays().size();
        load("bert", input, BERT + "word_embeddings.weight", BERT + "position_embeddings.weight", 0);
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertOutput("bert", manager);
        load("gpt2", input, "wte.weight", "wpe.weight", 0);
        assertOutput("gpt2", manager);
        String opt = "model.decoder.embed_"; // has two rows before position 0
        load("opt", input, opt + "tokens.weight", opt + "positions.weight", 2);
        assertOutput("opt", manager);
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
        FutureTask<Object> load = new FutureTask<>(() -> {
            try (NDScope scope = new NDScope()) {
                scope.suppressNotUsedWarning();
                tables().allowUnused("*").load();
            }
            return null;
        });
        new Thread(load).start();
        load.get();
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

    /** Rows may overlap, but a tensor, its rows and a parameter are added once. */
    @EngineTest
    void aRejectedCallHasNoEffect(NDManager manager) throws Exception {
        Parameter first = Weights.parameter(manager, 3, 6);
        Parameter second = Weights.parameter(manager, 4, 6);
        Parameter other = Weights.parameter(manager, 3, 6);
        WeightLoader loader = gpt2().rows("wpe.weight", 0, 3, first);
        assertRejected(() -> loader.rows("wpe.weight", 0, 3, other), "rows [0, 3)", "\"wpe.weight\"");
        loader.rows("wpe.weight", 2, 6, second);
        assertRejected(() -> loader.table("wte.weight", first), "\"table\"", "\"wte.weight\"");
        loader.table("wte.weight", Weights.parameter(manager, 11, 6)).load();
        assertThat(first.getArray().toFloatArray()).doesNotContain(7);
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

    private static String[] patterns(String text) {
        return text.isEmpty() ? new String[0] : text.split(", ", -1);
    }

    @EngineTest
    void whatNothingUsesOrGetsNoTensorIsNamedUnlessAllowed(NDManager manager, String row) throws Exception {
        initialize(manager);
        String[] columns = row.split(" *[|] *", -1);
        Map<String, Block[]> models =
                Map.of("input", new Block[] {input}, "positions", new Block[] {positions}, "none", new Block[0]);
        Map<String, WeightLoader> loaders = Map.of(
                "both",
                tables(),
                "tokens",
                tokens(),
                "types",
                tokens().table(BERT + "token_type_embeddings.weight", positions.getTable()));
        WeightLoader loader =
                loaders.get(columns[0]).allowUnused(patterns(columns[2])).allowMissing(patterns(columns[3]));
        Block[] loaded = models.get(columns[1]);
        if (columns[4].isEmpty()) {
            loader.load(loaded);
            assertThat(input.getTokenTable().getArray().toFloatArray()).doesNotContain(7);
            if (columns[0].equals("tokens")) {
                assertUnchanged(positions.getTable());
            }
            return;
        }
        for (String part : columns[4].split("; ", -1)) {
            if (part.startsWith("not ")) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> loader.load(loaded))
                        .withMessageNotContaining(part.substring(4));
            } else {
                assertRejected(() -> loader.load(loaded), part);
            }
        }
        assertUnchanged(input.getTokenTable(), positions.getTable());
        assertThat(input.getTokenTable().getArray().hasGradient()).isTrue();
    }

    /** As of a checkpoint in several files: a loader of all of them is strict about all of them. */
    @EngineTest
    void severalFilesOfOneModel(NDManager manager) throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        WeightFile first = Weights.open("gpt2.safetensors");
        WeightFile second = Weights.open("linear.safetensors");
        initialize(manager);
        WeightLoader.ofAll(List.of(first, second))
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
