package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.CaseFile;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.attention.KeyValueCache;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.refusals.Expression;
import io.github.djlpositional.relative.RotaryEmbeddingBlock;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
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

    private static final CaseFile WARNINGS = CaseFile.read("refusals/warnings.txt");

    static List<String> names() {
        return WARNINGS.rows();
    }

    /** A program that makes a mistake twice logs it once, in three parts. */
    @EngineTest(onCpu = true)
    void isLoggedOnce(NDManager manager, String row) {
        String[] columns = row.split(" +[|] ", -1);
        List<String> lines = logged(() -> {
            for (int call = 0; call < 2; call++) {
                // a new block each time, so that only the process remembers
                assertThatNoException()
                        .isThrownBy(() -> new Expression(columns[0], WARNINGS.definitions(), manager).value());
            }
        });
        if (columns[1].equals("-")) {
            assertThat(lines).isEmpty();
        } else {
            assertThat(lines).hasSize(1);
            assertThat(lines.get(0)).contains("WARN", ": expected ", "; ").contains(columns[1].split("; ", -1));
        }
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

    @EngineTest(onCpu = true)
    void aRepeatedStep(NDManager manager) {
        MultiHeadAttentionBlock block = attention(manager, true);
        NDArray x = manager.arange(20f).sin().reshape(1, 5, 4);
        for (boolean isRepeated : new boolean[] {true, false}) {
            InputMistakes.REPORTED.clear();
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
    }

    /** Nothing is read on a GPU, and on a CPU only by the first forward of a block. */
    @Test
    @EnabledIf(
            value = "io.github.djlpositional.DevicesTest#hasPyTorch",
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
