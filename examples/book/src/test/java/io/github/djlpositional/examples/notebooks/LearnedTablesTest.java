package io.github.djlpositional.examples.notebooks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import ai.djl.Device;
import ai.djl.engine.Engine;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.repository.zoo.ZooModel;
import io.github.djlpositional.examples.EncoderFile;
import io.github.djlpositional.examples.HeatMapChart;
import io.github.djlpositional.examples.Judgement;
import io.github.djlpositional.examples.LineChart;
import io.github.djlpositional.examples.SmallEncoder;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The expected numbers are those of numpy for the initializer {@code embeddings.position_embeddings.weight}. */
class LearnedTablesTest {

    @TempDir
    private static Path folder;

    private static ChapterRun run;

    @BeforeAll
    static void writeWithATinyModel() {
        SmallEncoder.saveTo(folder.resolve("model.zip"), "PyTorch", "--encoding", "learned");
        run = ChapterRun.of(LearnedTables::write, folder);
    }

    @Test
    void positionZeroIsLongerThanTheOthers() {
        assertThat(run.after("position    learned  sinusoids", 15))
                .containsExactly(
                        0, 2.362, 13.856, 1, 0.491, 13.856, 2, 0.447, 13.856, 100, 0.417, 13.856, 511, 0.970, 13.856);
    }

    @Test
    void bothTablesHaveStripesAlongTheDiagonal() {
        HeatMapChart learned = run.map("learned-tables-similarity", "Learned by all-MiniLM-L6-v2");
        assertThat(ChapterRun.value(learned, 0, 0)).isCloseTo(1, within(0x1p-24));
        assertThat(ChapterRun.value(learned, 0, 1)).isCloseTo(0.27571, within(5e-6));
        assertThat(ChapterRun.value(learned, 1, 2)).isCloseTo(0.81586, within(5e-6));
        assertThat(ChapterRun.value(learned, 49, 99)).isCloseTo(0.33325, within(5e-6));
        HeatMapChart sinusoids = run.map("learned-tables-similarity", "Sinusoids");
        // the mean of cos(10000^(-k/192)) and of cos(50 · 10000^(-k/192)), k = 0 … 191
        assertThat(ChapterRun.value(sinusoids, 0, 1)).isCloseTo(0.97275, within(5e-6));
        assertThat(ChapterRun.value(sinusoids, 49, 99)).isCloseTo(0.51220, within(5e-6));
    }

    @Test
    void learnedSimilarityRisesAndFalls() {
        assertThat(run.after("distance    learned  sinusoids", 27))
                .containsExactly(
                        1, 0.852, 0.973, 3, 0.440, 0.826, 6, 0.691, 0.735, 9, 0.207, 0.700, 12, 0.569, 0.662, 17, 0.521,
                        0.621, 25, 0.122, 0.587, 52, 0.440, 0.506, 100, 0.154, 0.439);
        LineChart chart = run.lines("learned-tables-distance", "Mean similarity by distance");
        assertThat(chart.series("learned").y()[6]).isCloseTo(0.691, within(5e-4));
        assertThat(chart.series("sinusoids").y()[6]).isCloseTo(0.735, within(5e-4));
    }

    @Test
    void learnedTableHasWavesOfFiveLengths() {
        assertThat(run.after("255.0 to 511.0 positions", 2)).containsExactly(18.8, 31.9);
        assertThat(run.after("127.0 to 171.0 positions", 2)).containsExactly(16.4, 11.8);
        assertThat(run.after(" 46.0 to  64.0 positions", 2)).containsExactly(16.7, 8.3);
        assertThat(run.after(" 16.0 to  21.0 positions", 2)).containsExactly(12.3, 5.1);
        assertThat(run.after("  5.4 to   6.7 positions", 2)).containsExactly(24.1, 1.7);
        LineChart.Series waves =
                run.lines("learned-tables-waves", "The waves in both tables").series("learned");
        // numpy.fft: the third wave has 0.151 of the squares
        assertThat(waves.x()[252]).isCloseTo(170.33, within(5e-3));
        assertThat(waves.y()[252]).isCloseTo(0.151, within(5e-4));
    }

    @Test
    void tableOfTheExampleIsThatOfItsModel() {
        HeatMapChart own = run.map("learned-tables-own", "Learned by the example");
        double[] printed = run.after("position     length   cosine to the next one", 3 * 15);
        try (ZooModel<String, Judgement> model =
                EncoderFile.load(folder.resolve("model.zip"), Engine.getEngine("MXNet"), Device.cpu())) {
            NDArray table = model.getBlock().getParameters().stream()
                    .map(parameter -> parameter.getValue().getArray())
                    .filter(array -> array.getShape().equals(new Shape(16, 64)))
                    .findAny()
                    .orElseThrow();
            for (int position = 0; position < 15; position++) {
                double length = table.get(position).norm().getFloat();
                double next = table.get(position + 1).norm().getFloat();
                double product =
                        table.get(position).dot(table.get(position + 1)).getFloat();
                assertThat(printed[3 * position]).isEqualTo(position);
                assertThat(printed[3 * position + 1]).isCloseTo(length, within(6e-4));
                assertThat(printed[3 * position + 2]).isCloseTo(product / length / next, within(6e-4));
                assertThat(ChapterRun.value(own, position, position + 1))
                        .isCloseTo(product / length / next, within(1e-5));
            }
        }
        HeatMapChart sinusoids = run.map("learned-tables-own", "Sinusoids");
        // the mean of cos(10000^(-k/32)), k = 0 … 31
        assertThat(ChapterRun.value(sinusoids, 7, 8)).isCloseTo(0.96615, within(5e-6));
    }
}
