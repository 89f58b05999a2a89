package io.github.djlpositional.arguments;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.math.BigInteger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Records of settings as maps of plain values, and through the options of a builder. */
class RecordsTest {

    private enum Size {
        SMALL,
        LARGE;

        @Override
        public String toString() {
            return "any";
        }
    }

    private sealed interface Shape permits Square, Circle {}

    private record Square(double width) implements Shape {}

    private record Circle(double radius, Integer points) implements Shape {}

    private record Inner(int count) {}

    /** With a component of each type. */
    private record All(
            Integer whole,
            Long wide,
            Double real,
            Float narrow,
            Boolean flag,
            String text,
            Size size,
            List<Double> list,
            Shape shape,
            Inner inner) {}

    private record Required(int count, Integer twice) {
        Required {
            Check.positive("count", count);
            twice = Objects.requireNonNullElse(twice, 2 * count);
        }
    }

    private static Object component(String name, Object value) {
        return Records.components(Records.read(All.class, Collections.singletonMap(name, value)))
                .get(name);
    }

    private static void assertRejected(String name, Object value, String... values) {
        assertThatIllegalArgumentException()
                .as("%s", value)
                .isThrownBy(() -> component(name, value))
                .withMessageContaining("'" + name + "' of RecordsTest")
                .withMessageContainingAll(values)
                .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(300));
    }

    static Object[] seven() {
        return new Object[] {7, 7L, (short) 7, (byte) 7, 7.0, 7f, BigInteger.valueOf(7), "7", "7.0", "+7", "0.7e1"};
    }

    @ParameterizedTest
    @MethodSource("seven")
    void acceptsANumberOfAnyTypeOrAsText(Object value) {
        assertThat(component("whole", value)).isEqualTo(7);
        assertThat(component("wide", value)).isEqualTo(7L);
        assertThat(component("real", value)).isEqualTo(7.0);
        assertThat(component("narrow", value)).isEqualTo(7f);
    }

    static Stream<Object> notWhole() {
        return Stream.concat(
                Stream.of("seven", "", "7 ", "0x7", "1e999999999", "1e-999999999", "7".repeat(1_000_000)),
                Stream.of(7.5, Double.NaN, Double.POSITIVE_INFINITY, true, 'c', List.of(7), Map.of("seven", 7)));
    }

    @ParameterizedTest
    @MethodSource("notWhole")
    @Timeout(value = 5, unit = TimeUnit.SECONDS)
    void rejectsWhatIsNotAWholeNumber(Object value) {
        assertRejected("whole", value, value.getClass().getSimpleName(), "whole number");
        assertRejected("wide", value, value.getClass().getSimpleName(), "whole number");
    }

    @Test
    void acceptsWideNumbersWhereTheyFit() {
        assertThat(component("wide", 1L << 40)).isEqualTo(1L << 40);
        assertRejected("whole", 1L << 40, "Long 1099511627776", "32 bits");
        assertRejected("wide", "9223372036854775808", "9223372036854775808");
    }

    @Test
    void keepsTheValueOfRealNumbers() {
        assertThat(component("real", 0.1)).isEqualTo(0.1);
        assertThat(component("real", "0x1.8p1")).isEqualTo(3.0);
        assertThat(component("narrow", 0.1f)).isEqualTo(0.1f);
        assertThat(component("narrow", 0.1)).isEqualTo(0.1f);
        // the double with the float's shortest decimal, not the nearest double
        assertThat(component("real", 0.1f)).isEqualTo(0.1);
        assertThat(component("narrow", Float.toString(1 / 3f))).isEqualTo(1 / 3f);
        assertRejected("real", "a third", "a third");
        assertRejected("real", true, "true");
    }

    @Test
    void readsFlags() {
        for (Object yes : List.of(true, "true")) {
            assertThat(component("flag", yes)).isEqualTo(true);
        }
        for (Object no : List.of(false, "false")) {
            assertThat(component("flag", no)).isEqualTo(false);
        }
        for (Object other : List.of("yes", "TRUE", 1, "")) {
            assertRejected("flag", other, other.toString(), "true or false");
        }
    }

    @Test
    void readsEnumConstantsByName() {
        assertThat(component("size", "LARGE")).isEqualTo(Size.LARGE);
        for (Object other : List.of("large", "any", 1)) {
            assertRejected("size", other, other.toString(), "[SMALL, LARGE]");
        }
    }

    @Test
    void readsTextListsAndNestedRecords() {
        assertThat(component("text", "words")).isEqualTo("words");
        assertThat(component("list", List.of(1, "2", 0.5f))).isEqualTo(List.of(1.0, 2.0, 0.5));
        assertThat(component("inner", Map.of("count", "3"))).isEqualTo(new Inner(3));
        assertRejected("text", 1, "Integer 1");
        assertRejected("inner", "{count=3}", "{count=3}", "a map");
        for (Object other : List.of(1, "1", Map.of(), List.of(1, "two"), Arrays.asList(1, null))) {
            assertRejected("list", other, "expected");
        }
    }

    @Test
    void tellsRecordsOfASealedInterfaceApartByTheirKind() {
        assertThat(component("shape", Map.of("kind", "square", "width", 2))).isEqualTo(new Square(2));
        assertThat(component("shape", Map.of("kind", "circle", "radius", 1))).isEqualTo(new Circle(1, null));
        assertThat(Records.read(Shape.class, Map.of("kind", "square", "width", 1)))
                .isEqualTo(new Square(1));
        for (Map<String, ?> other : List.of(
                Map.of("width", 2), Map.of("kind", "cube"), Map.of("kind", 1), Map.of("kind", "circle", "width", 2))) {
            assertThatIllegalArgumentException().as("%s", other).isThrownBy(() -> component("shape", other));
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Records.read(Shape.class, Map.of("kind", "cube")))
                .withMessageContainingAll("cube", "[square, circle]");
    }

    @Test
    void rejectsUnknownKeysAndNullValues() {
        Map<Object, Object> given = new HashMap<>(Map.of("count", 1));
        for (Object key : Arrays.asList("cuont", 1, null)) {
            given.put(key, 2);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Records.read(Required.class, given, "other"))
                    .withMessageContainingAll("'" + key + "'", "[count, twice, other]");
            given.remove(key);
        }
        assertThat(Records.read(Required.class, Map.of("count", 1, "other", "x"), "other"))
                .isEqualTo(new Required(1, 2));
        assertRejected("whole", null, "null");
    }

    @Test
    void requiresPrimitiveComponentsAndPassesNullForOthers() {
        assertThat(Records.read(Required.class, Map.of("count", 3))).isEqualTo(new Required(3, 6));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Records.read(Required.class, Map.of()))
                .withMessageContainingAll("'count'", "missing");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Records.read(Required.class, Map.of("count", 0)))
                .withMessageContaining("count 0");
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
            deep = Map.of("inner", deep);
        }
        for (Object endless : List.of(one, list, queue, deep)) {
            for (String name : List.of("inner", "whole", "list", "unknown")) {
                assertThatIllegalArgumentException().isThrownBy(() -> component(name, endless));
            }
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Records.ofType("outer", Map.of("type", endless), Map.of()));
        }
    }

    @Test
    void createsTheNamedType() {
        Map<String, Object> values = Map.of("type", "inner", "count", 2);
        assertThat(Records.<Object>ofType("outer", values, Map.of("inner", map -> Records.read(Inner.class, map))))
                .isEqualTo(new Inner(2));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Records.ofType("outer", values, Map.of("b", map -> 1, "a", map -> 2)))
                .withMessageContainingAll("'type' of outer", "inner", "[a, b]");
    }

    @Test
    void writesWhatItReads() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("whole", 1);
        map.put("wide", 1L << 40);
        map.put("narrow", 0.1f);
        map.put("flag", true);
        map.put("size", "SMALL");
        map.put("list", List.of(1.0, 0.1));
        map.put("shape", Map.of("kind", "circle", "radius", 2.0));
        map.put("inner", Map.of("count", 4));
        Map<String, Object> written = Records.write(Records.read(All.class, map));
        assertThat(written).isEqualTo(map);
        assertThat(written.keySet()).containsExactlyElementsOf(map.keySet());
        assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(() -> written.put("a", 1));
    }

    @Test
    void describesARecordAndShortensLongLists() {
        List<Double> numbers = IntStream.range(0, 20).mapToObj(i -> (double) i).toList();
        All all = Records.read(All.class, Map.of("list", numbers, "inner", Map.of("count", 1)));
        assertThat(Records.describe(all))
                .isEqualTo("RecordsTest(list=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, … 20 values],"
                        + " inner=RecordsTest(count=1))");
        assertThat(Records.describe(new Circle(1, null))).isEqualTo("circle(radius=1.0)");
    }

    @ParameterizedTest
    @CsvSource({"3, 7, twice, 6", "3, 6, twice, 6", "3, 6, count,"})
    void returnsTheDefaultOfAComponent(int count, int twice, String name, Integer expected) {
        assertThat(Records.defaultOf(new Required(count, twice), name)).isEqualTo(expected);
    }

    @Test
    void buildsARecordFromOptions() {
        Options<Required, String> options = new Options<>(Required.class, "builder");
        assertThatIllegalArgumentException()
                .isThrownBy(options::build)
                .withMessageContainingAll("count", "missing", "setCount");
        assertThatNullPointerException().isThrownBy(() -> options.set("twice", null));
        assertThat(options.set("count", 4)).isEqualTo("builder");
        assertThat(options.build()).isEqualTo(new Required(4, 8));
        assertThat(options.build(Map.of("twice", 1))).isEqualTo(new Required(4, 1));
        options.set("twice", 9);
        assertThat(options.build(Map.of("twice", 1))).isEqualTo(new Required(4, 9));
        options.set("count", 0);
        assertThatIllegalArgumentException().isThrownBy(options::build).withMessageContaining("count 0");
    }

    @ParameterizedTest
    @ValueSource(floats = {-0.1f, 1, Float.NaN})
    void rejectsARateOutsideZeroToOne(float rate) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Check.rate("rate", rate))
                .withMessageContaining("rate " + rate);
    }
}
