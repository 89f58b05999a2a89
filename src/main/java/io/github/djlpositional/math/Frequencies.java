package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.options.HasArguments;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The angular frequency of each sine-cosine pair, in radians per position. Immutable.
 *
 * <p>Each frequency is stored as a sum of two doubles, and the angle {@code position × frequency} is computed likewise,
 * so that its sine and cosine are accurate at large positions. One double is not enough: near a zero crossing at
 * position 10<sup>7</sup>, the rounding of the frequency causes an error of hundreds of float ulps.
 *
 * <p>For |frequency| up to 1, sine and cosine are within two double ulps of the true value at every |position| up to
 * 2<sup>26</sup>, or within 2<sup>-76</sup> of it where it is smaller than 2<sup>-24</sup>, near a zero crossing. Up to
 * 2<sup>53</sup> they are within 2<sup>-50</sup>.
 *
 * <p>Sinusoidal and rotary encodings share this class. Two objects are equal if all their frequencies are.
 */
public final class Frequencies implements HasArguments {

    /** Below this the first-order correction of sine and cosine is exact to 2^-55. */
    private static final double FIRST_ORDER_LIMIT = 0x1p-27;

    /** Between these limits the low part of a frequency is a normal double too. */
    private static final double SMALLEST = 1e-270;

    private static final double LARGEST = 1e270;

    /**
     * More than the pairs of any model; a larger count, from a file perhaps, is rejected before memory is allocated.
     */
    static final int MAX_COUNT = 1 << 20;

    /** How frequencies were created. */
    sealed interface Origin permits Geometric, Timescales, Custom, Proportional, Scaled, Joined, Rotary {

        /** Computes the frequencies. */
        Frequencies create();
    }

    private record Geometric(int count, double base, double period) implements Origin {

        Geometric {
            Check.between("frequency count", count, 0, MAX_COUNT);
            Check.positive("base", base, "usually 10000");
            Check.positive("period", period, "usually half the embedding size");
        }

        @Override
        public Frequencies create() {
            return exponential(this, count, DoubleDouble.of(base).log().dividedBy(-period), 1);
        }
    }

    private record Timescales(int count, double minTimescale, double maxTimescale) implements Origin {

        Timescales {
            Check.between("frequency count", count, 0, MAX_COUNT);
            Check.positive("minTimescale", minTimescale, "usually 1");
            Check.positive("maxTimescale", maxTimescale, "usually 10000");
        }

        @Override
        public Frequencies create() {
            DoubleDouble ratio = DoubleDouble.of(maxTimescale).dividedBy(minTimescale);
            DoubleDouble logStep = ratio.log().dividedBy(-Math.max(count - 1, 1));
            return exponential(this, count, logStep, minTimescale);
        }
    }

    private record Custom(List<Double> values) implements Origin {

        Custom {
            Check.present("values", values);
            for (int pair = 0; pair < values.size(); pair++) {
                Check.that(
                        Double.isFinite(values.get(pair)),
                        "frequency " + values.get(pair) + " of pair " + pair
                                + ": expected a finite number; set it in radians per position");
            }
        }

        @Override
        public Frequencies create() {
            return new Frequencies(this, values.size(), pair -> DoubleDouble.of(values.get(pair)));
        }
    }

    private record Proportional(int headSize, double share, double base, double factor) implements Origin {

        Proportional {
            Check.between("headSize", headSize, 2, 2L * MAX_COUNT);
            Check.that(
                    headSize % 2 == 0,
                    "headSize " + headSize + ": expected an even number; set it to the number of a head's dimensions");
            Check.that(
                    share >= 0 && share <= 1,
                    "share " + share
                            + ": expected 0 to 1; set it to the share of the pairs that rotate, 0.25 in Gemma 4");
            Check.positive("base", base, "usually 10000");
            Check.positive("factor", factor, "1 for no scaling");
        }

