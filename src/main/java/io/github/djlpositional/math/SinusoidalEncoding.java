package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.BlockBuilder;
import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Default;
import io.github.djlpositional.internal.options.Range;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.options.HasArguments;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;

/**
 * The function from a position to its sinusoidal encoding: a vector of sines and cosines of the position, where each
 * pair of a sine and a cosine has its own frequency.
 *
 * <p>Published conventions differ in the {@link Frequencies}, the {@link PairLayout}, whether sine or cosine comes
 * first, and how they handle an odd size ({@link OddSize}). Two encodings are equal if all their values are.
 *
 * <p>{@link #value} has the accuracy of {@link Frequencies}. {@link #table} contains the nearest floats; with
 * frequencies up to 1 they are at most 0.501 float ulps from the true values at every position up to 2<sup>24</sup>.
 *
 * <pre>{@code
 * SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(512);
 * double first = encoding.value(1, 0);        // sin(1)
 * float[] table = encoding.table(0, 5000);    // (5000, 512), row-major
 * }</pre>
 */
public final class SinusoidalEncoding extends AngleRows implements HasArguments {

    /** The base of the frequencies in <em>Attention Is All You Need</em>. */
    public static final double DEFAULT_BASE = 10_000;

    static final int MAX_DIMENSIONS = 2 * Frequencies.MAX_COUNT;

    /** How an odd size is handled. All values have the same result for even sizes. */
    public enum OddSize {
        /** The odd size is used in the exponent, and the second half of the last pair is dropped, as in KerasHub. */
        KEPT_IN_EXPONENT,
        /** The encoding of the next even size without its last dimension, as in Géron's Keras layer. */
        ROUNDED_UP,
        /** The encoding of the previous even size, followed by a zero, as in tensor2tensor. */
        ZERO_PADDED
    }

    record Options(
            @Range(min = 1, max = MAX_DIMENSIONS) int embeddingSize,
            Double base,
            Frequencies frequencies,
            @Default("INTERLEAVED") PairLayout layout,
            @Default("false") boolean cosineFirst,
            @Default("KEPT_IN_EXPONENT") OddSize oddSize) {

        Options {
            Check.that(
                    layout != PairLayout.CONCATENATED_HALVES,
                    "layout CONCATENATED_HALVES of a sinusoidal encoding: expected INTERLEAVED or CONCATENATED; set one"
                            + " of them");
            Check.that(
                    base == null || frequencies == null,
                    "base " + base
                            + " beside frequencies: expected only one of them; set either optBase or optFrequencies;"
                            + " frequencies: " + frequencies);
            int pairs = embeddingSize / 2 + (oddSize == OddSize.ZERO_PADDED ? 0 : embeddingSize % 2);
            if (frequencies == null) {
                int divisor = oddSize == OddSize.KEPT_IN_EXPONENT ? embeddingSize : Math.max(1, 2 * pairs);
                frequencies = Frequencies.geometric(pairs, base == null ? DEFAULT_BASE : base, divisor / 2.0);
                // equal encodings have equal options, no matter how their frequencies were set
                base = null;
            }
            Check.that(
                    frequencies.size() == pairs,
                    frequencies.size() + " frequencies for embedding size " + embeddingSize + ": expected " + pairs
                            + "; set one frequency for each pair");
        }

        /** The columns of an {@link AngleRows}; an odd size may have half a pair. */
        int[] columns() {
            int pairs = frequencies.size();
            int[] columns = new int[Math.max(embeddingSize, 2 * pairs)];
            Arrays.fill(columns, 2 * pairs);
            for (int pair = 0; pair < pairs; pair++) {
                int first = layout.firstIndex(pair, pairs);
                int second = layout.secondIndex(pair, pairs);
                columns[cosineFirst ? second : first] = pair;
                columns[cosineFirst ? first : second] = pairs + pair;
            }
            return Arrays.copyOf(columns, embeddingSize);
        }
    }

