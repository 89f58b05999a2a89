package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.djlpositional.Goldens;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The published conventions against their published formulas, and the page that lists them. */
class ConventionsTest {

    private static SinusoidalEncoding named(String convention, int size) {
        return switch (convention) {
            case "ddpm" -> SinusoidalEncoding.diffusion(size);
            case "improved-diffusion" -> SinusoidalEncoding.diffusion(size, 0, 1, true);
            case "diffusers flipped" -> SinusoidalEncoding.diffusion(size, 1, 1, true);
            case "diffusers scale 1000" -> SinusoidalEncoding.diffusion(size, 0, 1000, false);
            case "bert4keras 10000" -> SinusoidalEncoding.bert4keras(size, 10_000);
            case "bert4keras 500" -> SinusoidalEncoding.bert4keras(size, 500);
            case "x-transformers" -> SinusoidalEncoding.xTransformers(size);
            default -> throw new IllegalArgumentException(convention);
        };
    }

    @Test
    void followTheirPublishedCode() {
        // reference: goldens/conventions.csv, the published code's formulas in mpmath (src/test/python)
        for (String[] row : Goldens.rows("conventions.csv")) {
            SinusoidalEncoding encoding = named(row[0], Integer.parseInt(row[1]));
            double position = Double.parseDouble(row[2]);
            int dimension = Integer.parseInt(row[3]);
            BigDecimal expected = new BigDecimal(row[4]);
            assertThat(Goldens.doubleUlps(encoding.value(position, dimension), expected))
                    .as("%s", (Object) row)
                    .isLessThanOrEqualTo(2);
            if (position == Math.rint(position)) {
                assertThat(Goldens.floatUlps(encoding.table((int) position, 1)[dimension], expected))
                        .isLessThanOrEqualTo(0.501);
            }
        }
    }

    @Test
    void fairseqIsTensor2tensorWithItsUsualTimescales() {
        assertThat(SinusoidalEncoding.fairseq(9)).isEqualTo(SinusoidalEncoding.tensor2tensor(9, 1, 10_000));
    }

    @Test
    void roundedUpIsTheNextEvenSizeWithoutItsLastDimension() {
        float[] odd = SinusoidalEncoding.roundedUp(5).table(0, 20);
        float[] even = SinusoidalEncoding.vaswani(6).table(0, 20);
        for (int row = 0; row < 20; row++) {
            for (int dimension = 0; dimension < 5; dimension++) {
                assertThat(odd[row * 5 + dimension]).isEqualTo(even[row * 6 + dimension]);
            }
        }
        assertThat(SinusoidalEncoding.roundedUp(6).table(0, 20)).isEqualTo(even);
    }

    @Test
    void evenConventionsRefuseOddSizes() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SinusoidalEncoding.bert4keras(7, 10_000))
                .withMessageContaining("embedding size 7 is odd")
                .withMessageContaining("give an even size");
        assertThatIllegalArgumentException().isThrownBy(() -> SinusoidalEncoding.xTransformers(7));
    }

    @Test
    void diffusionRefusesAShiftThatLeavesNoFrequencies() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SinusoidalEncoding.diffusion(3))
                .withMessageContaining("frequency shift 1.0 is not below the 1 pairs of size 3");
        assertThatIllegalArgumentException().isThrownBy(() -> SinusoidalEncoding.diffusion(8, Double.NaN, 1, false));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> SinusoidalEncoding.diffusion(8, 0, 0, false))
                .withMessageContaining("scale 0.0 is no factor");
        assertThatIllegalArgumentException().isThrownBy(() -> SinusoidalEncoding.diffusion(-4));
    }

    /** A line of the page's table. */
    private record Line(String convention, String configuration, String users, SinusoidalEncoding encoding) {
        String text() {
            String values = IntStream.range(0, 8)
                    .mapToObj(dimension -> String.format(Locale.ROOT, "%.5f", encoding.value(1, dimension)))
                    .collect(Collectors.joining(" "));
            return "| " + convention + " | `" + configuration + "` | " + users + " | " + values + " |";
        }
    }

    private static final List<Line> PAGE = List.of(
            new Line(
                    "the paper's",
                    "vaswani(8)",
                    "Vaswani et al. 2017, D2L, the usual PyTorch module, KerasHub",
                    SinusoidalEncoding.vaswani(8)),
            new Line(
                    "tensor2tensor",
                    "tensor2tensor(8, 1, 10_000)",
                    "tensor2tensor's `get_timing_signal_1d`, Whisper's encoder",
                    SinusoidalEncoding.tensor2tensor(8, 1, 10_000)),
            new Line("fairseq", "fairseq(8)", "fairseq and models converted from it", SinusoidalEncoding.fairseq(8)),
            new Line(
                    "rounded up",
                    "roundedUp(8)",
                    "Géron's *Hands-On Machine Learning*, second edition; multidim-positional-encoding (odd sizes differ)",
                    SinusoidalEncoding.roundedUp(8)),
            new Line(
                    "bert4keras",
                    "bert4keras(8, 10_000)",
                    "bert4keras's `sinusoidal_embeddings` (even sizes, any base)",
                    SinusoidalEncoding.bert4keras(8, 10_000)),
            new Line(
                    "x-transformers",
                    "xTransformers(8)",
                    "x-transformers' `ScaledSinusoidalEmbedding`, before its learned scale",
                    SinusoidalEncoding.xTransformers(8)),
            new Line("DDPM", "diffusion(8)", "DDPM", SinusoidalEncoding.diffusion(8)),
            new Line(
                    "improved diffusion",
                    "diffusion(8, 0, 1, true)",
                    "improved-diffusion, Stable Diffusion, diffusers' U-Nets by default",
                    SinusoidalEncoding.diffusion(8, 0, 1, true)),
            new Line(
                    "diffusers' DiT",
                    "diffusion(8, 1, 1, true)",
                    "DiT in diffusers",
                    SinusoidalEncoding.diffusion(8, 1, 1, true)),
            new Line(
                    "cosine first",
                    "builder().setEmbeddingSize(8).optCosineFirst(true).build()",
                    "some texts",
                    SinusoidalEncoding.builder()
                            .setEmbeddingSize(8)
                            .optCosineFirst(true)
                            .build()),
            new Line(
                    "any frequencies",
                    "builder().setEmbeddingSize(8).optFrequencies(Frequencies.of(1, 0.5, 0.25, 0.125)).build()",
                    "yours",
                    SinusoidalEncoding.builder()
                            .setEmbeddingSize(8)
                            .optFrequencies(Frequencies.of(1, 0.5, 0.25, 0.125))
                            .build()));

    @Test
    void thePageListsThemWithTheirValues() throws IOException {
        String expected = PAGE.stream().map(Line::text).collect(Collectors.joining("\n"));
        assertThat(Files.readString(Path.of("docs", "conventions.md"))).contains(expected);
    }
}
