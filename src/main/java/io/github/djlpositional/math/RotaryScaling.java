package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.arguments.HasArguments;
import java.util.Locale;
import java.util.Map;

/**
 * How a rotary embedding's frequencies are changed so that a model serves longer contexts than it was trained with.
 *
 * <p>The rotary size r is the number of dimensions that are rotated; θ<sub>k</sub> = base<sup>-2k/r</sup> is the unscaled
 * frequency of pair k, L the original context length, and s the factor. Every result is computed with 100 bits and more.
 * Immutable.
 */
public final class RotaryScaling implements HasArguments {

    private static final DoubleDouble ONE = DoubleDouble.of(1);

    /** 2π in full. */
    private static final DoubleDouble TWO_PI = new DoubleDouble(0x1.921fb54442d18p2, 0x1.1a62633145c07p-52);

    /** Computes the frequencies, once the arguments are checked. */
    @FunctionalInterface
    private interface Rule {
        Frequencies frequencies(int rotarySize, double base, long length, Origin origin);
    }

    private final Origin origin;
    private final double attentionFactor;

    /** The length beyond which the frequencies depend on it; 0 where they never do. */
    private final int lengthThreshold;

    private final Rule rule;

    private RotaryScaling(Origin origin, double attentionFactor, int lengthThreshold, Rule rule) {
        this.origin = origin;
        this.attentionFactor = attentionFactor;
        this.lengthThreshold = lengthThreshold;
        this.rule = rule;
    }

    /**
     * Returns the scaling that changes nothing, as in Su et al., <em>RoFormer</em> (2021).
     *
     * @return θ<sub>k</sub>
     */
    public static RotaryScaling none() {
        return new RotaryScaling(new Origin("none", "none"), 1, 0, (size, base, length, made) -> unscaled(size, base));
    }

    /**
     * Returns linear position interpolation: Chen et al., <em>Extending Context Window of Large Language Models via Positional
     * Interpolation</em> (2023).
     *
     * @param factor s, at least 1 and finite
     * @return θ<sub>k</sub> / s
     * @throws IllegalArgumentException if the factor is outside its range
     */
    public static RotaryScaling linear(double factor) {
        requireFactor(factor);
        Origin origin = new Origin("linear", "linear(" + ExactText.of(factor) + ")").with("factor", factor);
        return new RotaryScaling(origin, 1, 0, (size, base, length, made) -> {
            Frequencies plain = unscaled(size, base);
            return forEach(plain, made, pair -> plain.exactly(pair).dividedBy(DoubleDouble.of(factor)));
        });
    }

