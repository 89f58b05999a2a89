package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import java.nio.ByteBuffer;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** The least and the greatest that is allowed is taken, and what is just beyond it refused. */
class LimitsTest {

    private static void refused(String message, ThrowingCallable... calls) {
        for (ThrowingCallable call : calls) {
            assertThatIllegalArgumentException().isThrownBy(call).withMessageContaining(message);
        }
    }

    @Test
    void alibiHasSlopesForOneHeadAndForAllThereCanBe() {
        assertThat(AlibiSlopes.of(1).heads()).isEqualTo(1);
        assertThat(AlibiSlopes.of(1 << 16).heads()).isEqualTo(1 << 16);
    }

    @Test
    void bucketsAreFromTheFewestToTheMost() {
        assertThat(RelativeBuckets.of(true, 4, 2).size()).isEqualTo(4);
        assertThat(RelativeBuckets.of(false, 2, 2).size()).isEqualTo(2);
        assertThat(RelativeBuckets.of(true, 4096, 1025).size()).isEqualTo(4096);
        refused(
                "buckets for two directions",
                () -> RelativeBuckets.of(true, 2, 128),
                () -> RelativeBuckets.of(true, 4098, 5000));
        refused("4097 buckets for one direction", () -> RelativeBuckets.of(false, 4097, 5000));
    }

    @Test
    void bucketsGrowByTheRatioOfTheDistances() {
        // 4 buckets of one direction up to 8: 0, 1, then those from 2 and from 2 · (8 / 2)^(1/2) = 4
        RelativeBuckets buckets = RelativeBuckets.of(false, 4, 8);
        int[] expected = {0, 1, 2, 2, 3, 3, 3, 3, 3};
        for (int distance = 0; distance < expected.length; distance++) {
            assertThat(buckets.bucket(-distance)).as("%s", distance).isEqualTo(expected[distance]);
        }
    }

    @Test
    void aScalingFactorIsOneOrMore() {
        refused(
                "scaling factor 0.5 is outside its range",
                () -> RotaryScaling.linear(0.5),
                () -> RotaryScaling.dynamicNtk(0.5, 10),
                () -> RotaryScaling.yarn(0.5, 10),
                () -> RotaryScaling.yarn(0.5, 10, 32, 1, true, 1),
                () -> RotaryScaling.llama3(0.5, 1, 4, 10));
        refused("scaling factor Infinity", () -> RotaryScaling.linear(Double.POSITIVE_INFINITY));
        assertThat(RotaryScaling.linear(1).frequencies(8, 10_000, 0).get(3))
                .isEqualTo(RotaryScaling.none().frequencies(8, 10_000, 0).get(3));
    }

    @Test
    void anOriginalLengthIsOneOrMore() {
        refused(
                "original length 0 is not positive",
                () -> RotaryScaling.dynamicNtk(2, 0),
                () -> RotaryScaling.yarn(2, 0),
                () -> RotaryScaling.yarn(2, 0, 32, 1, true, 1),
                () -> RotaryScaling.llama3(2, 1, 4, 0));
        assertThat(RotaryScaling.dynamicNtk(2, 1).lengthThreshold()).isEqualTo(1);
    }

    @Test
    void longRopeHasTheLengthsOfALogarithm() {
        double[] ones = {1, 1};
        refused("original length 1 and maximum length 4", () -> RotaryScaling.longRope(ones, ones, 1, 4));
        refused("original length 4 and maximum length 3", () -> RotaryScaling.longRope(ones, ones, 4, 3));
        assertThat(RotaryScaling.longRope(ones, ones, 2, 2).attentionFactor()).isEqualTo(1);
    }

    @Test
    void betasAndFrequencyFactorsAreInOrder() {
        for (List<Double> pair : List.of(
                List.of(0.0, 1.0),
                List.of(1.0, 1.0),
                List.of(2.0, 1.0),
                List.of(1.0, Double.POSITIVE_INFINITY),
                List.of(Double.NaN, 1.0))) {
            refused("betas", () -> RotaryScaling.yarn(2, 10, pair.get(1), pair.get(0), true, 1));
            refused("frequency factors", () -> RotaryScaling.llama3(2, pair.get(0), pair.get(1), 10));
        }
    }

