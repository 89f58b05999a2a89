package io.github.djlpositional.internal.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.GridEncoding;
import io.github.djlpositional.math.RotaryScaling;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Records of settings as maps of plain values, and through the options of a builder. */
class SettingsTest {

    private enum Size {
        SMALL,
        LARGE;

        @Override
        public String toString() {
            return "any";
        }
    }

    /** A class with constants, and other objects. */
    public static final class Color {

        public static final Color RED = new Color();
        public static final Color BLUE = new Color();
    }

    private sealed interface Shape permits Square, Circle {}

    private record Square(double width) implements Shape {}

    private record Circle(double radius, Integer points) implements Shape {}

    private record Inner(int count, Inner inner) {}

    /** With a component of each type. */
    private record All(
            Integer whole,
            Long wide,
            Double real,
            Float narrow,
            Boolean flag,
            String text,
            Size size,
            Color color,
            List<Double> list,
            Shape shape,
            Inner inner) {}

    /** Creates a record from a map with one value, and returns that component as it is written again. */
    private static Object component(String name, Object value) {
        return Settings.toMap(Settings.create(All.class, Collections.singletonMap(name, value)))
                .get(name);
    }

    static Stream<Arguments> accepted() {
        Stream<Arguments> sevens = Stream.of(
                        7, 7L, (short) 7, (byte) 7, 7.0, 7f, BigInteger.valueOf(7), "7", "7.0", "+7", "0.7e1")
                .flatMap(value -> Stream.of(
                        arguments("whole", value, 7),
                        arguments("wide", value, 7L),
                        arguments("real", value, 7.0),
                        arguments("narrow", value, 7f)));
        Stream<Arguments> others = Stream.of(
                arguments("wide", 1L << 40, 1L << 40),
                arguments("real", 0.1, 0.1),
                arguments("real", "0x1.8p1", 3.0),
                arguments("narrow", 0.1f, 0.1f),
                arguments("narrow", 0.1, 0.1f),
                // the double with the float's shortest decimal, not the nearest double
                arguments("real", 0.1f, 0.1),
                arguments("narrow", Float.toString(1 / 3f), 1 / 3f),
                arguments("flag", true, true),
                arguments("flag", "true", true),
                arguments("flag", false, false),
                arguments("flag", "false", false),
                arguments("size", "LARGE", "LARGE"),
                arguments("color", "BLUE", "BLUE"),
                arguments("color", Color.RED, "RED"),
                arguments("text", "words", "words"),
                arguments("list", List.of(1, "2", 0.5f), List.of(1.0, 2.0, 0.5)),
                arguments("inner", Map.of("count", "3"), Map.of("count", 3)),
                arguments("shape", Map.of("type", "Square", "width", 2), Map.of("type", "Square", "width", 2.0)),
                arguments("shape", Map.of("type", "Circle", "radius", 1), Map.of("type", "Circle", "radius", 1.0)));
        return Stream.concat(sevens, others);
    }

    @ParameterizedTest
    @MethodSource("accepted")
    void accepts(String name, Object value, Object expected) {
        assertThat(component(name, value)).isEqualTo(expected);
    }

    static Stream<Arguments> rejected() {
        Stream<Object> notWhole = Stream.of(
                Stream.of("seven", "", "7 ", "0x7", "1e999999999", "1e-999999999", "7".repeat(1_000_000)),
                Stream.of(7.5, Double.NaN, Double.POSITIVE_INFINITY, true, 'c', List.of(7), Map.of("seven", 7)));
        Stream<Arguments> others = Stream.of(
                arguments("whole", 1L << 40, List.of("Long 1099511627776", "32 bits")),
                arguments("wide", "9223372036854775808", List.of("9223372036854775808")),
                arguments("whole", null, List.of("null")),
                arguments("real", "a third", List.of("a third")),
                arguments("real", true, List.of("true")),
                arguments("flag", "yes", List.of("yes", "true or false")),
                arguments("flag", "TRUE", List.of("TRUE", "true or false")),
                arguments("flag", 1, List.of("1", "true or false")),
                arguments("flag", "", List.of("true or false")),
                arguments("size", "large", List.of("large", "[SMALL, LARGE]")),
                arguments("size", "any", List.of("any", "[SMALL, LARGE]")),
                arguments("size", 1, List.of("1", "[SMALL, LARGE]")),
                arguments("color", "GREEN", List.of("GREEN", "RED", "BLUE")),
                arguments("text", 1, List.of("Integer 1")),
                arguments("inner", "{count=3}", List.of("{count=3}", "a map")),
                arguments("list", 1, List.of("expected")),
                arguments("list", "1", List.of("expected")),
                arguments("list", Map.of(), List.of("expected")),
                arguments("list", List.of(1, "two"), List.of("expected")),
                arguments("list", Arrays.asList(1, null), List.of("expected")));
        return Stream.concat(others, notWhole.flatMap(value -> {
            List<String> values = List.of(value.getClass().getSimpleName(), "whole number");
            return Stream.of("whole", "wide").map(name -> arguments(name, value, values));
        }));
    }

    @Test
    void anObjectThatIsNoConstantIsOnlySavedAsItsClass() {
        All options = Settings.create(All.class, Map.of("color", new Color()));
        assertThat(Settings.saved(options, each -> false)).isEqualTo(Map.of("color", "Color"));
        assertThatExceptionOfType(UnsupportedOperationException.class)
                .isThrownBy(() -> Settings.toMap(options))
                .withMessageContainingAll("Color", "All", "RED", "BLUE");
    }

