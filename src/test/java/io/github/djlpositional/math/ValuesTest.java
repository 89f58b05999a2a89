package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Equality, descriptions and argument maps of the package's immutable types. */
class ValuesTest {

    /** Each supplier creates a new object; no two of a list are equal. */
    private static final List<List<Supplier<Object>>> KINDS = List.of(
            List.of(
                    RotaryScaling::none,
                    () -> RotaryScaling.linear(2),
                    () -> RotaryScaling.linear(3),
                    () -> RotaryScaling.ntkAware(2),
                    () -> RotaryScaling.yarn(2, 10),
                    () -> RotaryScaling.yarn(2, 10, 32, 1, true, 3),
                    () -> FrequenciesTest.longRope(1, 1.5, 400),
                    () -> FrequenciesTest.longRope(1.5, 1, 400),
                    () -> FrequenciesTest.longRope(1.5, 1, 100),
                    () -> longRope(1.5),
                    () -> longRope(Math.nextUp(1.5))),
            List.of(
                    () -> Frequencies.of(1, 2),
                    () -> Frequencies.of(1, 3),
                    () -> Frequencies.of(1),
                    () -> Frequencies.of(1, 2).scaledBy(3),
                    () -> Frequencies.geometric(4, 10_000, 4),
                    () -> Frequencies.geometric(4, 10_000, 5),
                    () -> Frequencies.proportional(8, 0.5, 100, 1),
                    () -> Frequencies.proportional(8, 0.5, 100, 2),
                    () -> Frequencies.joined(Frequencies.of(1), Frequencies.of(3, 4)),
                    () -> Frequencies.of(1, 0.1, 0.01, 0.001)),
            List.of(
                    () -> RotaryAxes.of(0, 1, 2),
                    () -> RotaryAxes.of(0, 1, 1),
                    () -> RotaryAxes.interleaved(4, 2, 2),
                    () -> RotaryAxes.sections(2, 2)),
            List.of(
                    () -> new QueryScale.FloorLogarithm(0.1, 8192),
                    () -> new QueryScale.FloorLogarithm(0.2, 8192),
                    () -> new QueryScale.FloorLogarithm(0.1, 4096),
                    () -> new QueryScale.LogN(2048),
                    () -> new QueryScale.LogN(4096)),
            List.of(
                    () -> SinusoidalEncoding.vaswani(4),
                    () -> SinusoidalEncoding.vaswani(5),
                    () -> SinusoidalEncoding.vaswani(4, 500),
                    () -> SinusoidalEncoding.xTransformers(4),
                    () -> SinusoidalEncoding.builder()
                            .setEmbeddingSize(4)
                            .optCosineFirst(true)
                            .build()),
            // simpleVit has the sines and cosines of tensor2tensor in another order of the axes
            List.of(
                    () -> GridEncoding.visionTransformer(8),
                    () -> GridEncoding.visionTransformer(12),
                    () -> GridEncoding.simpleVit(8),
                    () -> GridEncoding.tensor2tensor(2, 8, 1, 10_000),
                    () -> GridEncoding.multidim(2, 7),
                    () -> GridEncoding.detr(8, 1),
                    () -> GridEncoding.detr(8, 0.5),
                    () -> GridEncoding.multidim(2, 8)));

    private static RotaryScaling longRope(double last) {
        return RotaryScaling.longRope(new double[] {1, last}, new double[] {1, 2}, 100, 200, 200);
    }

    @Test
    void sameArgumentsGiveEqualObjects() {
        for (List<Supplier<Object>> kind : KINDS) {
            for (Supplier<Object> value : kind) {
                assertThat(value.get()).isEqualTo(value.get()).hasSameHashCodeAs(value.get());
                assertThat(value.get()).hasToString(value.get().toString()).isNotEqualTo("another type");
            }
        }
    }

    @Test
    void differentArgumentsGiveDifferentObjects() {
        for (List<Supplier<Object>> kind : KINDS) {
            assertThat(kind.stream().map(Supplier::get)).doesNotHaveDuplicates();
            assertThat(kind.stream().map(value -> value.get().toString())).doesNotHaveDuplicates();
            // two may have the same hash, but a constant one would make maps slow
            assertThat(kind.stream().map(value -> value.get().hashCode()).distinct())
                    .hasSizeGreaterThanOrEqualTo(kind.size() - 1);
        }
    }

    @Test
    void descriptionsNameEverySetting() {
        assertThat(Frequencies.of(1, 0.5).scaledBy(3).scaledBy(0.25))
                .hasToString(
                        "Scaled(frequencies=Scaled(frequencies=Given(values=[1.0, 0.5]), factor=3.0), factor=0.25)");
        assertThat(RotaryScaling.dynamicNtk(2, 2048, 4096).frequencies(64, 10_000))
                .hasToString("Rotary(rotarySize=64, base=10000.0,"
                        + " scaling=DynamicNtk(factor=2.0, originalLength=2048, length=4096))");
        assertThat(GridEncoding.visionTransformer(8))
                .hasToString("GridEncoding(axes=2, parts=[Part(axis=1, encoding=" + SinusoidalEncoding.xTransformers(4)
                        + ", first=0, count=4), Part(axis=0, encoding=" + SinusoidalEncoding.xTransformers(4)
                        + ", first=0, count=4)], channels=8, offset=0.0, scale=1.0)");
        assertThat(SinusoidalEncoding.vaswani(7))
                .hasToString(
                        "SinusoidalEncoding(embeddingSize=7, frequencies=Geometric(count=4, base=10000.0, period=3.5),"
                                + " layout=INTERLEAVED, cosineFirst=false, oddSize=KEPT_IN_EXPONENT)");
    }

    @Test
    void shorterSettingsGiveEqualEncodings() {
        assertThat(SinusoidalEncoding.fairseq(9)).isEqualTo(SinusoidalEncoding.tensor2tensor(9, 1, 10_000));
        assertThat(SinusoidalEncoding.builder().setEmbeddingSize(64).build()).isEqualTo(SinusoidalEncoding.vaswani(64));
        assertThat(SinusoidalEncoding.fromArguments(Map.of("embeddingSize", 4, "base", 500)))
                .isEqualTo(SinusoidalEncoding.vaswani(4, 500));
    }
}
