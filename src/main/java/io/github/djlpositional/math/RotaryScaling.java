package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.Frequencies.Rotary;
import io.github.djlpositional.options.HasArguments;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.DoubleStream;

/**
 * Scales the frequencies of a rotary embedding, so that a model can process longer contexts than it was trained with.
 *
 * <p>The rotary size r is the number of dimensions that are rotated; θ<sub>k</sub> = base<sup>-2k/r</sup> is the
 * unscaled frequency of pair k, L the original context length, and s the scaling factor. Frequencies are computed with
 * at least 100 bits.
 *
 * <p>Each scaling is a record. Its constructor throws {@link IllegalArgumentException} for an argument that is outside
 * its range.
 */
public sealed interface RotaryScaling extends HasArguments {

    /** {@return {@link None}} */
    static None none() {
        return new None();
    }

    /** {@return {@link Linear}} */
    static Linear linear(double factor) {
        return new Linear(factor);
    }

    /** {@return {@link NtkAware}} */
    static NtkAware ntkAware(double factor) {
        return new NtkAware(factor);
    }

    /** {@return {@link DynamicNtk}} */
    static DynamicNtk dynamicNtk(double factor, int originalLength, int length) {
        return new DynamicNtk(factor, originalLength, length);
    }

    /** {@return {@link Yarn} with the options of the paper} */
    static Yarn yarn(double factor, int originalLength) {
        return new Yarn(factor, originalLength, 32, 1, true, null);
    }

    /** {@return {@link Llama3}} */
    static Llama3 llama3(double factor, double lowFrequencyFactor, double highFrequencyFactor, int originalLength) {
        return new Llama3(factor, lowFrequencyFactor, highFrequencyFactor, originalLength);
    }

    /** {@return {@link LongRope} with the attention factor of the paper} */
    static LongRope longRope(
            double[] shortFactors, double[] longFactors, int originalLength, int maxLength, int length) {
        return new LongRope(
                DoubleStream.of(shortFactors).boxed().toList(),
                DoubleStream.of(longFactors).boxed().toList(),
                originalLength,
                maxLength,
                null,
                null,
                length);
    }

    /**
     * {@return YaRN's magnitude g(s, m) = 0.1 · m · ln s + 1, or 1 if s is at most 1} With {@code mscale} and
     * {@code mscale_all_dim} other than 0, the attention factor of DeepSeek's models is g(s, mscale) / g(s,
     * mscale_all_dim), and their attention also multiplies its scale by g(s, mscale_all_dim)<sup>2</sup>.
     *
     * @param factor s
     * @param mscale m; 1 in the paper
     */
    static double yarnMagnitude(double factor, double mscale) {
        return factor <= 1 ? 1 : 0.1 * mscale * StrictMath.log(factor) + 1;
    }

    /**
     * {@return the scaling that a map of {@link #getArguments} describes}
     *
     * @param arguments {@code type}, the simple name of a record, and its components. Those of {@link Yarn} after the
     *     original length and the attention scales of {@link LongRope} default to the values of the paper.
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    static RotaryScaling fromArguments(Map<?, ?> arguments) {
        return Settings.createOneOf(RotaryScaling.class, arguments);
    }

    @Override
    default Map<String, Object> getArguments() {
        return Settings.toMap((Record) this);
    }

    /**
     * Returns the scaled frequencies.
     *
     * @param rotarySize r, even and positive
     * @param base above 1 and finite; 10,000 in RoFormer
     * @return r / 2 frequencies, the fastest first
     * @throws IllegalArgumentException if an argument is outside its range, or is not supported by this scaling
     */
    Frequencies frequencies(int rotarySize, double base);

    /**
     * {@return the factor of cosines and sines: 1 except for YaRN and LongRoPE} Attention scores are multiplied by its
     * square.
     */
    default double attentionFactor() {
        return 1;
    }

