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
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import ai.djl.training.initializer.Initializer;
import io.github.djlpositional.GridPositionalEncodingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.Inputs;
import io.github.djlpositional.support.OnEachEngine;
import io.github.djlpositional.support.TestEngine;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
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

    private void inferWith(String parameter) {
        NDArray x = Inputs.zeros(manager, 1, 3, 4);
        Forward.infer(manager, attention(manager, true), Forward.params(parameter, 1), x);
    }

    @ParameterizedTest
    @ValueSource(strings = {"attention_mask", "key_padding_mask", "position_ids", "past_key_values", "past_key_value"})
    void warnsOfAForwardParameterOfAnotherLibrary(String name) throws Throwable {
        warned(() -> inferWith(name), "forward parameter " + name, "startPosition")
                .execute();
    }

    @ParameterizedTest
    @ValueSource(strings = {"mask", "position", "cache", "start_index"})
    void acceptsOtherForwardParameters(String name) throws Throwable {
        notWarned(() -> inferWith(name)).execute();
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
}
