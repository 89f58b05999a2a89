package io.github.djlpositional.internal;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Forward.inferAt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import ai.djl.util.PairList;
import io.github.djlpositional.Documents;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.FireBiasBlock;
import io.github.djlpositional.relative.ForgettingBiasBlock;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Inputs;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.SmallLayers;
import io.github.djlpositional.support.TestEngine;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock.NormPlacement;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Probable mistakes are accepted with a warning, once for each kind, and a block reads only its first arguments. */
class InputMistakesTest extends OnEachEngine {

    /** Only the arrays of a CPU are read. */
    @BeforeEach
    void requireCpu() {
        assumeCpu();
    }

    /** What a program logs in a new process. */
    private static List<String> logged(Runnable program) {
        InputMistakes.REPORTED.clear();
        PrintStream before = System.err;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setErr(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            program.run();
        } finally {
            System.setErr(before);
        }
        return bytes.toString(StandardCharsets.UTF_8)
                .lines()
                .filter(line -> line.contains(InputMistakes.class.getName()))
                .toList();
    }

    /** Expects a program that makes a mistake twice to log it once. It creates a new block each time. */
    private static Executable warned(Runnable program, String... values) {
        return () -> {
            List<String> lines = logged(() -> {
                program.run();
                program.run();
            });
            assertThat(lines).as("%s", List.of(values)).hasSize(1);
            assertThat(lines.get(0)).contains("WARN").contains(values);
        };
    }

    private static Executable notWarned(Runnable program) {
        return () -> assertThat(logged(program)).isEmpty();
    }