        @Override
        public Frequencies create() {
            int pairs = headSize / 2;
            DoubleDouble logStep = DoubleDouble.of(base).log().dividedBy(-pairs);
            Frequencies turning = compute(
                    this,
                    (int) (share * headSize / 2),
                    pair -> logStep.times(pair).exp().dividedBy(factor));
            return new Frequencies(
                    this, pairs, pair -> pair < turning.size() ? turning.exactly(pair) : DoubleDouble.of(0));
        }
    }

    private record Scaled(Origin frequencies, double factor) implements Origin {

        Scaled {
            Check.present("frequencies", frequencies);
            Check.that(
                    factor != 0 && Double.isFinite(factor),
                    () -> "frequency factor " + factor
                            + ": expected a finite number other than 0; use 1 for no scaling");
        }

        @Override
        public Frequencies create() {
            Frequencies unscaled = frequencies.create();
            return new Frequencies(this, unscaled.size(), pair -> {
                DoubleDouble frequency = unscaled.exactly(pair);
                return frequency.high() == 0 ? frequency : requireNormal(frequency.times(factor), pair, this);
            });
        }
    }

    private record Joined(List<Origin> parts) implements Origin {

        Joined {
            parts = List.copyOf(Check.present("parts", parts));
        }

        @Override
        public Frequencies create() {
            List<DoubleDouble> all = parts.stream()
                    .map(Origin::create)
                    .flatMap(part -> IntStream.range(0, part.size()).mapToObj(part::exactly))
                    .limit(MAX_COUNT + 1L)
                    .toList();
            Check.between("frequency count", all.size(), 0, MAX_COUNT);
            return new Frequencies(this, all.size(), all::get);
        }
    }

    /** The frequencies of a rotary embedding. */
    record Rotary(int rotarySize, double base, RotaryScaling scaling) implements Origin {

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
        interface Rule {
            DoubleDouble scaled(int pair, DoubleDouble frequency);
        }

        Frequencies unscaled() {
            return geometric(rotarySize / 2, base, rotarySize / 2.0);
        }

        void requireNtk() {
            Check.that(
                    rotarySize > 2,
                    () -> "rotary size " + rotarySize
                            + " with NTK scaling: expected 4 or more; use a larger size or linear scaling");
        }

        /** The frequencies of base · growth^(r / (r - 2)). */
        Frequencies ntk(DoubleDouble growth) {
            DoubleDouble power = growth.log().times(rotarySize).dividedBy(rotarySize - 2);
            DoubleDouble logBase = DoubleDouble.of(base).log().plus(power);
            return exponential(this, rotarySize / 2, logBase.dividedBy(-rotarySize / 2.0), 1);
        }

        Frequencies scaled(Rule rule) {
            Frequencies unscaled = unscaled();
            return compute(this, rotarySize / 2, pair -> rule.scaled(pair, unscaled.exactly(pair)));
        }
    }

    private final Origin options;
    private final double[] high;
    private final double[] low;

    private Frequencies(Origin origin, int count, IntFunction<DoubleDouble> rule) {
        options = origin;
        high = new double[count];
        low = new double[count];
        for (int pair = 0; pair < count; pair++) {
            DoubleDouble frequency = rule.apply(pair);
            high[pair] = frequency.high();
            low[pair] = frequency.low();
        }
    }

    /**
     * Returns the geometric sequence 1, base<sup>-1/period</sup>, base<sup>-2/period</sup>, …
     *
     * <p>With {@code period = d / 2} these are the frequencies of Vaswani et al., <em>Attention Is All You Need</em>
     * (2017), section 3.5, and of Su et al., <em>RoFormer</em> (2021), for an even embedding size d.
     *
     * @param count the number of frequencies, from 0 to 1,048,576
     * @param base the ratio of two frequencies that are one period apart; positive and finite, usually 10,000
     * @param period the number of steps over which the frequency falls by a factor of {@code base}; positive and finite
     * @return the frequencies, the fastest first if {@code base > 1}
     * @throws IllegalArgumentException if an argument is outside its range, or a frequency is outside 10<sup>-270</sup>
     *     to 10<sup>270</sup>
     */
    public static Frequencies geometric(int count, double base, double period) {
        return new Geometric(count, base, period).create();
    }

