package io.github.djlpositional.math;

import static io.github.djlpositional.math.FloatFormat.FLOAT32;
import static io.github.djlpositional.math.FloatFormat.FLOAT64;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The smallest and the largest valid argument is accepted. An argument just beyond them is rejected. */
class LimitsTest {

    private static final double[] NOT_POSITIVE = {0, -1, Double.NaN, Double.POSITIVE_INFINITY};

    private static final double[] ONES = {1, 1};

    private static Arguments call(String values, ThrowingCallable call) {
        return arguments(values, call);
    }

    /** The values in a message, of which the first are at its start, and a call. */
    static List<Arguments> invalidCalls() {
        RotaryScaling twoFactors = RotaryScaling.longRope(ONES, ONES, 2, 4, 1);
        RotaryScaling tiny = RotaryScaling.longRope(new double[] {1e-320}, new double[] {1}, 2, 4, 1);
        SinusoidalEncoding paper = vaswani(8);
        GridEncoding grid = GridEncoding.multidim(2, 8);
        RotaryRows rotary = table(1);
        double[] nan = {0, Double.NaN};
        List<Arguments> calls = new ArrayList<>(List.of(
                call("head count 0: expected 1 to 65536", () -> AlibiSlopes.of(0)),
                call("head count 65537: expected 1 to 65536", () -> AlibiSlopes.of(65_537)),
                call("bucket count 2: expected 4 to 4096", () -> RelativeBuckets.of(true, 2, 128)),
                call("bucket count 4098: expected 4 to 4096", () -> RelativeBuckets.of(true, 4098, 5000)),
                call("bucket count 31 for two directions", () -> RelativeBuckets.of(true, 31, 128)),
                call("bucket count 1: expected 2 to 4096", () -> RelativeBuckets.of(false, 1, 128)),
                call("bucket count 4097: expected 2 to 4096", () -> RelativeBuckets.of(false, 4097, 5000)),
                call("maximum distance 8 with 32 buckets", () -> RelativeBuckets.of(true, 32, 8)),
                call("maximum distance 16 with 32 buckets", () -> RelativeBuckets.of(false, 32, 16)),
                call("scaling factor 0.5", () -> RotaryScaling.linear(0.5)),
                call("scaling factor NaN", () -> RotaryScaling.linear(Double.NaN)),
                call("scaling factor Infinity", () -> RotaryScaling.linear(Double.POSITIVE_INFINITY)),
                call("scaling factor 0.5", () -> RotaryScaling.dynamicNtk(0.5, 10, 20)),
                call("scaling factor 0.5", () -> RotaryScaling.yarn(0.5, 10)),
                call("scaling factor Infinity", () -> RotaryScaling.yarn(Double.POSITIVE_INFINITY, 10)),
                call("scaling factor 0.5", () -> RotaryScaling.llama3(0.5, 1, 4, 10)),
                call("originalLength 0: expected 1 or more", () -> RotaryScaling.dynamicNtk(2, 0, 1)),
                call("originalLength 0: expected 1 or more", () -> RotaryScaling.yarn(2, 0)),
                call("originalLength 0: expected 1 or more", () -> RotaryScaling.llama3(2, 1, 4, 0)),
                call(
                        "scaling factor 4096.0 with originalLength 4: expected",
                        () -> RotaryScaling.dynamicNtk(4096, 4, 8)),
                call("scaling factor 4096.0 with originalLength 4: expected", () -> RotaryScaling.yarn(4096, 4)),
                call(
                        "scaling factor 8192.0 with originalLength 8: expected",
                        () -> RotaryScaling.llama3(8192, 1, 4, 8)),
                call("originalLength 1: expected 2 or more", () -> RotaryScaling.longRope(ONES, ONES, 1, 4, 1)),
                call("maxLength 3: expected 4 or more", () -> RotaryScaling.longRope(ONES, ONES, 4, 3, 1)),
                call("2 short and 3 long factors", () -> RotaryScaling.longRope(ONES, new double[] {1, 1, 1}, 2, 4, 1)),
                call("LongRoPE factor 0.0", () -> RotaryScaling.longRope(ONES, new double[2], 2, 4, 1)),
                call("2 LongRoPE factors for rotary size 64: expected 32", () -> twoFactors.frequencies(64, 10)),
                call("base 1.0", () -> RotaryScaling.none().frequencies(2, 1)),
                call("rotary size 0", () -> RotaryScaling.none().frequencies(0, 10)),
                call("rotary size 3", () -> RotaryScaling.none().frequencies(3, 10)),
                call("length 0: expected 1 or more", () -> RotaryScaling.dynamicNtk(2, 4, 0)),
                call("length 0: expected 1 or more", () -> RotaryScaling.longRope(ONES, ONES, 2, 4, 0)),
                call(
                        "rotary size 2 with NTK",
                        () -> RotaryScaling.dynamicNtk(2, 4, 1).frequencies(2, 10)),
                call("frequency count -1: expected 0 to 1048576", () -> Frequencies.timescales(-1, 1, 10)),
                call("frequency count -1: expected 0 to 1048576", () -> Frequencies.geometric(-1, 10, 1)),
                call("frequency count 1048577: expected", () -> Frequencies.timescales(1_048_577, 1, 10)),
                call("frequency NaN of pair 1", () -> Frequencies.of(1, Double.NaN)),
                call("frequency ", () -> Frequencies.geometric(1000, 1e300, 4)),
                // overflows: the ratio, the reciprocal of a subnormal base, the growth of the base
                call("frequency NaN of pair 0", () -> SinusoidalEncoding.tensor2tensor(4, 1e-200, 1e200)),
                call("frequency ", () -> Frequencies.geometric(2, 1e-310, 1)),
                call("frequency ", () -> RotaryScaling.ntkAware(1e308).frequencies(4, 10)),
                call("frequency ", () -> Frequencies.timescales(2, 1e200, 1e-50)),
                call("frequency 1.0E-320 of pair 0", () -> Frequencies.timescales(1, 1e-320, 1e-320)),
                call(
                        "frequency 1.0E-308 of pair 0",
                        () -> RotaryScaling.linear(1e308).frequencies(4, 10_000)),
                call("frequency ", () -> RotaryScaling.linear(Double.MAX_VALUE).frequencies(64, 1e250)),
                call("frequency ", () -> tiny.frequencies(2, 10)),
                call("frequency factor 0.0", () -> Frequencies.of(1).scaledBy(0)),
                call("frequency factor NaN", () -> Frequencies.of(1).scaledBy(Double.NaN)),
                call("frequency factor Infinity", () -> Frequencies.of(1).scaledBy(Double.POSITIVE_INFINITY)),
                call("frequency 1.0E270 of pair 0", () -> Frequencies.of(1).scaledBy(1e270)),
                call("frequency 1.0E-270 of pair 0", () -> Frequencies.of(1).scaledBy(1e-270)),
                call("rotary size 2 with NTK", () -> RotaryScaling.ntkAware(2).frequencies(2, 10)),
                call("scaling factor 0.5", () -> RotaryScaling.ntkAware(0.5)),
                call("attentionFactor 0.0", () -> FrequenciesTest.longRope(0, 1, 1)),
                call("attentionFactor -1.0", () -> FrequenciesTest.longRope(1, -1, 1)),
                call("headSize 0: expected 2 to 2097152", () -> Frequencies.proportional(0, 0.5, 10, 1)),
                call("headSize 2097154: expected", () -> Frequencies.proportional(2_097_154, 0.5, 10, 1)),
                call("headSize 7", () -> Frequencies.proportional(7, 0.5, 10, 1)),
                call("share 1.5: expected 0 to 1", () -> Frequencies.proportional(8, 1.5, 10, 1)),
                call("share NaN: expected 0 to 1", () -> Frequencies.proportional(8, Double.NaN, 10, 1)),
                call("base 0.0", () -> Frequencies.proportional(8, 0.5, 0, 1)),
                call("factor 0.0", () -> Frequencies.proportional(8, 0.5, 10, 0)),
                call("frequency count 1048577: expected 0 to 1048576", () -> joined(16, (1 << 16) + 1)),
                call("number of pairs 0: expected 1", () -> RotaryAxes.of()),
                call("axis 16: expected 0 to 15", () -> RotaryAxes.of(0, 16)),
                call("axis -1: expected 0 to 15", () -> RotaryAxes.of(-1)),
                call("section 0: expected 1", () -> RotaryAxes.sections(2, 0)),
                call("number of sections 0: expected 1 to 16", () -> RotaryAxes.sections()),
                call("number of sections 17: expected 1 to 16", () -> RotaryAxes.interleaved(99, new int[17])),
                call("number of pairs 0: expected 1", () -> RotaryAxes.interleaved(0, 1)),
                call("sections [2, 2] give axis 0 3 of 5 pairs: expected 2", () -> RotaryAxes.interleaved(5, 2, 2)),
                call("sections [1, 3] give axis 0 2 of 4 pairs: expected 1", () -> RotaryAxes.interleaved(4, 1, 3)),
                call("coefficient -0.1", () -> new QueryScale.FloorLogarithm(-0.1, 8192)),
                call("coefficient Infinity", () -> new QueryScale.FloorLogarithm(Double.POSITIVE_INFINITY, 8192)),
                call("length 0.0", () -> new QueryScale.FloorLogarithm(0.1, 0)),
                call("offset -1", () -> new QueryScale.FloorLogarithm(0.1, 8192, -1)),
                call("trainedLength 1: expected 2 or more", () -> new QueryScale.LogN(1)),
                call("position -1.0", () -> new QueryScale.LogN(8).factor(-1)),
                call("position NaN", () -> new QueryScale.FloorLogarithm(0.1, 8192).factor(Double.NaN)),
                call(
                        "buffer of 8 bytes for 3 rows",
                        () -> new QueryScale.LogN(8).write(new double[3], FLOAT32, buffer(8))),
                call("XPos scale base 0.0", () -> rotary.withXpos(0)),
                call("XPos scale base NaN", () -> rotary.withXpos(Double.NaN)),
                call(
                        "number of pairs 0",
                        () -> new RotaryRows(Frequencies.of(), PairLayout.INTERLEAVED, 1).withXpos(1)),
                call(
                        "position 3967.0 with XPos in FLOAT16: expected at most 3966",
                        () -> writeXpos(512, 3967, FloatFormat.FLOAT16)),
                call(
                        "position -35695.0 with XPos in FLOAT32: expected at most 35694",
                        () -> writeXpos(-512, -35_695, FLOAT32)),
                call(
                        "position 283287.0 with XPos in FLOAT64: expected at most 283286",
                        () -> writeXpos(-512, 283_287, FLOAT64)),
                call("position NaN with XPos", () -> writeXpos(512, Double.NaN, FLOAT32)),
                call("embedding size 2097153: expected 1 to 2097152", () -> SinusoidalEncoding.vaswani(2_097_153)),
                call("embedding size 2097153: expected 1 to", () -> SinusoidalEncoding.diffusion(2_097_153)),
                call("embedding size 0: expected 1 to 2097152", () -> SinusoidalEncoding.vaswani(0)),
                call("embedding size -1: expected", () -> SinusoidalEncoding.tensor2tensor(-1, 1, 10_000)),
                call("embedding size -4: expected", () -> SinusoidalEncoding.diffusion(-4)),
                call("embedding size 7 for bert4keras", () -> SinusoidalEncoding.bert4keras(7, 10_000)),
                call("embedding size 7 for x-transformers", () -> SinusoidalEncoding.xTransformers(7)),
                call("frequency shift 1.0 for embedding size 3", () -> SinusoidalEncoding.diffusion(3)),
                call("frequency shift NaN", () -> SinusoidalEncoding.diffusion(8, Double.NaN, 1, false)),
                call("frequency factor 0.0", () -> SinusoidalEncoding.diffusion(8, 0, 0, false)),
                call(
                        "base 100.0 beside frequencies",
                        () -> given(4, 1, 2).optBase(100).build()),
                call(
                        "3 frequencies for embedding size 8: expected 4",
                        () -> given(8, 1, 2, 3).build()),
                call(
                        "argument 'embeddingSize' of SinusoidalEncoding is missing",
                        () -> SinusoidalEncoding.builder().build()),
                call("1 axes: expected 2 or 3", () -> GridEncoding.multidim(1, 8)),
                call("4 axes: expected 2 or 3", () -> GridEncoding.tensor2tensor(4, 8, 1, 10_000)),
                call("channel count 3: expected 4 to 2097152", () -> GridEncoding.tensor2tensor(2, 3, 1, 10_000)),
                call("channel count 0: expected 1 to 2097152", () -> GridEncoding.multidim(2, 0)),
                call("channel count 2147483647", () -> GridEncoding.multidim(2, Integer.MAX_VALUE)),
                call("channel count 2147483647", () -> GridEncoding.tensor2tensor(2, Integer.MAX_VALUE, 1, 2)),
                call("channel count 0: expected 4 to 2097152", () -> GridEncoding.visionTransformer(0)),
                call("channel count 6: expected a multiple of 4", () -> GridEncoding.visionTransformer(6)),
                call("channel count 4: expected 8 to 2097152", () -> GridEncoding.simpleVit(4)),
                call("channel count 10: expected a multiple of 4", () -> GridEncoding.simpleVit(10)),
                call("minTimescale 0.0", () -> GridEncoding.tensor2tensor(2, 8, 0, 10_000)),
                call("channel 8: expected 0 to 7", () -> grid.value(8, 0, 0)),
                call("channel -1: expected 0 to 7", () -> grid.value(-1, 0, 0)),
                call("3 coordinates for a grid of 2 axes", () -> grid.value(0, 0, 0, 0)),
                call("position NaN", () -> grid.value(0, Double.NaN, 0)),
                call(
                        "grid sizes [0, 1]: expected 2 positive",
                        () -> GridEncoding.multidim(2, 4).cells(0, 1)),
                call(
                        "grid sizes [1, 0]: expected 2 positive",
                        () -> GridEncoding.multidim(2, 4).cells(1, 0)),
                call(
                        "grid sizes [-1, -1]: expected 2 positive",
                        () -> GridEncoding.multidim(2, 4).cells(-1, -1)),
                call(
                        "grid sizes [1]: expected 2 positive",
                        () -> GridEncoding.multidim(2, 4).cells(1)),
                call(
                        "grid sizes [1, 1, 1]: expected 2 positive",
                        () -> GridEncoding.multidim(2, 4).cells(1, 1, 1)),
                call(
                        "grid sizes [32768, 32768]",
                        () -> GridEncoding.multidim(2, 4).cells(1 << 15, 1 << 15)),
                call(
                        "grid sizes [65536, 65536]",
                        () -> GridEncoding.multidim(2, 4).cells(1 << 16, 1 << 16)),
                call("grid sizes [0]: expected 2", () -> grid.cells(new int[1], new boolean[1])),
                call("3 cells of grids [2, 1]", () -> grid.cells(new int[] {2, 1}, new boolean[3])),
                call("4 axes: expected 2 or 3", () -> gridBuilder().setAxes(4).build()),
                call(
                        "axis 2: expected 0 to 1",
                        () -> gridBuilder().add(2, paper).build()),
                call(
                        "axis -1: expected 0 to 1",
                        () -> gridBuilder().add(-1, paper).build()),
                call("parts is missing", () -> GridEncoding.builder().setAxes(2).build()),
                call("first 9: expected 0 to 8", () -> gridBuilder().add(0, paper, 9, 0)),
                call("count 5: expected 0 to 4", () -> gridBuilder().add(0, paper, 4, 5)),
                call(
                        "channel count 7: expected 8 to",
                        () -> gridBuilder().optChannels(7).build()),
                call(
                        "offset NaN and scale 1.0",
                        () -> gridBuilder().optOffset(Double.NaN).build()),
                call(
                        "offset 0.0 and scale Infinity",
                        () -> gridBuilder().optScale(1 / 0.0).build()),
                call("epsilon -1.0", () -> gridBuilder().optNormalized(-1).build()),
                call(
                        "epsilon NaN",
                        () -> gridBuilder().optNormalized(Double.NaN).build()),
                call("centerCrop 0", () -> gridBuilder().optCenterCrop(0).build()),
                call(
                        "an axis of size 4.0 cropped from 3",
                        () -> gridBuilder().optCenterCrop(3).build().coordinate(0, 4)),
                call("channel count 6: expected a multiple of 4", () -> GridEncoding.detr(6, 1)),
                call("size 0: expected 1 or more", () -> GridResampling.BICUBIC.weights(0, 3)),
                call("new size 0: expected 1 or more", () -> GridResampling.BICUBIC.weights(3, 0)),
                call("a table of 7 values … [2, 3] … [2, 3]", () -> resample(7, 2, 3)),
                call("a table of 6 values … [2] … [2, 3]", () -> resample(6, 2)),
                call("a table of 6 values … [2, 0]", () -> resample(6, 2, 0)),
                call("a resampled table of 3000000000 values", () -> resample(600_000, 2, 3)),
                call(
                        "length 2147484: expected 0 to 2147483",
                        () -> vaswani(1000).table(0, 2_147_484)),
                call("length -1: expected 0 to", () -> paper.table(0, -1)),
                call(
                        "buffer of 0 bytes … 2400000000",
                        () -> vaswani(1000).write(new double[300_000], FLOAT64, buffer(0))),
                call(
                        "buffer of 96 bytes for 4 rows of 8 values … 128",
                        () -> rotary.write(new double[4], FLOAT32, buffer(96))),
                call(
                        "buffer of 95 bytes for 3 rows of 8 values",
                        () -> rotary.write(new double[3], FLOAT32, buffer(96).limit(95))),
                call("position NaN", () -> rotary.write(nan, FLOAT32, buffer(96))),
                call("position NaN", () -> paper.write(nan, FLOAT32, buffer(64))),
                call("position NaN", () -> paper.similarity(Double.NaN)),
                call("position -Infinity", () -> paper.shift(Double.NEGATIVE_INFINITY)),
                call("position NaN", () -> paper.value(Double.NaN, 0)),
                call("dimension 8: expected 0 to 7", () -> paper.value(0, 8)),
                call("dimension -1: expected 0 to 7", () -> paper.value(0, -1)),
                call("dimension 8: expected 0 to 7", () -> paper.frequency(8)),
                call("dimension -1: expected 0 to 7", () -> paper.frequency(-1))));
        for (double value : NOT_POSITIVE) {
            calls.add(call("base " + value, () -> Frequencies.geometric(2, value, 4)));
            calls.add(call("base " + value, () -> SinusoidalEncoding.vaswani(64, value)));
            calls.add(call("period " + value, () -> Frequencies.geometric(2, 10_000, value)));
            calls.add(call("minTimescale " + value, () -> Frequencies.timescales(2, value, 10_000)));
            calls.add(call("maxTimescale " + value, () -> SinusoidalEncoding.tensor2tensor(8, 1, value)));
            calls.add(call("attention factor " + value, () -> table(value)));
            calls.add(call("attentionFactor " + value, () -> RotaryScaling.yarn(2, 10, 32, 1, true, value)));
        }
        for (double[] pair : new double[][] {{0, 1}, {2, 1}, {1, Double.POSITIVE_INFINITY}, {Double.NaN, 1}}) {
            String values = pair[0] + " … " + pair[1];
            calls.add(call("betaSlow " + values, () -> RotaryScaling.yarn(2, 10, pair[1], pair[0], true, 1)));
            calls.add(call("lowFrequencyFactor " + values, () -> RotaryScaling.llama3(2, pair[0], pair[1], 10)));
        }
        for (FloatFormat format : FloatFormat.values()) {
            int needed = 3 * 4 * format.bytes();
            ByteBuffer small = buffer(needed - 1);
            String values = "buffer of " + (needed - 1) + " bytes … " + format + " … " + needed;
            calls.add(call(values, () -> vaswani(4).write(new double[3], format, small)));
        }
        return calls;
    }

