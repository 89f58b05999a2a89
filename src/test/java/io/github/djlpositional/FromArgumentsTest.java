package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.nn.Block;
import ai.djl.util.JsonUtils;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Blocks and encodings as maps of plain values, and back. */
class FromArgumentsTest {

    private static Map<String, Object> argumentsOf(TestBlocks kind) {
        return ((HasArguments) kind.block()).getArguments();
    }

    /** The arguments of a block with one more, or one replaced. */
    private static Map<String, Object> with(TestBlocks kind, String key, Object value) {
        Map<String, Object> arguments = new LinkedHashMap<>(argumentsOf(kind));
        arguments.put(key, value);
        return arguments;
    }

    private static AbstractThrowableAssert<?, ?> rejected(TestBlocks kind, String key, Object value) {
        return rejected(() -> SmallBlocks.fromArguments(kind.block().getClass(), with(kind, key, value)));
    }

    private static AbstractThrowableAssert<?, ?> rejected(ThrowingCallable call) {
        return assertThatThrownBy(call).isInstanceOf(IllegalArgumentException.class);
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
        return Character.toLowerCase(method.getName().charAt(3))
                + method.getName().substring(4);
    }

    static List<Class<?>> builders() {
        return ArchitectureTest.LIBRARY.stream()
                .filter(each -> each.isAssignableTo(BlockBuilder.class))
                .filter(each -> !each.getModifiers().contains(JavaModifier.ABSTRACT))
                .<Class<?>>map(JavaClass::reflect)
                .toList();
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
            Map.entry(Block.class, TestBlocks.valueOf("POSITIONS").block()),
            Map.entry(InputEmbeddingBlock.class, TestBlocks.valueOf("EMBEDDING").block()),
            Map.entry(
                    MultiHeadAttentionBlock.class,
                    TestBlocks.valueOf("ATTENTION").block()),
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
        for (Method method : type.getMethods()) {
            if (method.getName().matches("(set|opt).*") && !method.isAnnotationPresent(WithoutOption.class)) {
                Object builder = SmallBlocks.call(type.getEnclosingClass().getMethod("builder"), null);
                Object[] values = Stream.of(method.getParameterTypes())
                        .map(FromArgumentsTest::valueOf)
                        .toArray();
                assertThat(values)
                        .as("a value for each parameter of %s", method)
                        .doesNotContainNull();
                SmallBlocks.call(method, builder, values);
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
        String block = kind.block().getClass().getSimpleName();
        rejected(kind, "maxLenght", 12).hasMessageContainingAll(block, "'maxLenght'", "[", "]");
        rejected(() -> SmallBlocks.fromArguments(kind.block().getClass(), Map.of()))
                .hasMessageContaining("missing");
        for (String key : argumentsOf(kind).keySet()) {
            String name = "'" + key + "' of " + block;
            rejected(kind, key, "neither").hasMessageContainingAll(name, "neither", ": expected ");
            rejected(kind, key, List.of("nor")).hasMessageContainingAll(name, "nor", ": expected ");
            rejected(kind, key, null).hasMessageContaining(name);
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
