package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.djlpositional.examples.AttentionMaps;
import io.github.djlpositional.examples.SmallEncoder;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.knowm.xchart.HeatMapChart;
import org.knowm.xchart.XYChart;

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
        assertThat(run.printed()).contains("without and with positions; each point is one step");
        for (String title : List.of("Loss", "Accuracy")) {
            XYChart curves = run.lines("trained-heads-training", title);
            assertThat(curves.getXAxisTitle()).isEqualTo("step");
            assertThat(curves.getSeriesCollection().stream().map(series -> series.getLabel()))
                    .containsExactly("none", "sinusoidal");
            assertThat(curves.getSeries("none").getXData()).containsExactly(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        }
    }

    @Test
    void everyHeadHasItsMap() {
        AttentionMaps maps = maps();
        for (int layer = 0; layer < maps.layers().size(); layer++) {
            for (int head = 0; head < maps.layers().get(layer).size(); head++) {
                String title = String.format("Layer %d, head %d", layer + 1, head + 1);
                HeatMapChart map = run.map("trained-heads-maps", title);
                assertThat(map.getXAxisTitle()).isEqualTo("attended word");
                double sum = 0;
                for (int word = 0; word < 10; word++) {
                    sum += ChapterRun.value(map, 3, word);
                }
                // ten FLOAT32 probabilities
                assertThat(sum).isCloseTo(1, within(10 * 0x1p-24));
                assertThat(ChapterRun.value(map, 3, 8)).isCloseTo(maps.weight(layer, head, 3, 8), within(1e-6));
            }
        }
    }

    @Test
    void meansByPlaceAreThoseOfDiagonals() {
        AttentionMaps maps = maps();
        double[] means = TrainedHeads.byPlace(List.of(maps), 1, 2);
        double before = 0;
        for (int word = 1; word < 10; word++) {
            before += maps.weight(1, 2, word, word - 1) / 9;
        }
        assertThat(means).hasSize(9);
        assertThat(means[3]).isCloseTo(before, within(1e-12));
        XYChart chart = run.lines("trained-heads-places", "Where heads look");
        assertThat(chart.getSeries("mean of all heads").getXData()).containsExactly(-4, -3, -2, -1, 0, 1, 2, 3, 4);
    }

    @Test
    void variationIsThePartThatDependsOnTheAttendingWord() {
        // rows (1, 0) and (0, 1): both are 1/2 + 1/2 from their mean; equal rows: 0
        AttentionMaps maps = new AttentionMaps(
                List.of("one", "two"), List.of(List.of(new double[] {1, 0, 0, 1}, new double[] {0.3, 0.7, 0.3, 0.7})));
        assertThat(TrainedHeads.variation(maps, 0, 0)).isCloseTo(0.5, within(1e-15));
        assertThat(TrainedHeads.variation(maps, 0, 1)).isCloseTo(0, within(1e-15));
    }

    @Test
    void wordsAreTheLabelsOfTheChosenHead() {
        String title = run.printed()
                .lines()
                .filter(line -> line.contains("The attention of each word (row) to each word (column): layer"))
                .findFirst()
                .orElseThrow()
                .replaceFirst(".*: ", "");
        HeatMapChart map = run.map("trained-heads-in-order", "In order: " + title);
        assertThat(map.getHeatMapSeries().getXData().get(1)).isEqualTo("1 small");
        assertThat(ChapterRun.value(map, 0, 1)).isBetween(0.0, 1.0);
        assertThat(run.map("trained-heads-shuffled", "Shuffled: " + title)
                        .getHeatMapSeries()
                        .getXData()
                        .get(0))
                .isEqualTo("0 pet");
    }
}
