package io.github.djlpositional;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.arguments.HasArguments;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Maps of arguments with random values, keys and types. */
class FuzzArgumentsTest {

    private static final ResourceGuard BUILDING = new ResourceGuard(List.of(IllegalArgumentException.class));

    /** No value is a valid size of a table of hundreds of megabytes. */
    private static final Object[][] VALUES = {
        {0, -1, 1, 2, 3, 5, 8, 64, 1000, Integer.MAX_VALUE, Integer.MIN_VALUE, 1L << 40, Long.MIN_VALUE},
        {0.5, 1.0, -0.0, 1e-300, 1e300, Double.NaN, Double.POSITIVE_INFINITY, 0.1f, Float.NaN},
        {"", "8", "-1", "1e9", "true", "yes", "none", "INTERLEAVED", "interleaved", "geometric", "\u0000"},
        {null, true, false, 'c', new Object(), new int[] {1}},
        {List.of(), List.of(1, "2"), List.of(List.of(0.5))},
        {Map.of(), Map.of("type", "none"), Map.of("kind", "yarn")}
    };

    /** An encoding keeps its frequencies, two doubles for each of up to a thousand pairs, and writes them as text. */
    private static final long FREQUENCIES = 1 << 24;

    private static Object value(SplittableRandom random) {
        Object[] some = VALUES[random.nextInt(VALUES.length)];
        return some[random.nextInt(some.length)];
    }

    /** Changes a map, or a map or a list within it, in one place. */
    private static Map<Object, Object> changed(SplittableRandom random, Map<?, ?> arguments) {
        Map<Object, Object> changed = new LinkedHashMap<>(arguments);
        List<Object> keys = new ArrayList<>(changed.keySet());
        Object key = keys.isEmpty() ? "none" : keys.get(random.nextInt(keys.size()));
        switch (random.nextInt(8)) {
            case 0 -> changed.remove(key);
            case 1 -> changed.put(value(random), value(random));
            case 2 -> changed.put(key, changed);
            default -> changed.put(key, within(random, changed.get(key)));
        }
        return changed;
    }

    private static Object within(SplittableRandom random, Object value) {
        if (value instanceof Map<?, ?> map && random.nextInt(4) > 0) {
            return changed(random, map);
        }
        if (value instanceof List<?> list && !list.isEmpty() && random.nextInt(4) > 0) {
            List<Object> others = new ArrayList<>(list);
            others.set(random.nextInt(others.size()), value(random));
            return others;
        }
        return value(random);
    }

    /** A block that is created from a map returns arguments that create it again. */
    @Test
    void everyMapCreatesABlockOrIsRejected() {

        RandomCases.check(20_000, random -> {
            HasArguments block = (HasArguments)
                    RandomCases.one(random, List.of(TestBlocks.values())).block();
            Map<?, ?> arguments = block.getArguments();
            for (int count = random.nextInt(1, 4); count > 0; count--) {
                arguments = changed(random, arguments);
            }
            Map<?, ?> given = arguments;
            Exception refusal = BUILDING.refusal(0, FREQUENCIES, () -> {
                HasArguments made = Reflected.fromArguments(block.getClass(), given);
                assertThat(Reflected.fromArguments(block.getClass(), made.getArguments()))
                        .hasToString(made.toString());
            });
            ResourceGuard.requireOurs(given, refusal);
        });
    }
}
