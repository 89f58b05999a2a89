package io.github.djlpositional.arguments;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a map of plain values may hold, and how it is refused. */
class ArgumentsTest {

    static List<Object> wholeNumbers() {
        return List.of(
                7,
                7L,
                (short) 7,
                (byte) 7,
                7.0,
                7f,
                BigInteger.valueOf(7),
                new BigDecimal("7.00"),
                "7",
                "7.0",
                "+7",
                "0.7e1");
    }

    static List<Object> noWholeNumbers() {
        return List.of(
                7.5,
                Double.NaN,
                Double.POSITIVE_INFINITY,
                "seven",
                "",
                "7 ",
                "0x7",
                "1e999999999",
                "1e-999999999",
                "7".repeat(1_000_000),
                true,
                'c',
                List.of(7),
                Map.of("seven", 7));
    }

    private static Arguments given(Object value) {
        return Arguments.of(Owner.class, Map.of("key", value));
    }

    private static final class Owner {}

    @ParameterizedTest
    @MethodSource("wholeNumbers")
    void wholeNumbersMayBeOfAnyNumberTypeOrText(Object value) {
        assertThat(given(value).getInt("key")).isEqualTo(7);
        assertThat(given(value).optInt("key")).hasValue(7);
        assertThat(given(value).getLong("key")).isEqualTo(7);
        assertThat(given(value).getDouble("key")).isEqualTo(7);
    }

