package io.github.djlpositional.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.nn.Parameter;
import io.github.djlpositional.EngineTest;
import java.nio.channels.ClosedByInterruptException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;

/** The thread is interrupted before weights are read: Java's channels end the reading, and no parameter has changed. */
class FaultInterruptedReadTest {

    @AfterEach
    void leavesTheThreadToTheNextTest() {
        Thread.interrupted();
    }

    @EngineTest
    void parameterStaysAndIsLoadedByTheNextCall(NDManager manager) throws Exception {
        for (Map.Entry<String, String> each : Map.of(
                        "bert.safetensors", "bert.embeddings.word_embeddings.weight", "gpt2.npz", "wte.weight")
                .entrySet()) {
            Parameter parameter = Weights.parameter(manager, DataType.FLOAT32, 11, 6);
            float[] before = parameter.getArray().toFloatArray();
            WeightLoader loader = WeightLoader.of(Weights.open(each.getKey())).table(each.getValue(), parameter);
            int open = manager.getManagedArrays().size();
            Thread.currentThread().interrupt();
            assertThatExceptionOfType(ClosedByInterruptException.class)
                    .as(each.getKey())
                    .isThrownBy(loader::load);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(parameter.getArray().toFloatArray()).isEqualTo(before);
            assertThat(manager.getManagedArrays()).hasSize(open);
            loader.load();
            assertThat(parameter.getArray().toFloatArray()).isNotEqualTo(before);
        }
    }
}