    private final Options options;

    private SinusoidalEncoding(Options options) {
        super(options.frequencies, 1, options.columns());
        this.options = options;
    }

    /**
     * {@return the encoding of Vaswani et al., <em>Attention Is All You Need</em> (2017), section 3.5: PE(t, 2k) =
     * sin(t / 10000<sup>2k/d</sup>), PE(t, 2k + 1) = cos(t / 10000<sup>2k/d</sup>)}
     *
     * <p>An odd d is used in the exponent, and the last dimension is a sine, as in KerasHub.
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @throws IllegalArgumentException if the size is outside its range
     * @see <a href="https://arxiv.org/abs/1706.03762">Attention Is All You Need</a>
     */
    public static SinusoidalEncoding vaswani(int embeddingSize) {
        return vaswani(embeddingSize, DEFAULT_BASE);
    }

    /**
     * {@return the encoding of <em>Attention Is All You Need</em>, section 3.5, with a base other than 10,000}
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @param base positive and finite
     * @throws IllegalArgumentException if the size is outside its range, the base is not positive and finite, or a
     *     frequency is outside 10<sup>-270</sup> to 10<sup>270</sup>
     * @see <a href="https://arxiv.org/abs/1706.03762">Attention Is All You Need</a>
     */
    public static SinusoidalEncoding vaswani(int embeddingSize, double base) {
        return builder().setEmbeddingSize(embeddingSize).optBase(base).build();
    }

    /**
     * {@return the encoding of tensor2tensor's {@code get_timing_signal_1d}: all sines, then all cosines, then one zero
     * if the channel count is odd, with the frequencies of {@link Frequencies#timescales}}
     *
     * @param channels the embedding size, from 1 to 2,097,152
     * @param minTimescale positive and finite, usually 1
     * @param maxTimescale positive and finite, usually 10,000
     * @throws IllegalArgumentException if the size is outside its range, a timescale is not positive and finite, or the
     *     timescales are too far apart
     * @see <a href="https://arxiv.org/abs/1803.07416">Tensor2Tensor for Neural Machine Translation</a>
     */
    public static SinusoidalEncoding tensor2tensor(int channels, double minTimescale, double maxTimescale) {
        return zeroPadded(channels, Frequencies.timescales(checkSize(channels) / 2, minTimescale, maxTimescale), false);
    }

    /**
     * {@return the encoding of fairseq's {@code SinusoidalPositionalEmbedding}: {@link #tensor2tensor} with the
     * timescales 1 and 10,000} The first token has the position padding index + 1, usually 2: see
     * {@code optPositionsFromPadding} of {@code InputEmbeddingBlock}.
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @throws IllegalArgumentException if the size is outside its range
     * @see <a href="https://arxiv.org/abs/1904.01038">fairseq: A Fast, Extensible Toolkit for Sequence Modeling</a>
     */
    public static SinusoidalEncoding fairseq(int embeddingSize) {
        return tensor2tensor(embeddingSize, 1, DEFAULT_BASE);
    }

    /**
     * {@return the encoding of <em>Attention Is All You Need</em> with an odd size rounded up: it is computed for d +
     * 1, and the last dimension is dropped, as in Géron's Keras layer (<em>Hands-On Machine Learning</em>, second
     * edition, chapter 16) and multidim-positional-encoding}
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @throws IllegalArgumentException if the size is outside its range
     */
    public static SinusoidalEncoding roundedUp(int embeddingSize) {
        return builder()
                .setEmbeddingSize(embeddingSize)
                .optOddSize(OddSize.ROUNDED_UP)
                .build();
    }

    /**
     * {@return the encoding of bert4keras's {@code sinusoidal_embeddings}: {@link #vaswani(int, double)}, only for even
     * sizes}
     *
     * @param embeddingSize d, from 2 to 2,097,152, even
     * @param base positive and finite, usually 10,000
     * @throws IllegalArgumentException if the size is odd or outside its range, the base is not positive and finite, or
     *     a frequency is outside 10<sup>-270</sup> to 10<sup>270</sup>
     */
    public static SinusoidalEncoding bert4keras(int embeddingSize, double base) {
        checkEven(embeddingSize, "bert4keras");
        return vaswani(embeddingSize, base);
    }