    @ParameterizedTest
    @MethodSource("noWholeNumbers")
    @Timeout(value = 5, unit = TimeUnit.SECONDS)
    void whatIsNoWholeNumberIsRefusedByName(Object value) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given(value).getInt("key"))
                .withMessageStartingWith(
                        "argument 'key' of Owner is the " + value.getClass().getSimpleName())
                .withMessageEndingWith(": expected a whole number; correct it")
                .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(250));
    }

    @Test
    void numbersBeyond32BitsAreRefusedWhereTheyMustFit() {
        assertThat(given(1L << 40).getLong("key")).isEqualTo(1L << 40);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given(1L << 40).getInt("key"))
                .withMessage("argument 'key' of Owner is the Long 1099511627776: expected a whole number of 32 bits;"
                        + " correct it");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given("9223372036854775808").getLong("key"));
    }

    @Test
    void numbersKeepTheirValue() {
        assertThat(given(0.1).getDouble("key")).isEqualTo(0.1);
        assertThat(given("0x1.8p1").getDouble("key")).isEqualTo(3);
        assertThat(given(0.1f).optFloat("key")).hasValue(0.1f);
        assertThat(given(0.1).optFloat("key")).hasValue(0.1f);
        // 1/3 as a float, through the shortest decimals that say it
        assertThat(given(Float.toString(1 / 3f)).optFloat("key")).hasValue(1 / 3f);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given("a third").getDouble("key"))
                .withMessageContaining("'key'")
                .withMessageContaining("a number");
        assertThatIllegalArgumentException().isThrownBy(() -> given(true).optDouble("key"));
    }

    @Test
    void flagsAreTrueOrFalseAndNothingElse() {
        assertThat(given(true).getFlag("key")).isTrue();
        assertThat(given("false").optFlag("key")).hasValue(false);
        for (Object other : List.of("yes", "TRUE", 1, "")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> given(other).getFlag("key"))
                    .withMessageContaining("'key' of Owner")
                    .withMessageContaining("true or false");
        }
    }

    @Test
    void choicesAreGivenByTheirName() {
        assertThat(given("SECONDS").optChoice("key", TimeUnit.class)).hasValue(TimeUnit.SECONDS);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given("seconds").optChoice("key", TimeUnit.class))
                .withMessageContaining("the String seconds: expected one of [NANOSECONDS,");
        assertThatIllegalArgumentException().isThrownBy(() -> given(3).optChoice("key", TimeUnit.class));
    }

    @Test
    void mapsListsAndTextAreWhatTheySay() {
        assertThat(given(Map.of("a", 1)).getMap("key")).isEqualTo(Map.of("a", 1));
        assertThat(given(List.of(1, "2", 0.5)).getDoubles("key")).containsExactly(1, 2, 0.5);
        assertThat(given("text").getText("key")).isEqualTo("text");
        assertThatIllegalArgumentException().isThrownBy(() -> given("{a=1}").optMap("key"));
        assertThatIllegalArgumentException().isThrownBy(() -> given(1).optDoubles("key"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given(Arrays.asList(1, null)).getDoubles("key"))
                .withMessageContaining("'key'");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given(List.of(1, "two")).getDoubles("key"))
                .withMessageContaining("'key'");
        assertThatIllegalArgumentException().isThrownBy(() -> given(1).getText("key"));
    }

    @Test
    void whatIsMissingIsNamedWhereItMustBeThere() {
        Arguments none = Arguments.of(Owner.class, Map.of());
        assertThat(none.optInt("key")).isEmpty();
        assertThat(none.optDouble("key")).isEmpty();
        assertThat(none.optFloat("key")).isEmpty();
        assertThat(none.optFlag("key")).isEmpty();
        assertThat(none.optMap("key")).isEmpty();
        assertThat(none.optDoubles("key")).isEmpty();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> none.getInt("key"))
                .withMessage("argument 'key' of Owner is missing: expected a whole number; correct it");
        assertThatIllegalArgumentException().isThrownBy(() -> none.getDouble("key"));
        assertThatIllegalArgumentException().isThrownBy(() -> none.getFlag("key"));
        assertThatIllegalArgumentException().isThrownBy(() -> none.getText("key"));
        assertThatIllegalArgumentException().isThrownBy(() -> none.getMap("key"));
        assertThatIllegalArgumentException().isThrownBy(() -> none.getDoubles("key"));
    }

    @Test
    void whatNobodyAskedForIsRefusedByName() {
        Arguments given = Arguments.of(Owner.class, Map.of("headCont", 8));
        assertThat(given.optInt("headCount")).isEmpty();
        assertThatIllegalArgumentException()
                .isThrownBy(given::requireNoOthers)
                .withMessage("Owner has no argument 'headCont': expected [headCount]; correct it, or leave it out");
    }

    @Test
    void keysThatAreNoTextAndNullsAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Arguments.of(Owner.class, Map.of(1, 2)))
                .withMessageContaining("the key 1 for Owner is no text");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Arguments.of(Owner.class, Collections.singletonMap("key", null)))
                .withMessage("argument 'key' of Owner is null: expected a value; leave the key out for none");
    }

    @Test
    void oneArgumentCanBeTakenOut() {
        Arguments given = Arguments.of(Owner.class, Map.of("type", "a", "size", 1));
        assertThat(given.without("type")).isEqualTo(Map.of("size", 1));
        assertThat(given.getText("type")).isEqualTo("a");
        assertThatExceptionOfType(NoSuchElementException.class)
                .isThrownBy(() -> given.optInt("other").orElseThrow());
    }

    private enum Size {
        SMALL,
        LARGE;

        @Override
        public String toString() {
            return "any";
        }
    }

    @Test
    void choicesAreListedByTheNamesThatAreTaken() {
        Arguments given = Arguments.of("sizes", Map.of("right", "LARGE", "wrong", "any"));
        assertThat(given.getChoice("right", Size.class)).isEqualTo(Size.LARGE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given.getChoice("wrong", Size.class))
                .withMessage(
                        "argument 'wrong' of sizes is the String any: expected one of [SMALL, LARGE]; correct it");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> given.getChoice("none", Size.class))
                .withMessage("argument 'none' of sizes is missing: expected one of [SMALL, LARGE]; correct it");
    }

    @Test
    void flagsMayBeText() {
        Arguments given = Arguments.of("flags", Map.of("yes", "true", "no", "false"));
        assertThat(given.getFlag("yes")).isTrue();
        assertThat(given.optFlag("yes")).contains(true);
        assertThat(given.getFlag("no")).isFalse();
    }
}
