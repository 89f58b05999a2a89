package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.djlpositional.examples.LineChart;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The expected numbers are those of the published formulas in Python. */
class ContextExtensionTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(ContextExtension::write, folder);
    }

    @Test
    void eighteenPairsMakeNoFullTurn() {
        // 10000^(-k/64) · 4096 / 2π
        assertThat(run.after("pair  0:")).isEqualTo(651.89865);
        assertThat(run.after("pair 45:")).isEqualTo(1.00388);
        assertThat(run.after("pair 46:")).isEqualTo(0.86932);
        assertThat(run.after("pair 63:")).isEqualTo(0.07528);
        assertThat(run.printed()).contains("46 pairs make a full turn, 18 do not");
    }

    @ParameterizedTest
    @CsvSource({
        "2, none, 18, 2.00, 1",
        "2, linear, 0, 1.00, 0.5",
        "2, NTK-aware, 17, 1.21, 1",
        "2, YaRN, 0, 1.00, 1",
        "2, Llama 3, 0, 1.00, 1",
        "8, none, 18, 8.00, 1",
        "8, linear, 0, 1.00, 0.125",
        "8, NTK-aware, 17, 1.75, 1",
        "8, YaRN, 0, 1.00, 1",
        "8, Llama 3, 0, 1.00, 1"
    })
    void anglesBeyondTheTraining(int factor, String scaling, double beyond, double farthest, double first) {
        String table = run.printed().substring(run.printed().indexOf(factor + " times    beyond"));
        double[] numbers = new ChapterRun(table, null).after(String.format("%n  %-10s ", scaling), 3);
        assertThat(numbers).containsExactly(beyond, farthest, first);
    }

    @Test
    void scalingsHaveTheSameColorsInAllPictures() {
        LineChart ratio = run.lines("context-extension-ratio", "Frequency with a scaling for 8 times the length");
        LineChart turns = run.lines("context-extension-turns", "Turns of the slow pairs over 32,768 positions");
        LineChart phi3 = run.lines("context-extension-longrope", "Phi-3 mini, 32 times the length");
        for (String scaling : List.of("linear", "NTK-aware", "YaRN")) {
            assertThat(turns.series(scaling).color())
                    .isEqualTo(ratio.series(scaling).color())
                    .isEqualTo(phi3.series(scaling).color());
        }
    }

    /** The rows of docs/choosing.md. */
    @Test
    void lossesAreThoseOfTheMeasuredTable() {
        ChapterRun losses = new ChapterRun(run.printed().substring(run.printed().indexOf("position     33-64")), null);
        assertThat(losses.after("none ", 4)).containsExactly(2.03, 2.06, 3.30, 3.71);
        assertThat(losses.after("linear ", 4)).containsExactly(3.52, 3.52, 3.56, 3.59);
        assertThat(losses.after("NTK-aware ", 4)).containsExactly(2.08, 2.08, 2.13, 2.89);
        assertThat(losses.after("YaRN ", 4)).containsExactly(2.21, 2.20, 2.26, 2.28);
    }

    @Test
    void longRopeSlowsTheSlowPairsMost() {
        ChapterRun phi3 = new ChapterRun(run.printed().substring(run.printed().indexOf("Phi-3 mini")), null);
        // long_factor of the published model
        assertThat(phi3.after(String.format("%n  LongRoPE   "), 4)).containsExactly(1.03, 3.69, 30.01, 64.81);
        assertThat(phi3.after(String.format("%n  linear     "), 4)).containsOnly(32);
        assertThat(phi3.after(String.format("%n  NTK-aware  "), 4)).containsExactly(1, 2.423, 5.869, 32);
        assertThat(phi3.after(String.format("%n  YaRN       "), 4)).containsExactly(1, 1, 1.848, 32);
        ChapterRun times = new ChapterRun(run.printed().substring(run.printed().indexOf("LongRoPE    beyond")), null);
        assertThat(times.after("beyond  farthest", 9)).containsExactly(2, 0, 0.03, 8, 0, 0.13, 32, 0, 0.53);
        // √(1 + ln 32 / ln 4096)
        assertThat(run.after("factor of cosines and sines, explained below:")).isEqualTo(1.1902);
    }
}
