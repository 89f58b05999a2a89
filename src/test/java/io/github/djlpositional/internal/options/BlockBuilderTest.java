package io.github.djlpositional.internal.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.nn.Block;
import io.github.djlpositional.ArchitectureTest;
import io.github.djlpositional.CoordinateAugmentation;
import io.github.djlpositional.InputEmbeddingBlock;
import io.github.djlpositional.PatchEmbeddingBlock;
import io.github.djlpositional.PositionalEncodingBlock;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.attention.RelativeEncoding;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.FourierFeatures;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.QueryScale;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import io.github.djlpositional.relative.AlibiBiasBlock;
import io.github.djlpositional.transformer.FeedForwardBlock;
import io.github.djlpositional.transformer.Nonlinearity;
import io.github.djlpositional.transformer.Sampling;
import io.github.djlpositional.transformer.TransformerLayerBlock;
import io.github.djlpositional.transformer.TransformerStackBlock;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each method of each builder of the library. They are found by reflection, so that new ones are tested too. */
class BlockBuilderTest {

    /** A value of each type that methods of builders have, except for enums. */
    private static final Map<Class<?>, Object> VALUES = Map.ofEntries(
            Map.entry(int.class, 3),
            Map.entry(long.class, 3L),
            Map.entry(double.class, 2.5),
            Map.entry(float.class, 0.5f),
            Map.entry(boolean.class, true),
            Map.entry(int[].class, new int[] {3}),
            Map.entry(List.class, List.of()),
            Map.entry(String.class, "name"),
            Map.entry(Sampling.class, Sampling.greedy()),
            Map.entry(Supplier.class, (Supplier<?>) List::of),
            Map.entry(
                    Block.class,
                    PositionalEncodingBlock.builder().setEmbeddingSize(4).build()),
            Map.entry(
                    InputEmbeddingBlock.class,
                    InputEmbeddingBlock.builder()
                            .setVocabularySize(7)
                            .setEmbeddingSize(4)
                            .build()),
            Map.entry(
                    MultiHeadAttentionBlock.class,
                    MultiHeadAttentionBlock.builder()
                            .setEmbeddingSize(8)
                            .setHeadCount(2)
                            .build()),
            Map.entry(
                    FeedForwardBlock.class,
                    FeedForwardBlock.builder()
                            .setEmbeddingSize(8)
                            .setHiddenSize(4)
                            .build()),
            Map.entry(
                    PatchEmbeddingBlock.class,
                    PatchEmbeddingBlock.builder()
                            .setPatchSize(2, 2)
                            .setEmbeddingSize(8)
                            .build()),
            Map.entry(TransformerStackBlock[].class, new TransformerStackBlock[] {stack()}),
            Map.entry(Nonlinearity.class, Nonlinearity.SILU),
            Map.entry(RelativeEncoding[].class, new RelativeEncoding[] {
                AlibiBiasBlock.builder().setHeadCount(2).build()
            }),
            Map.entry(AlibiSlopes.class, AlibiSlopes.of(2)),
            Map.entry(CoordinateAugmentation.class, new CoordinateAugmentation(0, 1, 2)),
            Map.entry(FourierFeatures.class, FourierFeatures.time2Vec(5, 1)),
            Map.entry(Frequencies.class, Frequencies.of(1)),
            Map.entry(GridEncoding.class, GridEncoding.multidim(2, 10)),
            Map.entry(QueryScale.class, new QueryScale.LogN(2)),
            Map.entry(RotaryAxes.class, RotaryAxes.sections(1, 1)),
            Map.entry(RotaryScaling.class, RotaryScaling.none()),
            Map.entry(SinusoidalEncoding.class, SinusoidalEncoding.vaswani(4)));

    private static TransformerStackBlock stack() {
        return TransformerStackBlock.builder()
                .setLayers(
                        1,
                        () -> TransformerLayerBlock.builder()
                                .setAttention(MultiHeadAttentionBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHeadCount(2)
                                        .build())
                                .optFeedForward(FeedForwardBlock.builder()
                                        .setEmbeddingSize(8)
                                        .setHiddenSize(4)
                                        .build()))
                .build();
    }