    /**
     * Returns dynamic NTK-aware scaling: beyond the original length the base grows with the current length l, to
     * base · (s · l / L - (s - 1))<sup>r / (r - 2)</sup>. By bloc97 and emozilla (2023); described in Peng et al.,
     * <em>YaRN</em> (2023), section 3.3, with the formula of the published code.
     *
     * @param factor s, at least 1 and finite
     * @param originalLength L, at least 1
     * @return the scaling; {@link #dependsOnLength} is true
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static RotaryScaling dynamicNtk(double factor, int originalLength) {
        requireFactor(factor);
        requireOriginalLength(originalLength);
        Origin origin = new Origin(
                        "dynamicNtk", "dynamicNtk(" + ExactText.of(factor) + ", originalLength=" + originalLength + ")")
                .with("factor", factor)
                .with("originalLength", originalLength);
        return new RotaryScaling(origin, 1, originalLength, (size, base, length, made) -> {
            if (size <= 2) {
                throw new IllegalArgumentException("rotary size " + size
                        + " has one pair: dynamic NTK scaling needs 4 or more; give a greater size or linear scaling");
            }
            if (length <= originalLength) {
                return unscaled(size, base);
            }
            DoubleDouble exactFactor = DoubleDouble.of(factor);
            DoubleDouble growth = exactFactor
                    .times((double) length)
                    .dividedBy(DoubleDouble.of(originalLength))
                    .plus(exactFactor.negated())
                    .plus(ONE);
            DoubleDouble logBase =
                    DoubleDouble.of(base).log().plus(growth.log().times(size).dividedBy(DoubleDouble.of(size - 2)));
            return Frequencies.geometric(size / 2, logBase, size / 2.0, made);
        });
    }

    /**
     * Returns YaRN with the paper's settings: {@link #yarn(double, int, double, double, boolean, double)} with β of 32 and 1,
     * whole bounds, and the attention factor 0.1 · ln s + 1.
     *
     * @param factor s, at least 1 and finite
     * @param originalLength L, at least 1
     * @return the scaling
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static RotaryScaling yarn(double factor, int originalLength) {
        return yarn(factor, originalLength, 32, 1, true, 0.1 * StrictMath.log(factor) + 1);
    }

    /**
     * Returns YaRN: Peng et al., <em>YaRN: Efficient Context Window Extension of Large Language Models</em> (2023), section 3.
     * Pairs that turn more than betaFast times over the original length keep their frequency, those that turn less than
     * betaSlow times have it divided by s, and those between have a mixture that is linear in k.
     *
     * @param factor s, at least 1 and finite
     * @param originalLength L, at least 1
     * @param betaFast turns from which a frequency is kept, above betaSlow; the paper's is 32
     * @param betaSlow turns below which a frequency is divided, positive; the paper's is 1
     * @param truncate whether the bounds between them are rounded outwards to whole pairs, as the paper's code does
     * @param attentionFactor what cosines and sines are multiplied by; the paper's is 0.1 · ln s + 1; positive and finite
     * @return the scaling
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static RotaryScaling yarn(
            double factor,
            int originalLength,
            double betaFast,
            double betaSlow,
            boolean truncate,
            double attentionFactor) {
        requireFactor(factor);
        requireOriginalLength(originalLength);
        Frequencies.requirePositive("attention factor", attentionFactor, "the paper's is 0.1 · ln(factor) + 1");
        if (!(betaSlow > 0 && betaFast > betaSlow && Double.isFinite(betaFast))) {
            throw new IllegalArgumentException("betas " + betaFast + " and " + betaSlow
                    + ": allowed are finite numbers, the first above the second, the second above 0; the"
                    + " paper's are 32 and 1");
        }
        String description = String.format(
                Locale.ROOT,
                "yarn(%s, originalLength=%d, betaFast=%s, betaSlow=%s, truncate=%s, attentionFactor=%s)",
                ExactText.of(factor),
                originalLength,
                ExactText.of(betaFast),
                ExactText.of(betaSlow),
                truncate,
                ExactText.of(attentionFactor));
        Origin origin = new Origin("yarn", description)
                .with("factor", factor)
                .with("originalLength", originalLength)
                .with("betaFast", betaFast)
                .with("betaSlow", betaSlow)
                .with("truncate", truncate)
                .with("attentionFactor", attentionFactor);
        return new RotaryScaling(origin, attentionFactor, 0, (size, base, length, made) -> {
            Frequencies plain = unscaled(size, base);
            DoubleDouble lower = pairThatTurns(betaFast, size, base, originalLength);
            DoubleDouble upper = pairThatTurns(betaSlow, size, base, originalLength);
            DoubleDouble low = atLeast(truncate ? DoubleDouble.of(floor(lower)) : lower, 0);
            DoubleDouble high = atMost(truncate ? DoubleDouble.of(-floor(upper.negated())) : upper, size - 1);
            DoubleDouble width = high.plus(low.negated());
            // the published code's way out of a ramp without width
            DoubleDouble ramp = width.high() == 0 ? DoubleDouble.of(0.001) : width;
            return forEach(plain, made, pair -> {
                DoubleDouble interpolated =
                        clamp(DoubleDouble.of(pair).plus(low.negated()).dividedBy(ramp));
                DoubleDouble kept = ONE.plus(interpolated.negated());
                return plain.exactly(pair).times(kept.plus(interpolated.dividedBy(DoubleDouble.of(factor))));
            });
        });
    }

    /** The pair, as a fraction, that turns so many times over the original length. */
    private static DoubleDouble pairThatTurns(double turns, int size, double base, int originalLength) {
        DoubleDouble wavelengths =
                DoubleDouble.of(originalLength).dividedBy(TWO_PI.times(turns)).log();
        return wavelengths.times(size).dividedBy(DoubleDouble.of(base).log().times(2));
    }

