package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.knowm.xchart.HeatMapChart;

class RelativePositionsTest {

    private static final String BIASES = "relative-positions-biases";
    private static final String TERMS = "relative-positions-terms";

    @TempDir
    private static Path folder;

    private static ChapterRun run;

    @BeforeAll
    static void write() {
        run = ChapterRun.of(RelativePositions::write, folder);
    }

    /** Returns the row of the table: parameters, change by other words, change along diagonals. */
    private static double[] row(String kind) {
        return run.after(String.format("%n  %-17s ", kind), 3);
    }

    @ParameterizedTest
    @CsvSource({
        "ALiBi, 0",
        "Sandwich, 0",
        "KERPLE, 8", // 2 · 4 heads
        "T5, 128", // 32 buckets · 4 heads
        "Distance network, 1252", // 32 + 32, 32 · 32 + 32, 4 · 32 + 4
        "FIRE, 198", // 2, 32 + 32, 4 · 32 + 4
        "Shaw, 1056", // 33 vectors of 16 for keys, as many for values
        "Transformer-XL, 4224", // 64 · 64 + 2 · 64
        "DeBERTa, 41088", // 512 · 64 + 2 · (64 · 64 + 64)
        "Rotary, 0"
    })
    void parametersAreCounted(String kind, double parameters) {
        assertThat(row(kind)[0]).isEqualTo(parameters);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ALiBi", "KERPLE", "Sandwich", "T5", "Distance network", "FIRE"})
    void biasesDoNotDependOnTheWords(String kind) {
        assertThat(row(kind)[1]).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"Shaw", "Transformer-XL", "DeBERTa", "Rotary"})
    void termsDependOnTheWords(String kind) {
        assertThat(row(kind)[1]).isGreaterThan(0.5);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ALiBi",
                "KERPLE",
                "Sandwich",
                "T5",
                "Distance network",
                "Shaw",
                "Transformer-XL",
                "DeBERTa",
                "Rotary"
            })
    void termsOfTheSameWordDependOnTheDistanceOnly(String kind) {
        assertThat(row(kind)[2]).isZero();
    }

    @Test
    void fireDependsOnThePositionOfTheQuery() {
        assertThat(row("FIRE")[2]).isGreaterThan(0.01);
    }

    @Test
    void alibiFallsWithTheDistance() {
        HeatMapChart map = run.map(BIASES, "ALiBi");
        assertThat(map.getXAxisTitle()).isEqualTo("key");
        assertThat(map.getYAxisTitle()).isEqualTo("query");
        // -distance / 31
        assertThat(ChapterRun.value(map, 0, 31)).isCloseTo(-1, within(1e-7));
        assertThat(ChapterRun.value(map, 31, 0)).isCloseTo(-1, within(1e-7));
        assertThat(ChapterRun.value(map, 7, 3)).isCloseTo(-4 / 31.0, within(1e-7));
    }

    @Test
    void sandwichIsASumOfCosines() {
        HeatMapChart map = run.map(BIASES, "Sandwich");
        // numpy: Σ cos(d · 10000^(-k/64)) / 64, k = 0 … 63, for d = 1 and 31, rounded to FLOAT32
        assertThat(ChapterRun.value(map, 5, 4)).isCloseTo(31.046841902883813 / 32, within(1e-7));
        assertThat(ChapterRun.value(map, 0, 31)).isCloseTo(18.145387629343684 / 32, within(1e-7));
    }

    @Test
    void turningByTheSameAngleLeavesAScore() {
        HeatMapChart map = run.map(TERMS, "Rotary");
        for (int word = 0; word < 32; word++) {
            // about 20 roundings of products whose sizes add up to about 16; the greatest difference is more than 1
            assertThat(ChapterRun.value(map, word, word)).isCloseTo(0, within(20 * 16 * 0x1p-24));
        }
    }

    @Test
    void shawDistinguishesDistancesUpTo16() {
        HeatMapChart map = run.map(TERMS, "Shaw, one word");
        double last = ChapterRun.value(map, 0, 31);
        assertThat(IntStream.range(16, 32).mapToDouble(key -> ChapterRun.value(map, 0, key)))
                .containsOnly(last);
        assertThat(IntStream.range(0, 16).mapToDouble(key -> ChapterRun.value(map, 0, key)))
                .doesNotContain(last)
                .doesNotHaveDuplicates();
    }
}
