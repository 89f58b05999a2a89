package io.github.djlpositional.attention;

import static io.github.djlpositional.attention.TestNumbers.HEADS;
import static io.github.djlpositional.attention.TestNumbers.SIZE;
import static io.github.djlpositional.attention.TestNumbers.filled;
import static io.github.djlpositional.attention.TestNumbers.numbers;
import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.simulated.SimulatedGpuEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
    void gradientsOfLongSequencesAreThoseOfTheFormulaWithAndWithoutTheTrainingFlag(Engine engine, NDManager manager) {
        List<double[]> gradients = new ArrayList<>();
        for (boolean isFused : new boolean[] {true, false}) {
            MultiHeadAttentionBlock block = filled(
                    manager,
                    EncodingType.ROTARY
                            .attention(HEADS)
                            .optCausal(true)
                            .optFusedKernel(isFused)
                            .build(),
                    DataType.FLOAT64);
            ParameterStore store = new ParameterStore(manager, false);
            for (boolean training : new boolean[] {false, true}) {
                NDArray x = numbers(manager, 3, DataType.FLOAT64, 1, 600, SIZE);
                x.setRequiresGradient(true);
                try (GradientCollector collector = engine.newGradientCollector()) {
                    NDArray y = block.forward(store, new NDList(x), training).head();
                    // a residual connection, whose gradient is 1
                    collector.backward(y.mul(y).add(x).sum());
                }
                gradients.add(TestNumbers.doubles(x.getGradient()));
            }
        }
        assertThat(Arrays.stream(gradients.get(3))
                        .map(g -> Math.abs(g - 1))
                        .max()
                        .orElseThrow())
                .as("the attention's part")
                .isGreaterThan(0.1);
        for (double[] gradient : gradients) {
            requireClose(manager.create(gradient), gradients.get(3), 1e-9);
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
