package io.github.djlpositional.math;

import io.github.djlpositional.arguments.Arguments;
import io.github.djlpositional.arguments.HasArguments;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * The function from a position to its sinusoidal encoding: a vector of sines and cosines of the position, each pair at its
 * own frequency.
 *
 * <p>Every published convention is one configuration of the same few ideas: the {@link Frequencies}, the
 * {@link PairLayout}, which of sine and cosine comes first, and what an odd size gets ({@link OddSize}). Immutable and
 * safe to share.
 *
 * <p>All values are computed in double and rounded once: {@link #value} is as accurate as {@link Frequencies} says, and
 * {@link #table} holds, at every position, the float nearest to it; with frequencies up to 1 it is at most 0.501 float ulps from
 * the true value at every position up to 2<sup>24</sup>.
 *
 * <pre>{@code
 * SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(512);
 * double first = encoding.value(1, 0);        // sin(1)
 * float[] table = encoding.table(0, 5000);    // (5000, 512), row-major
 * }</pre>
 */
public final class SinusoidalEncoding implements HasArguments {

    /** The base of the frequencies in <em>Attention Is All You Need</em>. */
    public static final double DEFAULT_BASE = 10_000;

    /** The most dimensions; {@link Frequencies} are half as many at most. */
    static final int MOST_DIMENSIONS = 1 << 21;

    /** What an encoding of an odd size gets. With an even size all are the same. */
    public enum OddSize {
        /** The size itself stays in the exponent; the last pair's second half is dropped, as KerasHub does. */
        KEPT_IN_EXPONENT,
        /** The encoding of the next even size, its last dimension dropped, as Géron's Keras layer does. */
        ROUNDED_UP,
        /** The encoding of the previous even size, and a zero behind it, as tensor2tensor does. */
        ZERO_PADDED;

        private int pairs(int embeddingSize) {
            return this == ZERO_PADDED ? embeddingSize / 2 : embeddingSize / 2 + embeddingSize % 2;
        }

        /** The number that stands below 2k in the exponent. */
        private int exponentSize(int embeddingSize) {
            return this == KEPT_IN_EXPONENT ? embeddingSize : 2 * pairs(embeddingSize);
        }
    }

    private final int embeddingSize;
    private final Frequencies frequencies;
    private final PairLayout layout;
    private final boolean cosineFirst;
    private final OddSize oddSize;

    /**
     * What sits in each dimension: a pair's sine (0 … pairs - 1), a pair's cosine (pairs … 2 · pairs - 1), or nothing (-1),
     * which is a zero.
     */
    private final int[] halfAt;

    private SinusoidalEncoding(Builder builder, Frequencies frequencies) {
        embeddingSize = builder.embeddingSize;
        this.frequencies = frequencies;
        layout = builder.layout;
        cosineFirst = builder.cosineFirst;
        oddSize = builder.oddSize;
        int pairs = frequencies.size();
        int[] withDropped = new int[Math.max(embeddingSize, 2 * pairs)];
        Arrays.fill(withDropped, -1);
        for (int pair = 0; pair < pairs; pair++) {
            int first = layout.firstIndex(pair, pairs);
            int second = layout.secondIndex(pair, pairs);
            withDropped[cosineFirst ? second : first] = pair;
            withDropped[cosineFirst ? first : second] = pairs + pair;
        }
        halfAt = Arrays.copyOf(withDropped, embeddingSize);
    }

    /**
     * Returns the encoding of Vaswani et al., <em>Attention Is All You Need</em> (2017), section 3.5:
     * PE(t, 2k) = sin(t / 10000<sup>2k/d</sup>), PE(t, 2k + 1) = cos(t / 10000<sup>2k/d</sup>).
     *
     * <p>An odd d stays in the exponent and the last dimension is a sine, as in KerasHub.
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @return the encoding
     * @throws IllegalArgumentException if the size is outside its range
     */
    public static SinusoidalEncoding vaswani(int embeddingSize) {
        return vaswani(embeddingSize, DEFAULT_BASE);
    }

    /**
     * Returns the encoding of <em>Attention Is All You Need</em>, section 3.5, with another base than 10,000.
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @param base positive and finite
     * @return the encoding
     * @throws IllegalArgumentException if the size is outside its range, the base is not positive or not finite, or a frequency
     *     is outside e<sup>-600</sup> to e<sup>600</sup>
     */
    public static SinusoidalEncoding vaswani(int embeddingSize, double base) {
        return builder().setEmbeddingSize(embeddingSize).optBase(base).build();
    }

    /**
     * Returns the encoding of tensor2tensor's {@code get_timing_signal_1d}: all sines, then all cosines, then one zero
     * where the channel count is odd, with the frequencies of {@link Frequencies#timescales}.
     *
     * @param channels the embedding size, from 1 to 2,097,152
     * @param minTimescale positive and finite, usually 1
     * @param maxTimescale positive and finite, usually 10,000
     * @return the encoding
     * @throws IllegalArgumentException if the size is outside its range, a timescale is not positive and finite, or the
     *     timescales are too far apart
     */
    public static SinusoidalEncoding tensor2tensor(int channels, double minTimescale, double maxTimescale) {
        return builder()
                .setEmbeddingSize(channels)
                .optFrequencies(Frequencies.timescales(requireSize(channels) / 2, minTimescale, maxTimescale))
                .optLayout(PairLayout.CONCATENATED)
                .optOddSize(OddSize.ZERO_PADDED)
                .build();
    }

    /**
     * Returns the encoding of fairseq's {@code SinusoidalPositionalEmbedding}: {@link #tensor2tensor} with the timescales 1
     * and 10,000. fairseq counts positions from the padding index + 1, so its first token has position 2 where that index is 1;
     * see {@code optPositionsFromPadding} of {@code InputEmbeddingBlock}.
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @return the encoding
     * @throws IllegalArgumentException if the size is outside its range
     */
    public static SinusoidalEncoding fairseq(int embeddingSize) {
        return tensor2tensor(embeddingSize, 1, DEFAULT_BASE);
    }

    /**
     * Returns the paper's encoding with an odd size rounded up: computed for d + 1, the last dimension dropped. So Géron's
     * Keras layer (<em>Hands-On Machine Learning</em>, chapter 16) and multidim-positional-encoding do it.
     *
     * @param embeddingSize d, from 1 to 2,097,152
     * @return the encoding
     * @throws IllegalArgumentException if the size is outside its range
     */
    public static SinusoidalEncoding roundedUp(int embeddingSize) {
        return builder()
                .setEmbeddingSize(embeddingSize)
                .optOddSize(OddSize.ROUNDED_UP)
                .build();
    }

    /**
     * Returns the encoding of bert4keras's {@code sinusoidal_embeddings}: the paper's, for even sizes alone, of any base.
     *
     * @param embeddingSize d, from 2 to 2,097,152, even
     * @param base positive and finite, usually 10,000
     * @return the encoding
     * @throws IllegalArgumentException if the size is odd or outside its range, the base is not a positive finite number, or a
     *     frequency is outside e<sup>-600</sup> to e<sup>600</sup>
     */
    public static SinusoidalEncoding bert4keras(int embeddingSize, double base) {
        requireEven(embeddingSize, "bert4keras");
        return vaswani(embeddingSize, base);
    }

    /**
     * Returns the encoding of x-transformers' {@code ScaledSinusoidalEmbedding}, without its scale: the paper's frequencies,
     * all sines, then all cosines. The scale is learned; a block has it with {@code optLearnedScale}.
     *
     * @param embeddingSize d, from 2 to 2,097,152, even
     * @return the encoding
     * @throws IllegalArgumentException if the size is odd or outside its range
     */
    public static SinusoidalEncoding xTransformers(int embeddingSize) {
        requireEven(embeddingSize, "x-transformers");
        return builder()
                .setEmbeddingSize(embeddingSize)
                .optLayout(PairLayout.CONCATENATED)
                .build();
    }

    /**
     * Returns the encoding of DDPM's time steps (Ho et al., <em>Denoising Diffusion Probabilistic Models</em>, 2020):
     * {@link #diffusion(int, double, double, boolean)} with a frequency shift of 1, a scale of 1 and the sines first.
     *
     * @param embeddingSize d, from 4 to 2,097,152
     * @return the encoding
     * @throws IllegalArgumentException if the size is outside its range
     */
    public static SinusoidalEncoding diffusion(int embeddingSize) {
        return diffusion(embeddingSize, 1, 1, false);
    }

    /**
     * Returns the encoding of a diffusion model's time steps, as {@code get_timestep_embedding} in DDPM and Hugging Face's
     * diffusers computes it: with n = ⌊d/2⌋, the frequencies scale · 10000<sup>-k/(n - frequencyShift)</sup>, all of one
     * half, then all of the other, and a zero where d is odd. DDPM has a shift of 1 and the sines first; improved-diffusion
     * and its descendants a shift of 0 and the cosines first.
     *
     * @param embeddingSize d, at least 2 · frequencyShift + 2 and at most 2,097,152
     * @param frequencyShift below ⌊d/2⌋, usually 0 or 1
     * @param scale what a time step is multiplied by, usually 1
     * @param cosineFirst true for the cosines before the sines
     * @return the encoding
     * @throws IllegalArgumentException if the size is outside its range, the shift is ⌊d/2⌋ or more, or the scale is zero,
     *     infinite or NaN, or makes a frequency too large or too small
     */
    public static SinusoidalEncoding diffusion(
            int embeddingSize, double frequencyShift, double scale, boolean cosineFirst) {
        int pairs = requireSize(embeddingSize) / 2;
        if (!(frequencyShift < pairs)) {
            throw new IllegalArgumentException("frequency shift " + frequencyShift + " is not below the " + pairs
                    + " pairs of size " + embeddingSize + ": give a smaller shift, usually 0 or 1, or a greater size");
        }
        Frequencies frequencies = Frequencies.geometric(pairs, DEFAULT_BASE, pairs - frequencyShift);
        return builder()
                .setEmbeddingSize(embeddingSize)
                .optFrequencies(scale == 1 ? frequencies : frequencies.scaledBy(scale))
                .optLayout(PairLayout.CONCATENATED)
                .optCosineFirst(cosineFirst)
                .optOddSize(OddSize.ZERO_PADDED)
                .build();
    }

    private static int requireSize(int embeddingSize) {
        if (embeddingSize < 1 || embeddingSize > MOST_DIMENSIONS) {
            throw new IllegalArgumentException("embedding size " + embeddingSize + " is outside 1 to " + MOST_DIMENSIONS
                    + ": set the number of dimensions with setEmbeddingSize(int)");
        }
        return embeddingSize;
    }

    private static void requireEven(int embeddingSize, String convention) {
        if (embeddingSize % 2 != 0) {
            throw new IllegalArgumentException("embedding size " + embeddingSize + " is odd: " + convention
                    + " knows even sizes alone; give an even size, or another convention");
        }
    }

    /**
     * Returns a builder, which reaches every combination. Its defaults are the paper's.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Returns the number of dimensions of an encoded position.
     *
     * @return the embedding size d
     */
    public int getEmbeddingSize() {
        return embeddingSize;
    }

    /**
     * Returns one dimension of one position's encoding, as accurate as {@link Frequencies} says.
     *
     * @param position any finite number, integer or not, negative or not
     * @param dimension 0 … d - 1
     * @return the value, in [-1, 1]
     * @throws IllegalArgumentException if the position is not finite or the dimension is out of range
     */
    public double value(double position, int dimension) {
        TableBounds.requireFinite(position);
        requireDimension(dimension);
        return half(position, halfAt[dimension]);
    }

    /**
     * Returns the angular frequency of one dimension: that of the pair whose half it is.
     *
     * @param dimension 0 … d - 1
     * @return radians per position, the nearest double; 0 for the zero that pads an odd size
     * @throws IllegalArgumentException if the dimension is out of range
     */
    public double frequency(int dimension) {
        requireDimension(dimension);
        int half = halfAt[dimension];
        return half < 0 ? 0 : frequencies.get(half % frequencies.size());
    }

    private void requireDimension(int dimension) {
        if (dimension < 0 || dimension >= embeddingSize) {
            throw new IllegalArgumentException("dimension " + dimension + " is outside 0 to " + (embeddingSize - 1)
                    + ": give a dimension of this encoding, whose size is " + embeddingSize);
        }
    }

    private double half(double position, int half) {
        return half < 0 ? 0 : frequencies.half(position, half);
    }

    /**
     * Returns the encodings of consecutive positions: of each value the float nearest to it.
     *
     * @param start the first position
     * @param length the number of positions, at least 0
     * @return a new array, row-major (length, d)
     * @throws IllegalArgumentException if the length is negative or length · d exceeds 2<sup>31</sup> - 1
     */
    public float[] table(int start, int length) {
        TableBounds.requireLength(length, embeddingSize, 1);
        float[] table = new float[length * embeddingSize];
        writeNearestFloats(start, length, FloatBuffer.wrap(table));
        return table;
    }

    /**
     * Writes the encodings of consecutive positions: of each {@link #value} the number of the format that is nearest to it.
     *
     * @param start the first position
     * @param length the number of positions, at least 0
     * @param format what the values are rounded to
     * @param out where they go, row-major (length, d) from the buffer's start; its position stays
     * @throws IllegalArgumentException if the length is negative or the buffer is too small
     */
    public void write(int start, int length, FloatFormat format, ByteBuffer out) {
        TableBounds.requireRoom(length, embeddingSize, format, out);
        if (format == FloatFormat.FLOAT32) {
            writeNearestFloats(
                    start,
                    length,
                    out.duplicate().position(0).order(out.order()).asFloatBuffer());
        } else {
            forEachNearest(start, length, format, (index, value) -> format.put(out, index, value));
        }
    }

    /**
     * Writes the encodings of any positions: of each {@link #value} the number of the format that is nearest to it.
     *
     * @param positions n finite numbers, integers or not
     * @param format what the values are rounded to
     * @param out where they go, row-major (n, d) from the buffer's start; its position stays
     * @throws IllegalArgumentException if a position is not finite or the buffer is too small
     */
    public void write(double[] positions, FloatFormat format, ByteBuffer out) {
        TableBounds.requireRoom(positions.length, embeddingSize, format, out);
        TableBounds.requireAllFinite(positions);
        IntStream.range(0, positions.length).parallel().forEach(row -> {
            for (int dimension = 0; dimension < embeddingSize; dimension++) {
                format.put(out, row * embeddingSize + dimension, half(positions[row], halfAt[dimension]));
            }
        });
    }

    /** Receives a value that is a number of the wanted format. */
    @FunctionalInterface
    private interface Sink {
        void put(int index, double value);
    }

    /** {@link #forEachNearest} of the format that is asked for most, at about half of its time. */
    private void writeNearestFloats(int start, int length, FloatBuffer out) {
        int halves = 2 * frequencies.size();
        // of the dimensions that a zero pads, the place behind all halves
        int[] places =
                Arrays.stream(halfAt).map(half -> half < 0 ? halves : half).toArray();
        new RotatedRows(frequencies).forEach(start, length, () -> {
            float[] nearest = new float[halves + 1];
            float[] line = new float[embeddingSize];
            return (row, values) -> {
                if (!round(values, nearest)) {
                    roundSurely(values, nearest, (double) start + row);
                }
                pick(nearest, places, line);
                out.put(row * embeddingSize, line);
            };
        });
    }

    /** Rounds a row; returns false where its error leaves a value open. */
    private static boolean round(double[] values, float[] nearest) {
        boolean isSure = true;
        for (int half = 0; half < values.length; half++) {
            float least = (float) (values[half] - RotatedRows.ERROR);
            float greatest = (float) (values[half] + RotatedRows.ERROR);
            nearest[half] = least;
            isSure &= least == greatest;
        }
        return isSure;
    }

    private void roundSurely(double[] values, float[] nearest, double position) {
        for (int half = 0; half < values.length; half++) {
            if (nearest[half] != (float) (values[half] + RotatedRows.ERROR)) {
                nearest[half] = (float) half(position, half);
            }
        }
    }

    private static void pick(float[] from, int[] places, float[] to) {
        for (int i = 0; i < to.length; i++) {
            to[i] = from[places[i]];
        }
    }

    private void forEachNearest(int start, int length, FloatFormat format, Sink sink) {
        new RotatedRows(frequencies).forEach(start, length, () -> (row, values) -> {
            for (int dimension = 0; dimension < embeddingSize; dimension++) {
                int half = halfAt[dimension];
                double nearest = 0;
                if (half >= 0) {
                    nearest = format.round(values[half] - RotatedRows.ERROR);
                    // compared as numbers with a sign: in half precision both ends of a zero's interval are zeros
                    if (Double.compare(nearest, format.round(values[half] + RotatedRows.ERROR)) != 0) {
                        nearest = format.round(half((double) start + row, half));
                    }
                }
                sink.put(row * embeddingSize + dimension, nearest);
            }
        });
    }

    /**
     * Returns T(k), the linear map that moves every position's encoding by k: T(k) · PE(t) = PE(t + k) for all t.
     *
     * <p>T(k) turns each pair by its frequency times k (Vaswani et al., section 3.5, give the reason for sinusoids so).
     * It is orthogonal, T(a) · T(b) = T(a + b), and a zero-padded dimension is kept as it is.
     *
     * @param offset k, any finite number
     * @return a new matrix (d, d), row-major, each value as accurate as {@link Frequencies} says
     * @throws IllegalArgumentException if the offset is not finite
     * @throws UnsupportedOperationException if the size is odd and the encoding ends with half a pair: a sine without its
     *     cosine cannot be moved by any linear map
     */
    public double[][] shift(double offset) {
        TableBounds.requireFinite(offset);
        requireWholePairs("no linear map can shift");
        double[][] shift = new double[embeddingSize][embeddingSize];
        int pairs = frequencies.size();
        int[] dimensionOf = new int[2 * pairs];
        for (int dimension = 0; dimension < embeddingSize; dimension++) {
            if (halfAt[dimension] < 0) {
                shift[dimension][dimension] = 1;
            } else {
                dimensionOf[halfAt[dimension]] = dimension;
            }
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
     * Returns the dot product of two positions' encodings that are k apart, PE(t) · PE(t + k). It is the same for all t: the
     * sum over the pairs of cos(k · frequency). It is symmetric in k and greatest, the number of pairs, at k = 0.
     *
     * @param offset k, any finite number
     * @return the dot product, in [-pairs, pairs]
     * @throws IllegalArgumentException if the offset is not finite
     * @throws UnsupportedOperationException if the size is odd and the encoding ends with half a pair: the product then
     *     depends on t
     */
    public double similarity(double offset) {
        TableBounds.requireFinite(offset);
        requireWholePairs("makes the similarity depend on the position");
        double sum = 0;
        for (int pair = 0; pair < frequencies.size(); pair++) {
            sum += frequencies.cosine(offset, pair);
        }
        return sum;
    }

    private void requireWholePairs(String why) {
        if (embeddingSize % 2 != 0 && oddSize != OddSize.ZERO_PADDED) {
            throw new UnsupportedOperationException("an encoding of odd size " + embeddingSize + " with " + oddSize
                    + " ends with half a pair, which " + why + ": use an even size or OddSize.ZERO_PADDED");
        }
    }

    /**
     * Makes an encoding from the plain values that {@link #getArguments} returns.
     *
     * @param arguments {@code embeddingSize}, and where they are not the paper's {@code base} or {@code frequencies}, a map
     *     for {@link Frequencies#fromArguments}; {@code layout}, {@code cosineFirst} and {@code oddSize}; see the builder
     * @return the encoding
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static SinusoidalEncoding fromArguments(Map<?, ?> arguments) {
        Arguments given = Arguments.of(SinusoidalEncoding.class, arguments);
        Builder builder = builder().setEmbeddingSize(given.getInt("embeddingSize"));
        given.optDouble("base").ifPresent(builder::optBase);
        given.optMap("frequencies").map(Frequencies::fromArguments).ifPresent(builder::optFrequencies);
        given.optChoice("layout", PairLayout.class).ifPresent(builder::optLayout);
        given.optFlag("cosineFirst").ifPresent(builder::optCosineFirst);
        given.optChoice("oddSize", OddSize.class).ifPresent(builder::optOddSize);
        given.requireNoOthers();
        return builder.build();
    }

    @Override
    public Record getSettings() {
        return null;
    }

    @Override
    public Map<String, Object> getArguments() {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("embeddingSize", embeddingSize);
        arguments.put("frequencies", frequencies.getArguments());
        arguments.put("layout", layout.name());
        arguments.put("cosineFirst", cosineFirst);
        arguments.put("oddSize", oddSize.name());
        return Collections.unmodifiableMap(arguments);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SinusoidalEncoding that
                && frequencies.equals(that.frequencies)
                && Arrays.equals(halfAt, that.halfAt);
    }

    @Override
    public int hashCode() {
        return Objects.hash(frequencies, Arrays.hashCode(halfAt));
    }

    /**
     * Returns every setting, for example
     * {@code SinusoidalEncoding(size=64, geometric(count=32, base=10000, period=32), INTERLEAVED, sine first)}.
     */
    @Override
    public String toString() {
        return "SinusoidalEncoding(size=" + embeddingSize + ", " + frequencies + ", " + layout
                + (cosineFirst ? ", cosine first" : ", sine first")
                + (embeddingSize % 2 == 0 ? "" : ", odd size " + oddSize)
                + ")";
    }

    /** Builds a {@link SinusoidalEncoding}. */
    public static final class Builder {

        private int embeddingSize;
        private Double base;
        private Frequencies frequencies;
        private PairLayout layout = PairLayout.INTERLEAVED;
        private boolean cosineFirst;
        private OddSize oddSize = OddSize.KEPT_IN_EXPONENT;

        private Builder() {}

        /**
         * Sets the number of dimensions.
         *
         * @param embeddingSize d, from 1 to 2,097,152
         * @return this builder
         */
        public Builder setEmbeddingSize(int embeddingSize) {
            this.embeddingSize = embeddingSize;
            return this;
        }

        /**
         * Sets the base of the paper's frequencies, base<sup>-2k/d</sup>; 10,000 without it.
         *
         * @param base positive and finite
         * @return this builder
         */
        public Builder optBase(double base) {
            this.base = base;
            return this;
        }

        /**
         * Sets other frequencies than the paper's. Their number must be that of the pairs: ⌊d/2⌋ with
         * {@link OddSize#ZERO_PADDED}, else ⌈d/2⌉.
         *
         * @param frequencies one angular frequency for each pair
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optFrequencies(Frequencies frequencies) {
            this.frequencies = Objects.requireNonNull(frequencies, "frequencies");
            return this;
        }

        /**
         * Sets where a pair's halves sit; {@link PairLayout#INTERLEAVED} without it.
         *
         * @param layout the layout
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optLayout(PairLayout layout) {
            this.layout = Objects.requireNonNull(layout, "layout");
            return this;
        }

        /**
         * Sets whether a pair's cosine comes before its sine; {@code false} without it.
         *
         * @param cosineFirst true for the cosine first
         * @return this builder
         */
        public Builder optCosineFirst(boolean cosineFirst) {
            this.cosineFirst = cosineFirst;
            return this;
        }

        /**
         * Sets what an odd size gets; {@link OddSize#KEPT_IN_EXPONENT} without it.
         *
         * @param oddSize the convention
         * @return this builder
         * @throws NullPointerException if it is null
         */
        public Builder optOddSize(OddSize oddSize) {
            this.oddSize = Objects.requireNonNull(oddSize, "oddSize");
            return this;
        }

        /**
         * Builds the encoding.
         *
         * @return the encoding
         * @throws IllegalArgumentException if the size is outside its range, the base is not a positive finite number or makes
         *     a frequency outside e<sup>-600</sup> to e<sup>600</sup>, base and frequencies are both given, or the number of
         *     frequencies is not that of the pairs
         */
        public SinusoidalEncoding build() {
            requireSize(embeddingSize);
            if (base != null && frequencies != null) {
                throw new IllegalArgumentException("base " + base + " and frequencies " + frequencies
                        + " were both given: give optBase(double) for the paper's frequencies or"
                        + " optFrequencies for others");
            }
            int pairs = oddSize.pairs(embeddingSize);
            Frequencies used = frequencies != null
                    ? frequencies
                    : Frequencies.geometric(
                            pairs,
                            base == null ? DEFAULT_BASE : base,
                            Math.max(1, oddSize.exponentSize(embeddingSize)) / 2.0);
            if (used.size() != pairs) {
                throw new IllegalArgumentException(used.size() + " frequencies were given for size " + embeddingSize
                        + ", which has " + pairs + " pairs: give one frequency for each pair");
            }
            return new SinusoidalEncoding(this, used);
        }
    }
}
