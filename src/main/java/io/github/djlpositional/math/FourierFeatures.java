package io.github.djlpositional.math;

import io.github.djlpositional.arguments.HasArguments;
import io.github.djlpositional.arguments.internal.Check;
import io.github.djlpositional.arguments.internal.Records;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * Features of real coordinates: y = sin(x · A + φ), with a matrix A of angular frequencies, one row for each
 * coordinate, and a vector φ of phases. A cosine is a sine with the phase π/2. The first features may be the angles x ·
 * A + φ themselves.
 *
 * <p>Published conventions differ in A and in the order of the features. Immutable and safe to share. Two objects are
 * equal if they were created with equal arguments.
 */
public final class FourierFeatures implements HasArguments {

    private static final double QUARTER_TURN = Math.PI / 2;

    /** More than any model has; a larger number, from a file perhaps, is rejected before memory is allocated. */
    private static final int MAX_POWERS = 64;

    /** How features were created. */
    private sealed interface Origin {
        FourierFeatures create();
    }

    private record Gaussian(int coordinates, int frequencies, double scale, long seed, boolean cosineFirst)
            implements Origin {

        Gaussian {
            Check.positive("coordinates", coordinates);
            Check.between("frequencies", frequencies, 1, Frequencies.MAX_COUNT / coordinates);
            Check.positive("scale", scale, "16 in diffusion models");
        }

        @Override
        public FourierFeatures create() {
            Random random = new Random(seed);
            return projected(
                    this,
                    DoubleStream.generate(() -> scale * random.nextGaussian())
                            .limit((long) frequencies * coordinates)
                            .toArray(),
                    coordinates,
                    cosineFirst);
        }
    }

    private record Given(int coordinates, List<Double> matrix, boolean cosineFirst) implements Origin {

        Given {
            Check.positive("coordinates", coordinates);
            int size = Check.given("matrix", matrix).size();
            Check.that(
                    size > 0 && size % coordinates == 0 && matrix.stream().allMatch(Double::isFinite),
                    () -> "a matrix of " + size + " numbers for " + coordinates
                            + " coordinates: expected as many finite numbers in each of its rows; give (m, C)");
        }

        @Override
        public FourierFeatures create() {
            double[] values = matrix.stream().mapToDouble(value -> value).toArray();
            return projected(this, values, coordinates, cosineFirst);
        }
    }

    private record PowersOfTwo(int coordinates, int frequencies, boolean timesPi, boolean includeInput)
            implements Origin {

        PowersOfTwo {
            Check.between("coordinates", coordinates, 1, MAX_POWERS);
            Check.between("frequencies", frequencies, 1, MAX_POWERS);
        }

        @Override
        public FourierFeatures create() {
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
            return new FourierFeatures(this, linear, rows);
        }
    }

    private record Sinusoids(SinusoidalEncoding encoding) implements Origin {

        Sinusoids {
            Check.given("encoding", encoding);
        }

        @Override
        public FourierFeatures create() {
            int size = encoding.getEmbeddingSize();
            double[][] rows = new double[2][size];
            Arrays.setAll(rows[0], encoding::frequency);
            // at position 0 every cosine is 1, and everything else 0
            Arrays.setAll(rows[1], dimension -> QUARTER_TURN * encoding.value(0, dimension));
            return new FourierFeatures(this, 0, rows);
        }
    }

    private record Time2Vec(int embeddingSize, long seed) implements Origin {

        Time2Vec {
            Check.between("embeddingSize", embeddingSize, 2, SinusoidalEncoding.MAX_DIMENSIONS);
        }

        @Override
        public FourierFeatures create() {
            Random random = new Random(seed);
            double[][] rows = new double[2][embeddingSize];
            Stream.of(rows).forEach(row -> Arrays.setAll(row, i -> random.nextGaussian()));
            return new FourierFeatures(this, 1, rows);
        }
    }

    private final Origin settings;
    private final int linear;

    /** The rows of A, and φ. */
    private final double[][] rows;

    private FourierFeatures(Origin origin, int linear, double[]... rows) {
        settings = origin;
        this.linear = linear;
        this.rows = rows;
    }

    /** The cosines and sines of 2π · B · x, with B (m, C), row-major. */
    private static FourierFeatures projected(Origin origin, double[] matrix, int coordinates, boolean cosineFirst) {
        int m = matrix.length / coordinates;
        double[][] rows = new double[coordinates + 1][2 * m];
        for (int i = 0; i < 2 * m; i++) {
            for (int c = 0; c < coordinates; c++) {
                rows[c][i] = 2 * Math.PI * matrix[i % m * coordinates + c];
            }
            rows[coordinates][i] = cosineFirst == i < m ? QUARTER_TURN : 0;
        }
        return new FourierFeatures(origin, 0, rows);
    }

