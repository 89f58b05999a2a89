package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.arguments.HasArguments;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The angular frequency of each sine-cosine pair, in radians per position. Immutable.
 *
 * <p>Each frequency is kept as a sum of two doubles, and the angle {@code position × frequency} likewise, so that its
 * sine and cosine are right far out. One double would not do: near a zero crossing at position 10<sup>7</sup> the rounding
 * of the frequency alone costs hundreds of float ulps.
 *
 * <p>For |frequency| up to 1, sine and cosine are within two double ulps of the true value at every |position| up to
 * 2<sup>26</sup>, or where it is smaller than 2<sup>-24</sup>, near a zero crossing, within 2<sup>-76</sup> of it; up to
 * 2<sup>53</sup> they are within 2<sup>-50</sup>.
 *
 * <p>Sinusoidal and rotary encodings share this class.
 */
public final class Frequencies implements HasArguments {

    /** Below this the first-order correction of sine and cosine is exact to 2^-55. */
    private static final double FIRST_ORDER_LIMIT = 0x1p-27;

    /** Between these a frequency's low part is a normal double too. */
    private static final double LEAST = 1e-270;

    private static final double GREATEST = 1e270;

    /** More than any model has pairs; a greater count, from a file perhaps, is refused before there is room for it. */
    private static final int MOST = 1 << 20;

    /** More than any convention has; each costs a pass over all frequencies when they are made from arguments. */
    private static final int MOST_FACTORS = 16;

    private final double[] high;
    private final double[] low;
    private final Origin origin;

    /** What the frequencies of the origin were multiplied by, one after the other. */
    private final List<Double> factors;

    private Frequencies(DoubleDouble[] frequencies, Origin origin, List<Double> factors) {
        high = Arrays.stream(frequencies).mapToDouble(DoubleDouble::high).toArray();
        low = Arrays.stream(frequencies).mapToDouble(DoubleDouble::low).toArray();
        this.origin = origin;
        this.factors = factors;
    }

    /**
     * Returns the geometric sequence 1, base<sup>-1/period</sup>, base<sup>-2/period</sup>, …
     *
     * <p>With {@code period = d / 2} these are the frequencies of Vaswani et al., <em>Attention Is All You Need</em>
     * (2017), section 3.5, and of Su et al., <em>RoFormer</em> (2021), for an even embedding size d.
     *
     * @param count the number of frequencies, from 0 to 1,048,576
     * @param base what a frequency falls by over one period; positive and finite, usually 10,000
     * @param period the number of steps over which the frequency falls by {@code base}; positive and finite
     * @return the frequencies, the fastest first where {@code base > 1}
     * @throws IllegalArgumentException if an argument is outside its range, or the last frequency is outside e<sup>-600</sup> to
     *     e<sup>600</sup>
     */
    public static Frequencies geometric(int count, double base, double period) {
        requireCount(count);
        requirePositive("base", base, "the paper's is 10000");
        requirePositive("period", period, "the paper's is half the embedding size");
        return geometric(
                count,
                DoubleDouble.of(base).log(),
                period,
                new Origin(
                                "geometric",
                                "geometric(count=" + count + ", base=" + ExactText.of(base) + ", period="
                                        + ExactText.of(period) + ")")
                        .with("count", count)
                        .with("base", base)
                        .with("period", period));
    }

    /** A geometric sequence whose base need not be a double. */
    static Frequencies geometric(int count, DoubleDouble logBase, double period, Origin origin) {
        return exponentials(count, logBase.dividedBy(DoubleDouble.of(-period)), DoubleDouble.of(1), origin);
    }

    /**
     * Returns the frequencies of tensor2tensor's {@code get_timing_signal_1d}:
     * {@code minTimescale · exp(-k · ln(maxTimescale / minTimescale) / max(count - 1, 1))} for k = 0 … count - 1.
     *
     * <p>The published code multiplies by the minimum timescale where its own docstring would have it divide; models were
     * trained with the code, so this follows the code. With {@code minTimescale = 1} the two agree.
     *
     * @param count the number of frequencies, from 0 to 1,048,576
     * @param minTimescale the first frequency; positive and finite, usually 1
     * @param maxTimescale positive and finite, usually 10,000
     * @return the frequencies
     * @throws IllegalArgumentException if an argument is outside its range, the timescales are too far apart, or a frequency is
     *     outside 10<sup>-270</sup> to 10<sup>270</sup>
     */
    public static Frequencies timescales(int count, double minTimescale, double maxTimescale) {
        requireCount(count);
        requirePositive("minimum timescale", minTimescale, "tensor2tensor's is 1");
        requirePositive("maximum timescale", maxTimescale, "tensor2tensor's is 10000");
        DoubleDouble ratio = DoubleDouble.of(maxTimescale).dividedBy(DoubleDouble.of(minTimescale));
        DoubleDouble logStep = ratio.log().dividedBy(DoubleDouble.of(-Math.max(count - 1, 1)));
        return exponentials(
                count,
                logStep,
                DoubleDouble.of(minTimescale),
                new Origin(
                                "timescales",
                                "timescales(count=" + count + ", min=" + ExactText.of(minTimescale) + ", max="
                                        + ExactText.of(maxTimescale) + ")")
                        .with("count", count)
                        .with("minTimescale", minTimescale)
                        .with("maxTimescale", maxTimescale));
    }

