package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.nn.Block;
import ai.djl.util.JsonUtils;
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
import io.github.djlpositional.math.ValuesTest;
import io.github.djlpositional.options.BlockBuilder;
import io.github.djlpositional.options.BlockBuilder.WithoutOption;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.relative.EncodingType;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Blocks and encodings as maps of plain values, and back. */
class FromArgumentsTest {

    /** Expects arguments of a block with one more, or one replaced, to be rejected. */
    private static AbstractThrowableAssert<?, ?> rejected(HasArguments block, String key, Object value) {
        Map<String, Object> arguments = new LinkedHashMap<>(block.getArguments());
        arguments.put(key, value);
        return rejected(block.getClass(), arguments);
    }

    private static AbstractThrowableAssert<?, ?> rejected(Class<?> type, Map<?, ?> arguments) {
        return assertThatThrownBy(() -> SmallBlocks.fromArguments(type, arguments))
                .isInstanceOf(IllegalArgumentException.class);
    }

    static List<HasArguments> encodings() {
        return ValuesTest.values().stream()
                // an attention creates its query scale
                .filter(value -> value instanceof HasArguments && !(value instanceof QueryScale))
                .map(HasArguments.class::cast)
                .toList();
    }

    private static void assertComesBack(Class<?> type, HasArguments configured) throws Exception {
        Map<String, Object> arguments = configured.getArguments();
        // as DJL reads JSON, with all numbers alike
        Map<?, ?> json = JsonUtils.GSON.fromJson(JsonUtils.GSON.toJson(arguments), Map.class);
        for (Map<?, ?> map : List.of(arguments, json)) {
            HasArguments back = SmallBlocks.fromArguments(type, map);
            assertThat(back).hasToString(configured.toString());
            assertThat(back.getArguments()).isEqualTo(arguments);
        }
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> arguments.put("a", 1));
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.TestBlocks#values")
    void blocksComeBackTheSame(TestBlocks kind) throws Exception {
        assertComesBack(kind.block().getClass(), (HasArguments) kind.block());
    }

    @ParameterizedTest
    @MethodSource("encodings")
    void encodingsComeBackTheSame(HasArguments encoding) throws Exception {
        Class<?> type = encoding instanceof RotaryScaling ? RotaryScaling.class : encoding.getClass();
        assertComesBack(type, encoding);
        assertThat(SmallBlocks.fromArguments(type, encoding.getArguments())).isEqualTo(encoding);
    }

    private static String optionOf(Method method) {
        String name = method.getName();
        return name.equals("add") ? "encoding" : Character.toLowerCase(name.charAt(3)) + name.substring(4);
    }

    static Stream<Class<?>> builders() {
        return ArchitectureTest.typesOfTheLibrary(BlockBuilder.class::isAssignableFrom).stream()
                .filter(each -> !Modifier.isAbstract(each.getModifiers()));
    }

    private static List<Method> setters(Class<?> builder) {
        return Stream.of(builder.getMethods())
                .filter(method -> method.getName().matches("(set|opt)(?!All)[A-Z].*|add") && !method.isBridge())
                .toList();
    }

    private static Object newBuilder(Class<?> type) throws Exception {
        return type.getEnclosingClass().getMethod("builder").invoke(null);
    }

    @ParameterizedTest
    @MethodSource("builders")
    void refusesNullAndNamesTheOption(Class<?> type) throws Exception {
        for (Method method : setters(type)) {
            Object builder = newBuilder(type);
            Object[] values = Stream.of(method.getParameterTypes())
                    .map(each -> each.isPrimitive() ? 1 : null)
                    .toArray();
            if (Arrays.asList(values).contains(null)) {
                assertThatNullPointerException()
                        .as("%s", method)
                        .isThrownBy(() -> SmallBlocks.call(method, builder, values))
                        .withMessageStartingWith(optionOf(method) + " is null: expected ")
                        .withMessageContaining("; ");
            }
        }
    }

