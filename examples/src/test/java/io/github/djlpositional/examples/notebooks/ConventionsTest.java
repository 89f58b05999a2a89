package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;

/** Expected numbers are those of the published formulas, computed with numpy. */
class ConventionsTest {

    @TempDir
    private static Path folder;

    private static ChapterRun run;

    @BeforeAll
    static void write() {
        run = ChapterRun.of(Conventions::write, folder);
    }

    @Test
    void equalConventionsAreOneGroup() {
        assertThat(run.printed().lines().filter(line -> line.startsWith("     ") && line.contains("0.5")))
                .map(String::strip)
                .containsSequence(
                        "0.84147 0.54030 0.09983 0.99500 0.01000 0.99995 0.00100 1.00000",
                        "0.84147 0.04640 0.00215 0.00010 0.54030 0.99892 1.00000 1.00000",
                        "0.84147 0.09983 0.01000 0.00100 0.54030 0.99500 0.99995 1.00000",
                        "0.54030 0.99500 0.99995 1.00000 0.84147 0.09983 0.01000 0.00100",
                        "0.54030 0.99892 1.00000 1.00000 0.84147 0.04640 0.00215 0.00010",
                        "0.54030 0.84147 0.99500 0.09983 0.99995 0.01000 1.00000 0.00100");
        assertThat(run.printed())
                .contains("KerasHub; Géron (2nd edition), multidim-positional-encoding; bert4keras\n")
                .contains("tensor2tensor, Whisper; fairseq; DDPM\n");
    }

    @Test
    void groupsDifferInThreeThings() {
        assertThat(run.printed())
                .containsPattern("neighbours +sine +1/1000 +Vaswani")
                .containsPattern("halves +sine +1/10000 +tensor2tensor")
                .containsPattern("halves +sine +1/1000 +x-transformers")
                .containsPattern("halves +cosine +1/1000 +improved-diffusion")
                .containsPattern("halves +cosine +1/10000 +DiT")
                .containsPattern("neighbours +cosine +1/1000 +some texts");
    }

    @Test
    void arrangementsShowTheSameNumbersInOtherColumns() {
        double sine = Math.sin(7 * Math.pow(10_000, -3 / 8.0)); // pair 3 of 8, position 7
        double cosine = Math.cos(7 * Math.pow(10_000, -3 / 8.0));
        assertPair("Neighbours, sine first", 6, sine, 7, cosine);
        assertPair("Neighbours, cosine first", 7, sine, 6, cosine);
        assertPair("Halves, sine first", 3, sine, 11, cosine);
        assertPair("Halves, cosine first", 11, sine, 3, cosine);
    }

    private static void assertPair(String title, int sineColumn, double sine, int cosineColumn, double cosine) {
        HeatMapChart map = run.map("conventions-arrangements", title);
        assertThat(ChapterRun.value(map, 7, sineColumn)).isCloseTo(sine, within(0x1p-25));
        assertThat(ChapterRun.value(map, 7, cosineColumn)).isCloseTo(cosine, within(0x1p-25));
    }

    @Test
    void frequenciesEndAtOneTenThousandthOnlyWhereDividedByOneLess() {
        XYChart curves = run.lines("conventions-frequencies", "Frequencies of 16 dimensions");
        assertThat(curves.getSeries("divided by n, the paper").getYData()[7])
                .isCloseTo(Math.pow(10_000, -7 / 8.0), within(1e-18));
        assertThat(curves.getSeries("divided by n - 1, tensor2tensor").getYData()[7])
                .isCloseTo(1e-4, within(1e-18));
        assertThat(curves.getSeries("powers of one half").getYData()[7]).isEqualTo(1 / 128.0);
    }

    @Test
    void oddSizesDiffer() {
        assertThat(run.after("kept in exponent ", 5)).containsExactly(0.84147, 0.54030, 0.02512, 0.99968, 0.00063);
        assertThat(run.after("rounded up ", 5)).containsExactly(0.84147, 0.54030, 0.04640, 0.99892, 0.00215);
        assertThat(run.after("zero padded ", 5)).containsExactly(0.84147, 0.54030, 0.01000, 0.99995, 0);
        HeatMapChart padded = run.map("conventions-odd-sizes", "Odd size: zero padded");
        assertThat(ChapterRun.value(padded, 99, 4)).isZero();
    }

    @Test
    void anotherConventionHasOtherVectors() {
        String last = run.printed().substring(run.printed().indexOf("It is 1 for the same vector."));
        assertThat(last)
                .contains(
                        "1.000  Vaswani",
                        "1.000  Géron",
                        "0.276  tensor2tensor",
                        "0.276  DDPM",
                        "0.275  x-transformers",
                        "0.262  improved-diffusion",
                        "0.261  DiT",
                        "0.168  some texts");
    }
}
