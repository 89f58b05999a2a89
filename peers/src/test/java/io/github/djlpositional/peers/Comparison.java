package io.github.djlpositional.peers;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Locale;

/** How many results were compared, and the largest error of any. */
final class Comparison {

    private int count;
    private double largest;

    /**
     * Requires that a result is what a package computed, where that is not NaN.
     *
     * @param expected of the result's shape
     * @param limit of the error, relative to the largest expected number if that is above 1
     */
    void requireEqual(NDArray result, NDArray expected, double limit) {
        double[] wanted = expected.toType(DataType.FLOAT64, false).toDoubleArray();
        if (!result.getShape().equals(expected.getShape())) {
            throw new AssertionError("the shape is " + result.getShape() + ", the package's " + expected.getShape());
        }
        double[] got = result.toType(DataType.FLOAT64, false).toDoubleArray();
        double size = 1;
        for (double each : wanted) {
            size = Double.isNaN(each) ? size : Math.max(size, Math.abs(each));
        }
        double worst = 0;
        for (int i = 0; i < wanted.length; i++) {
            if (!Double.isNaN(wanted[i])) {
                double error = Math.abs(got[i] - wanted[i]) / size;
                // also if the error is NaN
                if (!(error <= limit)) {
                    throw new AssertionError(String.format(
                            Locale.ROOT,
                            "number %d of %s is %s, the package's %s: the error is %.1e of %.3g, the limit %.0e",
                            i,
                            expected.getShape(),
                            got[i],
                            wanted[i],
                            error * size,
                            size,
                            limit));
                }
                worst = Math.max(worst, error);
            }
        }
        count++;
        largest = Math.max(largest, worst);
    }

    int count() {
        return count;
    }

    /** The largest error, rounded up to one digit: 2e-7. */
    String largest() {
        BigDecimal rounded = new BigDecimal(largest).round(new MathContext(1, RoundingMode.UP));
        return largest == 0 ? "0" : rounded.unscaledValue() + "e" + -rounded.scale();
    }
}
