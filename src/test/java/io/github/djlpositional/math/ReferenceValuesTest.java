package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.CaseFile;
import io.github.djlpositional.Goldens;
import io.github.djlpositional.refusals.Expression;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The numbers of {@code src/test/resources/goldens}. Programs in {@code src/test/python} computed them from the
 * formulas of the papers and of published code, with 50 digits or more.
 */
class ReferenceValuesTest {

    private static int integer(String text) {
        return Integer.parseInt(text);
    }

    private static double[] reals(String text) {
        return Arrays.stream(text.split(" ", -1))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }

    private static void assertUlps(double actual, String expected, double ulps, String... row) {
        assertThat(Goldens.doubleUlps(actual, new BigDecimal(expected)))
                .as(String.join(",", row))
                .isLessThanOrEqualTo(ulps);
    }

    private static void assertFloatUlps(float actual, String expected, double ulps, String... row) {
        assertThat(Goldens.floatUlps(actual, new BigDecimal(expected)))
                .as(String.join(",", row))
                .isLessThanOrEqualTo(ulps);
    }

    private static final CaseFile OBJECTS = CaseFile.read("cases/reference-values.txt");

    private static final Map<String, List<String>> EXPRESSIONS = OBJECTS.byFirstColumn();

    /** The objects of expressions, which many rows share. */
    private static final Map<String, Object> CREATED = new HashMap<>();

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // a cast to another type fails its test
    private static <T> T object(String kind, Object... cells) {
        String expression = EXPRESSIONS.get(kind).get(0).formatted(cells);
        return (T) CREATED.computeIfAbsent(expression, text -> Expression.valueOf(text, OBJECTS.definitions(), null));
    }

