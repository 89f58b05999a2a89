package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import ai.djl.nn.Blocks;
import io.github.djlpositional.attention.AlibiBiasBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativePositionBiasBlock;
import io.github.djlpositional.attention.RotaryEmbeddingBlock;
import io.github.djlpositional.attention.ShawRelativePositionBlock;
import io.github.djlpositional.attention.TransformerXlPositionBlock;
import io.github.djlpositional.math.GridEncoding;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What each builder refuses by itself, where the blocks that it builds with would refuse it too, or nobody. */
class BuilderRefusalsTest {

    /** A builder with one setting out of its range, and how the refusal begins. */
    private record Refusal(String message, Supplier<?> building) {
        @Override
        public String toString() {
            return message;
        }
    }

    static List<Refusal> refusals() {
        return List.of(
                new Refusal(
                        "dropout rate 1.0 is outside [0, 1)",
                        () -> learned().optDropoutRate(1).build()),
                new Refusal(
                        "sequence axis -1 is the embedding's",
                        () -> learned().optSequenceAxis(-1).build()),
                new Refusal(
                        "sequence axis -1 is the embedding's",
                        () -> PositionalEncodingBlock.builder()
                                .setEmbeddingSize(4)
                                .optSequenceAxis(-1)
                                .build()),
                new Refusal(
                        "dropout rate -0.5 is outside [0, 1)",
                        () -> GridPositionalEncodingBlock.builder()
                                .setEncoding(GridEncoding.visionTransformer(4))
                                .optDropoutRate(-0.5f)
                                .build()),
                new Refusal(
                        "embedding size 0 is not positive",
                        () -> InputEmbeddingBlock.builder()
                                .setVocabularySize(7)
                                .optPositionalEncoding(Blocks.identityBlock())
                                .build()),
                new Refusal(
                        "embedding size 0 is not positive",
                        () -> MultiHeadAttentionBlock.builder().setHeadCount(2).build()),
                new Refusal(
                        "dropout rate 1.0 is outside [0, 1)",
                        () -> MultiHeadAttentionBlock.builder()
                                .setEmbeddingSize(8)
                                .setHeadCount(2)
                                .optDropoutRate(1)
                                .build()),
                new Refusal(
                        "head size 0 is not positive",
                        () -> ShawRelativePositionBlock.builder().build()),
                new Refusal(
                        "maximum distance 0 is not positive",
                        () -> ShawRelativePositionBlock.builder()
                                .setHeadSize(4)
                                .optMaxDistance(0)
                                .build()),
                new Refusal(
                        "maximum sequence length 0 is not positive",
                        () -> RotaryEmbeddingBlock.builder()
                                .setHeadSize(4)
                                .optMaxSequenceLength(0)
                                .build()),
                new Refusal(
                        "head size 0 is not positive",
                        () -> RotaryEmbeddingBlock.builder().build()),
                new Refusal(
                        "head count 0 is not positive",
                        () -> AlibiBiasBlock.builder().build()),
                new Refusal(
                        "head count 0 is not positive",
                        () -> RelativePositionBiasBlock.builder().build()),
                new Refusal(
                        "embedding size 8 is not divisible by head count 3",
                        () -> TransformerXlPositionBlock.builder()
                                .setEmbeddingSize(8)
                                .setHeadCount(3)
                                .build()),
                new Refusal(
                        "embedding size 0 is not positive",
                        () -> TransformerXlPositionBlock.builder()
                                .setHeadCount(2)
                                .build()));
    }

    private static LearnedPositionalEncodingBlock.Builder learned() {
        return LearnedPositionalEncodingBlock.builder().setEmbeddingSize(4);
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void settingOutOfItsRange(Refusal refusal) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> refusal.building().get())
                .withMessageStartingWith(refusal.message());
    }

    /** The last values that are allowed. */
    @Test
    void settingsAtTheEndsOfTheirRanges() {
        assertThat(learned().optDropoutRate(0.5f).optSequenceAxis(0).build().getArguments())
                .containsEntry("dropoutRate", 0.5f)
                .containsEntry("sequenceAxis", 0);
        assertThat(ShawRelativePositionBlock.builder()
                        .setHeadSize(1)
                        .optMaxDistance(1 << 29)
                        .build()
                        .getArguments())
                .containsEntry("maxDistance", 1 << 29);
    }
}
