package io.github.djlpositional.math;

/**
 * An unevaluated sum of two doubles, {@code high + low} with {@code |low| <= ulp(high) / 2}: about 106 significant
 * bits.
 *
 * <p>Frequencies need more precision than one double. At position 10<sup>7</sup> the rounding of the frequency would
 * change a sine near its zero crossing by hundreds of float ulps.
 *
 * <p>The sums and products are the classical error-free transformations: Dekker, <em>A floating-point technique for
 * extending the available precision</em>, Numerische Mathematik 18 (1971), and Hida, Li and Bailey, <em>Library for
 * double-double and quad-double arithmetic</em> (2007); products use {@link Math#fma}.
 */
record DoubleDouble(double high, double low) {

    static final DoubleDouble LN_2 = new DoubleDouble(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);

    static final DoubleDouble TWO_PI = new DoubleDouble(0x1.921fb54442d18p2, 0x1.1a62633145c07p-52);

    /** Terms of the exponential's series: with |r| < 0.0014 the 11th is below 2^-120. */
    private static final int EXP_TERMS = 11;

    /** The number of times that the argument is halved before the series, and the result squared after it. */
    private static final int EXP_HALVINGS = 8;

    static DoubleDouble of(double value) {
        return new DoubleDouble(value, 0);
    }

    /** Renormalizes a sum whose first part is the larger one. */
    private static DoubleDouble ofSum(double large, double small) {
        double sum = large + small;
        return new DoubleDouble(sum, small - (sum - large));
    }

    DoubleDouble plus(DoubleDouble other) {
        double sum = high + other.high;
        double rest = sum - high;
        double error = (high - (sum - rest)) + (other.high - rest);
        return ofSum(sum, error + low + other.low);
    }

    DoubleDouble plus(double other) {
        return plus(of(other));
    }

    DoubleDouble minus(DoubleDouble other) {
        return plus(other.negated());
    }

    DoubleDouble negated() {
        return new DoubleDouble(-high, -low);
    }

    DoubleDouble times(DoubleDouble other) {
        double product = high * other.high;
        double error = Math.fma(high, other.high, -product);
        return ofSum(product, error + (high * other.low + low * other.high));
    }

    DoubleDouble times(double factor) {
        return times(of(factor));
    }

    DoubleDouble dividedBy(DoubleDouble divisor) {
        double first = high / divisor.high;
        DoubleDouble rest = plus(divisor.times(-first));
        double second = rest.high / divisor.high;
        double third = rest.plus(divisor.times(-second)).high / divisor.high;
        return ofSum(first, second).plus(third);
    }

    DoubleDouble dividedBy(double divisor) {
        return dividedBy(of(divisor));
    }

    /** e to this power; its relative error is below 2^-96 for |this| up to 700. */
    DoubleDouble exp() {
        double powerOfTwo = Math.rint(high / LN_2.high);
        DoubleDouble reduced = plus(LN_2.times(-powerOfTwo)).scaled(-EXP_HALVINGS);
        // Horner's scheme for e^r - 1: the 1 is added at the end, because the squarings would lose bits otherwise
        DoubleDouble inner = of(1);
        for (int n = EXP_TERMS; n > 1; n--) {
            inner = inner.times(reduced).dividedBy(n).plus(1);
        }
        DoubleDouble lessOne = inner.times(reduced);
        for (int i = 0; i < EXP_HALVINGS; i++) {
            lessOne = lessOne.scaled(1).plus(lessOne.times(lessOne));
        }
        return lessOne.plus(1).scaled((int) powerOfTwo);
    }

    /**
     * The natural logarithm of a positive number: one Newton step from the logarithm of the double, which doubles the
     * number of digits.
     */
    DoubleDouble log() {
        DoubleDouble estimate = of(StrictMath.log(high));
        DoubleDouble ratio = times(estimate.negated().exp());
        return estimate.plus(ratio.plus(-1));
    }

    DoubleDouble floor() {
        double below = Math.floor(high);
        return of(below == high && low < 0 ? below - 1 : below);
    }

    DoubleDouble ceil() {
        return negated().floor().negated();
    }

    DoubleDouble min(double most) {
        return high > most ? of(most) : this;
    }

    DoubleDouble max(double least) {
        return high < least ? of(least) : this;
    }

    private DoubleDouble scaled(int powerOfTwo) {
        return new DoubleDouble(Math.scalb(high, powerOfTwo), Math.scalb(low, powerOfTwo));
    }
}