    /** The object of a row whose second cell has its numbers. */
    @SuppressWarnings("TypeParameterUnusedInFormals")
    private static <T> T objectOf(String... row) {
        return object(row[0], (Object[]) row[1].split(" ", -1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "sinusoidal_vaswani.csv",
                "zero_crossings.csv",
                "sinusoidal_rounded_up.csv",
                "sinusoidal_tensor2tensor.csv",
                "conventions.csv"
            })
    void sinusoidsAreWithinTwoUlpsAndTablesWithinHalfAnUlp(String file) {
        Map<List<String>, SinusoidalEncoding> encodings = new HashMap<>();
        Map<List<String>, float[][]> tables = new HashMap<>();
        for (String[] row : Goldens.rows(file)) {
            int at = row.length - 3;
            SinusoidalEncoding encoding = encodings.computeIfAbsent(
                    List.of(Arrays.copyOf(row, at)),
                    settings ->
                            EXPRESSIONS.containsKey(file) ? object(file, settings.toArray()) : object(row[0], row[1]));
            double position = Double.parseDouble(row[at]);
            int dimension = integer(row[at + 1]);
            // StrictMath's sine and cosine are within 1 ulp; the correction's product and sum add less than another
            assertUlps(encoding.value(position, dimension), row[at + 2], 2, row);
            if (position == Math.rint(position)) {
                // a single row, and the same row amid others, where it comes from a rotation
                int before = (int) Math.max(0, Math.min(position, 37));
                float[][] both = tables.computeIfAbsent(List.of(Arrays.copyOf(row, at + 1)), key ->
                        new float[][] {encoding.table((int) position, 1), encoding.table((int) position - before, 60)});
                assertFloatUlps(both[0][dimension], row[at + 2], 0.501, row);
                assertThat(both[1][before * encoding.getEmbeddingSize() + dimension])
                        .as(String.join(",", row))
                        .isEqualTo(both[0][dimension]);
            }
        }
    }

    @Test
    void gridsAreWithinTwoUlps() {
        for (String[] row : Goldens.rows("grids.csv")) {
            GridEncoding encoding = object(row[0], row[1], row[2]);
            assertUlps(encoding.value(integer(row[4]), reals(row[3])), row[5], 2, row);
        }
    }

    @Test
    void gridsOfEveryKindOfCoordinateAreThoseOfPublishedCode() {
        for (String[] row : Goldens.rows("grid_coordinates.csv")) {
            GridEncoding encoding = object(row[0]);
            int[] sizes = sizes(row[2]);
            double[] expected = reals(row[4]);
            String mask = row[3].replace(" ", "");
            boolean[] isVisible = new boolean[mask.length()];
            for (int cell = 0; cell < isVisible.length; cell++) {
                isVisible[cell] = mask.charAt(cell) == '1';
            }
            Rows.Value cells = mask.isEmpty() ? encoding.cells(sizes) : encoding.cells(sizes, isVisible);
            double[] actual = new double[expected.length];
            int channels = encoding.getEmbeddingSize();
            Arrays.setAll(actual, i -> cells.at(Math.floorDiv(i, channels), i % channels));
            // frequencies are at most 1; a coordinate is rounded four times, by 2^-53 of at most 2π; the coordinate of
            // an empty line of Deformable DETR is -π · 10^6
            double tolerance = "deformable".equals(row[0]) && row[3].contains("0 0 0 0") ? 0x1p-29 : 0x1p-48;
            assertThat(actual).as(row[0] + " " + row[3]).containsExactly(expected, within(tolerance));
        }
    }

    private static int[] sizes(String text) {
        return Arrays.stream(reals(text)).mapToInt(size -> (int) size).toArray();
    }

    @Test
    void resampledGridsAreThoseOfTorch() {
        for (String[] row : Goldens.rows("grid_resampling.csv")) {
            int[] from = sizes(row[1]);
            double[] table = new double[2 * Arrays.stream(from).reduce(1, (a, b) -> a * b)];
            Arrays.setAll(table, i -> (i * 37 % 101 - 50) / 64.0);
            // places up to 14 are rounded to 2^-50, and a kernel's slope is at most 2: a weight of either program is
            // wrong by less than 2^-48; at most 7 weights on each of 3 axes, a sum of their sizes up to 1.375 on each,
            // and values below 1 make less than 7 · 3 · 1.375² · 2 · 2^-48 < 2^-41
            assertThat(GridResampling.valueOf(row[0]).resample(table, from, sizes(row[2])))
                    .as(String.join(",", row))
                    .containsExactly(reals(row[3]), within(0x1p-41));
        }
    }

    @Test
    void frequenciesAreRightToAlmostTwoDoubles() {
        for (String[] row : Goldens.rows("frequencies.csv")) {
            Frequencies frequencies = object(row[0], (Object[]) (row[1] + " " + (integer(row[2]) + 1)).split(" ", -1));
            assertFrequency(frequencies, 0x1p-96, row);
        }
    }

    private static void assertFrequency(Frequencies frequencies, double tolerance, String... row) {
        int pair = integer(row[2]);
        BigDecimal expected = new BigDecimal(row[3]);
        BigDecimal actual = new BigDecimal(frequencies.get(pair))
                .add(new BigDecimal(frequencies.exactly(pair).low()));
        assertThat(actual.subtract(expected)
                        .divide(expected, MathContext.DECIMAL64)
                        .abs()
                        .doubleValue())
                .as(String.join(",", row))
                .isLessThan(tolerance);
    }

    @ParameterizedTest
    @CsvSource({"rotary_frequencies.csv, 1e-19", "rotary_scalings.csv, 0x1p-90"}) // the first has 20 digits
    void rotaryFrequenciesAreRight(String file, double tolerance) {
        for (String[] row : Goldens.rows(file)) {
            double[] p = reals(row[1]);
            RotaryScaling scaling = objectOf(row);
            assertFrequency(scaling.frequencies((int) p[0], p[1]), tolerance, row);
            assertThat(scaling.attentionFactor()).isCloseTo(Double.parseDouble(row[4]), within(1e-15));
        }
    }

    @Test
    void everyFloatOfARotaryRowsIsTheNearest() {
        for (String[] row : Goldens.rows("rotary_rows.csv")) {
            int size = integer(row[0]);
            int position = integer(row[3]);
            Frequencies frequencies = RotaryScaling.none().frequencies(size, Double.parseDouble(row[1]));
            RotaryRows table = new RotaryRows(frequencies, PairLayout.INTERLEAVED, Double.parseDouble(row[2]));
            ByteBuffer consecutive = ByteBuffer.allocate(size * Float.BYTES);
            ByteBuffer explicit = ByteBuffer.allocate(2 * size * Float.BYTES);
            table.write(new double[] {position}, FloatFormat.FLOAT32, consecutive);
            // not consecutive, so not computed by rotation
            table.write(new double[] {position, position}, FloatFormat.FLOAT32, explicit);
            for (int half = 0; half < 2; half++) {
                int index = 2 * integer(row[4]) + half; // the cosine, then the sine
                assertFloatUlps(consecutive.getFloat(4 * index), row[5 + half], 0.5, row);
                assertFloatUlps(explicit.getFloat(4 * index), row[5 + half], 0.5, row);
            }
        }
    }

    @Test
    void xposRowsAreWithinThreeUlps() {
        for (String[] row : Goldens.rows("xpos_rows.csv")) {
            int size = integer(row[0]);
            double position = Double.parseDouble(row[2]);
            Frequencies frequencies = RotaryScaling.none().frequencies(size, 10_000);
            RotaryRows table =
                    new RotaryRows(frequencies, PairLayout.CONCATENATED, 1).withXpos(Double.parseDouble(row[1]));
            ByteBuffer out = ByteBuffer.allocate(size * Double.BYTES);
            table.write(new double[] {position}, FloatFormat.FLOAT64, out);
            int column = integer(row[3]);
            // two of the cosine or the sine, less than one of the power and the product
            assertUlps(out.getDouble(8 * column), row[4], 3, row);
            assertUlps(out.getDouble(8 * (size / 2 + column)), row[5], 3, row);
        }
    }

    @Test
    void queryScalesAreWithinTwoUlps() {
        for (String[] row : Goldens.rows("query_scales.csv")) {
            QueryScale scale = objectOf(row);
            double position = Double.parseDouble(row[2]);
            // two logarithms within one ulp each and a quotient, all in about [1, 2)
            assertUlps(scale.factor(position), row[3], 2, row);
            ByteBuffer out = ByteBuffer.allocate(2 * Float.BYTES);
            scale.write(new double[] {0, position}, FloatFormat.FLOAT32, out);
            assertFloatUlps(out.getFloat(4), row[3], 0.501, row);
        }
    }

    @Test
    void alibiSlopesAreTheNearestDoubles() {
        // head counts that are no power of two included
        for (String[] row : Goldens.rows("alibi_slopes.csv")) {
            double slope = AlibiSlopes.of(integer(row[0])).get(integer(row[1]));
            assertUlps(slope, row[2], 0.51, row);
        }
        // mpmath, 40 digits: -2^(-1/2) · 12345677, a distance at which the slope's own rounding shows
        AlibiSlopes slopes = AlibiSlopes.of(16);
        assertUlps(slopes.bias(0, 12_345_677), "-8729711.925038792481402443021817506", 0.51);
        assertThat(slopes.bias(0, -12_345_677)).isEqualTo(slopes.bias(0, 12_345_677));
    }

    @Test
    void bucketsAreThePublishedOnes() {
        for (String[] row : Goldens.rows("t5_buckets.csv")) {
            RelativeBuckets buckets =
                    RelativeBuckets.of(Boolean.parseBoolean(row[0]), integer(row[1]), integer(row[2]));
            assertThat(buckets.bucket(Double.parseDouble(row[3])))
                    .as("%s %s", row[0], row[3])
                    .isEqualTo(integer(row[4]));
        }
    }

    @Test
    void bucketsOfRealDistancesAreRoundedDown() {
        // mpmath: 8 · 16^(1/8) = 11.3137…, 8 · 16^(3/8) = 22.6274…; 8 · 16^(2/8) = 16 exactly
        RelativeBuckets buckets = RelativeBuckets.of(true, 32, 128);
        double[] distances = {0.99, 1, 7.99, 8, 11.31, 11.32, Math.nextDown(16.0), 16, 22.62, 22.63, 127.9};
        int[] expected = {0, 1, 7, 8, 8, 9, 9, 10, 10, 11, 15};
        for (int i = 0; i < expected.length; i++) {
            assertThat(buckets.bucket(-distances[i])).as("%s", distances[i]).isEqualTo(expected[i]);
            assertThat(buckets.bucket(distances[i])).as("%s", distances[i]).isEqualTo(16 + expected[i]);
        }
        assertThat(RelativeBuckets.of(false, 32, 128).bucket(0.5)).isZero();
    }

    @Test
    void bucketsBeginWhereTheFormulaSays() {
        // without roots or logarithms: d is in bucket e + b or beyond where d^(n - e) >= maxDistance^b · e^(n - e - b)
        int[][] settings = {
            {32, 128}, {33, 200}, {4, 1 << 30}, {6, 27}, {10, 3125}, {64, Integer.MAX_VALUE}, {300, 151}, {300, 1 << 20}
        };
        for (int[] setting : settings) {
            RelativeBuckets buckets = RelativeBuckets.of(false, setting[0], setting[1]);
            int exact = setting[0] / 2;
            int steps = setting[0] - exact;
            for (int b = 1; b < steps; b++) {
                BigInteger bound = BigInteger.valueOf(setting[1])
                        .pow(b)
                        .multiply(BigInteger.valueOf(exact).pow(steps - b));
                long near = Math.round(exact * Math.pow((double) setting[1] / exact, (double) b / steps));
                for (long d = Math.max(exact, near - 2); d <= near + 2; d++) {
                    boolean isBeyond = BigInteger.valueOf(d).pow(steps).compareTo(bound) >= 0;
                    assertThat(buckets.bucket((double) -d) >= exact + b)
                            .as("%s, maximum %s, bucket %s, distance %s", setting[0], setting[1], b, d)
                            .isEqualTo(isBeyond);
                }
            }
        }
    }

    @Test
    void sineIsRightAtTheLargestIntegerOfADouble() {
        // mpmath, 60 digits: sin and cos of (2^53 - 1) · 10000^(-1/8), an angle whose double is off by more than 0.1
        Frequencies frequencies = Frequencies.geometric(2, 10_000, 8);
        double position = 0x1p53 - 1;
        assertUlps(frequencies.sine(position, 1), "-0.660191788168797785652748770242", 2);
        assertUlps(frequencies.cosine(position, 1), "0.751097066186844609572432069619", 2);
    }

    @Test
    void sineIsNearTheTrueOneWhereThatIsAlmostZero() {
        // mpmath, 60 digits: sin and cos of 2624.3688406067654 · 10000^(-187/256), whose position is the double nearest
        // to π divided by it; the relative error is thousands of ulps there
        Frequencies frequencies = Frequencies.geometric(188, 10_000, 256);
        double position = 2624.3688406067654;
        assertThat(frequencies.sine(position, 187)).isCloseTo(9.218727486302689e-20, within(0x1p-76));
        assertThat(frequencies.cosine(position, 187)).isEqualTo(-1);
    }

    @Test
    void yarnsRampEndsAtTheLastDimension() {
        // over 1e6 positions, pair log(1e6 / 2π) / (2 log 10) · 8 = 20.8 makes one turn: beyond the last dimension, 7;
        // and pair 0.8, which is rounded down to 0, a hundred thousand
        Frequencies scaled =
                RotaryScaling.yarn(2, 1_000_000, 100_000, 1, true, 1).frequencies(8, 10);
        for (int pair = 0; pair < 4; pair++) {
            double ramp = pair / 7.0;
            double expected = Math.pow(10, -pair / 4.0) * (1 - ramp + ramp / 2);
            // a few roundings of double
            assertThat(scaled.get(pair)).isCloseTo(expected, within(1e-14));
        }
    }
}
