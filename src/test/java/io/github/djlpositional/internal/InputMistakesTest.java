package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.training.ParameterStore;
import ai.djl.util.PairList;
import io.github.djlpositional.DevicesTest;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** Each kind of mistake is logged once, and a block reads only its first arguments. */
class InputMistakesTest {

    @BeforeEach
    void reportAll() {
        InputMistakes.REPORTED.clear();
    }

    /** What a program logs. */
    private static List<String> logged(Runnable program) {
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

    /** A program that makes a mistake logs it once, in three parts. */
    private static void requireLogged(Runnable program, String... parts) {
        List<String> lines = logged(() -> {
            program.run();
            program.run();
        });
        assertThat(lines).hasSize(1);
        assertThat(lines.get(0)).contains("WARN", ": expected ", "; ").contains(parts);
    }

    private static MultiHeadAttentionBlock attention(NDManager manager, boolean isCausal) {
        MultiHeadAttentionBlock block = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(4)
                .setHeadCount(2)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(2).build())
                .optCausal(isCausal)
                .build();
        block.initialize(manager, DataType.FLOAT32, new Shape(-1, -1, 4));
        return block;
    }

    /** A new attention each time, so that only the process remembers. */
    private static Runnable masked(NDManager manager, boolean isCausal, Supplier<NDArray> mask) {
        return () -> {
            NDArray given = mask.get();
            long batch =
                    given.getShape().dimension() == 4 ? 1 : given.getShape().get(0);
            NDArray x = manager.ones(new Shape(batch, given.getShape().getLastDimension(), 4));
            Forward.infer(manager, attention(manager, isCausal), x, given);
        };
    }

    @EngineTest(onCpu = true)
    void aMaskWithoutVisibleKeys(NDManager manager) {
        requireLogged(masked(manager, false, () -> manager.zeros(new Shape(2, 3))), "mask (2, 3)", "logicalNot");
        InputMistakes.REPORTED.clear();
        requireLogged(masked(manager, false, () -> manager.zeros(new Shape(1, 1))), "mask (1, 1)", "logicalNot");
        // PyTorch's mask of a causal attention, true for later keys
        NDArray later = manager.arange(3f).expandDims(0).gt(manager.arange(3f).expandDims(1));
        InputMistakes.REPORTED.clear();
        requireLogged(masked(manager, true, () -> later.reshape(1, 1, 3, 3)), "causal attention", "logicalNot");
        assertThat(logged(masked(manager, false, () -> later.reshape(1, 1, 3, 3))))
                .isEmpty();
    }

    @EngineTest(onCpu = true)
    void aMaskToAddOfZerosAndOnes(NDManager manager) {
        NDArray mask = manager.create(new float[] {1, 1, 0}, new Shape(1, 1, 1, 3));
        requireLogged(masked(manager, false, () -> mask), "mask (1, 1, 1, 3)", "mask.neq(0)");
        InputMistakes.REPORTED.clear();
        assertThat(logged(masked(manager, false, () -> mask.mul(2)))).isEmpty();
        assertThat(logged(masked(manager, false, mask::zerosLike))).isEmpty();
    }

    @EngineTest(onCpu = true)
    void aNegativeMask(NDManager manager) {
        NDArray mask = manager.create(new float[][] {{0, 0, -1e9f}});
        requireLogged(masked(manager, false, () -> mask), "mask (1, 3)", "four axes");
        InputMistakes.REPORTED.clear();
        NDArray ofQueries = mask.expandDims(1).broadcast(new Shape(1, 3, 3));
        requireLogged(masked(manager, false, () -> ofQueries), "mask (1, 3, 3)", "four axes");
        InputMistakes.REPORTED.clear();
        assertThat(logged(masked(manager, false, () -> mask.reshape(1, 1, 1, 3))))
                .isEmpty();
    }

