package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.attention.TestNumbers.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What builders do with parts that are built twice; {@code accepted.txt} has options that are set twice. */
class BuildersTest {

    private static MultiHeadAttentionBlock.Builder attention() {
        return EncodingType.ALIBI.attention(2);
    }

    private static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder().setAttention(attention().build()).setHiddenSize(8);
    }

    private static Block norm() {
        return RmsNormBlock.builder().setEmbeddingSize(4).build();
    }

    @Test
    void refusesToBuildTwoBlocksWithTheSameChildren() {
        for (BlockBuilder<?, ?> builder : List.of(
                layer(),
                layer().optCrossAttention(attention().build()),
                attention().optQueryNorm(norm()),
                attention().optKeyNorm(norm()),
                TransformerStackBlock.builder().setLayers(List.of(layer().build())),
                embedding().optTokenEmbedding(Blocks.identityBlock()))) {
            builder.build();
            assertThatIllegalStateException()
                    .isThrownBy(builder::build)
                    .withMessageContainingAll("twice", "share", "another builder");
        }
        // with another child, and with an encoding or settings alone
        TransformerLayerBlock.Builder layer = layer();
        assertThat(layer.build().getAttention())
                .isNotSameAs(layer.setAttention(attention().build()).build().getAttention());
        MultiHeadAttentionBlock.Builder shared = attention();
        assertThat(shared.build().getRelativeEncodings())
                .isEqualTo(shared.build().getRelativeEncodings());
        PositionalEncodingBlock.Builder settings = positions();
        assertThat(settings.build()).isNotSameAs(settings.build());
        // a build that was refused took nothing
        TransformerLayerBlock.Builder incomplete =
                TransformerLayerBlock.builder().setAttention(attention().build());
        refused(incomplete::build, "hiddenSize");
        incomplete.setHiddenSize(8).build();
    }
}
