package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HeatMapTest {

    @TempDir
    private static Path folder;

    private static ChapterRun run;

    @BeforeAll
    static void write() {
        run = ChapterRun.of(HeatMap::write, folder);
    }

    /** Returns the formula of the paper, section 3.5. */
    private static double paper(int position, int dimension, int size) {
        double angle = position / Math.pow(10_000, (dimension - dimension % 2) / (double) size);
        return dimension % 2 == 0 ? Math.sin(angle) : Math.cos(angle);
    }

    @Test
    void rowsArePositionsAndColumnsAreDimensions() {
        HeatMapChart map = run.map("heat-map", "Sinusoidal encodings");
        assertThat(map.xTitle()).isEqualTo("dimension");
        assertThat(map.yTitle()).isEqualTo("position");
        assertThat(map.rows()).hasSize(100);
        assertThat(map.columns()).isEqualTo(64);
        for (int position : new int[] {0, 1, 50, 99}) {
            for (int dimension : new int[] {0, 1, 30, 63}) {
                assertThat(ChapterRun.value(map, position, dimension))
                        .isCloseTo(paper(position, dimension, 64), within(0x1p-25));
            }
        }
    }

    @Test
    void wavesBecomeLonger() {
        // 2π · 10^(4 · dimension / 64)
        assertThat(run.after("dimension  0: a wave of")).isEqualTo(6.3);
        assertThat(run.after("dimension 16: a wave of")).isEqualTo(62.8);
        assertThat(run.after("dimension 32: a wave of")).isEqualTo(628.3);
        assertThat(run.after("dimension 40: a wave of")).isEqualTo(1986.9);
        assertThat(run.after("dimension 62: a wave of")).isEqualTo(47117.2);
    }

    @Test
    void columnsAreCurves() {
        LineChart columns = run.lines("heat-map-columns", "Dimensions 6 to 9 of 32");
        for (int dimension = 6; dimension <= 9; dimension++) {
            assertThat(columns.series(dimension + (dimension % 2 == 0 ? " (sine)" : " (cosine)"))
                            .y()[59])
                    .isCloseTo(paper(59, dimension, 32), within(59 * 0x1p-52));
        }
    }

    @Test
    void noTwoOf2000RowsAreNearerThanNeighbors() {
        // numpy: the greatest Σ cos(k · 10000^(-i/32)) of the distances k = 1 to 1999 is that of 1, and √(2 · (32 - Σ))
        assertThat(run.after("least distance of any two positions:")).isEqualTo(1.4718);
        assertThat(run.after("distance of positions 1000 and 1001:")).isEqualTo(1.4718);
        assertThat(run.after("distance of positions 0 and 1000:")).isEqualTo(6.7932);
    }
}
