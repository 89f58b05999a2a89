package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HeatMapTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(HeatMap::write, folder);
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
    void noTwoOf2000RowsAreNearerThanNeighbors() {
        // numpy: the greatest Σ cos(k · 10000^(-i/32)) of the distances k = 1 to 1999 is that of 1, and √(2 · (32 - Σ))
        assertThat(run.after("least distance of any two positions:")).isEqualTo(1.4718);
        assertThat(run.after("distance of positions 1000 and 1001:")).isEqualTo(1.4718);
        assertThat(run.after("distance of positions 0 and 1000:")).isEqualTo(6.7932);
    }
}
