package io.github.djlpositional.relative;

import static io.github.djlpositional.attention.TestNumbers.requireClose;
import static io.github.djlpositional.support.Rejections.rejected;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assertions.assertAll;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import io.github.djlpositional.math.Frequencies;
import io.github.djlpositional.math.RotaryAxes;
import io.github.djlpositional.relative.MropePositions.Grid;
import io.github.djlpositional.support.Forward;
import io.github.djlpositional.support.OnEachEngine;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The presets beside {@code src/test/python/make_rotary.py}, which follows the models' published code with torch. */
class RotaryPresetsTest extends OnEachEngine {

    /** The coordinates are null where the test draws them. */
    @SuppressWarnings("ImmutableEnumChecker") // suppliers have no state
    enum Preset {
        QWEN2_VL("qwen2Vl", () -> RotaryPresets.qwen2Vl(128, 1e6, 16, 24, 24), null),
        QWEN3_VL("qwen3Vl", () -> RotaryPresets.qwen3Vl(128, 5e6, 24, 20, 20), null),
        ERNIE45_VL("ernie45Vl", () -> RotaryPresets.ernie45Vl(128, 5e5, 22), null),
        FLUX("flux", RotaryPresets::flux, null),
        COG_VIDEO_X("cogVideoX", () -> RotaryPresets.cogVideoX(64), () -> RotaryPresets.positions(2, 3, 2)),
        PIXTRAL("pixtral", () -> RotaryPresets.pixtral(64), () -> RotaryPresets.positions(3, 5)),
        QWEN_VISION("qwenVision", () -> RotaryPresets.qwenVision(80), () -> RotaryPresets.positions(4, 3)),
        AXIAL("axial", () -> RotaryPresets.axial(72, 1e4, 2), () -> RotaryPresets.positions(3, 5)),
        AXIAL_OF_THREE("axialOfThree", () -> RotaryPresets.axial(80, 1e4, 3), () -> RotaryPresets.positions(2, 3, 4)),
        GEMMA4_VISION("gemma4Vision", () -> RotaryPresets.gemma4Vision(72, 100), () -> RotaryPresets.positions(3, 5)),
        EVA("eva", () -> RotaryPresets.eva(64), () -> RotaryPresets.evaPositions(1, 16, 3, 5)),
        DINOV3("dinov3", () -> RotaryPresets.dinov3(64), () -> RotaryPresets.dinov3Positions(5, 3, 5)),
        LLAMA4_VISION(
                "llama4Vision", () -> RotaryPresets.llama4Vision(88), () -> RotaryPresets.llama4VisionPositions(3, 3));

        private final String name;
        private final Supplier<RotaryEmbeddingBlock.Builder> builder;
        private final Supplier<double[][]> positions;

        Preset(String name, Supplier<RotaryEmbeddingBlock.Builder> builder, Supplier<double[][]> positions) {
            this.name = name;
            this.builder = builder;
            this.positions = positions;
        }

        /** The block, with a table of all positions of the test. */
        RotaryEmbeddingBlock block() {
            return builder.get().optMaxSequenceLength(200).build();
        }

        NDArray stored(NDManager manager, String what) {
            return RotaryPresetsTest.stored(manager, name + "." + what);
        }
    }

