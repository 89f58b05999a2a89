package io.github.djlpositional.huggingface;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.conformance.RandomCases;
import io.github.djlpositional.support.Nightly;
import io.github.djlpositional.support.ResourceGuard;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Published configurations with hostile values are accepted, or rejected with a description, in little memory. */
class UntrustedConfigurationsTest {

    private static final ResourceGuard READING = new ResourceGuard(List.of(IllegalArgumentException.class));

    /** For the frequencies of the largest head: each of its 4096 dimensions takes some two kilobytes of garbage. */
    private static final long FIXED_BYTES = 16 << 20;

    private static final List<?> HOSTILE = Arrays.asList(
            null,
            0,
            -1,
            1,
            7,
            1.5,
            1e-300,
            1e300,
            Double.NaN,
            Double.POSITIVE_INFINITY,
            Integer.MAX_VALUE,
            Integer.MIN_VALUE,
            Long.MAX_VALUE,
            1 << 21,
            true,
            "",
            "two\nlines",
            "NaN",
            List.of(),
            List.of(0),
            List.of("two\nlines"),
            Collections.singletonList(null),
            Collections.nCopies(16, 1 << 20),
            Map.of(),
            Map.of("rope_type", "yarn"),
            Map.of("full_attention", Map.of("rope_type", "two\nlines")),
            Collections.singletonMap(null, 1));

    private static final Map<String, Map<?, ?>> PUBLISHED = new TreeMap<>();

    static Iterable<String> published() throws Exception {
        for (String name : ModelTable.published()) {
            PUBLISHED.put(name, HuggingFaceConfig.values(ModelTable.CONFIGURATIONS.resolve(name + ".json")));
        }
        return PUBLISHED.keySet();
    }

    private static Map<String, Object> keyed(Map<?, ?> config) {
        Map<String, Object> keyed = new LinkedHashMap<>();
        config.forEach((key, value) -> keyed.put((String) key, value));
        return keyed;
    }

    /** Fails unless everything of a configuration is read, or rejected with a description of one line. */
    private static void read(Map<?, ?> config) {
        HuggingFaceConfig[] read = new HuggingFaceConfig[1];
        guard(config, () -> read[0] = HuggingFaceConfig.of(keyed(config)));
        if (read[0] != null) {
            guard(config, () -> read[0].rotary(ModelType.SLIDING, 5000).build());
            guard(config, () -> read[0].rotary(5000).build());
            guard(config, read[0]::getScale);
        }
    }

    private static void guard(Map<?, ?> config, ResourceGuard.Action action) {
        Exception rejection = READING.refusal(0, FIXED_BYTES, action);
        if (rejection != null) {
            assertThat(rejection).as("%s", config).message().isNotBlank().hasLineCount(1);
        }
    }

    private static Map<?, ?> with(Map<?, ?> map, Object key, Object value) {
        Map<Object, Object> copy = new LinkedHashMap<>(map);
        copy.put(key, value);
        return copy;
    }

    /** Copies of a map in which a key has another value: each key in turn, also those of the maps in it. */
    private static Stream<Map<?, ?>> changed(Map<?, ?> map, Object value) {
        return map.keySet().stream()
                .flatMap(key -> Stream.concat(
                                map.get(key) instanceof Map<?, ?> inner ? changed(inner, value) : Stream.of(),
                                Stream.of(value))
                        .map(changed -> with(map, key, changed)));
    }

    @ParameterizedTest
    @MethodSource("published")
    void everyKeyWithEveryHostileValue(String name) {
        // in a build each value in a third of the configurations
        for (int i = 0; i < HOSTILE.size(); i++) {
            if (Nightly.RUNS || i % 3 == Math.floorMod(name.hashCode(), 3)) {
                changed(PUBLISHED.get(name), HOSTILE.get(i)).forEach(UntrustedConfigurationsTest::read);
            }
        }
    }

    /** Also with keys of other models, which have meanings for some. */
    @Test
    void severalHostileValues() throws Exception {
        published();
        List<Map<?, ?>> all = List.copyOf(PUBLISHED.values());
        RandomCases.check(1000, random -> {
            Map<?, ?> config = RandomCases.one(random, all);
            for (int count = random.nextInt(1, 5); count > 0; count--) {
                config = changed(random, config, RandomCases.one(random, all));
            }
            read(config);
            Map<String, Object> ofVision = Map.of("model_type", "minimax_m3_vl", "vision_config", keyed(config));
            guard(ofVision, () -> HuggingFaceConfig.ofVision(ofVision));
        });
    }

    private static Map<?, ?> changed(SplittableRandom random, Map<?, ?> map, Map<?, ?> other) {
        List<?> keys = new ArrayList<>((random.nextBoolean() || other.isEmpty() ? map : other).keySet());
        if (keys.isEmpty()) {
            return map;
        }
        Object key = RandomCases.one(random, keys);
        boolean isWithin = map.get(key) instanceof Map && random.nextInt(4) > 0;
        Map<?, ?> otherWithin = other.get(key) instanceof Map<?, ?> inner ? inner : Collections.emptyMap();
        return with(
                map,
                key,
                isWithin ? changed(random, (Map<?, ?>) map.get(key), otherWithin) : RandomCases.one(random, HOSTILE));
    }
}
