package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import org.junit.jupiter.api.Test;

class FusedKernelTest {

    @EngineTest
    void belongsToPyTorch(Engine engine, NDManager manager) {
        FusedKernel kernel = FusedKernel.of(manager.ones(new Shape(1)));
        assertThat(kernel != null).isEqualTo(engine.getEngineName().equals("PyTorch"));
        assertThat(FusedKernel.of(manager.ones(new Shape(1)))).isSameAs(kernel);
    }

    @Test
    void isMissingWhereTheArchiveDoesNotLoad() {
        try (NDManager manager = new SimulatedGpuEngine().newBaseManager()) {
            assertThat(FusedKernel.of(manager.ones(new Shape(1)))).isNull();
        }
    }

    @EngineTest
    void changesOnlyTheRounding(NDManager manager) {
        NDArray x = numbers(manager, 5, DataType.FLOAT32, 2, 40, 8);
        for (boolean isCausal : new boolean[] {true, false}) {
            MultiHeadAttentionBlock.Builder builder = MultiHeadAttentionBlock.builder()
                    .setEmbeddingSize(8)
                    .setHeadCount(4)
                    .optKeyValueHeadCount(2)
                    .optScale(0.3)
                    .optWindow(9)
                    .optCausal(isCausal);
            MultiHeadAttentionBlock fused = filled(manager, builder.build(), DataType.FLOAT32);
            MultiHeadAttentionBlock plain =
                    filled(manager, builder.optFusedKernel(false).build(), DataType.FLOAT32);
            requireClose(Forward.infer(manager, fused, x), TestNumbers.doubles(Forward.infer(manager, plain, x)), 2e-5);
        }
    }
}