    @Test
    void whatCanBeTurnedIsAPairAboveBaseOne() {
        assertThat(RotaryScaling.none().frequencies(2, 1.5, 0).size()).isEqualTo(1);
        refused("base 1.0 is outside its range", () -> RotaryScaling.none().frequencies(2, 1, 0));
        refused(
                "has no whole pairs",
                () -> RotaryScaling.none().frequencies(0, 10, 0),
                () -> RotaryScaling.none().frequencies(3, 10, 0));
        refused("length -1 is negative", () -> RotaryScaling.none().frequencies(2, 10, -1));
        refused("has one pair", () -> RotaryScaling.dynamicNtk(2, 4).frequencies(2, 10, 8));
    }

    @Test
    void dynamicNtkIsUnscaledUpToTheOriginalLength() {
        Frequencies plain = RotaryScaling.none().frequencies(8, 10_000, 0);
        for (int length : new int[] {0, 15, 16}) {
            assertThat(RotaryScaling.dynamicNtk(2, 16).frequencies(8, 10_000, length))
                    .isEqualTo(plain);
        }
        // base · (s · l / L - (s - 1))^(r / (r - 2)) = 10000 · (2 · 24 / 16 - 1)^(8 / 6), and of that the power -2 · 3
        // / 8
        double expected = Math.pow(10_000 * Math.pow(2, 8 / 6.0), -6 / 8.0);
        Frequencies scaled = RotaryScaling.dynamicNtk(2, 16).frequencies(8, 10_000, 24);
        assertThat(scaled.size()).isEqualTo(4);
        // a few roundings of double
        assertThat(scaled.get(3)).isCloseTo(expected, within(1e-14 * expected));
    }

    @Test
    void yarnsRampEndsAtTheLastDimension() {
        // 1e6 positions turn pair log(1e6 / 2π) / (2 log 10) · 8 = 20.8 once: beyond the last dimension, 7; and pair
        // 0.8 a
        // hundred thousand times, which is rounded down to 0
        Frequencies scaled =
                RotaryScaling.yarn(2, 1_000_000, 100_000, 1, true, 1).frequencies(8, 10, 0);
        for (int pair = 0; pair < 4; pair++) {
            double ramp = pair / 7.0;
            double expected = Math.pow(10, -pair / 4.0) * (1 - ramp + ramp / 2);
            // a few roundings of double
            assertThat(scaled.get(pair)).isCloseTo(expected, within(1e-14));
        }
    }

    @Test
    void frequenciesAreCountedUpToAMillion() {
        refused(
                "frequency count -1 is outside 0 to 1048576",
                () -> Frequencies.timescales(-1, 1, 10),
                () -> Frequencies.geometric(-1, 10, 1));
        refused("frequency count 1048577 is outside", () -> Frequencies.timescales(1_048_577, 1, 10));
        assertThat(Frequencies.geometric(1 << 20, 10, 1 << 20).size()).isEqualTo(1 << 20);
    }

    @Test
    void sizesAreTwiceTheFrequencies() {
        refused(
                "embedding size 2097153 is outside 1 to 2097152: set the number of dimensions with setEmbeddingSize(int)",
                () -> SinusoidalEncoding.vaswani(2_097_153),
                () -> SinusoidalEncoding.fairseq(2_097_153),
                () -> SinusoidalEncoding.roundedUp(2_097_153),
                () -> SinusoidalEncoding.diffusion(2_097_153));
        refused("embedding size 0 is outside 1 to 2097152", () -> SinusoidalEncoding.diffusion(0));
        assertThat(SinusoidalEncoding.roundedUp(2_097_151).getEmbeddingSize()).isEqualTo(2_097_151);
        assertThat(SinusoidalEncoding.fairseq(2_097_152).getEmbeddingSize()).isEqualTo(2_097_152);
    }

    @Test
    void aScaledFrequencyStaysANormalNumber() {
        refused(
                "scale 1.0E270 makes frequency 1.0 of pair 0 1.0E270",
                () -> Frequencies.of(1).scaledBy(1e270));
        refused(
                "scale 1.0E-270 makes frequency 1.0 of pair 0 1.0E-270",
                () -> Frequencies.of(1).scaledBy(1e-270));
        assertThat(Frequencies.of(0).scaledBy(1e300).get(0)).isZero();
    }

