package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.CaseFile;
import io.github.djlpositional.refusals.Expression;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Equality of the package's immutable types; {@code accepted.txt} has descriptions. */
public class ValuesTest {

    /** Expressions by kind; no two of a kind are equal. */
    private static final Map<String, List<String>> KINDS =
            CaseFile.read("cases/values.txt").byFirstColumn();

    /** A new object of each expression. */
    public static List<Object> values() {
        return KINDS.values().stream()
                .flatMap(List::stream)
                .map(ValuesTest::value)
                .toList();
    }

    private static Object value(String expression) {
        try {
            return new Expression(expression, Map.of(), null).value();
        } catch (Exception e) {
            throw new AssertionError(expression, e);
        }
    }

    static List<String> expressions() {
        return KINDS.values().stream().flatMap(List::stream).toList();
    }

    @ParameterizedTest
    @MethodSource("expressions")
    void sameArgumentsGiveEqualObjects(String expression) {
        Object value = value(expression);
        assertThat(value).isEqualTo(value(expression)).hasSameHashCodeAs(value(expression));
        assertThat(value).hasToString(value(expression).toString()).isNotEqualTo("another type");
    }

    static Iterable<String> kinds() {
        return KINDS.keySet();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void differentArgumentsGiveDifferentObjects(String kind) {
        List<Object> values = KINDS.get(kind).stream().map(ValuesTest::value).toList();
        assertThat(values).doesNotHaveDuplicates();
        assertThat(values.stream().map(Object::toString)).doesNotHaveDuplicates();
        // two may have the same hash, but a constant one would make maps slow
        assertThat(values.stream().map(Object::hashCode).distinct()).hasSizeGreaterThanOrEqualTo(values.size() - 1);
    }

    @Test
    void shorterSettingsGiveEqualEncodings() {
        assertThat(SinusoidalEncoding.fairseq(9)).isEqualTo(SinusoidalEncoding.tensor2tensor(9, 1, 10_000));
        assertThat(SinusoidalEncoding.builder().setEmbeddingSize(64).build()).isEqualTo(SinusoidalEncoding.vaswani(64));
        assertThat(SinusoidalEncoding.fromArguments(Map.of("embeddingSize", 4, "base", 500)))
                .isEqualTo(SinusoidalEncoding.vaswani(4, 500));
    }

    /** Numbers that follow from a definition without rounding, or are published with some digits. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    RotaryAxes.sections(2, 3, 1).axisOfPair()              | [0, 0, 1, 1, 1, 2]
                    RotaryAxes.sections(2, 3, 1).axisCount()               | 3
                    RotaryAxes.interleaved(8, 4, 3, 1).axisOfPair()        | [0, 1, 2, 0, 1, 0, 0, 1]
                    RotaryAxes.interleaved(3, 3).axisOfPair()              | [0, 0, 0]
                    RelativeBuckets.of(true, 32, 128).bucket(9223372036854775807) | 31
                    RelativeBuckets.of(true, 32, 128).bucket(-2147483647)  | 15
                    RelativeBuckets.of(false, 2, 2).bucket(-5)             | 1
                    RelativeBuckets.of(false, 4096, 1073741824).bucket(-1073741824) | 4095
                    Frequencies.of(0.1, 3).size()                          | 2
                    Frequencies.of(0, 1e-310, 1e300).get(1)                | 1.0E-310
                    Frequencies.proportional(32, 0.3, 10000, 1).size()     | 16
                    Frequencies.proportional(32, 0.3, 10000, 1).get(4)     | 0.0
                    SinusoidalEncoding.fairseq(5).frequency(1)             | 1.0E-4
                    SinusoidalEncoding.fairseq(5).frequency(2)             | 1.0
                    SinusoidalEncoding.fairseq(5).frequency(4)             | 0.0
                    RotaryScaling.yarn(1, 100).attentionFactor()           | 1.0
                    RotaryScaling.yarnMagnitude(1, 0.7)                    | 1.0
                    RotaryScaling.yarnMagnitude(0.5, 1)                    | 1.0
                    RotaryScaling.yarnMagnitude(40, 0)                     | 1.0
                    """)
    void followFromTheirDefinitions(String expression, String value) {
        assertThat(value(expression)).hasToString(value);
    }

    /** A factor of 1, and dynamic NTK up to the original length. */
    @ParameterizedTest
    @ValueSource(strings = {"linear(1)", "dynamicNtk(2, 16, 1)", "dynamicNtk(2, 16, 16)"})
    void someScalingsChangeNothing(String scaling) {
        assertThat(value("RotaryScaling." + scaling + ".frequencies(64, 10000)"))
                .isEqualTo(RotaryScaling.none().frequencies(64, 10_000));
    }

    @Test
    void theScaleOfDeepSeekV2IsTheSquareOfTheMagnitude() {
        // 192 dimensions, factor 40, mscale_all_dim 1
        double magnitude = RotaryScaling.yarnMagnitude(40, 1);
        assertThat(magnitude * magnitude / Math.sqrt(192)).isCloseTo(0.13523378, within(5e-9));
    }
}
