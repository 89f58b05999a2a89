package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.HeatMapChart;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BiasesOfDistanceTest {

    private static ChapterRun run;

    @BeforeAll
    static void write(@TempDir Path folder) {
        run = ChapterRun.of(BiasesOfDistance::write, folder);
    }

    @Test
    void slopesOfAlibiAreThoseOfThePaper() {
        // section 3 of the paper: 1/2, 1/4, … 1/256
        assertThat(run.after("distance 10  distance 100", 20))
                .containsExactly(
                        1, 0.5, -5, -50, 2, 0.25, -2.5, -25, 3, 0.125, -1.25, -12.5, 5, 0.03125, -0.3125, -3.125, 8,
                        0.003906, -0.0391, -0.3906);
        // get_slopes of the authors' code
        assertThat(run.printed())
                .contains(
                        "1    0.5000    0.5000    0.7071",
                        "8    0.0039    0.0039    0.0625",
                        "9              0.7071    0.0442",
                        "10              0.3536    0.0313",
                        "11              0.1768    0.0221",
                        "12              0.0884    0.0156",
                        "13                        0.0110");
    }

    /** The buckets are those of {@code _relative_position_bucket} of Hugging Face's T5, run with PyTorch. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, 0, 0",
        "1, 1, 1, 17",
        "11, 11, 8, 24",
        "64, 26, 14, 30",
        "90, 29, 14, 30",
        "91, 29, 15, 31",
        "1000, 31, 15, 31"
    })
    void bucketsAreThoseOfT5(int distance, double decoder, double before, double after) {
        assertThat(run.after(String.format("%n  %8d ", distance), 3)).containsExactly(decoder, before, after);
    }

    @Test
    void shawsTermIsTheSameBeyondTheWindow() {
        double[] term = run.lines("biases-of-distance-shaw", "Shaw's term with k = 8")
                .series("query 16")
                .y();
        assertThat(Arrays.copyOfRange(term, 0, 9)).containsOnly(term[0]);
        assertThat(Arrays.copyOfRange(term, 8, 25)).doesNotHaveDuplicates();
        assertThat(Arrays.copyOfRange(term, 24, 32)).containsOnly(term[31]);
    }

    @Test
    void transformerXlIsTheSumOfTwoTerms() {
        // sums of 16 products of numbers up to about 4, in FLOAT32
        assertThat(run.after("greatest difference from the forward:")).isLessThan(16 * 16 * 0x1p-23);
        assertThat(run.after("of b:")).isGreaterThan(1);
        assertThat(run.after("of d:")).isLessThan(16 * 16 * 0x1p-23);
        String file = "biases-of-distance-transformer-xl";
        HeatMapChart b = run.map(file, "b: words and distance");
        HeatMapChart d = run.map(file, "d: distance only");
        HeatMapChart both = run.map(file, "b + d");
        assertThat(ChapterRun.value(d, 30, 20)).isCloseTo(ChapterRun.value(d, 12, 2), within(1e-5));
        assertThat(ChapterRun.value(both, 30, 20))
                .isCloseTo(ChapterRun.value(b, 30, 20) + ChapterRun.value(d, 30, 20), within(1e-5));
    }
}
