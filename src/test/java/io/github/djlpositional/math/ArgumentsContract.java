package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.djl.util.JsonUtils;
import io.github.djlpositional.options.HasArguments;
import java.util.Map;
import org.junit.jupiter.api.Test;

/**
 * An immutable type whose arguments are a map of plain values, from which an equal object is created.
 *
 * @param <T> the type, whose test class implements this interface
 */
interface ArgumentsContract<T extends HasArguments> extends ValueContract<T> {

    /** The static method of this name of the type. */
    T fromArguments(Map<?, ?> arguments);

    @Test
    default void createsAnEqualObjectFromItsArguments() {
        assertThat(distinctValues()).allSatisfy(value -> requireEqual(fromArguments(value.getArguments()), value));
    }

    /** DJL reads all numbers of JSON as doubles. */
    @Test
    default void createsAnEqualObjectFromItsArgumentsInJson() {
        assertThat(distinctValues()).allSatisfy(value -> {
            String json = JsonUtils.GSON.toJson(value.getArguments());
            requireEqual(fromArguments(JsonUtils.GSON.fromJson(json, Map.class)), value);
        });
    }

    private static void requireEqual(HasArguments created, HasArguments value) {
        assertThat(created).isEqualTo(value).hasToString(value.toString());
        assertThat(created.getArguments()).isEqualTo(value.getArguments());
    }

    @Test
    default void itsArgumentsCannotBeChanged() {
        assertThat(distinctValues())
                .extracting(HasArguments::getArguments)
                .allSatisfy(arguments -> assertThatExceptionOfType(UnsupportedOperationException.class)
                        .isThrownBy(() -> arguments.put("a", 1)));
    }
}
