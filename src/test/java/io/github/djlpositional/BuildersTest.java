package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import ai.djl.nn.Blocks;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.lang.reflect.Method;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What builders do with null, with options that are set twice, and with parts that are built twice. */
class BuildersTest {

    @Test
    void theLastValueOfAnOptionCounts() {
        InputEmbeddingBlock input = embedding()
                .optPositionalEncoding(Linear.builder().setUnits(4).build())
                .optPositionalEncoding(positions().build())
                .build();
        assertThat(input.getPositionalEncoding()).isInstanceOf(PositionalEncodingBlock.class);
        embedding().optNoPositions().optNoPositions().build();
        TransformerLayerBlock layer = layer().build();
        assertThat(TransformerStackBlock.builder()
                        .setLayers(2, BuildersTest::layer)
                        .setLayers(List.of(layer))
                        .build()
                        .getLayers())
                .containsExactly(layer);
    }

    /** The setters of all builders that take something that may be null. */
    static Stream<Method> settersOfObjects() {
        Stream<Class<?>> blocks = Stream.of(TestBlocks.values())
                .<Class<?>>map(kind -> kind.block().getClass())
                .distinct();
        return Stream.concat(blocks, Stream.of(SinusoidalEncoding.class, GridEncoding.class))
                .flatMap(type -> Stream.of(type.getDeclaredClasses()))
                .filter(BlockBuilder.class::isAssignableFrom)
                .flatMap(type -> Stream.of(type.getMethods()))
                .filter(method -> method.getName().matches("(set|opt)[A-Z].*|add")
                        && !method.getName().equals("setAll")
                        && !method.isBridge()
                        && Stream.of(method.getParameterTypes()).anyMatch(type -> !type.isPrimitive()));
    }

    @ParameterizedTest
    @MethodSource("settersOfObjects")
    void refusesNullAndNamesTheOption(Method setter) throws Exception {
        String option = setter.getName().equals("add")
                ? "encoding"
                : Character.toLowerCase(setter.getName().charAt(3))
                        + setter.getName().substring(4);
        Object builder = setter.getDeclaringClass()
                .getEnclosingClass()
                .getMethod("builder")
                .invoke(null);
        Object[] arguments = Stream.of(setter.getParameterTypes())
                .map(type -> type.isPrimitive() ? 1 : null)
                .toArray();
        assertThatNullPointerException()
                .isThrownBy(() -> SmallBlocks.call(setter, builder, arguments))
                .withMessageStartingWith(option + " is null: expected ")
                .withMessageContaining("; ");
    }

    private static TransformerLayerBlock.Builder layer() {
        return TransformerLayerBlock.builder()
                .setAttention(MultiHeadAttentionBlock.builder()
                        .setEmbeddingSize(4)
                        .setHeadCount(1)
                        .build())
                .setHiddenSize(8);
    }

    @Test
    void refusesToBuildTwoBlocksWithTheSameChildren() {
        Supplier<MultiHeadAttentionBlock.Builder> attention = () -> MultiHeadAttentionBlock.builder()
                .setEmbeddingSize(4)
                .setHeadCount(1)
                .optRelativeEncoding(AlibiBiasBlock.builder().setHeadCount(1).build());
        Supplier<RmsNormBlock> norm =
                () -> RmsNormBlock.builder().setEmbeddingSize(4).build();
        TransformerLayerBlock.Builder layer = TransformerLayerBlock.builder()
                .setAttention(attention.get().build())
                .setHiddenSize(8);
        for (BlockBuilder<?, ?> builder : List.of(
                layer,
                TransformerLayerBlock.builder()
                        .setAttention(attention.get().build())
                        .optCrossAttention(attention.get().build())
                        .setHiddenSize(8),
                attention.get().optQueryNorm(norm.get()),
                attention.get().optKeyNorm(norm.get()),
                TransformerStackBlock.builder()
                        .setLayers(List.of(TransformerLayerBlock.builder()
                                .setAttention(attention.get().build())
                                .setHiddenSize(8)
                                .build())),
                embedding().optTokenEmbedding(Blocks.identityBlock()))) {
            builder.build();
            assertThatIllegalStateException()
                    .isThrownBy(builder::build)
                    .withMessageContainingAll("twice", "share", "another builder");
        }
        // with another child, and with an encoding or settings alone
        TransformerLayerBlock first =
                layer.setAttention(attention.get().build()).build();
        assertThat(layer.setAttention(attention.get().build()).build().getAttention())
                .isNotSameAs(first.getAttention());
        MultiHeadAttentionBlock.Builder shared = attention.get();
        assertThat(shared.build().getRelativeEncodings())
                .isEqualTo(shared.build().getRelativeEncodings());
        PositionalEncodingBlock.Builder settings = positions();
        assertThat(settings.build()).isNotSameAs(settings.build());
        // a build that was refused took nothing
        TransformerLayerBlock.Builder incomplete =
                TransformerLayerBlock.builder().setAttention(attention.get().build());
        refused(incomplete::build, "hiddenSize");
        incomplete.setHiddenSize(8).build();
    }
}