    /**
     * {@return the encoding of x-transformers' {@code ScaledSinusoidalEmbedding}, without its scale: the frequencies of
     * {@link #vaswani(int)}, all sines, then all cosines} The scale is learned; a block adds it with
     * {@code optLearnedScale}.
     *
     * @param embeddingSize d, from 2 to 2,097,152, even
     * @throws IllegalArgumentException if the size is odd or outside its range
     */
    public static SinusoidalEncoding xTransformers(int embeddingSize) {
        checkEven(embeddingSize, "x-transformers");
        return builder()
                .setEmbeddingSize(embeddingSize)
                .optLayout(PairLayout.CONCATENATED)
                .build();
    }

    /**
     * {@return the encoding of time steps in DDPM (Ho et al., <em>Denoising Diffusion Probabilistic Models</em>, 2020):
     * {@link #diffusion(int, double, double, boolean)} with a frequency shift of 1, a scale of 1 and sines first}
     *
     * @param embeddingSize d, from 4 to 2,097,152
     * @throws IllegalArgumentException if the size is outside its range
     * @see <a href="https://arxiv.org/abs/2006.11239">Denoising Diffusion Probabilistic Models</a>
     */
    public static SinusoidalEncoding diffusion(int embeddingSize) {
        return diffusion(embeddingSize, 1, 1, false);
    }

    /**
     * {@return the encoding of time steps in diffusion models, as computed by {@code get_timestep_embedding} in DDPM
     * and Hugging Face's diffusers} With n = ⌊d/2⌋, the frequencies are scale · 10000<sup>-k/(n -
     * frequencyShift)</sup>. All sines come before all cosines or after them, and a zero is appended if d is odd. DDPM
     * has sines first with a shift of 1. In diffusers, U-Nets default to cosines first with a shift of 0, as in
     * improved-diffusion and Stable Diffusion, and DiT to cosines first with a shift of 1.
     *
     * @param embeddingSize d, at least 2 · frequencyShift + 2 and at most 2,097,152
     * @param frequencyShift below ⌊d/2⌋, usually 0 or 1
     * @param scale the factor of a time step, usually 1
     * @param cosineFirst true for the cosines before the sines
     * @throws IllegalArgumentException if the size is outside its range, the shift is ⌊d/2⌋ or more, or the scale is
     *     zero, infinite or NaN, or makes a frequency too large or too small
     * @see <a href="https://arxiv.org/abs/2006.11239">Denoising Diffusion Probabilistic Models</a>
     */
    public static SinusoidalEncoding diffusion(
            int embeddingSize, double frequencyShift, double scale, boolean cosineFirst) {
        int pairs = checkSize(embeddingSize) / 2;
        Check.that(
                frequencyShift < pairs,
                () -> "frequency shift " + frequencyShift + " for embedding size " + embeddingSize
                        + ": expected less than its " + pairs + " pairs; use 0 or 1, or a larger size");
        Frequencies frequencies = Frequencies.geometric(pairs, DEFAULT_BASE, pairs - frequencyShift);
        return zeroPadded(embeddingSize, scale == 1 ? frequencies : frequencies.scaledBy(scale), cosineFirst);
    }

    private static SinusoidalEncoding zeroPadded(int size, Frequencies frequencies, boolean cosineFirst) {
        return builder()
                .setEmbeddingSize(size)
                .optFrequencies(frequencies)
                .optLayout(PairLayout.CONCATENATED)
                .optCosineFirst(cosineFirst)
                .optOddSize(OddSize.ZERO_PADDED)
                .build();
    }

