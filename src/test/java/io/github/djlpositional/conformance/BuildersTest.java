package io.github.djlpositional.conformance;

import static io.github.djlpositional.support.Rejections.rejected;
import static io.github.djlpositional.support.SmallBlocks.embedding;
import static io.github.djlpositional.support.SmallBlocks.positions;
import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.RmsNormBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What builders do with options that are set twice, and with blocks that are built twice. */
class BuildersTest {

    private static MultiHeadAttentionBlock.Builder attention() {
        return EncodingType.ALIBI.attention(2);
    }

    private static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder().setAttention(attention().build()).optFeedForward(feedForward());
    }

    private static FeedForwardBlock feedForward() {
        return FeedForwardBlock.builder().setEmbeddingSize(8).setHiddenSize(8).build();
    }

    private static Block norm() {
        return RmsNormBlock.builder().setEmbeddingSize(4).build();
    }

    @Test
    void theLastValueOfAnOptionCounts() {
        PositionalEncodingBlock last = positions().build();
        InputEmbeddingBlock input = embedding()
                .optPositionalEncoding(Linear.builder().setUnits(4).build())
                .optPositionalEncoding(last)
                .build();
        assertThat(input.getPositionalEncoding()).isSameAs(last);
        TransformerLayerBlock only = layer().build();
        TransformerStackBlock stack = TransformerStackBlock.builder()
                .setLayers(List.of(layer().build(), layer().build()))
                .setLayers(List.of(only))
                .build();
        assertThat(stack.getLayers()).containsExactly(only);
    }

    static Stream<BlockBuilder<?, ?>> buildersWithChildren() {
        return Stream.of(
                layer(),
                layer().optCrossAttention(attention().build()),
                attention().optQueryNorm(norm()),
                attention().optKeyNorm(norm()),
                TransformerStackBlock.builder().setLayers(List.of(layer().build())),
                embedding().optTokenEmbedding(Blocks.identityBlock()));
    }

    @ParameterizedTest
    @MethodSource("buildersWithChildren")
    void rejectsASecondBlockWithTheSameChildren(BlockBuilder<?, ?> builder) throws Throwable {
        builder.build();
        rejected(IllegalStateException.class, builder::build, "twice", "share", "another builder")
                .execute();
    }

    @Test
    void buildsASecondBlockWithAnotherChild() {
        TransformerLayerBlock.Builder layer = layer();
        assertThat(layer.build().getAttention())
                .isNotSameAs(layer.setAttention(attention().build())
                        .optFeedForward(feedForward())
                        .build()
                        .getAttention());
    }

    @Test
    void buildsTwoBlocksThatShareAnEncoding() {
        MultiHeadAttentionBlock.Builder shared = attention();
        assertThat(shared.build().getRelativeEncodings())
                .isNotEmpty()
                .isEqualTo(shared.build().getRelativeEncodings());
    }

    @Test
    void buildsTwoBlocksFromNumbersAlone() {
        PositionalEncodingBlock.Builder settings = positions();
        assertThat(settings.build()).isNotSameAs(settings.build());
    }

    @Test
    void aBuildThatIsRejectedTakesNoChild() throws Throwable {
        MultiHeadAttentionBlock child = attention().build();
        TransformerLayerBlock.Builder wrong =
                TransformerLayerBlock.builder().setAttention(child).optEpsilon(0);
        rejected(wrong::build, "epsilon").execute();
        assertThat(wrong.optEpsilon(1e-6).build().getAttention()).isSameAs(child);
    }
}