    @ParameterizedTest(name = "{0} {index}")
    @MethodSource("rejected")
    @Timeout(value = 5, unit = TimeUnit.SECONDS)
    void rejects(String name, Object value, List<String> values) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> component(name, value))
                .withMessageContaining("'" + name + "' of All")
                .withMessageContainingAll(values.toArray(String[]::new))
                .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(300));
    }

    @Test
    void readsMapsNestedAtMost32Deep() {
        Map<String, Object> nested = Map.of("count", 32);
        Inner expected = new Inner(32, null);
        for (int i = 31; i > 0; i--) {
            nested = Map.of("count", i, "inner", nested);
            expected = new Inner(i, expected);
        }
        Map<String, Object> accepted = nested;
        assertThat(Settings.create(Inner.class, accepted)).isEqualTo(expected);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Settings.create(Inner.class, Map.of("count", 0, "inner", accepted)))
                .withMessageContaining("32");
    }

    @Test
    void rejectsMapsThatContainThemselvesOrAreNestedTooDeep() {
        Map<String, Object> one = new HashMap<>();
        Collection<Object> list = new ArrayList<>();
        Collection<Object> queue = new ArrayDeque<>();
        one.put("inner", list);
        list.add(queue);
        queue.add(one);
        Object deep = 1;
        for (int i = 0; i < 100_000; i++) {
            deep = Map.of("count", 1, "inner", deep);
        }
        Map<?, ?> nested = (Map<?, ?>) deep;
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Settings.create(Inner.class, nested))
                .withMessageContaining("32");
        for (Object endless : List.of(one, list, queue, deep)) {
            for (String name : List.of("inner", "whole", "list", "unknown")) {
                assertThatIllegalArgumentException().isThrownBy(() -> component(name, endless));
            }
        }
    }

    static Stream<Arguments> shown() {
        Object[] endless = new Object[1];
        endless[0] = endless;
        return Stream.of(
                arguments(new int[] {7, 8}, "[7, 8]"),
                arguments(new double[][] {{0.5}, {1, 2}}, "[[0.5], [1.0, 2.0]]"),
                arguments(new String[] {"a", null}, "[a, null]"),
                arguments(new Object[] {Map.of(1, 2), new long[] {3}}, "[{…}, [3]]"),
                arguments(List.of(new int[] {1}, 2), "[[1], 2]"),
                arguments(new int[10], "[0, 0, 0, 0, 0, 0, 0, 0, …]"),
                arguments(endless, "[[[[[…]]]]]"));
    }

    @ParameterizedTest
    @MethodSource("shown")
    void showsTheElementsOfArrays(Object value, String text) {
        assertThat(Settings.shown(value)).isEqualTo(text);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> component("whole", value))
                .withMessageContaining(text);
    }

    @Test
    void namesAnAnonymousClassByWhatItExtendsOrImplements() {
        Runnable lambda = () -> {};
        assertThat(Settings.classOf(new ArrayList<>() {})).isEqualTo("ArrayList");
        assertThat(Settings.classOf(new Cloneable() {})).isEqualTo("Cloneable");
        assertThat(Settings.classOf(lambda)).isEqualTo("Runnable");
        assertThat(Settings.classOf(new Square(1))).isEqualTo("Square");
        assertThat(Settings.classOf(new int[0])).isEqualTo("int[]");
    }

    /** A builder whose method sets an option that the record does not have. */
    public static final class MisspeltBuilder extends BlockBuilder<Inner, MisspeltBuilder> {

        MisspeltBuilder() {
            super(Inner.class, Function.identity());
        }

        /** The option would be ignored. */
        public MisspeltBuilder optTwise(int twice) {
            return set("twise", twice);
        }
    }

    @Test
    void rejectsAMisspeltOptionWhenABuilderIsCreated() {
        assertThatIllegalStateException()
                .isThrownBy(MisspeltBuilder::new)
                .withMessageContainingAll("MisspeltBuilder", "'twise'", "[count, inner]");
    }

    private static final String PLANE_PART =
            "encoding=SinusoidalEncoding(embeddingSize=2, frequencies=Geometric(count=1, base=10000.0, period=1.0),"
                    + " layout=INTERLEAVED, cosineFirst=false, oddSize=KEPT_IN_EXPONENT), first=0, count=2)";

    static Stream<Arguments> descriptions() {
        return Stream.of(
                arguments(
                        SinusoidalEncoding.vaswani(7),
                        "SinusoidalEncoding(embeddingSize=7, frequencies=Geometric(count=4, base=10000.0, period=3.5),"
                                + " layout=INTERLEAVED, cosineFirst=false, oddSize=KEPT_IN_EXPONENT)"),
                arguments(
                        Frequencies.of(1, 0.5).scaledBy(3).scaledBy(0.25),
                        "Scaled(frequencies=Scaled(frequencies=Custom(values=[1.0, 0.5]), factor=3.0), factor=0.25)"),
                arguments(
                        RotaryScaling.dynamicNtk(2, 2048, 4096).frequencies(64, 10_000),
                        "Rotary(rotarySize=64, base=10000.0,"
                                + " scaling=DynamicNtk(factor=2.0, originalLength=2048, length=4096))"),
                arguments(
                        GridEncoding.multidim(2, 4),
                        "GridEncoding(axes=2, parts=[Part(axis=0, " + PLANE_PART + ", Part(axis=1, " + PLANE_PART
                                + "], channels=4, offset=0.0, scale=1.0)"),
                // long lists are shortened
                arguments(
                        Frequencies.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
                        "Custom(values=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, … 10 values])"));
    }

    /** Messages end with it. */
    @ParameterizedTest(name = "{1}")
    @MethodSource("descriptions")
    void describesEveryOption(Object described, String text) {
        assertThat(described).hasToString(text);
    }
}
