package io.github.djlpositional.math;

import java.math.BigDecimal;

/** Doubles as text that says them exactly, and is the same on every Java: {@code Double.toString} changed in Java 19. */
public final class ExactText {

    private ExactText() {}

    /**
     * Returns a number as text: in decimal where that is short, else in hexadecimal.
     *
     * @param value any number
     * @return for example {@code 10000}, {@code 0.5} or {@code 0x1.999999999999ap-4}
     */
    public static String of(double value) {
        if (!Double.isFinite(value)) {
            return Double.toString(value);
        }
        String decimal = new BigDecimal(value).stripTrailingZeros().toPlainString();
        return decimal.length() <= 17 ? decimal : Double.toHexString(value);
    }
}
