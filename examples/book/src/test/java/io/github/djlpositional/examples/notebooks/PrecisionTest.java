package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Expected numbers of the usual formula are those of numpy, compared with mpmath. */
class PrecisionTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
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

    /** Neighbors that float16 rounds to one number; √(2 · (32 - Σ cos(10000^(-k/32)))) = 1.47184805 in numpy. */
    @Test
    void roundedPositionsMakeNeighborsEqual() {
        assertThat(run.after("from  2048 to the next: usual")).isZero();
        assertThat(run.after("from  5001 to the next: usual")).isZero();
        assertThat(run.after("from 20001 to the next: usual 0.000, library")).isEqualTo(1.472);
    }
}
