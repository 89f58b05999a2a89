package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.HeatMapChart;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Expected means and deviations are those of 30 runs of the same experiment in numpy; tolerances are 5 deviations. */
class AddedToAWordTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(AddedToAWord::write, folder);
    }

    @Test
    void allPositionsHaveTheSameLength() {
        // √(512 / 2); 512 squares rounded to float
        assertThat(run.after("shortest position")).isCloseTo(16, within(16 * 512 * 0x1p-24 + 5e-5));
        assertThat(run.after("longest position")).isCloseTo(16, within(16 * 512 * 0x1p-24 + 5e-5));
    }

    /** √2 · Γ(256.5) / Γ(256), and times √(2 / 512); cosines at one position: 256 / (length² + 256). */
    @Test
    void wordsHaveTheLengthOfTheirDistribution() {
        double[] unit = run.after("N(0, 1)  ", 2);
        assertThat(unit[0]).isCloseTo(22.6164, within(5 * 0.026));
        assertThat(unit[1]).isCloseTo(0.334, within(0.005));
        double[] small = run.after("N(0, 2/d)  ", 2);
        assertThat(small[0]).isCloseTo(1.41352, within(5 * 0.026 / 16));
        assertThat(small[1]).isCloseTo(0.992, within(0.001));
    }

    /** numpy: the same greedy choice takes 35 directions; the smallest possible number, by singular values, is 33. */
    @Test
    void positionsFillFewDimensions() {
        assertThat(run.after("up to a thousandth:")).isEqualTo(35);
    }

    @Test
    void bothCanBeReadFromTheSum() {
        ChapterRun table = new ChapterRun(run.printed().substring(run.printed().indexOf("word, as is")), null);
        double[] unit = table.after("N(0, 1) ", 4);
        assertThat(unit[0]).isCloseTo(0.937, within(5 * 0.0069));
        assertThat(unit).endsWith(1, 1, 1);
        double[] small = table.after("N(0, 2/d) ", 4);
        assertThat(small[0]).isEqualTo(1);
        assertThat(small[1]).isCloseTo(0.109, within(5 * 0.0217));
        assertThat(small).endsWith(1, 1);
    }

    /** numpy: 0.0685 ± 0.004 of the squares of random words, 35 of 512 dimensions. */
    @Test
    void theDimensionsOfThePositionsHoldLittleOfAWord() {
        assertThat(run.after("words kept")).isBetween(0.05, 0.09);
        assertThat(run.after("positions kept")).isGreaterThan(0.998);
        HeatMapChart all = run.map("added-to-a-word-products", "position · position");
        HeatMapChart projected = run.map("added-to-a-word-products", "position · position, kept");
        for (int key = 0; key < 13; key++) {
            // a thousandth of 256 / 512, and as much for the product of both rests
            assertThat(ChapterRun.value(projected, 6, key)).isCloseTo(ChapterRun.value(all, 6, key), within(0.001));
        }
    }
}