    /**
     * {@return random Fourier features, [cos(2πBx), sin(2πBx)], where each number of B is drawn from N(0, scale²)}
     * Tancik et al., <em>Fourier Features Let Networks Learn High Frequency Functions in Low Dimensional Domains</em>
     * (2020), section 5. With one coordinate, the scale 16 and sines first they are those of Song et al.,
     * <em>Score-Based Generative Modeling</em> (2021), the {@code GaussianFourierProjection} of diffusers.
     *
     * @param coordinates C, at least 1
     * @param frequencies m, half the number of features; at least 1, and C · m at most 1,048,576
     * @param scale the standard deviation, positive and finite
     * @param seed of the {@link Random} that B is drawn with, the same on every machine
     * @param cosineFirst false for the sines before the cosines
     * @throws IllegalArgumentException if an argument is outside its range
     */
    public static FourierFeatures gaussian(
            int coordinates, int frequencies, double scale, long seed, boolean cosineFirst) {
        return new Gaussian(coordinates, frequencies, scale, seed, cosineFirst).create();
    }

    /**
     * {@return the features [cos(2πBx), sin(2πBx)] with the matrix B of another model}
     *
     * @param cosineFirst false for the sines before the cosines
     * @param matrix B, (m, C), finite
     * @throws IllegalArgumentException if the matrix is empty, its rows have different lengths, or a number is not
     *     finite
     */
    public static FourierFeatures of(boolean cosineFirst, double[]... matrix) {
        int coordinates = matrix.length == 0 ? 0 : matrix[0].length;
        Check.that(
                Stream.of(matrix).allMatch(row -> row.length == coordinates),
                "a matrix with rows of different lengths: expected (m, C); give each row one number for each coordinate");
        List<Double> values =
                Stream.of(matrix).flatMapToDouble(Arrays::stream).boxed().toList();
        return new Given(coordinates, values, cosineFirst).create();
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
     */
    public static FourierFeatures powersOfTwo(int coordinates, int frequencies, boolean timesPi, boolean includeInput) {
        return new PowersOfTwo(coordinates, frequencies, timesPi, includeInput).create();
    }

    /**
     * {@return the sinusoids of one real coordinate}
     *
     * @param encoding for example {@link SinusoidalEncoding#diffusion(int)}
     * @throws IllegalArgumentException if it is null
     */
    public static FourierFeatures sinusoids(SinusoidalEncoding encoding) {
        return new Sinusoids(encoding).create();
    }

    /**
     * {@return the initial values of Time2Vec: [ω₀τ + φ₀, sin(ω₁τ + φ₁), …], with random numbers ω and φ from N(0, 1)}
     * Kazemi et al., <em>Time2Vec: Learning a Vector Representation of Time</em> (2019), equation 1. A block with
     * {@code optLearned(true)} trains them.
     *
     * @param embeddingSize the number of features, from 2 to 2,097,152
     * @param seed of the {@link Random} that ω and φ are drawn with, the same on every machine
     * @throws IllegalArgumentException if the size is outside its range
     */
    public static FourierFeatures time2Vec(int embeddingSize, long seed) {
        return new Time2Vec(embeddingSize, seed).create();
    }

    /**
     * {@return the features that a map of {@link #getArguments} describes}
     *
     * @param arguments {@code kind} and the arguments of that kind: {@code gaussian} (coordinates, frequencies, scale,
     *     seed, cosineFirst), {@code given} (coordinates; matrix, a list, row-major; cosineFirst), {@code powersOfTwo}
     *     (coordinates, frequencies, timesPi, includeInput), {@code sinusoids} (encoding, a map for
     *     {@link SinusoidalEncoding#fromArguments}) or {@code time2Vec} (embeddingSize, seed)
     * @throws IllegalArgumentException if an argument is missing, unknown, of another type or outside its range
     */
    public static FourierFeatures fromArguments(Map<?, ?> arguments) {
        return Records.read(Origin.class, arguments).create();
    }

    @Override
    public Map<String, Object> getArguments() {
        return Records.write((Record) settings);
    }

    /** {@return the number of coordinates, C} */
    public int getCoordinates() {
        return rows.length - 1;
    }

    /** {@return the number of features} */
    public int getEmbeddingSize() {
        return rows[0].length;
    }

    /** {@return the number of features, from the first on, that are the angle itself and not its sine} */
    public int getLinearCount() {
        return linear;
    }

    /**
     * Returns a number of A or φ.
     *
     * @param row the coordinate, counted from 0, for A; C for φ
     * @param feature the feature, counted from 0
     * @return radians per unit of the coordinate, or radians
     * @throws ArrayIndexOutOfBoundsException if there is no such row or feature
     */
    public double get(int row, int feature) {
        return rows[row][feature];
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof FourierFeatures that && settings.equals(that.settings);
    }

    @Override
    public int hashCode() {
        return settings.hashCode();
    }

    @Override
    public String toString() {
        return "FourierFeatures." + Records.describe((Record) settings);
    }
}
