package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Equality of an immutable type: objects are equal if and only if their arguments are.
 *
 * @param <T> the type, whose test class implements this interface
 */
interface ValueContract<T> {

    /** New objects of different arguments, in the same order each time. */
    List<T> distinctValues();

    @Test
    default void objectsOfTheSameArgumentsAreEqual() {
        List<T> others = distinctValues();
        assertThat(distinctValues())
                .zipSatisfy(
                        others,
                        (value, other) -> assertThat(value)
                                .isNotSameAs(other)
                                .isEqualTo(other)
                                .hasSameHashCodeAs(other)
                                .hasToString(other.toString())
                                .isNotEqualTo("another type"));
    }

    @Test
    default void objectsOfDifferentArgumentsDiffer() {
        List<T> values = distinctValues();
        assertThat(values).doesNotHaveDuplicates();
        assertThat(values).extracting(Object::toString).doesNotHaveDuplicates();
        // two may have the same hash, but a constant one would make maps slow
        assertThat(values.stream().map(Object::hashCode).distinct()).hasSizeGreaterThanOrEqualTo(values.size() - 1);
    }
}
