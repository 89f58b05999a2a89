package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import ai.djl.nn.Block;
import ai.djl.nn.Blocks;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.relative.EncodingType;
import io.github.djlpositional.relative.LearnedRotaryEmbeddingBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
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

    /** The setters of all builders. */
    static Stream<Method> setters() {
        Stream<Class<?>> blocks = Stream.of(TestBlocks.values())
                .<Class<?>>map(kind -> kind.block().getClass())
                .distinct();
        return Stream.concat(
                        blocks,
                        Stream.of(
                                SinusoidalEncoding.class,
                                GridEncoding.class,
                                MultiHeadAttentionBlock.class,
                                TransformerLayerBlock.class,
                                LearnedRotaryEmbeddingBlock.class))
                .flatMap(type -> Stream.of(type.getDeclaredClasses()))
                .filter(BlockBuilder.class::isAssignableFrom)
                .flatMap(type -> Stream.of(type.getMethods()))
                .filter(method -> method.getName().matches("(set|opt)[A-Z].*|add")
                        && !method.getName().equals("setAll")
                        && !method.isBridge());
    }

    static Stream<Method> settersOfObjects() {
        return setters().filter(setter -> Stream.of(setter.getParameterTypes()).anyMatch(type -> !type.isPrimitive()));
    }

    static Stream<Method> settersOfValues() {
        return setters().filter(setter -> Stream.of(setter.getParameterTypes()).allMatch(type -> sample(type) != null));
    }

    private static Object sample(Class<?> type) {
        if (type.isEnum()) {
            return type.getEnumConstants()[0];
        }
        return Map.of(boolean.class, true, int.class, 2, float.class, 0.5f, double.class, 0.5, int[].class, new int[] {2
                })
                .get(type);
    }

    private static Object builder(Method setter) throws Exception {
        return setter.getDeclaringClass()
                .getEnclosingClass()
                .getMethod("builder")
                .invoke(null);
    }

    @ParameterizedTest
    @MethodSource("settersOfValues")
    void settersReturnTheirBuilder(Method setter) throws Exception {
        Object builder = builder(setter);
        Object[] arguments =
                Stream.of(setter.getParameterTypes()).map(BuildersTest::sample).toArray();
        assertThat(SmallBlocks.call(setter, builder, arguments)).isSameAs(builder);
    }

    @ParameterizedTest
    @MethodSource("settersOfObjects")
    void refusesNullAndNamesTheOption(Method setter) throws Exception {
        String option = setter.getName().equals("add")
                ? "encoding"
                : Character.toLowerCase(setter.getName().charAt(3))
                        + setter.getName().substring(4);
        Object[] arguments = Stream.of(setter.getParameterTypes())
                .map(type -> type.isPrimitive() ? 1 : null)
                .toArray();
        assertThatNullPointerException()
                .isThrownBy(() -> SmallBlocks.call(setter, builder(setter), arguments))
                .withMessageStartingWith(option + " is null: expected ")
                .withMessageContaining("; ");
    }

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
