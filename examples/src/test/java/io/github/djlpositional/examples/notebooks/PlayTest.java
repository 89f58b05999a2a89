package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.SinusoidalEncoding;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The numbers of the sliders, which their scripts compute in double arithmetic, against the library's. */
class PlayTest {

    private static final PlayScript SINUSOIDS = new PlayScript("sinusoids");
    private static final PlayScript ROTARY = new PlayScript("rotary");
    private static final int CASES = 100;

    /** The relative error of one rounding. */
    private static final double ROUNDING = 0x1p-53;

    static List<String> conventions() {
        return SINUSOIDS.options("convention");
    }

    static List<String> scalings() {
        return ROTARY.options("scaling");
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
        return (1 + 2 * settings.number("factor")) * (Math.log(settings.number("base")) + 10);
    }

    private static double[] frequencies(PlayScript.Settings settings) {
        return ROTARY.call(
                double[].class,
                "frequencies",
                settings.text("scaling"),
                settings.integer("size"),
                settings.number("base"),
                settings.number("factor"),
                settings.integer("length"));
    }

    @ParameterizedTest
    @MethodSource("scalings")
    void frequenciesOfRotaryAreThoseOfTheLibrary(String scaling) {
        Random random = new Random(3);
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings settings = settings(ROTARY, random, "scaling", scaling);
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
            PlayScript.Settings settings = settings(ROTARY, new Random(4), "scaling", scaling);
            settings.values().put("factor", factor);
            // 0.1 ln(32) + 1 is below 2: the logarithm has 1 ulp, the product and the sum one rounding each
            assertThat(ROTARY.call(Double.class, "attentionFactor", scaling, factor))
                    .isCloseTo(settings.scaling().attentionFactor(0), within(4 * ROUNDING));
        }
    }

    @ParameterizedTest
    @MethodSource("scalings")
    void scoreIsThatOfTheLibraryForTheDistance(String scaling) {
        Random random = new Random(5);
        for (int i = 0; i < CASES; i++) {
            PlayScript.Settings settings = settings(ROTARY, random, "scaling", scaling);
            double attentionFactor = settings.scaling().attentionFactor(0);
            int pairs = settings.integer("size") / 2;
            int query = settings.integer("query");
            int key = settings.integer("key");
            double score = ROTARY.call(Double.class, "score", frequencies(settings), attentionFactor, query, key);
            // An angle has the error of its frequency, at most 1, and one rounding. A pair adds two products of factors
            // with
            // three roundings each, so with 14 in all; the two sums have one rounding for each pair; the expected
            // cosine
            // has two ulps, and its product with the squared factor three roundings.
            double tolerance = pairs
                    * attentionFactor
                    * attentionFactor
                    * ((query + key) * (roundings(settings) + 1) + 30 + pairs)
                    * ROUNDING;
            assertThat(score).as("%s", settings).isCloseTo(settings.score(key - query), within(tolerance));
        }
    }
}
