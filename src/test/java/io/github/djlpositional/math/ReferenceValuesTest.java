package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.Goldens;
import io.github.djlpositional.math.SinusoidalEncoding.OddSize;
import io.github.djlpositional.refusals.Expression;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
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

    private static double real(String text) {
        return Double.parseDouble(text);
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

    /** Conventions of sinusoids, for a size. */
    private static final Map<String, String> CONVENTIONS = Map.of(
            "ddpm", "diffusion(%s)",
            "improved-diffusion", "diffusion(%s, 0, 1, true)",
            "diffusers flipped", "diffusion(%s, 1, 1, true)",
            "diffusers scale 1000", "diffusion(%s, 0, 1000, false)",
            "bert4keras 10000", "bert4keras(%s, 10000)",
            "bert4keras 500", "bert4keras(%s, 500)",
            "x-transformers", "xTransformers(%s)");

    /** Encodings of grids, with the sizes of the file. */
    private static final Map<String, String> GRIDS = Map.of(
            "detr", "detr(8, 1)",
            "deformable", "detr(8, 0.5)",
            "pixart", "builder().setAxes(2).add(1, four).add(0, four).optScale(2).optNormalized(0).build()",
            "sd3",
                    "builder().setAxes(2).add(1, four).add(0, four).optScale(4).optNormalized(0).optCenterCrop(9).build()",
            "timm",
                    "builder().setAxes(2).add(0, four, 0, 2).add(1, four, 0, 2).add(0, four, 2, 2).add(1, four, 2, 2).build()",
            "diffusers3d", "builder().setAxes(3).add(0, four).add(2, six).add(1, six).build()",
            "monai3d", "builder().setAxes(3).add(1, four).add(0, four).add(2, four).build()");

    private static final Map<String, String> DEFINITIONS =
            Map.of("four", "SinusoidalEncoding.xTransformers(4)", "six", "SinusoidalEncoding.xTransformers(6)");

    private static Object value(String expression) {
        try {
            return new Expression(expression, DEFINITIONS, null).value();
        } catch (Exception e) {
            throw new AssertionError(expression, e);
        }
    }

    private static SinusoidalEncoding sinusoids(String file, String... row) {
        return switch (file) {
            case "sinusoidal_vaswani.csv", "zero_crossings.csv" ->
                SinusoidalEncoding.vaswani(integer(row[0]), real(row[1]));
            case "sinusoidal_rounded_up.csv" ->
                SinusoidalEncoding.builder()
                        .setEmbeddingSize(integer(row[0]))
                        .optBase(real(row[1]))
                        .optOddSize(OddSize.ROUNDED_UP)
                        .build();
            case "sinusoidal_tensor2tensor.csv" ->
                SinusoidalEncoding.tensor2tensor(integer(row[0]), real(row[1]), real(row[2]));
            default ->
                (SinusoidalEncoding)
                        value("SinusoidalEncoding." + CONVENTIONS.get(row[0]).formatted(row[1]));
        };
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
            SinusoidalEncoding encoding =
                    encodings.computeIfAbsent(List.of(Arrays.copyOf(row, at)), settings -> sinusoids(file, row));
            double position = real(row[at]);
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
            int channels = integer(row[2]);
            GridEncoding encoding = switch (row[0]) {
                case "tensor2tensor" -> GridEncoding.tensor2tensor(integer(row[1]), channels, 1, 10_000);
                case "multidim" -> GridEncoding.multidim(integer(row[1]), channels);
                case "visionTransformer" -> GridEncoding.visionTransformer(channels);
                case "simpleVit" -> GridEncoding.simpleVit(channels);
                default -> throw new IllegalArgumentException(row[0]);
            };
            assertUlps(encoding.value(integer(row[4]), reals(row[3])), row[5], 2, row);
        }
    }

    @Test
    void gridsOfEveryKindOfCoordinateAreThoseOfPublishedCode() {
        for (String[] row : Goldens.rows("grid_coordinates.csv")) {
            GridEncoding encoding = (GridEncoding) value("GridEncoding." + GRIDS.get(row[0]));
            int[] sizes = sizes(row[2]);
            double[] expected = reals(row[4]);
            boolean[] isVisible = row[3].isEmpty() ? null : visible(reals(row[3]));
            Rows.Value cells = isVisible == null ? encoding.cells(sizes) : encoding.cells(sizes, isVisible);
            double[] actual = new double[expected.length];
            int channels = encoding.getEmbeddingSize();
            Arrays.setAll(actual, i -> cells.at(Math.floorDiv(i, channels), i % channels));
            // frequencies are at most 1; a coordinate is rounded four times, by 2^-53 of at most 2π; the coordinate of
            // an empty line of Deformable DETR is -π · 10^6
            double tolerance = "deformable".equals(row[0]) && row[3].contains("0 0 0 0") ? 0x1p-29 : 0x1p-48;
            assertThat(actual).as(row[0] + " " + row[3]).containsExactly(expected, within(tolerance));
        }
    }

    private static boolean[] visible(double... mask) {
        boolean[] isVisible = new boolean[mask.length];
        for (int i = 0; i < mask.length; i++) {
            isVisible[i] = mask[i] == 1;
        }
        return isVisible;
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
            double[] p = reals(row[1]);
            int pair = integer(row[2]);
            Frequencies frequencies = switch (row[0]) {
                case "vaswani" -> Frequencies.geometric(pair + 1, p[0], p[1] / 2);
                case "timescales" -> Frequencies.timescales((int) p[0], p[1], p[2]);
                case "proportional" -> Frequencies.proportional((int) p[0], p[1], p[2], p[3]);
                default -> throw new IllegalArgumentException(row[0]);
            };
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

    private static double[] factors(double step) {
        return IntStream.range(0, 8).mapToDouble(k -> 1 + step * k / 4).toArray();
    }

    @ParameterizedTest
    @CsvSource({"rotary_frequencies.csv, 1e-19", "rotary_scalings.csv, 0x1p-90"}) // the first has 20 digits
    void rotaryFrequenciesAreRight(String file, double tolerance) {
        for (String[] row : Goldens.rows(file)) {
            double[] p = reals(row[1]);
            RotaryScaling scaling = switch (row[0]) {
                case "default" -> RotaryScaling.none();
                case "linear" -> RotaryScaling.linear(p[2]);
                case "dynamic" -> RotaryScaling.dynamicNtk(p[2], (int) p[3], (int) p[4]);
                case "yarn" -> RotaryScaling.yarn(p[2], (int) p[3]);
                case "yarn_untruncated" ->
                    RotaryScaling.yarn(p[2], (int) p[3], p[4], p[5], false, 0.1 * StrictMath.log(p[2]) + 1);
                case "llama3" -> RotaryScaling.llama3(p[2], p[3], p[4], (int) p[5]);
                case "ntk" -> RotaryScaling.ntkAware(p[2]);
                case "yarn_mscale" -> {
                    double ratio = RotaryScaling.yarnMagnitude(p[2], p[4]) / RotaryScaling.yarnMagnitude(p[2], p[5]);
                    yield RotaryScaling.yarn(p[2], (int) p[3], 32, 1, false, ratio);
                }
                case "longrope_mscale" ->
                    RotaryScaling.longRope(factors(1), factors(3), (int) p[2], (int) p[3], p[5], p[6], (int) p[4]);
                case "longrope_by_max" -> // vLLM uses the maximum length
                    RotaryScaling.longRope(factors(1), factors(3), (int) p[2], (int) p[3], (int) p[3]);
                case "longrope" -> RotaryScaling.longRope(factors(1), factors(3), (int) p[2], (int) p[3], (int) p[4]);
                default -> throw new IllegalArgumentException(row[0]);
            };
            assertFrequency(scaling.frequencies((int) p[0], p[1]), tolerance, row);
            assertThat(scaling.attentionFactor()).isCloseTo(real(row[4]), within(1e-15));
        }
    }

    @Test
    void everyFloatOfARotaryRowsIsTheNearest() {
        for (String[] row : Goldens.rows("rotary_rows.csv")) {
            int size = integer(row[0]);
            int position = integer(row[3]);
            Frequencies frequencies = RotaryScaling.none().frequencies(size, real(row[1]));
            RotaryRows table = new RotaryRows(frequencies, PairLayout.INTERLEAVED, real(row[2]));
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
            double position = real(row[2]);
            Frequencies frequencies = RotaryScaling.none().frequencies(size, 10_000);
            RotaryRows table = new RotaryRows(frequencies, PairLayout.CONCATENATED, 1).withXpos(real(row[1]));
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
            double[] p = reals(row[1]);
            QueryScale scale = switch (row[0]) {
                case "logN" -> new QueryScale.LogN((int) p[0]);
                case "learnedLogN" -> new QueryScale.LearnedLogN(p[0]);
                default -> new QueryScale.FloorLogarithm(p[0], p[1]);
            };
            double position = real(row[2]);
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
}
