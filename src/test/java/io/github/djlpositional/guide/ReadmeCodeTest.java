package io.github.djlpositional.guide;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import io.github.djlpositional.EngineTest;
import io.github.djlpositional.Forward;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;

/** The README's code. */
class ReadmeCodeTest {

    @EngineTest
    void embedsTokens(NDManager manager) {
        // tag::embedding[]
        InputEmbeddingBlock input = InputEmbeddingBlock.builder()
                .setVocabularySize(10_000)
                .setEmbeddingSize(512)
                .build(); // token ids (B, T) -> vectors (B, T, 512)
        // end::embedding[]
        input.initialize(manager, DataType.FLOAT32, new Shape(2, 10));
        assertThat(Forward.infer(manager, input, manager.ones(new Shape(2, 10), DataType.INT32))
                        .getShape())
                .isEqualTo(new Shape(2, 10, 512));
    }

    @EngineTest
    void addsPositions(NDManager manager) {
        // tag::positions[]
        Block positions =
                PositionalEncodingBlock.builder().setEmbeddingSize(512).build(); // (B, T, 512) -> the same
        // end::positions[]
        assertThat(Forward.infer(manager, positions, manager.ones(new Shape(2, 10, 512)))
                        .getShape())
                .isEqualTo(new Shape(2, 10, 512));
    }

    @EngineTest
    void attendsWithRelativePositions(NDManager manager) {
        // tag::attention[]
        MultiHeadAttentionBlock attention = MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(512)
                .setHeadCount(8)
                .optRelativeEncoding(
                        RotaryEmbeddingBlock.builder().setHeadSize(64).build())
                .build(); // (B, T, 512) -> the same
        // end::attention[]
        attention.initialize(manager, DataType.FLOAT32, new Shape(2, 10, 512));
        assertThat(Forward.infer(manager, attention, manager.ones(new Shape(2, 10, 512)))
                        .getShape())
                .isEqualTo(new Shape(2, 10, 512));
    }
}
