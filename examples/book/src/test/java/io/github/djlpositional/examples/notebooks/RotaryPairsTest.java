package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.LineChart;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RotaryPairsTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(RotaryPairs::write, folder);
    }

    @Test
    void pairsTurnByTheirFrequencies() {
        // mpmath: cos and sin of 1, 0.1, 0.01, 0.001
        assertThat(run.printed())
                .contains("pair 0: (1.0000, 0.0000), then (0.5403, 0.8415)")
                .contains("pair 1: (1.0000, 0.0000), then (0.9950, 0.0998)")
                .contains("pair 2: (1.0000, 0.0000), then (1.0000, 0.0100)")
                .contains("pair 3: (1.0000, 0.0000), then (1.0000, 0.0010)");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 50})
    void scoresDependOnTheDistanceOnly(int distance) {
        double first = score(0, distance);
        for (int moved : new int[] {1, 100, 4000}) {
            // twelve digits are printed; the sum of 64 products has an error below 1e-13
            assertThat(score(moved, distance)).isCloseTo(first, within(1.1e-12));
        }
    }

    @Test
    void scoresOfOtherDistancesDiffer() {
        assertThat(score(0, 0)).isCloseTo(run.after("without turning:"), within(1.1e-12));
        assertThat(score(0, 3)).isNotCloseTo(score(0, 0), within(1e-3));
        assertThat(score(0, 50)).isNotCloseTo(score(0, 3), within(1e-3));
    }

    private static double score(int moved, int distance) {
        return run.after(String.format("i = %4d, j = %4d:", moved, moved + distance));
    }

    @Test
    void scoreOfAVectorWithItselfFallsWithWaves() {
        // numpy: the mean of cos(distance · base^(-k/32)), k = 0 … 31
        String small = String.format("base 10,000%n");
        String large = String.format("base 500,000%n");
        assertThat(run.after(small, 8)).containsExactly(1, 0.966, 10, 0.658, 100, 0.559, 999, 0.332);
        assertThat(run.after(large, 8)).containsExactly(1, 0.974, 10, 0.754, 100, 0.645, 999, 0.453);
        LineChart curves = run.lines("rotary-pairs-distance", "Score of a vector with itself");
        assertThat(curves.series("base 10,000").y()[100]).isCloseTo(0.559, within(5e-4));
        assertThat(curves.series("base 500,000").y()[100]).isCloseTo(0.645, within(5e-4));
    }

    @Test
    void aKeyThatIsTheQueryTurnedByOneIsGreatestBeforeIt() {
        // R₁₀ q · R₉ R₁ q = q · q; by the inequality of Cauchy and Schwarz no score is greater
        double largest = run.after("j - i = -1:");
        assertThat(largest).isEqualTo(run.after("length of the query, squared:"));
        for (String other : List.of("-3", "-2", "+0", "+1")) {
            assertThat(run.after("j - i = " + other + ":")).isLessThan(largest - 1);
        }
    }
}