    /**
     * {@return the frequencies of tensor2tensor's {@code get_timing_signal_1d}: {@code minTimescale · exp(-k ·
     * ln(maxTimescale / minTimescale) / max(count - 1, 1))} for k = 0 … count - 1}
     *
     * <p>The published code multiplies by the minimum timescale, although its docstring describes a division. Models
     * were trained with the code, so this follows the code. With {@code minTimescale = 1} both are the same.
     *
     * @param count the number of frequencies, from 0 to 1,048,576
     * @param minTimescale the first frequency; positive and finite, usually 1
     * @param maxTimescale positive and finite, usually 10,000
     * @throws IllegalArgumentException if an argument is outside its range, or a frequency is outside 10<sup>-270</sup>
     *     to 10<sup>270</sup>
     */
    public static Frequencies timescales(int count, double minTimescale, double maxTimescale) {
        return new Timescales(count, minTimescale, maxTimescale).create();
    }

    /**
     * Returns frequencies with the specified values, which are exact.
     *
     * @param frequencies angular frequencies in radians per position; each finite, may be 0 or negative
     * @return the frequencies, in the same order
     * @throws IllegalArgumentException if a frequency is infinite or NaN
     */
    public static Frequencies of(double... frequencies) {
        return new Custom(DoubleStream.of(frequencies).boxed().toList()).create();
    }

    /**
     * Returns frequencies that rotate only a share of the pairs, which Gemma 4 calls {@code proportional}: of the
     * headSize / 2 pairs, the first ⌊share · headSize / 2⌋ have base<sup>-2k/headSize</sup> / factor, and the others 0.
     *
     * @param headSize the number of dimensions of a head; even, from 2 to 2,097,152
     * @param share the share of the pairs that rotate, from 0 to 1
     * @param base positive and finite
     * @param factor positive and finite; 1 for no scaling
     * @return headSize / 2 frequencies
     * @throws IllegalArgumentException if an argument is outside its range, or a frequency is outside 10<sup>-270</sup>
     *     to 10<sup>270</sup>
     */
    public static Frequencies proportional(int headSize, double share, double base, double factor) {
        return new Proportional(headSize, share, base, factor).create();
    }

    /**
     * Concatenates lists of frequencies, for example of the axes of an image.
     *
     * @param parts the lists
     * @return the frequencies, with the same accuracy
     * @throws IllegalArgumentException if there are more than 1,048,576 pairs together
     */
    public static Frequencies joined(Frequencies... parts) {
        return new Joined(Stream.of(parts).map(part -> part.options).toList()).create();
    }

    /**
     * Returns these frequencies times a factor, for conventions that scale the position.
     *
     * @param factor finite and not zero
     * @return new frequencies, with the same accuracy
     * @throws IllegalArgumentException if the factor is zero, infinite or NaN, or moves a frequency other than 0
     *     outside 10<sup>-270</sup> to 10<sup>270</sup>
     */
    public Frequencies scaledBy(double factor) {
        return new Scaled(options, factor).create();
    }

    /** Computes frequencies by a rule. They must be in the range of normal doubles. */
    static Frequencies compute(Origin origin, int count, IntFunction<DoubleDouble> rule) {
        return new Frequencies(origin, count, pair -> requireNormal(rule.apply(pair), pair, origin));
    }

    private static DoubleDouble requireNormal(DoubleDouble frequency, int pair, Origin origin) {
        double size = Math.abs(frequency.high());
        Check.that(
                size > SMALLEST && size < LARGEST,
                () -> "frequency " + frequency.high() + " of pair " + pair + " of " + origin + ": expected a size of "
                        + SMALLEST + " to " + LARGEST + "; use a base, timescales or factors nearer to 1");
        return frequency;
    }

