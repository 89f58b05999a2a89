package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Equality, descriptions and argument maps of the package's immutable types. */
class ValuesTest {

    /** Each supplier creates a new object; no two of a list are equal. */
    private static final List<List<Supplier<Object>>> KINDS = List.of(
            List.of(
                    RotaryScaling::none,
                    () -> RotaryScaling.linear(2),
                    () -> RotaryScaling.linear(3),
                    () -> RotaryScaling.yarn(2, 10)),
            List.of(
                    () -> Frequencies.of(1, 2),
                    () -> Frequencies.of(1, 3),
                    () -> Frequencies.of(1),
                    () -> Frequencies.of(1, 2).scaledBy(3)),
            List.of(
                    () -> SinusoidalEncoding.vaswani(4),
                    () -> SinusoidalEncoding.vaswani(5),
                    () -> SinusoidalEncoding.vaswani(4, 500),
                    () -> SinusoidalEncoding.xTransformers(4)));

    @Test
    void sameArgumentsGiveEqualObjects() {
        for (List<Supplier<Object>> kind : KINDS) {
            for (Supplier<Object> value : kind) {
                assertThat(value.get()).isEqualTo(value.get()).hasSameHashCodeAs(value.get());
                assertThat(value.get()).hasToString(value.get().toString()).isNotEqualTo("another type");
            }
        }
    }

    @Test
    void differentArgumentsGiveDifferentObjects() {
        for (List<Supplier<Object>> kind : KINDS) {
            assertThat(kind.stream().map(Supplier::get)).doesNotHaveDuplicates();
            assertThat(kind.stream().map(value -> value.get().toString())).doesNotHaveDuplicates();
            // not required, but true of these objects: a constant hash would make maps slow
            assertThat(kind.stream().map(value -> value.get().hashCode())).doesNotHaveDuplicates();
        }
    }

    @Test
    void descriptionsNameEverySetting() {
        assertThat(Frequencies.of(1, 0.5).scaledBy(3).scaledBy(0.25))
                .hasToString("scaled(frequencies=given(values=[1.0, 0.5]), factors=[3.0, 0.25])");
    }

    @Test
    void unknownKeysAreRejected() {
        Map<Function<Map<?, ?>, Object>, Map<String, Object>> makers = Map.of(
                Frequencies::fromArguments, Frequencies.of(1, 2).getArguments(),
                SinusoidalEncoding::fromArguments, SinusoidalEncoding.vaswani(4).getArguments(),
                GridEncoding::fromArguments, GridEncoding.multidim(2, 4).getArguments(),
                RotaryScaling::fromArguments, RotaryScaling.linear(2).getArguments());
        makers.forEach((maker, arguments) -> {
            Map<String, Object> more = new HashMap<>(arguments);
            assertThat(maker.apply(more)).isNotNull();
            more.put("unknown", 1);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> maker.apply(more))
                    .withMessageContaining("has no argument 'unknown'");
        });
    }

    @Test
    void aMapMayHaveABaseInsteadOfFrequencies() {
        assertThat(SinusoidalEncoding.fromArguments(Map.of("embeddingSize", 4, "base", 500)))
                .isEqualTo(SinusoidalEncoding.vaswani(4, 500));
    }
}