    private static int checkSize(int embeddingSize) {
        Check.between("embedding size", embeddingSize, 1, MAX_DIMENSIONS);
        return embeddingSize;
    }

    private static void checkEven(int embeddingSize, String convention) {
        Check.that(
                embeddingSize % 2 == 0,
                () -> "embedding size " + embeddingSize + " for " + convention
                        + ": expected an even size; set an even size, or use another convention");
    }

    /** {@return a new builder} Its defaults are the options of {@link #vaswani(int)}. */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return the number of dimensions of an encoded position, d} */
    public int getEmbeddingSize() {
        return columns.length;
    }

    /**
     * Returns one dimension of one position's encoding, with the accuracy of {@link Frequencies}.
     *
     * @param position any finite number, integer or not, negative or not
     * @param dimension 0 … d - 1
     * @return the value, in [-1, 1]
     * @throws IllegalArgumentException if the position is not finite or the dimension is out of range
     */
    public double value(double position, int dimension) {
        checkFinite(position);
        int half = columnOf(dimension);
        return half < 2 * frequencies.size() ? frequencies.half(position, half) : 0;
    }

    /**
     * Returns the angular frequency of the pair that a dimension belongs to.
     *
     * @param dimension 0 … d - 1
     * @return radians per position, the nearest double; 0 for a zero-padded dimension
     * @throws IllegalArgumentException if the dimension is out of range
     */
    public double frequency(int dimension) {
        int half = columnOf(dimension);
        return half < 2 * frequencies.size() ? frequencies.get(half % frequencies.size()) : 0;
    }

    private int columnOf(int dimension) {
        Check.that(
                dimension >= 0 && dimension < columns.length,
                () -> "dimension " + dimension + ": expected 0 to " + (columns.length - 1)
                        + "; use a dimension of this encoding");
        return columns[dimension];
    }

    /**
     * Returns the encodings of consecutive positions. Each {@link #value} is rounded to the nearest float.
     *
     * @param start the first position
     * @param length the number of positions, at least 0
     * @return a new array, row-major (length, d)
     * @throws IllegalArgumentException if the length is negative or length · d exceeds 2<sup>31</sup> - 1
     */
    public float[] table(int start, int length) {
        Check.between("length", length, 0, Integer.MAX_VALUE / columns.length);
        float[] table = new float[length * columns.length];
        writeConsecutive(start, length, FloatFormat.FLOAT32, null, FloatBuffer.wrap(table));
        return table;
    }

    /**
     * Returns T(k), the linear map that moves every position's encoding by k: T(k) · PE(t) = PE(t + k) for all t.
     *
     * <p>T(k) rotates each pair by its frequency times k (Vaswani et al., section 3.5). It is orthogonal, and T(a) ·
     * T(b) = T(a + b). A zero-padded dimension does not change.
     *
     * @param offset k, any finite number
     * @return a new matrix (d, d), row-major, each value with the accuracy of {@link Frequencies}
     * @throws IllegalArgumentException if the offset is not finite
     * @throws UnsupportedOperationException if the size is odd and the encoding ends with half a pair: no linear map
     *     shifts a sine without its cosine
     */
    public double[][] shift(double offset) {
        checkFinite(offset);
        requireWholePairs("no linear map can shift");
        int pairs = frequencies.size();
        double[][] shift = new double[columns.length][columns.length];
        int[] dimensionOf = new int[2 * pairs + 1];
        for (int dimension = 0; dimension < columns.length; dimension++) {
            dimensionOf[columns[dimension]] = dimension;
            shift[dimension][dimension] = 1;
        }
        for (int pair = 0; pair < pairs; pair++) {
            int sine = dimensionOf[pair];
            int cosine = dimensionOf[pairs + pair];
            shift[sine][sine] = frequencies.cosine(offset, pair);
            shift[sine][cosine] = frequencies.sine(offset, pair);
            shift[cosine][sine] = -frequencies.sine(offset, pair);
            shift[cosine][cosine] = frequencies.cosine(offset, pair);
        }
        return shift;
    }

    /**
     * Returns the dot product of two positions' encodings that are k apart, PE(t) · PE(t + k). It is the same for all
     * t: the sum of cos(k · frequency) over all pairs.
     *
     * @param offset k, any finite number
     * @return the dot product, in [-pairs, pairs]
     * @throws IllegalArgumentException if the offset is not finite
     * @throws UnsupportedOperationException if the size is odd and the encoding ends with half a pair: the product then
     *     depends on t
     */
    public double similarity(double offset) {
        checkFinite(offset);
        requireWholePairs("makes the similarity depend on the position");
        double sum = 0;
        for (int pair = 0; pair < frequencies.size(); pair++) {
            sum += frequencies.cosine(offset, pair);
        }
        return sum;
    }

    private void requireWholePairs(String why) {
        if (columns.length % 2 != 0 && options.oddSize != OddSize.ZERO_PADDED) {
            throw new UnsupportedOperationException("odd size " + columns.length + " with OddSize." + options.oddSize
                    + " ends with half a pair, which " + why
                    + ": expected whole pairs; use an even size or OddSize.ZERO_PADDED");
        }
    }

    /**
     * {@return the encoding that a map of {@link #getArguments} describes}
     *
     * @param arguments {@code embeddingSize}; optionally {@code base} or {@code frequencies}, a map for
     *     {@link Frequencies#fromArguments}; and optionally {@code layout}, {@code cosineFirst} and {@code oddSize}, as
     *     in the builder
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static SinusoidalEncoding fromArguments(Map<?, ?> arguments) {
        return Settings.build(builder(), arguments);
    }

    @Override
    public Map<String, Object> getArguments() {
        return Settings.arguments(this, options);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SinusoidalEncoding that
                && frequencies.equals(that.frequencies)
                && Arrays.equals(columns, that.columns);
    }

    @Override
    public int hashCode() {
        return Objects.hash(frequencies, Arrays.hashCode(columns));
    }

    @Override
    public String toString() {
        return Settings.describe(options);
    }

    /** Builds a {@link SinusoidalEncoding}. */
    public static final class Builder extends BlockBuilder<SinusoidalEncoding, Builder> {

        private Builder() {
            super(Options.class, SinusoidalEncoding::new);
        }

        /**
         * Sets the number of dimensions.
         *
         * @param embeddingSize d, from 1 to 2,097,152
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            return set("embeddingSize", embeddingSize);
        }

        /**
         * Sets the base of the frequencies base<sup>-2k/d</sup> (default: 10,000).
         *
         * @param base positive and finite
         * @return this builder
         */
        public Builder optBase(double base) {
            return set("base", base);
        }

        /**
         * Sets other frequencies than base<sup>-2k/d</sup>. There must be one for each pair: ⌊d/2⌋ with
         * {@link OddSize#ZERO_PADDED}, otherwise ⌈d/2⌉.
         *
         * @param frequencies one angular frequency for each pair
         * @return this builder
         */
        public Builder optFrequencies(Frequencies frequencies) {
            return set("frequencies", frequencies);
        }

        /**
         * Sets the layout of the pairs (default: {@link PairLayout#INTERLEAVED}).
         *
         * @param layout the layout
         * @return this builder
         */
        public Builder optLayout(PairLayout layout) {
            return set("layout", layout);
        }

        /**
         * Sets whether the cosine of a pair comes before its sine (default: false).
         *
         * @param cosineFirst true for the cosine first
         * @return this builder
         */
        public Builder optCosineFirst(boolean cosineFirst) {
            return set("cosineFirst", cosineFirst);
        }

        /**
         * Sets the convention for an odd size (default: {@link OddSize#KEPT_IN_EXPONENT}).
         *
         * @param oddSize the convention
         * @return this builder
         */
        public Builder optOddSize(OddSize oddSize) {
            return set("oddSize", oddSize);
        }
    }
}