    /**
     * Does not change the frequencies: θ<sub>k</sub>, as in Su et al., <em>RoFormer</em> (2021).
     *
     * @see <a href="https://arxiv.org/abs/2104.09864">RoFormer: Enhanced Transformer with Rotary Position Embedding</a>
     */
    record None() implements RotaryScaling {

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            return new Rotary(rotarySize, base, this).unscaled();
        }
    }

    /**
     * Linear position interpolation, θ<sub>k</sub> / s: Chen et al., <em>Extending Context Window of Large Language
     * Models via Positional Interpolation</em> (2023).
     *
     * @param factor s, finite and at least 1
     * @see <a href="https://arxiv.org/abs/2306.15595">Extending Context Window of Large Language Models via Positional
     *     Interpolation</a>
     */
    record Linear(double factor) implements RotaryScaling {

        public Linear {
            checkFactor(factor);
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            return new Rotary(rotarySize, base, this).scaled((pair, frequency) -> frequency.dividedBy(factor));
        }
    }

    /**
     * NTK-aware scaling with a fixed base, base · s<sup>r / (r - 2)</sup>, for r of 4 or more: bloc97, <em>NTK-Aware
     * Scaled RoPE</em> (2023); described in Peng et al., <em>YaRN</em> (2023), section 3.1.
     *
     * @param factor s, finite and at least 1
     * @see <a href="https://arxiv.org/abs/2309.00071">YaRN: Efficient Context Window Extension of Large Language
     *     Models</a>
     */
    record NtkAware(double factor) implements RotaryScaling {

        public NtkAware {
            checkFactor(factor);
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            Rotary rotary = new Rotary(rotarySize, base, this);
            rotary.requireNtk();
            return rotary.ntk(DoubleDouble.of(factor));
        }
    }

    /**
     * Dynamic NTK-aware scaling for a maximum length l. If it exceeds the original length, the base becomes base · (s ·
     * l / L - (s - 1))<sup>r / (r - 2)</sup>; otherwise the frequencies are unscaled. By bloc97 and emozilla (2023);
     * described in Peng et al., <em>YaRN</em> (2023), section 3.3. The formula follows the published code, which
     * applies it to the length of each forward.
     *
     * @param factor s, from 1 to the original length
     * @param originalLength L, at least 1
     * @param length l, at least 1
     * @see <a href="https://arxiv.org/abs/2309.00071">YaRN: Efficient Context Window Extension of Large Language
     *     Models</a>
     */
    record DynamicNtk(double factor, int originalLength, int length) implements RotaryScaling {

        public DynamicNtk {
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

    /**
     * YaRN: Peng et al., <em>YaRN: Efficient Context Window Extension of Large Language Models</em> (2023), section 3.
     * Pairs that make more than betaFast turns over the original length have an unchanged frequency. The frequency of
     * pairs that make fewer than betaSlow turns is divided by s. Between them, the two are mixed linearly in k.
     *
     * @param factor s, from 1 to the original length
     * @param originalLength L, at least 1
     * @param betaFast the number of turns above which a frequency does not change, finite and at least betaSlow; 32 in
     *     the paper
     * @param betaSlow the number of turns below which a frequency is divided by s, positive; 1 in the paper
     * @param truncate whether the bounds of the mixture are rounded outwards to whole pairs, as in the published code
     * @param attentionScale the attention factor, positive and finite; null for 0.1 · ln s + 1, as in the paper
     * @see <a href="https://arxiv.org/abs/2309.00071">YaRN: Efficient Context Window Extension of Large Language
     *     Models</a>
     */
    record Yarn(
            double factor,
            int originalLength,
            @Default("32") double betaFast,
            @Default("1") double betaSlow,
            @Default("true") boolean truncate,
            Double attentionScale)
            implements RotaryScaling {

        public Yarn {
            attentionScale = Objects.requireNonNullElse(attentionScale, yarnMagnitude(factor, 1));
            checkFactor(factor, originalLength);
            Check.that(
                    betaSlow > 0 && betaFast >= betaSlow && Double.isFinite(betaFast),
                    "betaSlow " + betaSlow + " and betaFast " + betaFast
                            + ": expected 0 < betaSlow ≤ betaFast, finite; set them to the model's numbers, 1 and 32 in"
                            + " the paper");
            Check.positive("attentionScale", attentionScale, "0.1 · ln(factor) + 1 in the paper");
        }

        @Override
        public Frequencies frequencies(int rotarySize, double base) {
            Rotary rotary = new Rotary(rotarySize, base, this);
            DoubleDouble lower = pairWithTurns(betaFast, rotarySize, base);
            DoubleDouble upper = pairWithTurns(betaSlow, rotarySize, base);
            DoubleDouble low = (truncate ? lower.floor() : lower).max(0);
            DoubleDouble high = (truncate ? upper.ceil() : upper).min(rotarySize - 1);
            DoubleDouble width = high.minus(low);
            // this is how the published code avoids a division by zero
            DoubleDouble ramp = width.high() == 0 ? DoubleDouble.of(0.001) : width;
            return rotary.scaled((pair, frequency) -> {
                DoubleDouble share = DoubleDouble.of(pair).minus(low).dividedBy(ramp);
                return mixed(frequency, share.max(0).min(1), factor);
            });
        }

        /** The pair, as a fraction, that makes this number of turns over the original length. */
        private DoubleDouble pairWithTurns(double turns, int rotarySize, double base) {
            DoubleDouble wavelengths = DoubleDouble.of(originalLength)
                    .dividedBy(DoubleDouble.TWO_PI.times(turns))
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

    /**
     * The scaling of Llama 3.1 (Meta, 2024). Pairs with a wavelength below L / highFrequencyFactor have an unchanged
     * frequency. The frequency of pairs with a wavelength above L / lowFrequencyFactor is divided by s. Between them,
     * the two are mixed linearly in the number of turns over L. Where both factors are the same, as in Llama 4 Scout,
     * nothing is mixed.
     *
     * @param factor s, from 1 to the original length; 8 in Llama 3.1
     * @param lowFrequencyFactor positive; 1 in Llama 3.1
     * @param highFrequencyFactor finite and at least lowFrequencyFactor; 4 in Llama 3.1
     * @param originalLength L, at least 1; 8192 in Llama 3.1
     * @see <a href="https://arxiv.org/abs/2407.21783">The Llama 3 Herd of Models</a>
     */
    record Llama3(double factor, double lowFrequencyFactor, double highFrequencyFactor, int originalLength)
            implements RotaryScaling {

        public Llama3 {
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
                DoubleDouble turns = frequency.times(originalLength).dividedBy(DoubleDouble.TWO_PI);
                DoubleDouble above = turns.plus(-lowFrequencyFactor);
                // without a mixture, the bound is the division by zero of the published code
                DoubleDouble unscaled = width.high() > 0
                        ? above.dividedBy(width).max(0).min(1)
                        : DoubleDouble.of(above.high() < 0 ? 0 : 1);
                return mixed(frequency, unscaled.negated().plus(1), factor);
            });
        }
    }

    /**
     * LongRoPE: Ding et al., <em>LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens</em> (2024). The
     * factors are the result of a search for each model; Phi-3 and its successors publish theirs. The long ones are
     * used if the sequences may exceed the original length, as in vLLM. Hugging Face's code chooses them by the length
     * of each forward.
     *
     * @param shortFactors the divisor of each pair's frequency up to the original length; positive, one for each pair
     * @param longFactors the divisor of each pair's frequency beyond it; positive, as many
     * @param originalLength L, at least 2
     * @param maxLength the extended context length, at least the original length
     * @param shortAttentionScale the attention factor where the short factors are used, positive and finite; the
     *     {@code short_mscale} of Phi-3.5-MoE; null for √(1 + ln(maxLength / L) / ln L), as in the paper
     * @param longAttentionScale the attention factor where the long factors are used, likewise
     * @param length the maximum length of the sequences, at least 1
     * @see <a href="https://arxiv.org/abs/2402.13753">LongRoPE: Extending LLM Context Window Beyond 2 Million
     *     Tokens</a>
     */
    record LongRope(
            List<Double> shortFactors,
            List<Double> longFactors,
            int originalLength,
            int maxLength,
            Double shortAttentionScale,
            Double longAttentionScale,
            int length)
            implements RotaryScaling {

        public LongRope {
            shortFactors = divisors("shortFactors", shortFactors);
            longFactors = divisors("longFactors", longFactors);
            Check.that(
                    shortFactors.size() == longFactors.size(),
                    shortFactors.size() + " short and " + longFactors.size()
                            + " long factors: expected the same number of both; pass one of each for each pair");
            Check.between("originalLength", originalLength, 2, Integer.MAX_VALUE);
            Check.between("maxLength", maxLength, originalLength, Integer.MAX_VALUE);
            double stretch = (double) maxLength / originalLength;
            double published = Math.sqrt(1 + StrictMath.log(stretch) / StrictMath.log(originalLength));
            shortAttentionScale = Objects.requireNonNullElse(shortAttentionScale, published);
            longAttentionScale = Objects.requireNonNullElse(longAttentionScale, published);
            checkLength(length);
            Check.positive("shortAttentionScale", shortAttentionScale, "1 for none");
            Check.positive("longAttentionScale", longAttentionScale, "1 for none");
        }

        private static List<Double> divisors(String name, List<Double> factors) {
            Check.present(name, factors)
                    .forEach(factor ->
                            Check.positive("LongRoPE factor", factor, "as the model publishes for each pair"));
            return List.copyOf(factors);
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

    /** Divides a share of a frequency by the factor, and adds the rest unchanged. */
    private static DoubleDouble mixed(DoubleDouble frequency, DoubleDouble share, double factor) {
        return frequency.times(share.negated().plus(1).plus(share.dividedBy(factor)));
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
        int shortest = 128; // no model is trained for fewer tokens: the arguments were swapped, probably
        Check.that(
                factor <= originalLength || originalLength >= shortest,
                () -> "scaling factor " + factor + " with originalLength " + originalLength
                        + ": expected an original length of at least the factor, or " + shortest
                        + "; pass the factor first");
    }

    private static void checkLength(int length) {
        Check.that(
                length >= 1, () -> "length " + length + ": expected 1 or more; set it to the maximum sequence length");
    }
}