    static NDArray stored(NDManager manager, String name) {
        try (ZipFile file = new ZipFile("src/test/resources/rotary/presets.npz");
                InputStream in = file.getInputStream(file.getEntry(name + ".npy"))) {
            return NDList.decode(manager, in).head();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @EnumSource
    void rotatesAsThePublishedCode(Preset preset) {
        RotaryEmbeddingBlock block = preset.block();
        NDArray x = preset.stored(manager, "input");
        NDArray positions = preset.stored(manager, "positions");
        double[] expected = preset.stored(manager, "output").toDoubleArray();
        // angles of up to 200 radians in one double, in torch and in the library's second factors: 200 · 2^-53
        requireClose(Forward.infer(manager, block, x, positions), expected, 1e-12);
        if (preset != Preset.EVA && preset != Preset.DINOV3) {
            NDArray integers = positions.toType(DataType.INT32, false);
            requireClose(Forward.infer(manager, block, x, integers), expected, 1e-12);
        }
        NDArray y = Forward.infer(manager, block, x.toType(DataType.FLOAT16, true), positions);
        assertThat(y.getDataType()).isEqualTo(DataType.FLOAT16);
        // x, the cosine, the sine, two products and a sum are rounded, of numbers up to 6
        requireClose(y, expected, 6 * 0x1p-9);
    }

    @ParameterizedTest
    @EnumSource
    void positionsAreThoseOfThePublishedCode(Preset preset) {
        if (preset.positions != null) {
            NDArray positions = manager.create(preset.positions.get()).expandDims(1);
            NDArray expected = preset.stored(manager, "positions");
            assertThat(positions.getShape()).isEqualTo(expected.getShape());
            // a product and a quotient in another order
            assertThat(positions.toDoubleArray()).containsExactly(expected.toDoubleArray(), within(1e-14));
        }
    }

    @ParameterizedTest
    @EnumSource
    void equalCoordinatesAreOnePosition(Preset preset) {
        RotaryEmbeddingBlock block = preset.block();
        NDArray x = preset.stored(manager, "input");
        long batch = x.getShape().get(0);
        int length = (int) x.getShape().get(2);
        int axes = block.getAxes().axisCount();
        NDArray one = manager.arange(3, 3 + length);
        // two products of numbers up to 6 and their sum
        double[] expected = Forward.inferFrom(manager, 3, block, x).toDoubleArray();
        requireClose(Forward.infer(manager, block, x, one), expected, 1e-14);
        for (DataType type : new DataType[] {DataType.INT32, DataType.INT64, DataType.FLOAT64}) {
            NDArray same = one.reshape(1, 1, length).repeat(0, axes).toType(type, false);
            requireClose(Forward.infer(manager, block, x, same), expected, 1e-14);
            requireClose(Forward.infer(manager, block, x, same.repeat(1, batch)), expected, 1e-14);
        }
    }

    /** The documentation of timm's {@code RotaryEmbeddingMRope}: 12 pairs of each axis, or 11, 11 and 10. */
    @ParameterizedTest
    @CsvSource({"72, 12, 12, 12", "64, 11, 11, 10"})
    void sectionsOfGenLipNeedNotFillAHead(int headSize, long time, long rows, long columns) {
        List<Integer> axes =
                RotaryPresets.genLip(headSize, 8, 12, 12).build().getAxes().axes();
        assertThat(axes).hasSize(headSize / 2).startsWith(0, 1, 2, 0, 1, 2);
        assertThat(IntStream.range(0, 3).mapToLong(axis -> Collections.frequency(axes, axis)))
                .containsExactly(time, rows, columns);
    }

    @Test
    void pairsBehindTheSectionsOfGenLipAreOfTime() {
        assertThat(RotaryPresets.genLip(24, 1, 3, 2).build().getAxes())
                .isEqualTo(RotaryAxes.of(0, 1, 2, 0, 1, 2, 0, 1, 0, 0, 0, 0));
    }

    /** Of 44 dimensions, 2 · ⌊44 / 6⌋ = 14 each are for rows and columns, and the other 16 for frames. */
    @Test
    void axesSideBySideHaveFrequenciesOfTheirSizes() {
        RotaryEmbeddingBlock wan = RotaryPresets.wan(44).build();
        assertThat(wan.getAxes()).isEqualTo(RotaryAxes.sections(8, 7, 7));
        assertThat(wan.getArguments())
                .isEqualTo(RotaryPresets.sideBySide(10_000, 16, 14, 14).build().getArguments());
        RotaryEmbeddingBlock bases =
                RotaryPresets.sideBySide(new double[] {100, 400}, 4, 8).build();
        assertThat(bases.getArguments())
                .isEqualTo(RotaryEmbeddingBlock.builder()
                        .setHeadSize(12)
                        .optFrequencies(
                                Frequencies.joined(Frequencies.geometric(2, 100, 2), Frequencies.geometric(4, 400, 4)))
                        .optAxes(RotaryAxes.sections(2, 4))
                        .build()
                        .getArguments());
    }

    /** {@code QwenEmbedRope} with two tokens of text, and images of 1 × 3 × 2 and 2 × 1 × 1 cells. */
    @Test
    void qwenImageCountsFromTheMiddle() {
        double[][] positions = RotaryPresets.qwenImagePositions(2, Grid.of(1, 3, 2), Grid.of(2, 1, 1));
        assertThat(positions).isDeepEqualTo(new double[][] {
            {1, 2, 0, 0, 0, 0, 0, 0, 1, 2}, {1, 2, -2, -2, -1, -1, 0, 0, -1, -1}, {1, 2, -1, 0, -1, 0, -1, 0, -1, -1}
        });
        assertThat(RotaryPresets.qwenImagePositions(2)).isDeepEqualTo(new double[][] {{0, 1}, {0, 1}, {0, 1}});
    }

    /** {@code _prepare_text_ids}, {@code _prepare_latent_ids} and {@code _prepare_image_ids} of diffusers. */
    @Test
    void flux2CountsTokensAndImages() {
        assertThat(RotaryPresets.flux2Positions(2, Grid.of(1, 1, 2), Grid.of(1, 2, 1)))
                .isDeepEqualTo(
                        new double[][] {{0, 0, 0, 0, 10, 10}, {0, 0, 0, 0, 0, 1}, {0, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 0, 0}
                        });
    }

    @Test
    void rejectsSizesOfAxesAndImages() {
        assertAll(
                rejected(() -> RotaryPresets.sideBySide(10_000, 16, 15), "size 15", "[16, 15]", "even"),
                rejected(() -> RotaryPresets.sideBySide(10_000, 16, 0), "size 0"),
                rejected(() -> RotaryPresets.sideBySide(10_000), "number of sections 0"),
                rejected(() -> RotaryPresets.sideBySide(new double[1], 16, 16), "1 bases", "[16, 16]"),
                rejected(() -> RotaryPresets.sideBySide(new double[2], 16, 16), "base 0.0"),
                rejected(() -> RotaryPresets.wan(4), "headSize 4"),
                rejected(() -> RotaryPresets.wan(127), "headSize 127"),
                rejected(() -> RotaryPresets.vjepa2(5), "headSize 5"),
                rejected(() -> RotaryPresets.hunyuanVl(128, 10_000, 8, 8, 8, 8), "[8, 8, 8, 8]", 32, 128),
                rejected(() -> RotaryPresets.hunyuanVl(128, 10_000, 64, 0), "section 0"),
                rejected(() -> RotaryPresets.flux2Positions(-1), "textTokens -1"),
                rejected(() -> RotaryPresets.flux2Positions(3, Grid.of(2, 4, 4)), "frames=2", "one frame"),
                rejected(() -> RotaryPresets.qwenImagePositions(3, Grid.of(1 << 20, 1 << 20, 1 << 20)), "token count"));
    }

    @Test
    void rejectsSectionsThatDoNotFillAHead() {
        assertAll(
                rejected(() -> RotaryPresets.qwen2Vl(72, 10_000, 8, 12, 12).build(), "32 pairs", "36 pairs"),
                rejected(() -> RotaryPresets.qwen3Vl(72, 10_000, 8, 12, 12), "[8, 12, 12]", "12 of 36", "expected 8"),
                rejected(() -> RotaryPresets.genLip(72, 12, 12), "[12, 12]", "three", "mrope_section"),
                rejected(() -> RotaryPresets.genLip(72, 8, 0, 12), "section 0"),
                rejected(() -> RotaryPresets.genLip(4, 8, 12, 12), "headSize 4"));
    }

    @Test
    void rejectsSizesThatThePresetsDoNotHave() {
        assertAll(
                rejected(() -> RotaryPresets.axial(64, 10_000, 4), "axes 4"),
                rejected(() -> RotaryPresets.ernie45Vl(128, 500_000, 32), "rowPairs 32"));
    }
}