    /**
     * Returns the given frequencies, taken as exact.
     *
     * @param frequencies angular frequencies in radians per position, each finite
     * @return the frequencies, in the given order
     * @throws IllegalArgumentException if a frequency is infinite or NaN
     * @throws NullPointerException if they are null
     */
    public static Frequencies of(double... frequencies) {
        DoubleDouble[] exact = new DoubleDouble[frequencies.length];
        for (int k = 0; k < frequencies.length; k++) {
            if (!Double.isFinite(frequencies[k])) {
                throw new IllegalArgumentException("frequency " + frequencies[k] + " of pair " + k
                        + " is not finite: give each frequency in radians per position, as a finite number");
            }
            exact[k] = DoubleDouble.of(frequencies[k]);
        }
        Origin origin = new Origin("given", "of(" + describe(frequencies) + ")").with("values", frequencies);
        return new Frequencies(exact, origin, List.of());
    }

    /** The frequencies of a computation in this package, which must not have left the range of normal doubles. */
    static Frequencies exact(DoubleDouble[] frequencies, Origin origin) {
        for (int pair = 0; pair < frequencies.length; pair++) {
            double frequency = frequencies[pair].high();
            if (!isNormal(frequency)) {
                throw new IllegalArgumentException("frequency " + frequency + " of pair " + pair + " of " + origin
                        + " cannot be kept exactly: allowed are " + LEAST + " to " + GREATEST
                        + "; choose a base, timescales or factors nearer to 1");
            }
        }
        return new Frequencies(frequencies, origin, List.of());
    }

    /** Whether a frequency and its low part are normal doubles. */
    private static boolean isNormal(double frequency) {
        return Math.abs(frequency) > LEAST && Math.abs(frequency) < GREATEST;
    }

    /** A frequency in full. */
    DoubleDouble exactly(int pair) {
        return new DoubleDouble(high[pair], low[pair]);
    }

    /**
     * Returns these frequencies times a factor, for conventions that scale the position.
     *
     * @param factor finite and not zero
     * @return new frequencies, as exact as these
     * @throws IllegalArgumentException if the factor is zero, infinite or NaN, or makes a frequency other than 0 one outside
     *     10<sup>-270</sup> to 10<sup>270</sup>, or this has been scaled 16 times
     */
    public Frequencies scaledBy(double factor) {
        if (factor == 0 || !Double.isFinite(factor)) {
            throw new IllegalArgumentException(
                    "scale " + factor + " is no factor of a frequency: give a finite number that is not 0");
        }
        if (factors.size() == MOST_FACTORS) {
            throw new IllegalArgumentException("scale " + factor + " comes after " + MOST_FACTORS
                    + " others: allowed is to scale " + MOST_FACTORS
                    + " times; multiply the factors and scale by their product");
        }
        DoubleDouble[] scaled = new DoubleDouble[size()];
        for (int pair = 0; pair < scaled.length; pair++) {
            scaled[pair] = exactly(pair).times(factor);
            if (high[pair] != 0 && !isNormal(scaled[pair].high())) {
                throw new IllegalArgumentException(
                        "scale " + factor + " makes frequency " + high[pair] + " of pair " + pair
                                + " " + scaled[pair].high() + ": allowed are " + LEAST + " to " + GREATEST
                                + "; give a factor nearer to 1");
            }
        }
        List<Double> all = new ArrayList<>(factors);
        all.add(factor);
        return new Frequencies(scaled, origin, List.copyOf(all));
    }

    private static Frequencies exponentials(int count, DoubleDouble logStep, DoubleDouble scale, Origin origin) {
        DoubleDouble[] frequencies = new DoubleDouble[count];
        for (int k = 0; k < count; k++) {
            DoubleDouble exponent = logStep.times(k);
            // beyond this the exponential, or its low part, is no longer a normal double; NaN where the ratio was none
            if (!(Math.abs(exponent.high()) <= 600)) {
                throw new IllegalArgumentException("frequency " + k + " of " + origin + " is about e^" + exponent.high()
                        + ": only e^-600 to e^600 can be computed; choose a base or timescales nearer to 1, or fewer"
                        + " pairs");
            }
            frequencies[k] = exponent.exp().times(scale);
        }
        return exact(frequencies, origin);
    }

