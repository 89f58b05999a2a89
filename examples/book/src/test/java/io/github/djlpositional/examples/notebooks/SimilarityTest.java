package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.LineChart;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The numbers are those of numpy: {@code np.cos(k * 10000.0 ** (-np.arange(d // 2) * 2 / d)).sum()}. */
class SimilarityTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(Similarity::write, folder);
    }

    @Test
    void onlyTheDistanceMatters() {
        assertThat(run.after("distance  1:", 2)).containsExactly(30.9168, 30.9168);
        assertThat(run.after("distance 10:", 2)).containsExactly(21.0516, 21.0516);
        assertThat(run.after("distance 50:", 2)).containsExactly(15.6738, 15.6738);
    }

    @Test
    void itRisesAgain() {
        assertThat(run.after("distance   5:")).isEqualTo(23.504);
        assertThat(run.after("distance   6:")).isEqualTo(23.559);
        assertThat(run.after("distance  30:")).isEqualTo(17.072);
        assertThat(run.after("distance  96:")).isEqualTo(10.770);
        assertThat(run.after("distance 100:")).isEqualTo(17.875);
        assertThat(run.after("distance 101:")).isEqualTo(18.522);
        assertThat(run.after("turns of pair 0 in 101 positions:")).isEqualTo(16.07);
        LineChart.Series curve =
                run.lines("similarity", "Similarity of two positions").series("64 dimensions");
        assertThat(curve.x()[220]).isEqualTo(100);
        assertThat(curve.y()[220]).isCloseTo(17.8747, within(1e-4));
        assertThat(curve.x()[20]).isEqualTo(-100);
        assertThat(curve.y()[20]).isCloseTo(17.8747, within(1e-4));
    }

    @Test
    void moreDimensionsFallMoreEvenly() {
        assertThat(run.after("   64 dimensions:", 3)).containsExactly(39, 100, 0.0864);
        assertThat(run.after("512 dimensions:", 3)).containsExactly(14, 100, 0.0008);
    }
}