    @Test
    void aGridsChannelsAndSizesAreEnough() {
        refused("channel count 0 is outside 1 to 2097152", () -> GridEncoding.multidim(2, 0));
        refused("channel count 0 is outside 4 to 2097152", () -> GridEncoding.visionTransformer(0));
        refused(
                "channel count 2147483647 is outside",
                () -> GridEncoding.multidim(2, Integer.MAX_VALUE),
                () -> GridEncoding.tensor2tensor(2, Integer.MAX_VALUE, 1, 10_000));
        assertThat(GridEncoding.multidim(2, 1 << 21).getEmbeddingSize()).isEqualTo(1 << 21);
        write(GridEncoding.multidim(2, 1), 0, 1, 1, 1);
        GridEncoding grid = GridEncoding.multidim(2, 4);
        refused(
                "cannot be encoded",
                () -> write(grid, 0, 1, 0, 1),
                () -> write(grid, 0, 1, 1, 0),
                () -> write(grid, 0, 1, -1, -1),
                () -> write(grid, 0, 1, 1),
                () -> write(grid, 0, 1, 1, 1, 1),
                () -> write(grid, 0, 1, 1 << 15, 1 << 15),
                () -> write(grid, 0, 1, 1 << 16, 1 << 16));
    }

    @Test
    void aPartOfAGridIsWithinIt() {
        GridEncoding grid = GridEncoding.multidim(2, 4);
        write(grid, 0, 2, 2, 1);
        write(grid, 1, 1, 2, 1);
        write(grid, 2, 0, 2, 1);
        refused(
                "is outside the first axis: allowed is within 0 to 2",
                () -> write(grid, -1, 1, 2, 1),
                () -> write(grid, 0, -1, 2, 1),
                () -> write(grid, 1, 2, 2, 1),
                () -> write(grid, 3, 0, 2, 1));
    }

    private static void write(GridEncoding grid, int first, int count, int... sizes) {
        grid.write(sizes, false, first, count, FloatFormat.FLOAT32, ByteBuffer.allocate(64));
    }

    @Test
    void aTableIsNoLargerThanAnArray() {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(1000);
        refused("ask for at most 2147483 positions", () -> encoding.table(0, 2_147_484));
        refused(
                "length -1 is negative",
                () -> encoding.table(0, -1),
                () -> encoding.write(0, -1, FloatFormat.FLOAT32, ByteBuffer.allocate(0)));
        refused(
                "ask for at most 268435 positions",
                () -> encoding.write(0, 268_436, FloatFormat.FLOAT64, ByteBuffer.allocate(0)));
    }

    @Test
    void aBufferHasRoomForAllPositions() {
        SinusoidalEncoding encoding = SinusoidalEncoding.vaswani(4);
        for (FloatFormat format : FloatFormat.values()) {
            int needed = 3 * 4 * format.bytes();
            refused(
                    "allowed are " + needed + " bytes or more",
                    () -> encoding.write(0, 3, format, ByteBuffer.allocate(needed - 1)),
                    () -> encoding.write(new double[3], format, ByteBuffer.allocate(needed - 1)));
            encoding.write(0, 3, format, ByteBuffer.allocate(needed));
        }
    }

    @Test
    void positionsAndDimensionsAreNumbersThatThereAre() {
        SinusoidalEncoding encoding = SinusoidalEncoding.fairseq(5);
        refused(
                "is not finite",
                () -> encoding.similarity(Double.NaN),
                () -> encoding.shift(Double.NEGATIVE_INFINITY),
                () -> encoding.value(Double.NaN, 0));
        refused(
                "is outside 0 to 4",
                () -> encoding.frequency(5),
                () -> encoding.frequency(-1),
                () -> encoding.value(0, 5));
    }

    @Test
    void eachDimensionHasTheFrequencyOfItsPair() {
        // two pairs, 1 and 1/10000, all sines, then all cosines, then the zero of the odd size
        SinusoidalEncoding encoding = SinusoidalEncoding.fairseq(5);
        double[] expected = {1, 1e-4, 1, 1e-4, 0};
        for (int dimension = 0; dimension < expected.length; dimension++) {
            assertThat(encoding.frequency(dimension)).isEqualTo(expected[dimension]);
        }
    }

    /** By name, before anything is computed with them. */
    @Test
    void whatFrequenciesAreMadeFromIsPositiveAndFinite() {
        for (double value : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
            String refusal = " " + value + " is outside its range: give a positive finite number, ";
            refused("base" + refusal + "the paper's is 10000", () -> Frequencies.geometric(2, value, 4));
            refused("period" + refusal + "the paper's is half", () -> Frequencies.geometric(2, 10_000, value));
            refused("minimum timescale" + refusal, () -> Frequencies.timescales(2, value, 10_000));
            refused("maximum timescale" + refusal, () -> Frequencies.timescales(2, 1, value));
        }
    }
}
