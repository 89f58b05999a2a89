package io.github.djlpositional.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.google.gson.stream.MalformedJsonException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** JSON of files that are not trusted. */
class JsonTest {

    private static Map<String, Object> read(String text) throws MalformedJsonException {
        return Json.read(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void readsPlainValuesAndKeepsTheDigitsOfNumbers() throws Exception {
        assertThat(read("{\"a\": [1.50, \"é\", true, null], \"b\": {\"c\": 1e400}}"))
                .isEqualTo(Map.of(
                        "a", Arrays.asList(new BigDecimal("1.50"), "é", true, null),
                        "b", Map.of("c", new BigDecimal("1e400"))));
        String deep = "[".repeat(15) + "1" + "]".repeat(15);
        assertThat(read("{\"a\":" + deep + "}")).containsKey("a");
        assertThat(read("{\"a\":" + "7".repeat(100) + "}")).containsKey("a");
    }

    static Stream<Arguments> rejected() {
        return Stream.of(
                Arguments.of("{\"a\": 1, \"a\": 1}", "'a' twice"),
                Arguments.of("{\"b\": {\"a\\n\": 1, \"a\\n\": 1}}", "'a ' twice"),
                Arguments.of("{\"a\":" + "[".repeat(16) + "]".repeat(16) + "}", "16 deep"),
                Arguments.of("{\"a\":".repeat(17) + "1" + "}".repeat(17), "16 deep"),
                Arguments.of("{\"a\":" + "7".repeat(101) + "}", "100 characters"),
                Arguments.of("{} {}", ""),
                Arguments.of("[]", "BEGIN_OBJECT"),
                Arguments.of("", ""),
                Arguments.of("{\"a\": 1", ""),
                Arguments.of("{a: 1}", ""),
                Arguments.of("{'a': 1}", ""),
                Arguments.of("{\"a\": 1e99999999999}", ""),
                Arguments.of("{\"a\": NaN}", ""));
    }

    @ParameterizedTest
    @MethodSource
    void rejected(String text, String part) {
        assertThatExceptionOfType(MalformedJsonException.class)
                .isThrownBy(() -> read(text))
                .withMessageContaining(part);
    }
}