    /** A method {@code setX} or {@code optX}, or {@code add}, of a class of builders. */
    private record Setter(Class<?> builder, Method method) {

        String option() {
            String name = method.getName();
            return isAdd() ? "encoding" : Character.toLowerCase(name.charAt(3)) + name.substring(4);
        }

        boolean isAdd() {
            return method.getName().equals("add");
        }

        List<Class<?>> types() {
            return List.of(method.getParameterTypes());
        }

        BlockBuilder<?, ?> newBuilder() throws ReflectiveOperationException {
            return (BlockBuilder<?, ?>)
                    builder.getEnclosingClass().getMethod("builder").invoke(null);
        }

        @Override
        public String toString() {
            return builder.getEnclosingClass().getSimpleName() + "." + method.getName();
        }
    }

    static List<Setter> setters() {
        return ArchitectureTest.typesOfTheLibrary(BlockBuilder.class::isAssignableFrom).stream()
                .filter(builder -> !Modifier.isAbstract(builder.getModifiers()))
                .flatMap(builder -> Stream.of(builder.getMethods())
                        .filter(method -> method.getName().matches("(set|opt)[A-Z].*|add") && !method.isBridge())
                        .map(method -> new Setter(builder, method)))
                .toList();
    }

    static Stream<Setter> settersOfObjects() {
        return setters().stream().filter(setter -> !setter.types().stream().allMatch(Class::isPrimitive));
    }

    @ParameterizedTest
    @MethodSource("settersOfObjects")
    void aMethodRejectsNullAndNamesTheOption(Setter setter) throws Exception {
        BlockBuilder<?, ?> builder = setter.newBuilder();
        Object[] values = setter.types().stream()
                .map(type -> type.isPrimitive() ? 1 : null)
                .toArray();
        assertThatThrownBy(() -> setter.method().invoke(builder, values))
                .isInstanceOf(InvocationTargetException.class)
                .cause()
                .isExactlyInstanceOf(NullPointerException.class)
                .hasMessageContaining(setter.option());
    }

    static Stream<Setter> settersOfOptions() {
        return setters().stream()
                .filter(setter -> !setter.isAdd() && !setter.method().isAnnotationPresent(WithoutOption.class));
    }

    private static Object valueOf(Class<?> type) {
        Object value = type.isEnum() ? type.getEnumConstants()[0] : VALUES.get(type);
        assertThat(value).as("a value of %s", type).isNotNull();
        return value;
    }

    @ParameterizedTest
    @MethodSource("settersOfOptions")
    void aMethodSetsTheOptionOfItsName(Setter setter) throws Exception {
        BlockBuilder<?, ?> builder = setter.newBuilder();
        Object[] values = setter.types().stream().map(BlockBuilderTest::valueOf).toArray();
        assertThat(setter.method().invoke(builder, values)).isSameAs(builder);
        assertThat(builder.options()).containsOnlyKeys(setter.option());
    }

    static Stream<Setter> settersOfPrimitives() {
        return settersOfOptions()
                .filter(setter ->
                        setter.types().size() == 1 && setter.types().get(0).isPrimitive());
    }

    @ParameterizedTest
    @MethodSource("settersOfPrimitives")
    void aMethodOfANumberOrBooleanSetsItsValue(Setter setter) throws Exception {
        Object value = valueOf(setter.types().get(0));
        BlockBuilder<?, ?> builder = setter.newBuilder();
        setter.method().invoke(builder, value);
        assertThat(builder.options()).containsExactly(Map.entry(setter.option(), value));
    }

    @Test
    void aBuilderDoesNotChangeTheBlocksThatItHasBuilt() {
        PositionalEncodingBlock.Builder builder =
                PositionalEncodingBlock.builder().setEmbeddingSize(4);
        PositionalEncodingBlock first = builder.build();
        Map<String, Object> arguments = first.getArguments();
        builder.optLearnedScale(0.5f).optMaxSequenceLength(3).build();
        assertThat(first.getArguments()).isEqualTo(arguments).doesNotContainKey("learnedScale");
    }
}
