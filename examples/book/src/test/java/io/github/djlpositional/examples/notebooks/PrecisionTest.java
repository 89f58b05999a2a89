package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Expected numbers of the usual formula are those of numpy, compared with mpmath. */
class PrecisionTest {

    @TempDir
    private static Path folder;

    private static ChapterRun run;

    @BeforeAll
    static void write() {
        run = ChapterRun.of(Precision::write, folder);
    }

    @Test
    void theUsualFormulaLosesDigits() {
        assertThat(run.after("position      1: ", 2)).containsExactly(0.68156135, 0.68156135);
        assertThat(run.after("position    100: ", 2)).containsExactly(-0.39751369, -0.39751102);
        assertThat(run.after("position  10000: ", 2)).containsExactly(0.03975910, 0.03956047);
        assertThat(run.after("position 999999: ", 2)).containsExactly(0.99986351, 0.99998534);
    }

    @Test
    void errorsGrowWithThePosition() {
        assertThat(run.after("usual, float32 ", 3)).containsExactly(3.5e-8, 9.9e-5, 2.2e-2);
        assertThat(run.after("usual, float16 ", 3)).containsExactly(3.2e-4, 1.3, 2.0);
    }

    @Test
    void errorsOfTheLibraryAreRoundingErrors() {
        double[] single = run.after("library, float32 ", 3);
        double[] half = run.after("library, float16 ", 3);
        for (int i = 0; i < 3; i++) {
            // half of the distance between two numbers from 1/2 to 1
            assertThat(single[i]).isLessThanOrEqualTo(0x1p-25 * 1.01);
            assertThat(half[i]).isLessThanOrEqualTo(0x1p-12 * 1.01);
        }
    }

    @Test
    void halfPrecisionHasFewPositionsAbove2048() {
        // IEEE 754: 11 significant bits, ties to even
        assertThat(run.after(" 2047 in float16 is")).isEqualTo(2047);
        assertThat(run.after(" 2049 in float16 is")).isEqualTo(2048);
        assertThat(run.after(" 5001 in float16 is")).isEqualTo(5000);
        assertThat(run.after(" 5002 in float16 is")).isEqualTo(5000);
        assertThat(run.printed()).contains("70000 in float16 is Infinity");
    }

    /** Neighbors that float16 rounds to one number; √(2 · (32 - Σ cos(10000^(-k/32)))) = 1.47184805 in numpy. */
    @Test
    void roundedPositionsMakeNeighborsEqual() {
        assertThat(run.after("from  2048 to the next: usual")).isZero();
        assertThat(run.after("from  5001 to the next: usual")).isZero();
        assertThat(run.after("from 20001 to the next: usual 0.000, library")).isEqualTo(1.472);
    }
}