    /**
     * Returns the scaling of Llama 3.1 (Meta, 2024): pairs with a wavelength below L / highFrequencyFactor keep their
     * frequency, those above L / lowFrequencyFactor have it divided by s, and those between have a mixture that is linear in
     * the number of their turns over L.
     *
     * @param factor s, at least 1 and finite; Llama's is 8
     * @param lowFrequencyFactor positive; Llama's is 1
     * @param highFrequencyFactor above lowFrequencyFactor; Llama's is 4
     * @param originalLength L, at least 1; Llama's is 8192
     * @return the scaling
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static RotaryScaling llama3(
            double factor, double lowFrequencyFactor, double highFrequencyFactor, int originalLength) {
        requireFactor(factor);
        requireOriginalLength(originalLength);
        if (!(lowFrequencyFactor > 0
                && highFrequencyFactor > lowFrequencyFactor
                && Double.isFinite(highFrequencyFactor))) {
            throw new IllegalArgumentException("frequency factors " + lowFrequencyFactor + " and " + highFrequencyFactor
                    + ": allowed are finite numbers, the first above 0, the second above the first; Llama's"
                    + " are 1 and 4");
        }
        String description = String.format(
                Locale.ROOT,
                "llama3(%s, low=%s, high=%s, originalLength=%d)",
                ExactText.of(factor),
                ExactText.of(lowFrequencyFactor),
                ExactText.of(highFrequencyFactor),
                originalLength);
        Origin origin = new Origin("llama3", description)
                .with("factor", factor)
                .with("lowFrequencyFactor", lowFrequencyFactor)
                .with("highFrequencyFactor", highFrequencyFactor)
                .with("originalLength", originalLength);
        return new RotaryScaling(origin, 1, 0, (size, base, length, made) -> {
            Frequencies plain = unscaled(size, base);
            DoubleDouble low = DoubleDouble.of(lowFrequencyFactor);
            DoubleDouble width = DoubleDouble.of(highFrequencyFactor).plus(low.negated());
            return forEach(plain, made, pair -> {
                DoubleDouble frequency = plain.exactly(pair);
                DoubleDouble turns = frequency.times(originalLength).dividedBy(TWO_PI);
                DoubleDouble kept = clamp(turns.plus(low.negated()).dividedBy(width));
                DoubleDouble divided = ONE.plus(kept.negated());
                return frequency.times(kept.plus(divided.dividedBy(DoubleDouble.of(factor))));
            });
        });
    }

    /**
     * Returns LongRoPE: Ding et al., <em>LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens</em> (2024), with the
     * factors that its search has found for a model, as Phi-3 and its descendants publish them.
     *
     * @param shortFactors what the frequency of each pair is divided by up to the original length; positive, one for each pair
     * @param longFactors what it is divided by beyond it; positive, one for each pair
     * @param originalLength L, at least 2
     * @param maxLength the extended context length, at least the original one; it decides the attention factor,
     *     √(1 + ln(maxLength / L) / ln L)
     * @return the scaling; {@link #dependsOnLength} is true
     * @throws IllegalArgumentException if an argument is outside its range, or there is another number of short factors than
     *     of long ones
     */
    public static RotaryScaling longRope(
            double[] shortFactors, double[] longFactors, int originalLength, int maxLength) {
        if (originalLength < 2 || maxLength < originalLength) {
            throw new IllegalArgumentException("original length " + originalLength + " and maximum length " + maxLength
                    + ": allowed are 2 or more, and no less than that; give the lengths the model was made for");
        }
        if (shortFactors.length != longFactors.length) {
            throw new IllegalArgumentException(shortFactors.length + " short and " + longFactors.length
                    + " long factors: allowed is the same number of both; give one of each for each pair");
        }
        double[] shorts = requireFactors(shortFactors);
        double[] longs = requireFactors(longFactors);
        double stretch = (double) maxLength / originalLength;
        double attention = Math.sqrt(1 + StrictMath.log(stretch) / StrictMath.log(originalLength));
        String description =
                "longRope(short=[" + Frequencies.describe(shorts) + "], long=[" + Frequencies.describe(longs)
                        + "], originalLength=" + originalLength + ", maxLength=" + maxLength + ")";
        Origin origin = new Origin("longRope", description)
                .with("shortFactors", shorts)
                .with("longFactors", longs)
                .with("originalLength", originalLength)
                .with("maxLength", maxLength);
        return new RotaryScaling(origin, attention, originalLength, (size, base, length, made) -> {
            Frequencies plain = unscaled(size, base);
            double[] factors = length > originalLength ? longs : shorts;
            if (factors.length != plain.size()) {
                throw new IllegalArgumentException(factors.length + " LongRoPE factors for rotary size " + size
                        + ", which has " + plain.size() + " pairs: give one short and one long factor for each pair");
            }
            return forEach(plain, made, pair -> plain.exactly(pair).dividedBy(DoubleDouble.of(factors[pair])));
        });
    }

