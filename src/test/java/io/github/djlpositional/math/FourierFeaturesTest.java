package io.github.djlpositional.math;

import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The matrix and the phases of each convention. FourierFeaturesBlockTest has the features of coordinates. */
class FourierFeaturesTest implements ArgumentsContract<FourierFeatures> {

    private static final double QUARTER_TURN = Math.PI / 2;

    @Override
    public List<FourierFeatures> distinctValues() {
        return List.of(
                FourierFeatures.gaussian(3, 4, 16.5, -7, false),
                FourierFeatures.of(true, new double[] {1, 0.1}, new double[] {-1 / 3.0, 2}),
                FourierFeatures.of(true, new double[] {1, 0.1}, new double[] {-1 / 3.0, 2})
                        .ofLogarithm(),
                FourierFeatures.powersOfTwo(3, 10, false, true),
                FourierFeatures.sinusoids(SinusoidalEncoding.diffusion(8)),
                FourierFeatures.time2Vec(5, 1));
    }

    @Override
    public FourierFeatures fromArguments(Map<?, ?> arguments) {
        return FourierFeatures.fromArguments(arguments);
    }

    /** A row of A, or the phases. */
    private static double[] row(FourierFeatures features, int row) {
        return IntStream.range(0, features.getEmbeddingSize())
                .mapToDouble(feature -> features.get(row, feature))
                .toArray();
    }

    /** [cos(2πBx), sin(2πBx)] with a matrix B of two frequencies and three coordinates. */
    @Test
    void aMatrixGivesCosinesAndSinesOfItsProduct() {
        double[][] matrix = {{0.5, 1, 0}, {2, -1, 0.25}};
        FourierFeatures features = FourierFeatures.of(true, matrix);
        assertThat(features.coordinates()).isEqualTo(3);
        assertThat(features.getEmbeddingSize()).isEqualTo(4);
        assertThat(features.linearCount()).isZero();
        assertThat(row(features, 0)).containsExactly(Math.PI, 4 * Math.PI, Math.PI, 4 * Math.PI);
        assertThat(row(features, 1)).containsExactly(2 * Math.PI, -2 * Math.PI, 2 * Math.PI, -2 * Math.PI);
        assertThat(row(features, 2)).containsExactly(0, Math.PI / 2, 0, Math.PI / 2);
        assertThat(row(features, 3)).containsExactly(QUARTER_TURN, QUARTER_TURN, 0, 0);
        assertThat(row(FourierFeatures.of(false, matrix), 3)).containsExactly(0, 0, QUARTER_TURN, QUARTER_TURN);
    }

    /** NeRF's code: x and y, then for each power of two the sines of both, and the cosines of both. */
    @Test
    void powersOfTwoFollowTheInput() {
        FourierFeatures features = FourierFeatures.powersOfTwo(2, 2, false, true);
        assertThat(features.linearCount()).isEqualTo(2);
        assertThat(row(features, 0)).containsExactly(1, 0, 1, 0, 1, 0, 2, 0, 2, 0);
        assertThat(row(features, 1)).containsExactly(0, 1, 0, 1, 0, 1, 0, 2, 0, 2);
        assertThat(row(features, 2))
                .containsExactly(0, 0, 0, 0, QUARTER_TURN, QUARTER_TURN, 0, 0, QUARTER_TURN, QUARTER_TURN);
    }

    /** Mildenhall et al. (2020), equation 4. */
    @Test
    void powersOfTwoMayBeMultipliedByPi() {
        FourierFeatures features = FourierFeatures.powersOfTwo(1, 2, true, false);
        assertThat(features.linearCount()).isZero();
        assertThat(row(features, 0)).containsExactly(Math.PI, Math.PI, 2 * Math.PI, 2 * Math.PI);
        assertThat(row(features, 1)).containsExactly(0, QUARTER_TURN, 0, QUARTER_TURN);
    }

    @Test
    void sinusoidsHaveTheFrequenciesOfTheEncodingAndAQuarterTurnForEachCosine() {
        FourierFeatures features = FourierFeatures.sinusoids(SinusoidalEncoding.tensor2tensor(5, 1, 10_000));
        assertThat(features.coordinates()).isEqualTo(1);
        assertThat(row(features, 0)).containsExactly(1, 1e-4, 1, 1e-4, 0);
        assertThat(row(features, 1)).containsExactly(0, 0, QUARTER_TURN, QUARTER_TURN, 0);
    }

