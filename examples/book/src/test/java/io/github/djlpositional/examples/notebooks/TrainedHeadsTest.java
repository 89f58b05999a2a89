package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.SmallEncoder;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrainedHeadsTest {

    private static final String SENTENCE = "a small domesticated animal that is kept as a pet";

    @TempDir
    private static Path folder;

    private static ChapterRun run;

    @BeforeAll
    static void writeWithATinyModel() {
        SmallEncoder.saveTo(folder.resolve("model.zip"), "PyTorch", "--encoding", "none,sinusoidal");
        run = ChapterRun.of(TrainedHeads::write, folder);
    }

    private static AttentionMaps maps() {
        return AttentionMaps.of(folder.resolve("model.zip"), List.of(SENTENCE)).get(0);
    }

    @Test
    void trainingOfBothModelsIsDrawn() {
        assertThat(run.after(String.format("%n  none       "))).isEqualTo(10);
        assertThat(run.after(String.format("%n  sinusoidal "))).isEqualTo(10);
        for (String title : List.of("Loss", "Accuracy")) {
            LineChart curves = run.lines("trained-heads-training", title);
            assertThat(curves.xTitle()).isEqualTo("step");
            assertThat(curves.series().stream().map(LineChart.Series::name)).containsExactly("none", "sinusoidal");
            assertThat(curves.series("none").x()).containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        }
    }

    /** The best of 72 heads, without training: a head of chance gives a token about a tenth of its attention. */
    @Test
    void aHeadOfThePublishedModelLooksAtTheTokenBefore() {
        ChapterRun table = new ChapterRun(run.printed().substring(run.printed().indexOf("to the one before")), null);
        double[] best = table.after("Layer ", 4);
        assertThat(best[2]).isGreaterThan(0.99);
        assertThat(best[3]).isLessThan(0.2);
        HeatMapChart with = run.map("trained-heads-before", "With positions");
        double largest = 0;
        for (int layer = 0; layer < 6; layer++) {
            for (int head = 0; head < 12; head++) {
                largest = Math.max(largest, ChapterRun.value(with, layer, head));
            }
        }
        // three digits are printed
        assertThat(largest).isCloseTo(best[2], within(5.1e-4));
    }

    /** Without positions, equal words have equal queries and keys; FLOAT32 in other orders of the sums. */
    @Test
    void withoutPositionsAWordAndItsRepetitionGetTheSame() {
        double[] without = run.after("the same for all   ", 2);
        assertThat(without[0]).isCloseTo(without[1], within(1.1e-4));
        // as the text says
        double[] with = run.after("with positions   ", 2);
        assertThat(with[0]).isLessThan(with[1]);
    }

    @Test
    void meansByPlaceAreThoseOfDiagonals() {
        AttentionMaps maps = maps();
        double[] means = TrainedHeads.byPlace(List.of(maps), new TrainedHeads.Head(1, 2));
        double before = 0;
        for (int word = 1; word < 10; word++) {
            before += maps.weight(1, 2, word, word - 1) / 9;
        }
        assertThat(means).hasSize(9);
        assertThat(means[3]).isCloseTo(before, within(1e-12));
        LineChart chart = run.lines("trained-heads-places", "Where the heads of the small model look");
        assertThat(chart.series()).hasSize(3);
        assertThat(chart.series().iterator().next().x()).containsExactly(-4, -3, -2, -1, 0, 1, 2, 3, 4);
    }

    @Test
    void repeatedWordsAreMeasuredApart() {
        AttentionMaps maps = new AttentionMaps(
                List.of("a", "b", "a"), List.of(List.of(new double[] {0.5, 0.2, 0.3, 0, 1, 0, 0.1, 0.2, 0.7})));
        TrainedHeads.Head head = new TrainedHeads.Head(0, 0);
        assertThat(TrainedHeads.same(List.of(maps), head, true)).isCloseTo(0.6, within(1e-15));
        assertThat(TrainedHeads.same(List.of(maps), head, false)).isCloseTo(0.2, within(1e-15));
    }
}
