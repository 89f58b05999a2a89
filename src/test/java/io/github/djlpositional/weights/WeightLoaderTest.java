package io.github.djlpositional.weights;

import static io.github.djlpositional.attention.TestNumbers.doubles;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.weights.Weights.assertUnchanged;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.NDScope;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.LearnedPositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.HostData;
import io.github.djlpositional.relative.RelativePositionBiasBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Parameters get the numbers that torch stored, or nothing changes; and what a loader says about tensors that nothing
 * uses and parameters that get none. WeightLoaderModulesTest has whole modules.
 */
class WeightLoaderTest extends OnEachEngine {

    private static final int[][] IDS = {{3, 1, 4, 1, 5}, {9, 2, 6, 5, 0}};

    /** The error of one addition in float, of numbers below 4. */
    private static final double SUM = 0x1p-23;

    private static final String BERT = "bert.embeddings.";

    @TempDir
    private Path folder;

    /** A model of tokens and positions, whose tables are of sevens. */
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

    private void initialize() {
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

    /** A parameter of sevens with the name "table". */
    private Parameter parameter(long... shape) {
        return Weights.parameter(manager, shape);
    }

    private static WeightLoader gpt2() throws Exception {
        return Weights.loader("gpt2.safetensors");
    }

    /** With the numbers of one parameter in all types. */
    private static WeightLoader types() throws Exception {
        return Weights.loader("types.safetensors");
    }

    private static WeightLoader attentions() throws Exception {
        return Weights.loader("attention.safetensors");
    }

    private void load(String file, InputEmbeddingBlock block, String tokenTable, String positionTable, int skippedRows)
            throws Exception {
        Weights.loader(file + ".safetensors")
                .table(tokenTable, block.getTokenTable())
                .rows(positionTable, skippedRows, skippedRows + 8, positions.getTable())
                .load();
    }

    private static void assertOutput(String name, double error, NDArray output) throws Exception {
        requireClose(output, Weights.expected(name), error);
    }

    private void assertOutput(String name) throws Exception {
        assertOutput(name, SUM, Forward.infer(manager, input, manager.create(IDS)));
    }

    @Test
    void loadsTablesOfPublishedModels() throws Exception {
        initialize();
        int before = manager.getManagedArrays().size();
        load("bert", input, BERT + "word_embeddings.weight", BERT + "position_embeddings.weight", 0);
        assertThat(manager.getManagedArrays()).hasSize(before);
        assertOutput("bert");
        load("gpt2", input, "wte.weight", "wpe.weight", 0);
        assertOutput("gpt2");
        String opt = "model.decoder.embed_"; // has two rows before position 0
        load("opt", input, opt + "tokens.weight", opt + "positions.weight", 2);
        assertOutput("opt");
    }

    @Test
    void loadsRobertaWithPositionsThatSkipPadding() throws Exception {
        InputEmbeddingBlock skipping =
                builder().optPaddingIndex(1).optPositionsFromPadding(0).build();
        skipping.initialize(manager, DataType.FLOAT32, new Shape(2, 5));
        String prefix = "roberta.embeddings.";
        load("roberta", skipping, prefix + "word_embeddings.weight", prefix + "position_embeddings.weight", 2);
        NDArray ids = manager.create(IDS);
        assertOutput("roberta", SUM, Forward.infer(manager, skipping, ids).get(ids.neq(1)));
    }

    @Test
    void loadsBiasesOfT5() throws Exception {
        RelativePositionBiasBlock bias =
                RelativePositionBiasBlock.builder().setHeadCount(4).build();
        bias.initialize(manager, DataType.FLOAT32, new Shape(1, 3, 8));
        Parameter table = bias.getBiases();
        Weights.loader("t5.safetensors")
                .table("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", table)
                .load();
        assertOutput("t5", 0, table.getArray());
    }

    /** The numbers of torch, as it stores and rounds them. */
    @ParameterizedTest
    @CsvSource({
        "f16, FLOAT16",
        "f16, FLOAT32",
        "f16, FLOAT64",
        "bf16, FLOAT32",
        "bf16, FLOAT64",
        "f32, FLOAT32",
        "f32, FLOAT64",
        "f64, FLOAT64"
    })
    void loadsNumbersOfNarrowerTypesExactly(String tensor, DataType type) throws Exception {
        Parameter parameter = Weights.parameter(manager, type, 4, 3);
        types().table(tensor, parameter).load();
        assertThat(parameter.getArray().getDataType()).isEqualTo(type);
        assertThat(doubles(parameter.getArray())).isEqualTo(Weights.expected(tensor));
    }

    /** The table of ViT has an axis of 1 in front, Swin's temperatures have two behind. */
    @Test
    void axesOfOneDoNotCount() throws Exception {
        Parameter longer = Weights.parameter(manager, DataType.FLOAT32, 1, 4, 1, 3);
        types().table("f32", longer).load();
        assertThat(longer.getArray().getShape()).isEqualTo(new Shape(1, 4, 1, 3));
        assertThat(doubles(longer.getArray())).isEqualTo(Weights.expected("f32"));
    }

    @Test
    void addsOneWhereNamesMatch() throws Exception {
        Parameter parameter = Weights.parameter(manager, DataType.FLOAT64, 4, 3);
        types().addOne("f3*").table("f32", parameter).load();
        double[] expected = Weights.expected("f32");
        Arrays.setAll(expected, i -> expected[i] + 1);
        assertThat(doubles(parameter.getArray())).isEqualTo(expected);
        types().addOne("other").table("f32", parameter).load();
        assertThat(doubles(parameter.getArray())).isEqualTo(Weights.expected("f32"));
    }

    @Test
    void reversesRowsWhereNamesMatch() throws Exception {
        Parameter parameter = Weights.parameter(manager, DataType.FLOAT64, 4, 3);
        types().reverseRows("f3*").table("f32", parameter).load();
        double[] all = Weights.expected("f32");
        double[] reversed = IntStream.of(3, 2, 1, 0)
                .flatMap(row -> IntStream.range(3 * row, 3 * row + 3))
                .mapToDouble(i -> all[i])
                .toArray();
        assertThat(doubles(parameter.getArray())).isEqualTo(reversed);
        Parameter two = Weights.parameter(manager, DataType.FLOAT64, 2, 3);
        types().reverseRows("*").rows("f32", 1, 3, two).load();
        assertThat(doubles(two.getArray())).isEqualTo(new double[] {all[6], all[7], all[8], all[3], all[4], all[5]});
        types().reverseRows("other").table("f32", parameter).load();
        assertThat(doubles(parameter.getArray())).isEqualTo(all);
    }

    /** Rows 1 and 3 of 4. */
    @Test
    void loadsRowsOfGroups() throws Exception {
        Parameter parameter = Weights.parameter(manager, DataType.FLOAT64, 2, 3);
        types().rowsOfGroups("f32", 2, 1, 2, parameter).load();
        double[] all = Weights.expected("f32");
        assertThat(doubles(parameter.getArray()))
                .isEqualTo(new double[] {all[3], all[4], all[5], all[9], all[10], all[11]});
    }

    @Test
    void loadsTensorsWithUnusualNames() throws Exception {
        Parameter parameter = parameter(2);
        types().table("größe \n", parameter).load();
        assertThat(parameter.getArray().toFloatArray()).containsExactly(1, 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"f64", "f32"})
    void allowRoundingRoundsToNearest(String tensor) throws Exception {
        Parameter half = Weights.parameter(manager, DataType.FLOAT16, 4, 3);
        types().table(tensor, half).allowRounding().load();
        assertThat(doubles(half.getArray())).isEqualTo(Weights.expected("f16"));
    }

    /** Conv1D of GPT-2 stores (in, out); c_attn has the columns of queries, keys and values. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "FLOAT64"})
    void loadsRowsAndTransposedColumns(DataType type) throws Exception {
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optCausal(true)
                .build();
        block.initialize(manager, type, new Shape(2, 5, 8));
        Linear feedForward = Linear.builder().setUnits(32).build();
        feedForward.initialize(manager, type, new Shape(2, 5, 8));
        WeightLoader loader = attentions();
        List<Linear> projections =
                List.of(block.getQueryProjection(), block.getKeyProjection(), block.getValueProjection());
        for (int i = 0; i < 3; i++) {
            addConv1d(loader, "h.0.attn.c_attn.", 8 * i, 8 * i + 8, projections.get(i));
        }
        addConv1d(loader, "h.0.attn.c_proj.", 0, 8, block.getResultProjection());
        addConv1d(loader, "h.0.mlp.c_fc.", 0, 32, feedForward);
        loader.load(block, feedForward);
        NDArray x = manager.create(Weights.expected("attention keys"), new Shape(2, 5, 8))
                .toType(type, false);
        double error = type == DataType.FLOAT32 ? 1e-5 : 1e-10; // sums of 8 products of numbers below 4
        assertOutput("gpt2 attention", error, Forward.infer(manager, block, x));
        assertOutput("gpt2 feed-forward", error, Forward.infer(manager, feedForward, x));
    }

    private static void addConv1d(WeightLoader loader, String prefix, int from, int to, Block linear) {
        loader.columnsAsRows(prefix + "weight", from, to, linear.getParameters().get("weight"));
        loader.rows(prefix + "bias", from, to, linear.getParameters().get("bias"));
    }

    /**
     * MaxViT of TensorFlow: the biases of each head, (N, 2h - 1, 2w - 1), from keys after the query to those before.
     */
    @Test
    void theColumnsOfATensorOfSeveralAxesAreOfAllButTheFirst() throws Exception {
        String header = "{\"table\": {\"dtype\": \"F32\", \"shape\": [2, 3, 2], \"data_offsets\": [0, 48]}}";
        byte[] file = Weights.safetensors(header, 48);
        for (int i = 0; i < 12; i++) {
            Weights.littleEndian(file).putFloat(file.length - 48 + 4 * i, i);
        }
        WeightFile weights = WeightFile.open(Files.write(folder.resolve("table.safetensors"), file));
        Parameter parameter = parameter(6, 2);
        WeightLoader.of(weights)
                .columnsAsRows("table", 0, 6, parameter)
                .reverseRows("table")
                .load();
        assertThat(parameter.getArray().toFloatArray()).containsExactly(5, 11, 4, 10, 3, 9, 2, 8, 1, 7, 0, 6);
        Parameter middle = parameter(2, 2);
        WeightLoader.of(weights).columnsAsRows("table", 2, 4, middle).load();
        assertThat(middle.getArray().toFloatArray()).containsExactly(2, 8, 3, 9);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aLoadedTableIsTheSameArrayAndStaysFrozenOrTrained(boolean isFrozen) throws Exception {
        initialize();
        NDArray array = positions.getTable().getArray();
        input.freezeParameters(isFrozen);
        tables().allowUnused("*").load();
        assertThat(positions.getTable().getArray()).isSameAs(array);
        assertThat(array.hasGradient()).isEqualTo(!isFrozen);
        assertThat(positions.getTable().requiresGradient()).isEqualTo(!isFrozen);
    }

    /** PyTorch records gradients on a new thread from its start, and then rejects writing to a table in place. */
    @Test
    void loadsOnAnyThreadAndWithinAScope() throws Exception {
        initialize();
        FutureTask<Object> load = new FutureTask<>(() -> {
            try (NDScope scope = new NDScope()) {
                scope.suppressNotUsedWarning();
                tables().allowUnused("*").load();
            }
            return null;
        });
        new Thread(load).start();
        load.get();
        assertOutput("bert");
    }

    /** Reading stops as in Java's channels; no parameter has changed, and the same loader can be used again. */
    @Test
    void anInterruptedLoadChangesNothing() throws Exception {
        Parameter parameter = parameter(11, 6);
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

    /** Rows may overlap, but a tensor, its rows and a parameter are added once. */
    @Test
    void aRejectedCallHasNoEffect() throws Exception {
        Parameter first = parameter(3, 6);
        Parameter second = parameter(4, 6);
        Parameter other = parameter(3, 6);
        WeightLoader loader = gpt2().rows("wpe.weight", 0, 3, first);
        assertAll(rejected(() -> loader.rows("wpe.weight", 0, 3, other), "rows [0, 3)", "\"wpe.weight\""));
        loader.rows("wpe.weight", 2, 6, second);
        assertAll(rejected(() -> loader.table("wte.weight", first), "\"table\"", "\"wte.weight\""));
        loader.table("wte.weight", parameter(11, 6)).load();
        assertThat(first.getArray().toFloatArray()).doesNotContain(7);
        assertThat(second.getArray().get(0).toFloatArray())
                .isEqualTo(first.getArray().get(2).toFloatArray());
        assertUnchanged(other);
    }

    @Test
    void rejectsAFileThatHasChangedSinceItWasOpened() throws Exception {
        byte[] bytes = Files.readAllBytes(Weights.path("gpt2.safetensors"));
        Path path = Files.write(folder.resolve("weights.safetensors"), bytes);
        Parameter parameter = parameter(8, 6);
        WeightLoader loader = WeightLoader.of(WeightFile.open(path))
                .table("wpe.weight", parameter)
                .allowUnused("wte.weight");
        Files.delete(path);
        Files.write(path, bytes);
        Files.setLastModifiedTime(path, FileTime.fromMillis(0));
        int open = manager.getManagedArrays().size();
        assertAll(rejected(MalformedModelException.class, () -> loader.load(), path, "changed", "WeightFile.open"));
        assertThat(manager.getManagedArrays()).hasSize(open);
        assertUnchanged(parameter);
    }

    @Test
    void namesTensorsThatNothingUses() throws Exception {
        initialize();
        Object[] unused = {BERT + "position_ids", BERT + "LayerNorm.weight", BERT + "token_type_embeddings.weight"};
        assertAll(
                rejected(() -> tables().load(input), unused),
                // also without a model, and if a pattern is only a part of a name, or a regular expression
                rejected(() -> tables().load(), "bert.safetensors", "(3: [", "allowUnused"),
                rejected(() -> tables().allowUnused("position_ids").load(input), unused),
                rejected(() -> tables().allowUnused("*position_ids", "bert?.*").load(input), "LayerNorm.weight"));
        assertUnchanged(input.getTokenTable(), positions.getTable());
        assertThat(input.getTokenTable().getArray().hasGradient()).isTrue();
    }

    static Stream<List<String>> patternsOfTheUnused() {
        return Stream.of(
                List.of(BERT + "position_ids", BERT + "LayerNorm.weight", BERT + "token_type_embeddings.weight"),
                List.of("*.position_ids", "*.LayerNorm.*", BERT + "token_*"),
                List.of("*"),
                List.of("*", "bert.pooler.*"));
    }

    /** A star stands for any text. A pattern that matches nothing may be for other files. */
    @ParameterizedTest
    @MethodSource("patternsOfTheUnused")
    void allowUnusedMatchesWholeNames(List<String> patterns) throws Exception {
        initialize();
        tables().allowUnused(patterns.toArray(String[]::new))
                .allowMissing("*other")
                .load(input);
        assertOutput("bert");
    }

    @Test
    void namesParametersThatGetNoTensor() throws Exception {
        initialize();
        assertAll(
                rejected(
                        () -> tokens().allowUnused("*").load(input),
                        "(1: [\"01positionalEncoding_encodings\"])",
                        "allowMissing"),
                rejected(
                        () -> tokens().load(input),
                        "\"01positionalEncoding_encodings\"",
                        "(4: [",
                        BERT + "position_embeddings.weight"));
        assertUnchanged(input.getTokenTable(), positions.getTable());
    }

    @ParameterizedTest
    @ValueSource(strings = {"01positionalEncoding_encodings", "*encodings"})
    void allowMissingMatchesWholeNames(String pattern) throws Exception {
        initialize();
        tokens().allowUnused("*").allowMissing(pattern).load(input);
        assertThat(input.getTokenTable().getArray().toFloatArray()).doesNotContain(7);
        assertUnchanged(positions.getTable());
    }

    @Test
    void namesPatternsThatMatchNothing() throws Exception {
        initialize();
        assertAll(rejected(
                () -> tables().allowUnused("*.LayerNorm.*", "*.positionIds", "bert.poler.*")
                        .allowMissing("*bta")
                        .load(input),
                "\"bert.embeddings.position_ids\"",
                "allowUnused has [\"*.positionIds\", \"bert.poler.*\"]",
                "allowMissing has [\"*bta\"]"));
        WeightLoader matching =
                tokens().allowUnused("*position_ids", "*word_*").allowMissing("*embedding", "*encodings");
        assertThat(catchThrowable(() -> matching.load(input))).message().doesNotContain("*");
        // without a model, there are no parameters that a pattern could match
        WeightLoader withoutModel = tables().allowMissing("*bta");
        assertThat(catchThrowable(withoutModel::load)).message().doesNotContain("*bta");
    }

    @Test
    void rejectsParametersOfAnotherModel() throws Exception {
        initialize();
        assertAll(rejected(
                () -> tables().allowUnused("*").load(positions),
                "\"bert.embeddings.word_embeddings.weight\"",
                "parameter \"embedding\""));
        assertUnchanged(input.getTokenTable(), positions.getTable());
    }

    @Test
    void writesNothingIfATensorDoesNotFit() throws Exception {
        initialize();
        String types = BERT + "token_type_embeddings.weight";
        WeightLoader loader =
                tokens().table(types, positions.getTable()).allowUnused("*").allowMissing("*");
        assertAll(rejected(
                () -> loader.load(input),
                "parameter \"encodings\" of LearnedPositionalEncodingBlock \"01positionalEncoding\"",
                types,
                "bert.safetensors",
                "(8, 6)",
                "(2, 6)"));
        assertUnchanged(input.getTokenTable(), positions.getTable());
    }

    /** As of a checkpoint in several files: a loader of all of them is strict about all of them. */
    @Test
    void loadsAModelInSeveralFiles() throws Exception {
        Linear linear = Linear.builder().setUnits(3).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        WeightFile first = Weights.open("gpt2.safetensors");
        WeightFile second = Weights.open("linear.safetensors");
        initialize();
        WeightLoader.ofAll(List.of(first, second))
                .table("wte.weight", input.getTokenTable())
                .table("wpe.weight", positions.getTable())
                .module("", linear)
                .load(input, linear);
        NDArray weight = second.read(manager, "weight");
        assertThat(linear.getParameters().get("weight").getArray().toFloatArray())
                .isEqualTo(weight.toFloatArray());
    }

    @Test
    void oneByOneLoadsAllAndKeepsNoArray() throws Exception {
        Parameter words = parameter(11, 6);
        Parameter rows = parameter(10, 6);
        WeightLoader loader = WeightLoader.of(Weights.open("roberta.safetensors"))
                .table("roberta.embeddings.word_embeddings.weight", words)
                .oneByOne();
        assertAll(rejected(() -> loader.load(), "position_embeddings"));
        assertUnchanged(words);
        loader.table("roberta.embeddings.position_embeddings.weight", rows);
        int open = manager.getManagedArrays().size();
        loader.load();
        for (Parameter parameter : new Parameter[] {words, rows}) {
            assertThat(parameter.getArray().toFloatArray()).doesNotContain(7);
        }
        assertThat(manager.getManagedArrays()).hasSize(open);
    }

    /** Learned positions, a linear layer, and a head. */
    private static SequentialBlock model(NDManager manager, DataType type, int length, int classes) {
        SequentialBlock model = new SequentialBlock()
                .add(LearnedPositionalEncodingBlock.builder()
                        .setEmbeddingSize(4)
                        .optMaxSequenceLength(length)
                        .build())
                .add(Linear.builder().setUnits(4).build())
                .add(Linear.builder().setUnits(classes).build());
        model.initialize(manager, type, new Shape(1, length, 4));
        return model;
    }

    private SequentialBlock model(int length, int classes) {
        return model(manager, DataType.FLOAT32, length, classes);
    }

    private Linear linear(int units) {
        Linear linear = Linear.builder().setUnits(units).build();
        linear.initialize(manager, DataType.FLOAT32, new Shape(2, 4));
        return linear;
    }

    private static double[][] numbers(Block block) {
        return block.getParameters().values().stream()
                .map(parameter -> HostData.doubles(parameter.getArray()))
                .toArray(double[][]::new);
    }

    @Test
    void copiesParametersOfTheSameNameAndShape() throws Exception {
        Block trained = model(5, 3);
        Block copy = model(manager, DataType.FLOAT64, 5, 3);
        int open = manager.getManagedArrays().size();
        WeightLoader.ofBlock(trained).load(copy);
        assertThat(numbers(copy)).isDeepEqualTo(numbers(trained));
        assertThat(manager.getManagedArrays()).hasSize(open);
        Block narrow = model(5, 3);
        WeightLoader.ofBlock(copy).allowRounding().load(narrow);
        assertThat(numbers(narrow)).isDeepEqualTo(numbers(trained));
    }

    @Test
    void copiesSharedParameters() throws Exception {
        Block[] models = new Block[2];
        for (int i = 0; i < 2; i++) {
            Block shared = Linear.builder().setUnits(4).build();
            models[i] = new SequentialBlock().add(shared).add(shared);
            models[i].initialize(manager, DataType.FLOAT32, new Shape(1, 4));
        }
        WeightLoader.ofBlock(models[0]).load(models[1]);
        assertThat(numbers(models[1])).isDeepEqualTo(numbers(models[0]));
    }

    @Test
    void copiesFromAnotherDevice() throws Exception {
        assumeEngine(TestEngine.PYTORCH);
        try (NDManager gpu = new SimulatedGpuEngine().newBaseManager(Device.gpu())) {
            Block trained = model(gpu, DataType.FLOAT32, 5, 3);
            Block copy = model(5, 3);
            WeightLoader.ofBlock(trained).load(copy);
            assertThat(numbers(copy)).isDeepEqualTo(numbers(trained));
        }
    }

    @Test
    void leavesParametersOfOtherShapesIfAllowed() throws Exception {
        Block trained = model(5, 3);
        Block other = model(5, 2);
        double[][] before = numbers(other);
        WeightLoader.ofBlock(trained).allowMissing("03*").allowUnused("03*").load(other);
        assertThat(Arrays.copyOf(numbers(other), 3)).isDeepEqualTo(Arrays.copyOf(numbers(trained), 3));
        assertThat(numbers(other)[3]).isEqualTo(before[3]);
    }

    @Test
    void appendRowsAndFirstRowsChangeTheLengthOfATable() throws Exception {
        Block trained = model(4, 3);
        Block longer = model(7, 3);
        double[] initial = numbers(longer)[0];
        WeightLoader.ofBlock(trained).appendRows("*encodings").load(longer);
        assertThat(Arrays.copyOf(numbers(longer)[0], 16)).isEqualTo(numbers(trained)[0]);
        assertThat(Arrays.copyOfRange(numbers(longer)[0], 16, 28)).isEqualTo(Arrays.copyOfRange(initial, 16, 28));
        Block shorter = model(3, 3);
        WeightLoader.ofBlock(longer).firstRows("*encodings").load(shorter);
        assertThat(numbers(shorter)[0]).isEqualTo(Arrays.copyOf(numbers(trained)[0], 12));
    }

    @Test
    void rejectsCopiesThatDoNotFit() {
        Block trained = linear(3);
        Block wide = linear(5);
        Block uninitialized = Linear.builder().setUnits(3).build();
        Parameter gamma = parameter(3);
        assertAll(
                rejected(() -> WeightLoader.ofBlock(uninitialized), "\"weight\"", "Linear", "initialize"),
                rejected(() -> WeightLoader.ofBlock(trained).load(), "Linear", "(2: ["),
                rejected(
                        () -> WeightLoader.ofBlock(trained).load(wide),
                        "[\"weight (5, 4)\", \"bias (5)\"]",
                        "[\"weight (3, 4)\", \"bias (3)\"]"),
                rejected(
                        () -> WeightLoader.ofBlock(trained).table("gamma", gamma),
                        "\"gamma\"",
                        "Linear",
                        "\"weight\", \"bias\""),
                rejected(NullPointerException.class, () -> WeightLoader.ofBlock(null), "block"));
    }

    @Test
    void rejectsNamesThatTheFileDoesNotHave() throws Exception {
        WeightLoader bert = Weights.loader("bert.safetensors");
        Parameter parameter = parameter(8, 6);
        assertAll(
                rejected(
                        () -> bert.table("embeddings.position_embeddings.weight", parameter),
                        "\"embeddings.position_embeddings.weight\"",
                        "[\"bert.embeddings.position_embeddings.weight\","),
                rejected(
                        () -> attentions().rows("in_proj_weight", 0, 8, parameter),
                        "\"in_proj_weight\"",
                        "self_attn.in_proj_weight"));
    }

    static Stream<long[]> otherShapes() {
        return Stream.of(
                new long[] {8, 7}, new long[] {7, 6}, new long[] {6, 8}, new long[] {48}, new long[] {2, 4, 6});
    }

    @ParameterizedTest
    @MethodSource("otherShapes")
    void rejectsTablesOfOtherShapes(long... shape) {
        Parameter parameter = parameter(shape);
        assertAll(rejected(
                () -> gpt2().table("wpe.weight", parameter).load(),
                "\"wpe.weight\"",
                "gpt2.safetensors",
                "(8, 6)",
                new Shape(shape),
                "\"table\""));
        assertUnchanged(parameter);
    }

    @Test
    void rejectsScalars() {
        Parameter scalar = parameter();
        Parameter vector = parameter(1);
        assertAll(
                rejected(() -> types().table("scalar", scalar).load(), "\"scalar\"", "()"),
                rejected(() -> types().table("scalar", vector).load(), "\"scalar\"", "(1)"));
        assertUnchanged(scalar, vector);
    }

    @Test
    void rejectsMoreOrFewerRowsThanAllowed() {
        assertAll(
                rejected(
                        () -> gpt2().table("wpe.weight", parameter(9, 6))
                                .firstRows("wpe.weight")
                                .load(),
                        "(8, 6)",
                        "(9, 6)",
                        "appendRows"),
                rejected(
                        () -> gpt2().table("wpe.weight", parameter(7, 6))
                                .appendRows("*")
                                .load(),
                        "(8, 6)",
                        "(7, 6)",
                        "firstRows"),
                rejected(
                        () -> gpt2().table("wpe.weight", parameter(7, 5))
                                .firstRows("*")
                                .appendRows("*")
                                .load(),
                        "(8, 6)",
                        "(7, 5)"));
    }

    @ParameterizedTest
    @CsvSource({
        "i64, I64, FLOAT32",
        "i32, I32, FLOAT32",
        "bool, BOOL, FLOAT32",
        "f8, F8_E4M3, FLOAT32",
        "f64, F64, FLOAT32",
        "f64, F64, FLOAT16",
        "f32, F32, FLOAT16",
        "bf16, BF16, FLOAT16"
    })
    void rejectsTypesThatWouldBeRounded(String tensor, String stored, DataType type) {
        Parameter parameter = Weights.parameter(manager, type, 4, 3);
        assertAll(rejected(
                () -> types().table(tensor, parameter).load(),
                "parameter \"table\"",
                "tensor \"" + tensor + '"',
                "types.safetensors",
                '"' + stored + '"',
                type,
                "allowRounding"));
        assertUnchanged(parameter);
    }

    /** 65504 is 65536 in BF16, which FLOAT16 does not have. */
    @Test
    void allowRoundingRejectsIntegersAndNumbersThatWouldBecomeInfinite() {
        Parameter single = parameter(4, 3);
        Parameter half = Weights.parameter(manager, DataType.FLOAT16, 4, 3);
        assertAll(
                rejected(() -> types().table("i32", single).allowRounding().load(), "\"i32\"", "\"I32\"", "float32"),
                rejected(() -> types().table("bf16", half).allowRounding().load(), "\"bf16\"", "65536.0", "float16"));
        assertUnchanged(single, half);
    }

    @Test
    void rejectsParametersWithoutAFloatingPointArray() {
        Parameter integers = Weights.parameter(manager, DataType.INT32, 8, 6);
        Parameter uninitialized = Parameter.builder()
                .setName("table")
                .setType(Parameter.Type.OTHER)
                .build();
        Parameter closed = parameter(8, 6);
        closed.getArray().close();
        assertAll(
                rejected(() -> gpt2().table("wpe.weight", integers).load(), "\"table\"", "\"wpe.weight\"", "int32"),
                rejected(
                        () -> gpt2().table("wpe.weight", uninitialized).load(),
                        "\"table\"",
                        "\"wpe.weight\"",
                        "no array"),
                rejected(() -> gpt2().table("wpe.weight", closed).load(), "\"table\"", "\"wpe.weight\"", "no array"));
    }

    @ParameterizedTest
    @CsvSource({"-1, 7", "17, 25", "8, 0", "-9223372036854775808, 9223372036854775807"})
    void rejectsRowsAndColumnsThatDoNotExist(long from, long to) throws Exception {
        WeightLoader loader = attentions();
        Parameter parameter = parameter(8, 8);
        String name = "self_attn.in_proj_weight"; // (24, 8)
        String range = "[" + from + ", " + to + ")";
        assertAll(
                rejected(() -> loader.rows(name, from, to, parameter), "rows " + range, name, "(24, 8)", "24)"),
                rejected(
                        () -> loader.columnsAsRows(name, from, to, parameter),
                        "columns " + range,
                        name,
                        "(24, 8)",
                        "8)"));
    }

    @Test
    void rejectsOtherRangesOfRowsAndColumns() {
        Parameter parameter = parameter(8, 8);
        String name = "self_attn.in_proj_weight";
        assertAll(
                rejected(
                        () -> gpt2().rows("wpe.weight", 0, 9, parameter),
                        "rows [0, 9)",
                        "\"wpe.weight\"",
                        "\"table\"",
                        "8)"),
                rejected(
                        () -> attentions().rows(name, 0, 16, parameter).load(),
                        "rows [0, 16)",
                        "(16, 8)",
                        "(8, 8)",
                        "\"table\""),
                rejected(
                        () -> attentions().columnsAsRows("self_attn.in_proj_bias", 0, 8, parameter), "(24)", "matrix"));
    }

    @Test
    void rejectsFilesWithTheSameTensorsOrNone() throws Exception {
        WeightFile gpt2 = Weights.open("gpt2.safetensors");
        WeightFile linear = Weights.open("linear.safetensors");
        assertAll(
                rejected(() -> WeightLoader.ofAll(List.of(gpt2, linear, gpt2)), "\"wpe.weight\", \"wte.weight\""),
                rejected(() -> WeightLoader.ofAll(List.of()), "[]"));
    }

    @Test
    void severalFilesAreNamedTogether() throws Exception {
        List<WeightFile> files = List.of(Weights.open("gpt2.safetensors"), Weights.open("linear.safetensors"));
        Linear linear = linear(3);
        assertAll(
                rejected(
                        () -> WeightLoader.ofAll(files).module("", linear).load(),
                        "gpt2.safetensors, ",
                        "linear.safetensors",
                        "\"wpe.weight\", \"wte.weight\""),
                rejected(() -> WeightLoader.ofAll(files).module("x.", linear), "4 tensors", "gpt2.safetensors, "));
    }

    /** Eight of 23 names. */
    @Test
    void listsTheFirstOfManyNames() throws Exception {
        WeightLoader loader =
                WeightLoader.of(Weights.open("attention.safetensors")).table("plain.out_proj.weight", parameter(8, 8));
        assertAll(rejected(() -> loader.load(), "(23: [", "\"extended.bias_k\"", ", …]"));
    }

    @Test
    void rejectsLoadingNothing() throws Exception {
        WeightLoader loader = gpt2();
        assertAll(rejected(() -> loader.load(), "gpt2.safetensors", "table"));
    }

    @Test
    void rejectsNull() throws Exception {
        WeightLoader loader = gpt2();
        assertThatNullPointerException().isThrownBy(() -> WeightLoader.of(null));
        assertAll(
                rejected(NullPointerException.class, () -> loader.table("wpe.weight", null), "\"wpe.weight\""),
                rejected(NullPointerException.class, () -> loader.load((Block) null), "model"));
    }

    private static final String EMBEDDING = "model.embed_tokens.weight";

    private static final String HEAD = "lm_head.weight";

    /** A file of tensors (2, 3), the i-th of the numbers first[i], first[i] + 1 and so on. */
    private WeightFile tensors(List<String> names, float... first) throws Exception {
        String header = IntStream.range(0, names.size())
                .mapToObj(i -> "\"%s\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[%d,%d]}"
                        .formatted(names.get(i), 24 * i, 24 * i + 24))
                .collect(Collectors.joining(",", "{", "}"));
        byte[] bytes = Weights.safetensors(header, 24 * names.size());
        ByteBuffer data = Weights.littleEndian(bytes).position(bytes.length - 24 * names.size());
        for (float start : first) {
            for (int i = 0; i < 6; i++) {
                data.putFloat(start + i);
            }
        }
        return WeightFile.open(Files.write(folder.resolve("tied.safetensors"), bytes));
    }

    /** Frameworks store a tied tensor under either name, or under both. */
    @ParameterizedTest
    @ValueSource(strings = {EMBEDDING, HEAD, EMBEDDING + " " + HEAD})
    void aTiedTensorHasEachOfItsNames(String stored) throws Exception {
        List<String> names = List.of(stored.split(" "));
        WeightFile file = names.size() == 1 ? tensors(names, 5) : tensors(names, 5, 5);
        for (boolean hasHead : new boolean[] {true, false}) {
            Parameter embedding = parameter(2, 3);
            Parameter head = parameter(2, 3);
            WeightLoader loader = WeightLoader.of(file).tied(EMBEDDING, HEAD).table(EMBEDDING, embedding);
            (hasHead ? loader.table(HEAD, head) : loader).load();
            assertThat(embedding.getArray().toFloatArray()).containsExactly(5, 6, 7, 8, 9, 10);
            if (hasHead) {
                assertThat(head.getArray().toFloatArray()).containsExactly(5, 6, 7, 8, 9, 10);
            } else {
                assertUnchanged(head);
            }
        }
    }

    @Test
    void oneNameIsForSeveralParameters() throws Exception {
        Parameter first = parameter(2, 3);
        Parameter second = parameter(2, 3);
        WeightFile file = tensors(List.of("shared"), 5);
        WeightLoader.of(file)
                .tied("shared")
                .table("shared", first)
                .table("shared", second)
                .load();
        assertThat(second.getArray().toFloatArray())
                .containsExactly(first.getArray().toFloatArray())
                .containsExactly(5, 6, 7, 8, 9, 10);
        assertAll(rejected(
                () -> WeightLoader.of(file).table("shared", first).table("shared", second), "\"shared\"", "tied"));
    }

    @Test
    void rejectsTiedTensorsOfDifferentNumbersOrNone() throws Exception {
        WeightFile file = tensors(List.of(EMBEDDING, HEAD), 5, 6);
        Parameter table = parameter(2, 3);
        assertAll(
                rejected(
                        () -> WeightLoader.of(file)
                                .tied(EMBEDDING, HEAD)
                                .table(EMBEDDING, table)
                                .load(),
                        EMBEDDING,
                        HEAD),
                rejected(() -> WeightLoader.of(file).tied("a", "b"), "\"a\"", "\"b\"", "tied.safetensors"),
                rejected(() -> WeightLoader.of(tensors(List.of(HEAD), 5)).table(EMBEDDING, table), HEAD, "tied"));
        assertUnchanged(table);
    }
}
