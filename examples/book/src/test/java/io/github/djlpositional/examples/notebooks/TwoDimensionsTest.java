package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.HeatMapChart;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TwoDimensionsTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(TwoDimensions::write, folder);
    }

    /** numpy: (Σ cos(rows · ω) + Σ cos(columns · ω)) / 32 with the 16 frequencies ω = 10000^(-k/16). */
    @ParameterizedTest
    @CsvSource({"0, 0, 0.763, 0.525", "4, 10, 0.868, 0.707", "8, 8, 0.857, 0.714"})
    void similarityIsThatOfRowsAndColumns(int row, int column, double inRow, double inCorner) {
        String place = String.format("row %d, column %-2d ", row, column);
        assertThat(run.after(place, 3)).containsExactly(1, inRow, inCorner);
        HeatMapChart map = run.map("two-dimensions-grid", "Row " + row + ", column " + column);
        assertThat(map.xTitle()).isEqualTo("column");
        assertThat(map.yTitle()).isEqualTo("row");
        assertThat(ChapterRun.value(map, row, 15)).isCloseTo(inRow, within(5e-4));
        assertThat(ChapterRun.value(map, 15, 15)).isCloseTo(inCorner, within(5e-4));
        assertThat(ChapterRun.value(map, row, column)).isCloseTo(1, within(1e-6));
    }

    /** numpy: Σ cos(d · 10000^(-k/32)) / 32. */
    @Test
    void aNumberHidesTheNeighborhood() {
        assertThat(run.after("number 74 to the right:")).isEqualTo(0.966);
        assertThat(run.after("number 74 below:")).isEqualTo(0.605);
        assertThat(run.after("number 74 to the next row:")).isEqualTo(0.736);
    }

    @Test
    void rotaryScoresDependOnBothDifferences() {
        double score = run.after("from (2, 3) to (4, 8):");
        // twelve digits are printed; a sum of 64 products
        assertThat(run.after("from (9, 6) to (11, 11):")).isCloseTo(score, within(1.1e-12));
        assertThat(run.after("from (2, 3) to (8, 4):")).isNotCloseTo(score, within(1e-3));
    }

    @Test
    void windowIndexIsThatOfSwin() {
        // relative_position_index of the published code for a window of 2 by 2
        assertThat(run.after("query 0 ", 4)).containsExactly(4, 3, 1, 0);
        assertThat(run.after("query 1 ", 4)).containsExactly(5, 4, 2, 1);
        assertThat(run.after("query 2 ", 4)).containsExactly(7, 6, 4, 3);
        assertThat(run.after("query 3 ", 4)).containsExactly(8, 7, 5, 4);
        HeatMapChart map = run.map("two-dimensions-window", "Row of the table, 4 by 4 patches");
        // (y - y' + 3) · 7 + x - x' + 3
        assertThat(ChapterRun.value(map, 0, 0)).isEqualTo(24);
        assertThat(ChapterRun.value(map, 0, 15)).isEqualTo(0);
        assertThat(ChapterRun.value(map, 15, 0)).isEqualTo(48);
        assertThat(ChapterRun.value(map, 4, 3)).isEqualTo(28);
    }
}
