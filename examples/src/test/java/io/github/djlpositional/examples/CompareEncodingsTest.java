package io.github.djlpositional.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.awt.image.BufferedImage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.DoubleSummaryStatistics;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompareEncodingsTest {

    @TempDir
    private Path folder;

    @Test
    void quickFormPrintsSavesAndDrawsEveryKind() throws Exception {
        requireEveryKind("PyTorch");
    }

    @Test
    @Tag("slow")
    void quickFormOnMxnetPrintsSavesAndDrawsEveryKind() throws Exception {
        requireEveryKind("MXNet");
    }

    private void requireEveryKind(String engine) throws Exception {
        Engines.assumeAvailable(engine);
        String out = ProgramRun.of("compare --quick --seeds 1 --engine " + engine + " --out " + folder)
                .success();
        List<String> kinds = Encoding.values().stream().map(Encoding::toString).toList();
        String table = out.substring(out.indexOf("positions "));
        assertThat(table.lines().skip(1).limit(kinds.size()).map(line -> line.substring(0, line.indexOf(' '))))
                .isEqualTo(kinds);
        List<String> rows = Files.readAllLines(folder.resolve("comparison.csv"));
        assertThat(rows).hasSize(1 + kinds.size());
        assertThat(rows.get(0)).startsWith("positions,mean 5-16,least 5-16,greatest 5-16,mean 17-24");
        assertThat(rows.get(1)).startsWith("none,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,0.5000,");
        assertThat(Files.readAllLines(folder.resolve("runs.csv"))).hasSize(1 + kinds.size());
        BufferedImage picture = ImageIO.read(folder.resolve("comparison.png").toFile());
        assertThat(picture.getWidth()).isGreaterThan(1000);
        assertThat(colorsOf(picture)).contains(0xA6CEE3, 0x3F8FC4, 0x12375C);
    }

    private static Set<Integer> colorsOf(BufferedImage picture) {
        Set<Integer> colors = new HashSet<>();
        for (int x = 0; x < picture.getWidth(); x++) {
            for (int y = 0; y < picture.getHeight(); y++) {
                colors.add(picture.getRGB(x, y) & 0xFFFFFF);
            }
        }
        return colors;
    }

    @Test
    void rowHasTheMeanAndTheRangeOfItsRuns() {
        List<Comparison.Row> rows = Comparison.rows(List.of(
                run(Encoding.SINUSOIDAL, 1, 90),
                run(Encoding.LEARNED, 1, 50),
                run(Encoding.SINUSOIDAL, 2, 94),
                run(Encoding.SINUSOIDAL, 3, 89)));
        assertThat(rows).extracting(Comparison.Row::kind).containsExactly(Encoding.SINUSOIDAL, Encoding.LEARNED);
        DoubleSummaryStatistics accuracy = rows.get(0).measured("17-24");
        assertThat(accuracy.getAverage()).isCloseTo(0.91, within(1e-12));
        assertThat(accuracy.getMin()).isEqualTo(0.89);
        assertThat(accuracy.getMax()).isEqualTo(0.94);
        assertThat(Comparison.halfRange(accuracy)).isCloseTo(0.025, within(1e-12));
        assertThat(rows.get(0).median(Comparison.Run::trainingSeconds)).isEqualTo(2);
        // 2 · 100 sentences in 2 · 40 ms are 400 ms for 1000
        assertThat(rows.get(0).median(Comparison.Run::inferenceMillis)).isEqualTo(400);
    }

    private static Comparison.Run run(Encoding kind, int seed, int right) {
        Evaluation evaluation = new Evaluation(right, 100, Duration.ofMillis(40));
        return Comparison.Run.of(
                kind, seed, Map.of("5-16", evaluation, "17-24", evaluation), 10, Duration.ofSeconds(seed));
    }

    @Test
    void lengthClassesHoldOutSentencesThatAreNotTrained() {
        List<List<String>> sentences = List.of(
                Collections.nCopies(4, "a"),
                Collections.nCopies(5, "a"),
                Collections.nCopies(16, "a"),
                Collections.nCopies(17, "a"),
                Collections.nCopies(40, "a"),
                Collections.nCopies(41, "a"));
        assertThat(LengthClass.TRAINED.heldOut(sentences, List.of(), 9)).hasSize(2);
        assertThat(LengthClass.TRAINED.heldOut(sentences, List.of(sentences.get(1)), 9))
                .containsExactly(sentences.get(2));
        assertThat(LengthClass.TRAINED.heldOut(sentences, List.of(), 1)).hasSize(1);
        assertThat(LengthClass.LONGER.heldOut(sentences, List.of(), 9)).containsExactly(sentences.get(3));
        assertThat(LengthClass.MUCH_LONGER.heldOut(sentences, List.of(), 9)).containsExactly(sentences.get(4));
    }

    @Test
    void rejectsInvalidOptions() {
        assertThat(ProgramRun.of("compare --seeds 0").error(2)).startsWith("error: --seeds 0: expected 1 or more");
    }
}
