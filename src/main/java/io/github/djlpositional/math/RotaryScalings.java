package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import java.util.List;
import java.util.Objects;
import java.util.stream.DoubleStream;

/** The implementations of {@link RotaryScaling}, which its factories document. */
final class RotaryScalings {

    private static final DoubleDouble TWO_PI = new DoubleDouble(0x1.921fb54442d18p2, 0x1.1a62633145c07p-52);

    private RotaryScalings() {}

    record None() implements RotaryScaling {

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            return new Rotary(rotarySize, base, this).unscaled();
        }
    }

    record Linear(double factor) implements RotaryScaling {

        Linear {
            checkFactor(factor);
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            return new Rotary(rotarySize, base, this).scaled((pair, frequency) -> frequency.dividedBy(factor));
        }
    }

    record NtkAware(double factor) implements RotaryScaling {

        NtkAware {
            checkFactor(factor);
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            Rotary rotary = new Rotary(rotarySize, base, this);
            rotary.requireNtk();
            return rotary.ntk(DoubleDouble.of(factor));
        }
    }

    record DynamicNtk(double factor, int originalLength, int length) implements RotaryScaling {

        DynamicNtk {
            checkFactor(factor, originalLength);
            checkLength(length);
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            Rotary rotary = new Rotary(rotarySize, base, this);
            rotary.requireNtk();
            return length <= originalLength
                    ? rotary.unscaled()
                    : rotary.ntk(DoubleDouble.of(factor)
                            .times((double) length)
                            .dividedBy(originalLength)
                            .plus(-factor)
                            .plus(1));
        }
    }

    record Yarn(
            double factor,
            int originalLength,
            Double betaFast,
            Double betaSlow,
            Boolean truncate,
            Double attentionScale)
            implements RotaryScaling {

        Yarn {
            betaFast = betaFast == null ? Double.valueOf(32) : betaFast;
            betaSlow = betaSlow == null ? Double.valueOf(1) : betaSlow;
            truncate = truncate == null || truncate;
            attentionScale =
                    attentionScale == null ? Double.valueOf(RotaryScaling.yarnMagnitude(factor, 1)) : attentionScale;
            checkFactor(factor, originalLength);
            Check.that(
                    betaSlow > 0 && betaFast >= betaSlow && Double.isFinite(betaFast),
                    "betaSlow " + betaSlow + " and betaFast " + betaFast
                            + ": expected 0 < betaSlow ≤ betaFast, finite; set them to the model's numbers, 1 and 32 in"
                            + " the paper");
            Check.positive("attentionFactor", attentionScale, "0.1 · ln(factor) + 1 in the paper");
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            Rotary rotary = new Rotary(rotarySize, base, this);
            DoubleDouble lower = pairWithTurns(betaFast, rotarySize, base);
            DoubleDouble upper = pairWithTurns(betaSlow, rotarySize, base);
            DoubleDouble low = atLeast(truncate ? DoubleDouble.of(floor(lower)) : lower, 0);
            DoubleDouble high = atMost(truncate ? DoubleDouble.of(-floor(upper.negated())) : upper, rotarySize - 1);
            DoubleDouble width = high.minus(low);
            // this is how the published code avoids a division by zero
            DoubleDouble ramp = width.high() == 0 ? DoubleDouble.of(0.001) : width;
            return rotary.scaled((pair, frequency) -> {
                DoubleDouble interpolated =
                        clamp(DoubleDouble.of(pair).minus(low).dividedBy(ramp));
                return mixed(frequency, interpolated, factor);
            });
        }

        /** The pair, as a fraction, that makes this number of turns over the original length. */
        private DoubleDouble pairWithTurns(double turns, int rotarySize, double base) {
            DoubleDouble wavelengths = DoubleDouble.of(originalLength)
                    .dividedBy(TWO_PI.times(turns))
                    .log();
            return wavelengths
                    .times(rotarySize)
                    .dividedBy(DoubleDouble.of(base).log().times(2));
        }

        @Override
        public double attentionFactor() {
            return attentionScale;
        }
    }

    record Llama3(double factor, double lowFrequencyFactor, double highFrequencyFactor, int originalLength)
            implements RotaryScaling {

        Llama3 {
            checkFactor(factor, originalLength);
            Check.that(
                    lowFrequencyFactor > 0
                            && highFrequencyFactor >= lowFrequencyFactor
                            && Double.isFinite(highFrequencyFactor),
                    () -> "lowFrequencyFactor " + lowFrequencyFactor + " and highFrequencyFactor " + highFrequencyFactor
                            + ": expected 0 < lowFrequencyFactor <= highFrequencyFactor, finite; set them to the model's"
                            + " numbers, 1 and 4 in Llama 3.1");
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            DoubleDouble width = DoubleDouble.of(highFrequencyFactor).plus(-lowFrequencyFactor);
            return new Rotary(rotarySize, base, this).scaled((pair, frequency) -> {
                DoubleDouble turns = frequency.times(originalLength).dividedBy(TWO_PI);
                DoubleDouble above = turns.plus(-lowFrequencyFactor);
                // without a mixture, the bound is the division by zero of the published code
                DoubleDouble unscaled =
                        width.high() > 0 ? clamp(above.dividedBy(width)) : DoubleDouble.of(above.high() < 0 ? 0 : 1);
                return mixed(frequency, unscaled.negated().plus(1), factor);
            });
        }
    }

    record LongRope(
            List<Double> shortFactors,
            List<Double> longFactors,
            int originalLength,
            int maxLength,
            Double shortAttentionScale,
            Double longAttentionScale,
            int length)
            implements RotaryScaling {

        LongRope {
            Check.present("shortFactors", shortFactors).forEach(LongRope::checkDivisor);
            Check.present("longFactors", longFactors).forEach(LongRope::checkDivisor);
            Check.that(
                    shortFactors.size() == longFactors.size(),
                    () -> shortFactors.size() + " short and " + longFactors.size()
                            + " long factors: expected the same number of both; pass one of each for each pair");
            Check.between("originalLength", originalLength, 2, Integer.MAX_VALUE);
            Check.between("maxLength", maxLength, originalLength, Integer.MAX_VALUE);
            double stretch = (double) maxLength / originalLength;
            double published = Math.sqrt(1 + StrictMath.log(stretch) / StrictMath.log(originalLength));
            shortAttentionScale = Objects.requireNonNullElse(shortAttentionScale, published);
            longAttentionScale = Objects.requireNonNullElse(longAttentionScale, published);
            checkLength(length);
            Check.positive("attentionFactor", shortAttentionScale, "1 for none");
            Check.positive("attentionFactor", longAttentionScale, "1 for none");
        }

        static List<Double> list(double... factors) {
            return DoubleStream.of(factors).boxed().toList();
        }

        private static void checkDivisor(double factor) {
            Check.positive("LongRoPE factor", factor, "as the model publishes for each pair");
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            Rotary rotary = new Rotary(rotarySize, base, this);
            Check.that(
                    rotarySize == 2 * shortFactors.size(),
                    () -> shortFactors.size() + " LongRoPE factors for rotary size " + rotarySize + ": expected "
                            + (rotarySize / 2) + "; pass one short and one long factor for each pair");
            List<Double> factors = isLong() ? longFactors : shortFactors;
            return rotary.scaled((pair, frequency) -> frequency.dividedBy(factors.get(pair)));
        }

        private boolean isLong() {
            return length > originalLength;
        }

        @Override
        public double attentionFactor() {
            return isLong() ? longAttentionScale : shortAttentionScale;
        }
    }

    /** The origin of scaled frequencies. */
    record Rotary(int rotarySize, double base, RotaryScaling scaling) implements Frequencies.Origin {

        Rotary {
            Check.that(
                    rotarySize >= 2 && rotarySize % 2 == 0,
                    () -> "rotary size " + rotarySize
                            + ": expected an even number of 2 or more; set it to the number of dimensions to rotate");
            Check.that(
                    base > 1 && Double.isFinite(base),
                    () -> "base " + base
                            + ": expected a finite number above 1; set it to the base of the model, 10000 in RoFormer");
            Check.present("scaling", scaling);
        }

        @Override
        public Frequencies create() {
            return scaling.frequencies(rotarySize, base);
        }

        /** The frequency of one pair. */
        @FunctionalInterface
        private interface Rule {
            DoubleDouble scaled(int pair, DoubleDouble frequency);
        }

        private Frequencies unscaled() {
            return Frequencies.geometric(rotarySize / 2, base, rotarySize / 2.0);
        }

        private void requireNtk() {
            Check.that(
                    rotarySize > 2,
                    () -> "rotary size " + rotarySize
                            + " with NTK scaling: expected 4 or more; use a larger size or linear scaling");
        }

        /** The frequencies of base · growth^(r / (r - 2)). */
        private Frequencies ntk(DoubleDouble growth) {
            DoubleDouble power = growth.log().times(rotarySize).dividedBy(rotarySize - 2);
            DoubleDouble logBase = DoubleDouble.of(base).log().plus(power);
            return Frequencies.exponential(this, rotarySize / 2, logBase.dividedBy(-rotarySize / 2.0), 1);
        }

        private Frequencies scaled(Rule rule) {
            Frequencies unscaled = unscaled();
            return Frequencies.compute(this, rotarySize / 2, pair -> rule.scaled(pair, unscaled.exactly(pair)));
        }
    }

    /** Divides a part of a frequency by the factor, and adds the rest unchanged. */
    private static DoubleDouble mixed(DoubleDouble frequency, DoubleDouble part, double factor) {
        return frequency.times(part.negated().plus(1).plus(part.dividedBy(factor)));
    }

    private static void checkFactor(double factor) {
        Check.that(
                factor >= 1 && Double.isFinite(factor),
                () -> "scaling factor " + factor
                        + ": expected a finite number of 1 or more; set it to the new length over the original one");
    }

    private static void checkFactor(double factor, int originalLength) {
        checkFactor(factor);
        Check.positive("originalLength", originalLength);
        Check.that(
                factor <= originalLength,
                () -> "scaling factor " + factor + " with originalLength " + originalLength
                        + ": expected a factor of at most the original length; pass the factor first");
    }

    private static void checkLength(int length) {
        Check.that(
                length >= 1, () -> "length " + length + ": expected 1 or more; set it to the maximum sequence length");
    }

    private static double floor(DoubleDouble value) {
        double below = Math.floor(value.high());
        return below == value.high() && value.low() < 0 ? below - 1 : below;
    }

    private static DoubleDouble atLeast(DoubleDouble value, double minimum) {
        return value.high() < minimum ? DoubleDouble.of(minimum) : value;
    }

    private static DoubleDouble atMost(DoubleDouble value, double most) {
        return value.high() > most ? DoubleDouble.of(most) : value;
    }

    private static DoubleDouble clamp(DoubleDouble value) {
        return atMost(atLeast(value, 0), 1);
    }
}
