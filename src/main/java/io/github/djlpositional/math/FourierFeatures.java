package io.github.djlpositional.math;

import io.github.djlpositional.internal.options.Check;
import io.github.djlpositional.internal.options.Settings;
import io.github.djlpositional.options.HasArguments;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Features of real coordinates: y = sin(x · A + φ), with a matrix A of angular frequencies, one row for each
 * coordinate, and a vector φ of phases. A cosine is a sine with the phase π/2. The first features may be the angles x ·
 * A + φ themselves.
 *
 * <p>Published conventions differ in A and in the order of the features. Immutable and safe to share.
 *
 * @param coordinates the number of coordinates, C, at least 1
 * @param linearCount the number of features, counted from the first, that are the angle itself and not its sine
 * @param logarithm whether x is the natural logarithm of the coordinates, which must then be positive
 * @param numbers the rows of A, then φ: (C + 1, D), row-major, finite; radians per unit of x, and radians
 */
public record FourierFeatures(int coordinates, int linearCount, boolean logarithm, List<Double> numbers)
        implements HasArguments {

    private static final double QUARTER_TURN = Math.PI / 2;

    /** More than any model has. */
    private static final int MAX_POWERS = 64;

    /**
     * Creates features.
     *
     * @param coordinates C, at least 1
     * @param linearCount from 0 to D
     * @param logarithm whether x is the natural logarithm of the coordinates
     * @param numbers (C + 1, D), row-major, finite
     * @throws IllegalArgumentException if there are no coordinates or no numbers, the numbers do not fill C + 1 rows, a
     *     number is not finite, or there are fewer features than linear ones
     */
    public FourierFeatures {
        Check.positive("coordinates", coordinates);
        numbers = List.copyOf(Check.present("numbers", numbers));
        int count = numbers.size();
        Check.that(
                count > 0 && count % (coordinates + 1) == 0 && numbers.stream().allMatch(Double::isFinite),
                count + " numbers for " + coordinates + " coordinates: expected as many finite numbers in each of "
                        + (coordinates + 1) + " rows; pass (C + 1, D) numbers");
        Check.between("linearCount", linearCount, 0, count / (coordinates + 1));
    }

    private static FourierFeatures ofRows(int linearCount, double[]... rows) {
        List<Double> numbers =
                Stream.of(rows).flatMapToDouble(Arrays::stream).boxed().toList();
        return new FourierFeatures(rows.length - 1, linearCount, false, numbers);
    }

    /**
     * {@return random Fourier features, [cos(2πBx), sin(2πBx)], where each number of B is drawn from N(0, scale²)}
     * Tancik et al., <em>Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional Domains</em>
     * (2020). With one coordinate, the scale 16 and sines first, Song et al. use them: <em>Score-Based Generative
     * Modeling</em> (2021), the {@code GaussianFourierProjection} of diffusers.
     *
     * @param coordinates C, at least 1
     * @param frequencies m, half the number of features; at least 1, and C · m at most 1,048,576
     * @param scale the standard deviation, positive and finite
     * @param seed of the {@link Random} that B is drawn with, the same on every machine
     * @param cosineFirst false for the sines before the cosines
     * @throws IllegalArgumentException if an argument is outside its range
     * @see <a href="https://arxiv.org/abs/2006.10739">Fourier Features Let Networks Learn High Frequency Functions in
     *     Low Dimensional Domains</a>
     * @see <a href="https://arxiv.org/abs/2011.13456">Score-Based Generative Modeling through Stochastic Differential
     *     Equations</a>
     */
    public static FourierFeatures gaussian(
            int coordinates, int frequencies, double scale, long seed, boolean cosineFirst) {
        Check.positive("coordinates", coordinates);
        Check.between("frequencies", frequencies, 1, Frequencies.MAX_COUNT / coordinates);
        Check.positive("scale", scale, "16 in diffusion models");
        Random random = new Random(seed);
        double[][] matrix = new double[frequencies][coordinates];
        Stream.of(matrix).forEach(row -> Arrays.setAll(row, i -> scale * random.nextGaussian()));
        return of(cosineFirst, matrix);
    }

    /**
     * {@return the features [cos(2πBx), sin(2πBx)] with the matrix B of another model}
     *
     * @param cosineFirst false for the sines before the cosines
     * @param matrix B, (m, C), finite
     * @throws IllegalArgumentException if the matrix is empty, its rows have different lengths, or a number is not
     *     finite
     * @see <a href="https://arxiv.org/abs/2006.10739">Fourier Features Let Networks Learn High Frequency Functions in
     *     Low Dimensional Domains</a>
     */
    public static FourierFeatures of(boolean cosineFirst, double[]... matrix) {
        int m = matrix.length;
        int coordinates = m == 0 ? 0 : matrix[0].length;
        Check.positive("coordinates", coordinates);
        Check.that(
                Stream.of(matrix).allMatch(row -> row.length == coordinates),
                "a matrix with rows of different lengths: expected (m, C); pass one number in each row for each"
                        + " coordinate");
        double[][] rows = new double[coordinates + 1][2 * m];
        for (int i = 0; i < 2 * m; i++) {
            for (int c = 0; c < coordinates; c++) {
                rows[c][i] = 2 * Math.PI * matrix[i % m][c];
            }
            rows[coordinates][i] = cosineFirst == i < m ? QUARTER_TURN : 0;
        }
        return ofRows(0, rows);
    }

    /**
     * {@return the features of NeRF: for k = 0 … L - 1 the sines of 2<sup>k</sup>πx of all coordinates, then the
     * cosines} Mildenhall et al., <em>NeRF: Representing Scenes as Neural Radiance Fields</em> (2020), equation 4. The
     * published code has no π, and x before all others.
     *
     * @param coordinates C, from 1 to 64
     * @param frequencies L, from 1 to 64; 10 for places and 4 for directions in NeRF
     * @param timesPi false for the sines and cosines of 2<sup>k</sup>x
     * @param includeInput true for x before the sines and cosines
     * @throws IllegalArgumentException if an argument is outside its range
     * @see <a href="https://arxiv.org/abs/2003.08934">NeRF: Representing Scenes as Neural Radiance Fields for View
     *     Synthesis</a>
     */
    public static FourierFeatures powersOfTwo(int coordinates, int frequencies, boolean timesPi, boolean includeInput) {
        Check.between("coordinates", coordinates, 1, MAX_POWERS);
        Check.between("frequencies", frequencies, 1, MAX_POWERS);
        int linear = includeInput ? coordinates : 0;
        int width = linear + 2 * frequencies * coordinates;
        double[][] rows = new double[coordinates + 1][width];
        for (int c = 0; c < coordinates; c++) {
            for (int i = c; i < width; i += coordinates) {
                boolean isInput = i < linear;
                int power = (i - linear) / (2 * coordinates);
                rows[c][i] = isInput ? 1 : Math.scalb(timesPi ? Math.PI : 1, power);
                rows[coordinates][i] = !isInput && (i - linear) / coordinates % 2 == 1 ? QUARTER_TURN : 0;
            }
        }
        return ofRows(linear, rows);
    }

    /**
     * {@return the sinusoids of one real coordinate}
     *
     * @param encoding for example {@link SinusoidalEncoding#diffusion(int)}
     * @throws IllegalArgumentException if it is null
     * @see <a href="https://arxiv.org/abs/2006.11239">Denoising Diffusion Probabilistic Models</a>
     */
    public static FourierFeatures sinusoids(SinusoidalEncoding encoding) {
        int size = Check.present("encoding", encoding).getEmbeddingSize();
        double[][] rows = new double[2][size];
        Arrays.setAll(rows[0], encoding::frequency);
        // at position 0 every cosine is 1, and everything else 0
        Arrays.setAll(rows[1], dimension -> QUARTER_TURN * encoding.value(0, dimension));
        return ofRows(0, rows);
    }

    /**
     * {@return the initial values of Time2Vec: [ω₀τ + φ₀, sin(ω₁τ + φ₁), …], with random numbers ω and φ from N(0, 1)}
     * Kazemi et al., <em>Time2Vec: Learning a Vector Representation of Time</em> (2019), equation 1. A block with
     * {@code optLearned(true)} trains them.
     *
     * @param embeddingSize the number of features, from 2 to 2,097,152
     * @param seed of the {@link Random} that ω and φ are drawn with, the same on every machine
     * @throws IllegalArgumentException if the size is outside its range
     * @see <a href="https://arxiv.org/abs/1907.05321">Time2Vec: Learning a Vector Representation of Time</a>
     */
    public static FourierFeatures time2Vec(int embeddingSize, long seed) {
        Check.between("embeddingSize", embeddingSize, 2, SinusoidalEncoding.MAX_DIMENSIONS);
        Random random = new Random(seed);
        double[][] rows = new double[2][embeddingSize];
        Stream.of(rows).forEach(row -> Arrays.setAll(row, i -> random.nextGaussian()));
        return ofRows(1, rows);
    }

    /** {@return the same features of the natural logarithm of the coordinates, which must be positive} */
    public FourierFeatures ofLogarithm() {
        return new FourierFeatures(coordinates, linearCount, true, numbers);
    }

    /**
     * {@return the features that a map of {@link #getArguments} describes}
     *
     * @param arguments the components by name; {@code numbers} is a list
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static FourierFeatures fromArguments(Map<?, ?> arguments) {
        return Settings.create(FourierFeatures.class, arguments);
    }

    @Override
    public Map<String, Object> getArguments() {
        return Settings.arguments(this, this);
    }

    /** {@return the number of features, D} */
    public int getEmbeddingSize() {
        return numbers.size() / (coordinates + 1);
    }

    /**
     * Returns a number of A or φ.
     *
     * @param row the coordinate, counted from 0, for A; C for φ
     * @param feature the feature, counted from 0
     * @return radians per unit of x, or radians
     * @throws IndexOutOfBoundsException if there is no such row or feature
     */
    public double get(int row, int feature) {
        int size = getEmbeddingSize();
        return numbers.get(row * size + Objects.checkIndex(feature, size));
    }

    /** {@return the features in one line} */
    @Override
    public String toString() {
        return Settings.describe(this);
    }
}