    /** Numbers as text: all of a few, of many enough to tell them from others. */
    static String describe(double... frequencies) {
        if (frequencies.length <= 8) {
            return Arrays.stream(frequencies).mapToObj(ExactText::of).collect(Collectors.joining(", "));
        }
        return frequencies.length + " values from " + ExactText.of(frequencies[0]) + " to "
                + ExactText.of(frequencies[frequencies.length - 1]) + ", hash "
                + Integer.toHexString(Arrays.hashCode(frequencies));
    }

    private static void requireCount(int count) {
        if (count < 0 || count > MOST) {
            throw new IllegalArgumentException(
                    "frequency count " + count + " is outside 0 to " + MOST + ": give one for each pair of dimensions");
        }
    }

    /** Refuses a number that is none which a convention could have, and says which one is usual. */
    static void requirePositive(String what, double value, String usual) {
        if (!(value > 0 && Double.isFinite(value))) {
            throw new IllegalArgumentException(
                    what + " " + value + " is outside its range: give a positive finite number, " + usual);
        }
    }

    /**
     * Makes frequencies from the plain values that {@link #getArguments} returns.
     *
     * @param arguments {@code kind}, which is geometric (count, base, period), timescales (count, minTimescale, maxTimescale),
     *     given (values) or rotary (rotarySize, base, length and scaling, a map for {@link RotaryScaling#fromArguments}), and
     *     the arguments of that kind; and {@code factors}, a list of up to 16 numbers, where they were
     *     {@linkplain #scaledBy scaled}
     * @return the frequencies
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static Frequencies fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(Frequencies.class, arguments);
        Frequencies frequencies = switch (given.getText("kind")) {
            case "geometric" -> geometric(given.getInt("count"), given.getDouble("base"), given.getDouble("period"));
            case "timescales" ->
                timescales(given.getInt("count"), given.getDouble("minTimescale"), given.getDouble("maxTimescale"));
            case "given" -> of(given.getDoubles("values"));
            case "rotary" ->
                RotaryScaling.fromArguments(given.getMap("scaling"))
                        .frequencies(given.getInt("rotarySize"), given.getDouble("base"), given.getLong("length"));
            default -> throw given.refused("kind", "geometric, timescales, given or rotary");
        };
        double[] factors = given.optDoubles("factors").orElseGet(() -> new double[0]);
        if (factors.length > MOST_FACTORS) {
            throw given.refused("factors", "a list of " + MOST_FACTORS + " or fewer");
        }
        for (double factor : factors) {
            frequencies = frequencies.scaledBy(factor);
        }
        given.requireNoOthers();
        return frequencies;
    }

    @Override
    public Record getSettings() {
        return null;
    }

    @Override
    public Map<String, Object> getArguments() {
        Map<String, Object> arguments = new LinkedHashMap<>(origin.arguments());
        if (!factors.isEmpty()) {
            arguments.put("factors", factors);
        }
        return Collections.unmodifiableMap(arguments);
    }

    /**
     * Returns the number of pairs.
     *
     * @return the number of frequencies
     */
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
        return correctedSine(StrictMath.sin(angle), StrictMath.cos(angle), angleRest(position, pair, angle));
    }

    private static double correctedSine(double sine, double cosine, double rest) {
        return Math.abs(rest) < FIRST_ORDER_LIMIT
                ? sine + rest * cosine
                : sine * StrictMath.cos(rest) + cosine * StrictMath.sin(rest);
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
        return correctedCosine(StrictMath.sin(angle), StrictMath.cos(angle), angleRest(position, pair, angle));
    }

    private static double correctedCosine(double sine, double cosine, double rest) {
        return Math.abs(rest) < FIRST_ORDER_LIMIT
                ? cosine - rest * sine
                : cosine * StrictMath.cos(rest) - sine * StrictMath.sin(rest);
    }

    /**
     * The sines of all pairs at a position, then their cosines: {@link #half} of each, within an ulp more, at a quarter of the
     * cost. {@code Math}, unlike {@code StrictMath}, may use what the processor has.
     */
    double[] halves(double position) {
        double[] halves = new double[2 * size()];
        for (int pair = 0; pair < size(); pair++) {
            double angle = position * high[pair];
            double rest = angleRest(position, pair, angle);
            double sine = Math.sin(angle);
            double cosine = Math.cos(angle);
            halves[pair] = correctedSine(sine, cosine, rest);
            halves[size() + pair] = correctedCosine(sine, cosine, rest);
        }
        return halves;
    }

    /** The sine of pair {@code half}, or where that is past the last pair, the cosine of pair {@code half - size()}. */
    double half(double position, int half) {
        return half < size() ? sine(position, half) : cosine(position, half - size());
    }

    /** What the double {@code angle} lacks of the true position × frequency. */
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

    /** Returns how these frequencies were made, for example {@code geometric(count=32, base=10000, period=32)}. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(origin.toString());
        factors.forEach(factor -> text.append(" · ").append(ExactText.of(factor)));
        return text.toString();
    }
}
