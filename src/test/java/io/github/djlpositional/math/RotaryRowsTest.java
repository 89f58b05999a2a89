package io.github.djlpositional.math;

import static io.github.djlpositional.support.Goldens.requireFloatUlps;
import static io.github.djlpositional.support.Goldens.requireUlps;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assertions.assertAll;

import io.github.djlpositional.support.Goldens;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The cosines and sines that rotary embeddings rotate with. */
class RotaryRowsTest {

    private static final Frequencies FOUR = Frequencies.of(1, 0.5, 0.25, 0.125);

    /** Rows of 8 numbers. */
    private static final RotaryRows ROWS = new RotaryRows(FOUR, PairLayout.INTERLEAVED, 1);

    private static RotaryRows rows(int size, double base, PairLayout layout, double factor) {
        return new RotaryRows(RotaryScaling.none().frequencies(size, base), layout, factor);
    }

    private static ByteBuffer written(Rows rows, FloatFormat format, double... positions) {
        ByteBuffer out = buffer(positions.length * rows.width() * format.bytes());
        rows.write(positions, format, out);
        return out;
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.nativeOrder());
    }

    /** The formula of RoFormer in 50-digit arithmetic. */
    @Test
    void everyFloatIsTheNearest() {
        for (String[] row : Goldens.rows("rotary_rows.csv")) {
            int size = Integer.parseInt(row[0]);
            RotaryRows rows =
                    rows(size, Double.parseDouble(row[1]), PairLayout.INTERLEAVED, Double.parseDouble(row[2]));
            double position = Double.parseDouble(row[3]);
            int cosine = 2 * Integer.parseInt(row[4]) * Float.BYTES;
            // equal positions are not consecutive, so they are not computed by rotation
            for (ByteBuffer out : new ByteBuffer[] {
                written(rows, FloatFormat.FLOAT32, position), written(rows, FloatFormat.FLOAT32, position, position)
            }) {
                requireFloatUlps(out.getFloat(cosine), row[5], 0.5, row);
                requireFloatUlps(out.getFloat(cosine + Float.BYTES), row[6], 0.5, row);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void consecutiveRowsAreThoseOfTheirPositions(FloatFormat format) {
        requireConsecutive(rows(32, 10_000, PairLayout.CONCATENATED, 1.28), format);
    }

    /** These are not computed by rotation. */
    @ParameterizedTest
    @EnumSource
    void consecutiveRowsOfXposAreThoseOfTheirPositions(FloatFormat format) {
        requireConsecutive(rows(32, 10_000, PairLayout.CONCATENATED, 1).withXpos(512), format);
    }

    private static void requireConsecutive(RotaryRows rows, FloatFormat format) {
        int rowBytes = rows.width() * format.bytes();
        ByteBuffer consecutive = written(
                rows, format, IntStream.range(1000, 1500).asDoubleStream().toArray());
        for (int i = 0; i < 500; i++) {
            // computed from the definition
            ByteBuffer twice = written(rows, format, 1000 + i, 1000 + i);
            assertThat(consecutive.slice(i * rowBytes, rowBytes)).isEqualTo(twice.slice(0, rowBytes));
        }
    }

    @Test
    void theCosineIsInThePlaceOfTheFirstHalfAndTheSineOfTheSecond() {
        Frequencies two = Frequencies.of(0, Math.PI);
        ByteBuffer interleaved = written(new RotaryRows(two, PairLayout.INTERLEAVED, 2), FloatFormat.FLOAT32, 1);
        ByteBuffer concatenated = written(new RotaryRows(two, PairLayout.CONCATENATED, 2), FloatFormat.FLOAT32, 1);
        // 2 cos 0 = 2 and 2 cos π = -2; the sine of the double nearest to π is 1e-16
        assertThat(floats(interleaved)).usingComparatorWithPrecision(1e-15f).containsExactly(2, 0, -2, 0);
        assertThat(floats(concatenated)).usingComparatorWithPrecision(1e-15f).containsExactly(2, -2, 0, 0);
    }

    /** 2 cos 0 = 2, 2 cos π = -2 and 2 sin(π / 2) = 2. */
    @Test
    void rowsByDimensionAreAllCosinesThenAllSines() {
        Frequencies four = Frequencies.of(0, Math.PI, Math.PI / 2, 0);
        RotaryRows rows = RotaryRows.byDimension(four, PairLayout.INTERLEAVED, 4, 2);
        assertThat(floats(written(rows, FloatFormat.FLOAT32, 1)))
                .usingComparatorWithPrecision(1e-15f)
                .containsExactly(2, -2, 0, 2, 0, 0, 2, 0);
    }

    /** Those of pairs, in the places of the layout. */
    @ParameterizedTest
    @EnumSource
    void frequenciesOfPairsAreThoseOfTheirDimensions(PairLayout layout) {
        float[] byDimension =
                floats(written(RotaryRows.byDimension(FOUR, layout, 8, 1.5), FloatFormat.FLOAT32, 3, 4, 5));
        float[] ofPairs = floats(written(new RotaryRows(FOUR, layout, 1.5), FloatFormat.FLOAT32, 3, 4, 5));
        for (int row = 0; row < 3; row++) {
            for (int dimension = 0; dimension < 8; dimension++) {
                int pair = layout.pair(dimension, 4);
                assertThat(byDimension[16 * row + dimension]).isEqualTo(ofPairs[8 * row + layout.firstIndex(pair, 4)]);
                assertThat(byDimension[16 * row + 8 + dimension])
                        .isEqualTo(ofPairs[8 * row + layout.secondIndex(pair, 4)]);
            }
        }
    }

    @Test
    void rejectsFrequenciesThatAreNeitherOfPairsNorOfDimensions() {
        PairLayout layout = PairLayout.CONCATENATED;
        assertAll(
                rejected(() -> RotaryRows.byDimension(FOUR, layout, 6, 1), "4 frequencies", "6 dimensions"),
                rejected(() -> RotaryRows.byDimension(FOUR, layout, 9, 1), "4 frequencies", "9 dimensions"),
                rejected(() -> RotaryRows.byDimension(FOUR, layout, 8, 0), "attention factor", 0.0));
    }

    private static float[] floats(ByteBuffer buffer) {
        float[] floats = new float[buffer.capacity() / Float.BYTES];
        buffer.asFloatBuffer().get(floats);
        return floats;
    }

    /**
     * Algorithm 1 of Sun et al. (2022) in 50-digit arithmetic. The cosine or the sine has two ulps, the power and the
     * product less than one.
     */
    @Test
    void rowsOfXposAreWithinThreeUlps() {
        for (String[] row : Goldens.rows("xpos_rows.csv")) {
            int size = Integer.parseInt(row[0]);
            RotaryRows rows = rows(size, 10_000, PairLayout.CONCATENATED, 1).withXpos(Double.parseDouble(row[1]));
            ByteBuffer out = written(rows, FloatFormat.FLOAT64, Double.parseDouble(row[2]));
            int pair = Integer.parseInt(row[3]);
            requireUlps(out.getDouble(Double.BYTES * pair), row[4], 3, row);
            requireUlps(out.getDouble(Double.BYTES * (size / 2 + pair)), row[5], 3, row);
        }
    }

    /** The largest positions at which the smallest factor, 0.4 / 1.4 for each 512 positions, is in the range. */
    @ParameterizedTest
    @CsvSource({
        "FLOAT16, 512, 3966",
        "FLOAT32, 512, 35694",
        "FLOAT64, 512, 283286",
        "FLOAT16, -512, 3966",
        "FLOAT32, -512, -35694",
        "FLOAT64, -512, 283286"
    })
    void xposHasPositionsInTheRangeOfTheFormat(FloatFormat format, double scaleBase, int last) {
        RotaryRows xpos = ROWS.withXpos(scaleBase);
        int beyond = last + Integer.signum(last);
        assertThatCode(() -> written(xpos, format, last)).doesNotThrowAnyException();
        assertAll(rejected(
                () -> written(xpos, format, beyond), "position " + beyond + ".0", "XPos", format, Math.abs(last)));
    }

    @Test
    void rejectsScaleBasesOfXposThatAreZeroOrNotFiniteAndNoPairs() {
        assertAll(
                rejected(() -> ROWS.withXpos(0), "XPos scale base", 0.0),
                rejected(() -> ROWS.withXpos(Double.NaN), "XPos scale base", Double.NaN),
                rejected(
                        () -> new RotaryRows(Frequencies.of(), PairLayout.INTERLEAVED, 1).withXpos(1),
                        "number of pairs 0"));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void rejectsFactorsThatAreNotPositiveAndFinite(double factor) {
        assertAll(rejected(() -> new RotaryRows(FOUR, PairLayout.INTERLEAVED, factor), "attention factor", factor));
    }

    @Test
    void rejectsPositionsThatAreNotFinite() {
        assertAll(
                rejected(() -> written(ROWS, FloatFormat.FLOAT32, 0, Double.NaN), "position", Double.NaN),
                rejected(() -> written(ROWS.withXpos(512), FloatFormat.FLOAT32, Double.NaN), "position", Double.NaN));
    }

    /** Rows of 8 floats. */
    @Test
    void rejectsABufferThatIsTooSmall() {
        assertAll(
                rejected(() -> ROWS.write(new double[4], FloatFormat.FLOAT32, buffer(96)), "buffer", 96, "4 rows", 128),
                rejected(() -> ROWS.write(new double[3], FloatFormat.FLOAT32, buffer(95)), "buffer", 95, "3 rows", 96));
    }
}