    /** A value of each type that methods of builders have, except for enums. */
    private static final Map<Class<?>, Object> VALUES = Map.ofEntries(
            Map.entry(int.class, 3),
            Map.entry(double.class, 2.5),
            Map.entry(float.class, 0.5f),
            Map.entry(boolean.class, true),
            Map.entry(int[].class, new int[] {3}),
            Map.entry(List.class, List.of()),
            Map.entry(Supplier.class, (Supplier<?>) List::of),
            Map.entry(Block.class, SmallBlocks.positions().build()),
            Map.entry(InputEmbeddingBlock.class, SmallBlocks.embedding().build()),
            Map.entry(
                    MultiHeadAttentionBlock.class,
                    EncodingType.NONE.attention(2).build()),
            Map.entry(RelativeEncoding[].class, new RelativeEncoding[] {EncodingType.ROTARY.block()}),
            Map.entry(AlibiSlopes.class, AlibiSlopes.of(2)),
            Map.entry(FourierFeatures.class, FourierFeatures.time2Vec(5, 1)),
            Map.entry(Frequencies.class, Frequencies.of(1)),
            Map.entry(GridEncoding.class, GridEncoding.multidim(2, 10)),
            Map.entry(QueryScale.class, new QueryScale.LogN(2)),
            Map.entry(RotaryAxes.class, RotaryAxes.sections(1, 1)),
            Map.entry(RotaryScaling.class, RotaryScaling.none()),
            Map.entry(SinusoidalEncoding.class, SinusoidalEncoding.vaswani(4)));

    private static Object valueOf(Class<?> type) {
        return type.isEnum() ? type.getEnumConstants()[0] : VALUES.get(type);
    }

    @ParameterizedTest
    @MethodSource("builders")
    void eachMethodOfABuilderSetsTheOptionOfItsName(Class<?> type) throws Exception {
        Method options = BlockBuilder.class.getDeclaredMethod("options");
        options.setAccessible(true);
        for (Method method : setters(type)) {
            if (!method.isAnnotationPresent(WithoutOption.class)
                    && !method.getName().equals("add")) {
                Object builder = newBuilder(type);
                Object[] values = Stream.of(method.getParameterTypes())
                        .map(FromArgumentsTest::valueOf)
                        .toArray();
                assertThat(values)
                        .as("a value for each parameter of %s", method)
                        .doesNotContainNull();
                assertThat(SmallBlocks.call(method, builder, values))
                        .as("%s", method)
                        .isSameAs(builder);
                Map<?, ?> set = (Map<?, ?>) options.invoke(builder);
                assertThat(set.keySet()).as("%s", method).isEqualTo(Set.of(optionOf(method)));
                if (method.getParameterTypes().length == 1 && method.getParameterTypes()[0].isPrimitive()) {
                    assertThat(set.values()).as("%s", method).first().isEqualTo(values[0]);
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.TestBlocks#values")
    void rejectsUnknownMissingAndOtherValuesByKey(TestBlocks kind) {
        HasArguments block = (HasArguments) kind.block();
        String type = block.getClass().getSimpleName();
        rejected(block, "maxLenght", 12).hasMessageContainingAll(type, "'maxLenght'", "[", "]");
        rejected(block.getClass(), Map.of()).hasMessageContaining("missing");
        for (String key : block.getArguments().keySet()) {
            String name = "'" + key + "' of " + type;
            rejected(block, key, "neither").hasMessageContainingAll(name, "neither", ": expected ");
            rejected(block, key, List.of("nor")).hasMessageContainingAll(name, "nor", ": expected ");
            rejected(block, key, null).hasMessageContaining(name);
        }
    }

    @Test
    void aBuilderDoesNotChangeTheBlocksThatItHasBuilt() {
        PositionalEncodingBlock.Builder builder = SmallBlocks.positions();
        PositionalEncodingBlock first = builder.build();
        Map<String, Object> arguments = first.getArguments();
        builder.optLearnedScale(0.5f).optMaxSequenceLength(3).build();
        assertThat(first.getArguments()).isEqualTo(arguments).doesNotContainKey("learnedScale");
    }
}