    /** A frequency and π/2 are rounded to doubles: an angle up to 9 and a phase, below 2^-48. */
    @ParameterizedTest
    @ValueSource(doubles = {0, 0.5, -9})
    void sinusoidsAreTheValuesOfTheEncoding(double x) {
        SinusoidalEncoding encoding = SinusoidalEncoding.diffusion(9, 0, 1, true);
        FourierFeatures features = FourierFeatures.sinusoids(encoding);
        for (int i = 0; i < 9; i++) {
            assertThat(Math.sin(x * features.get(0, i) + features.get(1, i)))
                    .as("feature %s", i)
                    .isCloseTo(encoding.value(x, i), within(0x1p-48));
        }
    }

    /** FourierFeaturesBlockTest has the numbers of java.util.Random. */
    @Test
    void gaussianFeaturesHaveTheMatrixOfTheirSeed() {
        FourierFeatures features = FourierFeatures.gaussian(2, 3, 0.5, 1, false);
        assertThat(features).isEqualTo(FourierFeatures.gaussian(2, 3, 0.5, 1, false));
        assertThat(features).isNotEqualTo(FourierFeatures.gaussian(2, 3, 0.5, 2, false));
        assertThat(row(features, 2)).containsExactly(0, 0, 0, QUARTER_TURN, QUARTER_TURN, QUARTER_TURN);
    }

    @Test
    void theFirstFeatureOfTime2VecIsLinear() {
        FourierFeatures features = FourierFeatures.time2Vec(5, 1);
        assertThat(features.coordinates()).isEqualTo(1);
        assertThat(features.getEmbeddingSize()).isEqualTo(5);
        assertThat(features.linearCount()).isEqualTo(1);
        assertThat(features.numbers()).hasSize(10).doesNotHaveDuplicates();
    }

    @Test
    void theLogarithmHasTheSameNumbers() {
        FourierFeatures features = FourierFeatures.powersOfTwo(1, 2, false, true);
        FourierFeatures ofLogarithm = features.ofLogarithm();
        assertThat(features.logarithm()).isFalse();
        assertThat(ofLogarithm.logarithm()).isTrue();
        assertThat(ofLogarithm.numbers()).isEqualTo(features.numbers());
        assertThat(ofLogarithm.linearCount()).isEqualTo(1);
    }

    @Test
    void rejectsNumbersOfCoordinatesAndFrequenciesOutOfRange() {
        assertAll(
                rejected(() -> FourierFeatures.gaussian(0, 4, 1, 0, true), "coordinates 0"),
                rejected(() -> FourierFeatures.gaussian(2, 0, 1, 0, true), "frequencies 0"),
                rejected(() -> FourierFeatures.gaussian(1024, 2048, 1, 0, true), "frequencies", 2048, 1024),
                rejected(() -> FourierFeatures.powersOfTwo(65, 4, true, true), "coordinates", 65, 64),
                rejected(() -> FourierFeatures.powersOfTwo(3, 65, true, true), "frequencies", 65, 64),
                rejected(() -> FourierFeatures.of(true), "coordinates 0"),
                rejected(() -> FourierFeatures.time2Vec(1, 0), "embeddingSize 1", 2));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void rejectsScalesThatAreNotPositiveAndFinite(double scale) {
        assertAll(rejected(() -> FourierFeatures.gaussian(2, 4, scale, 0, true), "scale", scale));
    }

    @Test
    void rejectsMatricesThatAreNotRectangularOrNotFinite() {
        double[][] ragged = {{1, 2}, {1}};
        assertAll(
                rejected(() -> FourierFeatures.of(true, ragged), "matrix", "rows"),
                rejected(() -> FourierFeatures.of(true, new double[] {1, Double.NaN}), "6 numbers", 2));
    }

    /** Two coordinates have three rows of at least one number. */
    @Test
    void rejectsNumbersThatDoNotFillRows() {
        assertAll(
                rejected(() -> new FourierFeatures(2, 0, false, List.of(1.0, 2.0)), "2 numbers", "3 rows"),
                rejected(() -> new FourierFeatures(2, 0, false, List.of()), "0 numbers", "3 rows"),
                rejected(() -> new FourierFeatures(2, 2, false, List.of(1.0, 2.0, 3.0)), "linearCount", 2, 1),
                rejected(() -> new FourierFeatures(2, -1, false, List.of(1.0, 2.0, 3.0)), "linearCount", -1),
                rejected(() -> new FourierFeatures(2, 0, false, null), "numbers"),
                rejected(() -> FourierFeatures.sinusoids(null), "encoding"));
    }

    @Test
    void rejectsFeaturesOutOfRange() {
        FourierFeatures features = FourierFeatures.time2Vec(5, 1);
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> features.get(0, 5));
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> features.get(2, 0));
    }
}
