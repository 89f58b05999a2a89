package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.knowm.xchart.XYChart;

/** Expected means and deviations are those of 30 runs of the same experiment in numpy; tolerances are 5 deviations. */
class AddedToAWordTest {

    @TempDir
    private static Path folder;

    private static ChapterRun run;

    @BeforeAll
    static void write() {
        run = ChapterRun.of(AddedToAWord::write, folder);
    }

    @Test
    void positionsAreOnACircleAroundTheWord() {
        XYChart plane = run.lines("added-to-a-word", "One word at seven positions");
        assertThat(plane.getXAxisTitle()).isEqualTo("dimension 1");
        assertThat(plane.getYAxisTitle()).isEqualTo("dimension 0");
        for (int position = 0; position < 7; position++) {
            assertThat(plane.getSeries("word + position").getXData()[position])
                    .isCloseTo(1.5 + Math.cos(position), within(1e-15));
            assertThat(plane.getSeries("word + position").getYData()[position])
                    .isCloseTo(-0.5 + Math.sin(position), within(1e-15));
        }
    }

    @Test
    void allPositionsHaveTheSameLength() {
        // √(512 / 2); 512 squares rounded to float
        assertThat(run.after("shortest position")).isCloseTo(16, within(16 * 512 * 0x1p-24));
        assertThat(run.after("longest position")).isCloseTo(16, within(16 * 512 * 0x1p-24));
    }

    @Test
    void wordsHaveTheLengthOfTheirDistribution() {
        // √2 · Γ(256.5) / Γ(256), and times √(2 / 512)
        assertThat(run.after("mean length of 1000 words, N(0, 1)\n")).isCloseTo(22.6164, within(5 * 0.026));
        assertThat(run.after("mean length of 1000 words, N(0, 2/d)\n")).isCloseTo(1.41352, within(5 * 0.026 / 16));
    }

    @Test
    void wordsAndPositionsAreNearlyAtRightAngles() {
        assertThat(run.after("mean size of the cosine of a word and a position"))
                .isCloseTo(0.03517, within(5 * 0.00055));
    }

    @Test
    void bothCanBeReadFromTheSum() {
        String rows = run.printed().substring(run.printed().indexOf("share of"));
        double[] numbers = new ChapterRun(rows, run.notebook()).after("N(0, 1)", 2);
        assertThat(numbers[0]).isCloseTo(0.937, within(5 * 0.0069));
        assertThat(numbers[1]).isEqualTo(1);
        numbers = new ChapterRun(rows, run.notebook()).after("N(0, 2/d)", 2);
        assertThat(numbers[0]).isEqualTo(1);
        assertThat(numbers[1]).isCloseTo(0.109, within(5 * 0.0217));
    }
}
