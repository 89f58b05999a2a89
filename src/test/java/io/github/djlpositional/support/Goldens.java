package io.github.djlpositional.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Reference values from {@code src/test/resources/goldens}, computed with 50-digit arithmetic by other code. */
public final class Goldens {

    private Goldens() {}

    /** The rows of a file, split at commas, without the header. */
    public static List<String[]> rows(String file) {
        try (InputStream in = Goldens.class.getResourceAsStream("/goldens/" + file)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .skip(1)
                    .map(line -> line.split(",", -1))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The numbers of a column, separated by spaces. */
    public static double[] reals(String column) {
        return Stream.of(column.split(" ", -1)).mapToDouble(Double::parseDouble).toArray();
    }

    /** The numbers i · 37 mod 101 - 50 in units of 1/64, as in {@code reference_values.py}. */
    public static double[] sixtyFourths(int count) {
        return IntStream.range(0, count)
                .mapToDouble(i -> (i * 37 % 101 - 50) / 64.0)
                .toArray();
    }

    /** How far a float is from the true value, in ulps of the float. */
    public static double floatUlps(float actual, BigDecimal expected) {
        return ulps(actual, Math.ulp(actual), expected);
    }

    /** How far a double is from the true value, in ulps of the double. */
    public static double doubleUlps(double actual, BigDecimal expected) {
        return ulps(actual, Math.ulp(actual), expected);
    }

    private static double ulps(double actual, double ulp, BigDecimal expected) {
        return new BigDecimal(actual)
                .subtract(expected)
                .abs()
                .divide(new BigDecimal(ulp), MathContext.DECIMAL64)
                .doubleValue();
    }

    /** Checks how far a double is from the true value, in ulps of the double; a failure shows the cells of the row. */
    public static void requireUlps(double actual, String expected, double ulps, String... row) {
        assertThat(doubleUlps(actual, new BigDecimal(expected)))
                .as(String.join(",", row))
                .isLessThanOrEqualTo(ulps);
    }

    /** Checks how far a float is from the true value, in ulps of the float; a failure shows the cells of the row. */
    public static void requireFloatUlps(float actual, String expected, double ulps, String... row) {
        assertThat(floatUlps(actual, new BigDecimal(expected)))
                .as(String.join(",", row))
                .isLessThanOrEqualTo(ulps);
    }
}
