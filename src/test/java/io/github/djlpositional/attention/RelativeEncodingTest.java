package io.github.djlpositional.attention;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.ParameterStore;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.TestEngine;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Relative encodings by the names of their papers. */
class RelativeEncodingTest {

    @Test
    void rejectsUnknownNamesAndListsTheKnownOnes() {
        assertAll(Stream.of("", "-", "alibis", "RotaryEmbedding", null)
                .map(name -> rejected(
                        () -> RelativeEncoding.named(name, 2, 4, Map.of()),
                        String.valueOf(name),
                        "rotary",
                        "RoPE",
                        "ALiBi",
                        "T5")));
    }

    @Test
    void rejectsArgumentsThatAnEncodingDoesNotHave() {
        assertAll(rejected(() -> RelativeEncoding.named("T5", 2, 4, Map.of("headSize", 4)), "headSize"));
    }

    /** A program changes an encoding while an attention computes with it. */
    @ParameterizedTest
    @EnumSource
    void isNotClearedWhileAnAttentionUsesIt(EncodingType type) {
        TestEngine.PYTORCH.assumeAvailable();
        MultiHeadAttentionBlock attention = type.attention(2).build();
        try (NDManager manager = TestEngine.PYTORCH.newManager()) {
            attention.initialize(manager, DataType.FLOAT32, new Shape(1, 3, attention.getEmbeddingSize()));
            assumeThat(attention.getRelativeEncodings()).isNotEmpty();
            RelativeEncoding encoding = attention.getRelativeEncodings().get(0);
            assumeThat(encoding.getParameters().values()).isNotEmpty();
            Parameter parameter = encoding.getParameters().valueAt(0);
            ParameterStore clearing = new ParameterStore(manager, false) {
                @Override
                public NDArray getValue(Parameter each, Device device, boolean training) {
                    if (each == parameter) {
                        encoding.clear();
                    }
                    return super.getValue(each, device, training);
                }
            };
            NDArray x = manager.ones(new Shape(1, 3, attention.getEmbeddingSize()));
            assertThatIllegalStateException()
                    .isThrownBy(() -> attention.forward(clearing, new NDList(x), false))
                    .withMessageContaining("in use");
            assertThat(Forward.infer(manager, attention, x).getShape()).isEqualTo(x.getShape());
        }
    }
}
