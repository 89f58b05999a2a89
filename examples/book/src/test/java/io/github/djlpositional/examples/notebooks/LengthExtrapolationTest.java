package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.LineChart;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LengthExtrapolationTest {

    private static ChapterRun run;
    private static Map<String, double[]> accuracies;

    @BeforeAll
    static void write(@TempDir Path folder) throws IOException {
        run = ChapterRun.of(LengthExtrapolation::write, folder);
        accuracies = LengthExtrapolation.accuracies("mean");
    }

    /** Returns how much the accuracy changes from the trained length to the longest. */
    private static double change(String kind) {
        return accuracies.get(kind)[2] - accuracies.get(kind)[0];
    }

    @Test
    void everyKindOfTheTableIsDrawn() {
        assertThat(accuracies).hasSizeGreaterThanOrEqualTo(9);
        for (String kind : accuracies.keySet()) {
            LineChart chart = run.lines("length-extrapolation", kind);
            assertThat(chart.xTitle()).isEqualTo("words");
            assertThat(chart.series("trained").x()).containsExactly(16, 16);
            LineChart.Series line = chart.series(kind);
            // the middles of 5 to 16, 17 to 24 and 25 to 40 words
            assertThat(line.x()).containsExactly(10.5, 20.5, 32.5);
            assertThat(line.y()).containsExactly(accuracies.get(kind));
            // all kinds behind, the mark, and the kind
            assertThat(chart.series()).hasSize(accuracies.size() + 2);
        }
    }

    @Test
    void numbersAreThoseOfTheTable() {
        assertThat(accuracies.get("rotary")).startsWith(0.9438, 0.9660, 0.8962);
        assertThat(run.after(String.format("%n  %-19s ", "rotary"), 3)).containsExactly(0.944, 0.966, 0.896);
    }

    /** numpy: Σ cos(d · 10000^(-k/64)) is greater than for d - 1. */
    @Test
    void sandwichDoesNotOnlyFall() {
        assertThat(run.printed()).contains("-> [12, 18, 24, 29, 30, 31, 35, 36, 37]");
    }

    @Test
    void winnersKnowTheDirectionAndContinue() {
        double[] winners = run.after(String.format("%n  direction, continues "), 3);
        double[] noContinuation = run.after(String.format("%n  direction, does not "), 3);
        double[] noDirection = run.after(String.format("%n  no direction, continues "), 3);
        double[] added = run.after(String.format("%n  added to the input "), 3);
        assertThat(winners[2]).isGreaterThan(noDirection[2]);
        assertThat(noDirection[2]).isGreaterThan(noContinuation[2]);
        assertThat(noContinuation[2]).isGreaterThan(added[2]);
        // six points at the trained length, as the text says
        assertThat(winners[0] - noDirection[0]).isCloseTo(0.06, within(0.005));
    }

    /** What the text says about the table must hold for a new table too. */
    @Test
    void conclusionsAreThoseOfTheTable() throws IOException {
        assertThat(accuracies.get("none")).containsOnly(0.5);
        // numpy: the largest and the smallest difference of a group, rounded to hundredths
        List<String> added = List.of("sinusoidal", "sinusoidal, N(0, 1)", "sinusoidal, scaled", "learned");
        assertThat(added.stream()
                        .mapToDouble(LengthExtrapolationTest::change)
                        .min()
                        .orElseThrow())
                .isCloseTo(-0.19, within(0.005));
        assertThat(added.stream()
                        .mapToDouble(LengthExtrapolationTest::change)
                        .max()
                        .orElseThrow())
                .isCloseTo(-0.06, within(0.005));
        assertThat(accuracies.keySet().stream()
                        .filter(kind -> !kind.equals("none") && !added.contains(kind))
                        .filter(kind -> accuracies.get(kind)[1] <= accuracies.get(kind)[0]))
                .containsExactly("Shaw");
        for (String kind : List.of("ALiBi", "KERPLE", "KERPLE, power", "Sandwich")) {
            assertThat(change(kind)).as(kind).isBetween(0.04, 0.07);
            assertThat(accuracies.get(kind)[0]).as(kind).isLessThan(0.9);
        }
        List<String> begin = accuracies.keySet().stream()
                .filter(kind -> accuracies.get(kind)[0] > 0.92)
                .toList();
        assertThat(begin.stream().filter(kind -> change(kind) > 0))
                .containsExactlyInAnyOrder("distance network", "Transformer-XL", "DeBERTa");
        assertThat(begin.stream().filter(kind -> change(kind) < 0)).containsExactlyInAnyOrder("rotary", "T5", "Shaw");
        assertThat(change("Shaw")).isCloseTo(-0.18, within(0.005));
        Map<String, double[]> smallest = LengthExtrapolation.accuracies("least");
        Map<String, double[]> largest = LengthExtrapolation.accuracies("greatest");
        assertThat(change("T5")).isCloseTo(-0.06, within(0.005));
        assertThat(change("rotary")).isCloseTo(-0.05, within(0.005));
        for (String kind : List.of("rotary", "T5")) {
            assertThat(largest.get(kind)[2] - smallest.get(kind)[2]).as(kind).isGreaterThan(-change(kind));
        }
    }
}
