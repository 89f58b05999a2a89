package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.math.AlibiSlopes;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RelativeBuckets;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.List;
import java.util.Random;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The numbers of the sliders, which their scripts compute in double arithmetic, against the library's. */
class PlayTest {

    private static final PlayScript SINUSOIDS = new PlayScript("sinusoids");
    private static final PlayScript CONTEXTS = new PlayScript("contexts");
    private static final PlayScript ROTARY = new PlayScript("rotary");
    private static final PlayScript BITS = new PlayScript("bits");
    private static final PlayScript SHIFT = new PlayScript("shift");
    private static final PlayScript BIASES = new PlayScript("biases");
    private static final PlayScript HEATMAP = new PlayScript("heatmap");
    private static final int CASES = 100;

    /** The relative error of one rounding. */
    private static final double ROUNDING = 0x1p-53;

    static List<String> conventions() {
        return SINUSOIDS.options("convention");
    }

    static List<String> scalings() {
        return CONTEXTS.options("scaling");
    }

    /** The position of each control of the script at random, but for one choice. */
    private static PlayScript.Settings settings(PlayScript script, Random random, String control, String option) {
        PlayScript.Settings settings = script.random(random);
        settings.values().put(control, option);
        return settings;
    }

    @ParameterizedTest
    @MethodSource("conventions")
    void valuesOfSinusoidsAreThoseOfTheLibrary(String convention) {
        Random random = new Random(1);
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings settings = settings(SINUSOIDS, random, "convention", convention);
            int size = settings.integer("size");
            double base = settings.number("base");
            int position = settings.integer("position");
            double[] values = SINUSOIDS.call(double[].class, "values", convention, size, base, position);
            SinusoidalEncoding encoding = settings.encoding();
            assertThat(values).as("%s", settings).hasSize(size);
            for (int dimension = 0; dimension < size; dimension++) {
                // The exponent, at most 1, is rounded once, which changes the power by ln(base) roundings. The power
                // has an
                // error of 1 ulp, two roundings, and the angle is rounded once. The sine has an error of 1 ulp of at
                // most 1, two roundings, and the library's has two ulps.
                double angle = position * encoding.frequency(dimension);
                double tolerance = (angle * (Math.log(base) + 3) + 6) * ROUNDING;
                assertThat(values[dimension])
                        .as("%s, dimension %d", settings, dimension)
                        .isCloseTo(encoding.value(position, dimension), within(tolerance));
            }
        }
    }

    @Test
    void conventionsAreThePublishedOnes() {
        PlayScript.Settings settings = SINUSOIDS.random(new Random(2));
        settings.values().put("base", 10_000);
        settings.values().put("size", 64);
        assertThat(encoding(settings, "tensor2tensor")).isEqualTo(SinusoidalEncoding.fairseq(64));
        assertThat(encoding(settings, "xTransformers")).isEqualTo(SinusoidalEncoding.xTransformers(64));
        assertThat(encoding(settings, "diffusion")).isEqualTo(SinusoidalEncoding.diffusion(64, 0, 1, true));
    }

    private static SinusoidalEncoding encoding(PlayScript.Settings settings, String convention) {
        settings.values().put("convention", convention);
        return settings.encoding();
    }

    /**
     * The relative error of a frequency, in roundings. The power of the base has ln(base) + 2, as above. A mixture 1 -
     * part + part / factor is at least 1 / factor, so that the relative error is up to factor times the error of the
     * part and three roundings. The part of Llama 3 is (4 - turns) / 3 for up to 4 turns, which have the error of the
     * power and four roundings; its error is below 4 / 3 (ln(base) + 6) + 3. YaRN's part has one rounding. NTK's power
     * of the factor has ln(factor) + 2. The product is rounded once, and the library's frequency too.
     */
    private static double roundings(PlayScript.Settings settings) {
        return (1 + 2 * settings.number("factor")) * (Math.log(10_000) + 10);
    }

    private static double[] frequencies(PlayScript.Settings settings) {
        return CONTEXTS.call(
                double[].class,
                "frequencies",
                settings.text("scaling"),
                settings.integer("size"),
                10_000,
                settings.number("factor"),
                settings.integer("length"));
    }

    @ParameterizedTest
    @MethodSource("scalings")
    void frequenciesOfContextsAreThoseOfTheLibrary(String scaling) {
        Random random = new Random(3);
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings settings = settings(CONTEXTS, random, "scaling", scaling);
            double[] frequencies = frequencies(settings);
            Frequencies expected = settings.frequencies();
            assertThat(frequencies).as("%s", settings).hasSize(expected.size());
            for (int pair = 0; pair < frequencies.length; pair++) {
                assertThat(frequencies[pair])
                        .as("%s, pair %d", settings, pair)
                        .isCloseTo(expected.get(pair), within(expected.get(pair) * roundings(settings) * ROUNDING));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("scalings")
    void attentionFactorIsThatOfTheLibrary(String scaling) {
        for (double factor : new double[] {1, 2, 4, 8, 16, 32}) {
            PlayScript.Settings settings = settings(CONTEXTS, new Random(4), "scaling", scaling);
            settings.values().put("factor", factor);
            // 0.1 ln(32) + 1 is below 2: the logarithm has 1 ulp, the product and the sum one rounding each
            assertThat(CONTEXTS.call(Double.class, "attentionFactor", scaling, factor))
                    .isCloseTo(settings.scaling().attentionFactor(), within(4 * ROUNDING));
        }
    }

    @ParameterizedTest
    @MethodSource("scalings")
    void reachedAnglesAreThoseOfTheLibrary(String scaling) {
        Random random = new Random(5);
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings settings = settings(CONTEXTS, random, "scaling", scaling);
            int length = settings.integer("length");
            double[] reached = CONTEXTS.call(double[].class, "reached", frequencies(settings), length);
            Frequencies expected = settings.frequencies();
            for (int pair = 0; pair < reached.length; pair++) {
                double angle = Math.min(expected.get(pair) * (length - 1), 2 * Math.PI);
                // the error of the frequency, and one rounding of each product
                assertThat(reached[pair])
                        .as("%s, pair %d", settings, pair)
                        .isCloseTo(angle, within(angle * (roundings(settings) + 2) * ROUNDING));
            }
        }
    }

    @Test
    void scoreOfAQueryAndAKeyDependsOnTheirDistance() {
        Random random = new Random(6);
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings settings = ROTARY.random(random);
            double frequency = settings.number("frequency");
            int query = settings.integer("position");
            int distance = settings.integer("distance");
            double start = Math.toRadians(settings.number("query"));
            double alpha = Math.toRadians(settings.number("alpha"));
            double queryAngle = ROTARY.call(Double.class, "angle", start, query, frequency);
            double keyAngle = ROTARY.call(Double.class, "angle", start + alpha, query + distance, frequency);
            double score = ROTARY.call(Double.class, "score", queryAngle, keyAngle);
            Frequencies pair = Frequencies.of(frequency);
            double expected = Math.cos(alpha) * pair.cosine(distance, 0) - Math.sin(alpha) * pair.sine(distance, 0);
            // each angle, at most 230, has three roundings, and their difference one; the products have six more
            assertThat(score).as("%s", settings).isCloseTo(expected, within((7 * 230 + 6) * ROUNDING));
        }
    }

    @Test
    void bitsBecomeTheSinusoidsOfTheirPeriods() {
        SinusoidalEncoding sines = SinusoidalEncoding.builder()
                .setEmbeddingSize(10)
                .optFrequencies(Frequencies.of(LineChart.each(5, bit -> Math.PI / (1 << bit))))
                .build();
        for (int position = 0; position < 32; position++) {
            for (int bit = 0; bit < 5; bit++) {
                int number = position >> bit & 1;
                assertThat(BITS.call(Double.class, "wave", bit, position, 0)).isEqualTo(number);
                // the sine of an angle of at most 100 with three roundings, halved
                double sine = (1 - sines.value(position, 2 * bit)) / 2;
                assertThat(BITS.call(Double.class, "wave", bit, position, 1)).isCloseTo(sine, within(200 * ROUNDING));
                assertThat(BITS.call(Double.class, "wave", bit, position, 0.5))
                        .isCloseTo((number + sine) / 2, within(200 * ROUNDING));
            }
        }
    }

    private static double[] softmax(double... scores) {
        double sum = DoubleStream.of(scores).map(Math::exp).sum();
        return DoubleStream.of(scores).map(score -> Math.exp(score) / sum).toArray();
    }

    private static double[] vector(SinusoidalEncoding encoding, int position) {
        return LineChart.each(encoding.getEmbeddingSize(), dimension -> encoding.value(position, dimension));
    }

    private static double product(double[] one, double[] other) {
        return IntStream.range(0, one.length)
                .mapToDouble(i -> one[i] * other[i])
                .sum();
    }

    @Test
    void weightsOfAShiftAreThoseOfTheLibrarysMatrix() {
        Random random = new Random(7);
        for (int i = 0; i < 20; i++) {
            PlayScript.Settings settings = SHIFT.random(random);
            int pairs = settings.integer("pairs");
            int query = settings.integer("query");
            int back = settings.integer("back");
            double gain = settings.number("gain");
            SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(2 * pairs, settings.number("base"));
            double[] shifted = Stream.of(encoding.shift(-back))
                    .mapToDouble(row -> product(row, vector(encoding, query)))
                    .toArray();
            double[] scores =
                    LineChart.each(50, key -> gain / Math.sqrt(2 * pairs) * product(vector(encoding, key), shifted));
            double[] weights = SHIFT.call(double[].class, "weights", pairs, settings.number("base"), query, back, gain);
            double[] expected = softmax(scores);
            for (int key = 0; key < 50; key++) {
                // An angle of at most 70 has an error of 70 (ln(base) + 5) roundings, at most 1400 for a base of 1e6,
                // and the matrix a few hundred more. A score is at most 50 sqrt(64 / 2) = 283 times that of one pair,
                // and the relative error of a weight is that of two scores.
                assertThat(weights[key])
                        .as("%s, key %d", settings, key)
                        .isCloseTo(expected[key], within(2 * 283 * 2000 * ROUNDING));
            }
        }
    }

    @Test
    void biasesAreThoseOfTheLibrary() {
        Random random = new Random(8);
        for (int i = 0; i < 20; i++) {
            PlayScript.Settings settings = BIASES.random(random);
            int buckets = settings.integer("buckets");
            int largest = settings.integer("greatest");
            double slope = settings.number("slope");
            RelativeBuckets expected = RelativeBuckets.of(false, buckets, largest);
            AlibiSlopes alibi = AlibiSlopes.custom(slope);
            for (int distance = 0; distance < 600; distance++) {
                assertThat(BIASES.call(Double.class, "bucket", distance, buckets, largest))
                        .as("%s, %d", settings, distance)
                        .isEqualTo(expected.bucket(-distance));
                assertThat(BIASES.call(Double.class, "alibi", slope, distance)).isEqualTo(alibi.bias(0, distance));
            }
            double[] weights = BIASES.call(double[].class, "weights", "t5", slope, buckets, largest);
            double[] ofBuckets = softmax(LineChart.each(129, distance -> -slope * expected.bucket(-distance)));
            double[] alibiWeights = BIASES.call(double[].class, "weights", "alibi", slope, buckets, largest);
            double[] ofSlope = softmax(LineChart.each(129, distance -> alibi.bias(0, distance)));
            for (int distance = 0; distance < 129; distance++) {
                // two powers, a sum of 129 and a quotient: at most 140 roundings of a number up to 1
                assertThat(weights[distance]).isCloseTo(ofBuckets[distance], within(140 * ROUNDING));
                assertThat(alibiWeights[distance]).isCloseTo(ofSlope[distance], within(140 * ROUNDING));
            }
        }
    }

    @Test
    void cellsOfTheHeatMapAreThoseOfTheLibrary() {
        Random random = new Random(9);
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings settings = HEATMAP.random(random);
            int size = settings.integer("size");
            double base = settings.number("base");
            int position = settings.integer("position");
            int dimension = random.nextInt(size);
            SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(size, base);
            double tolerance = (position * encoding.frequency(dimension) * (Math.log(base) + 3) + 6) * ROUNDING;
            assertThat(HEATMAP.call(Double.class, "value", position, dimension, size, base))
                    .as("%s, %d", settings, dimension)
                    .isCloseTo(encoding.value(position, dimension), within(tolerance));
        }
    }
}