    private static SinusoidalEncoding.Builder given(int size, double... frequencies) {
        return SinusoidalEncoding.builder().setEmbeddingSize(size).optFrequencies(Frequencies.of(frequencies));
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes);
    }

    private static SinusoidalEncoding vaswani(int size) {
        return SinusoidalEncoding.vaswani(size);
    }

    private static RotaryRows table(double factor) {
        return new RotaryRows(Frequencies.of(1, 0.5, 0.25, 0.125), PairLayout.INTERLEAVED, factor);
    }

    private static Frequencies joined(int parts, int pairs) {
        return Frequencies.joined(Stream.generate(() -> Frequencies.geometric(pairs, 10, 1e9))
                .limit(parts)
                .toArray(Frequencies[]::new));
    }

    private static void writeXpos(double scaleBase, double position, FloatFormat format) {
        table(1).withXpos(scaleBase).write(new double[] {position}, format, buffer(64));
    }

    private static GridEncoding.Builder gridBuilder() {
        return GridEncoding.builder().setAxes(2).add(0, vaswani(8));
    }

    /** To (2, 3), or to (1, 30000) from a large table. */
    private static void resample(int values, int... from) {
        int[] to = values < 100 ? new int[] {2, 3} : new int[] {1, 30_000};
        GridResampling.BICUBIC.resample(new double[values], from, to);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("invalidCalls")
    void invalidArgumentsAreRejected(String values, ThrowingCallable call) {
        assertThatIllegalArgumentException()
                .isThrownBy(call)
                .withMessageStartingWith(values.split(" … ", -1)[0])
                .withMessageContainingAll(values.split(" … ", -1))
                .withMessageContainingAll(": expected ", "; ");
    }

    @Test
    void halfAPairHasNeitherShiftsNorASimilarity() {
        for (ThrowingCallable call : List.<ThrowingCallable>of(
                () -> vaswani(7).shift(1), () -> vaswani(7).similarity(1))) {
            assertThatThrownBy(call)
                    .isInstanceOf(UnsupportedOperationException.class)
                    .hasMessageContaining("odd size 7");
        }
    }

    @Test
    void aScalingFactorMayBeTheOriginalLength() {
        assertThat(RotaryScaling.dynamicNtk(4, 4, 4).frequencies(4, 10).size()).isEqualTo(2);
        assertThat(RotaryScaling.yarn(4, 4).frequencies(2, 10).size()).isEqualTo(1);
        assertThat(RotaryScaling.llama3(4, 1, 4, 4).frequencies(2, 10).size()).isEqualTo(1);
    }

    @Test
    @Tag("slow")
    void limitsAreAccepted() {
        assertThat(vaswani(4).table(7, 0)).isEmpty();
        assertThat(AlibiSlopes.of(1).heads()).isEqualTo(1);
        assertThat(AlibiSlopes.of(1 << 16).heads()).isEqualTo(1 << 16);
        assertThat(RelativeBuckets.of(true, 4, 2).size()).isEqualTo(4);
        assertThat(RelativeBuckets.of(false, 2, 2).size()).isEqualTo(2);
        assertThat(RelativeBuckets.of(true, 4096, 1025).size()).isEqualTo(4096);
        assertThat(RotaryScaling.dynamicNtk(1, 1, Integer.MAX_VALUE)
                        .frequencies(4, 10)
                        .size())
                .isEqualTo(2);
        assertThat(RotaryScaling.longRope(ONES, ONES, 2, 2, 1).attentionFactor())
                .isEqualTo(1);
        assertThat(RotaryScaling.none().frequencies(2, 1.5).size()).isEqualTo(1);
        assertThat(Frequencies.geometric(1 << 20, 10, 1 << 20).size()).isEqualTo(1 << 20);
        assertThat(joined(16, 1 << 16).size()).isEqualTo(1 << 20);
        assertThat(Frequencies.proportional(1 << 21, 1, 10, 1).size()).isEqualTo(1 << 20);
        assertThat(RotaryAxes.of(15).axisCount()).isEqualTo(16);
        writeXpos(512, 3966, FloatFormat.FLOAT16);
        writeXpos(-512, -35_694, FLOAT32);
        writeXpos(512, 283_286, FLOAT64);
        assertThat(Frequencies.of(0).scaledBy(1e300).get(0)).isZero();
        assertThat(SinusoidalEncoding.roundedUp(2_097_151).getEmbeddingSize()).isEqualTo(2_097_151);
        assertThat(SinusoidalEncoding.fairseq(2_097_152).getEmbeddingSize()).isEqualTo(2_097_152);
        assertThat(GridEncoding.multidim(2, 1 << 21).getEmbeddingSize()).isEqualTo(1 << 21);
    }
}