    /**
     * Makes a scaling from the plain values that {@link #getArguments} returns.
     *
     * @param arguments {@code kind}, which is none, linear, dynamicNtk, yarn, llama3 or longRope, and all arguments of that
     *     factory; with yarn those after originalLength may be left out, together
     * @return the scaling
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static RotaryScaling fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(RotaryScaling.class, arguments);
        RotaryScaling scaling = switch (given.getText("kind")) {
            case "none" -> none();
            case "linear" -> linear(given.getDouble("factor"));
            case "dynamicNtk" -> dynamicNtk(given.getDouble("factor"), given.getInt("originalLength"));
            case "yarn" -> yarnFrom(given);
            case "llama3" ->
                llama3(
                        given.getDouble("factor"),
                        given.getDouble("lowFrequencyFactor"),
                        given.getDouble("highFrequencyFactor"),
                        given.getInt("originalLength"));
            case "longRope" ->
                longRope(
                        given.getDoubles("shortFactors"),
                        given.getDoubles("longFactors"),
                        given.getInt("originalLength"),
                        given.getInt("maxLength"));
            default -> throw given.refused("kind", "none, linear, dynamicNtk, yarn, llama3 or longRope");
        };
        given.requireNoOthers();
        return scaling;
    }

    private static RotaryScaling yarnFrom(Arguments given) {
        double factor = given.getDouble("factor");
        int originalLength = given.getInt("originalLength");
        boolean isThePapers = given.optDouble("betaFast").isEmpty()
                && given.optDouble("betaSlow").isEmpty()
                && given.optFlag("truncate").isEmpty()
                && given.optDouble("attentionFactor").isEmpty();
        return isThePapers
                ? yarn(factor, originalLength)
                : yarn(
                        factor,
                        originalLength,
                        given.getDouble("betaFast"),
                        given.getDouble("betaSlow"),
                        given.getFlag("truncate"),
                        given.getDouble("attentionFactor"));
    }

    @Override
    public Record getSettings() {
        return null;
    }

    @Override
    public Map<String, Object> getArguments() {
        return origin.arguments();
    }

    private static double[] requireFactors(double... factors) {
        for (double factor : factors) {
            Frequencies.requirePositive("LongRoPE factor", factor, "models publish one for each pair");
        }
        return factors.clone();
    }

    private static void requireFactor(double factor) {
        if (!(factor >= 1 && Double.isFinite(factor))) {
            throw new IllegalArgumentException("scaling factor " + factor
                    + " is outside its range: allowed is 1 or more, finite; give the new length over the original one");
        }
    }

    private static void requireOriginalLength(int length) {
        if (length < 1) {
            throw new IllegalArgumentException("original length " + length
                    + " is not positive: allowed is 1 or more; give the context length the model was trained with");
        }
    }

    private static Frequencies unscaled(int rotarySize, double base) {
        return Frequencies.geometric(rotarySize / 2, base, rotarySize / 2.0);
    }

    /** One frequency of a scaling. */
    @FunctionalInterface
    private interface Scaled {
        DoubleDouble frequency(int pair);
    }

