package io.github.djlpositional.math;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.Goldens;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
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

    private static final Map<String, SinusoidalEncoding> PAGE = Map.ofEntries(
            Map.entry("vaswani(8)", SinusoidalEncoding.vaswani(8)),
            Map.entry("tensor2tensor(8, 1, 10_000)", SinusoidalEncoding.tensor2tensor(8, 1, 10_000)),
            Map.entry("fairseq(8)", SinusoidalEncoding.fairseq(8)),
            Map.entry("roundedUp(8)", SinusoidalEncoding.roundedUp(8)),
            Map.entry("bert4keras(8, 10_000)", SinusoidalEncoding.bert4keras(8, 10_000)),
            Map.entry("xTransformers(8)", SinusoidalEncoding.xTransformers(8)),
            Map.entry("diffusion(8)", SinusoidalEncoding.diffusion(8)),
            Map.entry("diffusion(8, 0, 1, true)", SinusoidalEncoding.diffusion(8, 0, 1, true)),
            Map.entry("diffusion(8, 1, 1, true)", SinusoidalEncoding.diffusion(8, 1, 1, true)),
            Map.entry(
                    "builder().setEmbeddingSize(8).optCosineFirst(true).build()",
                    SinusoidalEncoding.builder()
                            .setEmbeddingSize(8)
                            .optCosineFirst(true)
                            .build()),
            Map.entry(
                    "builder().setEmbeddingSize(8).optFrequencies(Frequencies.of(1, 0.5, 0.25, 0.125)).build()",
                    SinusoidalEncoding.builder()
                            .setEmbeddingSize(8)
                            .optFrequencies(Frequencies.of(1, 0.5, 0.25, 0.125))
                            .build()));

    @Test
    void thePageListsThemWithTheirValues() throws IOException {
        // a row of the table: | name | `configuration` | where it is used | values at position 1 |
        String page = Files.readString(Path.of("docs", "conventions.md"));
        PAGE.forEach((configuration, encoding) -> {
            String values = IntStream.range(0, 8)
                    .mapToObj(dimension -> String.format(Locale.ROOT, "%.5f", encoding.value(1, dimension)))
                    .collect(Collectors.joining(" "));
            assertThat(page)
                    .containsPattern("(?m)^\\| [^|]+ \\| " + Pattern.quote("`" + configuration + "`")
                            + " \\| [^|]+ \\| " + Pattern.quote(values) + " \\|$");
        });
    }
}
