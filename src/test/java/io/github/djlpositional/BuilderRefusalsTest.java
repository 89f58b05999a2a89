package io.github.djlpositional;

import static io.github.djlpositional.SmallBlocks.embedding;
import static io.github.djlpositional.SmallBlocks.learned;
import static io.github.djlpositional.SmallBlocks.positions;
import static io.github.djlpositional.SmallBlocks.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Blocks;
import ai.djl.nn.core.Linear;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Builders reject settings that are out of range, missing, or contradict each other. The message names setting and
 * value.
 */
class BuilderRefusalsTest {

    private static GridPositionalEncodingBlock.Builder grid() {
        return GridPositionalEncodingBlock.builder().setEncoding(GridEncoding.visionTransformer(4));
    }

    /** Creates a block from its arguments, with another value of a setting. */
    private static HasArguments with(TestBlocks kind, String setting, String value) throws Exception {
        Map<String, Object> arguments = new HashMap<>(((HasArguments) kind.block()).getArguments());
        arguments.put(setting, value);
        return SmallBlocks.fromArguments(kind.block().getClass(), arguments);
    }

    /** Blocks, one of their settings, and values that are out of its range. */
    @ParameterizedTest
    @CsvSource({
        "POSITIONS LEARNED EMBEDDING, embeddingSize, 0 -1 -2147483648",
        "POSITIONS LEARNED ROTARY, maxSequenceLength, 0 -1 -2147483648",
        "EMBEDDING, vocabularySize, 0 -1 -2147483648",
        "SHAW, maxDistance, 0 -1 -2147483648",
        "POSITIONS LEARNED EMBEDDING GRID ATTENTION, dropoutRate, -0.1 1.0 2.0 NaN -Infinity",
        "POSITIONS, learnedScale, NaN Infinity",
        "POSITIONS, autoExtend, 4999 536870913",
        "EMBEDDING, paddingIndex, -1 7",
        "POSITIONS LEARNED, sequenceAxis, -1"
    })
    void refusesValuesOutOfRange(String blocks, String setting, String values) {
        for (String block : blocks.split(" ", -1)) {
            for (String value : values.split(" ", -1)) {
                refused(() -> with(TestBlocks.valueOf(block), setting, value), setting + " " + value);
            }
        }
    }

    @Test
    void refusesSizesThatDoNotFitEachOther() {
        SinusoidalEncoding six = SinusoidalEncoding.vaswani(6);
        refused(positions().optEncoding(six)::build, "size 6", "embeddingSize 4");
        refused(learned().optEncoding(six)::build, "size 6", "embeddingSize 4");
        refused(
                embedding()
                        .setEmbeddingSize(6)
                        .optPositionalEncoding(positions().build())::build,
                "size 4",
                "embeddingSize 6");
    }

    @Test
    void refusesSettingsOfAnInputEmbeddingThatContradictEachOther() {
        PositionalEncodingBlock unadded = positions().optAddToInput(false).build();
        refused(embedding().optPositionalEncoding(unadded)::build, "addToInput=false", "optAddToInput(true)");
        refused(embedding().optPositionalEncoding(grid().build())::build, "GridPositionalEncodingBlock");
        refused(
                embedding().optPositionalEncoding(positions().build()).optMaxSequenceLength(20)::build,
                "default positional encoding",
                "maxSequenceLength 20");
        refused(embedding().optPositionsFromPadding(1)::build, "positionsFromPadding 1", "paddingIndex null");
        refused(embedding().optPaddingIndex(0).optPositionsFromPadding(-1)::build, "positionsFromPadding -1");
        refused(
                embedding().optNoPositions().optPositionalEncoding(positions().build())::build,
                "PositionalEncodingBlock",
                "noPositions");
        refused(embedding().optNoPositions().optMaxSequenceLength(20)::build, "maxSequenceLength 20");
        refused(embedding().optPaddingIndex(0).optPositionsFromPadding(2).optNoPositions()::build, "Padding 2 with");
    }

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
                        .setLayers(2, BuilderRefusalsTest::layer)
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

    @Test
    void refusesLayersThatAreNull() {
        TransformerStackBlock.Builder builder = TransformerStackBlock.builder();
        assertThatNullPointerException()
                .isThrownBy(() -> builder.setLayers(Collections.singletonList(null)))
                .withMessageContainingAll("layers", "null", "TransformerLayerBlock");
        builder.setLayers(2, () -> null);
        assertThatNullPointerException()
                .isThrownBy(builder::build)
                .withMessageContainingAll("layers", "null", "a new builder");
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

    @EngineTest
    void refusesInitialEncodingsThatAreNotValid(NDManager manager) {
        for (NDArray given : new NDArray[] {
            manager.zeros(new Shape(4)),
            manager.zeros(new Shape(2, 3, 4)),
            manager.create(new Shape(0, 4)),
            manager.zeros(new Shape(3, 4), DataType.INT32)
        }) {
            refused(() -> learned().optInitialEncodings(given), given.getShape(), given.getDataType());
        }
        refused(learned().optInitialEncodings(manager.zeros(new Shape(3, 6)))::build, "size 6", "embeddingSize 4");
        LearnedPositionalEncodingBlock.Builder both = learned().optEncoding(SinusoidalEncoding.vaswani(4));
        refused(both.optInitialEncodings(manager.zeros(new Shape(3, 4)))::build, "both", "initial encodings");
    }

    /** The least and the greatest values that are accepted. */
    @ParameterizedTest
    @CsvSource({
        "LEARNED, dropoutRate, 0.0",
        "LEARNED, dropoutRate, 0.99999994",
        "LEARNED, sequenceAxis, 0",
        "POSITIONS, autoExtend, 5000",
        "POSITIONS, autoExtend, 536870912",
        "SHAW, maxDistance, 536870912"
    })
    void acceptsSettingsAtTheEndsOfTheirRanges(TestBlocks kind, String setting, String value) throws Exception {
        assertThat(with(kind, setting, value).getArguments().get(setting)).hasToString(value);
    }
}