    private static MultiHeadAttentionBlock attention(NDManager owner, boolean isCausal) {
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(4)
                .setHeadCount(2)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(2).build())
                .optCausal(isCausal)
                .build();
        block.initialize(owner, DataType.FLOAT32, new Shape(-1, -1, 4));
        return block;
    }

    /** Numbers of any shape and data type. */
    private NDArray array(DataType type, Shape shape, double... numbers) {
        return manager.create(numbers, shape).toType(type, false);
    }

    /** Queries are as many as the mask has rows for. */
    private void infer(boolean isCausal, int batch, int length, NDArray mask) {
        Forward.infer(manager, attention(manager, isCausal), Inputs.zeros(manager, batch, length, 4), mask);
    }

    private void infer(NDArray mask) {
        infer(false, 1, 3, mask);
    }

    @Test
    void warnsOfAMaskThatHidesEveryKey() {
        NDArray later = array(DataType.BOOLEAN, new Shape(1, 1, 3, 3), 0, 1, 1, 0, 0, 1, 0, 0, 0);
        assertAll(
                warned(() -> infer(false, 2, 3, Inputs.zeros(manager, 2, 3)), "mask (2, 3)", "logicalNot"),
                warned(() -> infer(false, 1, 1, Inputs.zeros(manager, 1, 1)), "mask (1, 1)", "logicalNot"),
                // PyTorch's mask of a causal attention is true for later keys
                warned(() -> infer(true, 1, 3, later), "causal attention", "logicalNot"),
                notWarned(() -> infer(false, 1, 3, later)));
    }

    /** PyTorch's mask of sentences of lengths 3 and 2 is true for padding. */
    @Test
    void warnsOfAMaskThatLeavesOneSequenceWithoutAKey() {
        NDArray inverted = array(DataType.BOOLEAN, new Shape(2, 3), 0, 0, 0, 0, 0, 1);
        NDArray mask = array(DataType.BOOLEAN, new Shape(2, 3), 1, 1, 1, 1, 1, 0);
        NDArray ofHeads = inverted.reshape(2, 1, 1, 3);
        NDArray ofQueries = array(DataType.INT32, new Shape(2, 2, 3), 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1);
        NDArray added = array(DataType.FLOAT32, new Shape(2, 1, 1, 3), 0, 0, 0, -1e39, -1e39, -1e39);
        assertAll(
                warned(() -> infer(false, 2, 3, inverted), "mask (2, 3)", "logicalNot"),
                warned(() -> infer(true, 2, 3, inverted), "mask (2, 3)", "logicalNot"),
                warned(() -> infer(false, 2, 3, ofHeads), "mask (2, 1, 1, 3)", "logicalNot"),
                warned(() -> infer(false, 2, 3, added), "mask (2, 1, 1, 3)", "logicalNot"),
                warned(
                        () -> Forward.infer(
                                manager,
                                attention(manager, false),
                                Inputs.zeros(manager, 2, 3, 4),
                                Inputs.zeros(manager, 2, 2, 4),
                                Inputs.zeros(manager, 2, 3, 4),
                                ofQueries),
                        "mask (2, 2, 3)"),
                notWarned(() -> infer(false, 2, 3, mask)),
                // a query of padding sees nothing
                notWarned(() ->
                        infer(false, 1, 3, array(DataType.INT32, new Shape(1, 3, 3), 1, 1, 0, 1, 1, 0, 0, 0, 0))));
    }

    /** Documents that are packed into a row may be padding, but not all of them. */
    @Test
    void aPackedDocumentMayBePadding() {
        PairList<String, Object> packed = Forward.params(PositionalEncodingBlock.DOCUMENTS, Documents.ofLengths(2, 1));
        NDArray x = Inputs.zeros(manager, 2, 3, 4);
        NDArray mask = array(DataType.INT32, new Shape(2, 3), 1, 1, 0, 1, 1, 0);
        NDArray inverted = array(DataType.INT32, new Shape(2, 3), 0, 0, 0, 0, 0, 1);
        assertAll(
                notWarned(() -> Forward.infer(manager, attention(manager, true), packed, x, mask)),
                notWarned(() -> Forward.infer(
                        manager,
                        PositionalEncodingBlock.builder().setEmbeddingSize(4).build(),
                        packed,
                        x)),
                warned(() -> Forward.infer(manager, attention(manager, true), packed, x, inverted), "mask (2, 3)"));
    }

    @Test
    void warnsOfAMaskToAddOfZerosAndOnes() {
        Shape shape = new Shape(1, 1, 1, 3);
        assertAll(
                warned(() -> infer(array(DataType.FLOAT32, shape, 1, 1, 0)), "mask (1, 1, 1, 3)", "mask.neq(0)"),
                notWarned(() -> infer(array(DataType.FLOAT32, shape, 2, 2, 0))),
                notWarned(() -> infer(Inputs.zeros(manager, 1, 1, 1, 3))));
    }

    @Test
    void warnsOfANegativeMaskThatIsNotAdded() {
        NDArray ofKeys = array(DataType.FLOAT32, new Shape(1, 3), 0, 0, -1e9);
        NDArray ofPairs = array(DataType.FLOAT32, new Shape(1, 3, 3), 0, 0, -1e9, 0, 0, -1e9, 0, 0, -1e9);
        NDArray added = array(DataType.FLOAT32, new Shape(1, 1, 1, 3), 0, 0, -1e9);
        assertAll(
                warned(() -> infer(ofKeys), "mask (1, 3)", "four axes"),
                warned(() -> infer(ofPairs), "mask (1, 3, 3)", "four axes"),
                notWarned(() -> infer(added)));
    }

    @Test
    void warnsOfATriangleAsTheMaskOfThreeSentences() {
        Shape shape = new Shape(3, 3);
        double[] lower = {1, 0, 0, 1, 1, 0, 1, 1, 1};
        double[] later = {0, 1, 1, 0, 0, 1, 0, 0, 0};
        NDArray integers = array(DataType.INT32, shape, lower);
        NDArray booleans = array(DataType.BOOLEAN, shape, lower);
        NDArray inverted = array(DataType.BOOLEAN, shape, later);
        assertAll(
                warned(() -> infer(false, 3, 3, integers), "mask (3, 3)", "optCausal(true)"),
                warned(() -> infer(false, 3, 3, booleans), "mask (3, 3)", "optCausal(true)"),
                warned(() -> infer(false, 3, 3, inverted), "mask (3, 3)", "optCausal(true)"),
                notWarned(() -> infer(true, 3, 3, integers)),
                notWarned(() -> infer(true, 3, 3, booleans)),
                // two sentences of lengths 1 and 2 are as likely
                notWarned(() -> infer(false, 2, 2, array(DataType.INT32, new Shape(2, 2), 1, 0, 1, 1))),
                notWarned(() -> infer(false, 2, 3, array(DataType.INT32, new Shape(2, 3), 1, 0, 0, 1, 1, 0))));
    }

    private static PositionalEncodingBlock sinusoids() {
        return PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
    }

    /** Positions of a sequence of sinusoids. */
    private void encode(DataType type, double... positions) {
        NDArray x = Inputs.zeros(manager, 1, positions.length, 4);
        Forward.infer(manager, sinusoids(), x, array(type, new Shape(positions.length), positions));
    }

    private void inferAt(Block block, NDArray positions) {
        Forward.inferAt(manager, positions, block, Inputs.zeros(manager, 1, 3, 4));
    }

    private LearnedRotaryEmbeddingBlock learnedRotary() {
        LearnedRotaryEmbeddingBlock block = LearnedRotaryEmbeddingBlock.builder()
                .setHeadCount(1)
                .setHeadSize(4)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, 1, -1, 4));
        return block;
    }

    @Test
    void warnsOfAMaskAsPositions() {
        NDArray mask = array(DataType.INT32, new Shape(1, 3), 1, 1, 0);
        NDArray heads = Inputs.zeros(manager, 1, 1, 3, 4);
        assertAll(
                warned(() -> inferAt(sinusoids(), mask), "positions (1, 3)", "[x, mask]"),
                warned(() -> inferAt(attention(manager, false), mask), "positions (1, 3)", "[x, mask]"),
                warned(
                        () -> Forward.infer(
                                manager,
                                RotaryEmbeddingBlock.builder().setHeadSize(4).build(),
                                heads,
                                mask),
                        "positions (1, 3)"),
                warned(() -> Forward.infer(manager, learnedRotary(), heads, mask), "positions (1, 3)"),
                warned(
                        () -> Forward.infer(
                                manager,
                                AlibiBiasBlock.builder().setHeadCount(1).build(),
                                Forward.params(PositionalEncodingBlock.POSITIONS, mask),
                                heads),
                        "positions (1, 3)"),
                notWarned(() -> encode(DataType.INT32, 0, 1, 2)));
    }

    @Test
    void warnsOfPositionsBeyondTheWholeNumbersOfTheirType() {
        assertAll(
                warned(() -> encode(DataType.FLOAT16, 1, 2048), "positions (2)", "2047", "FLOAT16"),
                notWarned(() -> encode(DataType.FLOAT16, 0, 2047)),
                notWarned(() -> encode(DataType.FLOAT32, 1, 2048)),
                warned(() -> encode(DataType.FLOAT32, 0, 1.7e9), "positions (2)", "2^24", "FLOAT32"),
                notWarned(() -> encode(DataType.FLOAT64, 0, 1.7e12)));
    }

    /** Blocks that take real positions as a forward parameter, and their inputs. */
    private Map<Block, NDArray> blocksWithRealPositions() {
        NDArray x = Inputs.zeros(manager, 1, 2, 4);
        NDArray heads = Inputs.zeros(manager, 1, 1, 2, 4);
        return Map.of(
                sinusoids(), x,
                attention(manager, true), x,
                RotaryEmbeddingBlock.builder().setHeadSize(4).build(), heads,
                learnedRotary(), heads,
                AlibiBiasBlock.builder().setHeadCount(1).build(), heads);
    }

    /** 2049 is rounded to 2048, and seconds since 1970 to multiples of 128. */
    @Test
    void warnsOfPositionsThatAreRoundedInALaterForward() {
        NDArray half = array(DataType.FLOAT16, new Shape(2), 2048, 2049);
        NDArray seconds = array(DataType.FLOAT32, new Shape(1, 2), 1.763e9, 1.763e9 + 30);
        NDArray before = array(DataType.FLOAT32, new Shape(2), 0, 1);
        NDArray doubles = array(DataType.FLOAT64, new Shape(2), 1.763e9, 1.763e9 + 30);
        assertAll(blocksWithRealPositions().entrySet().stream()
                .flatMap(entry -> Stream.of(half, seconds, doubles).map(positions -> () -> {
                    Block block = entry.getKey();
                    Forward.inferAt(manager, before, block, entry.getValue());
                    List<String> lines = logged(() -> Forward.inferAt(manager, positions, block, entry.getValue()));
                    assertThat(lines).hasSize(positions == doubles ? 0 : 1);
                    assertThat(lines)
                            .allSatisfy(line -> assertThat(line)
                                    .contains("WARN", "positions " + positions.getShape(), "2047", "2^24"));
                })));
    }

    /** Times below the limits, in hours since 1970 and in days since 4713 BC, and 1000 and a fraction. */
    @Test
    void warnsOfPositionsWhoseDifferencesAreRounded() {
        assertAll(
                warned(
                        () -> encode(DataType.FLOAT32, 489_722, 489_722 + 1 / 60.0, 489_722 + 2 / 60.0),
                        "positions (3)",
                        "FLOAT64"),
                warned(() -> encode(DataType.FLOAT32, 2_460_993, 2_460_993.2, 2_460_993.4), "positions (3)"),
                warned(() -> encode(DataType.FLOAT16, 1000, 1000.4, 1000.8), "positions (3)"),
                notWarned(() -> encode(DataType.FLOAT32, 0, 1 / 60.0, 2 / 60.0)),
                notWarned(() -> encode(DataType.FLOAT32, 20_420, 20_420 + 1 / 24.0, 20_420 + 2 / 24.0)),
                // whole numbers, and two of the same time
                notWarned(() -> encode(DataType.FLOAT32, 1 << 23, (1 << 23) + 1, (1 << 23) + 2)),
                notWarned(() -> encode(DataType.FLOAT16, 0.5, 0.5, 2.5, 2.5)),
                notWarned(() -> encode(DataType.FLOAT64, 2_460_993, 2_460_993.2, 2_460_993.4)));
    }

    @Test
    void warnsOfRoundedPositionsToEncode() throws Throwable {
        PositionalEncodingBlock block = sinusoids();
        block.initialize(manager, DataType.FLOAT32, new Shape(1, 1, 4));
        warned(() -> block.encode(array(DataType.FLOAT16, new Shape(1), 4096)), "positions (1)", "FLOAT16")
                .execute();
    }

    /** A forward reads real positions anyway. */
    @Test
    void warnsOfRoundedPositionsOnAGpuWithoutAnotherRead() {
        assumeEngine(TestEngine.PYTORCH); // the simulated GPUs compute with it
        SimulatedGpuEngine gpu = new SimulatedGpuEngine();
        try (NDManager own = gpu.newBaseManager(Device.gpu())) {
            MultiHeadAttentionBlock block = attention(own, true);
            NDArray x = own.ones(new Shape(1, 1, 4));
            int[] reads = new int[2];
            for (int i = 0; i < 2; i++) {
                DataType type = i == 0 ? DataType.FLOAT64 : DataType.FLOAT16;
                NDArray positions = own.full(new Shape(1, 1), 4096f).toType(type, true);
                gpu.takeReads();
                List<String> lines = logged(() -> Forward.inferAt(own, positions, block, x));
                reads[i] = gpu.takeReads();
                assertThat(lines).hasSize(i);
            }
            assertThat(reads[1]).isEqualTo(reads[0]);
        }
    }

    /** As in a decoder that counts in FLOAT16: 2047, 2048, 2048, … */
    @Test
    void warnsOfPositionsThatStandStillInADecoder() {
        MultiHeadAttentionBlock block = attention(manager, true);
        NDArray position = array(DataType.FLOAT16, new Shape(1, 1), 2046);
        try (KeyValueCache cache = new KeyValueCache(manager)) {
            for (int i = 0; i < 3; i++) {
                NDArray now = position;
                List<String> lines = logged(() -> {
                    PairList<String, Object> params = cache.nextStep();
                    params.add(PositionalEncodingBlock.POSITIONS, now);
                    Forward.infer(manager, block, params, Inputs.zeros(manager, 1, 1, 4));
                });
                assertThat(lines).hasSize(i < 2 ? 0 : 1);
                position = position.add(1);
            }
        }
    }

    private void inferWith(String parameter, Object value) {
        NDArray x = Inputs.zeros(manager, 1, 3, 4);
        Forward.infer(manager, attention(manager, true), Forward.params(parameter, value), x);
    }

    @ParameterizedTest
    @CsvSource({
        "cache, keyValueCache",
        "kv_cache, keyValueCache",
        "past_key_value, keyValueCache",
        "past_key_values, keyValueCache",
        "pastKeyValues, keyValueCache",
        "key-value-cache, keyValueCache",
        "KeyValueCache, keyValueCache",
        "start_position, startPosition",
        "start_index, startPosition",
        "STARTPOSITION, startPosition",
        "position, startPosition",
        "position_ids, startPosition",
        "attention_mask, '[x, mask]'",
        "attentionMask, '[x, mask]'",
        "src_key_padding_mask, '[x, mask]'",
        "key_padding_mask, '[x, mask]'",
        "mask, '[x, mask]'",
        "token_type_ids, tokenTypes",
        "tokenTypeIds, tokenTypes",
        "grid_sizes, gridSizes"
    })
    void warnsOfAForwardParameterOfAnotherLibrary(String name, String right) throws Throwable {
        warned(() -> inferWith(name, 1), "forward parameter " + name, right).execute();
    }

    @ParameterizedTest
    @ValueSource(strings = {"position", "positionIds", "position_ids", "Positions"})
    void namesTheParameterOfAnArrayOfPositions(String name) throws Throwable {
        warned(() -> inferWith(name, manager.arange(3)), "forward parameter " + name, "expected positions")
                .execute();
    }

    @Test
    void warnsOfEachForwardParameterThatIsProbablyMeant() {
        List<String> lines = logged(() -> {
            inferWith("temperature", 1);
            inferWith("kv_cache", 1);
            inferWith("past_key_values", 1);
            inferWith("attention_mask", 1);
        });
        assertThat(lines).hasSize(2);
    }

    @Test
    void namesOfALaterForwardAreChecked() {
        PositionalEncodingBlock block = sinusoids();
        NDArray x = Inputs.zeros(manager, 1, 3, 4);
        Forward.infer(manager, block, Forward.params("temperature", 1), x);
        assertThat(logged(() -> Forward.infer(manager, block, Forward.params("start_position", 1), x)))
                .hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"temperature", "gridSizes", "length", "head_mask", "segments", ""})
    void acceptsOtherForwardParameters(String name) throws Throwable {
        notWarned(() -> inferWith(name, null)).execute();
    }

    private static List<RelativeEncoding> encodingsForCausalAttention() {
        return List.of(
                ForgettingBiasBlock.builder()
                        .setHeadCount(2)
                        .setEmbeddingSize(4)
                        .build(),
                FireBiasBlock.builder().setHeadCount(2).build(),
                RotaryEmbeddingBlock.builder().setHeadSize(2).optXpos(512).build());
    }

    private MultiHeadAttentionBlock attention(boolean isCausal, RelativeEncoding encoding) {
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(4)
                .setHeadCount(2)
                .optRelativeEncoding(encoding)
                .optCausal(isCausal)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 4));
        return block;
    }

    @Test
    void warnsOfEachEncodingThatIsMeantForCausalAttention() {
        NDArray x = Inputs.zeros(manager, 1, 3, 4);
        NDArray mask = Inputs.zeros(manager, DataType.INT32, 1, 3, 3).add(1);
        List<String> lines = logged(() -> {
            encodingsForCausalAttention().forEach(each -> Forward.infer(manager, attention(false, each), x));
            encodingsForCausalAttention().forEach(each -> Forward.infer(manager, attention(false, each), x));
        });
        assertThat(lines).hasSize(3);
        assertThat(lines.get(0)).contains("WARN", "ForgettingBiasBlock", "optCausal(true)");
        assertThat(lines.get(1)).contains("WARN", "FireBiasBlock");
        assertThat(lines.get(2)).contains("WARN", "RotaryEmbeddingBlock");
        assertAll(
                notWarned(() -> encodingsForCausalAttention()
                        .forEach(each -> Forward.infer(manager, attention(true, each), x))),
                // a mask for each query may be that of a causal attention
                notWarned(() -> encodingsForCausalAttention()
                        .forEach(each -> Forward.infer(manager, attention(false, each), x, mask))),
                // a single token
                notWarned(() -> encodingsForCausalAttention()
                        .forEach(each -> Forward.infer(manager, attention(false, each), x.get(":, :1")))),
                notWarned(() -> Forward.infer(manager, attention(false), x)));
    }

    private MultiHeadAttentionBlock attention(boolean isCausal) {
        return attention(manager, isCausal);
    }

    /** The encoding's own forward computes the term of all keys. */
    @Test
    void acceptsTheOwnForwardOfAnEncodingForCausalAttention() throws Throwable {
        FireBiasBlock fire = FireBiasBlock.builder().setHeadCount(2).build();
        fire.initialize(manager, DataType.FLOAT32, new Shape(1, 2, 3, 2));
        notWarned(() -> Forward.infer(manager, fire, Inputs.zeros(manager, 1, 2, 3, 2)))
                .execute();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void warnsOfAPromptWhoseTokensSeeLaterOnes(boolean isCausal) {
        NDArray prompt = manager.arange(12f).sin().reshape(1, 3, 4);
        NDArray mask = Inputs.zeros(manager, DataType.INT32, 1, 3, 3).add(1);
        MultiHeadAttentionBlock block = attention(isCausal);
        List<String> lines = logged(() -> {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                Forward.infer(manager, block, cache.nextStep(), prompt);
                Forward.infer(manager, block, cache.nextStep(), prompt.get(":, :1"));
            }
        });
        assertThat(lines).hasSize(isCausal ? 0 : 1);
        assertThat(lines).allSatisfy(line -> assertThat(line).contains("WARN", "prompt (1, 3, 4)", "optCausal(true)"));
        assertThat(logged(() -> {
                    try (KeyValueCache cache = new KeyValueCache(manager)) {
                        Forward.infer(manager, block, cache.nextStep(), prompt, mask);
                        cache.clear();
                        Forward.infer(manager, block, cache.nextStep(), prompt.get(":, :1"));
                    }
                }))
                .isEmpty();
    }

    /** The block is frozen, as a loaded one, so that a step is one call of PyTorch. */
    @Test
    void warnsOfTheMaskOfAStep() {
        MultiHeadAttentionBlock block = attention(manager, true);
        block.freezeParameters(true);
        NDArray x = manager.arange(12f).sin().reshape(1, 3, 4);
        NDArray mask = array(DataType.FLOAT32, new Shape(1, 3), 0, 0, -1e9);
        List<String> lines = logged(() -> {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                Forward.infer(manager, block, cache.nextStep(), x.get(":, :2"));
                Forward.infer(manager, block, cache.nextStep(), x.get(":, 2:"), mask);
            }
        });
        assertThat(lines).hasSize(1).allSatisfy(line -> assertThat(line).contains("WARN", "mask (1, 3)", "four axes"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void warnsOfARepeatedStep(boolean isRepeated) {
        MultiHeadAttentionBlock block = attention(manager, true);
        NDArray x = manager.arange(20f).sin().reshape(1, 5, 4);
        List<String> lines = logged(() -> {
            try (KeyValueCache cache = new KeyValueCache(manager)) {
                Forward.infer(manager, block, cache.nextStep(), x.get(":, :2"));
                Forward.infer(manager, block, cache.nextStep(), x.get(isRepeated ? ":, :3" : ":, 2:"));
                // only the first later step is checked
                Forward.infer(manager, block, cache.nextStep(), x.concat(x, 1));
            }
        });
        assertThat(lines)
                .hasSize(isRepeated ? 1 : 0)
                .allSatisfy(line -> assertThat(line).contains("WARN", "step (1, 2, 3, 2)", "tokens of the cache"));
    }

    /** (B, H, C) is read as (H, W, C). */
    @Test
    void warnsOfAGridWithFewerAxesThanItWasInitializedWith() {
        assertAll(
                warned(() -> inferGrid(new Shape(2, 3, 2, 8), 3, 2, 8), "input (3, 2, 8)", "expandDims(0)"),
                warned(() -> inferGrid(new Shape(1, 2, 3, 2, 8), 3, 2, 8), "input (3, 2, 8)"),
                notWarned(() -> inferGrid(new Shape(2, 3, 2, 8), 1, 3, 2, 8)),
                notWarned(() -> inferGrid(new Shape(3, 2, 8), 4, 3, 2, 8)),
                notWarned(() -> inferGrid(null, 3, 2, 8)));
    }

    /** Initializes a block, unless the shape is null, and gives it another input. */
    private void inferGrid(Shape initialized, long... input) {
        Block block = GridPositionalEncodingBlock.builder()
                .setEncoding(GridEncoding.visionTransformer(8))
                .build();
        if (initialized != null) {
            block.initialize(manager, DataType.FLOAT32, initialized);
        }
        Forward.infer(manager, block, manager.zeros(new Shape(input))).close();
    }

    /** Nothing is read on a GPU, and on a CPU only by the first forward of a block. */
    @Test
    void readsNoArrayInASecondForward() {
        assumeEngine(TestEngine.PYTORCH); // the simulated GPUs compute with it
        SimulatedGpuEngine simulated = new SimulatedGpuEngine();
        for (Device device : List.of(Device.cpu(), Device.gpu())) {
            try (NDManager own = simulated.newBaseManager(device)) {
                MultiHeadAttentionBlock block = attention(own, false);
                NDArray x = own.ones(new Shape(2, 3, 4));
                NDArray mask = own.ones(new Shape(2, 1, 3, 3)).neq(own.zeros(new Shape(1)));
                simulated.takeReads();
                for (boolean isFirst : new boolean[] {true, false}) {
                    block.forward(new ParameterStore(own, false), new NDList(x, mask), false);
                    assertThat(simulated.takeReads() > 0).isEqualTo(isFirst && !device.isGpu());
                }
            }
        }
    }

    /**
     * A mask that is trained. With queries of 0, each of three keys has the probability 1/3, and with the other weights
     * 1 a result is the mean of the inputs 1, 2 and 6. Its derivative by the mask at key j is (x_j - 3) / 3.
     */
    @Test
    void keepsTheGradientOfAMask() {
        assumeEngine(TestEngine.PYTORCH);
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(1)
                .setHeadCount(1)
                .optBias(false)
                .build();
        block.setInitializer(Initializer.ONES, Parameter.Type.WEIGHT);
        block.getQueryProjection().setInitializer(Initializer.ZEROS, Parameter.Type.WEIGHT);
        block.initialize(manager, DataType.FLOAT64, new Shape(1, 3, 1));
        NDArray mask = Inputs.zeros(manager, DataType.FLOAT64, 1, 1, 3, 3);
        mask.setRequiresGradient(true);
        NDArray x = array(DataType.FLOAT64, new Shape(1, 3, 1), 1, 2, 6);
        try (GradientCollector collector = manager.getEngine().newGradientCollector()) {
            collector.backward(Forward.train(manager, block, x, mask).sum());
        }
        double[] expected = {-2 / 3.0, -1 / 3.0, 1, -2 / 3.0, -1 / 3.0, 1, -2 / 3.0, -1 / 3.0, 1};
        requireClose(mask.getGradient(), expected, 1e-12);
    }

    private static InputEmbeddingBlock.Builder embedding() {
        return InputEmbeddingBlock.builder()
                .setVocabularySize(9)
                .setEmbeddingSize(8)
                .optPaddingIndex(0);
    }

    private void forward(Block block, int... ids) {
        NDArray batch = manager.create(ids).expandDims(0);
        block.initialize(manager, DataType.FLOAT32, batch.getShape());
        block.forward(new ParameterStore(manager, false), new NDList(batch), false);
    }

    @Test
    void warnsOfPaddingThatNoAttentionHides() {
        assertAll(
                warned(() -> forward(embedding().build(), 5, 6, 0), "ids (1, 3)", "optReturnMask(true)"),
                warned(
                        () -> forward(
                                new SequentialBlock()
                                        .add(embedding().build())
                                        .add(SmallLayers.layer().build()),
                                5,
                                0),
                        "ids (1, 2)",
                        "TransformerStackBlock"),
                warned(
                        () -> {
                            InputEmbeddingBlock block = embedding().build();
                            forward(block, 5, 6, 7);
                            forward(block, 5, 6, 0);
                        },
                        "ids (1, 3)"),
                notWarned(() -> forward(embedding().build(), 5, 6, 7)),
                notWarned(() -> forward(embedding().optReturnMask(true).build(), 5, 0)),
                notWarned(() -> forward(
                        TransformerStackBlock.builder()
                                .optInput(embedding().build())
                                .setLayers(1, SmallLayers::layer)
                                .build(),
                        5,
                        0)),
                notWarned(() -> {
                    InputEmbeddingBlock block = embedding().build();
                    block.mask(manager.create(new int[][] {{5, 0}}));
                    forward(block, 5, 0);
                }));
    }

    private Runnable after(InputEmbeddingBlock.Builder input, Supplier<Block> next) {
        return () -> forward(new SequentialBlock().add(input.build()).add(next.get()), 5, 6);
    }

    private static InputEmbeddingBlock.Builder withoutPadding() {
        return InputEmbeddingBlock.builder().setVocabularySize(9).setEmbeddingSize(8);
    }

    private static TransformerLayerBlock.Builder rotaryLayer() {
        return TransformerLayerBlock.builder()
                .setEmbeddingSize(8)
                .setHeadCount(2)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(4).build());
    }

    private static PositionalEncodingBlock positions() {
        return PositionalEncodingBlock.builder().setEmbeddingSize(8).build();
    }

    @Test
    void warnsOfPositionsAfterDefaultOnes() {
        assertAll(
                warned(after(withoutPadding(), () -> rotaryLayer().build()), "input (1, 2, 8)", "optNoPositions()"),
                warned(
                        after(
                                withoutPadding(),
                                () -> rotaryLayer()
                                        .optNormPlacement(NormPlacement.BEFORE_PART)
                                        .build()),
                        "optNoPositions()"),
                warned(after(withoutPadding(), InputMistakesTest::positions), "optNoPositions()"),
                notWarned(after(withoutPadding(), () -> SmallLayers.layer().build())),
                notWarned(after(withoutPadding().optNoPositions(), InputMistakesTest::positions)),
                notWarned(after(
                        withoutPadding().optPositionalEncoding(positions()),
                        () -> rotaryLayer().build())));
    }
}
