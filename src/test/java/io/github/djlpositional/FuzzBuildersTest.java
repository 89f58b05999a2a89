package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.nn.Block;
import io.github.djlpositional.arguments.HasArguments;
import io.github.djlpositional.attention.MultiHeadAttentionBlock;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Builders with random settings in random order. */
class FuzzBuildersTest {

    private static final ResourceGuard BUILDING = new ResourceGuard(List.of(IllegalArgumentException.class));

    /**
     * T5's buckets are computed in whole numbers of thousands of bits, which are garbage at once: for 1000 of them a
     * gigabyte.
     */
    private static final long GARBAGE = 1L << 32;

    private static final List<Boolean> FLAGS = List.of(true, false);

    /** Values by type of a setter. The other setters take blocks and arrays of the user. */
    private static final Map<Class<?>, List<?>> VALUES = Map.of(
            int.class,
            List.of(0, -1, 1, 2, 3, 4, 6, 8, 64, 1000, Integer.MAX_VALUE, Integer.MIN_VALUE, -2, -3),
            float.class,
            List.of(0f, -0f, 0.5f, 1f, -1f, Float.NaN, Float.POSITIVE_INFINITY, Float.MIN_VALUE),
            double.class,
            List.of(0.0, 1.0, -1.0, 0.5, 1e300, 1e-300, 10_000.0, Double.NaN, Double.NEGATIVE_INFINITY),
            boolean.class,
            FLAGS,
            Boolean.class,
            FLAGS,
            MultiHeadAttentionBlock.class,
            List.of(TestBlocks.ATTENTION.block(), TestBlocks.ATTENTION_OF_EVERY_SETTING.block()),
            SinusoidalEncoding.class,
            List.of(SinusoidalEncoding.vaswani(4), SinusoidalEncoding.fairseq(5), SinusoidalEncoding.vaswani(8)),
            GridEncoding.class,
            List.of(GridEncoding.multidim(3, 4), GridEncoding.visionTransformer(8)),
            RotaryScaling.class,
            List.of(
                    RotaryScaling.none(),
                    RotaryScaling.dynamicNtk(2, 16),
                    RotaryScaling.longRope(new double[] {1}, new double[] {2}, 4, 8)));

    private static List<?> valuesOf(Method setter) {
        Class<?> type = setter.getParameterTypes()[0];
        return type.isEnum() ? List.of(type.getEnumConstants()) : VALUES.get(type);
    }

    /** Sorted, so that a seed gives the same cases on every JVM. */
    private static List<Method> settersOf(Class<?> builder) {
        return Arrays.stream(builder.getDeclaredMethods())
                .filter(method ->
                        method.getName().startsWith("set") || method.getName().startsWith("opt"))
                .filter(method -> valuesOf(method) != null)
                .sorted(Comparator.comparing(Method::getName))
                .toList();
    }

    private static Object built(SplittableRandom random, Class<?> type) throws Exception {
        Object builder = type.getMethod("builder").invoke(null);
        List<Method> setters = settersOf(builder.getClass());
        for (int count = random.nextInt(2, 3 + setters.size()); count > 0; count--) {
            Method setter = RandomCases.one(random, setters);
            Reflected.call(setter, builder, RandomCases.one(random, valuesOf(setter)));
        }
        return Reflected.call(builder.getClass().getMethod("build"), builder);
    }

    /** A block that is built returns arguments that create it again. */
    @Test
    void everyBuilderCreatesABlockOrRejectsItsSettings() {
        RandomCases.check(20_000, random -> {
            Class<? extends Block> type = RandomCases.one(random, List.of(TestBlocks.values()))
                    .block()
                    .getClass();
            Exception refusal = BUILDING.refusal(0, GARBAGE, () -> {
                HasArguments block = (HasArguments) built(random, type);
                assertThat(Reflected.fromArguments(type, block.getArguments())).hasToString(block.toString());
            });
            ResourceGuard.requireOurs(type, refusal);
        });
    }
}
