package io.github.djlpositional.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.util.JsonUtils;
import io.github.djlpositional.options.HasArguments;
import io.github.djlpositional.support.SmallBlocks;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Blocks as maps of plain values, and back; ArgumentsContract has the types of the package math. */
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

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void createsTheSameBlockFromItsArgumentsAndFromJson(TestBlocks kind) throws Exception {
        HasArguments block = (HasArguments) kind.block();
        Map<String, Object> arguments = block.getArguments();
        // DJL reads all numbers of JSON as doubles
        Map<?, ?> json = JsonUtils.GSON.fromJson(JsonUtils.GSON.toJson(arguments), Map.class);
        for (Map<?, ?> map : List.of(arguments, json)) {
            HasArguments created = SmallBlocks.fromArguments(block.getClass(), map);
            assertThat(created).hasToString(block.toString());
            assertThat(created.getArguments()).isEqualTo(arguments);
        }
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void theArgumentsOfABlockCannotBeChanged(TestBlocks kind) {
        Map<String, Object> arguments = ((HasArguments) kind.block()).getArguments();
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> arguments.put("a", 1));
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void rejectsAnUnknownArgument(TestBlocks kind) {
        HasArguments block = (HasArguments) kind.block();
        String type = block.getClass().getSimpleName();
        rejected(block, "maxLenght", 12).hasMessageContainingAll(type, "'maxLenght'");
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void rejectsAMapWithoutRequiredArguments(TestBlocks kind) {
        rejected(kind.block().getClass(), Map.of()).hasMessageContaining("missing");
    }

    @ParameterizedTest
    @MethodSource("io.github.djlpositional.conformance.TestBlocks#values")
    void rejectsValuesOfOtherTypesByName(TestBlocks kind) {
        HasArguments block = (HasArguments) kind.block();
        for (String key : block.getArguments().keySet()) {
            String name = "'" + key + "' of " + block.getClass().getSimpleName();
            rejected(block, key, "neither").hasMessageContainingAll(name, "neither");
            rejected(block, key, List.of("nor")).hasMessageContainingAll(name, "nor");
            rejected(block, key, null).hasMessageContaining(name);
        }
    }
}
