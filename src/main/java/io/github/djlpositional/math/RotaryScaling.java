package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.math.RotaryScalings.DynamicNtk;
import io.github.djlpositional.math.RotaryScalings.Linear;
import io.github.djlpositional.math.RotaryScalings.Llama3;
import io.github.djlpositional.math.RotaryScalings.LongRope;
import io.github.djlpositional.math.RotaryScalings.None;
import io.github.djlpositional.math.RotaryScalings.NtkAware;
import io.github.djlpositional.math.RotaryScalings.Yarn;
import io.github.djlpositional.options.HasArguments;
import java.util.Map;

/**
 * Scales the frequencies of a rotary embedding, so that a model can process longer contexts than it was trained with.
 *
 * <p>The rotary size r is the number of dimensions that are rotated; θ<sub>k</sub> = base<sup>-2k/r</sup> is the
 * unscaled frequency of pair k, L the original context length, and s the scaling factor. Frequencies are computed with
 * at least 100 bits. Immutable. Two scalings are equal if they have the same class and the same arguments.
 */
public sealed interface RotaryScaling extends HasArguments
        permits None, Linear, NtkAware, DynamicNtk, Yarn, Llama3, LongRope {

    /**
     * {@return the scaling that does not change the frequencies, as in Su et al., <em>RoFormer</em> (2021):
     * θ<sub>k</sub>}
     *
     * @see <a href="https://arxiv.org/abs/2104.09864">RoFormer: Enhanced Transformer with Rotary Position Embedding</a>
     */
    static RotaryScaling none() {
        return new None();
    }

    /**
     * Returns linear position interpolation: Chen et al., <em>Extending Context Window of Large Language Models via
     * Positional Interpolation</em> (2023).
     *
     * @param factor s, finite and at least 1
     * @return θ<sub>k</sub> / s
     * @throws IllegalArgumentException if the factor is outside its range
     * @see <a href="https://arxiv.org/abs/2306.15595">Extending Context Window of Large Language Models via Positional
     *     Interpolation</a>
     */
    static RotaryScaling linear(double factor) {
        return new Linear(factor);
    }

    /**
     * Returns NTK-aware scaling with a fixed base, base · s<sup>r / (r - 2)</sup>: bloc97, <em>NTK-Aware Scaled
     * RoPE</em> (2023); described in Peng et al., <em>YaRN</em> (2023), section 3.1.
     *
     * @param factor s, finite and at least 1
     * @return the scaling, for r of 4 or more
     * @throws IllegalArgumentException if the factor is outside its range
     * @see <a href="https://arxiv.org/abs/2309.00071">YaRN: Efficient Context Window Extension of Large Language
     *     Models</a>
     */
    static RotaryScaling ntkAware(double factor) {
        return new NtkAware(factor);
    }

    /**
     * Returns dynamic NTK-aware scaling for a maximum length l. If it exceeds the original length, the base becomes
     * base · (s · l / L - (s - 1))<sup>r / (r - 2)</sup>; otherwise the frequencies are unscaled. By bloc97 and
     * emozilla (2023); described in Peng et al., <em>YaRN</em> (2023), section 3.3. The formula follows the published
     * code, which applies it to the length of each forward.
     *
     * @param factor s, from 1 to the original length
     * @param originalLength L, at least 1
     * @param length l, at least 1
     * @return the scaling
     * @throws IllegalArgumentException if an argument is outside its range
     * @see <a href="https://arxiv.org/abs/2309.00071">YaRN: Efficient Context Window Extension of Large Language
     *     Models</a>
     */
    static RotaryScaling dynamicNtk(double factor, int originalLength, int length) {
        return new DynamicNtk(factor, originalLength, length);
    }

    /**
     * {@return YaRN with the options of the paper: {@link #yarn(double, int, double, double, boolean, double)} with β
     * of 32 and 1, bounds rounded to whole pairs, and the attention factor 0.1 · ln s + 1}
     *
     * @param factor s, from 1 to the original length
     * @param originalLength L, at least 1
     * @throws IllegalArgumentException if an argument is outside its range
     * @see <a href="https://arxiv.org/abs/2309.00071">YaRN: Efficient Context Window Extension of Large Language
     *     Models</a>
     */
    static RotaryScaling yarn(double factor, int originalLength) {
        return new Yarn(factor, originalLength, null, null, null, null);
    }

    /**
     * {@return YaRN: Peng et al., <em>YaRN: Efficient Context Window Extension of Large Language Models</em> (2023),
     * section 3} Pairs that make more than betaFast turns over the original length have an unchanged frequency. The
     * frequency of pairs that make fewer than betaSlow turns is divided by s. Between them, the two are mixed linearly
     * in k.
     *
     * @param factor s, from 1 to the original length
     * @param originalLength L, at least 1
     * @param betaFast the number of turns above which a frequency does not change, finite and at least betaSlow; 32 in
     *     the paper
     * @param betaSlow the number of turns below which a frequency is divided by s, positive; 1 in the paper
     * @param truncate whether the bounds of the mixture are rounded outwards to whole pairs, as in the published code
     * @param attentionFactor the factor of cosines and sines, positive and finite; 0.1 · ln s + 1 in the paper
     * @throws IllegalArgumentException if an argument is outside its range
     * @see <a href="https://arxiv.org/abs/2309.00071">YaRN: Efficient Context Window Extension of Large Language
     *     Models</a>
     */
    static RotaryScaling yarn(
            double factor,
            int originalLength,
            double betaFast,
            double betaSlow,
            boolean truncate,
            double attentionFactor) {
        return new Yarn(factor, originalLength, betaFast, betaSlow, truncate, attentionFactor);
    }

    /**
     * {@return the scaling of Llama 3.1 (Meta, 2024)} Pairs with a wavelength below L / highFrequencyFactor have an
     * unchanged frequency. The frequency of pairs with a wavelength above L / lowFrequencyFactor is divided by s.
     * Between them, the two are mixed linearly in the number of turns over L. Where both factors are the same, as in
     * Llama 4 Scout, nothing is mixed.
     *
     * @param factor s, from 1 to the original length; 8 in Llama 3.1
     * @param lowFrequencyFactor positive; 1 in Llama 3.1
     * @param highFrequencyFactor finite and at least lowFrequencyFactor; 4 in Llama 3.1
     * @param originalLength L, at least 1; 8192 in Llama 3.1
     * @throws IllegalArgumentException if an argument is outside its range
     * @see <a href="https://arxiv.org/abs/2407.21783">The Llama 3 Herd of Models</a>
     */
    static RotaryScaling llama3(
            double factor, double lowFrequencyFactor, double highFrequencyFactor, int originalLength) {
        return new Llama3(factor, lowFrequencyFactor, highFrequencyFactor, originalLength);
    }

    /**
     * {@return LongRoPE with the attention factor of the paper, √(1 + ln(maxLength / L) / ln L):
     * {@link #longRope(double[], double[], int, int, double, double, int)}}
     *
     * @param shortFactors the divisor of each pair's frequency up to the original length; positive, one for each pair
     * @param longFactors the divisor of each pair's frequency beyond it; positive, one for each pair
     * @param originalLength L, at least 2
     * @param maxLength the extended context length, at least the original length
     * @param length the maximum length of the sequences, at least 1
     * @throws IllegalArgumentException if an argument is outside its range, or the numbers of short and long factors
     *     differ
     * @see <a href="https://arxiv.org/abs/2402.13753">LongRoPE: Extending LLM Context Window Beyond 2 Million
     *     Tokens</a>
     */
    static RotaryScaling longRope(
            double[] shortFactors, double[] longFactors, int originalLength, int maxLength, int length) {
        return new LongRope(
                LongRope.list(shortFactors), LongRope.list(longFactors), originalLength, maxLength, null, null, length);
    }

    /**
     * {@return LongRoPE: Ding et al., <em>LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens</em> (2024)}
     * The factors are the result of a search for each model; Phi-3 and its successors publish theirs. The long ones are
     * used if the sequences may exceed the original length, as in vLLM. Hugging Face's code chooses them by the length
     * of each forward.
     *
     * @param shortFactors the divisor of each pair's frequency up to the original length; positive, one for each pair
     * @param longFactors the divisor of each pair's frequency beyond it; positive, one for each pair
     * @param originalLength L, at least 2
     * @param maxLength the extended context length, at least the original length
     * @param shortAttentionFactor the attention factor where the short factors are used, positive and finite; the
     *     {@code short_mscale} of Phi-3.5-MoE
     * @param longAttentionFactor the attention factor where the long factors are used, positive and finite
     * @param length the maximum length of the sequences, at least 1
     * @throws IllegalArgumentException if an argument is outside its range, or the numbers of short and long factors
     *     differ
     * @see <a href="https://arxiv.org/abs/2402.13753">LongRoPE: Extending LLM Context Window Beyond 2 Million
     *     Tokens</a>
     */
    static RotaryScaling longRope(
            double[] shortFactors,
            double[] longFactors,
            int originalLength,
            int maxLength,
            double shortAttentionFactor,
            double longAttentionFactor,
            int length) {
        return new LongRope(
                LongRope.list(shortFactors),
                LongRope.list(longFactors),
                originalLength,
                maxLength,
                shortAttentionFactor,
                longAttentionFactor,
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
     * @param arguments {@code type}, which is {@code None}, {@code Linear}, {@code NtkAware}, {@code DynamicNtk},
     *     {@code Yarn}, {@code Llama3} or {@code LongRope}, and the arguments of that factory by name. The attention
     *     factor of yarn is named {@code attentionScale}; it, {@code betaFast}, {@code betaSlow} and {@code truncate}
     *     are optional and default to the values of the paper. So are the attention factors of longRope,
     *     {@code shortAttentionScale} and {@code longAttentionScale}.
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
}
