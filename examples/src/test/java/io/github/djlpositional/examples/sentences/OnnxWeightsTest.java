package io.github.djlpositional.examples.sentences;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.types.Shape;
import java.io.IOException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Errors; that the weights are right is tested by {@link SentenceEncoderTest}. */
class OnnxWeightsTest {

    private static OnnxWeights weights;

    @BeforeAll
    static void read() throws IOException {
        weights = new OnnxWeights(SentenceEncoder.publishedModel());
    }

    @Test
    void aMatrixHasTheShapeThatItHasInPyTorch() throws Exception {
        String name = "encoder.layer.0.intermediate.dense.weight";
        assertThat(weights.get(name, new Shape(1536, 384)).remaining()).isEqualTo(1536 * 384);
        assertThatThrownBy(() -> weights.get(name, new Shape(384, 1536)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(name)
                .hasMessageContaining("[384, 1536]");
    }

    @Test
    void anUnknownNameIsNamed() {
        assertThatThrownBy(() -> weights.get("encoder.layer.6.output.dense.weight", new Shape(384, 1536)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("encoder.layer.6.output.dense.weight");
    }

    @Test
    void integersAreRejected() {
        assertThatThrownBy(() -> weights.get("embeddings.position_ids", new Shape(1, 512)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("embeddings.position_ids")
                .hasMessageContaining("ONNX type [7]");
    }
}
