package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.CaseFile;
import io.github.djlpositional.refusals.Expression;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Equality of the package's immutable types; {@code accepted.txt} has descriptions. */
public class ValuesTest {

    /** Expressions by kind; no two of a kind are equal. */
    private static final Map<String, List<String>> KINDS =
            CaseFile.read("cases/values.txt").byFirstColumn();

    /** A new object of each expression. */
    public static List<Object> values() {
        return expressions().stream().map(Expression::valueOf).toList();
    }

    static List<String> expressions() {
        return KINDS.values().stream().flatMap(List::stream).toList();
    }

    @ParameterizedTest
    @MethodSource("expressions")
    void sameArgumentsGiveEqualObjects(String expression) {
        Object value = Expression.valueOf(expression);
        Object other = Expression.valueOf(expression);
        assertThat(value)
                .isEqualTo(other)
                .hasSameHashCodeAs(other)
                .hasToString(other.toString())
                .isNotEqualTo("another type");
    }

    static Iterable<String> kinds() {
        return KINDS.keySet();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void differentArgumentsGiveDifferentObjects(String kind) {
        List<Object> values = KINDS.get(kind).stream().map(Expression::valueOf).toList();
        assertThat(values).doesNotHaveDuplicates();
        assertThat(values.stream().map(Object::toString)).doesNotHaveDuplicates();
        // two may have the same hash, but a constant one would make maps slow
        assertThat(values.stream().map(Object::hashCode).distinct()).hasSizeGreaterThanOrEqualTo(values.size() - 1);
    }
}