    /** The sequence first · exp(k · logStep). */
    static Frequencies exponential(Origin origin, int count, DoubleDouble logStep, double first) {
        return compute(origin, count, pair -> logStep.times(pair).exp().times(first));
    }

    /**
     * {@return the frequencies that a map of {@link #getArguments} describes}
     *
     * @param arguments {@code type} and the arguments of that type: {@code Geometric} (count, base, period),
     *     {@code Timescales} (count, minTimescale, maxTimescale), {@code Custom} (values, a list), {@code Proportional}
     *     (headSize, share, base, factor), {@code Rotary} (rotarySize, base, and scaling, a map for
     *     {@link RotaryScaling#fromArguments}), {@code Scaled} (frequencies, a map of any type, and factor), or
     *     {@code Joined} (parts, a list of maps of any type)
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static Frequencies fromArguments(Map<?, ?> arguments) {
        return Settings.createOneOf(Origin.class, arguments).create();
    }

    @Override
    public Map<String, Object> getArguments() {
        return Settings.toMap((Record) options);
    }

    /** A frequency with all its bits. */
    DoubleDouble exactly(int pair) {
        return new DoubleDouble(high[pair], low[pair]);
    }

    /** {@return the number of pairs} */
    public int size() {
        return high.length;
    }

    /**
     * Returns the double nearest to a frequency.
     *
     * @param pair the pair, counted from 0
     * @return radians per position
     * @throws ArrayIndexOutOfBoundsException if there is no such pair
     */
    public double get(int pair) {
        return high[pair];
    }

    /**
     * Returns sin(position × frequency).
     *
     * @param position any finite number
     * @param pair the pair, counted from 0
     * @return the sine; NaN if the product with the frequency is not finite
     * @throws ArrayIndexOutOfBoundsException if there is no such pair
     */
    public double sine(double position, int pair) {
        double angle = position * high[pair];
        return turned(StrictMath.sin(angle), StrictMath.cos(angle), angleRest(position, pair, angle));
    }

    /**
     * Returns cos(position × frequency).
     *
     * @param position any finite number
     * @param pair the pair, counted from 0
     * @return the cosine; NaN if the product with the frequency is not finite
     * @throws ArrayIndexOutOfBoundsException if there is no such pair
     */
    public double cosine(double position, int pair) {
        double angle = position * high[pair];
        return turned(StrictMath.cos(angle), -StrictMath.sin(angle), angleRest(position, pair, angle));
    }

    /** A sine or cosine at an angle increased by {@code rest}, from its value and its derivative. */
    private static double turned(double value, double derivative, double rest) {
        return Math.abs(rest) < FIRST_ORDER_LIMIT
                ? value + rest * derivative
                : value * StrictMath.cos(rest) + derivative * StrictMath.sin(rest);
    }

    /**
     * The sines of all pairs at a position, then their cosines, like {@link #half} with one more ulp of error, at a
     * quarter of the cost. Unlike {@code StrictMath}, {@code Math} may use processor instructions.
     */
    double[] halves(double position) {
        double[] halves = new double[2 * size()];
        for (int pair = 0; pair < size(); pair++) {
            double angle = position * high[pair];
            double rest = angleRest(position, pair, angle);
            double sine = Math.sin(angle);
            double cosine = Math.cos(angle);
            halves[pair] = turned(sine, cosine, rest);
            halves[size() + pair] = turned(cosine, -sine, rest);
        }
        return halves;
    }

    /** The sine of pair {@code half}, or the cosine of pair {@code half - size()} if there is no such pair. */
    double half(double position, int half) {
        return half < size() ? sine(position, half) : cosine(position, half - size());
    }

    /** The true position × frequency, less the double {@code angle}. */
    private double angleRest(double position, int pair, double angle) {
        return Math.fma(position, high[pair], -angle) + position * low[pair];
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Frequencies that && Arrays.equals(high, that.high) && Arrays.equals(low, that.low);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(high);
    }

    @Override
    public String toString() {
        return Settings.describe((Record) options);
    }
}