    @EngineTest(onCpu = true)
    void aTriangle(NDManager manager) {
        NDArray lower = manager.create(new int[][] {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}});
        for (NDArray mask : List.of(lower, lower.neq(0), lower.eq(0))) {
            InputMistakes.REPORTED.clear();
            requireLogged(masked(manager, false, () -> mask), "mask (3, 3)", "optCausal(true)");
            InputMistakes.REPORTED.clear();
            assertThat(logged(masked(manager, true, () -> mask))).noneMatch(line -> line.contains("triangle"));
        }
        assertThat(logged(masked(manager, false, () -> lower.get(":2, :2")))).isEmpty();
    }

    @EngineTest(onCpu = true)
    void aMaskAsPositions(NDManager manager) {
        NDArray x = manager.ones(new Shape(1, 3, 4));
        NDArray mask = manager.create(new int[][] {{1, 1, 0}});
        PairList<String, Object> params = Forward.params(PositionalEncodingBlock.POSITIONS, mask);
        for (Supplier<Block> block : List.<Supplier<Block>>of(
                () -> PositionalEncodingBlock.builder().setEmbeddingSize(4).build(), () -> attention(manager, false))) {
            InputMistakes.REPORTED.clear();
            requireLogged(() -> Forward.infer(manager, block.get(), params, x), "positions (1, 3)", "[x, mask]");
        }
        InputMistakes.REPORTED.clear();
        requireLogged(
                () -> Forward.infer(
                        manager,
                        RotaryEmbeddingBlock.builder().setHeadSize(4).build(),
                        manager.ones(new Shape(1, 1, 3, 4)),
                        mask),
                "positions (1, 3)");
        InputMistakes.REPORTED.clear();
        Block sinusoids = PositionalEncodingBlock.builder().setEmbeddingSize(4).build();
        assertThat(logged(() -> Forward.infer(manager, sinusoids, x, manager.create(new int[] {0, 1, 2}))))
                .isEmpty();
    }

    @EngineTest(onCpu = true)
    void halvesBeyondTheirWholeNumbers(NDManager manager) {
        NDArray x = manager.ones(new Shape(1, 2, 4));
        NDArray positions = manager.create(new float[] {1, 2048});
        Consumer<NDArray> forward = given -> Forward.infer(
                manager, PositionalEncodingBlock.builder().setEmbeddingSize(4).build(), x, given);
        requireLogged(
                () -> forward.accept(positions.toType(DataType.FLOAT16, false)), "positions (2)", "2047", "FLOAT16");
        InputMistakes.REPORTED.clear();
        assertThat(logged(() -> {
                    forward.accept(positions);
                    forward.accept(positions.sub(1).toType(DataType.FLOAT16, false));
                }))
                .isEmpty();
    }

    @EngineTest(onCpu = true)
    void aRepeatedStep(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, true);
        NDArray x = manager.arange(20f).sin().reshape(1, 5, 4);
        requireLogged(
                () -> {
                    try (KeyValueCache cache = new KeyValueCache(manager)) {
                        Forward.infer(manager, block, cache.nextStep(), x.get(":, :2"));
                        Forward.infer(manager, block, cache.nextStep(), x.get(":, :3"));
                    }
                },
                "step (1, 2, 3, 2)",
                "tokens of the cache");
        InputMistakes.REPORTED.clear();
        assertThat(logged(() -> {
                    try (KeyValueCache cache = new KeyValueCache(manager)) {
                        Forward.infer(manager, block, cache.nextStep(), x.get(":, :2"));
                        Forward.infer(manager, block, cache.nextStep(), x.get(":, 2:"));
                        // not the first later step
                        Forward.infer(manager, block, cache.nextStep(), x.concat(x, 1));
                    }
                }))
                .isEmpty();
    }

    @EngineTest(onCpu = true)
    void aParameterOfAnotherLibrary(NDManager manager) {
        NDArray x = manager.ones(new Shape(1, 3, 4));
        for (String name : List.of("attention_mask", "position_ids", "past_key_values")) {
            InputMistakes.REPORTED.clear();
            requireLogged(
                    () -> Forward.infer(manager, attention(manager, true), Forward.params(name, 1), x),
                    "forward parameter " + name,
                    "startPosition");
        }
        InputMistakes.REPORTED.clear();
        assertThat(logged(() -> List.of("mask", "position", "cache", "start_index")
                        .forEach(name -> Forward.infer(manager, attention(manager, true), Forward.params(name, 1), x))))
                .isEmpty();
    }

    @EngineTest(onCpu = true)
    void aLaterForwardOfABlockIsNotChecked(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, false);
        NDArray x = manager.ones(new Shape(1, 3, 4));
        assertThat(logged(() -> {
                    Forward.infer(manager, block, x, manager.ones(new Shape(1, 3)));
                    Forward.infer(manager, block, x, manager.zeros(new Shape(1, 3)));
                }))
                .isEmpty();
    }

    /** Nothing is read on a GPU, and on a CPU only by the first forward of a block. */
    @Test
    @EnabledIf(
            value = "hasPyTorch",
            disabledReason = "the simulated GPUs compute with PyTorch, which is not on the class path")
    void aSecondForwardReadsNoArray() {
        SimulatedGpuEngine engine = new SimulatedGpuEngine();
        for (Device device : List.of(Device.cpu(), Device.gpu())) {
            try (NDManager manager = engine.newBaseManager(device)) {
                MultiHeadAttentionBlock block = attention(manager, false);
                NDArray x = manager.ones(new Shape(2, 3, 4));
                NDArray mask = manager.ones(new Shape(2, 1, 3, 3)).neq(manager.zeros(new Shape(1)));
                engine.takeReads();
                for (boolean isFirst : new boolean[] {true, false}) {
                    block.forward(new ParameterStore(manager, false), new NDList(x, mask), false);
                    assertThat(engine.takeReads() > 0).isEqualTo(isFirst && !device.isGpu());
                }
            }
        }
    }

    static boolean hasPyTorch() {
        return DevicesTest.hasPyTorch();
    }

    /** A mask that is trained keeps its gradient. */
    @EngineTest(engine = "PyTorch", onCpu = true)
    void aCheckRecordsNothing(NDManager manager) {
        NDArray mask = manager.zeros(new Shape(1, 1, 3, 3));
        mask.setRequiresGradient(true);
        try (var collector = manager.getEngine().newGradientCollector()) {
            NDArray y = Forward.train(manager, attention(manager, false), manager.ones(new Shape(1, 3, 4)), mask);
            collector.backward(y.sum());
        }
        assertThat(mask.getGradient().getShape()).isEqualTo(mask.getShape());
    }
}