    private static Frequencies forEach(Frequencies plain, Origin origin, Scaled scaled) {
        DoubleDouble[] frequencies = new DoubleDouble[plain.size()];
        for (int pair = 0; pair < frequencies.length; pair++) {
            frequencies[pair] = scaled.frequency(pair);
        }
        return Frequencies.exact(frequencies, origin);
    }

    private static double floor(DoubleDouble value) {
        double below = Math.floor(value.high());
        return below == value.high() && value.low() < 0 ? below - 1 : below;
    }

    private static DoubleDouble atLeast(DoubleDouble value, double least) {
        return value.high() < least ? DoubleDouble.of(least) : value;
    }

    private static DoubleDouble atMost(DoubleDouble value, double most) {
        return value.high() > most ? DoubleDouble.of(most) : value;
    }

    private static DoubleDouble clamp(DoubleDouble value) {
        return atMost(atLeast(value, 0), 1);
    }

    /**
     * Returns the scaled frequencies.
     *
     * @param rotarySize r, even and positive
     * @param base above 1 and finite; RoFormer's is 10,000
     * @param length the current length l, at least 0; of no account unless {@link #dependsOnLength}
     * @return r / 2 frequencies, the fastest first
     * @throws IllegalArgumentException if an argument is outside its range, or does not fit this scaling
     */
    public Frequencies frequencies(int rotarySize, double base, long length) {
        if (rotarySize < 2 || rotarySize % 2 != 0) {
            throw new IllegalArgumentException("rotary size " + rotarySize
                    + " has no whole pairs: allowed is an even number of 2 or more; give the number of"
                    + " dimensions to rotate");
        }
        if (!(base > 1 && Double.isFinite(base))) {
            throw new IllegalArgumentException(
                    "base " + base + " is outside its range: allowed is a finite number above 1; RoFormer's is 10000");
        }
        if (length < 0) {
            throw new IllegalArgumentException(
                    "length " + length + " is negative: allowed is 0 or more; give the number of positions");
        }
        long effective = dependsOnLength() ? Math.max(length, lengthThreshold) : 0;
        String text = "rotary(size=" + rotarySize + ", base=" + ExactText.of(base) + ", " + origin
                + (effective > lengthThreshold ? ", length=" + effective : "") + ")";
        Origin made = new Origin("rotary", text)
                .with("rotarySize", rotarySize)
                .with("base", base)
                .with("length", effective)
                .with("scaling", this);
        return rule.frequencies(rotarySize, base, effective, made);
    }

    /**
     * Returns whether the frequencies change once a sequence is longer than the original length. Keys that were rotated
     * before then have to be rotated anew.
     *
     * @return true for dynamic NTK and LongRoPE
     */
    public boolean dependsOnLength() {
        return lengthThreshold > 0;
    }

    /**
     * Returns the length beyond which the frequencies depend on the length.
     *
     * @return L for dynamic NTK and LongRoPE; {@link Integer#MAX_VALUE} for the others, YaRN and Llama 3 too, whose
     *     frequencies are the same at every length
     */
    public int lengthThreshold() {
        return dependsOnLength() ? lengthThreshold : Integer.MAX_VALUE;
    }

    /**
     * Returns what cosines and sines are multiplied by, so that scores are by its square.
     *
     * @return 1 but for YaRN and LongRoPE
     */
    public double attentionFactor() {
        return attentionFactor;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RotaryScaling that && origin.arguments().equals(that.origin.arguments());
    }

    @Override
    public int hashCode() {
        return origin.arguments().hashCode();
    }

    /** Returns the kind and every setting, for example {@code linear(4)}. */
    @Override
    public String toString() {
        return origin.toString();
    }
}
